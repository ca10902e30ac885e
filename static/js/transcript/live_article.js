// The article of the answer that is being written.

import { $, make } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { drawTail } from "./tail.js";

/** Draw `live` (see live.js) in its article, or in a new one; `change` says how little has changed. */
export function drawLiveArticle(log, article, live, change) {
  const node = article ?? log.appendChild(newArticle(live.messageId));
  if (live.number != null) node.dataset.number = live.number;
  node.dataset.status = "streaming";
  const body = $(":scope > .live", node);
  const [done, tail] = (body ?? newBody(node)).children;
  if (change === "all" || !body) done.innerHTML = live.html.join("");
  else if (change === "block") done.insertAdjacentHTML("beforeend", live.html.at(-1));
  drawTail(tail, live.text);
}

function newArticle(messageId) {
  const node = make("article", { className: "message", ariaLabel: gettext("Assistant") });
  Object.assign(node.dataset, { messageId, role: "assistant" });
  return node;
}

/** The live body of an article, in place of the server's. */
function newBody(node) {
  const body = make(
    "div",
    { className: "body prose live" },
    make("div", { className: "done" }),
    make("div", { className: "tail" }),
  );
  const old = $(":scope > .body", node);
  if (old) old.replaceWith(body);
  else node.append(body);
  return body;
}

/** Give the finished blocks the form of the server's article; the tail, which only looks like it, goes. */
export function settleLiveArticle(article) {
  const body = $(":scope > .live", article);
  if (!body) return;
  $(".tail", body).remove();
  $(".done", body).className = "text";
}
