"""Claude.ai's export. Cases like these and others will be tried on what lands."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from chat.importers import claude_ai
from chat.importers.errors import UnknownFormat
from chat.importers.records import ImportedConversation, ImportedProject, Offered, Skipped
from tests.chat.importers.rival_exports import (
    branch,
    check,
    read_bytes,
    read_files,
    read_one,
    shape,
)

ROOT = "00000000-0000-4000-8000-000000000000"
Entry = dict[str, Any]


def said(uuid: str, sender: str, text: str, **more: Any) -> Entry:
    content = [{"type": "text", "text": text}] if text else []
    return {"uuid": uuid, "sender": sender, "text": text, "content": content} | more


def conversation(*messages: Entry, **more: Any) -> Entry:
    return {"uuid": "c1", "name": "Tea", "chat_messages": list(messages)} | more


def used(name: str, given: Any, **more: Any) -> Entry:
    return {"type": "tool_use", "id": None, "name": name, "input": given} | more


def returned(name: str, text: str, **more: Any) -> Entry:
    content = [{"type": "text", "text": text}]
    return {"type": "tool_result", "tool_use_id": None, "name": name, "content": content} | more


def artifact(command: str, **given: Any) -> Entry:
    return used("artifacts", {"command": command, "id": "a1"} | given)


class TestTheTree:
    def test_without_parents_messages_follow_each_other(self, tmp_path: Path) -> None:
        found = read_one(
            tmp_path,
            conversation(said("m1", "human", "Hi"), said("m2", "assistant", "Hello")),
        )
        check(found)
        assert shape(branch(found)) == [("user", "Hi"), ("assistant", "Hello")]
        assert found.title == "Tea"
        assert found.tally.kept == 2

    @pytest.mark.parametrize("root", [ROOT, "00000000-0000-0000-0000-000000000000", "gone", None])
    def test_a_zero_or_unknown_parent_is_a_beginning(
        self, tmp_path: Path, root: str | None
    ) -> None:
        found = read_one(
            tmp_path,
            conversation(
                said("m1", "human", "Hi", parent_message_uuid=root),
                said(
                    "m2",
                    "assistant",
                    "One",
                    parent_message_uuid="m1",
                    created_at="2026-01-01T10:00:00Z",
                ),
                said(
                    "m3",
                    "assistant",
                    "Two",
                    parent_message_uuid="m1",
                    created_at="2026-01-01T11:00:00Z",
                ),
            ),
        )
        check(found)
        assert [(m.origin, m.parent) for m in found.messages] == [
            ("m1", None),
            ("m2", "m1"),
            ("m3", "m1"),
        ]
        assert found.leaf == "m3"

    def test_the_leaf_that_a_browser_saved_is_shown(self, tmp_path: Path) -> None:
        saved = conversation(
            said("m2", "assistant", "One", parent_message_uuid="m1", index=1),
            said("m1", "human", "Hi", parent_message_uuid=ROOT, index=0),
            said("m3", "assistant", "Two", parent_message_uuid="m1", index=2),
            model="claude-sonnet-5",
            current_leaf_message_uuid="m2",
            is_starred=True,
            project_uuid="p1",
        )
        (found,) = read_files(tmp_path, {"saved.json": saved})
        assert isinstance(found, ImportedConversation)
        check(found)
        assert shape(branch(found)) == [("user", "Hi"), ("assistant", "One")]
        assert [m.model for m in branch(found)] == ["", "claude-sonnet-5"]
        assert (found.model, found.pinned, found.project) == ("claude-sonnet-5", True, "p1")

    def test_what_stands_on_an_empty_message_moves_up(self, tmp_path: Path) -> None:
        found = read_one(
            tmp_path,
            conversation(
                said("m1", "human", "Hi", parent_message_uuid=ROOT),
                said("m2", "assistant", " ", parent_message_uuid="m1"),
                said("m3", "human", "Still there?", parent_message_uuid="m2"),
            ),
        )
        check(found)
        assert [(m.origin, m.parent) for m in found.messages] == [("m1", None), ("m3", "m1")]
        assert found.tally.dropped == {claude_ai.EMPTY: 1}

    def test_somebody_else_is_dropped_and_counted(self, tmp_path: Path) -> None:
        found = read_one(
            tmp_path, conversation(said("m1", "human", "Hi"), said("m2", "critic", "Hm"))
        )
        assert found.tally.kept == 1
        assert found.tally.dropped == {claude_ai.STRANGER: 1}


class TestContent:
    def test_content_goes_before_text(self, tmp_path: Path) -> None:
        message = said("m2", "assistant", "Tea has tannin.")
        message["text"] = "This block is not supported on your current device yet."
        found = read_one(tmp_path, conversation(said("m1", "human", "Why?"), message))
        assert shape(branch(found))[1] == ("assistant", "Tea has tannin.")

    @pytest.mark.parametrize("content", [[], None, [{"type": "text", "text": " "}], "absent"])
    def test_text_counts_where_content_says_nothing(self, tmp_path: Path, content: Any) -> None:
        message = said("m1", "human", "Hi") | {"content": content}
        if content == "absent":
            del message["content"]
        found = read_one(tmp_path, conversation(message))
        assert shape(found.messages) == [("user", "Hi")]

    def test_thinking_is_for_reading(self, tmp_path: Path) -> None:
        content = [
            {"type": "thinking", "thinking": "Leaves…", "signature": "c2ln"},
            {"type": "thinking", "thinking": "", "summaries": [{"summary": "About leaves."}]},
            {"type": "text", "text": "Green."},
        ]
        found = read_one(
            tmp_path,
            conversation(
                said("m1", "human", "Which?"), said("m2", "assistant", "") | {"content": content}
            ),
        )
        check(found)
        assert found.messages[1].blocks == [
            {"type": "thinking", "thinking": "Leaves…"},
            {"type": "thinking", "thinking": "About leaves."},
            {"type": "text", "text": "Green."},
        ]

    def test_cited_pages_stand_under_their_text(self, tmp_path: Path) -> None:
        citations = [
            {"url": "https://tea.example/a", "title": "On [green] tea"},
            {"details": {"type": "web_search_citation", "url": "https://tea.example/b"}},
            {"url": "javascript:alert(1)", "title": "No"},
        ]
        content = [{"type": "text", "text": "It is old.", "citations": citations}]
        found = read_one(
            tmp_path,
            conversation(
                said("m1", "human", "?"), said("m2", "assistant", "") | {"content": content}
            ),
        )
        assert found.messages[1].blocks == [
            {
                "type": "text",
                "text": "It is old.\n\nSources:\n\n"
                "- [On \\[green\\] tea](<https://tea.example/a>)\n"
                "- [https://tea.example/b](<https://tea.example/b>)",
            }
        ]

    def test_voice_notes_are_text_and_budgets_are_hidden(self, tmp_path: Path) -> None:
        content = [
            {"type": "token_budget", "remaining": 5},
            {"type": "voice_note", "text": "Spoken."},
            {"type": "hologram", "depth": 3},
        ]
        found = read_one(tmp_path, conversation(said("m1", "human", "") | {"content": content}))
        texts = [block["text"] for block in found.messages[0].blocks]
        assert texts[0] == "Spoken."
        assert '"depth": 3' in texts[1]
        assert sum(found.tally.hidden.values()) == 1

    def test_a_summary_of_theirs_is_a_note(self, tmp_path: Path) -> None:
        message = said("m1", "human", "Go on", compaction_summary=[{"text": "They drank\ntea."}])
        found = read_one(tmp_path, conversation(message))
        assert found.messages[0].blocks[0]["text"].endswith(":\n\n> They drank\n> tea.")
        assert found.messages[0].blocks[1]["text"] == "Go on"

    def test_a_stopped_answer_is_interrupted(self, tmp_path: Path) -> None:
        answer = said("m2", "assistant", "Green t", stop_reason="user_canceled")
        found = read_one(tmp_path, conversation(said("m1", "human", "?"), answer))
        assert found.messages[1].status == "interrupted"


class TestTools:
    def answer(self, tmp_path: Path, *content: Entry) -> ImportedConversation:
        found = read_one(
            tmp_path,
            conversation(
                said("m1", "human", "?"),
                said("m2", "assistant", "") | {"content": list(content)},
                said("m3", "human", "Thanks"),
            ),
        )
        check(found)
        return found

    def test_a_call_its_result_and_what_follows_are_three_messages(self, tmp_path: Path) -> None:
        found = self.answer(
            tmp_path,
            {"type": "text", "text": "I look."},
            used("web_search", {"query": "tea"}),
            returned("web_search", "Leaves", is_error=True),
            {"type": "text", "text": "Leaves it is."},
        )
        assert shape(found.messages[1:]) == [
            ("assistant", 'I look.\n\n[web_search {"query": "tea"}]'),
            ("user", "Leaves"),
            ("assistant", "Leaves it is."),
            ("user", "Thanks"),
        ]
        call, result = found.messages[1].blocks[1], found.messages[2].blocks[0]
        assert result["tool_use_id"] == call["id"]
        assert result["is_error"] is True
        assert [m.stop_reason for m in found.messages[1:4]] == ["tool_use", "", "end_turn"]
        assert [m.parent for m in found.messages] == [None, "m1", "m2", "m2/2", "m2/3"]
        assert found.tally.kept == 3

    def test_results_without_ids_are_paired_by_name(self, tmp_path: Path) -> None:
        found = self.answer(
            tmp_path,
            used("repl", {"code": "never answered"}),
            {"type": "text", "text": "Again."},
            used("repl", {"code": "1"}),
            used("search", {"q": "2"}),
            used("repl", {"code": "3"}),
            returned("search", "of search"),
            returned("repl", "of the first"),
            returned("repl", "of the second"),
        )
        inputs = {
            block["id"]: block["input"]
            for message in found.messages
            for block in message.blocks
            if block["type"] == "tool_use"
        }
        results = {
            block["content"]: inputs[block["tool_use_id"]]
            for message in found.messages
            for block in message.blocks
            if block["type"] == "tool_result"
        }
        assert results == {
            "of search": {"q": "2"},
            "of the first": {"code": "1"},
            "of the second": {"code": "3"},
        }

    def test_ids_pair_where_there_are_any(self, tmp_path: Path) -> None:
        found = self.answer(
            tmp_path,
            used("repl", {"n": 1}, id="toolu_1"),
            used("repl", {"n": 2}, id="toolu_2"),
            returned("repl", "two", tool_use_id="toolu_2"),
            returned("repl", "one", tool_use_id="toolu_1"),
        )
        calls = [block["id"] for block in found.messages[1].blocks]
        assert [b["tool_use_id"] for b in found.messages[2].blocks] == calls[::-1]
        assert not set(calls) & {"toolu_1", "toolu_2"}

    def test_a_result_without_a_call_is_kept(self, tmp_path: Path) -> None:
        found = self.answer(tmp_path, returned("lost", "All the same"))
        assert shape(found.messages[1:3]) == [("assistant", "[lost {}]"), ("user", "All the same")]

    def test_results_that_are_pages_name_them(self, tmp_path: Path) -> None:
        page = {"type": "knowledge", "title": "Tea", "url": "https://tea.example", "text": "Old."}
        found = self.answer(
            tmp_path, used("web_search", {}), returned("web_search", "") | {"content": [page]}
        )
        assert found.messages[2].blocks[0]["content"] == "Tea\nhttps://tea.example\nOld."


class TestArtifacts:
    def files(self, found: ImportedConversation) -> dict[str, list[tuple[str, str]]]:
        return {
            message.origin: [(file.name, read_bytes(file).decode()) for file in message.files]
            for message in found.messages
            if message.files
        }

    def test_the_last_state_is_a_file_on_each_branch(self, tmp_path: Path) -> None:
        made = artifact("create", type="text/markdown", title="Menu", content="Tea\nMilk\n")
        edit = artifact("update", old_str="Milk", new_str="Lemon")
        again = artifact("rewrite", type="text/markdown", title="Menu", content="Coffee\n")
        found = read_one(
            tmp_path,
            conversation(
                said("m1", "human", "Menu?", parent_message_uuid=ROOT),
                said("m2", "assistant", "", parent_message_uuid="m1")
                | {
                    "content": [
                        made,
                        returned("artifacts", "OK"),
                        {"type": "text", "text": "Done."},
                    ]
                },
                said("m3", "human", "Lemon", parent_message_uuid="m2"),
                said("m4", "assistant", "", parent_message_uuid="m3")
                | {"content": [edit, returned("artifacts", "OK")]},
                said("m5", "human", "Coffee", parent_message_uuid="m2"),
                said("m6", "assistant", "", parent_message_uuid="m5") | {"content": [again]},
            ),
        )
        check(found)
        assert self.files(found) == {
            "m4": [("Menu.md", "Tea\nLemon\n")],
            "m6": [("Menu.md", "Coffee\n")],
        }

    def test_a_branch_that_changes_nothing_keeps_the_file_before(self, tmp_path: Path) -> None:
        made = artifact(
            "create", type="application/vnd.ant.code", language="python", title="a", content="1"
        )
        edit = artifact("update", old_str="1", new_str="2")
        found = read_one(
            tmp_path,
            conversation(
                said("m1", "assistant", "", parent_message_uuid=ROOT) | {"content": [made]},
                said("m2", "assistant", "", parent_message_uuid="m1") | {"content": [edit]},
                said("m3", "human", "Thanks", parent_message_uuid="m1"),
            ),
        )
        check(found)
        assert self.files(found) == {"m1": [("a.py", "1")], "m2": [("a.py", "2")]}

    def test_newer_calls_write_files(self, tmp_path: Path) -> None:
        content = [
            used("create_file", {"path": "/out/tea.txt", "file_text": "Tea\nTea\n"}),
            returned("create_file", "created"),
            used("str_replace", {"path": "/out/tea.txt", "old_str": "Tea\nTea", "new_str": "Milk"}),
            returned("str_replace", "replaced"),
            {"type": "text", "text": "There."},
        ]
        found = read_one(
            tmp_path,
            conversation(
                said("m1", "human", "?"), said("m2", "assistant", "") | {"content": content}
            ),
        )
        check(found)
        assert self.files(found) == {"m2/3": [("tea.txt", "Milk\n")]}

    def test_a_change_that_does_not_fit_is_counted(self, tmp_path: Path) -> None:
        made = artifact("create", title="a", content="1")
        edit = artifact("update", old_str="9", new_str="2")
        lost = used("artifacts", {"command": "update", "id": "b", "old_str": "x", "new_str": "y"})
        found = read_one(
            tmp_path,
            conversation(
                said("m1", "human", "?"),
                said("m2", "assistant", "") | {"content": [made, edit, lost]},
            ),
        )
        check(found)
        assert self.files(found) == {"m2": [("a", "1")]}
        assert found.tally.dropped[claude_ai.UNPLAYED] == 2


class TestFiles:
    def test_attachments_are_texts_and_files_are_missing(self, tmp_path: Path) -> None:
        message = said(
            "m1",
            "human",
            "Read",
            attachments=[
                {"file_name": "tea.csv", "extracted_content": "a,b"},
                {"file_name": "report.pdf", "extracted_content": "Leaves"},
                {"file_name": "", "extracted_content": "Pasted"},
                {"file_name": "empty.doc", "extracted_content": ""},
            ],
            files=[{"file_name": "cup.png", "file_uuid": "f1"}, {"file_name": "tea.csv"}],
        )
        found = read_one(tmp_path, conversation(message))
        assert [(f.name, read_bytes(f)) for f in found.messages[0].files] == [
            ("tea.csv", b"a,b"),
            ("report.pdf.txt", b"Leaves"),
            ("Pasted text.txt", b"Pasted"),
        ]
        assert found.tally.missing == ["empty.doc", "cup.png"]

    def test_a_message_that_was_only_a_lost_picture_names_it(self, tmp_path: Path) -> None:
        message = said("m1", "human", "", files=[{"file_name": "cup.png"}])
        found = read_one(tmp_path, conversation(message))
        assert "cup.png" in found.messages[0].blocks[0]["text"]

    def test_pictures_with_bytes_are_files(self, tmp_path: Path) -> None:
        source = {"type": "base64", "media_type": "image/png", "data": b64encode(b"PNG").decode()}
        content = [{"type": "image", "source": source}, {"type": "image", "file_uuid": "f2"}]
        found = read_one(tmp_path, conversation(said("m1", "human", "") | {"content": content}))
        assert [read_bytes(file) for file in found.messages[0].files] == [b"PNG"]
        assert found.tally.missing == ["f2"]


class TestTheArchive:
    def test_several_zips_are_one_import(self, tmp_path: Path) -> None:
        project = {
            "uuid": "p1",
            "name": "House",
            "prompt_template": "Be brief.",
            "docs": [{"filename": "plan.md", "content": "# Plan"}],
            "created_at": "2026-02-01T10:00:00Z",
        }
        sample = {"uuid": "p2", "name": "How to", "prompt_template": "", "is_starter_project": True}
        memory = {
            "account_uuid": "u1",
            "conversations_memory": "# Work\n\nPlants tea.\n\n- Likes green\n* Has a cat",
            "project_memories": {"p1": "The roof leaks. " + "It rains. " * 60},
        }
        design = {"uuid": "d1", "name": "Poster", "project": {"uuid": "p9"}, "messages": []}
        found = read_files(
            tmp_path,
            {
                "conversations-000.zip": {
                    "conversations.json": [conversation(said("m1", "human", "Hi"))]
                },
                "conversations-001.zip": {
                    "conversations.json": [conversation(said("m2", "human", "Ho"), uuid="c2")]
                },
                "projects-000.zip": {"projects/p1.json": project, "projects/p2.json": sample},
                "rest.zip": {
                    "memories.json": [memory],
                    "users.json": [{"uuid": "u1", "full_name": "Ada"}],
                    "design_chats/d1.json": design,
                },
            },
        )
        kept = [each for each in found if isinstance(each, ImportedConversation)]
        assert [each.origin for each in kept] == ["c1", "c2"]
        (house,) = [each for each in found if isinstance(each, ImportedProject)]
        assert (house.origin, house.name, house.instructions) == ("p1", "House", "Be brief.")
        assert [(f.name, read_bytes(f)) for f in house.files] == [("plan.md", b"# Plan")]
        offers = [each for each in found if isinstance(each, Offered)]
        assert [each.text for each in offers if not each.project] == [
            "Plants tea.",
            "Likes green",
            "Has a cat",
        ]
        assert {each.project for each in offers} == {None, "p1"}
        assert all(each.kind == "memory" and len(each.text) <= 500 for each in offers)
        skipped = [each for each in found if isinstance(each, Skipped)]
        assert {each.reason for each in skipped} == {claude_ai.DRAWN, claude_ai.SAMPLE}
        assert not any(each.candidate for each in skipped)

    def test_one_file_may_hold_all_kinds(self, tmp_path: Path) -> None:
        project = {"uuid": "p1", "name": "House", "prompt_template": "Be brief."}
        found = read_files(
            tmp_path, {"all.json": [conversation(said("m1", "human", "Hi")), project, 7]}
        )
        kinds = [type(each) for each in found]
        assert kinds == [ImportedProject, ImportedConversation, Skipped]

    def test_a_manifest_of_links_says_to_download_the_zips(self, tmp_path: Path) -> None:
        manifest = {"files": [{"name": "conversations-000.zip", "url": "https://x.example/1"}]}
        with pytest.raises(UnknownFormat, match="links"):
            read_files(tmp_path, {"manifest-1-2026.json": manifest})

    def test_what_is_broken_or_empty_is_skipped_with_its_reason(self, tmp_path: Path) -> None:
        found = read_files(
            tmp_path,
            {
                "conversations.json": [
                    {"uuid": "c0", "name": "Broken", "chat_messages": None},
                    {"uuid": "c1", "name": "Torn"},
                    conversation(name="Nothing yet"),
                    7,
                    conversation(said("m1", "human", "Hi")),
                ]
            },
        )
        reasons = [each.reason for each in found if isinstance(each, Skipped)]
        assert reasons[:3] == [claude_ai.BROKEN, claude_ai.BROKEN, claude_ai.NO_MESSAGES]
        assert len(reasons) == 4
        assert isinstance(found[-1], ImportedConversation)

    def test_times_and_the_account_come_along(self, tmp_path: Path) -> None:
        found = read_one(
            tmp_path,
            conversation(
                said("m1", "human", "Hi"),
                said("m2", "assistant", "Hello", created_at="2026-02-01T10:01:00.5Z"),
                created_at="2026-02-01T10:00:00Z",
                updated_at="2026-02-02T10:00:00Z",
                account={"uuid": "u1"},
            ),
        )
        assert found.account == "u1"
        assert [m.at and m.at.isoformat() for m in found.messages] == [
            "2026-02-01T10:00:00+00:00",
            "2026-02-01T10:01:00.500000+00:00",
        ]
