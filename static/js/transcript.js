// The messages on the page: puts articles in, draws the live answer, keeps the scroll position.

import { $, $$, announce, focusOn, localiseTimes, make, parse, refocus } from "./dom.js";
import { gettext } from "./gettext.js";
import { hideNotice, showNotice } from "./notice.js";
import { createPaging } from "./paging.js";
import { drawTail } from "./tail.js";

const NEAR = 80; // px from the bottom that still count as "at the bottom"
const RETRY_TICK = 1000; // ms

/** `url`: of the conversation's items. `onSwitch(messageId)` shows the branch through a message. */
export function createTranscript({ url, onSwitch }) {
  const log = $("#transcript");
  const scroller = $("#scroller");
  const latest = $("#latest");
  const typing = make("div", { className: "typing", hidden: true }, make("span"), make("span"), make("span"));
  let stuck = true;
  let known = Number($("#chat").dataset.head) || 0; // number of the newest message, shown or not
  let liveNow = null; // drawn anew when the window comes back to the end
  $("#live-rows").append(typing);
  const paging = createPaging({ log, scroller, url, onChange: afterMove });

  // --- Scrolling ---

  const drawLatest = () => (latest.hidden = stuck && paging.atTail());
  const scrollDown = () => {
    scroller.scrollTop = scroller.scrollHeight;
    stuck = true;
    drawLatest();
  };
  scroller.addEventListener("scroll", () => {
    stuck = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
    drawLatest();
  }, { passive: true });
  /** To the newest message, which may have to be loaded first. */
  async function toBottom() {
    if (!paging.atTail()) await showNewest();
    scrollDown();
  }
  latest.addEventListener("click", toBottom);
  // The composer grows, the window turns: whoever is at the bottom stays there.
  new ResizeObserver(() => stuck && paging.atTail() && scrollDown()).observe(scroller);

  /** Change the page; follow the end of the text only if the reader is there. */
  function change(work) {
    const follow = stuck && paging.atTail();
    const result = work();
    if (follow) scrollDown();
    else latest.hidden = false;
    return result;
  }

  function afterMove() {
    if (paging.atTail()) {
      known = articles().reduce((most, node) => Math.max(most, Number(node.dataset.number) || 0), 0);
      if (liveNow) drawLive(liveNow);
    }
    drawLatest();
  }

  async function showNewest() {
    try {
      await paging.newest();
      scrollDown();
    } catch {
      showNotice(gettext("Could not load the newest messages. Reload the page to see them."));
    }
  }

  // --- Articles ---

  const article = (id) => (id == null ? null : $(`article[data-message-id="${id}"]`, log));
  const articles = () => $$("article", log);
  const isStreaming = (node) => node.dataset.status === "streaming";

  function put(html) {
    const fresh = parse(html);
    if (!fresh) return null;
    localiseTimes(fresh);
    known = Math.max(known, Number(fresh.dataset.number));
    const old = article(fresh.dataset.messageId);
    // A slow response must not undo what the socket has told since.
    if (old && isStreaming(fresh) && old.dataset.position && !isStreaming(old)) return old;
    if (!isStreaming(fresh) && fresh.dataset.messageId === String(liveNow?.messageId)) liveNow = null;
    if (old) replace(old, fresh);
    else if (paging.atTail()) {
      change(() => {
        // A retry or an edit begins a new branch: what stood here and after it is no longer shown.
        keepFocus(() => dropAfter(Number(fresh.dataset.position) - 1));
        log.append(fresh);
      });
      paging.trimStart();
    } else drawLatest();
    return fresh;
  }

  /** Put the finished article in; what the reader had opened or focused in the old one stays so. */
  function replace(old, fresh) {
    const focused = old.contains(document.activeElement);
    for (const row of $$("[data-call][open]", old)) {
      $(`[data-call="${CSS.escape(row.dataset.call)}"]`, fresh)?.setAttribute("open", "");
    }
    change(() => old.replaceWith(fresh));
    if (focused) focusOn(fresh);
  }

  /** Do what may take the focused element away; the keyboard then goes on in the message box. */
  function keepFocus(work) {
    const inside = log.contains(document.activeElement);
    work();
    if (inside) refocus();
  }

  /** Take away what stands after a position, dividers with it. */
  function dropAfter(position) {
    const first = articles().find((node) => Number(node.dataset.position) > position);
    if (!first) return;
    while (first.isConnected) log.lastElementChild.remove();
  }

  /** The branch goes another way after a position: another edit, answer or branch is shown. */
  async function goOtherWay(position) {
    const last = articles().at(-1);
    const elsewhere = !paging.atTail() && Number(last?.dataset.position) <= position;
    if (elsewhere) return; // it lies below what is on the page
    const first = articles()[0];
    if (first && Number(first.dataset.position) > position) return showNewest();
    keepFocus(() => paging.keepPlace(() => dropAfter(position)));
    await catchUp();
  }

  /** Load what follows the last settled message; begin anew where that is not on the branch any more. */
  async function catchUp() {
    if (!paging.atTail()) return drawLatest();
    const after = lastSettled();
    if (!after) return showNewest();
    try {
      await paging.exclusive(async () => {
        const { position, number } = after.dataset;
        const items = await paging.load(`?after=${position}&number=${number}`);
        items.querySelector("#earlier")?.remove();
        change(() => {
          for (const node of [...items.children]) {
            if (node.matches("article")) put(node.outerHTML);
            else if (!document.getElementById(node.id)) log.append(node);
          }
        });
      });
      if (!paging.atTail()) await showNewest(); // more than a page was missed
      afterMove();
      paging.watch(); // whoever reached an end meanwhile was turned away
    } catch (error) {
      if (error.status === 409) return showNewest();
      showNotice(gettext("Could not load the newest messages. Reload the page to see them."));
    }
  }

  async function remove(id) {
    const node = article(id);
    if (!node) return;
    const covered = node.matches("article:has(~ .divider)");
    const beside = node.nextElementSibling?.closest("article") ?? node.previousElementSibling?.closest("article");
    keepFocus(() => paging.keepPlace(() => node.remove()));
    afterMove();
    // A summary that rested on it is gone, and its divider with it.
    if (covered && beside) await paging.around(beside.dataset.number).catch(showNewest);
  }

  function putDivider(html, afterMessageId) {
    const divider = parse(html);
    const anchor = article(afterMessageId ?? divider?.dataset.after);
    if (!divider || !anchor) return;
    localiseTimes(divider);
    change(() => {
      // Of several compactions that reach to one message, the last counts.
      while (anchor.nextElementSibling?.matches(".divider")) {
        const details = $("details[open]", anchor.nextElementSibling);
        if (details && $("details", divider)) $("details", divider).open = true;
        anchor.nextElementSibling.remove();
      }
      anchor.after(divider);
    });
  }

  // --- Links to messages ---

  /** Show a message, however far back it is. */
  async function reveal(number) {
    const find = () => document.getElementById(`message-${number}`);
    try {
      if (!find()) await paging.around(number);
    } catch (error) {
      if (error.messageId) {
        const run = async () => {
          hideNotice();
          if (await onSwitch(error.messageId)) await reveal(number);
        };
        return showNotice(error.message, { info: true, actions: [{ label: gettext("Show that branch"), run }] });
      }
      return showNotice(error.status === 404 ? gettext("Message #{number} is not in this conversation any more.", { number })
        : gettext("Message #{number} could not be loaded. Try again in a moment.", { number }));
    }
    const target = find();
    stuck = false;
    target.classList.add("found");
    setTimeout(() => target.classList.remove("found"), 1600);
    const rows = rowsOf(target);
    for (const row of rows) {
      row.open = true;
      $("[data-action=whole]", row)?.click();
    }
    const shown = rows[0] ?? target;
    shown.scrollIntoView({ block: "start" });
    shown.tabIndex = -1;
    shown.focus({ preventScroll: true });
  }
  /** Where the results are shown that a message of nothing else holds: in the rows of the calls before it. */
  function rowsOf(target) {
    if (!target.matches(".tools-only:not(:has(.row))")) return [];
    const before = articles()[articles().indexOf(target) - 1];
    return before ? $$("details.row.tool", before) : [];
  }
  const numberOf = (hash) => /^#(?:m|message-)(\d+)$/.exec(hash)?.[1];
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#m']");
    const number = link && numberOf(link.hash);
    if (!number) return;
    event.preventDefault();
    reveal(number);
  });
  addEventListener("hashchange", () => numberOf(location.hash) && reveal(numberOf(location.hash)));

  // --- The live answer ---

  /** Draw `live` (see live.js); `change` says how little has to be drawn anew. */
  function drawLive(live, kind = "all") {
    liveNow = live;
    if (live.messageId == null || !paging.atTail()) return;
    change(() => {
      let node = article(live.messageId);
      if (!node) {
        node = make("article", { className: "message", ariaLabel: gettext("Assistant") });
        Object.assign(node.dataset, { messageId: live.messageId, role: "assistant" });
        log.append(node);
      }
      if (live.number != null) node.dataset.number = live.number;
      node.dataset.status = "streaming";
      let body = $(":scope > .live", node);
      if (!body) {
        const old = $(":scope > .body", node);
        body = make("div", { className: "body prose live" },
          make("div", { className: "done" }), make("div", { className: "tail" }));
        if (old) old.replaceWith(body);
        else node.append(body);
        kind = "all";
      }
      const done = body.firstChild;
      if (kind === "all") done.innerHTML = live.html.join("");
      else if (kind === "block") done.insertAdjacentHTML("beforeend", live.html.at(-1));
      drawTail(body.lastChild, live.text);
      setTyping(!live.text && !live.html.length);
    });
  }

  function setTyping(on) {
    if (typing.hidden !== on) return;
    change(() => (typing.hidden = !on));
    if (on) announce(gettext("Generating response"));
  }

  // --- Retry countdowns ---

  function tick() {
    for (const node of $$(".countdown[data-retry-at]", log)) {
      const seconds = Math.ceil((new Date(node.dataset.retryAt) - Date.now()) / 1000);
      const button = node.parentNode.querySelector("button");
      button.disabled = seconds > 0;
      node.textContent = seconds > 0 ? gettext("possible in {seconds} s", { seconds }) : "";
      if (!(seconds > 0)) node.removeAttribute("data-retry-at");
    }
  }
  setInterval(tick, RETRY_TICK);
  tick();

  /** The last article that will not change any more: from there on there may be news. */
  function lastSettled() {
    const all = articles();
    const cut = all.findIndex((node) => isStreaming(node) || node.dataset.position == null);
    const settled = cut < 0 ? all : all.slice(0, cut);
    // A failed answer at the end may have been retried elsewhere.
    while (settled.length && settled.at(-1).dataset.status !== "complete") settled.pop();
    return settled.at(-1);
  }
  const hasUnsettled = (liveMessageId) =>
    articles().some((a) => isStreaming(a) && a.dataset.messageId !== String(liveMessageId));

  function addNotice(text) {
    const node = articles().findLast(isStreaming);
    if (node) change(() => node.append(make("p", { className: "quiet turn-notice" }, text)));
    return Boolean(node);
  }

  localiseTimes();
  scrollDown();
  if (numberOf(location.hash)) reveal(numberOf(location.hash));

  return {
    addNotice, article, catchUp, change, drawLive, goOtherWay, hasUnsettled, log, put, putDivider, remove, setTyping, showNewest, toBottom,
    /** Number of the newest message that this tab knows of, 0 for none. */
    head: () => known,
    /** No answer is being written any more. */
    endLive: () => (liveNow = null),
  };
}
