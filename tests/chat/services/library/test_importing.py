"""A session of the coding agent pi, written for these tests, becomes a conversation."""

import json
import re
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from agent.context.assemble import assemble
from agent.model.rules import find_violations
from chat.engine.model_server import get_counter
from chat.engine.state import load_state
from chat.importers.pi import parse_session
from chat.models import Conversation, Message, Turn
from spending.models import ModelCall
from tests.chat.factories import make_profile, make_user

pytestmark = [pytest.mark.on_both, pytest.mark.django_db]

MODEL = "claude-test-4"
AT = 1_763_681_581_000  # 2025-11-20 23:33:01 UTC


def entry(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "message": {"role": role, "content": content, "timestamp": AT} | fields,
    }


def answer(
    *content: dict[str, Any], stop: str = "stop", read: int = 0, **fields: Any
) -> dict[str, Any]:
    usage = {"input": 3, "output": 20, "cacheRead": read, "cacheWrite": 100, "cost": {"total": 0.5}}
    fields = {
        "model": MODEL,
        "api": "anthropic-messages",
        "usage": usage,
        "stopReason": stop,
    } | fields
    return entry("assistant", list(content), **fields)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": "read", "arguments": arguments}


def result(call_id: str, value: str, *, failed: bool = False) -> dict[str, Any]:
    return entry("toolResult", [text(value)], toolCallId=call_id, toolName="read", isError=failed)


SESSION = [
    {"type": "session", "id": "1", "provider": "anthropic", "modelId": MODEL},
    entry("user", [text("Look at the config\nand tell me")]),
    {"type": "model_change", "provider": "anthropic", "modelId": MODEL},
    answer(
        {"type": "thinking", "thinking": "Two files.", "thinkingSignature": "c2ln"},
        text("Reading."),
        call("toolu_1", path="a.ini"),
        call("call|2", path="b.ini"),
        stop="toolUse",
    ),
    result("toolu_1", "[a]\nx = 1"),
    result("call|2", "no such file", failed=True),
    answer(text("**a.ini** sets x."), read=900),
    entry("bashExecution", None, command="make", output="a ``` b", exitCode=2),
    answer(stop="aborted", usage={"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}),
    {"type": "compaction", "summary": "pi's own"},
    entry("user", "Again, please"),
    answer(text("Half an ans"), stop="error", errorMessage="terminated"),
    entry("user", "And again"),
    answer(text("Done."), stop="length", read=1_000),
]


def lines(entries: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(line).encode() + b"\n" for line in entries]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines(SESSION)))
    return path


def run(file: Path, **options: Any) -> tuple[Conversation, str, str]:
    out, err = StringIO(), StringIO()
    call_command("import_session", file, stdout=out, stderr=err, **options)
    return Conversation.objects.latest("updated_at"), out.getvalue(), err.getvalue()


def rows(conversation: Conversation) -> list[Message]:
    return list(conversation.messages.order_by("position").select_related("turn", "parent"))


# --- Reading --------------------------------------------------------------------------------------


def test_calls_and_results_are_the_apis_blocks() -> None:
    messages = parse_session(lines(SESSION)).messages
    assert [block["type"] for block in messages[1].blocks] == [
        "thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert messages[1].blocks[0]["signature"] == "c2ln"
    assert messages[1].blocks[2]["input"] == {"path": "a.ini"}
    # The API takes no `|` in an id, and all results of a round in one message.
    assert messages[2].role == "user"
    assert messages[2].blocks == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "[a]\nx = 1"},
        {
            "type": "tool_result",
            "tool_use_id": "call_2",
            "content": "no such file",
            "is_error": True,
        },
    ]


def test_answers_keep_their_true_usage_and_their_end() -> None:
    answers = [m for m in parse_session(lines(SESSION)).messages if m.role == "assistant"]
    assert [m.stop_reason for m in answers] == ["tool_use", "end_turn", "stopped", "", "max_tokens"]
    assert [m.status for m in answers][2:4] == ["interrupted", "failed"]
    assert answers[1].usage == {
        "input_tokens": 3,
        "output_tokens": 20,
        "cache_read_input_tokens": 900,
        "cache_creation_input_tokens": 100,
    }
    assert answers[2].usage is None
    assert answers[3].error == "terminated"
    assert answers[0].at == datetime(2025, 11, 20, 23, 33, 1, tzinfo=UTC)


def test_a_command_that_the_user_ran_is_told_in_words() -> None:
    [told] = [m for m in parse_session(lines(SESSION)).messages if "make" in str(m.blocks)]
    assert told.blocks[0]["text"] == (
        "I ran this command:\n\n```sh\nmake\n```\n\nIt printed:\n\n````\na ``` b\n````\n\n"
        "It ended with exit code 2."
    )


def test_images_and_foreign_thinking() -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    thought = {"type": "thinking", "thinking": "Hm.", "thinkingSignature": '{"id": "rs_1"}'}
    session = parse_session(
        lines([entry("user", [image]), answer(thought, text("A dog."), api="openai-responses")])
    )
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert session.messages[0].blocks == [{"type": "image", "source": source}]
    assert session.messages[1].blocks[0] == {"type": "thinking", "thinking": "Hm."}


def test_broken_lines_are_left_out_and_named() -> None:
    broken = [
        b"{not json\n",
        b"[1, 2]\n",
        b"\n",
        b'{"type": "message"}\n',
        b'{"type": "message", "message": {"role": "poet", "content": "x"}}\n',
        b'{"type": "message", "message": {"role": "user", "content": 7}}\n',
        b'{"type": "message", "message": {"role": "user", "content": NaN}}\n',
        b'{"type": "message", "message": {"role": "user", "content": "\xff"}}\n',
        b"[" * 100_000 + b"\n",
        *lines([entry("user", [text("fine"), {"type": "hologram"}]), answer(text("Yes."))]),
    ]
    session = parse_session(broken)
    assert [(p.line, p.reason) for p in session.problems] == [
        (1, "not valid JSON"),
        (2, "not a JSON object"),
        (7, "NaN is not a JSON number"),
        (8, "not valid JSON"),
        (9, "not valid JSON"),
        (4, "an entry of type message without a message"),
        (5, "the role 'poet' is unknown"),
        (6, "content is neither a string nor a list"),
        (10, "content of type 'hologram' is unknown"),
    ]
    assert [m.role for m in session.messages] == ["user", "assistant"]


def test_of_a_tree_the_last_branch_is_taken() -> None:
    tree = [
        {"type": "session", "id": "s"},
        entry("user", "root") | {"id": "a", "parentId": None},
        answer(text("left")) | {"id": "b", "parentId": "a"},
        answer(text("right")) | {"id": "c", "parentId": "a"},
        entry("user", "on the right") | {"id": "d", "parentId": "c"},
    ]
    texts = [m.blocks[0]["text"] for m in parse_session(lines(tree)).messages]
    assert texts == ["root", "right", "on the right"]


def test_an_endless_tree_ends() -> None:
    circle = [entry("user", n) | {"id": n, "parentId": p} for n, p in ("ab", "ba")]
    assert len(parse_session(lines(circle)).messages) == 2


# --- Storing --------------------------------------------------------------------------------------


def test_a_session_becomes_one_conversation(file: Path) -> None:
    user = make_user("ada")
    make_profile(MODEL)
    conversation, said, problems = run(file)
    assert (conversation.owner, conversation.model) == (user, MODEL)
    assert conversation.title == "Look at the config"
    assert not conversation.title_edited
    assert "10 messages" in said
    assert conversation.get_absolute_url() in said
    assert problems == ""
    stored = rows(conversation)
    assert [m.number for m in stored] == list(range(1, 11))
    assert [m.position for m in stored] == list(range(10))
    assert [m.parent for m in stored] == [None, *stored[:-1]]
    assert {m.created_at for m in stored} == {datetime(2025, 11, 20, 23, 33, 1, tzinfo=UTC)}
    assert conversation.next_number == 11
    assert all(m.tokens > 0 for m in stored)
    assert not ModelCall.objects.exists(), "it was paid elsewhere"


@pytest.mark.parametrize("reported", [60, 1_103, 50_000])
def test_the_meter_counts_what_the_next_request_holds_not_what_pi_had_sent(
    tmp_path: Path, reported: int
) -> None:
    """pi sent its own prompt and tools, and after its compactions less than all messages."""
    make_user()
    make_profile(MODEL)
    talk = [entry("user", "Read this. " * 300), answer(text("I did. " * 300), read=900)] * 4
    end = [{"type": "compaction", "summary": "pi's own"}, entry("user", "And now?")]
    path = tmp_path / "compacted.jsonl"
    path.write_bytes(b"".join(lines([*talk, *end, answer(text("Done."), read=reported - 103)])))
    conversation, *_ = run(path)
    state = load_state(conversation.pk)
    request = assemble(state.context)
    held = sum(get_counter().count_blocks(m["content"]) for m in request.messages)
    fixed = state.size.system + state.size.tools
    assert state.used == pytest.approx(state.limits.factor.apply(held) + fixed, rel=0.05)
    assert (state.estimated, state.warm) == (True, False)
    assert find_violations(request.body()) == []


def test_unfinished_answers_say_how_they_ended(file: Path, client: Client) -> None:
    client.force_login(make_user())
    conversation, *_ = run(file)
    html = client.get(conversation.get_absolute_url()).content.decode()
    assert html.count("<article") == 10
    assert html.count(">Stopped</p>") == 1
    assert re.search(r"<p[^>]*>\s*terminated\s*</p>", html)
    assert "conversation_retry" not in html
    assert 'data-action="retry"' not in html  # not in the middle of a conversation
    assert html.count("tools-only") == 1
    assert "<strong>a.ini</strong>" in html
    assert not Turn.objects.filter(status__in=Turn.ACTIVE).exists()


def test_it_can_be_named_and_go_on_with_a_model_of_its_own(file: Path) -> None:
    make_user()
    assert run(file, model="other", title=" My  title ")[0].model == "other"
    assert Conversation.objects.filter(title="My title", title_edited=True).exists()


def test_the_owner_has_to_be_clear(file: Path) -> None:
    with pytest.raises(CommandError, match="no account yet"):
        run(file)
    make_user("ada")
    make_user("bob")
    with pytest.raises(CommandError, match="--owner NAME"):
        run(file)
    with pytest.raises(CommandError, match="no active account named 'eve'"):
        run(file, owner="eve")
    assert run(file, owner="bob")[0].owner.username == "bob"


def test_files_that_cannot_be_imported(tmp_path: Path) -> None:
    make_user()
    with pytest.raises(CommandError, match="cannot be read"):
        run(tmp_path / "none.jsonl")
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"type": "session", "version": 3}\n')
    with pytest.raises(CommandError, match="holds no messages"):
        run(empty)
    assert not Conversation.objects.exists()


def test_lines_that_are_left_out_are_told(file: Path) -> None:
    make_user()
    file.write_bytes(file.read_bytes() + b"{broken\n" * 25)
    _, said, problems = run(file)
    assert "10 messages" in said
    assert "not valid JSON: 25" in problems
