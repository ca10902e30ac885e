"""The site as an app of the device, as far as Chromium without a window has it: there is no push
service, so what one would deliver comes from the browser's developer tools."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.e2e.conftest import composer, wait_until
from tests.e2e.test_settings import open_settings
from tests.support.push_service import PushBrowser, PushService
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e

REGISTER = """navigator.serviceWorker.register('/service-worker.js')
    .then(() => navigator.serviceWorker.ready)
    .then(() => true)"""
# In place of what this browser lacks: notifications on the screen, and a push service.
NOTE_WHAT_IS_SHOWN = """() => {
  self.shown = [];
  ServiceWorkerRegistration.prototype.showNotification =
    async (title, { body, data }) => self.shown.push([title, body, data.url]);
}"""
SUBSCRIBE = """
Object.defineProperty(Notification, "permission", { get: () => "granted" });
Notification.requestPermission = async () => "granted";
const decode = (text) => Uint8Array.from(
  atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0)).buffer;
const given = %s;
let subscription = null;
PushManager.prototype.getSubscription = async () => subscription;
PushManager.prototype.subscribe = async () => (subscription = {
  endpoint: given.endpoint, getKey: (name) => decode(given[name]) });
"""


@pytest.fixture
def devtools(page: Page) -> Iterator[CDPSession]:
    session = page.context.new_cdp_session(page)
    yield session
    session.detach()


def test_the_browser_finds_nothing_wrong_with_the_manifest(
    tab: Page, devtools: CDPSession, server: EverlongProcess
) -> None:
    found = devtools.send("Page.getAppManifest")
    assert found["url"] == f"{server.url}/manifest.webmanifest"
    assert found["errors"] == []
    assert devtools.send("Page.getInstallabilityErrors")["installabilityErrors"] == []


def test_what_is_shared_goes_below_what_was_typed_and_is_shared_once(
    tab: Page, server: EverlongProcess
) -> None:
    composer(tab).fill("My own words")
    tab.goto(f"{server.url}/share-target/?title=Tea&url=https%3A%2F%2Ftea.example")
    everything = "My own words\n\nTea\n\nhttps://tea.example"
    expect(composer(tab)).to_have_value(everything)
    assert tab.url == f"{server.url}/"
    tab.reload()
    expect(composer(tab)).to_have_value(everything)


def test_a_push_is_shown_unless_its_conversation_is_looked_at(
    chat: Page, devtools: CDPSession, server: EverlongProcess
) -> None:
    looked_at, other = chat.url.removeprefix(server.url), "/c/another/"
    ids: list[str] = []
    devtools.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: ids.extend(each["registrationId"] for each in event["registrations"]),
    )
    devtools.send("ServiceWorker.enable")
    chat.evaluate(REGISTER)
    wait_until(chat, lambda: bool(ids and chat.context.service_workers))
    (worker,) = chat.context.service_workers
    worker.evaluate(NOTE_WHAT_IS_SHOWN)
    for url in (looked_at, other):
        told = {"title": "Tea", "body": "The answer is ready.", "url": url}
        push = {"origin": server.url, "registrationId": ids[-1], "data": json.dumps(told)}
        devtools.send("ServiceWorker.deliverPushMessage", push)
    # Where the second one is shown, it is decided what becomes of the first.
    wait_until(chat, lambda: bool(worker.evaluate("self.shown")))
    assert worker.evaluate("self.shown") == [["Tea", "The answer is ready.", other]]


def test_notifications_are_turned_on_and_off_in_the_dialog(chat: Page) -> None:
    given = PushBrowser(PushService("https://fcm.googleapis.com")).subscription
    chat.add_init_script(SUBSCRIBE % json.dumps(given))
    chat.reload()
    open_settings(chat, "Notifications")
    dialog = chat.locator("#dialog")
    dialog.get_by_role("button", name="Turn on in this browser").click()
    expect(dialog.get_by_text("This browser tells you from now on.")).to_be_visible()
    row = dialog.get_by_role("listitem")
    expect(row).to_contain_text("This browser")
    expect(dialog.get_by_role("button", name="Turn on in this browser")).to_be_hidden()
    row.get_by_role("button", name="Turn off").click()
    expect(dialog.get_by_text("No browser tells you yet.")).to_be_visible()
