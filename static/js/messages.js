// What can be done with one message: copy, edit and send again, answer again, switch, delete.

import { $, announce, copy, make, post, refocus, request } from "./dom.js";
import { gettext } from "./gettext.js";
import { hideNotice, showNotice } from "./notice.js";
import { trackPastes } from "./pasted.js";
import { openDialog } from "./shell.js";

export function createMessages({ transcript, url }) {
  const address = (id, action) => `${url}${id}/${action}/`;
  // message id → {text, pasted} of an edit that was not sent: its form may leave the page
  const begun = new Map();
  let wanted = null; // {id, side}: the version that this tab asked for, and the button that it pressed

  async function act(id, action, fields) {
    const response = await post(address(id, action), fields).catch(() => null);
    if (response?.ok) {
      hideNotice();
      refocus();
    } else showNotice((response && response.status < 500 && (await response.text()).slice(0, 300)) || gettext("That did not work. Try again in a moment."));
    return Boolean(response?.ok);
  }

  /** {text, pasted}: a message as it was written; `pasted` is null where that is not known. */
  const source = async (id) => {
    const response = await request(address(id, "markdown"));
    if (!response.ok) throw new Error(String(response.status));
    return { text: await response.text(), pasted: JSON.parse(response.headers.get("X-Pasted")) };
  };

  async function edit(node, opener) {
    if ($(".edit-form", node)) return;
    const id = node.dataset.messageId;
    const written = begun.get(id) ?? (await source(id).catch(() => null));
    if (!written) return showNotice(gettext("The message could not be loaded. Try again in a moment."));
    const area = make("textarea", { value: written.text, rows: 3, ariaLabel: gettext("Edit message") });
    const pastes = trackPastes(area, written.pasted);
    const cancel = make("button", { type: "button", className: "button small ghost" }, gettext("Cancel"));
    const form = make("form", { className: "edit-form" }, area,
      make("p", { className: "quiet" }, gettext("What followed stays as a branch.")),
      make("span", { className: "dialog-actions" }, cancel, make("button", { className: "button small primary" }, gettext("Send"))));
    const grow = () => {
      area.style.height = "auto";
      area.style.height = `${area.scrollHeight + 2}px`;
    };
    const close = () => {
      begun.delete(id);
      form.remove();
      node.classList.remove("editing");
      opener.focus();
    };
    cancel.onclick = close;
    area.oninput = () => {
      begun.set(id, { text: area.value, pasted: pastes.parts() });
      grow();
    };
    area.onkeydown = (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") {
        event.stopPropagation(); // there it would stop an answer
        close();
      }
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    };
    form.onsubmit = async (event) => {
      event.preventDefault();
      if (!area.value.trim()) return showNotice(gettext("Write a message first."), { info: true });
      form.inert = true;
      if (await act(id, "edit", { text: area.value, pasted: JSON.stringify(pastes.parts()) })) begun.delete(id);
      else form.inert = false;
    };
    node.classList.add("editing");
    node.append(form);
    grow();
    area.focus();
    form.scrollIntoView({ block: "nearest" }); // with its buttons
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("article .actions [data-action]");
    if (!button) return;
    const node = button.closest("article");
    const id = node.dataset.messageId;
    switch (button.dataset.action) {
      case "copy": {
        const ok = await copy(source(id).then(({ text }) => text));
        button.classList.toggle("done", ok);
        announce(ok ? gettext("Copied") : gettext("Could not copy"));
        setTimeout(() => button.classList.remove("done"), 1600);
        break;
      }
      case "edit": return edit(node, button);
      case "regenerate": return act(id, "regenerate");
      case "switch":
        wanted = { id: button.dataset.to, side: button.matches(":first-child") ? "first" : "last" };
        return act(button.dataset.to, "switch");
      case "delete": return openDialog(address(id, "delete"));
    }
  });
  document.addEventListener("message-deleted", () => {
    $("#dialog").close();
    announce(gettext("Message deleted"));
  });

  return {
    switchTo: (id) => act(id, "switch"),
    /** The branch has changed: back to the buttons of the version that was asked for. */
    arrived() {
      const node = wanted && transcript.article(wanted.id);
      if (!node) return;
      node.scrollIntoView({ block: "nearest" });
      const button = $(`.variants button:${wanted.side}-of-type`, node);
      (button?.disabled ? $(".variants button:not(:disabled)", node) : button)?.focus({ preventScroll: true });
      announce($(".variants [role=img]", node)?.ariaLabel ?? "");
      wanted = null;
    },
  };
}
