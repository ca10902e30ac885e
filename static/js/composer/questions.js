// What waits for the reader's decision, above the message box: calls of tools, facts to be kept.

import { $, $$, announce, parse, refocus } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { post, refusal } from "../base/http.js";
import { hideNotice, showNotice } from "../base/notice.js";

export class Questions {
  /** `send(frame)` → went out? */
  constructor({ send }) {
    this.send = send;
    this.box = $("#questions");
    this.box.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-action]");
      if (button?.dataset.action === "decide-call") this.#decideCall(button.dataset);
      else if (button)
        this.#decideMemory(button.closest("section").dataset.question, button.dataset);
    });
  }

  #find = (id) => $(`[data-question="${CSS.escape(id)}"]`, this.box);

  #decideCall({ turn, call, decision }) {
    if (this.send({ type: "tool.decide", turn_id: Number(turn), id: call, decision }))
      return hideNotice();
    showNotice(gettext("Not connected. Try again when the connection is back."));
  }

  async #decideMemory(question, { url, decision }) {
    const response = await post(url, { decision });
    if (response?.ok || response?.status === 404) return this.closed({ id: question });
    showNotice(await refusal(response, gettext("That did not work. Try again in a moment.")));
  }

  asked = (frame) => this.#show(parse(frame.html));

  closed({ id }) {
    this.#find(id)?.remove();
    refocus();
  }

  #show(card) {
    const { question } = card.dataset;
    if (this.#find(question)) return;
    // An answer waits for a call, and nothing for a fact.
    const next = question.startsWith("call-") ? $('[data-question^="memory-"]', this.box) : null;
    this.box.insertBefore(card, next);
    announce(
      gettext("Waiting for your decision: {text}", {
        text: $(".question-text", card).textContent.trim(),
      }),
    );
  }

  /** No call waits any more: its turn is over. */
  closeCalls() {
    $$('[data-question^="call-"]', this.box).forEach((card) => card.remove());
  }

  /** From a snapshot: all that are open. */
  restore(html) {
    const open = document.createElement("div");
    open.innerHTML = html;
    const ids = [...open.children].map((card) => card.dataset.question);
    for (const card of [...this.box.children])
      if (!ids.includes(card.dataset.question)) card.remove();
    for (const card of [...open.children]) this.#show(card);
  }
}
