// The message box: grows, keeps the draft until the server has the message, knows when not to send.

import { createAttachments } from "./attachments.js";
import { $, hasKeyboard, storage } from "./dom.js";
import { gettext } from "./gettext.js";
import { hideNotice, showNotice } from "./notice.js";
import { trackPastes } from "./pasted.js";
import { createSlashMenu, parseCommand } from "./slash.js";

// Refusals that tell how things are: nothing has gone wrong.
const INFORMATION = ["nothing_to_compact", "nothing_to_stop", "conversation_busy", "head_changed"];
const SILENCE = 5000; // ms after which a message without an answer is asked after

/** Not crypto.randomUUID: that exists only on https and localhost. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * `send(frame)` → went out?; `head()` → number of the last known message; `commands`: {name: (rest)}.
 * On the start page `start(pasted)` takes the place of both: it resolves to whether the message is stored.
 */
export function createComposer({ key, start = null, send = null, head = null, commands = {}, onStop = null, onSilence = null, onShowLatest = null }) {
  const form = $("#composer");
  const textarea = $("textarea", form);
  const sendButton = $("#send");
  const stopButton = $("#stop");
  const hint = $("#composer-hint");
  const draftKey = `draft:${key}`;
  const pastedKey = `pasted:${key}`; // of the draft: its length, and the parts of it
  const HINT = hint.textContent;
  let usualHint = HINT;
  let pending = null; // the frame that the server has not confirmed
  let silence = 0; // timer
  let repeated = null; // the frame that went out once more at the last snapshot
  let starting = false;
  let locked = false;
  let answering = false;
  let hintTimer = 0;
  let files = null;

  const draft = storage.get(draftKey);
  if (draft && !textarea.value) textarea.value = draft;
  const pastes = trackPastes(textarea, pastedBefore());

  const menu = createSlashMenu(textarea, Object.keys(commands), (command) => {
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
      usualHint = locked ? gettext("Compacting. Your text is kept.") : HINT;
      hint.textContent = usualHint;
    }
    form.setAttribute("aria-busy", String(locked));
    const pressed = [sendButton, stopButton].includes(document.activeElement) ? document.activeElement : null;
    sendButton.disabled = locked || starting || files?.uploading() || !(textarea.value.trim() || files?.any());
    if (!stopButton) return;
    sendButton.hidden = answering;
    stopButton.hidden = !answering;
    // The keyboard goes on where it was; a phone's would only pop up.
    if ((pressed?.hidden || pressed?.disabled) && hasKeyboard) textarea.focus();
  }
  function setText(text) {
    textarea.value = text;
    pastes.reset([]);
    keepDraft();
    grow();
    draw();
  }
  function keepDraft() {
    storage.set(draftKey, textarea.value);
    storage.set(pastedKey, textarea.value && JSON.stringify([textarea.value.length, pastes.parts()]));
  }
  /** The parts of the kept draft that were pasted; null where that is not known. */
  function pastedBefore() {
    try {
      const [length, parts] = JSON.parse(storage.get(pastedKey) ?? "[]");
      return length === textarea.value.length ? parts : null;
    } catch {
      return null;
    }
  }
  /** The server has a text: forget it, but not what was typed since, here or in another tab. */
  function forget(text) {
    if (storage.get(draftKey) === text) for (const key of [draftKey, pastedKey]) storage.set(key, "");
    if (textarea.value !== text) return;
    textarea.value = "";
    pastes.reset([]);
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
      showNotice(gettext("There is no command /{name}. Type / to see the commands, or begin with a space to send it as text.", { name }));
      return;
    }
    if (!commands[name]) {
      showNotice(gettext("/{name} works once the conversation has begun. Begin with a space to send it as text.", { name }), { info: true });
      return;
    }
    hideNotice();
    const text = textarea.value;
    if (commands[name](rest, () => forget(text)) !== false) forget(text);
  }

  function deliver(frame) {
    pending = frame;
    clearTimeout(silence);
    silence = setTimeout(() => pending === frame && onSilence(), SILENCE);
    return send(frame);
  }

  async function begin(text) {
    const ids = files.ids();
    starting = true;
    draw();
    if (await start(pastes.parts())) {
      forget(text);
      files.sent(ids);
    }
    starting = false;
    draw();
  }

  /** Why a text cannot be sent: longer than a message may be, as the server counts (in characters, not UTF-16 units). */
  function tooLong(text) {
    const most = Number(form.dataset.mostCharacters);
    const count = text.length > most ? [...text.trim()].length : 0;
    const number = (value) => value.toLocaleString(document.documentElement.lang);
    return count > most && gettext("The message has {count} characters; at most {most} can be sent at once. Attach it as a file, or send it in parts.", { count: number(count), most: number(most) });
  }

  function submit() {
    const text = textarea.value;
    if (sendButton.disabled) return;
    const words = tooLong(text);
    if (words) return showNotice(words);
    const command = parseCommand(text);
    if (command) return runCommand(command);
    if (start) return begin(text);
    if (answering) return say(gettext("Wait for the answer, or stop it first. Your text is kept."));
    sendMessage(text, files.ids(), pastes.parts());
  }

  function sendMessage(text, attachments, pasted) {
    if (pending) return;
    hideNotice();
    const frame = { type: "message.send", client_id: newId(), text, pasted, attachments, expected_head: head() };
    if (!deliver(frame)) {
      showNotice(gettext("Not connected. Your message will be sent when the connection is back."), { info: true });
    }
  }

  textarea.addEventListener("input", () => {
    keepDraft();
    grow();
    draw();
    menu.update();
  });
  textarea.addEventListener("keydown", (event) => {
    // While an input method composes, Enter chooses a character (Safari says so by 229 only).
    if (event.isComposing || event.keyCode === 229) return;
    if (menu.key(event)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      submit();
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  form.addEventListener("click", (event) => {
    if (event.target === form || event.target.matches(".composer-bar, .composer-hint")) textarea.focus();
  });
  stopButton?.addEventListener("click", () => onStop());

  files = createAttachments({ key, form, textarea, onChange: draw });
  grow();
  draw();
  if (hasKeyboard && !location.hash) textarea.focus();

  return {
    focus: () => textarea.focus(),
    /** Send a text in the reader's name; the draft and its files stay. */
    ask: (text) => locked || answering || sendMessage(text, [], []),
    setState(state) {
      ({ locked, answering } = state);
      draw();
    },
    /** `message.created` came. True if it is the one that this tab sent. */
    confirm(clientId) {
      if (!pending || pending.client_id !== clientId) return false;
      forget(pending.text);
      files.sent(pending.attachments);
      pending = null;
      hideNotice();
      return true;
    },
    /** The server closed the socket because of a frame's size: sent again, it would do the same. */
    tooLarge() {
      pending = null;
      showNotice(gettext("This is too large to be sent at once. Your text is kept: shorten it, or attach it as a file."));
    },
    /** An `error` frame: the text stays. */
    refuse(frame) {
      if (frame.client_id && frame.client_id !== pending?.client_id) return;
      const refused = pending;
      if (frame.client_id) pending = null;
      if (frame.code === "head_changed" && refused && !refused.as_branch) {
        const asBranch = () => {
          hideNotice();
          deliver({ ...refused, client_id: newId(), as_branch: true });
        };
        showNotice(gettext("This chat continued in another tab. Your text is kept."), { info: true, actions: [
          { label: gettext("Show latest"), run: onShowLatest },
          { label: gettext("Send as branch"), run: asBranch },
        ] });
      } else showNotice(frame.message || gettext("That did not work."), { info: INFORMATION.includes(frame.code) });
    },
    /**
     * A snapshot came. What was not confirmed goes out once more, with the same id: only
     * `message.created` with that id says that the server has it.
     */
    reconcile() {
      repeated = pending === repeated ? null : pending; // the answer to a repetition is a snapshot too
      if (repeated) send(repeated);
    },
  };
}
