// Whose page this is: the token that its requests carry, and a cover for when somebody else, or nobody, is signed
// in in this browser. On every page; the chat's script imports it, others load it by itself.

const page = document.documentElement.dataset;
const cover = document.getElementById("cover"); // null where nobody is signed in
const ASK_AGAIN = 3000; // ms after which a server that did not answer is asked again
const SESSION_PATIENCE = 10_000; // ms
const HINT = "session"; // in the storage that tabs share: a page was loaded, so look whose browser it is now

function readCookie() {
  const start = `${page.csrfCookie}=`;
  const found = document.cookie.split("; ").find((each) => each.startsWith(start));
  return found?.slice(start.length) ?? "";
}

let known = readCookie(); // it changes with each sign-in and sign-out
let told = document.querySelector('meta[name="csrf-token"]')?.content; // for where the cookie cannot be read
let isRefused = false; // the server did not take the last one
let isAgainstCookie = false; // and told another one than the cookie's
let looking = null;
let askTimer = 0;

/** The token of whatever changes something, as it is at this moment. */
const csrfToken = () => ((!isAgainstCookie || hasChanged()) && readCookie()) || told || "";

/** The headers of each request: the token, and whose page asks. */
export const ownHeaders = () => ({ "X-CSRFToken": csrfToken(), "X-Page-User": page.user });

const hasChanged = () => readCookie() !== known;

/**
 * Ask who is signed in in this browser, and show the page to its own person alone; whether that is who it is.
 * `refused`: the server did not take the token, so another one is needed.
 */
export function look({ refused = false } = {}) {
  isRefused ||= refused;
  looking ??= askSession().finally(() => (looking = null));
  return looking;
}

async function askSession() {
  if (!cover) return false;
  clearTimeout(askTimer);
  const before = readCookie();
  const answer = await fetch(cover.dataset.sessionUrl, {
    headers: { "X-Requested-With": "fetch" },
    signal: AbortSignal.timeout(SESSION_PATIENCE),
  })
    .then((response) => (response.ok ? response.json() : null))
    .catch(() => null);
  if (!answer) {
    if (cover.open) askTimer = setTimeout(look, ASK_AGAIN);
    return false;
  }
  if (before && before !== readCookie()) return askSession(); // meanwhile it changed again
  known = readCookie();
  told = answer.token;
  isAgainstCookie = isRefused && before === known;
  isRefused = false;
  if (answer.user === page.user) uncover();
  else explainCover(answer);
  return answer.user === page.user;
}

function hide() {
  if (cover.open) return;
  page.covered = document.title;
  document.title = "Everlong";
  cover.showModal(); // above any other dialog
}

function uncover() {
  if (!cover.open) return;
  document.title = page.covered;
  delete page.covered;
  cover.close();
  document.dispatchEvent(new Event("signed-in"));
}

function explainCover({ user, words }) {
  hide();
  document.getElementById("cover-words").textContent = words;
  const signIn = document.getElementById("cover-sign-in");
  const next = new URLSearchParams({ next: location.pathname + location.search });
  signIn.search = next;
  signIn.hidden = Boolean(user);
  document.getElementById("cover-go-on").hidden = !user;
}

/** Nothing is shown before the server has said whose page may be shown. */
function heed() {
  if (!hasChanged() && !cover.open) return;
  hide();
  look();
}

if (cover) {
  cover.addEventListener("cancel", (event) => event.preventDefault());
  cover.addEventListener("close", () => "covered" in page && cover.showModal());
  addEventListener("focus", heed);
  addEventListener("storage", heed);
  document.addEventListener("visibilitychange", heed);
  // The page that is left by signing out: Back brings it as it is now.
  addEventListener("pagehide", () => hasChanged() && hide());
  addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    heed();
    look(); // the session may have ended elsewhere
  });
}

// Forms that the browser sends itself, perhaps long after the page was made.
document.addEventListener("formdata", ({ formData }) => {
  if (!formData.has("csrfmiddlewaretoken")) return;
  if (csrfToken()) formData.set("csrfmiddlewaretoken", csrfToken());
  if (page.user) formData.set("page_user", page.user);
});

try {
  localStorage.setItem(HINT, Date.now());
} catch {
  // Where storage is forbidden, tabs look when they are shown.
}
