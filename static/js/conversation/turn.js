// The turn that is active, and the answer that is being written, as far as this page has heard.

import { apply, fromSnapshot } from "./live.js";

export class Turn {
  #active = null; // {id, kind}: "answer" or "compact"
  #live = null; // the answer, see live.js

  /** The page knows of an active turn before the socket does. */
  constructor({ turnId, turnKind }) {
    if (turnId) this.#active = { id: Number(turnId), kind: turnKind };
  }

  /** What was written of the answer, or null. */
  get live() {
    return this.#live;
  }

  isActive = () => this.#active != null;
  isAnswering = () => this.#active?.kind === "answer";
  isCompacting = () => this.#active?.kind === "compact";

  /** From a snapshot: its `turn`, or null. */
  restore(turn) {
    this.#active = turn && { id: turn.turn_id, kind: turn.kind };
    this.#live = fromSnapshot(turn);
  }

  /** `turn.started` came. */
  start({ turn_id: id, kind }) {
    this.#active = { id, kind };
    this.#live = null;
  }

  /** A piece of the answer came, or a block that is finished: what has changed, see live.js. A piece of another turn
   * is a "gap". */
  write(frame) {
    if (this.#active?.id !== frame.turn_id) return "gap";
    const { live, change } = apply(this.#live, frame);
    this.#live = live;
    return change;
  }

  /** A message is stored: if it is the one that is being written, that is over, as its tools run now. */
  store(messageId) {
    if (this.#live?.messageId === messageId) this.#live = null;
  }

  /** `turn.finished` came; false: of an older one, and another has begun since. */
  end(id) {
    if (this.#active?.id > id) return false;
    this.#active = null;
    this.#live = null;
    return true;
  }
}
