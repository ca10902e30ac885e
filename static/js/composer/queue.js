// What waits to be sent, above the message box. The list's script and styles come when something waits; what they
// need of the page goes along with the event that tells of a change.

import { $, make, parse } from "../base/dom.js";
import { request } from "../base/http.js";
import { showNotice } from "../base/notice.js";
import { trackPastes } from "./pastes.js";

export class Queue {
  #frame = null;
  #script = null;

  /** `send(frame)` → went out? */
  constructor(send) {
    this.tools = { send, request, showNotice, trackPastes };
  }

  show(frame) {
    this.#frame = frame;
    if (this.#script) this.#tell();
    else if (frame.count) this.#load();
  }

  #load() {
    const src = parse(this.#frame.html).dataset.script;
    this.#script = make("script", { type: "module", src, onload: this.#tell });
    document.head.append(this.#script);
  }

  #tell = () => this.#dispatch("queue-changed", { ...this.#frame, ...this.tools });

  editLast = () => this.#dispatch("queue-edit");

  #dispatch(type, detail) {
    $("#queue").dispatchEvent(new CustomEvent(type, { bubbles: true, detail }));
  }
}
