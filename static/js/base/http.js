// Requests to the server, and what its answers mean.

import { $ } from "./dom.js";
import { gettext } from "./gettext.js";
import { look, ownHeaders } from "./session.js";

const PATIENCE = 30_000; // ms; what waits for a request does not wait for ever
const OF_A_READ = 8000; // ms after which the connection may have died without a word
const LONGEST_REASON = 300; // characters
const EXPLAINED = [401, 403, 409, 413, 422, 429, 503]; // with these the server says why, in plain text

/** Whether an answer came from the sign-in page: it does not answer what was asked. */
export const isSignIn = (url) =>
  new URL(url, location).pathname === $("#connection-banner").dataset.loginUrl;

export const tooLarge = () =>
  gettext(
    "This is larger than the server, or a proxy in front of it, allows. Shorten it, or attach it as a file.",
  );

const signedOut = () =>
  new Response(gettext("You were signed out. Sign in again. Your text is kept."), { status: 401 });

/**
 * `fetch` with what the server asks for. A read that gets no answer is asked once more, and so is whatever the
 * server refuses for its token. Whoever was signed out gets a 401, and the page is covered.
 */
export async function request(url, options = {}) {
  const send = (patience) =>
    fetch(url, {
      signal: AbortSignal.timeout(patience),
      ...options,
      headers: { ...ownHeaders(), "X-Requested-With": "fetch", ...options.headers }, // the answer is a status, not a page
    });
  let response = options.method
    ? await send(PATIENCE)
    : await send(OF_A_READ).catch(() => send(PATIENCE));
  if (response.status === 403 && (await look({ refused: true }))) response = await send(PATIENCE);
  // The words of proxies and of Django's own pages say nothing to a reader.
  if (response.status === 413) return new Response(tooLarge(), { status: 413 });
  if (response.status === 403) return new Response(outOfDate(), { status: 403 });
  if (response.status === 401) look();
  if (!isSignIn(response.url)) return response;
  look();
  return signedOut();
}

export const outOfDate = () =>
  gettext("The server did not take this. Reload this page and try again. Your text is kept.");

/** POST an object or a form's data. null where the server could not be reached. */
export const post = (url, fields = {}, options = {}) =>
  request(url, { method: "POST", body: new URLSearchParams(fields), ...options }).catch(() => null);

/** Why the server refused, in its own words where it has some, else `otherwise`. */
export async function refusal(response, otherwise) {
  const told =
    EXPLAINED.includes(response?.status) && (await response.text()).slice(0, LONGEST_REASON);
  return told || otherwise;
}
