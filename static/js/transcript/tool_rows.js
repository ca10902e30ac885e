// Tool calls and thinking while they happen. The finished article, which has both, replaces this.

import { $, make, parse } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { request } from "../base/http.js";
import { showNotice } from "../base/notice.js";

/** A row with nothing left out, in its place. */
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-action=whole]");
  if (!button) return;
  const row = button.closest("details");
  button.disabled = true;
  const response = await request(button.dataset.url).catch(() => null);
  const whole = response?.ok ? parse(await response.text()) : null;
  button.disabled = false;
  if (!whole) return showNotice(gettext("The rest could not be loaded. Try again in a moment."));
  whole.open = row.open;
  row.replaceWith(whole);
});

export class ToolRows {
  #thoughts = new Map(); // message id → {text, body}

  constructor(transcript) {
    this.transcript = transcript;
  }

  call = (frame) => this.#put(frame.message_id, parse(frame.html));
  think = (frame) => this.#think(frame.message_id, frame.offset, frame.text);

  /** The row of a call in its article, put in or replaced. */
  #put(messageId, row) {
    const article = this.transcript.article(messageId);
    if (!article || !row) return;
    this.transcript.change(() => {
      const old = $(`[data-call="${CSS.escape(row.dataset.call)}"]`, article);
      if (old) {
        row.open = old.open;
        old.replaceWith(row);
      } else article.append(row);
    });
    this.transcript.setTyping(false);
  }

  #think(messageId, offset, text) {
    const article = this.transcript.article(messageId);
    if (!article || !text) return;
    let thought = this.#thoughts.get(messageId);
    if (!thought?.body.isConnected) {
      const body = $(".thinking.running .row-body", article) ?? addThinking(article);
      thought = { text: body.textContent, body };
      this.#thoughts.clear();
      this.#thoughts.set(messageId, thought);
    }
    if (offset > thought.text.length) return; // a piece was lost; the finished message has it
    thought.text = thought.text.slice(0, offset) + text;
    this.transcript.change(() => (thought.body.textContent = thought.text));
    this.transcript.setTyping(false);
  }

  /** The answer itself begins: fold the thinking away. */
  fold(messageId) {
    const thought = this.#thoughts.get(messageId);
    if (thought) thought.body.parentNode.open = false;
    this.#thoughts.delete(messageId);
  }

  /** From a snapshot's `turn`. */
  restore(turn) {
    if (turn?.message_id == null) return;
    const isBegun = turn.text || turn.html;
    const isShown = $(`article[data-message-id="${turn.message_id}"] .thinking.running`);
    if (!isBegun || !isShown) this.#think(turn.message_id, 0, turn.thinking);
    if (isBegun) this.fold(turn.message_id);
    const rows = make("div");
    rows.innerHTML = turn.rows;
    for (const row of [...rows.children]) this.#put(turn.message_id, row);
  }
}

/** An open row for thinking; its body. */
function addThinking(article) {
  const body = make("div", { className: "row-body plain" });
  const name = make("span", { className: "row-name" }, gettext("Thinking…"));
  article.prepend(
    make(
      "details",
      { className: "row thinking running", open: true },
      make("summary", {}, name),
      body,
    ),
  );
  return body;
}
