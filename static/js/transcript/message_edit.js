// The form in which a message is edited and sent again.

import { $, make, makeButton } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { showNotice } from "../base/notice.js";
import { trackPastes } from "../composer/pastes.js";

export class MessageEdits {
  #begun = new Map(); // message id → {text, pasted} of an edit that was not sent: its form may leave the page

  /** `source(id)` → {text, pasted} as it was written; `send(id, fields)` → whether it was taken. */
  constructor({ source, send }) {
    Object.assign(this, { source, send });
  }

  /** Open the form below a message; `opener` gets the focus back. */
  async open(article, opener) {
    if ($(".edit-form", article)) return;
    const id = article.dataset.messageId;
    const written = this.#begun.get(id) ?? (await this.source(id).catch(() => null));
    if (!written)
      return showNotice(gettext("The message could not be loaded. Try again in a moment."));
    const area = make("textarea", {
      value: written.text,
      rows: 3,
      dir: "auto",
      ariaLabel: gettext("Edit message"),
    });
    const pastes = trackPastes(area, written.pasted);
    const cancel = makeButton(gettext("Cancel"), { className: "button small ghost" });
    const form = makeForm(area, cancel);
    cancel.onclick = () => this.#close(article, form, opener);
    area.oninput = () => {
      this.#begun.set(id, { text: area.value, pasted: pastes.parts() });
      grow(area);
    };
    area.onkeydown = (event) => this.#key(event, form, cancel);
    form.onsubmit = (event) => {
      event.preventDefault();
      this.#submit(id, form, area.value, pastes.parts());
    };
    article.classList.add("editing");
    article.append(form);
    grow(area);
    area.focus();
    form.scrollIntoView({ block: "nearest" }); // with its buttons
  }

  #key(event, form, cancel) {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      event.stopPropagation(); // there it would stop an answer
      cancel.click();
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  }

  async #submit(id, form, text, pasted) {
    if (!text.trim()) return showNotice(gettext("Write a message first."), { info: true });
    form.inert = true;
    if (await this.send(id, { text, pasted: JSON.stringify(pasted) })) this.#begun.delete(id);
    else form.inert = false;
  }

  #close(article, form, opener) {
    this.#begun.delete(article.dataset.messageId);
    form.remove();
    article.classList.remove("editing");
    opener.focus();
  }
}

function makeForm(area, cancel) {
  const send = make("button", { className: "button small primary" }, gettext("Send"));
  return make(
    "form",
    { className: "edit-form" },
    area,
    make("p", { className: "quiet" }, gettext("The messages after it are kept as a branch.")),
    make("span", { className: "dialog-actions" }, cancel, send),
  );
}

function grow(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight + 2}px`;
}
