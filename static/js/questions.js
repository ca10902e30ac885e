// What waits for the reader's decision, above the message box: calls of tools, facts to be kept.

import { $, $$, announce, parse, post, refocus } from "./dom.js";
import { gettext } from "./gettext.js";
import { hideNotice, showNotice } from "./notice.js";

/** `send(frame)` → went out? */
export function createQuestions({ send }) {
  const box = $("#questions");
  const find = (id) => $(`[data-question="${CSS.escape(id)}"]`, box);

  function close(id) {
    find(id)?.remove();
    refocus();
  }

  function show(html) {
    const card = parse(html);
    if (find(card.dataset.question)) return;
    // An answer waits for a call, and nothing for a fact.
    const isCall = card.dataset.question.startsWith("call-");
    box.insertBefore(card, isCall ? $('[data-question^="memory-"]', box) : null);
    announce(gettext("Waiting for your decision: {text}", { text: $(".question-text", card).textContent.trim() }));
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("#questions [data-action]");
    if (!button) return;
    const { action, url, turn, call, decision } = button.dataset;
    if (action === "decide-call") {
      if (send({ type: "tool.decide", turn_id: Number(turn), id: call, decision })) return hideNotice();
      return showNotice(gettext("Not connected. Try again when the connection is back."));
    }
    const response = await post(url, { decision }).catch(() => null);
    if (response?.ok || response?.status === 404) return close(button.closest("section").dataset.question);
    showNotice((response?.status === 422 && (await response.text()).slice(0, 300)) || gettext("That did not work. Try again in a moment."));
  });

  return {
    asked: (frame) => show(frame.html),
    closed: (frame) => close(frame.id),
    /** No call waits any more: its turn is over. */
    closeCalls: () => $$('[data-question^="call-"]', box).forEach((card) => card.remove()),
    /** From a snapshot: all that are open. */
    restore(html) {
      const open = document.createElement("div");
      open.innerHTML = html;
      const ids = [...open.children].map((card) => card.dataset.question);
      for (const card of [...box.children]) if (!ids.includes(card.dataset.question)) card.remove();
      for (const card of [...open.children]) show(card.outerHTML);
    },
  };
}
