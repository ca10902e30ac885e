"""Open WebUI's export. Cases like these and others will be tried on what lands."""

import html
import json
from pathlib import Path
from typing import Any

import pytest

from chat.importers import open_webui
from chat.importers.errors import Unimportable
from chat.importers.open_webui_details import split_details
from chat.importers.records import ImportedConversation, ImportedProject, Skipped
from tests.chat.importers.rival_exports import (
    branch,
    check,
    read_bytes,
    read_files,
    read_one,
    shape,
)

Entry = dict[str, Any]
PIXEL = "data:image/png;base64,UE5H"


def tree(*messages: Entry, current: str = "", **more: Any) -> Entry:
    history = {"currentId": current, "messages": {each["id"]: each for each in messages}}
    return {"id": "c1", "user_id": "u1", "title": "Tea", "chat": {"history": history}} | more


def asked(identity: str, content: Any, parent: str | None = None, **more: Any) -> Entry:
    return {"id": identity, "parentId": parent, "role": "user", "content": content} | more


def answered(identity: str, content: Any, parent: str | None = "q", **more: Any) -> Entry:
    return {"id": identity, "parentId": parent, "role": "assistant", "content": content} | more


def read_answer(folder: Path, content: Any, **more: Any) -> ImportedConversation:
    found = read_one(folder, tree(asked("q", "Why?"), answered("a", content, **more)))
    check(found)
    return found


class TestTheTree:
    def test_two_models_are_two_branches(self, tmp_path: Path) -> None:
        found = read_one(
            tmp_path,
            tree(
                asked("q", "Why?", timestamp=1_780_000_000),
                answered("a", "One", model="llama", modelIdx=0, timestamp=1_780_000_005),
                answered("b", "Two", model="qwen", modelIdx=1, timestamp=1_780_000_009),
                current="a",
            ),
        )
        check(found)
        assert [(m.origin, m.parent, m.model) for m in found.messages] == [
            ("q", None, ""),
            ("a", "q", "llama"),
            ("b", "q", "qwen"),
        ]
        assert found.leaf == "a"
        assert found.messages[0].at is not None
        assert found.messages[0].at.year == 2026

    @pytest.mark.parametrize("names", [{"currentId": "a"}, {"current_id": "a"}])
    def test_the_leaf_goes_by_several_names(self, tmp_path: Path, names: Entry) -> None:
        chat = tree(asked("q", "Why?"), answered("a", "One"), answered("b", "Two"))
        chat["chat"]["history"] = {"messages": chat["chat"]["history"]["messages"]} | names
        assert read_one(tmp_path, chat).leaf == "a"

    def test_the_newest_name_of_the_leaf_goes_first(self, tmp_path: Path) -> None:
        messages = asked("q", "Why?"), answered("a", "One"), answered("b", "Two")
        chat = tree(*messages, current="b", current_message_id="a")
        assert read_one(tmp_path, chat).leaf == "a"

    def test_without_a_name_the_shown_list_says_the_leaf(self, tmp_path: Path) -> None:
        chat = tree(asked("q", "Why?"), answered("a", "One"), answered("b", "Two"), current="gone")
        chat["chat"]["messages"] = [{"id": "q"}, {"id": "a"}]
        assert read_one(tmp_path, chat).leaf == "a"

    def test_an_old_chat_is_a_list(self, tmp_path: Path) -> None:
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Why?"},
            {"role": "assistant", "content": "So."},
        ]
        found = read_one(tmp_path, {"chat": {"title": "Old", "messages": messages}})
        check(found)
        assert shape(branch(found)) == [("user", "Why?"), ("assistant", "So.")]
        assert (found.title, found.system_prompt) == ("Old", "Be brief.")
        assert found.tally.hidden == {open_webui.SYSTEM: 1}

    def test_marks_folders_and_the_account_come_along(self, tmp_path: Path) -> None:
        chats = [
            tree(asked("q", "Why?"), id=f"c{n}", folder_id=folder, archived=n == 0, pinned=n == 1)
            for n, folder in enumerate(["f1", "f2", "f1", None])
        ]
        found = read_files(tmp_path, {"chats.json": chats})
        projects = [(p.origin, p.name) for p in found if isinstance(p, ImportedProject)]
        assert projects == [("f1", "Folder 1"), ("f2", "Folder 2")]
        kept = [each for each in found if isinstance(each, ImportedConversation)]
        assert [each.project for each in kept] == ["f1", "f2", "f1", None]
        assert [(each.archived, each.pinned) for each in kept[:2]] == [(True, False), (False, True)]
        assert {each.account for each in kept} == {"u1"}

    def test_the_chats_of_several_people_are_refused(self, tmp_path: Path) -> None:
        chats = [tree(asked("q", "Why?"), id=user, user_id=user) for user in ("u1", "u2")]
        with pytest.raises(Unimportable, match="2 people"):
            read_files(tmp_path, {"all.json": chats})

    def test_what_is_broken_or_empty_is_skipped_with_its_reason(self, tmp_path: Path) -> None:
        chats = [
            tree(asked("q", "Why?")),
            tree(),
            tree() | {"chat": {"title": "No messages at all"}},
            "text",
        ]
        found = read_files(tmp_path, {"chats.json": chats})
        reasons = [each.reason for each in found if isinstance(each, Skipped)]
        assert reasons[:2] == [open_webui.NO_MESSAGES, open_webui.BROKEN]
        assert len(reasons) == 3


class TestOutput:
    def test_output_goes_before_content(self, tmp_path: Path) -> None:
        output = [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
            {
                "type": "function_call",
                "call_id": "f1",
                "name": "search",
                "arguments": '{"q": "tea"}',
            },
            {
                "type": "function_call_output",
                "call_id": "f1",
                "output": [{"type": "input_text", "text": "Leaves"}],
            },
            {"type": "message", "content": [{"type": "output_text", "text": "Leaves."}]},
        ]
        found = read_answer(tmp_path, "not this", output=output)
        assert found.messages[1].blocks[0] == {"type": "thinking", "thinking": "Hm."}
        assert shape(found.messages[1:]) == [
            ("assistant", 'I look.\n\n[search {"q": "tea"}]'),
            ("user", "Leaves"),
            ("assistant", "Leaves."),
        ]

    def test_content_counts_where_output_says_nothing(self, tmp_path: Path) -> None:
        found = read_answer(tmp_path, "This.", output=[{"type": "message", "content": []}])
        assert shape(found.messages)[1] == ("assistant", "This.")

    def test_unknown_items_are_kept_as_json(self, tmp_path: Path) -> None:
        found = read_answer(tmp_path, "", output=[{"type": "dream", "depth": 3}])
        assert '"depth": 3' in found.messages[1].blocks[0]["text"]


class TestDetails:
    def test_thoughts_are_taken_out(self, tmp_path: Path) -> None:
        content = (
            '<details type="reasoning" done="true" duration="3">\n'
            "<summary>Thought for 3 seconds</summary>\n"
            "&gt; Is 1 &lt; 2?\n&gt; &amp;lt; is an entity.\n"
            "</details>\nYes."
        )
        found = read_answer(tmp_path, content)
        assert found.messages[1].blocks == [
            {"type": "thinking", "thinking": "Is 1 < 2?\n&lt; is an entity."},
            {"type": "text", "text": "Yes."},
        ]

    def test_calls_are_attributes_that_are_escaped_once(self, tmp_path: Path) -> None:
        given, result = {"q": 'say "tea" & <b>'}, "<li>&amp; more</li>"
        tag = "".join(
            f' {name}="{html.escape(value)}"'
            for name, value in {
                "type": "tool_calls",
                "done": "true",
                "id": "call/1",
                "name": "search",
                "arguments": json.dumps(json.dumps(given)),
                "result": json.dumps(result),
            }.items()
        )
        content = f"First.\n<details{tag}>\n<summary>Tool Executed</summary>\n</details>\nThen."
        found = read_answer(tmp_path, content)
        assert found.messages[1].blocks[1]["input"] == given
        assert shape(found.messages[2:]) == [("user", result), ("assistant", "Then.")]

    def test_a_code_interpreter_is_a_call(self, tmp_path: Path) -> None:
        content = (
            '<details type="code_interpreter" done="true" '
            'output="{&quot;stdout&quot;: &quot;2&quot;}">\n'
            "<summary>Analyzed</summary>\n```python\nprint(1 &lt; 2)\n```\n</details>"
        )
        found = read_answer(tmp_path, content)
        assert found.messages[1].blocks[0]["input"] == {"code": "print(1 &lt; 2)"}
        assert found.messages[2].blocks[0]["content"] == '{"stdout": "2"}'

    @pytest.mark.parametrize(
        "text",
        [
            "<details><summary>Of my own</summary>Text</details>",
            'A tag in a sentence: <details type="reasoning">',
            "Is a < b? <script> and <!-- are text too",
            '<details type="recipe">\nTea\n</details>',
        ],
    )
    def test_other_html_stays_in_the_text(self, tmp_path: Path, text: str) -> None:
        assert shape(read_answer(tmp_path, text).messages)[1] == ("assistant", text)

    def test_what_is_not_closed_ends_with_the_text(self) -> None:
        pieces = list(split_details('Hi\n<details type="reasoning">\n<details>x</details>\n> on'))
        assert [(p.kind, p.text.strip()) for p in pieces] == [
            ("text", "Hi"),
            ("reasoning", "<details>x</details>\n> on"),
            ("text", ""),
        ]


class TestEnds:
    @pytest.mark.parametrize(
        ("error", "words"),
        [({"content": "No model"}, "No model"), ("Gone", "Gone"), (True, "The answer failed.")],
    )
    def test_an_error_is_a_failed_answer(self, tmp_path: Path, error: Any, words: str) -> None:
        found = read_answer(tmp_path, "Half", error=error)
        assert (found.messages[1].status, found.messages[1].error) == ("failed", words)

    def test_an_answer_that_is_not_done_was_interrupted(self, tmp_path: Path) -> None:
        assert read_answer(tmp_path, "Half", done=False).messages[1].status == "interrupted"

    def test_an_error_without_a_word_is_kept(self, tmp_path: Path) -> None:
        found = read_answer(tmp_path, "", error={"content": "No model"})
        assert found.messages[-1].error == "No model"


class TestFiles:
    def test_pictures_in_an_address_are_files_and_references_are_missing(
        self, tmp_path: Path
    ) -> None:
        files = [
            {"type": "image", "url": PIXEL},
            {"type": "image", "url": "/api/v1/files/77", "name": "cup.png"},
            {"type": "file", "name": "a.pdf", "file": {"data": {"content": "Leaves"}}},
        ]
        parts = [
            {"type": "text", "text": "See"},
            {"type": "image_url", "image_url": {"url": PIXEL}},
        ]
        found = read_one(tmp_path, tree(asked("q", parts, files=files)))
        check(found)
        message = found.messages[0]
        assert [read_bytes(file) for file in message.files] == [b"PNG", b"PNG", b"Leaves"]
        assert message.files[2].name == "a.pdf.txt"
        assert found.tally.missing == ["cup.png"]

    def test_what_a_model_drew_is_a_file(self, tmp_path: Path) -> None:
        found = read_answer(tmp_path, "A cup.", files=[{"type": "image", "url": PIXEL}])
        assert [read_bytes(f) for m in found.messages for f in m.files] == [b"PNG"]

    def test_pages_are_sources(self, tmp_path: Path) -> None:
        sources = [
            {
                "source": {"name": "web_search"},
                "metadata": [{"source": "https://tea.example/a", "title": "Tea"}],
            }
        ]
        found = read_answer(tmp_path, "Old.", sources=sources)
        assert shape(found.messages)[1][1].endswith("- [Tea](<https://tea.example/a>)")
