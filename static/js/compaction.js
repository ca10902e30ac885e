// The lock while a conversation is compacted, and what became of it.

import { $, announce, make, tokens } from "./dom.js";
import { gettext, ngettext } from "./gettext.js";

const PATIENCE = 150; // ms; what is over sooner shows no spinner

export function createCompaction({ transcript, send, onLock }) {
  const liveRows = $("#live-rows");
  let running = null; // the compaction's id
  let showTimer = 0;
  let clock = 0;
  let focus = ""; // of the last /compact, for "Try again"

  const clear = () => {
    clearTimeout(showTimer);
    clearInterval(clock);
    $("#compaction-row")?.remove();
  };

  /** Below the messages, where no jump within them takes it away; an outcome stays among them. */
  function show(place, ...children) {
    clear();
    const row = make("div", { id: "compaction-row" }, ...children);
    transcript.change(() => place.append(row));
    return row;
  }

  function goOn() {
    clear();
    $("#composer-text").focus();
  }

  /** From `CompressionStarted`, or a snapshot's `compaction` with `elapsed` seconds. */
  function started(frame) {
    if (running === frame.compaction_id) return;
    running = frame.compaction_id;
    const begun = Date.now() - (frame.elapsed ?? 0) * 1000;
    clear();
    showTimer = setTimeout(() => {
      onLock(true); // until then the server refuses
      announce(gettext("Compacting conversation"));
      const elapsed = make("span", { className: "elapsed" });
      const progress = make("span", { className: "progress" });
      const cancel = make("button", { type: "button", className: "button small", id: "compact-cancel" }, gettext("Cancel"));
      cancel.onclick = () => {
        cancel.disabled = true;
        send({ type: "compact.cancel" });
      };
      const summarising = ngettext("Summarising {count} earlier message. You can keep reading.",
        "Summarising {count} earlier messages. You can keep reading.", frame.messages);
      show(
        liveRows,
        make("span", { className: "spinner", ariaHidden: "true" }),
        make("strong", {}, frame.trigger === "model_switch" ? gettext("Making room for the other model…") : gettext("Compacting conversation…")),
        cancel,
        make("span", { className: "quiet" }, `${summarising} `, progress, elapsed),
      );
      const tick = () => (elapsed.textContent = ` ${gettext("{count} s", { count: Math.round((Date.now() - begun) / 1000) })}`);
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
    if (frame.success && frame.trigger === "edit") {
      announce(gettext("Summary changed"));
      transcript.putDivider(frame.html, frame.after_message_id);
    } else if (frame.success) {
      announce(gettext("Conversation compacted"));
      if (frame.html) transcript.putDivider(frame.html, frame.after_message_id);
      const divider = document.getElementById(`compaction-${frame.compaction_id}`);
      const view = divider && make("button", { type: "button", className: "link", onclick: () => {
        $("details", divider).open = true;
        divider.scrollIntoView({ block: "start" });
      } }, gettext("View summary"));
      show(
        transcript.log,
        gettext("Compacted {before} → {after} tokens", { before: tokens(frame.tokens_before), after: tokens(frame.tokens_after) }),
        view && " · ", view,
        frame.note ? make("span", { className: "quiet" }, frame.note) : null,
      ).className = "outcome";
    } else if (frame.cancelled) {
      announce(gettext("Compaction cancelled"));
      show(liveRows, gettext("Compaction cancelled. Nothing changed.")).className = "outcome";
    } else {
      announce(gettext("Compaction failed"));
      const again = make("button", { type: "button", className: "button small" }, gettext("Try again"));
      again.onclick = () => send({ type: "compact", ...(focus ? { focus } : {}) });
      const without = make("button", { type: "button", className: "button small ghost", onclick: goOn }, gettext("Go on without"));
      const row = show(liveRows, make("strong", {}, gettext("Couldn't compact. Nothing was lost.")),
        make("span", { className: "row-buttons" }, again, without),
        make("span", { className: "quiet" }, frame.error || gettext("The reason is not known.")));
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
