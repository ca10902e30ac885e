// The message that is on its way: only `message.created` with its id says that the server has it.

const SILENCE = 5000; // ms after which a message without an answer is asked after

/** Not crypto.randomUUID: that exists only on https and localhost. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Delivery {
  #isRepeated = false; // went out once more since it was last asked after
  #silence = 0; // timer

  /** `send(frame)` → went out?; `onSilence()` when no answer has come for a while. */
  constructor({ send, onSilence }) {
    Object.assign(this, { send, onSilence });
    this.pending = null; // the frame that the server has not confirmed
  }

  /** Send a message, or another `type` of frame; whether it went out. If not, it goes out when the connection is back. */
  begin(message) {
    this.pending = { type: "message.send", ...message, client_id: newId() };
    this.#isRepeated = false;
    return this.#sendPending();
  }

  #sendPending() {
    this.expectAnswer();
    return this.send(this.pending);
  }

  /** Ask after the message if nothing is heard of it for a while from now. */
  expectAnswer() {
    const frame = this.pending;
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.pending === frame && this.#askAfter(), SILENCE);
  }

  #askAfter() {
    this.#isRepeated = false;
    this.onSilence();
  }

  /** Nothing is on its way any more; the frame that was, or null. */
  end() {
    const { pending } = this;
    this.pending = null;
    return pending;
  }

  /** A snapshot came: what was not confirmed goes out once more, with the same id. */
  repeat() {
    // The answer to a repetition is a snapshot too.
    if (!this.pending || this.#isRepeated) return;
    this.#isRepeated = true;
    this.#sendPending();
  }
}
