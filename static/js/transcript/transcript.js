// The messages on the page: puts articles and dividers in, takes them out, catches up with the server.

import { $, $$, announce, focusOn, make, parse, refocus } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { localiseTimes } from "../base/moments.js";
import { showNotice } from "../base/notice.js";
import { keepFolds } from "../context/chapters.js";
import { Summarised } from "../context/summarised.js";
import { undressed } from "./blocks.js";
import { Days } from "./days.js";
import { drawLiveArticle, settleLiveArticle } from "./live_article.js";
import { become } from "./morph.js";
import { hasNewest, Paging } from "./paging.js";
import { Scrolling } from "./scrolling.js";

const isStreaming = (node) => node.dataset.status === "streaming";
const positionOf = (node) => Number(node?.dataset.position);

export class Transcript {
  #known = Number($("#chat").dataset.head) || 0; // number of the newest message, shown or not
  #summarised;
  #live = null; // drawn anew when the window comes back to the end
  #told = []; // articles that came while others were loaded, which may be older
  #typing = make(
    "div",
    { className: "typing", hidden: true },
    make("span"),
    make("span"),
    make("span"),
  );

  /** `url`: of the conversation's items. */
  constructor({ url, signal }) {
    this.log = $("#transcript");
    $("#live-rows").append(this.#typing);
    this.scrolling = new Scrolling({ onLatest: () => this.toBottom() });
    this.paging = new Paging({
      log: this.log,
      scroller: this.scrolling.scroller,
      url,
      onChange: () => this.#afterMove(),
    });
    this.#summarised = new Summarised({ log: this.log, scroller: this.scrolling.scroller });
    localiseTimes();
    new Days({
      log: this.log,
      keepPlace: (work) => this.change(() => this.paging.keepPlace(work)),
      signal,
    });
    this.#showEnd();
  }

  /** Where a page opens: at its end, or at the question that is being answered. */
  #showEnd() {
    const last = this.articles().findLast((node) => !isStreaming(node));
    if (last?.matches("[data-role=user]:not(.tools-only)")) this.scrolling.hold(last);
    else this.scrolling.toBottom();
  }

  article = (id) => (id == null ? null : $(`article[data-message-id="${id}"]`, this.log));
  articles = () => $$("article", this.log);

  /** Number of the newest message that this tab knows of, 0 for none. */
  head = () => this.#known;

  /** Change the page below or above; whoever reads its end stays there. */
  change = (work) => this.scrolling.change(work);

  /** To the newest message, which may have to be loaded first. */
  async toBottom() {
    if (!hasNewest()) await this.showNewest();
    this.scrolling.toBottom();
  }

  /** Have a question that was just asked at the top, with room for its answer. */
  async showQuestion(id) {
    if (!hasNewest()) await this.showNewest();
    const node = this.article(id);
    if (node) this.scrolling.hold(node);
  }

  /** To the first message, which may have to be loaded first. */
  async toTop() {
    try {
      if ($("#earlier")) await this.paging.first();
      this.scrolling.toTop();
    } catch {
      showNotice(gettext("Could not load the first messages. Try again in a moment."));
    }
  }

  /** Where the reader is: {end: true}, or what paging.putBack() takes. */
  place = () => (this.scrolling.follows() ? { end: true } : this.paging.place());

  async showNewest() {
    try {
      await this.paging.newest();
      this.scrolling.toBottom();
    } catch {
      this.#couldNotLoad();
    }
  }

  #couldNotLoad() {
    showNotice(gettext("Could not load the newest messages. Reload the page to see them."));
  }

  #afterMove() {
    const told = this.#told.splice(0);
    if (hasNewest()) {
      this.#known = Math.max(0, ...this.articles().map((node) => Number(node.dataset.number) || 0));
      told.forEach((html) => this.put(html));
      if (this.#live) this.drawLive(this.#live);
    }
    this.scrolling.drawLatest();
  }

  // --- Articles ---

  /** Put an article in, or in the place of the one it is a newer version of. */
  put(html) {
    const fresh = parse(html);
    if (!fresh) return;
    localiseTimes(fresh);
    this.#summarised.mark([fresh]);
    this.#known = Math.max(this.#known, Number(fresh.dataset.number));
    const old = this.article(fresh.dataset.messageId);
    // A slow response must not undo what the socket has told since.
    if (old && isStreaming(fresh) && old.dataset.position && !isStreaming(old)) return;
    if (!isStreaming(fresh) && fresh.dataset.messageId === String(this.#live?.messageId))
      this.#live = null;
    if (old) this.#replace(old, fresh);
    else if (hasNewest()) this.#append(fresh);
    else {
      if (this.paging.isLoading()) this.#told.push(html);
      this.scrolling.drawLatest();
    }
  }

  #append(fresh) {
    this.change(() => {
      // A retry or an edit begins a new branch: what stood here and after it is no longer shown.
      this.#keepFocus(() => this.#dropAfter(positionOf(fresh) - 1));
      this.log.append(fresh);
    });
    this.paging.trimStart();
  }

  /** Make the article a newer version; what the reader has selected, opened or focused stays so. */
  #replace(old, fresh) {
    const focused = old.contains(document.activeElement);
    for (const row of $$("[data-call][open]", old)) {
      $(`[data-call="${CSS.escape(row.dataset.call)}"]`, fresh)?.setAttribute("open", "");
    }
    const thoughts = $$(".thinking", fresh);
    $$(".thinking", old).forEach(({ open }, i) => thoughts[i]?.toggleAttribute("open", open));
    this.change(() => {
      settleLiveArticle(old);
      undressed(old, () => become(old, fresh));
    });
    if (focused && !old.contains(document.activeElement)) focusOn(old);
  }

  /** Do what may take the focused element away; the keyboard then goes on in the message box. */
  #keepFocus(work) {
    const inside = this.log.contains(document.activeElement);
    work();
    if (inside) refocus();
  }

  /** Take away what stands after a position, dividers with it. */
  #dropAfter(position) {
    const first = this.articles().find((node) => positionOf(node) > position);
    if (!first) return;
    while (first.isConnected) this.log.lastElementChild.remove();
  }

  async remove(id) {
    const node = this.article(id);
    if (!node) return;
    const covered = "summarised" in node.dataset;
    const all = this.articles();
    const beside = all[all.indexOf(node) + 1] ?? all[all.indexOf(node) - 1];
    this.#keepFocus(() => this.paging.keepPlace(() => node.remove()));
    this.#afterMove();
    // A summary that rested on it is gone, and its divider with it.
    if (covered && beside)
      await this.paging.around(beside.dataset.number).catch(() => this.showNewest());
  }

  /** The branch goes another way after a position: another edit, answer or branch is shown. */
  async goOtherWay(position) {
    const articles = this.articles();
    const isBelow = !hasNewest() && positionOf(articles.at(-1)) <= position;
    if (isBelow) return;
    if (positionOf(articles[0]) > position) return this.showNewest();
    this.#keepFocus(() => this.paging.keepPlace(() => this.#dropAfter(position)));
    await this.catchUp();
  }

  // --- What was missed ---

  /** Load what follows the last settled message; begin anew where that is not on the branch any more. */
  async catchUp() {
    if (!hasNewest()) return this.scrolling.drawLatest();
    const after = this.#lastSettled();
    if (!after) return this.showNewest();
    try {
      await this.paging.exclusive(() => this.#loadAfter(after));
      if (!hasNewest()) await this.showNewest(); // more than a page was missed
      this.#afterMove();
      this.paging.watch(); // whoever reached an end meanwhile was turned away
    } catch (error) {
      if (error.status === 409) return this.showNewest();
      this.#couldNotLoad();
    }
  }

  async #loadAfter({ dataset: { position, number } }) {
    const items = await this.paging.load(`?after=${position}&number=${number}`);
    items.querySelector("#earlier")?.remove();
    this.change(() => {
      for (const node of [...items.children]) {
        if (node.matches("article")) this.put(node.outerHTML);
        else if (!document.getElementById(node.id)) this.log.append(node);
      }
    });
  }

  /** The last article that will not change any more: from there on there may be news. */
  #lastSettled() {
    const all = this.articles();
    const cut = all.findIndex((node) => isStreaming(node) || node.dataset.position == null);
    const settled = cut < 0 ? all : all.slice(0, cut);
    // A failed answer at the end may have been retried elsewhere.
    return settled.findLast((node) => node.dataset.status === "complete");
  }

  /** Whether an answer looks unfinished that is not the live one. */
  hasUnsettled(liveMessageId) {
    return this.articles().some(
      (node) => isStreaming(node) && node.dataset.messageId !== String(liveMessageId),
    );
  }

  // --- Dividers and notices ---

  /** From `context.usage`: what the model gets as a summary. */
  showSummarised(parts) {
    this.#summarised.show(parts);
  }

  /** The number of the last message that the model gets as a summary. */
  summarisedThrough = () => this.#summarised.through();

  /** The divider of a compaction; `afterMessageId` if the divider itself does not say after which message. */
  putDivider(html, afterMessageId) {
    const divider = parse(html);
    const anchor = this.article(afterMessageId ?? divider?.dataset.after);
    if (!divider || !anchor) return;
    localiseTimes(divider);
    divider.classList.add("written");
    this.change(() => {
      // Of several compactions that reach to one message, the last counts.
      while (anchor.nextElementSibling?.matches(".divider")) {
        keepFolds(anchor.nextElementSibling, divider);
        anchor.nextElementSibling.remove();
      }
      anchor.after(divider);
    });
  }

  /** A line below the answer that is being written; whether there is one. */
  addNotice(text) {
    const node = this.articles().findLast(isStreaming);
    if (node) this.change(() => node.append(make("p", { className: "quiet turn-notice" }, text)));
    return Boolean(node);
  }

  // --- The live answer ---

  /** Draw `live` (see live.js); `change` says how little has to be drawn anew. */
  drawLive(live, change = "all") {
    this.#live = live;
    if (live.messageId == null || !hasNewest()) return;
    this.change(() => {
      drawLiveArticle(this.log, this.article(live.messageId), live, change);
      this.setTyping(!live.text && !live.html.length);
    });
  }

  /** No answer is being written any more. */
  endLive = () => (this.#live = null);

  setTyping(on) {
    if (this.#typing.hidden !== on) return;
    this.change(() => (this.#typing.hidden = !on));
    if (on) announce(gettext("Generating response"));
  }
}
