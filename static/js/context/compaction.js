// The lock while a conversation is compacted, and what became of it.

import { $, $$, announce, make, makeButton } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { tokens } from "../base/numbers.js";

const SPINNER_DELAY = 150; // ms; what is over sooner shows no spinner

const button = (label, properties) =>
  makeButton(label, { className: "button small", ...properties });
const quiet = (...children) => make("span", { className: "quiet" }, ...children);

export class Compaction {
  #running = null; // the compaction's id
  #showTimer = 0;
  #clock = 0;
  #begun = 0; // ms
  #step = ""; // in words
  #asked = {}; // focus and extent of the last /compact, for "Try again"

  /** `send(frame)` → went out?; `onLock(on)` when the message box is locked, and free again. */
  constructor({ transcript, send, onLock, signal }) {
    Object.assign(this, { transcript, send, onLock });
    this.liveRows = $("#live-rows");
    signal.addEventListener("abort", () => this.#clear());
  }

  /** Ask for a compaction, without an `extent` a thorough one; whether that went out. */
  compact(focus = "", extent = undefined) {
    this.#asked = { focus, extent };
    const sent = this.#ask();
    if (sent) this.transcript.toBottom(); // where it will be told
    return sent;
  }

  #ask = () => {
    const { focus, extent } = this.#asked;
    return this.send({ type: "compact", focus, extent });
  };

  /** What failed once more: a summary that was by rule is asked for where that is told. */
  #again({ trigger }) {
    if (trigger === "rewrite") $$("[data-action=summary-again]").at(-1)?.click();
    else this.#ask();
  }

  /** From `CompressionStarted`, or a snapshot's `compaction` with `elapsed` seconds. */
  started(frame) {
    if (this.#running === frame.compaction_id) return;
    this.#running = frame.compaction_id;
    const begun = Date.now() - (frame.elapsed ?? 0) * 1000;
    this.#step = "";
    this.#clear();
    this.#showTimer = setTimeout(() => this.#lock(frame, begun), SPINNER_DELAY);
  }

  #lock(frame, begun) {
    this.onLock(true); // until then the server refuses
    announce(gettext("Compacting conversation"));
    const summarising = gettext(
      "Summarising {count} of {all} messages, {size} tokens ({why}). You can keep reading.",
      {
        count: frame.messages,
        all: frame.messages_before,
        size: tokens(frame.tokens_before),
        why: frame.why,
      },
    );
    this.#show(
      this.liveRows,
      make(
        "strong",
        {},
        frame.trigger === "model_switch"
          ? gettext("Making room for the other model…")
          : gettext("Compacting conversation…"),
      ),
      button(gettext("Cancel"), {
        id: "compact-cancel",
        onclick: (event) => this.#cancel(event.target),
      }),
      quiet(summarising),
    );
    this.#begun = begun;
    this.#drawHowFar();
    this.#clock = setInterval(() => this.#drawHowFar(), 1000);
  }

  /** In the message box, which is always on the screen. */
  #drawHowFar() {
    const count = Math.round((Date.now() - this.#begun) / 1000);
    const text = [this.#step, gettext("{count} s", { count })].filter(Boolean).join(" · ");
    $("#composer-lock .how-far").textContent = text;
  }

  #cancel(cancel) {
    cancel.disabled = true;
    this.send({ type: "compact.cancel" });
  }

  /** Whether one runs, as far as this page has heard. */
  isRunning = () => this.#running != null;

  /** Show a step; whether it is one of the compaction that runs here. */
  progressed(frame) {
    if (frame.compaction_id !== this.#running) return false;
    this.#step = frame.text;
    if (this.#clock) this.#drawHowFar();
    return true;
  }

  completed(frame) {
    this.#unlock();
    if (frame.success && frame.trigger === "rewrite") this.changed(frame);
    else if (frame.success) this.#showSuccess(frame);
    else if (frame.cancelled) {
      announce(gettext("Compaction cancelled"));
      this.#show(this.liveRows, gettext("Compaction cancelled. Nothing changed.")).className =
        "outcome";
    } else this.#showFailure(frame);
  }

  /** The summary says something else; perhaps while a compaction runs. */
  changed(frame) {
    announce(gettext("Summary changed"));
    this.transcript.putDivider(frame.html, frame.after_message_id);
  }

  #showSuccess(frame) {
    announce(gettext("Conversation compacted"));
    if (frame.html) this.transcript.putDivider(frame.html, frame.after_message_id);
    const sizes = {
      before: tokens(frame.tokens_before),
      after: tokens(frame.tokens_after),
      earlier: frame.messages_before,
      now: frame.messages_after,
      why: frame.why,
    };
    const divider = document.getElementById(`compaction-${frame.compaction_id}`);
    const onclick = () => {
      $("details", divider).open = true;
      divider.scrollIntoView({ block: "start" });
    };
    this.#show(
      this.transcript.log,
      gettext("Compacted {before} → {after} tokens, {earlier} → {now} messages ({why})", sizes),
      divider && " · ",
      divider && button(gettext("View summary"), { className: "link", onclick }),
      frame.note
        ? quiet(frame.note, " ", $("[data-action=summary-again]", divider)?.cloneNode(true) ?? "")
        : null,
    ).className = "outcome";
  }

  #showFailure(frame) {
    announce(gettext("Compaction failed"));
    const goOn = () => {
      this.#clear();
      $("#composer-text").focus();
    };
    const row = this.#show(
      this.liveRows,
      make("strong", {}, gettext("The conversation was not compacted.")),
      make(
        "span",
        { className: "row-buttons" },
        button(gettext("Try again"), { onclick: () => this.#again(frame) }),
        button(gettext("Continue without"), { className: "button small ghost", onclick: goOn }),
      ),
      quiet(frame.error || gettext("The reason is not known. Nothing was lost.")),
    );
    row.className = "failed";
    row.setAttribute("role", "alert");
  }

  /** The snapshot's word: nothing runs. Whether an end was missed, so that the page has to catch up. */
  ended() {
    if (!this.isRunning()) return false;
    this.#unlock();
    return true;
  }

  /** A new message follows: the outcome of the last compaction is old news. */
  forgetOutcome() {
    if (!this.isRunning()) $("#compaction-row")?.remove();
  }

  #unlock() {
    this.#running = null;
    this.#clear();
    this.onLock(false);
  }

  #clear() {
    clearTimeout(this.#showTimer);
    clearInterval(this.#clock);
    this.#clock = 0;
    $("#composer-lock .how-far").textContent = "";
    $("#compaction-row")?.remove();
  }

  /** Below the messages, where no jump within them takes it away; an outcome stays among them. */
  #show(place, ...children) {
    this.#clear();
    const row = make("div", { id: "compaction-row" }, ...children);
    this.transcript.change(() => place.append(row));
    return row;
  }
}
