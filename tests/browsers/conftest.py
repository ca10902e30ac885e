"""One site with one account, and a window of each browser that is signed in to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.api.script import is_title
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.browsers.driver import Firefox, WebKit, Window
from tests.support.server import EverlongProcess, manage

PASSWORD = "correct horse battery"
BROWSERS = {"Firefox": Firefox, "WebKit": WebKit}
MAKE_ADA = f"""
from accounts.models import User
User.objects.create_superuser("ada", password="{PASSWORD}")
"""


@pytest.fixture(scope="session")
def model() -> Iterator[DemoServer]:
    with DemoServer(models=[ListedModel(id="test-model", window=16_000)]) as server:
        yield server


@pytest.fixture(scope="session")
def site_url(
    tmp_path_factory: pytest.TempPathFactory, site: Path, model: DemoServer
) -> Iterator[str]:
    """Of a server whose administrator is ada."""
    directory = tmp_path_factory.mktemp("browsers")
    server = EverlongProcess(
        directory,
        site,
        ANTHROPIC_BASE_URL=model.base_url,
        DEFAULT_MODEL="test-model",
        MODEL_RETRIES="0",
        MESSAGES_PER_MINUTE="1000",
    ).start()
    try:
        manage(server.environment, "shell", "--verbosity", "0", "--command", MAKE_ADA)
        yield server.url
    finally:
        server.kill()


@pytest.fixture(scope="session", params=BROWSERS)
def signed_in(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, site_url: str
) -> Iterator[Window]:
    browser = BROWSERS[request.param](tmp_path_factory.mktemp(request.param))
    try:
        window = Window(browser)
        window.size(1280, 900)
        window.open(f"{site_url}/")  # leads to the sign-in
        window.type("[name=login]", "ada")
        window.type("[name=password]", PASSWORD)
        window.click("form button.primary")
        window.until("document.querySelector('#composer-text')")
        yield window
    finally:
        browser.close()


@pytest.fixture
def window(signed_in: Window, site_url: str, model: DemoServer) -> Iterator[Window]:
    """On the page of a new chat; the model's script is fresh, and done in the end."""
    model.script.clear()
    model.script.reply("A title", when=is_title, always=True)
    signed_in.open(f"{site_url}/")
    yield signed_in
    model.script.assert_done()
