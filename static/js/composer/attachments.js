// Files that go with the next message: chosen, pasted or dropped, uploaded at once, sent by id.

import { $, announce, make, makeButton } from "../base/dom.js";
import { gettext, ngettext } from "../base/gettext.js";
import { refusal, request } from "../base/http.js";
import { showNotice } from "../base/notice.js";
import { tokens } from "../base/numbers.js";
import { storage } from "../base/storage.js";

const MOST_FILES = 20;
const OPENING = 200; // bytes of a text that its chip shows the beginning of

export class Attachments {
  #files = []; // {id (null while it is uploaded), name, kind, tokens, url, opening, encoding}

  /** `key`: of the conversation's draft. `onChange()` after the files have changed. */
  constructor({ key, form, textarea, onChange }) {
    Object.assign(this, { form, textarea, onChange });
    this.draftKey = `files:${key}`;
    this.list = $("#tray", form);
    try {
      this.#files = JSON.parse(storage.get(this.draftKey) ?? "[]");
    } catch {
      // What cannot be read was not kept by this page.
    }
    this.#draw();
    this.#takeChosen($("#file-input"));
    this.#takePasted();
    this.#takeDropped($("#chat"));
  }

  ids = () => this.#files.map((file) => file.id);
  any = () => this.#files.length > 0;
  uploading = () => this.#files.some((file) => !file.id);

  /** The server has a message with these; what was added since stays. */
  sent(ids) {
    this.#set(this.#files.filter((file) => !ids.includes(file.id)));
  }

  /** Change the files, keep those that are stored, and show them. */
  #set(files) {
    this.#files = files;
    const stored = files.filter((file) => file.id);
    storage.set(this.draftKey, stored.length ? JSON.stringify(stored) : "");
    this.#draw();
  }

  #draw() {
    this.list.hidden = !this.#files.length;
    this.list.replaceChildren(...this.#files.map((file) => chip(file, () => this.#takeBack(file))));
    this.onChange();
  }

  #drop(file) {
    this.#set(this.#files.filter((other) => other !== file));
    this.textarea.focus();
  }

  #takeBack(file) {
    this.#drop(file);
    // Left there it counts among the files that wait, until it is swept away.
    if (file.id) request(file.url, { method: "DELETE" }).catch(() => {});
  }

  // --- Where they come from ---

  #takeChosen(input) {
    $("#attach").addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      this.#add(input.files);
      input.value = "";
    });
  }

  #takePasted() {
    this.textarea.addEventListener("paste", (event) => {
      // A copied table comes as text and as a picture: the text is meant.
      if (!event.clipboardData.files.length || event.clipboardData.types.includes("text/plain"))
        return;
      event.preventDefault();
      this.#add(event.clipboardData.files);
    });
  }

  #takeDropped(target) {
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
      this.#add(event.dataTransfer.files);
    });
  }

  // --- Uploading ---

  async #add(files) {
    const list = [...files]; // the browser empties its own list
    const room = MOST_FILES - this.#files.length;
    const refused = []; // one may come after another: all of them stay on show
    const refuse = (words) => {
      refused.push(make("p", {}, words));
      showNotice(make("div", {}, ...refused));
    };
    if (list.length > room) refuse(tooMany(list.slice(room)));
    await Promise.all(list.slice(0, room).map((source) => this.#upload(source, refuse)));
  }

  async #upload(source, refuse) {
    const file = { id: null, name: fileName(source), kind: "", tokens: 0, url: "" };
    const most = Number(this.form.dataset.mostBytes);
    if (source.size > most) return refuse(tooBig(file.name, source.size, most));
    this.#files.push(file);
    this.#draw();
    const body = new FormData();
    body.append("file", source, file.name);
    const options = { method: "POST", body, signal: null }; // a slow line may take its time
    const response = await request(this.form.dataset.attachmentsUrl, options).catch(() => null);
    if (response?.status === 201) Object.assign(file, await response.json());
    if (!this.#files.includes(file)) return file.id && this.#takeBack(file); // removed meanwhile
    if (!file.id) {
      this.#drop(file);
      return refuse(await whyNotTaken(file.name, response));
    }
    if (file.kind === "text" && !file.encoding)
      file.opening = (await source.slice(0, OPENING).text()).trim().split("\n")[0];
    announce(gettext("{name} attached", { name: file.name }));
    this.#set(this.#files);
  }
}

/** A file in the tray. */
function chip(file, onRemove) {
  const ariaLabel = gettext("Remove {name}", { name: file.name });
  const opening = file.opening ? make("span", { className: "opening" }, file.opening) : null;
  const counted = gettext("≈ {count} tokens", { count: tokens(file.tokens) });
  const readAs = file.encoding && gettext("read as {encoding}", { encoding: file.encoding });
  const about = file.id
    ? [counted, readAs].filter(Boolean).join(", ")
    : gettext("Uploading and reading…");
  const shown =
    file.kind === "image"
      ? make("img", { src: file.url, alt: "" })
      : make("i", { className: file.id ? "icon icon-file" : "spinner" });
  return make(
    "li",
    { className: file.id ? "" : "uploading" },
    shown,
    make("span", { className: "row-name" }, file.name, opening),
    make("span", { className: "quiet" }, about),
    makeButton("✕", { className: "icon-button", ariaLabel, onclick: onRemove }),
    file.id ? make("input", { type: "hidden", name: "attachments", value: file.id }) : null,
  );
}

/** What is pasted may have no name. */
const fileName = (source) => source.name || "image.png";

/** Which files stay out, and that the others do not. */
function tooMany(left) {
  const list = new Intl.ListFormat(document.documentElement.lang);
  return ngettext(
    "{names} was not added: a message takes at most {most} files. The others are kept.",
    "{count} files were not added: a message takes at most {most} files. The others are kept. Left out: {names}.",
    left.length,
    { names: list.format(left.map(fileName)), most: MOST_FILES },
  );
}

function tooBig(name, size, most) {
  const values = { name, size: Math.round(size / 1e6), most: Math.round(most / 1e6) };
  return gettext("{name} is {size} MB; files can have at most {most} MB.", values);
}

async function whyNotTaken(name, response) {
  if (response?.status === 413)
    return gettext(
      "{name} was not accepted: it is larger than the server, or a proxy in front of it, allows.",
      { name },
    );
  return refusal(
    response,
    gettext("{name} could not be uploaded. Try again in a moment.", { name }),
  );
}
