// The lock while a conversation is compacted, and what became of it.

import { $, announce, make, tokens } from "./dom.js";

const PATIENCE = 150; // ms; what is over sooner shows no spinner

export function createCompaction({ transcript, send, onLock }) {
  let running = null; // the compaction's id
  let showTimer = 0;
  let clock = 0;
  let focus = ""; // of the last /compact, for "Try again"

  const clear = () => {
    clearTimeout(showTimer);
    clearInterval(clock);
    $("#compaction-row")?.remove();
  };

  function show(...children) {
    clear();
    const row = make("div", { id: "compaction-row" }, ...children);
    transcript.change(() => transcript.log.append(row));
    return row;
  }

  /** From `CompressionStarted`, or a snapshot's `compaction` with `elapsed` seconds. */
  function started(frame) {
    if (running === frame.compaction_id) return;
    running = frame.compaction_id;
    onLock(true);
    const begun = Date.now() - (frame.elapsed ?? 0) * 1000;
    clear();
    showTimer = setTimeout(() => {
      announce("Compacting conversation");
      const elapsed = make("span", { className: "elapsed" });
      const progress = make("span", { className: "progress" });
      const cancel = make("button", { type: "button", className: "button small", id: "compact-cancel" }, "Cancel");
      cancel.onclick = () => {
        cancel.disabled = true;
        send({ type: "compact.cancel" });
      };
      const count = frame.messages === 1 ? "1 earlier message" : `${frame.messages} earlier messages`;
      show(
        make("span", { className: "spinner", ariaHidden: "true" }),
        make("strong", {}, "Compacting conversation…"),
        cancel,
        make("span", { className: "quiet" }, `Summarising ${count}. You can keep reading. `, progress, elapsed),
      );
      const tick = () => (elapsed.textContent = ` ${Math.round((Date.now() - begun) / 1000)} s`);
      tick();
      clock = setInterval(tick, 1000);
    }, PATIENCE);
  }

  function progressed(frame) {
    const node = $("#compaction-row .progress");
    if (node && frame.compaction_id === running) node.textContent = `${frame.text} `;
  }

  function completed(frame) {
    running = null;
    clear();
    onLock(false);
    if (frame.success) {
      announce("Conversation compacted");
      if (frame.html) transcript.putDivider(frame.html, frame.after_message_id);
      const divider = document.getElementById(`compaction-${frame.compaction_id}`);
      const view = divider && make("button", { type: "button", className: "link", onclick: () => {
        $("details", divider).open = true;
        divider.scrollIntoView({ block: "start" });
      } }, "View summary");
      show(
        `Compacted ${tokens(frame.tokens_before)} → ${tokens(frame.tokens_after)} tokens`,
        view && " · ", view,
      ).className = "outcome";
    } else if (frame.cancelled) {
      announce("Compaction cancelled");
      show("Compaction cancelled. Nothing changed.").className = "outcome";
    } else {
      announce("Compaction failed");
      const again = make("button", { type: "button", className: "button small" }, "Try again");
      again.onclick = () => send({ type: "compact", ...(focus ? { focus } : {}) });
      const row = show(make("strong", {}, "Couldn't compact. Nothing was lost."), again,
        make("span", { className: "quiet" }, frame.error || "The reason is not known."));
      row.className = "failed";
      row.setAttribute("role", "alert");
    }
  }

  return {
    started,
    progressed,
    completed,
    /** The snapshot's word: nothing runs. Its end was missed, so the page catches up. */
    ended() {
      if (running == null) return false;
      running = null;
      clear();
      onLock(false);
      return true;
    },
    /** A new message follows: the outcome of the last compaction is old news. */
    forgetOutcome: () => running == null && $("#compaction-row")?.remove(),
    compact(words = "") {
      focus = words;
      const sent = send({ type: "compact", ...(words ? { focus: words } : {}) });
      if (sent) transcript.toBottom(); // where it will be told
      return sent;
    },
  };
}
