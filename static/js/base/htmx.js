// Requests that htmx sends: what each carries, and what becomes of those that fail.

import { $, shownId } from "./dom.js";
import { gettext } from "./gettext.js";
import { isSignIn, outOfDate, tooLarge } from "./http.js";
import { showNotice } from "./notice.js";
import { look, ownHeaders } from "./session.js";

const REPEATED = "X-Again"; // a request that is sent for the second time

export function startHtmx() {
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    delete detail.parameters.csrfmiddlewaretoken; // it would count before the header
    Object.assign(detail.headers, ownHeaders());
    if (detail.elt.closest("#sidebar, #palette")) detail.parameters.current = shownId();
  });
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

/** Send once more what was refused for its token, or a read that got no answer; whether it was sent. */
async function again({ elt, xhr, target, requestConfig: { verb, path, parameters, headers } }) {
  const isLost = !xhr.status && verb === "get";
  const isRefused = xhr.status === 403 && !headers[REPEATED] && (await look({ refused: true }));
  if (headers[REPEATED] || !(isLost || isRefused)) return false;
  window.htmx
    .ajax(verb, path, { source: elt, target, values: parameters, headers: { [REPEATED]: "1" } })
    .catch(() => {}); // an event tells of it
  return true;
}

/** What the server would not do, in its own words where it has some. */
function whyNot(xhr) {
  if (xhr.status === 413) return tooLarge();
  if (xhr.status === 403) return outOfDate();
  const hasWords = xhr.getResponseHeader("Content-Type")?.startsWith("text/plain");
  return (
    (hasWords && xhr.responseText.slice(0, 300)) ||
    gettext("The server could not do that. Try again in a moment.")
  );
}
