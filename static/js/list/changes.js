// What is done to conversations of the list, and what of it can be undone for some seconds.

import { UNDO } from "../base/dialogs.js";
import { $, announce, hasKeyboard, make, makeButton, refocus, shownId } from "../base/dom.js";
import { gettext, ngettext } from "../base/gettext.js";
import { post, refusal } from "../base/http.js";
import { tabStorage } from "../base/storage.js";
import { refreshSidebar } from "./sidebar.js";

const LOADING_TIME = 14_000; // ms more on the next page, which may load slowly; after 30 s the server deletes
const UNDO_KEY = "undo"; // in this tab, for its next page: what is offered to be undone
const TOLD = {
  archived: (count) =>
    ngettext("{count} conversation archived.", "{count} conversations archived.", count),
  deleted: (count) =>
    ngettext("{count} conversation deleted.", "{count} conversations deleted.", count),
};

let offered = []; // {change, was: {value before: ids}, told: in words, until: ms, back: the page that was left for it}

/** Ask the server: `change` is pinned, archived or deleted, `value` "1" or "", or `change` is project and
    `value` the id of one or "". null: not reached. */
export const sendChange = (ids, change, value, options) =>
  post(
    $("#sidebar-list").dataset.changeUrl,
    [[change, value], ...ids.map((id) => ["id", id])],
    options,
  );

/** Change conversations, and offer to undo what takes them off the list; whether it was done. */
export async function changeListed(ids, change, value) {
  const { conversationId, temporary } = $("#chat").dataset;
  const { href } = location;
  const response = await sendChange(ids, change, value);
  if (!response?.ok) {
    showLine(await refusal(response, gettext("That did not work. Try again in a moment.")));
    return false;
  }
  refreshSidebar();
  if (!value || change === "pinned") return true;
  const leaving = ids.includes(conversationId);
  if (!(leaving && temporary != null))
    offer({
      change,
      was: { "": ids },
      told: TOLD[change](ids.length),
      until: Date.now() + UNDO,
      back: leaving && href,
    });
  if (leaving && conversationId === shownId()) $("#new-chat").click();
  return true;
}

/** Move conversations into the project of that id, "" out of any; `name`: of the project. Whether it was done. */
export async function moveListed(ids, project, name) {
  const response = await sendChange(ids, "project", project);
  if (!response?.ok) {
    showLine(await refusal(response, gettext("That did not work. Try again in a moment.")));
    return false;
  }
  let told = project
    ? gettext("Moved to “{name}”.", { name })
    : gettext("Moved out of the project.");
  if (ids.length > 1)
    told = ngettext("{count} conversation moved.", "{count} conversations moved.", ids.length);
  offer({ change: "project", was: await response.json(), told, until: Date.now() + UNDO });
  refreshSidebar();
  showProject(ids);
  return true;
}

/** Tell on the conversation's own page which project it belongs to now. */
function showProject(ids) {
  if (!ids.includes(shownId())) return;
  const line = "#topbar-project";
  window.htmx.ajax("GET", location.pathname, { target: line, select: line, swap: "outerHTML" });
}

// --- Undoing ---

/** Show words for as long as an undo is offered. */
function showLine(words, button, until = Date.now() + UNDO) {
  const line = make("p", {}, make("span", {}, words), button);
  $("#undo").append(line);
  setTimeout(() => removeLine(line), until - Date.now());
  return line;
}

function removeLine(line) {
  line.remove();
  refocus();
}

function keepOffered(entries) {
  offered = entries;
  tabStorage.set(UNDO_KEY, entries.length ? JSON.stringify(entries) : "");
}

const withdraw = (entry) => keepOffered(offered.filter((each) => each !== entry));

function offer(entry) {
  keepOffered([...offered, entry]);
  show(entry);
  if (hasKeyboard) $("#undo p:last-child button").focus();
}

function show(entry, until = entry.until) {
  const seconds = Math.ceil((until - Date.now()) / 1000);
  const words = [
    entry.told,
    ngettext("Undo within {count} second.", "Undo within {count} seconds.", seconds),
  ];
  const onclick = () => undo(entry, line);
  const button = makeButton(gettext("Undo"), { className: "button small", onclick });
  const line = showLine(words.join(" "), button, until);
  setTimeout(() => withdraw(entry), until - Date.now());
}

async function undo(entry, line) {
  for (const [value, ids] of Object.entries(entry.was)) {
    const response = await sendChange(ids, entry.change, value);
    if (!response?.ok)
      return showLine(
        response?.status === 404 && entry.change === "deleted"
          ? gettext("It is too late: that is deleted for good.")
          : gettext("That could not be undone. Try again."),
      );
  }
  withdraw(entry);
  removeLine(line);
  announce(gettext("Undone"));
  if (entry.back) return location.assign(entry.back);
  refreshSidebar();
  if (entry.change === "project") showProject(Object.values(entry.was).flat());
}

/** Offer again what the page before offered: while this one loaded it was hardly seen. */
export function offerAgain() {
  const kept = JSON.parse(tabStorage.get(UNDO_KEY) || "[]");
  keepOffered(kept.filter(({ until }) => until + LOADING_TIME > Date.now()));
  for (const entry of offered) show(entry, Math.min(Date.now() + UNDO, entry.until + LOADING_TIME));
}
