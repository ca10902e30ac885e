// One open conversation: its parts, and the state of its turn. What an event does is in events.js.

import { openDialog } from "../base/dialogs.js";
import { $, refocus } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { post, refusal, request } from "../base/http.js";
import { hideNotice, showNotice } from "../base/notice.js";
import { chooseModel, remember } from "../composer/commands.js";
import { Composer } from "../composer/composer.js";
import { Questions } from "../composer/questions.js";
import { Queue } from "../composer/queue.js";
import { foldChapters } from "../context/chapters.js";
import { Compaction } from "../context/compaction.js";
import { Gauge } from "../context/gauge.js";
import { GoTo } from "../navigation/go_to.js";
import { MessageLinks } from "../navigation/message_links.js";
import { Outline } from "../navigation/outline.js";
import { Palette } from "../navigation/palette.js";
import { openHelp, startShortcuts } from "../page/shortcuts.js";
import { Topbar } from "../page/topbar.js";
import { startBlocks } from "../transcript/blocks.js";
import { copyCleanly } from "../transcript/copying.js";
import { startCountdowns } from "../transcript/countdowns.js";
import { Messages } from "../transcript/message_actions.js";
import { ToolRows } from "../transcript/tool_rows.js";
import { Transcript } from "../transcript/transcript.js";
import { forgetConnection, isOffline, serverAnswers, showConnection } from "./connection.js";
import { handle } from "./events.js";
import { Socket } from "./socket.js";
import { Turn } from "./turn.js";

export class Conversation {
  #frames = Promise.resolve(); // one after the other: some wait for HTTP
  #compacting = false;
  #silence = 0; // timer
  #waiting = false; // for a snapshot; deltas make no sense until it comes
  #onCompacting = null; // what the command is still to do when its compaction begins
  #retryUrl = ""; // of the retry that waits for a compaction

  compactions = 0; // completed ones that this tab knows of

  /** `signal` ends it; `place`: where its reader left it, see message_links.js. */
  constructor(id, { signal, place }) {
    Object.assign(this, { id, signal });
    this.page = $("#chat").dataset;
    this.turn = new Turn(this.page);
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
    const { switchTo } = this.messages;
    const { go } = new MessageLinks({ transcript, onSwitch: switchTo, place, signal });
    this.goTo = new GoTo({ url: messagesUrl, go });
    this.outline = new Outline({ transcript, url: messagesUrl, go, signal });
    this.toolRows = new ToolRows(transcript);
    this.questions = new Questions({ send });
    this.queue = new Queue(send);
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
      onUp: this.queue.editLast,
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
    const palette = new Palette(this.#commands(), signal);
    startShortcuts({
      signal,
      onSearch: () => palette.open(),
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
      if (this.compaction.compact()) this.#retryUrl = button.dataset.url;
      else this.#notConnected();
    },
  };

  #receive(frame) {
    this.#frames = this.#frames
      .then(() => this.signal.aborted || handle(this, frame))
      .catch(reportError)
      // Who waits for a snapshot has not got it by another frame.
      .then(() => this.#waiting || this.#expectNews());
  }

  #send = (frame) => this.socket.send(frame);

  #notConnected() {
    showNotice(gettext("Not connected. Try again when the connection is back."));
  }

  /** Where the reader is, see paging.js. */
  place = () => this.transcript.place();

  // --- What the reader asks for ---

  goHome = () => $("#new-chat").click();

  /** False: the text stays in the message box; `done()` when the compaction has begun. */
  #compact({ focus, extent, done = null }) {
    if (this.compaction.compact(focus, extent)) this.#onCompacting = done;
    else this.#notConnected();
    return false;
  }

  /** Stop the answer; whether one was running. */
  #stop() {
    if (!this.turn.isAnswering()) return false;
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

  /** Whether the server holds the lock, as far as this page has heard. */
  isLocked = () => this.compaction.isRunning() || this.turn.isCompacting();

  drawState() {
    const answering = this.turn.isAnswering();
    const locked = this.#compacting || this.turn.isCompacting();
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

  isWaiting = () => this.#waiting;

  needSnapshot() {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#ask();
  }

  snapshotCame() {
    this.#waiting = false;
  }

  /** If it is the compaction that a command asked for, the command is done. */
  startTurn(frame) {
    this.turn.start(frame);
    if (this.turn.isCompacting()) this.#onCompacting?.();
    this.#onCompacting = null;
    this.drawState();
  }

  /** What was to follow a compaction does not. */
  commandRefused() {
    this.#onCompacting = null;
    this.#retryUrl = "";
  }

  #ask = () => {
    if (this.#isNewsDue()) this.socket.sync();
    else this.socket.ping();
    this.#expectNews();
  };

  #isNewsDue = () => this.turn.isActive() || this.compaction.isRunning() || this.#waiting;

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
    if (this.#retryUrl && isRoom) this.#retry(this.#retryUrl);
    this.#retryUrl = "";
  }
}
