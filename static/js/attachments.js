// Files that go with the next message: chosen, pasted or dropped; uploaded at once, sent by id.

import { $, announce, make, request, storage, tokens } from "./dom.js";
import { gettext, ngettext } from "./gettext.js";
import { showNotice } from "./notice.js";

const MOST = 20;
const OPENING = 200; // bytes of a text that its chip shows the beginning of

/** `key`: of the conversation's draft. `onChange()` after the files have changed. */
export function createAttachments({ key, form, textarea, onChange }) {
  const tray = $("#tray");
  const input = $("#file-input");
  const draftKey = `files:${key}`;
  let files = []; // {id (null while it is uploaded), name, kind, tokens, url, opening}

  function draw() {
    tray.hidden = !files.length;
    tray.replaceChildren(...files.map((file) => {
      const remove = make("button", { type: "button", className: "icon-button", onclick: () => takeBack(file) }, "✕");
      remove.ariaLabel = gettext("Remove {name}", { name: file.name });
      const shown = file.kind === "image" ? make("img", { src: file.url, alt: "" })
        : make("i", { className: file.id ? "i i-file" : "spinner" });
      const about = file.id ? gettext("≈ {count} tokens", { count: tokens(file.tokens) }) : gettext("Uploading…");
      return make("li", { className: file.id ? "" : "uploading" }, shown,
        make("span", { className: "row-name" }, file.name, file.opening ? make("span", { className: "opening" }, file.opening) : null), make("span", { className: "quiet" }, about), remove,
        file.id ? make("input", { type: "hidden", name: "attachments", value: file.id }) : null);
    }));
    onChange();
  }

  function keep() {
    const stored = files.filter((file) => file.id);
    storage.set(draftKey, stored.length ? JSON.stringify(stored) : "");
  }

  function drop(file) {
    files = files.filter((other) => other !== file);
    keep();
    draw();
    textarea.focus();
  }

  function takeBack(file) {
    drop(file);
    // Left there it counts among the files that wait, until it is swept away.
    if (file.id) request(file.url, { method: "DELETE" }).catch(() => {});
  }

  async function add(list) {
    const room = MOST - files.length;
    const refused = []; // one may come after another: all of them stay on show
    const refuse = (words) => {
      refused.push(make("p", {}, words));
      showNotice(make("div", {}, ...refused));
    };
    if (list.length > room) refuse(ngettext("At most {count} file can go with one message.", "At most {count} files can go with one message.", MOST));
    await Promise.all([...list].slice(0, room).map((source) => upload(source, refuse)));
  }

  async function upload(source, refuse) {
    const file = { id: null, name: source.name || "image.png", kind: "", tokens: 0, url: "" };
    const most = Number(form.dataset.mostBytes);
    if (source.size > most) {
      const values = { name: file.name, size: Math.round(source.size / 1e6), most: Math.round(most / 1e6) };
      return refuse(gettext("{name} has {size} MB; at most {most} MB can be sent.", values));
    }
    files.push(file);
    draw();
    const body = new FormData();
    body.append("file", source, file.name);
    const options = { method: "POST", body, signal: null }; // a slow line may take its time
    const response = await request(form.dataset.attachmentsUrl, options).catch(() => null);
    if (response?.status === 201) Object.assign(file, await response.json());
    if (!files.includes(file)) return file.id && takeBack(file); // removed meanwhile
    if (file.id) {
      if (file.kind === "text") file.opening = (await source.slice(0, OPENING).text()).trim().split("\n")[0];
      announce(gettext("{name} attached", { name: file.name }));
      keep();
      draw();
    } else {
      drop(file);
      const words = response?.status === 413
        ? gettext("{name} was not taken: it is larger than the server, or a proxy in front of it, allows.", { name: file.name })
        : [401, 422].includes(response?.status) && (await response.text()).slice(0, 300);
      refuse(words || gettext("{name} could not be uploaded. Try again in a moment.", { name: file.name }));
    }
  }

  $("#attach").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    add(input.files);
    input.value = "";
  });
  textarea.addEventListener("paste", (event) => {
    // A copied table comes as text and as a picture: the text is meant.
    if (!event.clipboardData.files.length || event.clipboardData.types.includes("text/plain")) return;
    event.preventDefault();
    add(event.clipboardData.files);
  });
  const target = $("#chat");
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  target.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    target.classList.add("dropping");
  });
  target.addEventListener("dragleave", (event) => {
    if (!target.contains(event.relatedTarget)) target.classList.remove("dropping");
  });
  target.addEventListener("drop", (event) => {
    target.classList.remove("dropping");
    if (!hasFiles(event)) return;
    event.preventDefault();
    add(event.dataTransfer.files);
  });

  try {
    files = JSON.parse(storage.get(draftKey) ?? "[]");
  } catch {
    files = [];
  }
  draw();
  return {
    ids: () => files.map((file) => file.id),
    any: () => files.length > 0,
    uploading: () => files.some((file) => !file.id),
    /** The server has a message with these; what was added since stays. */
    sent(ids) {
      files = files.filter((file) => !ids.includes(file.id));
      keep();
      draw();
    },
  };
}
