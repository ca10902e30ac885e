// Notifications: what only the browser can do. It comes with their section of the settings, and stands alone.

const pushPart = (name) => document.querySelector(`[data-push="${name}"]`);
const encode = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

async function hash(text) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const isPossible = () =>
  "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

function say(name) {
  const status = pushPart("status");
  status.textContent = name ? status.dataset[name] : "";
}

async function findSubscription() {
  const registration = await navigator.serviceWorker.getRegistration(
    pushPart("form").dataset.scope,
  );
  return registration?.pushManager.getSubscription();
}

/** Mark the row of this browser, or offer to turn notifications on in it. */
async function look() {
  const form = pushPart("form");
  if (!form) return;
  if (!isPossible()) return say(window.isSecureContext ? "unable" : "insecure");
  if (Notification.permission === "denied") return say("denied");
  const subscription = await findSubscription();
  const own = subscription && (await hash(subscription.endpoint));
  const row = own && document.querySelector(`[data-endpoint="${own}"]`);
  if (row) row.querySelector("[data-this-browser]").hidden = false;
  else pushPart("on").hidden = false;
}

async function turnOn() {
  const form = pushPart("form");
  const { worker, scope, key } = form.dataset;
  if ((await Notification.requestPermission()) !== "granted") return say("denied");
  await navigator.serviceWorker.register(worker, { scope });
  const { pushManager } = await navigator.serviceWorker.ready;
  // One that was made for another key of the site's cannot be used any more.
  await (await pushManager.getSubscription())?.unsubscribe();
  const subscription = await pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: key,
  });
  form.elements.endpoint.value = subscription.endpoint;
  form.elements.p256dh.value = encode(subscription.getKey("p256dh"));
  form.elements.auth.value = encode(subscription.getKey("auth"));
  form.requestSubmit();
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.('[data-push="on"]');
  if (!button) return;
  button.disabled = true;
  say("");
  turnOn()
    .catch(() => say("failed"))
    .finally(() => (button.disabled = false));
});
document.addEventListener("htmx:afterSettle", look);
look();
