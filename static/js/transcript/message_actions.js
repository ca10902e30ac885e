// What can be done with one message: copy, edit and send again, answer again, switch, leave
// out, delete.

import { copyFor } from "../base/clipboard.js";
import { openDialog } from "../base/dialogs.js";
import { $, announce, refocus } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { post, refusal, request } from "../base/http.js";
import { hideNotice, showNotice } from "../base/notice.js";
import { MessageEdits } from "./message_edit.js";
import { openMessageMenu } from "./message_menu.js";

export class Messages {
  #wanted = null; // {id, side}: the version that this tab asked for, and the button that it pressed

  /** `url`: of the conversation's items. */
  constructor({ transcript, url, signal }) {
    Object.assign(this, { transcript, url });
    this.edits = new MessageEdits({
      source: (id) => this.#source(id),
      send: (id, fields) => this.#act(id, "edit", fields),
    });
    const press = ({ target }) => {
      const button = target.closest?.("article .actions [data-action]");
      if (button) this.#actions[button.dataset.action]?.(button, button.closest("article"));
    };
    const deleted = ({ detail }) => {
      $("#dialog").close();
      if (detail?.later) showNotice(detail.later, { info: true });
      announce(gettext("Message deleted"));
    };
    document.addEventListener("click", press, { signal });
    document.addEventListener("message-deleted", deleted, { signal });
  }

  #actions = {
    copy: (button, { dataset }) =>
      copyFor(
        button,
        this.#source(dataset.messageId).then(({ text }) => text),
      ),
    edit: (button, article) => this.edits.open(article, button),
    more: (button, article) => this.#openMenu(button, article.dataset.messageId),
    regenerate: (_, { dataset }) => this.#act(dataset.messageId, "regenerate"),
    switch: (button) => {
      const id = button.dataset.to;
      this.#wanted = { id, side: button.matches(":first-child") ? "first" : "last" };
      return this.switchTo(id);
    },
    "leave-out": (_, { dataset }) => this.#leaveOut(dataset.messageId),
  };

  #openMenu(button, id) {
    const rewrite = (model) => this.#act(id, "regenerate", { model });
    const remove = () => openDialog(this.#address(id, "delete"));
    const leaveOut = () => this.#leaveOut(id);
    const share = () => openDialog(`${this.url}../shares/?through=${id}`);
    openMessageMenu(button, { rewrite, leaveOut, share, remove });
  }

  /** Ask whether to leave a message out, or to put it back. */
  #leaveOut = (id) => openDialog(this.#address(id, "leave-out"));

  #address = (id, action) => `${this.url}${id}/${action}/`;

  /** Show the branch through a message; whether the server did. */
  switchTo = (id) => this.#act(id, "switch");

  async #act(id, action, fields) {
    const response = await post(this.#address(id, action), fields);
    if (response?.ok) {
      hideNotice();
      refocus();
      return true;
    }
    showNotice(await refusal(response, gettext("That did not work. Try again in a moment.")));
    return false;
  }

  /** {text, pasted}: a message as it was written; `pasted` is null where that is not known. */
  async #source(id) {
    const response = await request(this.#address(id, "markdown"));
    if (!response.ok) throw new Error(String(response.status));
    return { text: await response.text(), pasted: JSON.parse(response.headers.get("X-Pasted")) };
  }

  /** The branch has changed: back to the buttons of the version that was asked for. */
  arrived() {
    const node = this.#wanted && this.transcript.article(this.#wanted.id);
    if (!node) return;
    node.scrollIntoView({ block: "nearest" });
    const button = $(`.variants button:${this.#wanted.side}-of-type`, node);
    (button?.disabled ? $(".variants button:not(:disabled)", node) : button)?.focus({
      preventScroll: true,
    });
    announce($(".variants [role=img]", node)?.ariaLabel ?? "");
    this.#wanted = null;
  }
}
