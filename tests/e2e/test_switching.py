"""From one chat to another: only the chat is another one, and nothing of the one before goes on."""

import re
from time import monotonic

import pytest
from playwright.sync_api import Page, StorageState, WebSocket, expect

from demo.api.script import is_chat, is_title
from demo.api.server import DemoServer
from tests.e2e.conftest import answers, composer, say, wait_for_answer
from tests.e2e.talking import hold_conversation, list_again
from tests.support.patience import PATIENCE
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e

LOW = {"width": 1280, "height": 480}  # so that the list scrolls
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def talks(server: EverlongProcess, scripted: DemoServer, state: StorageState) -> list[str]:
    """The ids of four conversations, the newest first; their titles say which is which."""
    made: list[str] = []
    scripted.script.clear()
    for number in range(4):
        scripted.script.reply(f"Answer {number}.", when=is_chat)
        scripted.script.reply(f"Quokka {number}", when=is_title)
        address = hold_conversation(server, state, f"Wombat {number}?")
        made.insert(0, address.rstrip("/").rpartition("/")[2])
    return made


@pytest.fixture
def tab(empty_tab: Page) -> Page:
    """On no page before `newest`."""
    return empty_tab


@pytest.fixture
def newest(talks: list[str], tab: Page, server: EverlongProcess) -> str:
    """The id of the newest conversation, which is shown."""
    list_again(server, *talks)
    tab.goto(f"{server.url}/c/{talks[0]}/")
    expect(tab.locator("#title")).to_have_value("Quokka 3")
    mark(tab)
    return talks[0]


def watch(tab: Page) -> list[WebSocket]:
    """The sockets that are opened from now on."""
    sockets: list[WebSocket] = []
    tab.on("websocket", lambda socket: sockets.append(socket))
    return sockets


def wait_for_last(tab: Page, sockets: list[WebSocket], number: int) -> None:
    """Until so many were opened, and only the last one is open still."""
    deadline = monotonic() + PATIENCE
    while [socket.is_closed() for socket in sockets] != [True] * (number - 1) + [False]:
        assert monotonic() < deadline, sockets
        tab.wait_for_timeout(20)


def mark(tab: Page) -> None:
    tab.evaluate("window.listBefore = document.querySelector('#sidebar-list')")


def is_same_page(tab: Page) -> bool:
    """Whether the page was not loaded since it was marked, and has the same list."""
    same: bool = tab.evaluate("window.listBefore === document.querySelector('#sidebar-list')")
    return same


def test_another_chat_comes_and_the_list_stays_as_it_is(
    tab: Page, scripted: DemoServer, talks: list[str], newest: str
) -> None:
    oldest = talks[-1]
    link = {pk: tab.locator(f"#chat-{pk}") for pk in talks}
    title, current = tab.locator("#title"), tab.locator("#sidebar-list [aria-current=page]")
    sockets = watch(tab)
    tab.set_viewport_size(LOW)  # type: ignore[arg-type]
    tab.reload()
    mark(tab)
    expect(tab.locator("#chat")).not_to_have_class("away")
    composer(tab).fill("A draft for the newest")

    tab.locator("#sidebar-search").fill("quokka")
    expect(tab.locator("#sidebar-list [id^=chat-]")).to_have_count(4)
    expect(tab.locator("#status")).to_have_text("4 results")
    # Long enough to be scrolled, whatever else is listed.
    tab.locator("#sidebar-list").evaluate("(list) => (list.style.maxHeight = '80px')")
    link[oldest].scroll_into_view_if_needed()
    place = tab.locator("#sidebar-list").evaluate("(list) => list.scrollTop")
    assert place > 0
    link[oldest].click()
    expect(title).to_have_value("Quokka 0")
    expect(tab).to_have_title("Quokka 0 · Everlong")
    expect(tab).to_have_url(re.compile(f"/c/{oldest}/$"))
    expect(tab.locator("#status")).to_have_text("Quokka 0 · Everlong")
    expect(current).to_have_id(f"chat-{oldest}")
    expect(composer(tab)).to_be_focused()
    expect(composer(tab)).to_have_value("")
    assert is_same_page(tab)
    assert tab.locator("#sidebar-list").evaluate("(list) => list.scrollTop") == place
    expect(tab.locator("#sidebar-search")).to_have_value("quokka")

    scripted.script.reply("Only here.", when=is_chat)
    say(tab, "Where am I?")
    wait_for_answer(tab, 2)
    composer(tab).fill("A draft for the oldest")
    tab.go_back()
    expect(title).to_have_value("Quokka 3")
    expect(answers(tab)).to_have_count(1)
    expect(tab.locator("#transcript")).not_to_contain_text("Only here.")
    expect(composer(tab)).to_have_value("A draft for the newest")
    expect(current).to_have_id(f"chat-{newest}")
    tab.go_forward()
    expect(title).to_have_value("Quokka 0")
    expect(tab.locator("#transcript")).to_contain_text("Only here.")
    expect(composer(tab)).to_have_value("A draft for the oldest")
    assert is_same_page(tab)

    for number in range(10):
        link[talks[number % 3]].click()
        expect(title).to_have_value(f"Quokka {3 - number % 3}")
    wait_for_last(tab, sockets, 1 + 3 + 10)
    assert is_same_page(tab)
    # Nothing that the chats before have left behind answers to a key or a press.
    tab.keyboard.press("Control+k")
    expect(tab.locator("#palette[open]")).to_be_visible()
    tab.keyboard.type("in:here wombat")
    expect(tab.locator("#palette-found [role=option]")).to_have_count(1)
    expect(tab.locator("#palette-found")).to_contain_text("Wombat 3?")
    tab.keyboard.press("Escape")
    tab.get_by_label("Conversation menu").click()
    tab.get_by_role("button", name="Move to a project…").click()
    tab.get_by_role("button", name="Cancel").click()
    tab.reload()
    expect(title).to_have_value("Quokka 3")


def test_an_answer_goes_on_while_another_chat_is_shown(
    tab: Page, scripted: DemoServer, talks: list[str], newest: str
) -> None:
    other = talks[1]
    gate = scripted.script.stall("Half of it", then=" and the rest.", when=is_chat)
    say(tab, "Slowly, please")
    expect(tab.locator("#transcript")).to_contain_text("Half of it")
    tab.locator(f"#chat-{other}").click()
    expect(tab.locator("#title")).to_have_value("Quokka 2")
    expect(tab.locator("#send")).to_be_visible()
    expect(tab.locator("#transcript")).not_to_contain_text("Half of it")
    tab.go_back()
    expect(tab.locator("#stop")).to_be_visible()
    tab.go_forward()
    expect(tab.locator("#title")).to_have_value("Quokka 2")
    gate.release()
    expect(tab.locator("#status")).to_have_text("Quokka 2 · Everlong")
    tab.locator(f"#chat-{newest}").click()
    wait_for_answer(tab, 2)
    expect(answers(tab).last).to_contain_text("Half of it and the rest.")
    assert is_same_page(tab)


def test_the_start_page_and_messages_of_other_chats_come_without_a_reload_too(
    tab: Page, talks: list[str], newest: str
) -> None:
    sockets = watch(tab)
    tab.get_by_role("link", name="New chat", exact=True).click()
    expect(tab).to_have_title("Everlong")
    expect(tab.locator("#sidebar-list [aria-current=page]")).to_have_count(0)
    tab.locator("#recent").get_by_text("Quokka 3", exact=True).click()
    expect(tab).to_have_title("Quokka 3 · Everlong")
    tab.keyboard.press("Control+k")
    tab.keyboard.type("wombat 1")
    hit = tab.locator("#palette-found [role=option]", has=tab.locator("mark")).first
    expect(hit).to_contain_text("Wombat 1?")
    hit.click()
    expect(tab).to_have_url(re.compile("#message-1$"))
    expect(tab.locator("#title")).to_have_value("Quokka 1")
    expect(tab.locator("article:target")).to_contain_text("Wombat 1?")
    tab.keyboard.press("Control+Shift+O")
    expect(tab).to_have_title("Everlong")
    tab.go_back()
    expect(tab.locator("#title")).to_have_value("Quokka 1")
    wait_for_last(tab, sockets, 3)

    tab.set_viewport_size(PHONE)  # type: ignore[arg-type]
    tab.get_by_label("Open the sidebar").click()
    tab.locator(f"#chat-{newest}").click()
    expect(tab.locator("#title")).to_have_value("Quokka 3")
    expect(tab.locator("#sidebar")).not_to_have_class("open")
    composer(tab).click()  # behind no curtain
    assert is_same_page(tab)


# Asks for the list, and waits until it has come.
REFRESH = """() => new Promise((done) => {
  const list = document.querySelector("#sidebar-list");
  list.addEventListener("htmx:afterRequest", () => done(), { once: true });
  list.dispatchEvent(new Event("sidebar-refresh"));
})"""


def test_a_press_in_the_list_counts_though_the_list_comes_anew_meanwhile(
    tab: Page, talks: list[str], newest: str
) -> None:
    old = tab.locator(f"#chat-{talks[1]}").element_handle()
    old.hover()
    tab.mouse.down()
    tab.evaluate(REFRESH)
    tab.mouse.up()
    expect(tab).to_have_url(re.compile(f"/c/{talks[1]}/$"))
    expect(tab.locator("#title")).to_have_value("Quokka 2")
    tab.wait_for_function("(link) => !link.isConnected", arg=old)
    expect(tab.locator("#sidebar-list [aria-current=page]")).to_have_id(f"chat-{talks[1]}")


def test_a_press_beside_what_the_list_holds_does_not_keep_a_new_one_away(
    tab: Page, talks: list[str], newest: str
) -> None:
    """A press on its scroll bar is one, and may have no end that a page is told."""
    old = tab.locator(f"#chat-{talks[1]}").element_handle()
    box = tab.locator("#sidebar-list").bounding_box()
    assert box
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 5)
    tab.mouse.down()
    tab.evaluate(REFRESH)
    assert not old.evaluate("(link) => link.isConnected")
    tab.mouse.up()


def test_a_chat_that_cannot_be_shown_leaves_the_one_that_is(
    tab: Page, talks: list[str], newest: str
) -> None:
    link = tab.locator(f"#chat-{talks[1]}")
    composer(tab).fill("Kept")
    tab.context.set_offline(True)
    link.click()
    expect(tab.locator("#notice")).to_contain_text("The server cannot be reached")
    expect(tab.locator("#title")).to_have_value("Quokka 3")
    tab.context.set_offline(False)
    tab.route(f"**/c/{talks[1]}/", lambda route: route.fulfill(status=404, body="Gone"))
    link.click()
    expect(tab.locator("#notice")).to_contain_text("no longer exists")
    expect(composer(tab)).to_have_value("Kept")
    assert is_same_page(tab)
    tab.unroute_all()
    with tab.context.expect_page() as opened:
        link.click(modifiers=["Control"])
    expect(opened.value).to_have_title("Quokka 2 · Everlong")
    opened.value.close()
    tab.context.clear_cookies()
    link.click()
    expect(tab.locator("#cover")).to_contain_text("You were signed out.")
    expect(composer(tab)).to_have_value("Kept")
    assert is_same_page(tab)
