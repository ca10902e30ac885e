// The service worker: it shows pushes. It keeps no page and no answer, so nothing of a person stays in the browser.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  if (event.data) event.waitUntil(show(event.data.json()));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(openConversation(event.notification.data.url));
});

const findWindows = () => self.clients.matchAll({ type: "window", includeUncontrolled: true });

/** Tell of an answer, unless its conversation is before somebody's eyes. */
async function show({ title, body, url, icon, badge }) {
  const windows = await findWindows();
  const isSeen = ({ url: shown, visibilityState }) =>
    visibilityState === "visible" && new URL(shown).pathname === url;
  if (windows.some(isSeen)) return;
  // One notification for each conversation: the next one takes its place.
  await self.registration.showNotification(title, {
    body,
    icon,
    badge,
    tag: url,
    renotify: true,
    data: { url },
  });
}

/** Show the conversation, in the window that has it already if there is one. */
async function openConversation(url) {
  const windows = await findWindows();
  const shown = windows.find((each) => new URL(each.url).pathname === url);
  await (shown ? shown.focus() : self.clients.openWindow(url));
}
