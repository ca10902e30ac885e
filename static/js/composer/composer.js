// The message box: grows, keeps the draft until the server has the message, knows when not to send.

// Refusals that tell how things are: nothing has gone wrong.

import { $, hasKeyboard } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { hideNotice, showNotice } from "../base/notice.js";
import { Attachments } from "./attachments.js";
import { Delivery } from "./delivery.js";
import { Draft } from "./draft.js";
import { tooLong } from "./length.js";
import { parseCommand, SlashMenu } from "./slash_menu.js";

const INFORMATION = ["nothing_to_compact", "nothing_to_stop", "conversation_busy", "head_changed"];
const HINT_SHOWN = 4000; // ms

export class Composer {
  #locked = false;
  #answering = false;
  #starting = false;
  #hintTimer = 0;
  #typed = "";

  /**
   * `send(frame)` → went out?; `head()` → number of the last known message; `commands`: {name: (rest)}.
   * On the start page `start(pasted)` takes the place of both: it resolves to whether the message is stored.
   */
  constructor({ key, commands, start, send, head, onStop, onSilence, onShowLatest, onUp }) {
    Object.assign(this, { commands, start, head, onStop, onShowLatest, onUp });
    this.form = $("#composer");
    this.textarea = $("textarea", this.form);
    this.sendButton = $("#send");
    this.stopButton = $("#stop");
    this.hint = $("#composer-hint");
    this.usualHint = this.hint.textContent;
    this.usualPlaceholder = this.textarea.placeholder;
    this.lock = $("#composer-lock");
    this.draft = new Draft(key, this.textarea);
    this.delivery = new Delivery({ send, onSilence });
    this.menu = new SlashMenu(this.textarea, Object.keys(commands), (command) =>
      this.#pick(command),
    );
    this.#listen();
    const onChange = () => this.#draw();
    this.files = new Attachments({ key, form: this.form, textarea: this.textarea, onChange });
    this.#grow();
    this.#draw();
    // Who types into the search goes on there.
    if (hasKeyboard && !location.hash && !document.activeElement.matches("input"))
      this.textarea.focus();
  }

  #listen() {
    this.textarea.addEventListener("input", () => {
      this.#changed();
      this.menu.update();
    });
    this.textarea.addEventListener("keydown", (event) => this.#key(event));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.form.addEventListener("click", ({ target }) => {
      if (
        !this.#locked &&
        (target === this.form || target.matches(".composer-bar, .composer-hint"))
      )
        this.textarea.focus();
    });
    this.stopButton?.addEventListener("click", () => this.onStop());
  }

  #key(event) {
    // While an input method composes, Enter chooses a character (Safari says so by 229 only).
    if (event.isComposing || event.keyCode === 229 || this.menu.key(event)) return;
    if (event.key === "ArrowUp" && !this.textarea.value) this.onUp?.();
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    this.#submit(event.ctrlKey || event.metaKey);
  }

  // --- How it looks ---

  #grow() {
    this.textarea.style.height = "auto";
    this.textarea.style.height = `${this.textarea.scrollHeight}px`;
  }

  #draw() {
    this.#drawLock();
    this.form.setAttribute("aria-busy", String(this.#locked));
    const pressed = [this.sendButton, this.stopButton].find(
      (button) => button && button === document.activeElement,
    );
    const isEmpty = !this.textarea.value.trim() && !this.files?.any();
    this.sendButton.disabled = this.#locked || this.#starting || this.files?.uploading() || isEmpty;
    if (!this.stopButton) return;
    this.sendButton.hidden = this.#answering && isEmpty; // else it goes into the queue
    this.stopButton.hidden = !this.#answering;
    // The keyboard goes on where it was; a phone's would only pop up.
    if ((pressed?.hidden || pressed?.disabled) && hasKeyboard) this.textarea.focus();
  }

  #drawLock() {
    const { textarea, lock } = this;
    textarea.readOnly = this.#locked;
    textarea.placeholder = this.#locked ? "" : this.usualPlaceholder; // it would invite
    if (!lock) return;
    lock.hidden = !this.#locked;
    $(".kept", lock).hidden = !textarea.value.trim();
  }

  #changed() {
    this.draft.keep();
    this.#grow();
    this.#draw();
  }

  /** Say something where the hint stands, for a moment. */
  #say(text) {
    clearTimeout(this.#hintTimer);
    this.hint.textContent = text;
    this.hint.classList.add("shown");
    this.#hintTimer = setTimeout(() => this.#sayUsual(), HINT_SHOWN);
  }

  #sayUsual() {
    this.hint.textContent = this.usualHint;
    this.hint.classList.remove("shown");
  }

  setState({ locked, answering }) {
    this.#locked = locked;
    this.#answering = answering;
    this.#draw();
  }

  // --- Sending ---

  /** `now`: into the running answer, between two of its tool calls, and not after it. */
  #submit(now = false) {
    const text = this.textarea.value;
    if (this.sendButton.disabled) return;
    const words = tooLong(text, Number(this.form.dataset.mostCharacters));
    if (words) return showNotice(words);
    const command = parseCommand(text);
    if (command) return this.#runCommand(command, text);
    if (this.start) return this.#begin(text);
    this.#sendMessage(text, this.files.ids(), this.draft.pasted(), now);
  }

  /** A command of the menu was chosen. */
  #pick(command) {
    this.draft.write(`/${command.name}${command.takesText ? " " : ""}`);
    this.#changed();
    if (!command.takesText) this.#submit();
  }

  #runCommand({ name, rest, known }, text) {
    if (!known) {
      return showNotice(
        gettext(
          "There is no command /{name}. Type / to see the commands, or start with a space to send it as text.",
          { name },
        ),
      );
    }
    const run = this.commands[name];
    if (!run) {
      return showNotice(
        gettext(
          "/{name} works once the conversation has started. Start with a space to send it as text.",
          { name },
        ),
        { info: true },
      );
    }
    if (name === "compact" && this.#answering)
      return this.#deliver({ type: "queue.add", command: name, text: rest, attachments: [] }, text);
    hideNotice();
    const done = () => this.#forget(text);
    if (run(rest, done) !== false) done();
  }

  /** The first message of a conversation. */
  async #begin(text) {
    const ids = this.files.ids();
    this.#starting = true;
    this.#draw();
    if (await this.start(this.draft.pasted())) {
      this.#forget(text);
      this.files.sent(ids);
    }
    this.#starting = false;
    this.#draw();
  }

  /** While an answer is being written, a message waits in the queue. */
  #sendMessage(text, attachments, pasted, now) {
    const frame = this.#answering
      ? { type: "queue.add", text, pasted, attachments, send_now: now }
      : { type: "message.send", text, pasted, attachments, expected_head: this.head() };
    this.#deliver(frame, text);
  }

  /** `typed`: what the message box is rid of when the server has the frame. */
  #deliver(frame, typed) {
    if (this.delivery.pending) return;
    this.#typed = typed;
    hideNotice();
    if (!this.delivery.begin(frame)) {
      showNotice(gettext("Not connected. Your message will be sent when the connection is back."), {
        info: true,
      });
    }
  }

  /** Send a text in the reader's name; the draft and its files stay. */
  ask(text) {
    if (!this.#locked && !this.#answering) this.#sendMessage(text, [], []);
  }

  // --- What became of it ---

  /** The server has a text: forget it, but not what was typed since, here or in another tab. */
  #forget(text) {
    this.draft.release(text);
    if (this.textarea.value !== text) return;
    this.draft.write("");
    this.#grow();
    this.#draw();
  }

  /** The server is busy: what this tab sent begins after `before` others. Told every second. */
  waits({ client_id: clientId, before, why }) {
    if (clientId && clientId === this.delivery.pending?.client_id) this.delivery.expectAnswer();
    this.#say(
      why ||
        (before
          ? gettext("The server is busy: {count} before you. Your text is kept.", { count: before })
          : gettext("The server is busy: you are next. Your text is kept.")),
    );
  }

  /** `message.created` came. True if it is the one that this tab sent. */
  confirm(clientId) {
    const { pending } = this.delivery;
    if (!pending || pending.client_id !== clientId) return false;
    this.delivery.end();
    this.#forget(this.#typed);
    this.files.sent(pending.attachments);
    hideNotice();
    this.#sayUsual();
    return true;
  }

  /** The server closed the socket because of a frame's size: sent again, it would do the same. */
  tooLarge() {
    this.delivery.end();
    showNotice(
      gettext(
        "This is too large to send at once. Your text is kept: shorten it, or attach it as a file.",
      ),
    );
  }

  /** An `error` frame: the text stays. */
  refuse({ client_id: clientId, code, message }) {
    const { pending } = this.delivery;
    if (clientId && clientId !== pending?.client_id) return;
    if (clientId) this.delivery.end();
    if (code === "head_changed" && pending && !pending.as_branch) return this.#offerBranch(pending);
    showNotice(message || gettext("That did not work."), { info: INFORMATION.includes(code) });
  }

  #offerBranch(refused) {
    const asBranch = () => {
      hideNotice();
      this.delivery.begin({ ...refused, as_branch: true });
    };
    showNotice(gettext("This chat continued in another tab. Your text is kept."), {
      info: true,
      actions: [
        { label: gettext("Show latest"), run: this.onShowLatest },
        { label: gettext("Send as branch"), run: asBranch },
      ],
    });
  }

  /** A snapshot came: what was not confirmed goes out once more. */
  reconcile() {
    this.delivery.repeat();
  }
}
