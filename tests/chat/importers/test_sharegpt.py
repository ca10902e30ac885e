"""Conversations in the form of ShareGPT."""

from pathlib import Path
from typing import Any

import pytest

from agent.messages import plain_text
from chat.importers.records import ImportedConversation, Skipped
from tests.chat.importers.exports import only_conversation, read_files, write_json


def turns(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"from": author, "value": text} for author, text in pairs]


def test_turns_become_messages_in_their_order(tmp_path: Path) -> None:
    element = {
        "id": "a_0",
        "model": "vicuna",
        "conversations": turns(
            ("system", "Be brief."),
            ("human", "Hi"),
            ("gpt", "Hello"),
            ("user", "Sum"),
            ("gpt", "1"),
            ("observation", "2"),
            ("assistant", "3"),
            ("gpt", ""),
            ("fox", "Ring"),
        ),
    }
    found = only_conversation(read_files(write_json(tmp_path / "a.json", [element])))
    assert [(m.role, plain_text(m.blocks)) for m in found.messages] == [
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "Sum"),
        ("assistant", "1\n\n[tool {}]"),
        ("user", "2"),
        ("assistant", "3"),
    ]
    assert (found.system_prompt, found.model) == ("Be brief.", "vicuna")
    assert (found.tally.kept, found.tally.hidden.total(), found.tally.dropped.total()) == (6, 1, 2)


def test_files_with_the_same_ids_hold_different_conversations(tmp_path: Path) -> None:
    def origin(first: str) -> str:
        element = {"id": "identity_0", "conversations": turns(("human", first), ("gpt", "b"))}
        return only_conversation(read_files(write_json(tmp_path / "a.json", [element]))).origin

    assert origin("one") == origin("one") != origin("two")


@pytest.mark.parametrize(
    "broken",
    [
        {"conversations": []},
        {"conversations": "text"},
        {"conversations": [None, 5, {"from": 3, "value": []}]},
        {"id": "b"},
        7,
    ],
)
def test_what_is_no_conversation_is_skipped(tmp_path: Path, broken: Any) -> None:
    good = {"id": "a", "conversations": turns(("human", "Hi"))}
    found = read_files(write_json(tmp_path / "a.json", [broken, good]))
    assert [type(each) for each in found] == [Skipped, ImportedConversation]
