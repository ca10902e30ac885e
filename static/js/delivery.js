// The message that is on its way: only `message.created` with its id says that the server has it.

const SILENCE = 5000; // ms after which a message without an answer is asked after

/** Not crypto.randomUUID: that exists only on https and localhost. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Delivery {
  #repeated = null; // the frame that went out once more at the last snapshot
  #silence = 0; // timer

  /** `send(frame)` → went out?; `onSilence()` when no answer has come for a while. */
  constructor({ send, onSilence }) {
    Object.assign(this, { send, onSilence });
    this.pending = null; // the frame that the server has not confirmed
  }

  /** Send a message; whether it went out. If not, it goes out when the connection is back. */
  begin(message) {
    const frame = { type: "message.send", ...message, client_id: newId() };
    this.pending = frame;
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.pending === frame && this.onSilence(), SILENCE);
    return this.send(frame);
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
    this.#repeated = this.pending === this.#repeated ? null : this.pending;
    if (this.#repeated) this.send(this.#repeated);
  }
}
