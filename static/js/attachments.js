// Files that go with the next message: chosen, pasted or dropped. What becomes of them is in tray.js, which
// comes with the first of them.

import { $ } from "./dom.js";
import { load } from "./on_demand.js";
import { storage } from "./storage.js";

export class Attachments {
  #tray = null;
  #coming = false; // files wait for the tray: until it has them, no message may go without them

  /** `key`: of the conversation's draft. `onChange()` after the files have changed. */
  constructor({ key, form, textarea, onChange }) {
    Object.assign(this, { form, textarea, onChange });
    this.draftKey = `files:${key}`;
    this.hasDraft = Boolean(storage.get(this.draftKey));
    this.#takeChosen($("#file-input"));
    this.#takePasted();
    this.#takeDropped($("#chat"));
    if (this.hasDraft) this.#add([]);
  }

  ids = () => this.#tray?.ids() ?? [];
  any = () => this.#coming || Boolean(this.#tray?.any());
  uploading = () => this.#coming || Boolean(this.#tray?.uploading());

  /** The server has a message with these; what was added since stays. */
  sent(ids) {
    this.#tray?.sent(ids);
  }

  async #add(list) {
    const files = [...list]; // the browser empties its own list
    this.#coming = true;
    this.onChange();
    const module = await load(() => import("./tray.js"));
    this.#coming = !module && this.hasDraft;
    if (module) {
      this.#tray ??= new module.Tray(this);
      this.#tray.add(files);
    }
    this.onChange();
  }

  #takeChosen(input) {
    $("#attach").addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      this.#add(input.files);
      input.value = "";
    });
  }

  #takePasted() {
    this.textarea.addEventListener("paste", (event) => {
      // A copied table comes as text and as a picture: the text is meant.
      if (!event.clipboardData.files.length || event.clipboardData.types.includes("text/plain"))
        return;
      event.preventDefault();
      this.#add(event.clipboardData.files);
    });
  }

  #takeDropped(target) {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    target.addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      target.classList.add("dropping");
    });
    target.addEventListener("dragleave", (event) => {
      if (!target.contains(event.relatedTarget)) target.classList.remove("dropping");
    });
    target.addEventListener("drop", (event) => {
      target.classList.remove("dropping");
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.#add(event.dataTransfer.files);
    });
  }
}
