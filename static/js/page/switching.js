// From one chat to another: only #chat is another one. The list with its place and its search, and what is open
// beside it, stay as they are.

import { $, $$, announce, parse } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { request } from "../base/http.js";
import { showNotice } from "../base/notice.js";
import { closeDrawer, markCurrent, refreshSidebar } from "../list/sidebar.js";

const CHAT = /^(c\/[0-9a-f-]{36}\/)?$/; // the paths of pages with a chat, below that of the first page
const SHOWN = "shown";
const SUPERSEDED = "superseded"; // by what was asked for after it

/** Whether a link leads to a chat. */
function isChat({ host, pathname }) {
  const home = $("#new-chat").pathname;
  return (
    host === location.host && pathname.startsWith(home) && CHAT.test(pathname.slice(home.length))
  );
}

const addressOf = ({ pathname, search }) => pathname + search;

class Switching {
  #wanted = 0; // counts: of several that were asked for the last one is shown
  #over = new AbortController(); // of the chat that is shown
  #chat;

  constructor(start) {
    this.start = start;
    this.shown = addressOf(location);
    this.#chat = start(this.#over.signal, this.goTo);
    document.addEventListener("click", (event) => this.#click(event));
    // Within one chat Back and Forward are a matter of message_links.js.
    addEventListener("popstate", ({ state }) => {
      if (addressOf(location) !== this.shown) return this.#comeBack(state);
      this.#wanted += 1; // what was asked for before is not wanted any more
      $("#chat").ariaBusy = null;
    });
  }

  #click(event) {
    const link = event.target.closest?.("a[href]:not([target], [download])");
    if (!link || !isChat(link)) return;
    if (link.hash && addressOf(link) === this.shown) return; // to a message of this chat
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
      return;
    event.preventDefault();
    this.#follow(new URL(link.href));
  }

  /** A link was pressed. */
  async #follow(url) {
    const status = await this.#go(url);
    if (status !== SHOWN) this.#explain(status, url);
  }

  /** Show a chat that is there for certain. */
  goTo = async (address) => {
    const url = new URL(address, location);
    const status = await this.#go(url);
    if (status !== SHOWN && status !== SUPERSEDED) location.assign(url);
  };

  /** Show the chat of an address: SHOWN, or why not, see `#load`. */
  async #go(url) {
    const { fresh, status } = await this.#load(url);
    if (!fresh) return status;
    if (addressOf(location) === this.shown) this.#keepPlace();
    if (addressOf(location) !== addressOf(url)) history.pushState(null, "", addressOf(url));
    this.#show(fresh);
    if (url.hash) location.replace(url.hash); // reveals the message
    return SHOWN;
  }

  /** Back will lead to where the reader is now. */
  #keepPlace() {
    const place = this.#chat?.place();
    history.replaceState(place?.end ? null : place, "");
  }

  /** The address is another one already, and `place` where its chat was left. */
  async #comeBack(place) {
    const { fresh, status } = await this.#load(location);
    if (fresh) this.#show(fresh, place);
    else if (status !== SUPERSEDED) location.reload(); // the browser tells what is wrong
  }

  /** {fresh}: the chat of that address, or {status} of the answer: 0 for none, SUPERSEDED if not wanted any more. */
  async #load({ pathname, search }) {
    const mine = (this.#wanted += 1);
    const chat = $("#chat");
    chat.ariaBusy = "true";
    const headers = { "HX-Request": "true" }; // without the list
    const response = await request(pathname + search, { headers }).catch(() => null);
    const html = response?.ok ? await response.text().catch(() => "") : "";
    if (mine !== this.#wanted) return { status: SUPERSEDED };
    chat.ariaBusy = null;
    const fresh = html && parse(html);
    // After an update of the server its chats need another script; and somebody else may have signed in.
    const { script, user } = chat.dataset;
    const fits = fresh && fresh.dataset.script === script && fresh.dataset.user === user;
    return fits ? { fresh } : { status: response?.status ?? 0 };
  }

  #explain(status, url) {
    closeDrawer();
    if (status === 404) {
      showNotice(gettext("This conversation no longer exists."));
      refreshSidebar();
    } else if (status === 0) {
      const words = gettext("The server cannot be reached, so this chat stays. Try again.");
      showNotice(words);
    } else if (status !== SUPERSEDED && status !== 401) location.assign(url);
  }

  #show(fresh, place = null) {
    this.shown = addressOf(location);
    this.#over.abort();
    this.#over = new AbortController();
    for (const dialog of $$("body > dialog[open]")) dialog.close();
    $("#chat").replaceWith(fresh);
    window.htmx?.process(fresh);
    const title = $("#page-title")?.textContent;
    document.title = title ? `${title} · Everlong` : "Everlong";
    markCurrent();
    closeDrawer();
    this.#chat = this.start(this.#over.signal, this.goTo, place);
    announce(document.title);
  }
}

/**
 * Start the chat of the page, and each one that takes its place. `start(signal, goTo, place)` starts what belongs to #chat;
 * whatever it hangs on something outside of #chat (the document, the window, a timer, a socket) ends with `signal`.
 * `goTo(address)` shows another one; `place`: where the reader left this one. It returns something with `place()`, or nothing.
 */
export const startSwitching = (start) => new Switching(start);
