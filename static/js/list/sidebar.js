// The list of conversations beside the chat, on narrow screens a drawer over it.

import { $, $$, announce, shownId } from "../base/dom.js";
import { gettext, ngettext } from "../base/gettext.js";
import { storage } from "../base/storage.js";

/** The links of the list, and the id of the conversation that one leads to. */
export const LISTED = "a[id^=chat-]";
export const listedId = (link) => link.id.slice("chat-".length);

const narrow = matchMedia("(max-width: 1023px)"); // where the sidebar is a drawer

export function startSidebar() {
  const sidebar = $("#sidebar");
  document.addEventListener("click", ({ target }) => {
    if (target.closest?.("#sidebar-open, #sidebar-close, #sidebar-backdrop")) toggleSidebar();
  });
  sidebar.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeDrawer();
  });
  // A search hit, perhaps in this conversation.
  sidebar.addEventListener("click", ({ target }) => {
    if (target.closest("a[href*='#message-']")) closeDrawer();
  });
  // The whole of a title that is cut: with each link it would make the list heavier.
  sidebar.addEventListener("pointerover", ({ target }) => {
    if (target.matches(LISTED)) target.title = target.textContent;
  });
  narrow.addEventListener("change", closeDrawer);
  keepPresses();
  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target.id !== "sidebar-list") return;
    markCurrent();
    if (detail.requestConfig.elt.id === "sidebar-search" && $("#sidebar-search").value)
      announceHits();
  });
  $(".search").addEventListener("submit", (event) => event.preventDefault()); // it searches while one types
  markCurrent();
}

// --- What it shows ---

let refreshTimer = 0;
/** Load the list anew, a moment later: more news may come meanwhile. */
export function refreshSidebar() {
  clearTimeout(refreshTimer);
  refreshTimer = setTimeout(loadSidebar, 300);
}

export const loadSidebar = () => $("#sidebar-list").dispatchEvent(new Event("sidebar-refresh"));

/** Mark in the list what is shown. */
export function markCurrent() {
  const id = shownId();
  for (const link of $$(`#sidebar-list ${LISTED}`)) {
    if (listedId(link) === id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function announceHits() {
  const count = $$("#sidebar-list a").length;
  announce(count ? ngettext("{count} result", "{count} results", count) : gettext("Nothing found"));
}

/** A list that comes while somebody presses something in the one before would take it from under the press, and
 * nothing would be clicked: it is asked for again after that. */
function keepPresses() {
  const list = $("#sidebar-list");
  let pressed = false;
  let turnedAway = false;
  addEventListener("pointerdown", ({ target, button }) => {
    // Not the list's own scroll bar, whose release no browser has to tell.
    pressed = button === 0 && target !== list && list.contains(target);
  });
  const release = () => {
    pressed = false;
    if (turnedAway) setTimeout(loadSidebar); // after the click
    turnedAway = false;
  };
  addEventListener("pointerup", release);
  addEventListener("pointercancel", release);
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (!pressed || detail.target !== list) return;
    detail.shouldSwap = false;
    turnedAway = true;
  });
}

// --- Whether it is shown ---

const isDrawn = () => $("#sidebar").classList.contains("open");

const isSidebarOpen = () =>
  narrow.matches ? isDrawn() : !document.documentElement.dataset.sidebar;

/** Show or hide the sidebar; whether it is shown on a wide screen is remembered. */
export function toggleSidebar() {
  const open = !isSidebarOpen();
  if (narrow.matches) return toggleDrawer(open);
  const hadFocus = $("#sidebar").contains(document.activeElement);
  if (open) delete document.documentElement.dataset.sidebar;
  else document.documentElement.dataset.sidebar = "closed";
  storage.set("sidebar", open ? "" : "closed");
  if (open) $("#sidebar-close").focus();
  else if (hadFocus) $("#sidebar-open").focus();
}

/** Focus goes in, stays in, and comes back. */
function toggleDrawer(open) {
  $("#sidebar").classList.toggle("open", open);
  $("#sidebar-backdrop").hidden = !open;
  $("#chat").inert = open;
  $("#sidebar-open").setAttribute("aria-expanded", String(open));
  $(open ? "#sidebar-close" : "#sidebar-open").focus();
}

/** Where the sidebar is a drawer, it goes. */
export function closeDrawer() {
  if (isDrawn()) toggleDrawer(false);
}
