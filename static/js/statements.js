// The dialog that edits a summary: its text as a list of statements. It comes with the dialog, which is
// seldom opened, and stands alone. The text area holds what is sent; the list is made from its lines.

const BULLET = /^\s*(?:[-*+]|\d+[.)])\s+/;
const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^#+ /;
const BREAK = "* * *";
const NONE = /^\s*(?:[-*+]\s+)?none\.?\s*$/i;
const UNVERIFIED = / *\(unverified\)/;
const CITATION = /\s*\[(#[^\]]*)\]\s*$/;
const COLUMNS = 70; // of a text area, where the browser does not size it by its text

const $ = (selector, root = document) => root.querySelector(selector);
const copy = (id) => $(id).content.firstElementChild.cloneNode(true);
const make = (tag, text = "") => Object.assign(document.createElement(tag), { textContent: text });

let lines = []; // {text}, or of a statement {node, area, mark, prefix, line, said, marked}

// --- From the text to the list and back ---

function makeRow(line, prefix) {
  const node = copy("#statement");
  const [area, mark] = [$("textarea", node), $(".unverified-mark", node)];
  const said = line.slice(prefix.length);
  const row = { node, area, mark, prefix, line, said: said.replace(UNVERIFIED, "") };
  row.marked = UNVERIFIED.test(said);
  area.value = row.said;
  area.rows = Math.ceil(row.said.length / COLUMNS) || 1;
  mark.hidden = !row.marked;
  node.statement = row;
  return row;
}

const isDropped = ({ node }) => node.classList.contains("dropped");
const isChanged = ({ area, said, mark, marked }) => area.value !== said || mark.hidden === marked;

/** What a row says in the text; null: nothing. */
function write(row) {
  const words = row.area.value.replace(/\s+/g, " ").trim();
  if (isDropped(row) || !words) return null;
  if (row.line && !isChanged(row)) return row.line;
  return row.prefix + words + (row.mark.hidden ? "" : " (unverified)");
}

/** The lines of the text. A heading that has lost all that stood below it says so. */
function compose() {
  const written = [];
  let lost = false; // something, since the last heading
  const endSection = () => {
    const last = written.findLastIndex((line) => line.trim());
    if (lost && HEADING.test(written[last])) written.splice(last + 1, 0, "None.");
    lost = false;
  };
  for (const line of lines) {
    const text = line.node ? write(line) : line.text;
    if (text == null) {
      lost = true;
      continue;
    }
    if (HEADING.test(text) || text === BREAK) endSection();
    written.push(text);
  }
  endSection();
  return written.join("\n");
}

/** A list of statements, which stand after a line of the text. */
function makeSection(chapter, after) {
  const section = make("ul");
  section.after = after;
  section.append(copy("#statement-add"));
  chapter.append(section);
  return section;
}

/** The list of what the text area holds. */
function draw(form) {
  const list = $("#statements");
  const labels = [...form.querySelectorAll(".chapter-label")].map((each) =>
    each.content.cloneNode(true),
  );
  const texts = $("[name=text]", form).value.replaceAll("\r\n", "\n").split("\n");
  const last = texts.filter((text) => text === BREAK).length;
  let [chapter, section, inCode] = [null, null, false];
  const begin = () => {
    const number = list.childElementCount;
    chapter = Object.assign(make("details"), { open: number === last });
    const summary = make("summary");
    summary.append(last + 1 === labels.length ? labels[number] : number + 1);
    chapter.append(summary);
    list.append(chapter);
    section = makeSection(chapter, lines.at(-1));
  };
  const put = (node) => section.lastElementChild.before(node);
  list.replaceChildren();
  lines = [];
  begin();
  for (const text of texts) {
    const fence = FENCE.test(text);
    const isFixed = fence || inCode || HEADING.test(text) || text === BREAK || NONE.test(text);
    const line = isFixed || !text.trim() ? { text } : makeRow(text, BULLET.exec(text)?.[0] ?? "");
    lines.push(line);
    if (line.node) put(line.node);
    else if (fence || inCode) put(Object.assign(make("li", text), { className: "code" }));
    else if (text === BREAK) begin();
    else if (HEADING.test(text)) {
      if (section.childElementCount === 1) section.remove();
      chapter.append(make("h3", text.replace(HEADING, "")));
      section = makeSection(chapter, line);
    }
    if (fence) inCode = !inCode;
  }
}

// --- What is done to a statement ---

function show(row) {
  const dropped = isDropped(row);
  row.area.readOnly = dropped;
  $("[data-statement=undo]", row.node).hidden = dropped || !row.line || !isChanged(row);
  $("[data-statement=source]", row.node).hidden = dropped;
  if (dropped) $(".statement-sources", row.node).replaceChildren();
  // Whoever presses beside the dialog now would lose something.
  row.node.dispatchEvent(new Event("input", { bubbles: true }));
}

async function findSources(row, button) {
  const place = $(".statement-sources", row.node);
  if (place.childElementCount) {
    place.replaceChildren();
    return button.setAttribute("aria-expanded", "false");
  }
  const url = `${$("#summary-form").dataset.sourcesUrl}?${new URLSearchParams({ said: row.area.value })}`;
  button.disabled = true;
  const response = await fetch(url).catch(() => null);
  button.disabled = false;
  const failed = !response?.ok || response.redirected;
  $("[data-failed]", row.node).hidden = !failed;
  if (failed) return null;
  place.innerHTML = await response.text();
  button.setAttribute("aria-expanded", "true");
  $("button", place)?.focus();
  return null;
}

/** Cite a message at the end of a statement, beside those that it cites. */
function cite(row, { dataset }) {
  const number = `#${dataset.cite}`;
  const cited = CITATION.exec(row.area.value)?.[1] ?? "";
  const all = cited.split(/[\s,;]+/).includes(number) ? cited : `${cited} ${number}`.trim();
  row.area.value = `${row.area.value.replace(CITATION, "").trimEnd()} [${all}]`;
  if (dataset.supports != null) row.mark.hidden = true;
  $(".statement-sources", row.node).replaceChildren();
  const button = $("[data-statement=source]", row.node);
  button.setAttribute("aria-expanded", "false");
  button.focus();
  show(row);
}

const ACTIONS = {
  source: findSources,
  drop: (row) => {
    row.node.classList.toggle("dropped");
    show(row);
  },
  undo: (row) => {
    row.area.value = row.said;
    row.mark.hidden = !row.marked;
    show(row);
    row.area.focus();
  },
};

/** A new statement at the end of a section. */
function add(button) {
  const row = makeRow("", "- ");
  const item = button.closest("li");
  const at = lines.indexOf(item.previousElementSibling?.statement ?? item.parentNode.after) + 1;
  const said = lines.slice(at).findIndex(({ text }) => !NONE.test(text)); // "None." is no more so
  lines.splice(at, Math.max(0, said), row);
  item.before(row.node);
  row.area.focus();
}

// --- The dialog ---

function setMode(form, asText) {
  const [list, text, button] = ["#statements", "#summary-text", "#summary-as"].map((id) => $(id));
  list.hidden = asText;
  text.hidden = !asText;
  button.hidden = false;
  button.classList.toggle("as-text", asText);
  if (!asText) draw(form);
}

const isList = () => $("#statements")?.hidden === false;

function start() {
  const form = $("#summary-form");
  if (!form || form.dataset.started) return;
  form.dataset.started = "";
  // The browser sends no empty text, and cannot say so where the text is hidden.
  setMode(form, !$("[name=text]", form).value.trim());
  $("#summary-as").addEventListener("click", () => {
    if (isList()) $("[name=text]", form).value = compose();
    setMode(form, isList());
  });
  $("#statements").addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    const row = button?.closest(".statement")?.statement;
    if (button?.dataset.cite) cite(row, button);
    else if (button?.dataset.statement === "add") add(button);
    else ACTIONS[button?.dataset.statement]?.(row, button);
  });
  $("#statements").addEventListener("input", ({ target }) => {
    const row = target.closest(".statement")?.statement;
    if (row && target === row.area)
      $("[data-statement=undo]", row.node).hidden = !row.line || !isChanged(row);
  });
}

document.addEventListener("htmx:afterSwap", start);
document.addEventListener(
  "submit",
  ({ target }) => {
    if (target.id === "summary-form" && isList()) $("[name=text]", target).value = compose();
  },
  true, // before the form is read
);
start();
