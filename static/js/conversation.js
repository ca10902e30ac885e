// One open conversation: turns the socket's frames into changes of the page.

import { createCompaction } from "./compaction.js";
import { createComposer } from "./composer.js";
import { $, announce, post } from "./dom.js";
import { createGauge } from "./gauge.js";
import { apply, fromSnapshot } from "./live.js";
import { hideNotice, showNotice } from "./notice.js";
import { refreshSidebar } from "./shell.js";
import { connect } from "./socket.js";
import { createTranscript } from "./transcript.js";

export function startConversation(id) {
  const page = $("#chat").dataset;
  const homeUrl = $("#new-chat").href;
  let socket = null;
  // {turnId, kind} of the active turn; the page knows it before the socket does
  let turn = page.turnId ? { turnId: Number(page.turnId), kind: page.turnKind } : null;
  let live = null; // see live.js
  let waiting = false; // for a snapshot; deltas make no sense until it comes
  let compacting = false;

  const send = (frame) => socket.send(frame);
  const transcript = createTranscript();
  const gauge = createGauge({ onCompact: () => compaction.compact() });
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
    onStop: () => send({ type: "turn.stop" }),
    async onShowLatest() {
      await catchUp();
      hideNotice();
      transcript.toBottom();
    },
    commands: {
      compact(focus) {
        if (compaction.compact(focus)) return true;
        showNotice("Not connected. Try again when the connection is back.");
        return false;
      },
      new: () => location.assign(homeUrl),
      rename(title) {
        if (title) rename(title);
        else $("#title").select();
      },
    },
  });

  function drawState() {
    const answering = turn?.kind === "answer";
    const locked = compacting || turn?.kind === "compact";
    composer.setState({ locked, answering });
    gauge.setCompactable(!locked && !answering);
  }

  // --- Catching up over HTTP ---

  async function catchUp() {
    const after = transcript.lastSettledPosition();
    try {
      const response = await fetch(`${page.messagesUrl}?after=${after}`);
      if (!response.ok) throw new Error(String(response.status));
      transcript.putAll(await response.text());
      if (live) transcript.drawLive(live);
    } catch {
      showNotice("Could not load the newest messages. Reload the page to see them.");
    }
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
      if (frame.usage) gauge.show(frame.usage);
      turn = frame.turn && { turnId: frame.turn.turn_id, kind: frame.turn.kind };
      live = fromSnapshot(frame.turn);
      const missedEnd = frame.compaction ? compaction.started(frame.compaction) : compaction.ended();
      drawState();
      const behind =
        frame.head > transcript.head() || transcript.hasUnsettled(live?.messageId) || missedEnd === true;
      if (behind) await catchUp();
      if (live) transcript.drawLive(live);
      transcript.setTyping(turn?.kind === "answer" && !compacting && !(live?.text || live?.html.length));
      composer.reconcile(frame.head);
    },

    "message.created"(frame) {
      if (frame.role === "user") compaction.forgetOutcome();
      transcript.put(frame.html);
      if (composer.confirm(frame.client_id)) transcript.toBottom();
      if (live && live.messageId === frame.id) transcript.drawLive(live);
    },

    "turn.started"(frame) {
      turn = { turnId: frame.turn_id, kind: frame.kind };
      live = null;
      if (frame.kind === "answer") transcript.setTyping(true);
      drawState();
    },

    "turn.delta": streamed,
    "turn.block": streamed,

    "turn.notice"(frame) {
      if (!transcript.addNotice(frame.text)) showNotice(frame.text, { info: true });
    },

    "turn.finished"(frame) {
      if (turn?.turnId === frame.turn_id) turn = null;
      live = null;
      transcript.setTyping(false);
      if (frame.html) transcript.put(frame.html);
      else if (frame.error && frame.kind === "answer") showNotice(frame.error.message);
      if (frame.kind === "answer") {
        announce({ completed: "Response complete", cancelled: "Response stopped" }[frame.status] ?? "Response failed");
      }
      drawState();
      if (transcript.hasUnsettled(null)) catchUp();
    },

    "context.usage": (frame) => gauge.show(frame),

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
      if (turn?.kind === "answer" && !live) transcript.setTyping(true);
    },

    "compaction.reverted": (frame) => document.getElementById(`compaction-${frame.id}`)?.remove(),

    error: (frame) => composer.refuse(frame),
  };

  function streamed(frame) {
    if (waiting) return;
    const result = apply(live, frame);
    live = result.live;
    if (result.change === "gap") needSnapshot();
    else if (result.change !== "none") transcript.drawLive(live, result.change);
  }

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
    if (!response?.ok) return showNotice("The title could not be changed. Try again.");
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

  const model = $("#model");
  let chosen = model?.value;
  model?.addEventListener("change", async () => {
    const response = await post(page.modelUrl, { model: model.value }).catch(() => null);
    if (response?.ok) chosen = model.value;
    else {
      model.value = chosen;
      showNotice((response && (await response.text()).slice(0, 200)) || "The model could not be changed.");
    }
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-action]");
    if (button?.dataset.action === "rename") $("#title").select();
    if (button?.dataset.action !== "retry") return;
    button.disabled = true;
    const response = await post(button.dataset.url).catch(() => null);
    button.disabled = false;
    if (response?.ok) hideNotice();
    else showNotice((response?.status === 409 && (await response.text()).slice(0, 300)) || "Could not retry. Try again in a moment.");
  });

  // --- Go ---

  gauge.show(JSON.parse($("#usage-data").textContent));
  drawState();
  const banner = $("#connection-banner");
  let bannerTimer = 0;
  socket = connect(page.socket, {
    onFrame: (frame) => handlers[frame.type]?.(frame),
    onState(state) {
      clearTimeout(bannerTimer);
      const text = {
        open: "",
        lost: "Reconnecting…",
        "signed-out": "You have been signed out. Reload the page to sign in again; your text is kept.",
        gone: "This conversation no longer exists.",
      }[state];
      // A blip of a second is not worth a word.
      bannerTimer = setTimeout(() => {
        banner.textContent = text;
        banner.hidden = !text;
      }, state === "lost" ? 800 : 0);
    },
  });
}
