"""What the walks share: a scripted model, and the steps that a person takes."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    StorageState,
    WebSocketRoute,
    expect,
)

from agent.compaction.skills import HEADINGS
from demo.api.script import is_chat, is_summary, is_title
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.conftest import new_profile, processes
from tests.e2e.talking import forget, hold_conversation
from tests.shots import TWO_FRAMES
from tests.support.job_board import KEY
from tests.support.patience import PATIENCE
from tests.support.server import EverlongProcess

PASSWORD = "correct horse battery"
# Every word of an answer, so that its text can be compared letter by letter.
LONG_ANSWER = " ".join(f"word{n}" for n in range(2_300))
# Without "preload", for which it would fetch every style again: only rules about sound and video,
# of which there is none, and experimental ones look at that.
VIOLATIONS: dict[str, object] = {"resultTypes": ["violations"], "preload": False}
EVERY_RULE = VIOLATIONS | {"rules": {"target-size": {"enabled": True}}}  # off unless asked for
# The only ones to which another theme is another page.
OF_COLOURS = VIOLATIONS | {"runOnly": ["color-contrast", "link-in-text-block"]}
SUMMARY = "\n".join(f"## {heading}\nNone." for heading in HEADINGS).replace(
    "## Overview\nNone.", "## Overview\nThey counted words."
)


@pytest.fixture
def model() -> Iterator[DemoServer]:
    """A scripted model whose windows are small; the test fails if a request breaks a rule."""
    with DemoServer() as server:
        server.script.reply("Counting words", when=is_title, always=True)
        yield server
        server.script.assert_done()


@pytest.fixture(scope="session")
def scripted() -> Iterator[DemoServer]:
    """The scripted models of `server`."""
    models = [
        ListedModel(id="test-model", window=16_000, display_name="Test model"),
        ListedModel(id="other-model", window=32_000, display_name="Other model"),
    ]
    with DemoServer(models=models) as model:
        yield model


@pytest.fixture(scope="session")
def server(
    tmp_path_factory: pytest.TempPathFactory, site: Path, scripted: DemoServer
) -> Iterator[EverlongProcess]:
    """A server for all walks that need no settings of their own: starting one takes seconds."""
    process = EverlongProcess(
        tmp_path_factory.mktemp("shared"),
        site,
        ANTHROPIC_BASE_URL=scripted.base_url,
        DEFAULT_MODEL="test-model",
        MODEL_RETRIES="0",
        MESSAGES_PER_MINUTE="1000",
        MCP_SECRET_BOARD=KEY,
    ).start()
    yield process
    process.kill()


@pytest.fixture(scope="session")
def state(browser: Browser, server: EverlongProcess) -> StorageState:
    """The cookies of the administrator of `server`, who used the set-up link."""
    with browser.new_context() as context:
        create_administrator(context, server)
        return context.storage_state()


@pytest.fixture(scope="session")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """A browser profile for all walks. Its empty tab keeps its process: to make one and warm it up
    takes a tenth of a second of processor time."""
    with new_profile(browser) as made:
        made.new_page()
        yield made


@pytest.fixture(scope="session")
def second_profile(browser: Browser) -> Iterator[BrowserContext]:
    """Another one, for their second windows."""
    with new_profile(browser) as made:
        made.new_page()
        yield made


@pytest.fixture
def context(profile: BrowserContext) -> Iterator[BrowserContext]:
    """`profile`, which is as new: its pages are one person's tabs."""
    yield profile
    make_new(profile)


def make_new(profile: BrowserContext) -> None:
    """Nothing of a walk stays but what the browser caches."""
    empty, *tabs = profile.pages
    for tab in tabs:
        tab.close()
    profile.clear_cookies()
    profile.clear_permissions()
    profile.set_offline(False)
    devtools = profile.new_cdp_session(empty)
    devtools.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    devtools.detach()


@pytest.fixture
def empty_tab(
    page: Page,
    server: EverlongProcess,
    scripted: DemoServer,
    state: StorageState,
    request: pytest.FixtureRequest,
) -> Iterator[Page]:
    """A tab of the administrator of `server`, on no page yet; the script is fresh, and done in the
    end. Of other walks nothing is listed, and nothing remembered."""
    request.node.stash.setdefault(processes, []).append(server)  # its log, if the walk fails
    scripted.script.clear()
    scripted.script.reply("A title", when=is_title, always=True)
    forget(server)
    page.context.add_cookies(state["cookies"])
    yield page
    scripted.script.assert_done()


@pytest.fixture
def tab(empty_tab: Page, server: EverlongProcess) -> Page:
    """`empty_tab` on the start page."""
    empty_tab.goto(server.url)
    return empty_tab


@pytest.fixture
def talk(
    empty_tab: Page, server: EverlongProcess, scripted: DemoServer, state: StorageState
) -> "Talk":
    """`talk(("Hello", "Hi!"), ...)`: `empty_tab` on a conversation of these questions and answers;
    the answer to "/compact" is a summary."""

    def hold(*exchanges: tuple[str, str]) -> Page:
        for said, answer in exchanges:
            scripted.script.reply(answer, when=is_summary if said == "/compact" else is_chat)
        empty_tab.goto(hold_conversation(server, state, *(said for said, _ in exchanges)))
        return empty_tab

    return hold


@pytest.fixture
def chat(talk: "Talk") -> Page:
    """A tab on a conversation of one exchange."""
    return talk(("Hello", "Hi!"))


@pytest.fixture
def tell(page: Page, talk: "Talk") -> "Tell":
    """Frames for the tab, which is on a conversation of one exchange, besides those of the
    server."""
    sockets: list[WebSocketRoute] = []

    def join(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda message: (socket.send(message), sockets.append(socket)))

    page.route_web_socket(re.compile("/ws/"), join)
    talk(("Hello", "Hi!"))
    expect(page.locator("article[data-role=assistant] .actions").last).to_be_attached()
    wait_until(page, lambda: bool(sockets))  # the first snapshot has come
    return lambda frame: sockets[-1].send(json.dumps(frame))


@pytest.fixture
def second_window(second_profile: BrowserContext) -> Iterator[Callable[[Page], Page]]:
    """`second_window(page)`: the same page for the same person, in a window of its own. Of two tabs
    in one window the one behind is drawn once a second, and every click in it waits for that."""

    def opened(page: Page) -> Page:
        second_profile.add_cookies(page.context.cookies())  # type: ignore[arg-type]
        other = second_profile.new_page()
        other.goto(page.url)
        return other

    yield opened
    make_new(second_profile)


@pytest.fixture
def small_window(model: DemoServer) -> dict[str, str]:
    """The environment of a server that compacts after three long answers."""
    return {
        "ANTHROPIC_BASE_URL": model.base_url,
        "ANTHROPIC_API_KEY": "test",
        "DEFAULT_MODEL": "claude-sonnet-5-5",
        "MODEL_WINDOWS": "claude-sonnet-5-5=18400",
        "MODEL_RETRIES": "0",
        "MESSAGES_PER_MINUTE": "1000",
    }


@pytest.fixture
def check(page: Page) -> "Check":
    """`check("what is shown")`: no violation is found by axe-core, with no rule switched off and
    nothing left out, nor in the other theme by its rules that look at colours; and nothing moves
    for those who want it so."""
    page.add_init_script(AXE_SCRIPT)  # a third of the time that it takes in a page that is there
    themes: list[Theme] = ["light", "dark"]
    page.emulate_media(color_scheme=themes[0], reduced_motion="reduce")

    def look(state: str, rules: dict[str, object]) -> None:
        page.evaluate(TWO_FRAMES)
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE_SCRIPT)
        found = page.evaluate("async (rules) => (await axe.run(rules)).violations", rules)
        told = [
            f"{state}, {themes[0]}: {each['id']}: {node['html'][:160]} {node['failureSummary']}"
            for each in found
            for node in each["nodes"]
        ]
        assert not told, "\n".join(told)
        moving = page.evaluate("document.getAnimations().map((a) => a.animationName)")
        assert not moving, (state, moving)

    def run(state: str) -> None:
        look(state, EVERY_RULE)
        # The next state is looked at in this theme first: each change of it draws everything anew.
        themes.reverse()
        page.emulate_media(color_scheme=themes[0])
        look(state, OF_COLOURS)

    return run


def check_dialog(page: Page, check: "Check", name: str) -> None:
    page.locator("#dialog[open]").wait_for()
    check(name)
    page.keyboard.press("Escape")
    expect(page.locator("#dialog")).to_be_hidden()


def set_up(page: Page, server: EverlongProcess) -> None:
    """First run: the link creates the administrator."""
    page.goto(server.url + server.setup_path)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url(f"{server.url}/")


def become_administrator(page: Page, server: EverlongProcess) -> None:
    """`set_up` without its page, for walks that are not about the first run."""
    create_administrator(page.context, server)
    page.goto(server.url)


def create_administrator(context: BrowserContext, server: EverlongProcess) -> None:
    path = server.url + server.setup_path
    context.request.get(path)
    token = next(each["value"] for each in context.cookies() if "csrf" in each["name"])
    account = {"username": "ada", "password1": PASSWORD, "password2": PASSWORD}
    form = account | {"csrfmiddlewaretoken": token}
    assert context.request.post(path, form=form, max_redirects=0).status == 302


def say(page: Page, text: str) -> None:
    composer(page).fill(text)
    composer(page).press("Enter")


def composer(page: Page):  # type: ignore[no-untyped-def]
    return page.locator("#composer textarea[name=text]")


def answers(page: Page):  # type: ignore[no-untyped-def]
    """The complete answers."""
    return page.locator("article[data-role=assistant][data-status=complete]")


def wait_for_answer(page: Page, number: int) -> None:
    """The answer with that number, 1 for the first, is complete and the composer free."""
    expect(answers(page)).to_have_count(number)
    expect(page.locator("#send")).to_be_visible()


def wait_until(page: Page, met: Callable[[], bool]) -> None:
    """Until something is true here, not in the page: a request that is held or a frame that came
    is known a moment after the page shows what follows from it."""
    deadline = time.monotonic() + PATIENCE
    while not met():
        assert time.monotonic() < deadline
        page.evaluate("() => new Promise(requestAnimationFrame)")


def gauge(page: Page) -> int:
    """Percent of the budget."""
    return int(page.locator("#gauge-text").inner_text().replace("%", "").strip())


Theme = Literal["light", "dark"]
Check = Callable[[str], None]
Talk = Callable[..., Page]
Tell = Callable[[dict[str, Any]], None]
Start = Callable[..., EverlongProcess]
SecondWindow = Callable[[Page], Page]
