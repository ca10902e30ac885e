// How the connection stands, in words above the message box.

import { $ } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { showBanner } from "../base/notice.js";
import { look } from "../base/session.js";

const BLIP = 800; // ms; what is over sooner is not worth a word
const AT_ONCE = 700; // ms in which a server answers a short question, or the network is away
const CONNECTIONS = 6; // that a browser keeps to one server

const RECONNECTING = gettext("Reconnecting…");
const WORDS = {
  open: "",
  lost: RECONNECTING,
  silent: RECONNECTING,
  offline: gettext("You are offline. This page goes on by itself when you are online again."),
  gone: gettext("This conversation no longer exists."),
  "signed-out": gettext("The server closed this page's connection. Reload it."),
  blocked: gettext(
    "The server answers, but something between it and this page (a proxy, a firewall, an extension) blocks WebSocket connections, which this page needs to send messages. Try another network or browser, or show this to your administrator.",
  ),
  "too-many": gettext(
    "You have Everlong open in too many tabs. Close some, then reload this page.",
  ),
};
let wordsTimer = 0;

/** Another chat is shown. */
export const forgetConnection = () => clearTimeout(wordsTimer);

/** `state`: of the socket. */
export function showConnection(state) {
  clearTimeout(wordsTimer);
  $("#chat").classList.toggle("away", state !== "open");
  if (state === "silent") leaveDeadConnections();
  wordsTimer = setTimeout(() => showWords(WORDS[state]), state === "lost" ? BLIP : 0);
  // The page is covered, if that is why.
  if (state === "signed-out" || state === "gone") look();
}

/** Words of the reader's own are kept, where there are any. */
function showWords(words) {
  const isTyped = words && words !== RECONNECTING && $("#composer-text").value.trim();
  showBanner(isTyped ? `${words} ${gettext("Your text is kept.")}` : words);
}

const askHealth = (patience) =>
  fetch($("#connection-banner").dataset.healthUrl, {
    cache: "no-store", // else one would wait for the other
    signal: AbortSignal.timeout(patience),
  }).then(
    (response) => response.ok,
    () => false,
  );

/** Whether the server answers over HTTP, at once. */
export const serverAnswers = () => askHealth(AT_ONCE);

/** Whether there is no network: the browser says so, and the server, which may be on this machine, does not answer. */
export async function isOffline() {
  // What was under way may still have come through.
  const answers = (await askHealth(AT_ONCE)) && (await pause()) && (await askHealth(AT_ONCE));
  return !answers && !navigator.onLine;
}

const pause = () => new Promise((done) => setTimeout(() => done(true), AT_ONCE / 2));

/** Where there is no socket, on the start page: say that the network is away, and that it is back. */
export function watchNetwork(signal) {
  const offline = async () => (await isOffline()) && showConnection("offline");
  addEventListener("offline", offline, { signal });
  addEventListener("online", () => showConnection("open"), { signal });
}

/** Those that the browser keeps for the next request have died with the socket: whoever gets no answer leaves one. */
function leaveDeadConnections() {
  for (let number = 0; number < CONNECTIONS; number += 1) askHealth(AT_ONCE);
}
