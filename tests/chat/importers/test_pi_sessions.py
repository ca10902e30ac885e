"""Sessions of pi as conversations to import; tests/chat/services/library/test_importing.py has what
each of its messages becomes."""

import base64
import json
from pathlib import Path
from typing import Any

from chat.importers.archive import Archive
from chat.importers.pi_sessions import read
from chat.importers.records import ImportedConversation, Skipped
from tests.chat.importers.exports import Json, only_conversation, read_files

HEAD = {"type": "session", "version": 3, "id": "session-1", "timestamp": "2025-11-20T23:33:01Z"}
PICTURE = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"dots").decode()}


def entry(role: str, content: Any, **fields: Any) -> Json:
    ids = {key: fields.pop(key) for key in ("id", "parentId") if key in fields}
    message = {"role": role, "content": content, "timestamp": 1_763_681_581_000} | fields
    return {"type": "message", "message": message} | ids


def write(path: Path, *entries: Any) -> Path:
    lines = (each if isinstance(each, str) else json.dumps(each) for each in entries)
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_session_is_one_conversation_with_its_calls(tmp_path: Path) -> None:
    path = write(
        tmp_path / "session.jsonl",
        HEAD,
        entry("user", "List"),
        entry(
            "assistant",
            [
                {"type": "thinking", "thinking": "Hm", "thinkingSignature": "secret"},
                {"type": "toolCall", "id": "c|1", "name": "bash", "arguments": {"a": 1}},
            ],
            model="claude-test",
            stopReason="toolUse",
        ),
        {"type": "model_change"},
        entry("toolResult", "files", toolCallId="c|1", toolName="bash"),
        entry("assistant", "Here.", model="claude-test", stopReason="stop"),
    )
    found = only_conversation(read_files(path))
    assert (found.origin, found.model, found.leaf) == ("session-1", "claude-test", "6")
    assert [message.blocks for message in found.messages] == [
        [{"type": "text", "text": "List"}],
        [
            {"type": "thinking", "thinking": "Hm"},
            {"type": "tool_use", "id": "c_1", "name": "bash", "input": {"a": 1}},
        ],
        [{"type": "tool_result", "tool_use_id": "c_1", "content": "files"}],
        [{"type": "text", "text": "Here."}],
    ]
    assert (found.tally.kept, found.tally.hidden.total()) == (4, 2)


def test_pictures_are_files_of_the_prompt_or_of_the_answer_that_follows(tmp_path: Path) -> None:
    path = write(
        tmp_path / "session.jsonl",
        HEAD,
        entry("user", [{"type": "text", "text": "Look"}, PICTURE]),
        entry("assistant", [{"type": "toolCall", "id": "c", "name": "read", "arguments": {}}]),
        entry("toolResult", [PICTURE, {"type": "text", "text": "read"}], toolCallId="c"),
        entry("assistant", "I see.", stopReason="stop"),
        entry("user", [PICTURE | {"data": "no base64!"}, {"type": "text", "text": "?"}]),
    )
    found = only_conversation(read_files(path))
    assert [(m.role, [f.open().read() for f in m.files]) for m in found.messages] == [
        ("user", [b"dots"]),
        ("assistant", []),
        ("user", []),
        ("assistant", [b"dots"]),
        ("user", []),
    ]
    assert "image" not in {block["type"] for m in found.messages for block in m.blocks}
    assert found.tally.dropped.total() == 1


def test_all_branches_come_and_the_last_entry_is_shown(tmp_path: Path) -> None:
    path = write(
        tmp_path / "session.jsonl",
        HEAD,
        entry("user", "a", id="a", parentId=None),
        entry("assistant", "old", id="b", parentId="a"),
        entry("assistant", "new", id="c", parentId="a"),
        {"type": "label", "id": "d", "parentId": "c"},
    )
    found = only_conversation(read_files(path))
    assert [(m.origin, m.parent) for m in found.messages] == [("a", None), ("b", "a"), ("c", "a")]
    assert found.leaf == "c"


def test_broken_lines_and_files_cost_nothing_else(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", HEAD, "{broken", entry("user", "a"), entry("fox", "b"), "7")
    two = write(tmp_path / "two.jsonl", HEAD | {"id": "session-2"})
    with Archive([(path.name, path) for path in (one, two)]) as archive:
        good, empty = list(read(archive))
    assert isinstance(good, ImportedConversation)
    assert (good.tally.kept, good.tally.dropped.total()) == (1, 3)
    assert isinstance(empty, Skipped)
    assert empty.name == "two.jsonl"
