// One open conversation: turns the socket's frames into changes of the page.

import { chooseModel, remember } from "./commands.js";
import { createCompaction } from "./compaction.js";
import { createComposer } from "./composer.js";
import { $, announce, post, refocus, request } from "./dom.js";
import { createGauge } from "./gauge.js";
import { gettext } from "./gettext.js";
import { apply, fromSnapshot } from "./live.js";
import { createMessages } from "./messages.js";
import { hideNotice, showNotice } from "./notice.js";
import { createQuestions } from "./questions.js";
import { openDialog, refreshSidebar, showBanner } from "./shell.js";
import { openHelp, startShortcuts } from "./shortcuts.js";
import { connect } from "./socket.js";
import { createToolRows } from "./tools.js";
import { createTranscript } from "./transcript.js";

export function startConversation(id) {
  const page = $("#chat").dataset;
  const homeUrl = $("#new-chat").href;
  let socket = null;
  // {turnId, kind} of the active turn; the page knows it before the socket does
  let turn = page.turnId ? { turnId: Number(page.turnId), kind: page.turnKind } : null;
  let live = null; // see live.js
  let compactions = 0; // completed ones that this tab knows of
  let waiting = false; // for a snapshot; deltas make no sense until it comes
  let compacting = false;
  let onCompacting = null; // what the command is still to do when its compaction begins
  let retryAfter = ""; // the address of the retry that waits for a compaction
  let frames = Promise.resolve(); // one after the other: some wait for HTTP

  const send = (frame) => socket.send(frame);
  const transcript = createTranscript({ url: page.messagesUrl, onSwitch: (messageId) => messages.switchTo(messageId) });
  const messages = createMessages({ transcript, url: page.messagesUrl });
  const rows = createToolRows(transcript);
  const questions = createQuestions({ send });
  const gauge = createGauge({ onCompact: () => openDialog(page.compactUrl) });
  const compaction = createCompaction({
    transcript,
    send,
    onLock(on) {
      compacting = on;
      drawState();
    },
  });
  const composer = createComposer({
    key: id,
    send,
    head: transcript.head,
    onStop: stop,
    onSilence: () => socket.sync(),
    async onShowLatest() {
      hideNotice();
      await transcript.catchUp();
      await transcript.toBottom();
    },
    commands: {
      compact,
      context: () => gauge.open(),
      new: () => location.assign(homeUrl),
      help: openHelp,
      system: () => openDialog(page.settingsUrl),
      model: chooseModel,
      export: (form) => location.assign(form.toLowerCase() === "json" ? page.exportJsonUrl : page.exportUrl),
      rename(title) {
        if (title) rename(title);
        else $("#title").select();
      },
      remember,
    },
  });

  const notConnected = () => showNotice(gettext("Not connected. Try again when the connection is back."));

  /** False: the text stays in the message box; `done()` when the compaction has begun. */
  function compact(focus, done = null) {
    if (compaction.compact(focus)) onCompacting = done;
    else notConnected();
    return false;
  }

  /** Stop the answer; whether one was running. */
  function stop() {
    if (turn?.kind !== "answer") return false;
    if (!send({ type: "turn.stop" })) notConnected();
    return true;
  }

  function drawState() {
    const answering = turn?.kind === "answer";
    const locked = compacting || turn?.kind === "compact";
    composer.setState({ locked, answering });
    gauge.setCompactable(!locked && !answering);
  }

  // --- Catching up over HTTP ---

  /** The divider of the summary that counts now, where this tab has not been told of it. */
  async function showCurrentSummary() {
    const response = await request(page.summaryUrl).catch(() => null);
    if (response?.status === 200) transcript.putDivider(await response.text());
  }

  function needSnapshot() {
    if (waiting) return;
    waiting = true;
    socket.sync();
  }

  // --- Frames ---

  const handlers = {
    async snapshot(frame) {
      waiting = false;
      // The title may have come before the socket was there.
      if (showTitle(frame.title)) refreshSidebar();
      const missedCompaction = frame.usage && frame.usage.totals.compactions !== compactions;
      if (frame.usage) showUsage(frame.usage);
      turn = frame.turn && { turnId: frame.turn.turn_id, kind: frame.turn.kind };
      live = fromSnapshot(frame.turn);
      if (!live) transcript.endLive();
      const missedEnd = frame.compaction ? compaction.started(frame.compaction) : compaction.ended();
      drawState();
      const behind = transcript.hasUnsettled(live?.messageId) || missedEnd === true;
      if (frame.head < transcript.head()) await transcript.showNewest(); // another branch, or deletions
      else if (frame.head > transcript.head() || behind) await transcript.catchUp();
      if (missedEnd === true || missedCompaction) await showCurrentSummary();
      if (live) transcript.drawLive(live);
      rows.restore(frame.turn);
      questions.restore(frame.questions);
      transcript.setTyping(turn?.kind === "answer" && !frame.compaction && !(live?.text || live?.html.length));
      composer.reconcile();
    },

    "message.created"(frame) {
      if (frame.role === "user") compaction.forgetOutcome();
      transcript.put(frame.html);
      if (composer.confirm(frame.client_id)) transcript.toBottom();
      const open = frame.status === "streaming";
      if (live?.messageId === frame.id) {
        if (open) transcript.drawLive(live);
        else live = null; // a round is over, its tools run
      } else if (open) transcript.setTyping(true);
      if (!open && frame.role === "assistant") transcript.setTyping(false);
    },

    "turn.started"(frame) {
      turn = { turnId: frame.turn_id, kind: frame.kind };
      live = null;
      if (frame.kind === "answer") transcript.setTyping(true);
      else onCompacting?.();
      onCompacting = null;
      drawState();
    },

    "turn.delta": streamed,
    "turn.block": streamed,
    "turn.thinking": rows.think,
    "tool.started": rows.call,
    "tool.finished": rows.call,

    "turn.notice"(frame) {
      if (!transcript.addNotice(frame.text)) showNotice(frame.text, { info: true });
    },

    "turn.finished"(frame) {
      // A newer one may have begun while this end was drawn.
      if (!(turn?.turnId > frame.turn_id)) {
        turn = live = null;
        transcript.endLive();
        transcript.setTyping(false);
        questions.closeCalls();
      }
      if (frame.html) transcript.put(frame.html);
      else if (frame.error && frame.kind === "answer") showNotice(frame.error.message);
      if (frame.kind === "answer") {
        announce({ completed: gettext("Response complete"), cancelled: gettext("Response stopped") }[frame.status] ?? gettext("Response failed"));
      }
      drawState();
      if (transcript.hasUnsettled(null)) transcript.catchUp();
      if (retryAfter && frame.kind === "compact") {
        if (frame.status === "completed") retry(retryAfter);
        retryAfter = "";
      }
    },

    async "branch.changed"(frame) {
      compaction.forgetOutcome();
      await transcript.goOtherWay(frame.after);
      messages.arrived();
    },
    "message.deleted": (frame) => transcript.remove(frame.id),

    "question.asked": questions.asked,
    "question.closed": questions.closed,

    "context.usage": showUsage,

    "site.state": (frame) => showBanner(frame.text),

    "conversation.updated"(frame) {
      if (frame.id === id) showTitle(frame.title);
      refreshSidebar();
    },

    "conversation.deleted"(frame) {
      if (frame.id === id) location.assign(homeUrl);
      else refreshSidebar();
    },

    CompressionStarted(frame) {
      transcript.setTyping(false);
      compaction.started(frame);
    },
    CompressionProgress: compaction.progressed,
    CompressionCompleted(frame) {
      compaction.completed(frame);
      if (frame.success) gauge.show({ held: false });
      if (turn?.kind === "answer" && !live) transcript.setTyping(true);
    },

    "compaction.reverted"(frame) {
      document.getElementById(`compaction-${frame.id}`)?.remove();
      compaction.forgetOutcome();
      gauge.show({ held: true });
      showCurrentSummary();
    },

    error(frame) {
      onCompacting = null;
      retryAfter = "";
      composer.refuse(frame);
    },
  };

  function streamed(frame) {
    if (waiting) return;
    rows.fold(frame.message_id);
    const result = apply(live, frame);
    live = result.live;
    if (result.change === "gap") needSnapshot();
    else if (result.change !== "none") transcript.drawLive(live, result.change);
  }

  function showUsage(usage) {
    compactions = usage.totals.compactions;
    gauge.show(usage);
  }

  // --- Dialogs ---

  document.addEventListener("submit", (event) => {
    if (event.target.id !== "compact-form") return;
    event.preventDefault();
    $("#dialog").close();
    compact(new FormData(event.target).get("focus").trim());
  });
  document.addEventListener("settings-saved", (event) => gauge.show({ automatic: event.detail.automatic }));

  // --- Title and model ---

  /** Show a title; whether it is another one than before. */
  function showTitle(title) {
    const input = $("#title");
    if (!title || title === input.defaultValue) return false;
    document.title = `${title} · Everlong`;
    $("#page-title").textContent = title;
    input.defaultValue = title;
    if (document.activeElement !== input) input.value = title;
    return true;
  }

  async function rename(title) {
    const response = await post($("#rename").action, { title }).catch(() => null);
    if (!response?.ok) return showNotice(gettext("The title could not be changed. Try again."));
    showTitle(title);
    refreshSidebar();
  }

  $("#rename").addEventListener("submit", (event) => {
    event.preventDefault();
    $("#title").blur();
  });
  $("#title").addEventListener("change", (event) => {
    const title = event.target.value.trim();
    if (title) rename(title);
    else event.target.value = event.target.defaultValue;
  });
  $("#title").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.target.value = event.target.defaultValue;
    event.target.blur();
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-action=place]");
    if (!button) return;
    const { name, value } = button.dataset;
    const response = await post(page.placeUrl, { [name]: value }).catch(() => null);
    if (!response?.ok) return showNotice(gettext("That did not work. Try again in a moment."));
    if (name === "archived" && value) return location.assign(homeUrl);
    button.dataset.value = value ? "" : "1";
    button.textContent = name === "pinned" ? (value ? gettext("Unpin") : gettext("Pin to the top")) : gettext("Archive");
    refreshSidebar();
  });

  const model = $("#model");
  let chosen = model?.value;
  model?.addEventListener("change", async () => {
    const response = await post(page.modelUrl, { model: model.value }).catch(() => null);
    if (response?.ok) chosen = model.value;
    else {
      model.value = chosen;
      showNotice((response && (await response.text()).slice(0, 200)) || gettext("The model could not be changed."));
    }
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-action]");
    switch (button?.dataset.action) {
      case "rename": return $("#title").select();
      case "ask": return composer.ask(button.dataset.text);
      case "retry":
        button.disabled = true;
        await retry(button.dataset.url);
        button.disabled = false;
        break;
      case "compact-retry":
        if (compaction.compact("")) retryAfter = button.dataset.url;
        else notConnected();
    }
  });

  async function retry(url) {
    const response = await post(url).catch(() => null);
    if (response?.ok) {
      hideNotice();
      refocus();
    } else showNotice(([409, 429].includes(response?.status) && (await response.text()).slice(0, 300)) || gettext("Could not retry. Try again in a moment."));
  }

  startShortcuts({ onStop: stop });

  // --- Go ---

  showUsage(JSON.parse($("#usage-data").textContent));
  drawState();
  let bannerTimer = 0;
  socket = connect(page.socket, {
    onFrame(frame) {
      frames = frames.then(() => handlers[frame.type]?.(frame)).catch(reportError);
    },
    onTooLarge: composer.tooLarge,
    works: () => request($("#connection-banner").dataset.healthUrl).then((response) => response.ok, () => false),
    onState(state) {
      clearTimeout(bannerTimer);
      $("#chat").classList.toggle("away", state !== "open");
      if (state === "signed-out") return document.dispatchEvent(new Event("signed-out"));
      const text = {
        open: "",
        lost: gettext("Reconnecting…"),
        gone: gettext("This conversation no longer exists."),
        blocked: gettext("The server answers, but something between it and this page (a proxy, a firewall, an extension) blocks websockets, which messages need. Try another network or browser, or show this to your administrator. Your text is kept."),
        "too-many": gettext("You have Everlong open in too many tabs. Close some, then reload this page. Your text is kept."),
      }[state];
      // A blip of a second is not worth a word.
      bannerTimer = setTimeout(() => showBanner(text), state === "lost" ? 800 : 0);
    },
  });
}
