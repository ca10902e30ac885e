// How the connection stands, in words above the message box.

import { $ } from "./dom.js";
import { gettext } from "./gettext.js";
import { request } from "./http.js";
import { showBanner } from "./shell.js";

const BLIP = 800; // ms; what is over sooner is not worth a word

const WORDS = {
  open: "",
  lost: gettext("Reconnecting…"),
  gone: gettext("This conversation no longer exists."),
  blocked: gettext(
    "The server answers, but something between it and this page (a proxy, a firewall, an extension) blocks WebSocket connections, which this page needs to send messages. Try another network or browser, or show this to your administrator. Your text is kept.",
  ),
  "too-many": gettext(
    "You have Everlong open in too many tabs. Close some, then reload this page. Your text is kept.",
  ),
};
let timer = 0;

/** Another chat is shown. */
export const forgetConnection = () => clearTimeout(timer);

/** `state`: of the socket. */
export function showConnection(state) {
  clearTimeout(timer);
  $("#chat").classList.toggle("away", state !== "open");
  if (state === "signed-out") return document.dispatchEvent(new Event("signed-out"));
  timer = setTimeout(() => showBanner(WORDS[state]), state === "lost" ? BLIP : 0);
}

/** Whether the server answers over HTTP. */
export const serverAnswers = () =>
  request($("#connection-banner").dataset.healthUrl).then(
    (response) => response.ok,
    () => false,
  );
