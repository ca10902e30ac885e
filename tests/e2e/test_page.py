"""What a person does on the page besides chatting, each step checked where it has its effect."""

import json
import re

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import (
    SUMMARY,
    Check,
    Talk,
    answers,
    composer,
    say,
    wait_for_answer,
    wait_until,
)
from tests.support.patience import PATIENCE
from tests.support.server import EverlongProcess, manage

pytestmark = pytest.mark.e2e


def test_rename_delete_and_undo(chat: Page) -> None:
    link = chat.locator("#sidebar-list a[aria-current=page]")
    expect(link).to_have_text("A title")

    chat.get_by_label("Conversation menu").click()
    chat.get_by_role("button", name="Rename").click()
    title = chat.locator("#title")
    title.fill("The <b>bill</b>")
    title.press("Enter")
    expect(link).to_have_text("The <b>bill</b>")
    chat.reload()
    expect(title).to_have_value("The <b>bill</b>")
    expect(chat).to_have_title("The <b>bill</b> · Everlong")

    address = chat.url

    def delete() -> None:
        chat.get_by_label("Conversation menu").click()
        chat.get_by_role("button", name="Delete conversation").click()
        chat.wait_for_url(lambda url: "/c/" not in url)
        expect(chat.locator("#undo")).to_contain_text("1 conversation deleted. Undo within")
        expect(chat.get_by_role("link", name="The <b>bill</b>", exact=True)).to_have_count(0)

    delete()
    chat.locator("#undo").get_by_role("button", name="Undo").click()
    chat.wait_for_url(address)  # back to where it was
    expect(answers(chat)).to_have_count(1)
    delete()
    response = chat.goto(address)
    assert response is not None
    assert response.status == 404


def refresh_list(tab: Page) -> None:
    """Until another list has come in place of the one before."""
    before = tab.locator("#sidebar-list > *").first.element_handle()
    tab.evaluate(
        "document.querySelector('#sidebar-list').dispatchEvent(new Event('sidebar-refresh'))"
    )
    tab.wait_for_function("(before) => !before.isConnected", arg=before)


def test_several_conversations_are_archived_or_moved_together_and_brought_back(
    talk: Talk, server: EverlongProcess
) -> None:
    home, links = f"{server.url}/", []
    for number in range(3):
        tab = talk((f"Hello {number}", "Hi!"))
        links.append(tab.locator(f"#chat-{tab.url.rstrip('/').rpartition('/')[2]}"))
    tab.goto(home)
    boxes = [tab.locator("li", has=link).get_by_role("checkbox") for link in links]
    told = tab.locator("#selection [role=status]")
    tab.locator("li", has=links[0]).locator(".item-more").click(force=True)
    tab.get_by_role("button", name="Select several").click()
    expect(boxes[0]).to_be_focused()
    links[2].click(modifiers=["Shift"])  # all between
    expect(told).to_have_text("3 selected")
    boxes[1].press("Space")
    expect(told).to_have_text("2 selected")
    tab.locator("#selection").get_by_role("button", name="Archive").click()
    expect(tab.locator("#undo")).to_contain_text("2 conversations archived.")
    for link, count in zip(links, (0, 1, 0), strict=True):
        expect(link).to_have_count(count)
    expect(tab.locator("#selection")).to_have_count(0)
    tab.locator("#undo").get_by_role("button", name="Undo").click()
    for link in links:
        expect(link).to_be_visible()
    tab.locator("li", has=links[0]).locator(".item-more").click(force=True)
    tab.get_by_role("button", name="Select several").click()
    boxes[1].press("Space")
    selection = tab.locator("#selection")
    selection.get_by_role("button", name="Move…").click()
    tab.get_by_label("New project").fill("Road trip")
    tab.get_by_label("New project").press("Enter")
    expect(tab.locator("#conversations li")).to_have_count(2)
    tab.goto(home)
    tab.locator(".project-toggle", has_text="Road trip").click()
    tab.locator("li", has=links[0]).locator(".item-more").click(force=True)
    refresh_list(tab)  # as another tab's change does, while the menu is open
    tab.get_by_role("button", name="Select several").click()
    expect(boxes[0]).to_be_focused()
    refresh_list(tab)
    expect(boxes[0]).to_be_focused()
    for box in boxes[1:]:  # and none of other walks' conversations
        box.press("Space")
    selection.get_by_role("button", name="Move…").click()
    tab.get_by_role("button", name="No project").click()
    expect(tab.locator("#undo")).to_contain_text("3 conversations moved.")
    of_project = tab.locator("[data-project]", has=tab.locator(".project-toggle", has_text="Road"))
    listed = of_project.locator("[id^=chat-]")
    expect(listed).to_have_count(0)
    tab.locator("#undo").get_by_role("button", name="Undo").click()
    expect(listed).to_have_count(2)
    tab.locator("li", has=links[0]).locator(".item-more").click(force=True)
    tab.get_by_role("button", name="Select several").click()
    boxes[0].press("Escape")
    expect(boxes[0]).to_have_count(0)
    assert tab.url == home


def test_a_conversation_goes_into_a_project_and_back(
    talk: Talk, server: EverlongProcess, scripted: DemoServer
) -> None:
    tab = talk(("Hello", "Hi!"))
    address = tab.url
    tab.get_by_label("Conversation menu").click()
    tab.get_by_role("button", name="Move to a project…").click()
    tab.get_by_label("New project").fill("Sea trip")
    tab.get_by_label("New project").press("Enter")
    tab.wait_for_url("**/projects/*-*/")
    tab.get_by_label("Instructions").fill("Distances in nautical miles.")
    tab.get_by_role("button", name="Save").click()
    tab.get_by_label("Add files").set_input_files(
        {"name": "log.txt", "mimeType": "text/plain", "buffer": b"The wind came from the west."}
    )
    tab.get_by_role("button", name="Add", exact=True).click()
    expect(tab.locator("#files li")).to_contain_text("log.txt")

    tab.goto(address)
    scripted.script.reply("Forty.", when=is_chat)
    say(tab, "How far is it?")
    wait_for_answer(tab, 2)
    sent = scripted.script.requests[-1].body
    assert "nautical miles" in sent["system"][0]["text"]
    assert "The wind came from the west" in json.dumps(sent["messages"][0])
    toggle = tab.locator(".project-toggle", has_text="Sea trip")
    link = tab.locator("[data-project] a[aria-current=page]")
    expect(link).to_be_visible()  # its project is unfolded
    toggle.click()
    tab.reload()
    expect(link).to_be_hidden()  # as it was left
    toggle.click()

    link.hover()
    tab.locator("[data-project] [aria-current=page] + button").click()
    tab.get_by_role("button", name="Move to a project…").click()
    tab.get_by_role("button", name="No project").click()
    expect(tab.locator("#topbar-project")).to_be_hidden()
    expect(link).to_have_count(0)
    tab.locator("#undo").get_by_role("button", name="Undo").click()
    expect(tab.locator("#topbar-project")).to_have_text("Sea trip")
    expect(link).to_be_visible()

    tab.goto(server.url)
    tab.get_by_label("New chat in Sea trip").click(force=True)
    tab.wait_for_url("**/?project=*")
    scripted.script.reply("Gladly.", when=is_chat)
    say(tab, "Plan the second day.")
    wait_for_answer(tab, 1)
    expect(tab.locator("#topbar-project")).to_have_text("Sea trip")


def test_model_tools_and_system_prompt_are_those_of_the_next_request(
    chat: Page, scripted: DemoServer, check: Check, server: EverlongProcess
) -> None:
    chat.get_by_role("button", name="Model: Test model").click()
    panel = chat.locator("#model-panel")
    expect(panel.get_by_role("button", name="Test model")).to_be_focused()
    check("the models")
    panel.get_by_role("button", name="Other model").click()
    expect(panel).to_be_hidden()
    chat.get_by_role("button", name="Tools").click()
    memory = chat.get_by_role("checkbox", name="Memory")
    check("the tools")
    with chat.expect_response("**/tools/"):
        memory.uncheck()
    chat.keyboard.press("Escape")
    expect(chat.get_by_role("button", name="Tools")).to_be_focused()
    say(chat, "/model")
    panel.get_by_role("button", name="Effort, length and other settings").click()
    dialog = chat.get_by_role("dialog")
    dialog.get_by_label("System prompt").fill("Answer in rhyme.")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    scripted.script.reply("In time.", when=is_chat)
    say(chat, "Again")
    wait_for_answer(chat, 2)
    request = [r for r in scripted.script.requests if r.kind == "chat"][-1]
    assert request.body["model"] == "other-model"
    assert "Answer in rhyme." in request.system_text
    assert "remember" not in [tool["name"] for tool in request.body["tools"]]
    switch = "from chat.models import ModelProfile; ModelProfile.objects.filter(name='other-model')"
    manage(server.environment, "shell", "-v", "0", "-c", f"{switch}.update(enabled=False)")
    say(chat, "And now?")
    expect(chat.locator("#notice")).to_contain_text("switched this model off")
    expect(chat.get_by_label("Message", exact=True)).to_have_value("And now?")
    chat.reload()
    expect(chat.locator("#model-off")).to_be_visible()
    check("a model that is switched off")
    chat.get_by_role("button", name="Model: Other model").click()
    with chat.expect_response("**/model/"):
        panel.get_by_role("button", name="Test model").click()
    expect(chat.locator("#model-off")).to_be_hidden()
    manage(server.environment, "shell", "-v", "0", "-c", f"{switch}.update(enabled=True)")


def test_stop_keeps_the_text_and_retry_answers_anew(tab: Page, scripted: DemoServer) -> None:
    gate = scripted.script.stall("Once upon a ti", when=is_chat)
    say(tab, "A story")
    assert gate.reached.wait(PATIENCE)
    expect(tab.locator("article[data-status=streaming]")).to_contain_text("Once upon a ti")
    composer(tab).fill("A draft")
    tab.locator("#stop").click()
    stopped = tab.locator("article[data-status=interrupted]")
    expect(stopped).to_contain_text("Once upon a ti")
    expect(stopped).to_contain_text("Stopped")
    expect(composer(tab)).to_have_value("A draft")
    expect(tab.locator("#send")).to_be_visible()

    scripted.script.error(529, when=is_chat)
    composer(tab).press("Enter")
    failed = tab.locator("article[data-status=failed]")
    expect(failed).to_contain_text("overloaded")
    scripted.script.reply("There was a king.", when=is_chat)
    failed.get_by_role("button", name="Retry").click()
    expect(answers(tab).last).to_contain_text("There was a king.")
    expect(failed).to_have_count(0)
    tab.reload()
    expect(answers(tab).last).to_contain_text("There was a king.")
    expect(failed).to_have_count(0)
    expect(stopped).to_contain_text("Once upon a ti")


def test_cancelled_compaction_unlocks_and_compact_with_nothing_says_so(
    talk: Talk, scripted: DemoServer
) -> None:
    tab = talk(("Hello", "A long answer. " * 100))
    say(tab, "/compact")
    expect(tab.locator("#notice")).to_contain_text("nothing to compact")
    scripted.script.reply("A long answer. " * 100, when=is_chat, always=True)
    for number in (2, 3):
        say(tab, f"Message {number}")
        wait_for_answer(tab, number)
    gate = scripted.script.stall(when=is_summary)
    tab.locator("#gauge").click()
    tab.locator("#compact-now").click()
    tab.locator("#compact-form button[type=submit]").click()
    assert gate.reached.wait(PATIENCE)
    row = tab.locator("#live-rows > #compaction-row")  # where no jump takes it away
    expect(row).to_contain_text("Compacting conversation…")
    expect(composer(tab)).not_to_be_editable()
    expect(tab.locator("#composer-lock")).to_be_visible()
    expect(tab.locator("#composer-lock .kept")).to_be_hidden()  # nothing was typed
    tab.reload()
    expect(row).to_contain_text("Compacting conversation…")
    row.get_by_role("button", name="Cancel").click()
    expect(row).to_contain_text("Nothing changed")
    expect(composer(tab)).to_be_editable()
    expect(tab.locator(".divider")).to_have_count(0)
    scripted.script.reply(SUMMARY, when=is_summary)
    say(tab, "/compact the greetings")
    expect(tab.locator(".divider")).to_have_count(1)
    tab.locator(".divider .summary > summary").click()
    expect(tab.locator(".divider .summary-body")).to_contain_text("They counted words.")


def test_a_message_that_waits_for_a_busy_server_says_so_and_keeps_its_text(
    empty_tab: Page, talk: Talk, scripted: DemoServer
) -> None:
    tab = empty_tab
    held: list[tuple[WebSocketRoute, WebSocketRoute, str]] = []

    def join(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def send(frame: str | bytes) -> None:
            if json.loads(frame)["type"] == "message.send":
                held.append((socket, server, str(frame)))
            else:
                server.send(frame)

        socket.on_message(send)

    def tell(before: int, words: str) -> None:
        """Each second, as the server does: the words stand for a moment only."""
        socket, _, frame = held[0]
        told = {
            "type": "send.waiting",
            "before": before,
            "client_id": json.loads(frame)["client_id"],
        }
        while words not in (tab.locator("#composer-hint").text_content() or ""):
            socket.send(json.dumps(told))
            tab.evaluate("() => new Promise(requestAnimationFrame)")

    tab.route_web_socket(re.compile("/ws/"), join)
    talk(("Hello", "Hi!"))
    scripted.script.reply("Here you are.", when=is_chat)
    say(tab, "Now")
    wait_until(tab, lambda: bool(held))
    tell(3, "3 before you")
    tell(0, "you are next")
    expect(composer(tab)).to_have_value("Now")
    _, server, frame = held[0]
    server.send(frame)
    wait_for_answer(tab, 2)
    expect(composer(tab)).to_have_value("")
    expect(tab.locator("#composer-hint")).not_to_contain_text("busy")


def test_the_start_page_explains_a_message_that_waits(tab: Page, scripted: DemoServer) -> None:
    held: list[Route] = []
    tab.route(re.compile("/c/$"), lambda route: held.append(route))
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    expect(tab.locator("#notice")).to_contain_text("The server is busy")
    expect(composer(tab)).to_have_value("Hello")
    wait_until(tab, lambda: bool(held))
    held[0].continue_()
    wait_for_answer(tab, 1)


def test_a_phone_has_a_drawer_and_nothing_to_scroll_sideways(
    tab: Page, scripted: DemoServer
) -> None:
    tab.set_viewport_size({"width": 360, "height": 740})
    wide = f"```\n{'wide ' * 60}\n```\n\n| {' | '.join('column' for _ in range(12))} |\n"
    wide += f"|{'---|' * 12}\n\nhttps://example.com/{'long' * 60}"
    scripted.script.reply(wide, when=is_chat)

    def overflow() -> int:
        width: int = tab.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return width

    assert overflow() == 0
    say(tab, "Something wide: " + "w" * 200)
    wait_for_answer(tab, 1)
    assert overflow() == 0
    for selector in ("#composer", "#send", "#gauge", "article .code-block"):
        box = tab.locator(selector).first.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    sidebar = tab.locator("#sidebar")
    expect(sidebar).not_to_be_in_viewport()
    tab.get_by_label("Open the sidebar").click()
    expect(sidebar).to_be_in_viewport()
    tab.keyboard.press("Escape")
    expect(sidebar).not_to_be_in_viewport()


def test_search_finds_messages_and_leads_to_them(talk: Talk) -> None:
    tab = talk(("When does it close?", "The <harbour> of Lisbon closes at nine."))
    tab.locator("#new-chat").click()
    box = tab.get_by_label("Search titles and messages")
    box.fill("harbours lisbon")
    hit = tab.locator("#sidebar-list .hits a").first
    expect(hit.locator("mark")).to_have_text(["harbour", "Lisbon"])
    hit.focus()
    hit.press("Enter")
    expect(tab).to_have_url(re.compile(r"/c/[0-9a-f-]+/#message-2$"))
    expect(tab.locator("#message-2")).to_be_in_viewport()

    # What was searched for is still there.
    expect(box).to_have_value(re.compile("."))
    expect(tab.locator("#sidebar-list .hits a").first).to_be_visible()

    tab.set_viewport_size({"width": 360, "height": 640})
    tab.get_by_label("Open the sidebar").click()
    box.fill("when close")
    tab.locator("#sidebar-list .hits a", has_text="When does it").click()
    expect(tab).to_have_url(re.compile(r"#message-1$"))
    expect(tab.locator("#sidebar")).not_to_be_in_viewport()
    tab.get_by_label("Open the sidebar").click()
    box.fill("zebra")
    expect(tab.locator("#sidebar-list")).to_contain_text("Try other or fewer words.")
