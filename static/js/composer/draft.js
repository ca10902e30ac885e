// The text in the message box: kept in this browser until the server has it, with the parts that were pasted.

import { storage } from "../base/storage.js";
import { trackPastes } from "./pastes.js";

export class Draft {
  /** `key`: of the conversation; the box gets what was kept for it. */
  constructor(key, textarea) {
    this.textarea = textarea;
    this.textKey = `draft:${key}`;
    this.pastedKey = `pasted:${key}`; // the draft's length, and the parts of it
    const kept = storage.get(this.textKey);
    if (kept && !textarea.value) textarea.value = kept;
    this.pastes = trackPastes(textarea, this.#pastedBefore());
  }

  /** The parts that were pasted, [start, end] in UTF-16 units. */
  pasted = () => this.pastes.parts();

  /** The page itself puts a text there. */
  write(text) {
    this.textarea.value = text;
    this.pastes.reset([]);
  }

  keep() {
    const { value } = this.textarea;
    storage.set(this.textKey, value);
    storage.set(this.pastedKey, value && JSON.stringify([value.length, this.pasted()]));
  }

  /** The server has a text: it need not be kept, unless another tab has changed it since. */
  release(text) {
    if (storage.get(this.textKey) !== text) return;
    storage.set(this.textKey, "");
    storage.set(this.pastedKey, "");
  }

  /** The parts of the kept draft that were pasted; null where that is not known. */
  #pastedBefore() {
    try {
      const [length, parts] = JSON.parse(storage.get(this.pastedKey) ?? "[]");
      return length === this.textarea.value.length ? parts : null;
    } catch {
      return null;
    }
  }
}
