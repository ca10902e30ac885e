// Requests to the server, and what its answers mean.

import { $ } from "./dom.js";
import { gettext } from "./gettext.js";

const PATIENCE = 30_000; // ms; what waits for a request does not wait for ever
const LONGEST_REASON = 300; // characters
const EXPLAINED = [401, 409, 413, 422, 429, 503]; // with these the server says why, in plain text

/** Whether an answer came from the sign-in page: it does not answer what was asked. */
export const isSignIn = (url) =>
  new URL(url, location).pathname === $("#connection-banner").dataset.loginUrl;

export const tooLarge = () =>
  gettext(
    "This is larger than the server, or a proxy in front of it, allows. Shorten it, or attach it as a file.",
  );

/** `fetch` with what the server asks for. Whoever was signed out gets a 401, and the page is told. */
export async function request(url, options = {}) {
  const headers = {
    "X-CSRFToken": $('meta[name="csrf-token"]').content,
    "X-Requested-With": "fetch", // the answer is a status, not a page
  };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(PATIENCE), ...options });
  // A proxy's own page says nothing to a reader.
  if (response.status === 413) return new Response(tooLarge(), { status: 413 });
  if (!isSignIn(response.url)) return response;
  document.dispatchEvent(new Event("signed-out"));
  return new Response(gettext("You were signed out. Sign in again; your text is kept."), {
    status: 401,
  });
}

/** POST an object or a form's data. null where the server could not be reached. */
export const post = (url, fields = {}, options = {}) =>
  request(url, { method: "POST", body: new URLSearchParams(fields), ...options }).catch(() => null);

/** Why the server refused, in its own words where it has some, else `otherwise`. */
export async function refusal(response, otherwise) {
  const told =
    EXPLAINED.includes(response?.status) && (await response.text()).slice(0, LONGEST_REASON);
  return told || otherwise;
}
