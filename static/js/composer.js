// The message box: grows, keeps the draft until the server has the message, knows when not to send.

import { $, storage } from "./dom.js";
import { hideNotice, showNotice } from "./notice.js";
import { createSlashMenu, helpList, parseCommand } from "./slash.js";

/** Not crypto.randomUUID: that exists only on https and localhost. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * `send(frame)` → went out?; `head()` → number of the last known message; `commands`: {name: (rest)}.
 * On the start page there is no `send`: the form is posted.
 */
export function createComposer({ key, send = null, head = null, commands = {}, onStop = null, onShowLatest = null }) {
  const form = $("#composer");
  const textarea = $("textarea", form);
  const sendButton = $("#send");
  const stopButton = $("#stop");
  const hint = $("#composer-hint");
  const draftKey = `draft:${key}`;
  const HINT = hint.textContent;
  let usualHint = HINT;
  let pending = null; // {frame, repeated}: what the server has not confirmed
  let locked = false;
  let answering = false;
  let hintTimer = 0;

  const menu = send && createSlashMenu(textarea, (command) => {
    setText(`/${command.name}${command.takesText ? " " : ""}`);
    if (!command.takesText) submit();
  });

  function grow() {
    textarea.style.height = "auto";
    textarea.style.height = `${textarea.scrollHeight}px`;
  }
  function draw() {
    if (textarea.readOnly !== locked) {
      textarea.readOnly = locked;
      usualHint = locked ? "Compacting. Your text is kept." : HINT;
      hint.textContent = usualHint;
    }
    form.setAttribute("aria-busy", String(locked));
    sendButton.disabled = locked || !textarea.value.trim();
    if (!stopButton) return;
    sendButton.hidden = answering;
    stopButton.hidden = !answering;
  }
  function setText(text) {
    textarea.value = text;
    storage.set(draftKey, text);
    grow();
    draw();
  }
  function say(text) {
    clearTimeout(hintTimer);
    hint.textContent = text;
    hint.classList.add("shown");
    hintTimer = setTimeout(() => {
      hint.textContent = usualHint;
      hint.classList.remove("shown");
    }, 4000);
  }

  function runCommand({ name, rest, known }) {
    if (!known) {
      showNotice(`There is no command /${name}. Type / to see the commands, or begin with a space to send it as text.`);
      return;
    }
    hideNotice();
    if (name === "help") showNotice(helpList(), { info: true });
    if (commands[name]?.(rest) !== false) setText("");
  }

  function submit() {
    const text = textarea.value;
    if (!text.trim() || locked) return;
    if (!send) {
      storage.set(draftKey, "");
      form.requestSubmit();
      return;
    }
    const command = parseCommand(text);
    if (command) return runCommand(command);
    if (answering) return say("Wait for the answer, or stop it first. Your text is kept.");
    if (pending) return;
    hideNotice();
    pending = {
      frame: { type: "message.send", client_id: newId(), text, expected_head: head() },
      repeated: false,
    };
    if (!send(pending.frame)) {
      showNotice("Not connected. Your message will be sent when the connection is back.", { info: true });
    }
  }

  textarea.addEventListener("input", () => {
    storage.set(draftKey, textarea.value);
    grow();
    draw();
    menu?.update();
  });
  textarea.addEventListener("keydown", (event) => {
    // While an input method composes, Enter chooses a character (Safari says so by 229 only).
    if (event.isComposing || event.keyCode === 229) return;
    if (menu?.key(event)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      submit();
    }
  });
  form.addEventListener("submit", (event) => {
    if (!send) {
      storage.set(draftKey, "");
      return;
    }
    event.preventDefault();
    submit();
  });
  form.addEventListener("click", (event) => {
    if (event.target === form || event.target.matches(".composer-bar, .composer-hint")) textarea.focus();
  });
  stopButton?.addEventListener("click", () => onStop());

  const draft = storage.get(draftKey);
  if (draft && !textarea.value) textarea.value = draft;
  grow();
  draw();
  if (matchMedia("(hover: hover)").matches && !location.hash) textarea.focus();

  return {
    setText,
    focus: () => textarea.focus(),
    setState(state) {
      ({ locked, answering } = state);
      draw();
    },
    /** `message.created` came. True if it is the one that this tab sent. */
    confirm(clientId) {
      if (!pending || pending.frame.client_id !== clientId) return false;
      if (textarea.value === pending.frame.text) setText("");
      pending = null;
      hideNotice();
      return true;
    },
    /** An `error` frame: the text stays. */
    refuse(frame) {
      if (frame.client_id && frame.client_id !== pending?.frame.client_id) return;
      if (frame.client_id) pending = null;
      if (frame.code === "head_changed") {
        showNotice("This chat continued in another tab.", { action: { label: "Show latest", run: onShowLatest } });
      } else showNotice(frame.message || "That did not work.");
    },
    /**
     * A snapshot came. What was not confirmed goes out once more, with the same id; the answer to a
     * repetition is a snapshot, in which the message counts.
     */
    reconcile(head) {
      if (!pending) return;
      if (pending.repeated && head > pending.frame.expected_head) this.confirm(pending.frame.client_id);
      else pending.repeated = send(pending.frame);
    },
  };
}
