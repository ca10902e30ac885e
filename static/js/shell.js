// Everything around the conversation: sidebar, menus, dialogs, theme.

import { $, $$, announce, LISTED, listedId, refocus } from "./dom.js";
import { gettext, ngettext } from "./gettext.js";
import { isSignIn, outOfDate, tooLarge } from "./http.js";
import { hideNotice, showNotice } from "./notice.js";
import { look, ownHeaders } from "./session.js";
import { storage } from "./storage.js";

export function startShell() {
  startTheme();
  startSidebar();
  startMenus();
  startDialog();
  markCurrent();
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    delete detail.parameters.csrfmiddlewaretoken; // it would count before the header
    Object.assign(detail.headers, ownHeaders());
    if (detail.elt.closest("#sidebar, #palette")) detail.parameters.current = shownId();
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "sidebar-list") return;
    markCurrent();
    if (event.detail.requestConfig.elt.id === "sidebar-search" && $("#sidebar-search").value)
      announceHits();
  });
  startErrors();
  $(".search").addEventListener("submit", (event) => event.preventDefault()); // it searches while one types
}

const AGAIN = "X-Again"; // a request that is sent for the second time

/** Send once more what was refused for its token, or a read that got no answer; whether it was sent. */
async function again({ elt, xhr, target, requestConfig: { verb, path, parameters, headers } }) {
  const isLost = !xhr.status && verb === "get";
  const isRefused = xhr.status === 403 && !headers[AGAIN] && (await look({ refused: true }));
  if (headers[AGAIN] || !(isLost || isRefused)) return false;
  window.htmx
    .ajax(verb, path, { source: elt, target, values: parameters, headers: { [AGAIN]: "1" } })
    .catch(() => {}); // an event tells of it
  return true;
}

/** What the server would not do, in its own words where it has some. */
function startErrors() {
  for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, async ({ detail }) => {
      const { elt, xhr } = detail;
      if (await again(detail)) return;
      if (xhr.status === 401) look();
      showNotice(whyNot(xhr));
      // What was chosen there is not so.
      if (elt.matches(".budget")) $("#gauge-more").dispatchEvent(new Event("panel-opened"));
      elt.closest("#tools-panel")?.dispatchEvent(new Event("panel-opened"));
    });
  }
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (!isSignIn(detail.xhr.responseURL)) return;
    detail.shouldSwap = false;
    look();
  });
}

function whyNot(xhr) {
  if (xhr.status === 413) return tooLarge();
  if (xhr.status === 403) return outOfDate();
  const hasWords = xhr.getResponseHeader("Content-Type")?.startsWith("text/plain");
  return (
    (hasWords && xhr.responseText.slice(0, 300)) ||
    gettext("The server could not do that. Try again in a moment.")
  );
}

/** The line above the notices: how the connection stands. */
export function showBanner(...content) {
  const banner = $("#connection-banner");
  banner.replaceChildren(...content);
  banner.hidden = !banner.textContent;
}

function announceHits() {
  const count = $$("#sidebar-list a").length;
  announce(count ? ngettext("{count} result", "{count} results", count) : gettext("Nothing found"));
}

let refreshTimer = 0;
/** Load the list anew, a moment later: more news may come meanwhile. */
export function refreshSidebar() {
  clearTimeout(refreshTimer);
  refreshTimer = setTimeout(loadSidebar, 300);
}

export const loadSidebar = () => $("#sidebar-list").dispatchEvent(new Event("sidebar-refresh"));

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

/** The id of the conversation that is shown, "" on the start page. */
const shownId = () => $("#chat").dataset.conversationId ?? "";

/** Mark in the list what is shown. */
export function markCurrent() {
  const id = shownId();
  for (const link of $$(`#sidebar-list ${LISTED}`)) {
    if (listedId(link) === id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function startTheme() {
  const chosen = storage.get("theme") ?? "system";
  for (const radio of $$('input[name="theme"]')) {
    radio.checked = radio.value === chosen;
    radio.addEventListener("change", () => {
      storage.set("theme", radio.value === "system" ? "" : radio.value);
      if (radio.value === "system") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = radio.value;
    });
  }
}

export const UNDO = 8000; // ms that it is offered
const narrow = matchMedia("(max-width: 1023px)"); // where the sidebar is a drawer

const isSidebarOpen = () =>
  narrow.matches
    ? $("#sidebar").classList.contains("open")
    : !document.documentElement.dataset.sidebar;

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

const isDrawn = () => $("#sidebar").classList.contains("open");

/** Where the sidebar is a drawer, it goes. */
export function closeDrawer() {
  if (isDrawn()) toggleDrawer(false);
}

function startSidebar() {
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
}

function startMenus() {
  const close = (menu) => (menu.open = false);
  document.addEventListener("click", (event) => {
    for (const menu of $$("details.menu[open]")) {
      const inside = menu.contains(event.target);
      const chosen = inside && event.target.closest(".menu-panel > :is(a, button)");
      // A dialog that it opens gives the focus back to what stays visible.
      if (chosen) $("summary", menu).focus();
      if (!inside || chosen) close(menu);
    }
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest?.("details.menu[open]");
    if (!menu) return;
    close(menu);
    $("summary", menu).focus();
  });
}

/** Show a fragment of the server's in the dialog. */
export function openDialog(url) {
  window.htmx?.ajax("GET", url, { target: "#dialog", swap: "innerHTML" });
}

// What the server says when a dialog's form is done: {event: words}.
const DONE = {
  "settings-saved": gettext("Settings saved"),
  "summary-saved": gettext("Summary saved. Every exact value in it was found in the messages."),
  "summary-reverted": gettext("Reverted"),
  "conversation-renamed": gettext("Renamed"),
  "message-left-out": gettext("Left out of the context"),
  "message-put-back": gettext("Put back into the context"),
};

/** Open a dialog at its beginning: the button that gets the focus may stand at its end. */
export function showFromTop(dialog) {
  dialog.showModal();
  dialog.scrollTop = 0;
}

function startDialog() {
  const dialog = $("#dialog");
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === dialog && !dialog.open) showFromTop(dialog);
    for (const node of $$("[data-vanishes]", dialog)) setTimeout(() => node.remove(), UNDO);
  });
  for (const [name, words] of Object.entries(DONE)) {
    document.addEventListener(name, ({ detail }) => {
      dialog.close();
      if (name === "summary-saved") return showNotice(words, { info: true });
      if (detail?.later) return showNotice(`${words}. ${detail.later}`, { info: true });
      hideNotice();
      announce(words);
    });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.('[data-action="open-dialog"]');
    if (!button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openDialog(button.dataset.url ?? button.href);
  });
  dialog.addEventListener(
    "click",
    (event) => event.target.closest('[data-action="close-dialog"]') && dialog.close(),
  );
  closeOutside(dialog);
}

/** A press beside a dialog closes it, unless something was changed in it. */
export function closeOutside(dialog) {
  let pressed = false; // a selection may end outside without having begun there
  let changed = false;
  const outside = ({ target, clientX, clientY }) => {
    const box = dialog.getBoundingClientRect();
    return (
      target === dialog &&
      (clientX < box.left || clientX > box.right || clientY < box.top || clientY > box.bottom)
    );
  };
  dialog.addEventListener("pointerdown", (event) => (pressed = outside(event)));
  dialog.addEventListener(
    "click",
    (event) => pressed && !changed && outside(event) && dialog.close(),
  );
  dialog.addEventListener("input", () => (changed = true));
  dialog.addEventListener("close", () => {
    changed = false;
    refocus();
  });
}
