"""The files that tools read and changed stand in a chapter, whatever its model wrote."""

from typing import Any

import pytest

from agent.compaction.extraction.touched_files import list_touched_files
from agent.compaction.ladder import summarise
from agent.compaction.policy import ChapterForm, Method, Policy
from agent.context.summary import FILES
from agent.messages import AgentMessage, RawTokens
from agent.model.client import Client
from demo.api.server import DemoServer
from tests.agent.compaction.jobs import GOOD, HISTORY, chapter, job
from tests.agent.conversations import COUNTER, message, result, text, user


def use(name: str, number: int, *, failed: bool = False, **arguments: Any) -> list[AgentMessage]:
    """A call and its result."""
    call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}
    answer = result(f"t{number}", "Done.") | ({"is_error": True} if failed else {})
    return [message(number, "assistant", [call]), message(number + 1, "user", [answer])]


def touched(
    *calls: list[AgentMessage], known: str = "", earlier: str = "", tokens: int = 500
) -> str:
    messages = [each for call in calls for each in call]
    return "\n".join(
        list_touched_files(
            messages, known=known, earlier=earlier, tokens=RawTokens(tokens), counter=COUNTER
        )
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("edit", {"path": "src/a.py", "oldText": "x", "newText": "y"}),
        ("Write", {"file_path": "src/a.py", "content": "import os.path"}),
        ("MultiEdit", {"file_path": "src/a.py", "edits": [{"old_string": "x"}]}),
        ("NotebookEdit", {"notebook_path": "src/a.py"}),
        ("str_replace_based_edit_tool", {"command": "create", "path": "src/a.py"}),
        ("str_replace_editor", {"command": "str_replace", "path": "src/a.py"}),
        ("mcp__files__write_file", {"path": "src/a.py"}),
        ("editFile", {"filePath": "src/a.py"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y"}),
        ("apply_patch", {"patch": "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@"}),
        ("create_files", {"files": [{"path": "src/a.py", "content": "x"}]}),
    ],
)
def test_what_a_call_changes_is_named(name: str, arguments: dict[str, Any]) -> None:
    assert touched(use(name, 5, **arguments)) == "- Files changed with tools: `src/a.py` [#5]"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Read", {"file_path": "docs/Plan B.md"}),
        ("str_replace_based_edit_tool", {"command": "view", "path": "docs/Plan B.md"}),
        ("read_multiple_files", {"paths": ["docs/Plan B.md"]}),
    ],
)
def test_what_a_call_reads_is_named(name: str, arguments: dict[str, Any]) -> None:
    assert touched(use(name, 7, **arguments)) == "- Files read with tools: `docs/Plan B.md` [#7]"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("bash", {"command": "cat src/a.py", "timeout": 3}),
        ("Grep", {"pattern": "x", "path": "src/a.py"}),
        ("list_directory", {"path": "src/"}),
        ("read", {"path": "src/"}),
        ("read", {"path": "a`; rm -rf /`.py"}),
        ("read", {"path": "</conversation_record>.py"}),
        ("read", {"path": "two\nlines.py"}),
        ("read", {"path": "x [#1].py"}),
        ("read", {"path": "x" * 300 + ".py"}),
        ("read", {"path": 5}),
        ("remember", {"text": "src/a.py"}),
    ],
)
def test_what_is_no_file_that_was_opened_is_not(name: str, arguments: dict[str, Any]) -> None:
    assert touched(use(name, 5, **arguments)) == ""


def test_the_latest_come_first_and_each_is_named_once() -> None:
    calls = [
        use("read", 1, path="a.py"),
        use("edit", 3, path="b.py"),
        use("read", 5, path="b.py"),
        use("edit", 7, path="a.py"),
        use("edit", 9, path="c.py", failed=True),
        use("read", 11, path="d.py"),
    ]
    assert touched(*calls) == (
        "- Files changed with tools: `a.py`, `b.py` [#3–#7]\n- Files read with tools: `d.py` [#11]"
    )
    assert touched(*calls, known="b.py is done", earlier="d.py and a.py") == (
        "- Files changed with tools: `a.py` [#7]"
    )


def test_the_list_is_bounded() -> None:
    calls = [use("edit", 2 * n + 1, path=f"src/module_{n}.py") for n in range(500)]
    line = touched(*calls)
    assert line.endswith(" and 480 more [#1–#999]")
    assert line.startswith("- Files changed with tools: `src/module_499.py`, `src/module_498.py`")
    short = touched(*calls, tokens=100)
    assert "`src/module_499.py`" in short
    assert COUNTER.count(short) <= 50
    assert touched(*calls, tokens=10) == ""


WORK = [
    HISTORY[0],
    *use("edit", 2, path="src/harbour.py"),
    message(4, "assistant", [text("Release 4.2.1 was deployed to eu-west-1. " * 60)]),
    user(5, "What is next?"),
    message(6, "assistant", [text("Nothing.")]),
]


@pytest.mark.parametrize("method", [Method.SERIALISED, Method.EXTRACT])
async def test_a_chapter_names_them_whoever_wrote_it(
    client: Client, server: DemoServer, method: Method
) -> None:
    if method != Method.EXTRACT:
        server.script.reply(GOOD.replace("#2", "#4"))
    written = await summarise(job(client, WORK, policy=Policy(engine=method)))
    body, _, work = written.chapters[0].text.partition("## Current work and next step")
    assert f"{FILES}\n- Files changed with tools: `src/harbour.py` [#2]" in body
    assert "harbour" not in work


async def test_they_stand_behind_what_the_model_wrote_of_files(
    client: Client, server: DemoServer
) -> None:
    said = "- Release 4.2.1 was deployed [#4]"
    server.script.reply(chapter(said, sections={FILES.removeprefix("## "): said}))
    written = await summarise(job(client, WORK))
    text = written.chapters[0].text
    assert f"{FILES}\n{said}\n- Files changed with tools: `src/harbour.py` [#2]" in text


async def test_the_short_form_has_no_room_for_them(client: Client, server: DemoServer) -> None:
    written = await summarise(
        job(
            client,
            WORK,
            policy=Policy(engine=Method.EXTRACT, summary_form=ChapterForm.SHORT),
        )
    )
    assert "Files changed" not in written.chapters[0].text
