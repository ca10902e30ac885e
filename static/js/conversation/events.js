// What happens when an event arrives: the table at the end names for each kind what is done.
//
// `chat` is the page's Conversation, `frame` what docs/protocol.md describes.

// What comes while the conversation is locked. Anything else may mean that its end was lost.

import { announce } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { showBanner, showBannerIn, showNotice } from "../base/notice.js";
import { refreshSidebar } from "../list/sidebar.js";
import { forgetCitations } from "../navigation/citations.js";

const OF_A_LOCK = ["snapshot", "CompressionStarted", "CompressionProgress", "CompressionCompleted"];
// Refusals of what the page offers only where it knows no better.
const NEWS_TO_THE_PAGE = ["conversation_busy", "nothing_to_stop"];

const ANNOUNCED = 2500; // ms after which no process shows the announcement before

const ENDS = {
  completed: gettext("Response complete"),
  cancelled: gettext("Response stopped"),
};

// --- Catching up ---

async function caughtUp(chat, frame) {
  const { transcript, turn } = chat;
  chat.snapshotCame();
  // The title may have come before the socket was there.
  if (chat.topbar.showTitle(frame.title)) refreshSidebar();
  const missedCompaction = frame.usage && frame.usage.totals.compactions !== chat.compactions;
  if (frame.usage) chat.showUsage(frame.usage);
  showBannerIn("#budget-line", frame.budget ?? "");
  turn.restore(frame.turn);
  if (!turn.live) transcript.endLive();
  const missedEnd = !frame.compaction && chat.compaction.ended();
  if (frame.compaction) chat.compaction.started(frame.compaction);
  chat.drawState();
  const behind = transcript.hasUnsettled(turn.live?.messageId) || missedEnd;
  const missedHead = frame.head !== transcript.head();
  if (frame.head < transcript.head()) await transcript.showNewest(); // another branch, or deletions
  else if (frame.head > transcript.head() || behind) await transcript.catchUp();
  if (missedEnd || missedCompaction) await chat.showCurrentSummary();
  if (missedHead || missedEnd || missedCompaction) chat.outline.refresh();
  if (turn.live) transcript.drawLive(turn.live);
  chat.toolRows.restore(frame.turn);
  chat.questions.restore(frame.questions);
  const nothingWritten = !turn.live?.text && !turn.live?.html.length;
  transcript.setTyping(turn.isAnswering() && !frame.compaction && nothingWritten);
  if (frame.queue) queueChanged(chat, frame.queue);
  chat.composer.reconcile();
}

// --- Messages ---

function messageCreated(chat, frame) {
  const { transcript, turn } = chat;
  if (frame.role === "user") chat.compaction.forgetOutcome();
  transcript.put(frame.html);
  if (chat.composer.confirm(frame.client_id)) transcript.showQuestion(frame.id);
  const open = frame.status === "streaming";
  if (!open) turn.store(frame.id);
  else if (turn.live?.messageId === frame.id) transcript.drawLive(turn.live);
  else transcript.setTyping(true);
  if (!open && frame.role === "assistant") transcript.setTyping(false);
}

function messageDeleted(chat, frame) {
  forgetCitations();
  chat.outline.refresh();
  return chat.transcript.remove(frame.id);
}

function messagesLeftOut(chat, frame) {
  for (const id of frame.ids)
    chat.transcript.article(id)?.toggleAttribute("data-left-out", frame.left_out);
  chat.outline.refresh();
}

async function branchChanged(chat, frame) {
  chat.outline.refresh();
  chat.compaction.forgetOutcome();
  await chat.transcript.goOtherWay(frame.after);
  chat.messages.arrived();
}

// --- A turn ---

function turnStarted(chat, frame) {
  chat.startTurn(frame);
  if (!chat.turn.isAnswering()) return;
  chat.transcript.setTyping(true);
  chat.outline.refresh();
}

/** A piece of the answer, or a block of it that is finished. */
function answerWritten(chat, frame) {
  if (chat.isWaiting()) return;
  const change = chat.turn.write(frame);
  if (change === "gap") return chat.needSnapshot(); // something was lost
  chat.toolRows.fold(frame.message_id);
  if (change !== "none") chat.transcript.drawLive(chat.turn.live, change);
}

/** What this tab has queued is stored. */
function queueChanged(chat, frame) {
  for (const id of frame.client_ids) chat.composer.confirm(id);
  chat.queue.show(frame);
}

function turnNotice(chat, frame) {
  if (!chat.transcript.addNotice(frame.text)) showNotice(frame.text, { info: true });
}

function turnFinished(chat, frame) {
  const { transcript } = chat;
  // A newer one may have begun while this end was drawn.
  if (chat.turn.end(frame.turn_id)) {
    transcript.endLive();
    transcript.setTyping(false);
    chat.questions.closeCalls();
  }
  if (frame.html) transcript.put(frame.html);
  else if (frame.error && frame.kind === "answer") showNotice(frame.error.message);
  if (frame.kind === "answer") announce(ENDS[frame.status] ?? gettext("Response failed"));
  chat.drawState();
  if (transcript.hasUnsettled(null)) transcript.catchUp();
  if (frame.kind === "compact") chat.retryAfterCompaction(frame.status === "completed");
}

/** It is told between two messages: one that is still being written here has ended. */
function usageTold(chat, frame) {
  chat.showUsage(frame);
  if (chat.turn.live?.messageId != null) chat.needSnapshot();
}

// --- Compaction ---

function compactionStarted(chat, frame) {
  chat.transcript.setTyping(false);
  chat.compaction.started(frame);
}

function compactionProgressed(chat, frame) {
  if (!chat.compaction.progressed(frame)) chat.needSnapshot(); // its beginning was lost
}

function compactionCompleted(chat, frame) {
  chat.compaction.completed(frame);
  if (frame.success) {
    chat.gauge.show({ held: false });
    chat.outline.refresh();
  }
  if (chat.turn.isAnswering() && !chat.turn.live) chat.transcript.setTyping(true);
}

function summaryChanged(chat, frame) {
  chat.compaction.changed(frame);
  chat.outline.refresh();
}

function compactionReverted(chat, frame) {
  document.getElementById(`compaction-${frame.id}`)?.remove();
  chat.compaction.forgetOutcome();
  chat.outline.refresh();
  chat.showCurrentSummary();
}

// --- The conversation and the site ---

function conversationUpdated(chat, frame) {
  if (frame.id === chat.id) chat.topbar.showTitle(frame.title);
  refreshSidebar();
}

function conversationDeleted(chat, frame) {
  if (frame.id === chat.id) chat.goHome();
  else refreshSidebar();
}

function refused(chat, frame) {
  chat.commandRefused();
  chat.composer.refuse(frame);
  if (NEWS_TO_THE_PAGE.includes(frame.code)) chat.needSnapshot();
}

/** By kind of event: (chat, frame). A kind that is not here is ignored. */
const HANDLERS = {
  pong: () => {}, // what counts is that it came
  snapshot: caughtUp,
  error: refused,
  "send.waiting": (chat, frame) => chat.composer.waits(frame),
  "message.created": messageCreated,
  "message.deleted": messageDeleted,
  "messages.left_out": messagesLeftOut,
  "branch.changed": branchChanged,
  "turn.started": turnStarted,
  "turn.delta": answerWritten,
  "turn.block": answerWritten,
  "turn.thinking": (chat, frame) => chat.toolRows.think(frame),
  "turn.notice": turnNotice,
  "turn.finished": turnFinished,
  "tool.started": (chat, frame) => chat.toolRows.call(frame),
  "tool.finished": (chat, frame) => chat.toolRows.call(frame),
  "question.asked": (chat, frame) => chat.questions.asked(frame),
  "question.closed": (chat, frame) => chat.questions.closed(frame),
  "context.usage": usageTold,
  "queue.changed": queueChanged,
  CompressionStarted: compactionStarted,
  CompressionProgress: compactionProgressed,
  CompressionCompleted: compactionCompleted,
  "summary.changed": summaryChanged,
  "compaction.prepared": (chat) => chat.gauge.show({ ready: true }),
  "compaction.reverted": compactionReverted,
  "conversation.updated": conversationUpdated,
  "conversation.deleted": conversationDeleted,
  "projects.changed": refreshSidebar,
  "budget.state": (_, frame) => showBannerIn("#budget-line", frame.text),
  "announcement.changed": () => setTimeout(refreshSidebar, ANNOUNCED),
  "site.state": (_, frame) => showBanner(frame.text),
};

/** Do what an event says. Where the page stays locked without a reason in it, a snapshot decides. */
export async function handle(chat, frame) {
  const wasLocked = chat.isLocked();
  await HANDLERS[frame.type]?.(chat, frame);
  if (wasLocked && chat.isLocked() && !OF_A_LOCK.includes(frame.type)) chat.needSnapshot();
}
