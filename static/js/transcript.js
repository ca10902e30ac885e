// The messages on the page: puts articles in, draws the live answer, keeps the scroll position.

import { $, $$, announce, localiseTimes, make, parse } from "./dom.js";
import { showNotice } from "./notice.js";
import { drawTail } from "./tail.js";

const NEAR = 80; // px from the bottom that still count as "at the bottom"
const PAGES_BACK = 30; // how far a link to a message may load
const RETRY_TICK = 1000; // ms

export function createTranscript() {
  const log = $("#transcript");
  const scroller = $("#scroller");
  const latest = $("#latest");
  const typing = make("div", { className: "typing", hidden: true }, make("span"), make("span"), make("span"));
  let stuck = true;
  $("#live-rows").append(typing);

  // --- Scrolling ---

  const toBottom = () => {
    scroller.scrollTop = scroller.scrollHeight;
    stuck = true;
    latest.hidden = true;
  };
  scroller.addEventListener("scroll", () => {
    stuck = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
    latest.hidden = stuck;
  }, { passive: true });
  latest.addEventListener("click", toBottom);
  // The composer grows, the window turns: whoever is at the bottom stays there.
  new ResizeObserver(() => stuck && toBottom()).observe(scroller);

  /** Change the page; follow the end of the text only if the reader is there. */
  function change(work) {
    const follow = stuck;
    const result = work();
    if (follow) toBottom();
    else latest.hidden = false;
    return result;
  }

  // Older messages come in above: keep what is being read where it is.
  let before = null;
  log.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target?.id === "earlier") {
      before = scroller.scrollHeight - scroller.scrollTop;
    }
  });
  log.addEventListener("htmx:afterSettle", () => {
    if (before != null) scroller.scrollTop = scroller.scrollHeight - before;
    before = null;
    localiseTimes(log);
  });

  // --- Articles ---

  const article = (id) => (id == null ? null : $(`article[data-message-id="${id}"]`, log));
  const articles = () => $$("article", log);
  const isStreaming = (node) => node.dataset.status === "streaming";

  function put(html) {
    const fresh = parse(html);
    if (!fresh) return null;
    localiseTimes(fresh);
    const old = article(fresh.dataset.messageId);
    const position = Number(fresh.dataset.position);
    // A slow response must not undo what the socket has told since.
    if (old && isStreaming(fresh) && old.dataset.position && !isStreaming(old)) return old;
    change(() => {
      if (old) {
        old.replaceWith(fresh);
        return;
      }
      // A retry or an edit begins a new branch: what stood here and after it is no longer shown.
      for (const other of articles()) {
        if (Number(other.dataset.position) >= position) other.remove();
      }
      log.append(fresh);
    });
    return fresh;
  }

  /** Newer items from the server (`?after=`): replace what is known, append the rest. */
  function putAll(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    for (const node of [...template.content.children]) {
      if (node.matches("article")) put(node.outerHTML);
      else if (node.matches(".divider") && !document.getElementById(node.id)) {
        localiseTimes(node);
        change(() => log.append(node));
      }
    }
  }

  function putDivider(html, afterMessageId) {
    const divider = parse(html);
    const anchor = article(afterMessageId);
    if (!divider || !anchor) return;
    localiseTimes(divider);
    change(() => {
      // Of several compactions that reach to one message, the last counts.
      while (anchor.nextElementSibling?.matches(".divider")) anchor.nextElementSibling.remove();
      anchor.after(divider);
    });
  }

  // --- Links to messages ---

  /** Load older pages until the message is there; a summary may point far back. */
  async function reveal(number) {
    for (let page = 0; page < PAGES_BACK; page++) {
      const target = document.getElementById(`message-${number}`);
      const earlier = $("#earlier");
      if (target) {
        target.scrollIntoView({ block: "start" });
        target.classList.add("found");
        setTimeout(() => target.classList.remove("found"), 1600);
        return true;
      }
      if (!earlier) return false;
      const response = await fetch(earlier.getAttribute("hx-get")).catch(() => null);
      if (!response?.ok) return false;
      const template = document.createElement("template");
      template.innerHTML = await response.text();
      localiseTimes(template.content);
      earlier.replaceWith(template.content);
      window.htmx?.process(log);
    }
    return false;
  }
  log.addEventListener("click", async (event) => {
    const link = event.target.closest?.('a[href^="#message-"]');
    if (!link) return;
    event.preventDefault();
    const number = link.hash.slice("#message-".length);
    if (!(await reveal(number))) showNotice(`Message #${number} is not among those that could be loaded.`);
  });

  // --- The live answer ---

  /** Draw `live` (see live.js); `change` says how little has to be drawn anew. */
  function drawLive(live, kind = "all") {
    if (live.messageId == null) return;
    change(() => {
      let node = article(live.messageId);
      if (!node) {
        node = make("article", { className: "message", ariaLabel: "Assistant" });
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
    if (on) announce("Generating response");
  }

  // --- Retry countdowns ---

  function tick() {
    for (const node of $$(".countdown[data-retry-at]", log)) {
      const seconds = Math.ceil((new Date(node.dataset.retryAt) - Date.now()) / 1000);
      const button = node.parentNode.querySelector("button");
      button.disabled = seconds > 0;
      node.textContent = seconds > 0 ? `possible in ${seconds} s` : "";
      if (!(seconds > 0)) node.removeAttribute("data-retry-at");
    }
  }
  setInterval(tick, RETRY_TICK);
  tick();

  /** What this tab knows: the highest number, and from which position on to ask for more. */
  function head() {
    return Math.max(Number($("#chat").dataset.head) || 0, ...articles().map((a) => Number(a.dataset.number) || 0));
  }
  function lastSettledPosition() {
    const all = articles();
    const cut = all.findIndex((node) => isStreaming(node) || node.dataset.position == null);
    const settled = cut < 0 ? all : all.slice(0, cut);
    // A failed answer at the end may have been retried elsewhere.
    while (settled.length && settled.at(-1).dataset.status !== "complete") settled.pop();
    return settled.length ? Number(settled.at(-1).dataset.position) : -1;
  }
  const hasUnsettled = (liveMessageId) =>
    articles().some((a) => isStreaming(a) && a.dataset.messageId !== String(liveMessageId));

  function addNotice(text) {
    const node = articles().findLast(isStreaming);
    if (node) change(() => node.append(make("p", { className: "quiet turn-notice" }, text)));
    return Boolean(node);
  }

  localiseTimes();
  const linked = location.hash && document.getElementById(location.hash.slice(1));
  if (linked) linked.scrollIntoView();
  else toBottom();

  return { addNotice, log, article, change, drawLive, hasUnsettled, head, lastSettledPosition, put, putAll, putDivider, setTyping, toBottom };
}
