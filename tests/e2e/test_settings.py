"""The settings: by keyboard, on a phone, and in every browser of a person."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import new_profile
from tests.e2e.conftest import Check, composer
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e

THEME = "document.documentElement.dataset.theme ?? ''"
# What is painted first: `requestAnimationFrame` runs before it.
REMEMBER_FIRST_THEME = f"requestAnimationFrame(() => {{ window.firstTheme = {THEME}; }})"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT = "rgb(252, 251, 248)"


def open_settings(page: Page, section: str = "") -> None:
    page.keyboard.press("Control+,")
    expect(page.locator("#dialog")).to_be_visible()
    if section:
        page.locator("#dialog").get_by_role("link", name=section).click()
        expect(page.locator("#settings-title")).to_have_text(section)


def test_the_dialog_is_walked_through_with_the_keyboard(chat: Page) -> None:
    composer(chat).focus()
    open_settings(chat)
    dialog = chat.locator("#dialog")
    expect(dialog.get_by_role("link", name="General")).to_be_focused()
    chat.keyboard.press("Tab")
    chat.keyboard.press("Enter")
    expect(chat.locator("#settings-title")).to_have_text("Memory")
    memory = dialog.get_by_role("link", name="Memory")
    expect(memory).to_be_focused()
    expect(memory).to_have_attribute("aria-current", "page")
    chat.keyboard.press("Shift+Tab")
    chat.keyboard.press("Enter")
    expect(chat.locator("#settings-title")).to_have_text("General")
    dialog.get_by_label("Model of new chats").focus()
    chat.keyboard.press("Tab")
    chat.keyboard.press("ArrowRight")
    expect(dialog.get_by_role("status")).to_have_text("Saved")
    expect(dialog.get_by_label("Light")).to_be_focused()
    expect(dialog.get_by_label("Light")).to_be_checked()
    assert chat.evaluate(THEME) == "light"
    chat.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(composer(chat)).to_be_focused()


def test_the_menu_of_the_account_leads_to_the_settings(chat: Page) -> None:
    chat.locator(".user-menu summary").click()
    menu = chat.locator(".user-menu .menu-panel")
    names = [each.strip() for each in menu.locator(":scope > *").all_inner_texts()]
    assert names == [
        *("Settings", "Usage", "Projects", "Import"),
        *("Help and shortcuts", "Administration", "Sign out"),
    ]
    menu.get_by_role("link", name="Settings").click()
    expect(chat.locator("#dialog #settings-title")).to_have_text("General")
    chat.get_by_role("button", name="Close the settings").click()
    expect(chat.locator("#dialog")).to_be_hidden()


def test_the_theme_is_the_accounts_and_another_browser_paints_it_first(
    chat: Page, browser: Browser, server: EverlongProcess
) -> None:
    chat.emulate_media(color_scheme="light")
    open_settings(chat)
    chat.locator("#dialog").get_by_text("Dark", exact=True).click()
    assert chat.evaluate(BACKGROUND) != LIGHT
    expect(chat.locator("#dialog").get_by_role("status")).to_have_text("Saved")
    other = new_profile(browser)
    session = [each for each in chat.context.cookies() if "session" in each["name"]]
    other.add_cookies(session)  # type: ignore[arg-type]
    page = other.new_page()
    page.emulate_media(color_scheme="light")
    page.add_init_script(REMEMBER_FIRST_THEME)
    for path in "/", "/projects/", "/settings/":
        page.goto(server.url + path)
        page.wait_for_function("'firstTheme' in window")
        assert page.evaluate("firstTheme") == "dark", path
    other.clear_cookies()
    page.goto(f"{server.url}/account/login/")  # nobody's, and still this browser's
    assert page.evaluate(THEME) == "dark"
    other.close()


def test_a_theme_that_only_the_browser_knew_goes_to_the_account(chat: Page) -> None:
    chat.evaluate("localStorage.removeItem('theme-moved'); localStorage.setItem('theme', 'dark')")
    chat.add_init_script(REMEMBER_FIRST_THEME)
    with chat.expect_response("**/settings/general/") as told:
        chat.reload()
    assert told.value.status == 204
    assert chat.evaluate("firstTheme") == "dark"
    chat.wait_for_function("localStorage.getItem('theme-moved') === '1'")
    chat.evaluate("localStorage.removeItem('theme')")
    chat.reload()
    assert chat.evaluate(THEME) == "dark", "the account has it"


def test_a_token_is_made_copied_and_revoked(chat: Page) -> None:
    chat.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_settings(chat, "Access tokens")
    dialog = chat.locator("#dialog")
    dialog.get_by_label("Name").fill("Nightly backup")
    dialog.get_by_role("button", name="Make the token").click()  # the browser does not mind
    expect(dialog.locator(".field-error")).to_have_text("Choose what the token may be used for.")
    expect(dialog.get_by_label("Name")).to_have_value("Nightly backup")
    dialog.get_by_label("Export my conversations").check()
    dialog.get_by_role("button", name="Make the token").click()
    shown = dialog.get_by_label("Your new token")
    expect(shown).to_be_focused()
    token = shown.input_value()
    dialog.get_by_role("button", name="Copy").click()
    expect(dialog.get_by_text("Copied")).to_be_visible()
    assert chat.evaluate("navigator.clipboard.readText()") == token

    def read() -> int:
        headers = {"Authorization": f"Bearer {token}", "Cookie": ""}
        return chat.context.request.get(f"{chat.url}export.md", headers=headers).status

    assert read() == 200
    dialog.get_by_role("link", name="General").click()
    dialog.get_by_role("link", name="Access tokens").click()
    expect(shown).to_have_count(0)
    dialog.get_by_role("button", name="Revoke Nightly backup").click()
    expect(dialog).to_contain_text("The token is revoked")
    assert read() == 401


def test_on_a_phone_sections_are_a_list_and_a_way_back(chat: Page) -> None:
    chat.set_viewport_size({"width": 390, "height": 844})
    open_settings(chat)
    dialog = chat.locator("#dialog")
    sections = dialog.get_by_role("navigation")
    expect(sections).to_be_visible()
    expect(chat.locator("#settings-title")).to_be_hidden()
    sections.get_by_role("link", name="Access tokens").click()
    expect(chat.locator("#settings-title")).to_be_visible()
    expect(sections).to_be_hidden()
    dialog.get_by_role("link", name="All settings").click()
    expect(sections).to_be_visible()


SECTIONS = "general", "memory", "tokens", "sessions", "security", "usage", "data"


@pytest.mark.parametrize("width", [1280, 390])
def test_no_section_breaks_a_rule(
    chat: Page, server: EverlongProcess, check: Check, width: int
) -> None:
    chat.set_viewport_size({"width": width, "height": 844})
    chat.keyboard.press("Control+,")
    chat.locator("#dialog[open]").wait_for()
    check("the settings")
    for section in SECTIONS:
        if width < 640 and section != "general":
            chat.locator("#settings-back").click()
            chat.locator(".settings:not(.chosen)").wait_for()
        chat.locator(f"#settings-{section}").click()
        chat.locator(f".chosen #settings-{section}[aria-current]").wait_for(state="attached")
        check(f"the settings: {section}")
    chat.goto(f"{server.url}/settings/tokens/")
    chat.get_by_label("Name").fill("Nightly backup")
    chat.get_by_label("Read my usage").check()
    chat.get_by_role("button", name="Make the token").click()
    chat.locator("#token-new").wait_for()
    check("a new token, as a page")
