"""LibreChat's export. Cases like these and others will be tried on what lands."""

from pathlib import Path
from typing import Any

import pytest

from chat.importers import librechat
from chat.importers.archive import Archive
from chat.importers.records import ImportedConversation, Skipped
from tests.chat.importers.rival_exports import branch, check, read_files, shape

ROOT = "00000000-0000-0000-0000-000000000000"
Entry = dict[str, Any]


def asked(identity: str, text: str, parent: str = ROOT, **more: Any) -> Entry:
    values = {"messageId": identity, "parentMessageId": parent, "text": text}
    return values | {"sender": "User", "isCreatedByUser": True} | more


def answered(identity: str, text: str, parent: str = "q", **more: Any) -> Entry:
    values = {"messageId": identity, "parentMessageId": parent, "text": text}
    return values | {"sender": "Claude", "isCreatedByUser": False, "model": "claude-3"} | more


def read(folder: Path, *messages: Entry, **more: Any) -> ImportedConversation:
    element = {"conversationId": "c1", "title": "Tea", "messages": list(messages)} | more
    (found,) = read_files(folder, {"Tea.json": element})
    assert isinstance(found, ImportedConversation), found
    check(found)
    return found


class TestTheTree:
    def test_a_flat_file_is_read_by_parents(self, tmp_path: Path) -> None:
        found = read(
            tmp_path,
            answered("a", "One", createdAt="2026-02-01T10:00:01.000Z"),
            asked("q", "Why?", createdAt="2026-02-01T10:00:00.000Z"),
            answered("b", "Two", createdAt="2026-02-01T10:00:02.000Z"),
            exportAt="10:00:00 GMT+0100",
        )
        assert [(m.origin, m.parent) for m in found.messages] == [
            ("q", None),
            ("a", "q"),
            ("b", "q"),
        ]
        assert found.leaf == "b"
        assert found.created_at == found.messages[0].at
        assert found.updated_at == found.messages[2].at

    def test_a_nested_file_is_read_by_place(self, tmp_path: Path) -> None:
        follow_up = asked("q2", "And?", "elsewhere")
        nested = asked("q", "Why?") | {
            "children": [
                answered("a", "One", "x") | {"children": [follow_up]},
                answered("b", "Two"),
            ]
        }
        found = read(tmp_path, recursive=True, messagesTree=[nested], messages=None)
        assert {m.origin: m.parent for m in found.messages} == {
            "q": None,
            "a": "q",
            "b": "q",
            "q2": "a",
        }

    def test_chains_of_any_depth_are_read(self, tmp_path: Path) -> None:
        flat = [asked("0", "Hi")]
        flat += [asked(str(n), "Hi", str(n - 1)) for n in range(1, 3000)]
        found = read(tmp_path, *flat)
        assert len(branch(found)) == 3000

    def test_replies_may_stand_in_each_other_by_the_thousand(self, tmp_path: Path) -> None:
        depth = 1_500
        opening = "".join(
            f'{{"messageId": "m{number}", "isCreatedByUser": true, "text": "t", "children": ['
            for number in range(depth)
        )
        thread = f'"messagesTree": [{opening}{"]}" * depth}]'
        path = tmp_path / "deep.json"
        path.write_text(f'{{"conversationId": "c", "title": "Tea", {thread}}}')
        with Archive([("deep.json", path)]) as archive:
            (found,) = librechat.read(archive)
        assert isinstance(found, ImportedConversation)
        assert (len(found.messages), found.leaf) == (depth, f"m{depth - 1}")

    def test_what_stands_on_a_joint_moves_up(self, tmp_path: Path) -> None:
        found = read(
            tmp_path,
            asked("q", "Why?"),
            answered("joint", ""),
            answered("a", "One", "joint"),
            answered("b", "Two", "joint"),
        )
        assert [(m.origin, m.parent) for m in found.messages] == [
            ("q", None),
            ("a", "q"),
            ("b", "q"),
        ]
        assert found.tally.dropped == {librechat.JOINT: 1}

    def test_many_files_are_one_import(self, tmp_path: Path) -> None:
        files = {
            f"{n}.json": {"conversationId": f"c{n}", "messages": [asked("q", "Why?")]}
            for n in range(3)
        }
        files["4.json"] = {"conversationId": "c4", "title": "Nothing", "messages": []}
        found = read_files(tmp_path, files)
        assert [e.origin for e in found if isinstance(e, ImportedConversation)] == [
            "c0",
            "c1",
            "c2",
        ]
        assert [e.name for e in found if isinstance(e, Skipped)] == ["Nothing"]

    def test_options_say_model_and_system_prompt(self, tmp_path: Path) -> None:
        options = {"model": "claude-4", "promptPrefix": "Be brief."}
        found = read(tmp_path, asked("q", "Why?"), options=options)
        assert (found.model, found.system_prompt) == ("claude-4", "Be brief.")


class TestContent:
    def test_parts_of_an_answer(self, tmp_path: Path) -> None:
        content = [
            {"type": "think", "think": "Leaves…"},
            {"type": "text", "text": {"value": "I look."}},
            {
                "type": "tool_call",
                "tool_call": {
                    "id": "t1",
                    "name": "search",
                    "args": '{"q": "tea"}',
                    "output": "Old",
                },
            },
            {"type": "text", "text": "It is old."},
        ]
        found = read(tmp_path, asked("q", "Why?"), answered("a", "", content=content))
        assert found.messages[1].blocks[0] == {"type": "thinking", "thinking": "Leaves…"}
        assert shape(found.messages[1:]) == [
            ("assistant", 'I look.\n\n[search {"q": "tea"}]'),
            ("user", "Old"),
            ("assistant", "It is old."),
        ]
        assert found.tally.kept == 2

    def test_a_summary_of_theirs_is_a_note(self, tmp_path: Path) -> None:
        content = [{"type": "summary", "text": "They drank tea."}]
        found = read(tmp_path, asked("q", "Why?"), answered("a", "", content=content))
        assert found.messages[1].blocks[0]["text"].endswith(":\n\n> They drank tea.")

    def test_artifacts_stay_in_the_text(self, tmp_path: Path) -> None:
        text = ':::artifact{identifier="a" type="text/html"}\n```html\n<p>\n```\n:::'
        found = read(tmp_path, asked("q", "Why?"), answered("a", text))
        assert shape(found.messages)[1] == ("assistant", text)

    @pytest.mark.parametrize("part", [{"type": "video", "length": 3}, {"length": 3}])
    def test_unknown_parts_are_kept_as_json(self, tmp_path: Path, part: Entry) -> None:
        found = read(tmp_path, asked("q", "Why?"), answered("a", "", content=[part]))
        assert '"length": 3' in found.messages[1].blocks[0]["text"]

    def test_an_unfinished_answer_was_interrupted(self, tmp_path: Path) -> None:
        found = read(tmp_path, asked("q", "Why?"), answered("a", "Half", unfinished=True))
        assert found.messages[1].status == "interrupted"

    @pytest.mark.parametrize(
        "more",
        [{"text": "No key", "error": True}, {"content": [{"type": "error", "error": "No key"}]}],
    )
    def test_an_error_is_a_failed_answer(self, tmp_path: Path, more: Entry) -> None:
        found = read(tmp_path, asked("q", "Why?"), answered("a", "Half") | more)
        assert (found.messages[1].status, found.messages[1].error) == ("failed", "No key")

    def test_files_are_named_as_missing(self, tmp_path: Path) -> None:
        found = read(
            tmp_path,
            asked("q", "", files=[{"filename": "cup.png", "file_id": "f1"}]),
            answered("a", "A cup.", attachments=[{"filename": "plot.png"}]),
        )
        assert "cup.png" in found.messages[0].blocks[0]["text"]
        assert found.tally.missing == ["cup.png", "plot.png"]
