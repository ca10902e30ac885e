// One open conversation: its parts, and the state of its turn. What an event does is in events.js.

import { startBlocks } from "./blocks.js";
import { chooseModel, remember } from "./commands.js";
import { Compaction } from "./compaction.js";
import { Composer } from "./composer.js";
import { forgetConnection, isOffline, serverAnswers, showConnection } from "./connection.js";
import { startCountdowns } from "./countdowns.js";
import { copyCleanly } from "./copying.js";
import { $, refocus } from "./dom.js";
import { handle } from "./events.js";
import { Gauge } from "./gauge.js";
import { gettext } from "./gettext.js";
import { post, refusal, request } from "./http.js";
import { Messages } from "./messages.js";
import { hideNotice, showNotice } from "./notice.js";
import { makeGoTo, makeOutline, makePalette } from "./openers.js";
import { Questions } from "./questions.js";
import { openDialog } from "./shell.js";
import { openHelp, startShortcuts } from "./shortcuts.js";
import { Socket } from "./socket.js";
import { foldChapters } from "./summary.js";
import { ToolRows } from "./tool_rows.js";
import { Topbar } from "./topbar.js";
import { Transcript } from "./transcript.js";
import { Ways } from "./ways.js";

export class Conversation {
  #frames = Promise.resolve(); // one after the other: some wait for HTTP
  #compacting = false;
  #silence = 0; // timer

  live = null; // the answer that is being written, see live.js
  compactions = 0; // completed ones that this tab knows of
  waiting = false; // for a snapshot; deltas make no sense until it comes
  onCompacting = null; // what the command is still to do when its compaction begins
  retryUrl = ""; // of the retry that waits for a compaction

  /** `signal` ends it; `place`: where its reader left it, see ways.js. */
  constructor(id, { signal, place }) {
    Object.assign(this, { id, signal });
    this.page = $("#chat").dataset;
    const { turnId, turnKind } = this.page;
    // {turnId, kind} of the active turn; the page knows it before the socket does
    this.turn = turnId ? { turnId: Number(turnId), kind: turnKind } : null;
    // First: it opens while the messages are laid out.
    this.socket = new Socket(this.page.socket, {
      onFrame: (frame) => this.#receive(frame),
      onState: showConnection,
      onTooLarge: () => this.composer.tooLarge(),
      works: serverAnswers,
      isOffline,
      patience: () => Number(this.page.grace) * 1000,
      signal,
    });
    this.#makeParts(this.page, place);
    this.#listen();
    this.showUsage(JSON.parse($("#usage-data").textContent));
    this.drawState();
    signal.addEventListener("abort", () => this.#end());
  }

  #end() {
    clearTimeout(this.#silence);
    forgetConnection();
  }

  #makeParts({ messagesUrl, modelUrl, compactUrl }, place) {
    const { signal } = this;
    const send = (frame) => this.#send(frame);
    startBlocks($("#transcript"));
    const transcript = new Transcript({ url: messagesUrl, signal });
    this.transcript = transcript;
    this.messages = new Messages({ transcript, url: messagesUrl, signal });
    const { go } = new Ways({ transcript, onSwitch: this.messages.switchTo, place, signal });
    this.goTo = makeGoTo({ url: messagesUrl, go });
    this.outline = makeOutline({ transcript, url: messagesUrl, go, signal });
    this.toolRows = new ToolRows(transcript);
    this.questions = new Questions({ send });
    this.topbar = new Topbar({ id: this.id, modelUrl, signal });
    this.gauge = new Gauge({ onCompact: () => openDialog(compactUrl), signal });
    const onLock = (on) => {
      this.#compacting = on;
      this.drawState();
    };
    const sendOnceOpen = (frame) => this.socket.sendOnceOpen(frame);
    this.compaction = new Compaction({ transcript, send: sendOnceOpen, onLock, signal });
    this.composer = new Composer({
      key: this.id,
      commands: this.#commands(),
      send,
      head: transcript.head,
      onStop: () => this.#stop(),
      onSilence: () => this.socket.sync(),
      onShowLatest: () => this.#showLatest(),
    });
  }

  #commands() {
    return {
      compact: (focus, done) => this.#compact({ focus, done }),
      context: () => this.gauge.open(),
      goto: (words, done) => this.goTo.command(words, done),
      outline: () => this.outline.open(),
      new: () => this.goHome(),
      help: openHelp,
      system: () => openDialog(this.page.settingsUrl),
      model: chooseModel,
      export: (form) =>
        location.assign(
          form.toLowerCase() === "json" ? this.page.exportJsonUrl : this.page.exportUrl,
        ),
      rename: (title) => {
        if (title) this.topbar.rename(title);
        else this.topbar.editTitle();
      },
      remember,
    };
  }

  #listen() {
    const { signal } = this;
    startCountdowns(this.transcript.log, signal);
    copyCleanly(this.transcript.log);
    startShortcuts({
      signal,
      onSearch: makePalette(this.#commands(), signal),
      onStop: () => this.#stop(),
      onHome: () => this.transcript.toTop(),
      onEnd: () => this.transcript.toBottom(),
      onOutline: () => this.outline.toggle(),
      onPrint: () => this.#printAll(),
    });
    const on = (type, work) => document.addEventListener(type, work, { signal });
    on("submit", (event) => {
      if (event.target.id !== "compact-form") return;
      event.preventDefault();
      $("#dialog").close();
      const { focus, extent } = Object.fromEntries(new FormData(event.target));
      this.#compact({ focus: focus.trim(), extent });
    });
    on("settings-saved", ({ detail: { automatic } }) => this.gauge.show({ automatic }));
    on("click", ({ target }) => {
      const button = target.closest?.("[data-action]");
      if (button) this.#actions[button.dataset.action]?.(button);
    });
  }

  #actions = {
    ask: (button) => this.composer.ask(button.dataset.text),
    "go-to": () => this.goTo.open(),
    outline: () => this.outline.toggle(),
    "fold-chapters": (button) => foldChapters(button.closest(".summary-body")),
    retry: async (button) => {
      button.disabled = true;
      await this.#retry(button.dataset.url);
      button.disabled = false;
    },
    "summary-again": (button) => this.#retry(button.dataset.url),
    "compact-retry": (button) => {
      if (this.compaction.compact()) this.retryUrl = button.dataset.url;
      else this.#notConnected();
    },
  };

  #receive(frame) {
    this.#frames = this.#frames
      .then(() => this.signal.aborted || handle(this, frame))
      .catch(reportError)
      // Who waits for a snapshot has not got it by another frame.
      .then(() => this.waiting || this.#expectNews());
  }

  #send = (frame) => this.socket.send(frame);

  #notConnected() {
    showNotice(gettext("Not connected. Try again when the connection is back."));
  }

  /** Where the reader is, see ways.js. */
  place = () => this.transcript.place();

  // --- What the reader asks for ---

  goHome = () => $("#new-chat").click();

  /** False: the text stays in the message box; `done()` when the compaction has begun. */
  #compact({ focus, extent, done = null }) {
    if (this.compaction.compact(focus, extent)) this.onCompacting = done;
    else this.#notConnected();
    return false;
  }

  /** Stop the answer; whether one was running. */
  #stop() {
    if (!this.isAnswering()) return false;
    if (!this.#send({ type: "turn.stop" })) this.#notConnected();
    return true;
  }

  /** On a page of its own, where this one holds only a part; else the browser prints this one. */
  #printAll() {
    const isPart = Boolean($("#earlier, #later"));
    if (isPart && !open(this.page.printUrl)) location.assign(this.page.printUrl);
    return isPart;
  }

  async #retry(url) {
    const response = await post(url);
    if (response?.ok) {
      hideNotice();
      refocus();
    } else showNotice(await refusal(response, gettext("Could not retry. Try again in a moment.")));
  }

  async #showLatest() {
    hideNotice();
    await this.transcript.catchUp();
    await this.transcript.toBottom();
  }

  // --- What events do ---

  isAnswering = () => this.turn?.kind === "answer";

  /** Whether the server holds the lock, as far as this page has heard. */
  isLocked = () => this.compaction.isRunning() || this.turn?.kind === "compact";

  drawState() {
    const answering = this.isAnswering();
    const locked = this.#compacting || this.turn?.kind === "compact";
    this.composer.setState({ locked, answering });
    this.gauge.setCompactable(!locked && !answering);
  }

  showUsage(usage) {
    this.compactions = usage.totals.compactions;
    this.gauge.show(usage);
    this.transcript.showSummarised(usage.summarised);
  }

  /** The divider of the summary that counts now, where this tab has not been told of it. */
  async showCurrentSummary() {
    const response = await request(this.page.summaryUrl).catch(() => null);
    if (response?.status === 200) this.transcript.putDivider(await response.text());
  }

  needSnapshot() {
    if (this.waiting) return;
    this.waiting = true;
    this.#ask();
  }

  #ask = () => {
    if (this.#isNewsDue()) this.socket.sync();
    else this.socket.ping();
    this.#expectNews();
  };

  #isNewsDue = () => this.turn || this.compaction.isRunning() || this.waiting;

  /** Any event may be lost, and the one that ends something is the last: after a lease of silence, ask. Where nothing
   * is due, ask only whether the connection lives. */
  #expectNews() {
    clearTimeout(this.#silence);
    if (this.signal.aborted) return;
    const seconds = Number(this.#isNewsDue() ? this.page.lease : this.page.ping);
    this.#silence = setTimeout(this.#ask, seconds * 1000);
  }

  /** A compaction is over: send the retry that waited for it, if there is room now. */
  retryAfterCompaction(isRoom) {
    if (this.retryUrl && isRoom) this.#retry(this.retryUrl);
    this.retryUrl = "";
  }
}
