"""What a writer leaves out, writes too long or has to give way is kept, counted and listed."""

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.unsent import list_unsent
from agent.compaction.ladder import summarise
from agent.context.summary import CURRENT_WORK
from agent.model.client import Client
from agent.search.exact_values import IndexEntry, Weight
from demo.api.server import DemoServer
from tests.agent.compaction.jobs import LIMITS, chapter, job
from tests.agent.conversations import assistant, user

PORT = IndexEntry("8443", 1, "The backup port is 8443.", Weight.STATED)
EARLIER = Chapter(
    f"## Facts and values\n- The backup port is 8443 [#1]\n\n{CURRENT_WORK}\n- Ask Ines",
    1,
    4,
    index=(PORT,),
)
MOVED = [
    user(5, "The backup port is 9443 instead of 8443."),
    assistant(6, "Noted, the port is changed. " * 60),
    user(7, "What is next?"),
    assistant(8, "Nothing is left."),
]


async def test_a_change_that_the_model_leaves_out_is_written_as_the_form_asks(
    client: Client, server: DemoServer
) -> None:
    server.script.reply(chapter("- The port is changed [#6]"))
    made = await summarise(job(client, MOVED, cut=2, chapters=[EARLIER]))
    line = "- Replaced: The backup port is 8443 → 9443 [#1 #5]"
    assert line in made.chapters[-1].text
    assert made.chapters[-1].text.index("## Decisions") < made.chapters[-1].text.index(line)
    assert made.findings.ended == ["- Ask Ines"]
    assert [each.statement.text for each in list_unsent(made.chapters)] == ["- Ask Ines"]


async def test_a_change_that_the_model_writes_is_not_written_twice(
    client: Client, server: DemoServer
) -> None:
    said = "- Replaced: backup port 8443 → 9443 [#1 #5]"
    server.script.reply(chapter(sections={"Decisions": said}))
    made = await summarise(job(client, MOVED, cut=2, chapters=[EARLIER]))
    assert made.chapters[-1].text.count("Replaced:") == 1


async def test_a_line_that_is_longer_than_a_chapter_is_counted_and_can_be_put_back(
    client: Client, server: DemoServer
) -> None:
    long = f"- The port is changed {'again and ' * 280}again [#6]"
    history = [MOVED[0], assistant(6, "Noted, the port is changed again. " * 200), *MOVED[2:]]
    server.script.reply(chapter("- The port is changed [#6]", long))
    small = LIMITS.__class__(8_000, 2_000, 8_000, LIMITS.factor)
    made = await summarise(job(client, history, cut=2, limits=small))
    text = made.chapters[-1].text
    assert "again and again" not in text
    assert any("again and again" in each for each in made.audit["cut"])
    assert any("again and again" in each.statement.text for each in list_unsent(made.chapters))
