// The unfinished end of an answer. Not Markdown: it shows just enough of it (lists, tables, code,
// quotes, headings, emphasis, links) that nothing jumps when the server's HTML takes its place.
// Elements and text nodes only, so it is safe.

import { make } from "../base/dom.js";
import { gettext } from "../base/gettext.js";

const LONGEST = 20_000; // characters; a longer line or table is shown as plain text
const FENCE = /^(\s*)(`{3,}|~{3,})([^`]*)$/;
const RULE = /^\s*\|[\s|:-]*$/; // below the head of a table, whole or begun
const INLINE = /(\*\*[^*\n]+\*\*|`[^`\n]+`|\*[^*\s](?:[^*\n]*[^*\s])?\*|\[[^\]\n]+\]\([^)\s]*\))/;
const UNCLOSED = /(\*\*|`)([^*`]+)$|\[([^\]\n]+)\]\([^)\s]*$/; // what the next words will close

const drawn = new WeakMap(); // tail: the pieces that it shows

/** Draws anew what has changed since the last time: mostly the last piece. */
export function drawTail(tail, text) {
  const pieces = cut(text.replace(/^\s*\n/, "").trimEnd());
  const before = drawn.get(tail) ?? [];
  const most = Math.min(pieces.length, before.length) - 1; // the last one may have been half a piece
  let same = 0;
  while (same < most && pieces[same] === before[same]) same += 1;
  // A code block that goes on keeps its node: its reader may have scrolled it sideways.
  if (same === most && goesOn(before[same], pieces[same])) {
    tail.childNodes[same].querySelector("code").textContent = codeIn(pieces[same]);
    same += 1;
  }
  while (tail.childNodes.length > same) tail.lastChild.remove();
  tail.append(
    ...pieces.slice(same).map((piece, i) => drawPiece(piece, same + i === pieces.length - 1)),
  );
  drawn.set(tail, pieces);
}

/** Text as pieces: code blocks, tables, and lines. */
function cut(text) {
  const pieces = [];
  let fence = "";
  for (const source of text ? text.split("\n") : []) {
    const isRow = source.trimStart().startsWith("|");
    if (fence || (isRow && pieces.at(-1)?.trimStart().startsWith("|")))
      pieces.push(`${pieces.pop()}\n${source}`);
    else pieces.push(source);
    if (fence) fence = closes(source, fence) ? "" : fence;
    else fence = FENCE.exec(source)?.[2] ?? "";
  }
  return pieces;
}

const closes = (source, fence) =>
  source.trim().startsWith(fence) && !source.trim().replaceAll(fence[0], "");

/** Whether a piece is a code block whose first line was whole, with more in it now. */
const goesOn = (before, piece) =>
  before.includes("\n") && piece.startsWith(before) && FENCE.test(before.split("\n")[0]);

function drawPiece(piece, isLast) {
  const lines = piece.split("\n");
  const fence = FENCE.exec(lines[0]);
  if (fence) return code(fence, piece);
  if (piece.length > LONGEST) return make("div", { dir: "auto" }, piece);
  if (!piece.trimStart().startsWith("|")) return line(piece, isLast);
  return lines.length > 1 && !RULE.test(lines[1])
    ? make("div", { dir: "auto" }, piece)
    : table(lines);
}

function code([, indent, , info], piece) {
  const node = make(
    "div",
    { className: "code-block" },
    make("div", { className: "code-header" }, info.trim().split(/\s/)[0] || gettext("text")),
    make("pre", {}, make("code", { dir: "ltr" }, codeIn(piece))),
  );
  node.dataset.depth = depth(indent);
  return node;
}

/** The code of a block, without its fences and their indentation. */
function codeIn(piece) {
  const [first, ...lines] = piece.split("\n");
  const [, indent, fence] = FENCE.exec(first);
  if (lines.length && closes(lines.at(-1), fence)) lines.pop();
  return lines
    .map((source) => source.slice(Math.min(indent.length, source.search(/\S|$/))))
    .join("\n");
}

function table([head, rule = "", ...body]) {
  const aligned = cells(rule).map((cell) =>
    /-:$/.test(cell) ? (cell[0] === ":" ? "align-center" : "align-right") : "",
  );
  const row = (tag) => (source) =>
    make(
      "tr",
      {},
      ...cells(source).map((cell, i) =>
        make(tag, { className: aligned[i] ?? "" }, ...inline(cell)),
      ),
    );
  const node = make(
    "table",
    { dir: "auto" },
    make("thead", {}, row("th")(head)),
    body.length ? make("tbody", {}, ...body.map(row("td"))) : null,
  );
  return make(
    "div",
    { className: "table-block" },
    make("div", { className: "table-scroll" }, node),
  );
}

/** The cells of a row, the last of which may not be whole. */
function cells(source) {
  const row = source
    .trim()
    .replace(/^\|/, "")
    .replace(/([^\\])\|$/, "$1");
  return row
    .replaceAll("\\|", "\0")
    .split("|")
    .map((cell) => cell.replaceAll("\0", "|").trim());
}

function line(source, isLast) {
  const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/.exec(source);
  if (item) {
    const node = make(
      "div",
      { className: "tail-item", dir: "auto" },
      make("span", { className: "tail-marker" }, /\d/.test(item[2]) ? item[2] : "•"),
      make("span", {}, ...inline(item[3], isLast)),
    );
    node.dataset.depth = depth(item[1]);
    return node;
  }
  const heading = /^#{1,6}(?:\s+(.*))?$/.exec(source);
  if (heading)
    return make(
      "div",
      { className: "tail-heading", dir: "auto" },
      ...inline(heading[1] ?? "", isLast),
    );
  const quote = /^\s*>\s?(.*)$/.exec(source);
  if (quote)
    return make(
      "div",
      { className: "tail-quote", dir: "auto" },
      ...inline(quote[1] || "\n", isLast),
    );
  return make("div", { dir: "auto" }, ...inline(source || "\n", isLast));
}

const depth = (indent) => Math.min(3, Math.floor(indent.length / 2));

/** `isLast`: what is open at its end will be closed by the next words, and looks so already. */
function inline(source, isLast = false) {
  const parts = source.split(INLINE).filter(Boolean);
  const last = parts.at(-1) ?? "";
  const open = isLast && !INLINE.test(last) && UNCLOSED.exec(last);
  if (open) {
    const closed = open[3] ? `[${open[3]}]()` : open[1] + open[2] + open[1];
    parts.splice(-1, 1, last.slice(0, open.index), closed);
  }
  return parts.map((part) => styled(part, isLast));
}

function styled(part, isLast) {
  if (/^\*\*.+\*\*$/.test(part)) return make("strong", {}, ...inline(part.slice(2, -2), isLast));
  if (/^`.+`$/.test(part)) return make("code", { dir: "ltr" }, part.slice(1, -1));
  if (/^\*.+\*$/.test(part)) return make("em", {}, ...inline(part.slice(1, -1), isLast));
  const link = /^\[(.+)\]\(.*\)$/.exec(part);
  return link ? make("span", { className: "tail-link" }, link[1]) : part;
}
