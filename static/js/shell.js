// Everything around the conversation: sidebar, menus, dialogs, theme, copying.

import { $, $$, announce, storage } from "./dom.js";
import { showNotice } from "./notice.js";

export function startShell(conversationId) {
  startTheme();
  startDrawer();
  startMenus();
  startDialog();
  startCopying();
  markCurrent(conversationId);
  document.addEventListener("htmx:configRequest", (event) => {
    event.detail.headers["X-CSRFToken"] = $('meta[name="csrf-token"]').content;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id === "sidebar-list") markCurrent(conversationId);
  });
  for (const name of ["htmx:responseError", "htmx:sendError"]) {
    document.addEventListener(name, () => showNotice("The server could not do that. Try again in a moment."));
  }
}

let refreshTimer = 0;
export function refreshSidebar() {
  clearTimeout(refreshTimer);
  refreshTimer = setTimeout(() => $("#sidebar-list").dispatchEvent(new Event("sidebar-refresh")), 300);
}

function markCurrent(id) {
  for (const link of $$("#sidebar-list a[data-conversation-id]")) {
    if (link.dataset.conversationId === id) link.setAttribute("aria-current", "page");
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

/** On a phone the sidebar is a drawer: focus goes in, stays in, and comes back. */
function startDrawer() {
  const sidebar = $("#sidebar");
  const opener = $("#sidebar-open");
  const backdrop = $("#sidebar-backdrop");
  const toggle = (open) => {
    sidebar.classList.toggle("open", open);
    backdrop.hidden = !open;
    $("#chat").inert = open;
    opener.setAttribute("aria-expanded", String(open));
    (open ? $("#sidebar-close") : opener).focus();
  };
  opener.addEventListener("click", () => toggle(true));
  $("#sidebar-close").addEventListener("click", () => toggle(false));
  backdrop.addEventListener("click", () => toggle(false));
  sidebar.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && sidebar.classList.contains("open")) toggle(false);
  });
  matchMedia("(max-width: 767px)").addEventListener("change", (event) => {
    if (!event.matches && sidebar.classList.contains("open")) toggle(false);
  });
}

function startMenus() {
  const close = (menu) => (menu.open = false);
  document.addEventListener("click", (event) => {
    for (const menu of $$("details.menu[open]")) {
      const inside = menu.contains(event.target);
      if (!inside || event.target.closest(".menu-panel > :is(a, button)")) close(menu);
    }
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest?.("details.menu[open]");
    if (!menu) return;
    close(menu);
    $("summary", menu).focus();
  });
}

function startDialog() {
  const dialog = $("#dialog");
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === dialog && !dialog.open) dialog.showModal();
  });
  document.addEventListener("settings-saved", () => {
    dialog.close();
    announce("Settings saved");
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest('[data-action="close-dialog"]')) dialog.close();
  });
}

function startCopying() {
  document.addEventListener("click", async (event) => {
    const code = event.target.closest?.(".copy-code");
    const message = event.target.closest?.('[data-action="copy"]');
    if (!code && !message) return;
    const source = code
      ? $("code", code.closest(".code-block")).textContent
      : $$(".text", message.closest("article")).map(plainText).join("\n\n");
    const button = code ?? message;
    const ok = await copy(source);
    if (code) code.textContent = ok ? "Copied" : "Not copied";
    else button.classList.toggle("done", ok);
    announce(ok ? "Copied" : "Could not copy");
    setTimeout(() => {
      if (code) code.textContent = "Copy";
      button.classList.remove("done");
    }, 1600);
  });
}

/** The text of a message without the labels and buttons of its code blocks. */
function plainText(node) {
  const headers = $$(".code-header", node);
  for (const header of headers) header.hidden = true;
  const text = node.innerText.trim();
  for (const header of headers) header.hidden = false;
  return text;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without https there is no clipboard API; this old way still works.
    const area = Object.assign(document.createElement("textarea"), { value: text, className: "sr-only" });
    document.body.append(area);
    area.select();
    const ok = document.execCommand("copy");
    area.remove();
    return ok;
  }
}
