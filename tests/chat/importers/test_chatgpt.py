"""Exports of ChatGPT, with what is odd in those of 2023 to 2026."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context.api_messages import build_api_messages
from agent.messages import AgentMessage, RawTokens, plain_text
from agent.model.message_rules import Rules, find_message_violations
from chat.importers.records import (
    Imported,
    ImportedConversation,
    ImportedMessage,
    ImportedProject,
    Offered,
    Skipped,
)
from tests.chat.importers.exports import (
    Json,
    call,
    chain,
    only_conversation,
    read_files,
    result,
    say,
    talk,
    write_json,
)

Read = Callable[..., list[Imported]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """What comes of a file of some conversations."""

    def read_talks(*talks: Any) -> list[Imported]:
        return read_files(write_json(tmp_path / "conversations.json", list(talks)))

    return read_talks


@pytest.fixture
def read_one(read: Read) -> Callable[..., ImportedConversation]:
    """The one conversation of a mapping."""

    def read_mapping(mapping: Json, **fields: Any) -> ImportedConversation:
        found = only_conversation(read(talk(mapping, **fields)))
        tally = found.tally
        assert tally.kept + tally.hidden.total() + tally.dropped.total() >= len(mapping)
        return found

    return read_mapping


ReadOne = Callable[..., ImportedConversation]


def texts(conversation: ImportedConversation) -> list[tuple[str, str]]:
    return [(message.role, plain_text(message.blocks)) for message in conversation.messages]


def ask_again(messages: list[ImportedMessage]) -> list[dict[str, Any]]:
    """The messages of a request that goes on with them."""
    question = [{"type": "text", "text": "And?"}]
    said = [("user", question), *((m.role, m.blocks) for m in messages), ("user", question)]
    history = [
        AgentMessage(number, role, blocks, RawTokens(1))
        for number, (role, blocks) in enumerate(said, 1)
    ]
    sent = build_api_messages(history, set(), own_from=len(history), all_turns=True)
    assert find_message_violations(sent, Rules(frozenset())) == []
    return sent


# --- A conversation -------------------------------------------------------------------------------


def test_a_conversation_brings_its_title_times_model_and_marks(read_one: ReadOne) -> None:
    found = read_one(
        chain(None, say("user", "Hi", create_time=1_750_000_001), say("assistant", "Hello")),
        conversation_id="the-id",
        update_time=1_750_000_500,
        default_model_slug="gpt-5",
        is_archived=True,
        is_starred=True,
        current_node="n2",
    )
    assert (found.origin, found.title, found.model) == ("the-id", "A talk", "gpt-5")
    assert (found.archived, found.pinned, found.project) == (True, True, None)
    assert found.created_at == datetime.fromtimestamp(1_750_000_000.5, UTC)
    assert found.updated_at == datetime.fromtimestamp(1_750_000_500, UTC)
    prompt, answer = found.messages
    assert (prompt.origin, prompt.parent, prompt.role) == ("n1", None, "user")
    assert (answer.origin, answer.parent, answer.role, answer.model) == (
        "n2",
        "n1",
        "assistant",
        "gpt-5",
    )
    assert answer.at == prompt.at == datetime.fromtimestamp(1_750_000_001, UTC)
    assert found.leaf == "n2"
    assert found.tally.hidden.total() == 1


def test_each_answer_has_the_model_that_gave_it(read_one: ReadOne) -> None:
    found = read_one(
        chain(
            say("user", "a"),
            say("assistant", "b", metadata={"model_slug": "gpt-4o"}),
            say("user", "c"),
            say("assistant", "d"),
        ),
        default_model_slug="gpt-5",
    )
    assert [message.model for message in found.messages] == ["", "gpt-4o", "", "gpt-5"]


def test_branches_are_kept_and_the_named_one_is_shown(read_one: ReadOne) -> None:
    mapping = chain(say("user", "a"), say("assistant", "first", create_time=1_750_000_100))
    mapping["other"] = {"parent": "n0", "message": say("assistant", "second", create_time=1.75e9)}
    found = read_one(mapping, current_node="other")
    assert {(m.origin, m.parent) for m in found.messages} == {
        ("n0", None),
        ("n1", "n0"),
        ("other", "n0"),
    }
    assert found.leaf == "other"
    assert read_one(mapping).leaf == "n1"  # the newest
    assert read_one(mapping, current_node="gone").leaf == "n1"


@pytest.mark.parametrize("last", [None, say("assistant", ""), say("system", "s")])
def test_the_branch_is_shown_whose_hidden_end_is_named(read_one: ReadOne, last: Any) -> None:
    mapping = chain(say("user", "a"), say("assistant", "shown", create_time=1.75e9), last)
    mapping["newer"] = {"parent": "n0", "message": say("assistant", "b", create_time=1.76e9)}
    assert read_one(mapping, current_node="n2").leaf == "n1"


def test_lists_of_children_do_not_matter(read_one: ReadOne) -> None:
    mapping = chain(None, say("user", "a"), say("assistant", "b"))
    without = texts(read_one(mapping))
    for node in mapping.values():
        node["children"] = ["n0", "nowhere", 7]
    assert texts(read_one(mapping)) == without == [("user", "a"), ("assistant", "b")]


def test_hidden_messages_between_others_do_not_tear_them_apart(read_one: ReadOne) -> None:
    found = read_one(
        chain(
            say("user", "a"),
            say("system", "You are helpful"),
            say("assistant", "not shown", weight=0),
            say("user", "neither", metadata={"is_visually_hidden_from_conversation": True}),
            None,
            say("assistant", "b"),
        )
    )
    assert texts(found) == [("user", "a"), ("assistant", "b")]
    assert found.messages[1].parent == "n0"
    assert (found.tally.kept, found.tally.hidden.total()) == (2, 4)


def test_a_chain_of_thousands_of_hidden_nodes_is_read(read_one: ReadOne) -> None:
    found = read_one(chain(say("user", "a"), *[None] * 4_000, say("assistant", "b")))
    assert texts(found) == [("user", "a"), ("assistant", "b")]


def test_ids_of_nodes_may_repeat_in_another_conversation(read: Read) -> None:
    same = chain(say("user", "a"), say("assistant", "b"))
    found = read(*({"title": title, "mapping": same} for title in ("One", "Two")))
    one, two = (each for each in found if isinstance(each, ImportedConversation))
    assert len(one.messages) == len(two.messages) == 2
    assert one.origin != two.origin


def test_a_conversation_without_an_id_has_the_same_one_the_next_time(read: Read) -> None:
    def origin(mapping: Json) -> str:
        return only_conversation(read({"title": "T", "create_time": 5, "mapping": mapping})).origin

    first = origin(chain(say("user", "a")))
    assert origin(chain(say("user", "a"), say("assistant", "b"))) == first
    assert origin(chain(say("user", "other"))) != first


@pytest.mark.parametrize(
    "broken",
    [
        {"title": "No mapping", "id": "x"},
        {"title": "Empty", "mapping": {}},
        {"title": "A list", "mapping": []},
        {"title": "Nothing", "mapping": {"r": {"parent": None, "message": None}}},
        {"title": "Not said", "mapping": chain(say("user", ""), say("assistant", "", None))},
        {"title": "Odd", "mapping": {"r": 5, "s": {"message": "no"}, "t": {"message": {"a": 1}}}},
        {"mapping": chain({"author": "user", "content": "text", "metadata": []})},
        "a string",
        None,
    ],
)
def test_one_broken_conversation_costs_no_other(read: Read, broken: Any) -> None:
    good = [talk(chain(say("user", "a")), id=name) for name in ("one", "two")]
    found = read(good[0], broken, good[1])
    assert [each.origin for each in found if isinstance(each, ImportedConversation)] == [
        "one",
        "two",
    ]
    (skipped,) = [each for each in found if isinstance(each, Skipped)]
    assert skipped.name
    assert skipped.reason
    assert skipped.candidate


@pytest.mark.parametrize("field", ["author", "content", "metadata", "create_time", "parent"])
@pytest.mark.parametrize("value", [None, 7, "words", [], {}, [None, {}], {"parts": 5}])
def test_whatever_stands_in_place_of_a_field_breaks_nothing(
    read: Read, field: str, value: Any
) -> None:
    mapping = chain(say("user", "a"), say("assistant", "b"), say("user", "c"))
    target = mapping["n1"] if field == "parent" else mapping["n1"]["message"]
    target[field] = value
    found = only_conversation(read(talk(mapping)))
    assert ("user", "a") in texts(found)
    assert ("user", "c") in texts(found)


WORDS = ["all", "assistant", "code", "python", "text", "tool", "user", "thoughts", "x"]
KINDS = [
    "code",
    "execution_output",
    "multimodal_text",
    "reasoning_recap",
    "system_error",
    "text",
    "thoughts",
    "tether_quote",
    "user_editable_context",
]
KEYS = [
    "aggregate_result",
    "asset_pointer",
    "attachments",
    "author",
    "canvas",
    "citations",
    "content",
    "content_references",
    "content_type",
    "finish_details",
    "id",
    "items",
    "messages",
    "metadata",
    "name",
    "parts",
    "recipient",
    "role",
    "state",
    "status",
    "text",
    "textdoc_id",
    "thoughts",
    "url",
    "weight",
]
values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(WORDS + KINDS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)
messages = st.fixed_dictionaries(
    {
        "author": st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"])}),
        "content": st.dictionaries(st.sampled_from(KEYS), values, max_size=4).flatmap(
            lambda content: st.sampled_from(KINDS).map(
                lambda kind: content | {"content_type": kind}
            )
        ),
    },
    optional={"metadata": values, "recipient": values, "status": values, "weight": values},
)


@given(st.lists(messages | values, min_size=1, max_size=6))
def test_whatever_stands_in_messages_is_read_and_each_is_counted(said: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        path = write_json(
            Path(folder) / "c.json", [talk(chain(*said)), talk(chain(say("user", "a")))]
        )
        found = [each for each in read_files(path) if isinstance(each, ImportedConversation)]
    *of_said, last = found  # it may be none: then it was skipped
    assert len(last.messages) == 1
    for conversation in of_said:
        tally = conversation.tally
        assert tally.kept + tally.hidden.total() + tally.dropped.total() >= len(said)
        ask_again(conversation.messages)


# --- Content --------------------------------------------------------------------------------------


def test_texts_in_several_parts_and_empty_ones_are_one_text(read_one: ReadOne) -> None:
    found = read_one(chain(say("user", "a", "", "b"), say("assistant", "", "c")))
    assert texts(found) == [("user", "a\n\nb"), ("assistant", "c")]


def test_what_was_said_aloud_is_text(read_one: ReadOne) -> None:
    spoken = {"content_type": "audio_transcription", "text": "Good morning", "direction": "in"}
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_1"}
    live = {
        "content_type": "real_time_user_audio_video_asset_pointer",
        "audio_asset_pointer": {"asset_pointer": "sediment://file_2"},
        "frames_asset_pointers": [{"asset_pointer": "sediment://file_3"}] * 3,
    }
    found = read_one(chain(say("user", spoken, sound, live, kind="multimodal_text")))
    assert texts(found) == [("user", "Good morning")]
    assert found.tally.missing == ["file_1", "file_2"]
    assert found.tally.dropped.total() == 3


def test_a_call_and_its_result_stand_before_the_answer(read_one: ReadOne) -> None:
    found = read_one(
        chain(
            say("user", "6*7?"),
            say("assistant", "I compute.", channel="commentary"),
            call("python", "print(6*7)"),
            result("python", "42"),
            say("assistant", "It is 42.", channel="final"),
        )
    )
    assert [(m.role, [b["type"] for b in m.blocks]) for m in found.messages] == [
        ("user", ["text"]),
        ("assistant", ["text", "tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
    ]
    use = found.messages[1].blocks[1]
    assert (use["name"], use["input"]) == ("python", {"code": "print(6*7)"})
    assert found.messages[2].blocks[0]["content"] == "42"
    assert found.messages[2].blocks[0]["tool_use_id"] == use["id"]
    sent = ask_again(found.messages)
    assert "print(6*7)" in str(sent)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (call("browser", 'search("ducks")'), {"code": 'search("ducks")'}),
        (say("assistant", '{"prompt": "a duck"}', recipient="dalle.text2im"), {"prompt": "a duck"}),
        (say("assistant", '["a", 1]', recipient="x"), {"input": ["a", 1]}),
        (say("assistant", "[" * 5_000, recipient="x"), {"input": "[" * 5_000}),
        (say("assistant", "[" * 900 + "]" * 900, recipient="x"), {"input": "[" * 900 + "]" * 900}),
        (say("assistant", '{"a": NaN}', recipient="x"), {"input": '{"a": NaN}'}),
        (say("assistant", '{"a": 1e999}', recipient="x"), {"input": '{"a": 1e999}'}),
        (say("assistant", '{"a": "\\ud800"}', recipient="x"), {"input": '{"a": "\\ud800"}'}),
        (say("assistant", '{"a": "\\u0000"}', recipient="x"), {"a": "\ufffd"}),
        (say("assistant", "", recipient="bio"), {"input": ""}),
    ],
)
def test_what_is_not_said_to_all_is_a_call(read_one: ReadOne, message: Json, expected: Any) -> None:
    found = read_one(chain(say("user", "a"), message))
    (use,) = found.messages[1].blocks
    assert (use["type"], use["name"]) == ("tool_use", message["recipient"])
    assert use["input"] == expected
    ask_again(found.messages)


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        ("execution_output", {"text": "out"}, "out"),
        ("execution_output", {"parts": ["out"]}, "out"),
        ("execution_output", {"text": ""}, ""),
        ("citable_code_output", {"output_str": "out"}, "out"),
        ("system_error", {"name": "Timeout", "text": "Too slow"}, "Timeout\nToo slow"),
        ("tether_quote", {"title": "Ducks", "url": "u", "text": "Swim"}, "Ducks\nu\nSwim"),
        ("tether_browsing_display", {"result": "L1: ducks", "summary": ""}, "L1: ducks"),
        ("sonic_webpage", {"title": "T", "url": "u", "snippet": "s"}, "T\nu\ns"),
        ("computer_output", {"state": {"title": "Shop", "url": "u"}}, "Shop\nu"),
        ("text", {"parts": ["done"]}, "done"),
    ],
)
def test_results_are_read_from_where_their_type_has_them(
    read_one: ReadOne, kind: str, content: Json, expected: str
) -> None:
    found = read_one(
        chain(
            say("user", "a"),
            call("some_tool", "x"),
            say("tool", kind=kind, content=content, name="some_tool"),
        )
    )
    (block,) = found.messages[2].blocks
    assert block["content"] == expected
    assert block.get("is_error", False) is (kind == "system_error")
    assert found.tally.unknown.total() == 0


def test_thoughts_are_for_reading_and_are_never_sent(read_one: ReadOne) -> None:
    thought = {"thoughts": [{"summary": "Ducks", "content": "They swim."}, "odd", {"content": ""}]}
    found = read_one(
        chain(
            say("user", "a"),
            say("assistant", kind="thoughts", content=thought),
            say("assistant", kind="reasoning_recap", content={"content": "Thought for 44 s"}),
            say("assistant", "b"),
        )
    )
    thinking, text = found.messages[1].blocks
    assert thinking == {
        "type": "thinking",
        "thinking": "**Ducks**\n\nThey swim.\n\nThought for 44 s",
    }
    assert text["text"] == "b"
    assert "swim" not in str(ask_again(found.messages))
    assert found.tally.hidden.total() == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "in_progress"},
        {"status": "finished_partial_completion"},
        {"metadata": {"finish_details": {"type": "interrupted"}}},
    ],
)
def test_an_answer_that_was_stopped_is_interrupted(read_one: ReadOne, fields: Json) -> None:
    found = read_one(chain(say("user", "a"), say("assistant", "b", **fields)))
    assert (found.messages[1].status, found.messages[1].stop_reason) == ("interrupted", "stopped")


def test_what_nobody_knows_is_kept_as_it_stands(read_one: ReadOne) -> None:
    odd = say("assistant", kind="hologram", content={"shape": "```duck```"})
    found = read_one(chain(say("user", "a", {"content_type": "smell", "of": "rain"}), odd))
    assert '"of": "rain"' in texts(found)[0][1]
    assert "````json\n" in texts(found)[1][1]
    assert found.tally.unknown == {"smell": 1, "hologram": 1}


def test_code_that_is_said_to_all_is_a_code_block(read_one: ReadOne) -> None:
    code = say("assistant", kind="code", content={"text": "x = 1", "language": "python"})
    assert texts(read_one(chain(say("user", "a"), code)))[1][1] == "```python\nx = 1\n```"


# --- Sources --------------------------------------------------------------------------------------


def test_marks_of_citations_leave_the_text_and_pages_become_links(read_one: ReadOne) -> None:
    cited = "Ducks swim \ue200cite\ue202turn0search1\ue202turn0news2\ue201.\ue204 Ok"
    references = [
        {
            "type": "grouped_webpages",
            "items": [
                {
                    "title": "All [about] ducks",
                    "url": "https://ducks.example/a?b=(c)",
                    "supporting_websites": [{"title": "", "url": "https://pond.example"}],
                }
            ],
        },
        {"type": "hidden", "url": "javascript:alert(1)", "title": "no"},
        "odd",
    ]
    found = read_one(
        chain(
            say("user", "a"), say("assistant", cited, metadata={"content_references": references})
        )
    )
    assert texts(found)[1][1] == (
        "Ducks swim . Ok\n\nSources:\n\n"
        "- [All \\[about\\] ducks](<https://ducks.example/a?b=(c)>)\n"
        "- [https://pond.example](<https://pond.example>)"
    )


def test_words_in_marks_stay(read_one: ReadOne) -> None:
    entity = '\ue200entity\ue202["company","Acme Inc.","maker"]\ue201'
    said = f"By {entity} and \ue200url\ue202b\ue202c\ue201"
    found = read_one(chain(say("user", "a"), say("assistant", said)))
    assert texts(found)[1][1] == "By Acme Inc. and b"


def test_citations_of_2023_become_links(read_one: ReadOne) -> None:
    said = "Ducks swim【11†source】. He wrote 【so】."
    page = {"type": "webpage", "title": "Ducks", "url": "https://ducks.example"}
    metadata = {"citations": [{"start_ix": 10, "end_ix": 21, "metadata": page}, {"metadata": None}]}
    found = read_one(chain(say("user", "a"), say("assistant", said, metadata=metadata)))
    assert texts(found)[1][1] == (
        "Ducks swim. He wrote 【so】.\n\nSources:\n\n- [Ducks](<https://ducks.example>)"
    )
    untouched = read_one(chain(say("user", "【11†source】"), say("assistant", "【so】")))
    assert texts(untouched) == [("user", "【11†source】"), ("assistant", "【so】")]


# --- What is beside the messages ------------------------------------------------------------------


def test_projects_come_once_each_before_their_conversations(read: Read) -> None:
    def of(name: str, **fields: Any) -> Json:
        return talk(chain(say("user", "a")), id=name, **fields)

    found = read(
        of("1", conversation_template_id="g-p-1"),
        of("2", gizmo_id="g-p-1"),
        of("3", gizmo_id="g-custom"),
        of("4", gizmo_id="g-p-2", conversation_template_id=None),
    )
    shown = [
        each.origin if isinstance(each, ImportedProject) else each.project
        for each in found
        if isinstance(each, ImportedProject | ImportedConversation)
    ]
    assert shown == ["g-p-1", "g-p-1", "g-p-1", None, "g-p-2", "g-p-2"]


def test_instructions_and_memory_are_offered_once_as_they_were_last(read: Read) -> None:
    def settings(words: str) -> Json:
        return say(
            "user",
            kind="user_editable_context",
            content={"user_profile": f"I am {words}", "user_instructions": "Be brief"},
            weight=0,
        )

    def memory(words: str) -> Json:
        return say("system", kind="model_editable_context", content={"model_set_context": words})

    found = read(
        talk(chain(settings("new"), memory("likes ducks"), say("user", "a")), update_time=2e9),
        talk(chain(settings("old"), memory(""), say("user", "a")), update_time=1e9, id="2"),
    )
    assert [each for each in found if isinstance(each, Offered)] == [
        Offered("instructions", "I am new\n\nBe brief"),
        Offered("memory", "likes ducks"),
    ]
    first = next(each for each in found if isinstance(each, ImportedConversation))
    assert texts(first) == [("user", "a")]
