"""Where the page stands while a question is answered."""

from playwright.sync_api import Locator, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import Talk, answers, say, wait_for_answer

LINES = "\n\n".join(f"Line {n} of an answer." for n in range(1, 41))
BELOW = "node => node.scrollHeight - node.scrollTop - node.clientHeight"  # px


def top_of(node: Locator) -> float:
    box = node.bounding_box()
    assert box
    return box["y"]


def test_a_question_stands_at_the_top_until_its_reader_goes_to_the_end_of_the_answer(
    talk: Talk, scripted: DemoServer
) -> None:
    tab = talk(("The first question", LINES))
    scroller = tab.locator("#scroller")
    gate = scripted.script.stall(f"{LINES}\n\nMore", then=f" of it.\n\n{LINES}", when=is_chat)
    say(tab, "The second question")
    question = tab.locator("article", has_text="The second question")
    expect(tab.locator("article[data-status=streaming]")).to_contain_text("More")
    assert 0 <= top_of(question) - top_of(scroller) < 80
    assert scroller.evaluate(BELOW) > 200

    tab.get_by_role("button", name="Latest").click()
    gate.release()
    wait_for_answer(tab, 2)
    expect(answers(tab).last.get_by_text("Line 40").last).to_be_in_viewport()
    assert scroller.evaluate(BELOW) < 2
