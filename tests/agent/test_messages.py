import pytest

from agent.messages import (
    AgentMessage,
    Usage,
    block_text,
    plain_text,
    sanitise,
    sanitise_text,
    shown_text,
)
from tests.agent.conversations import call, image, result, text, thinking, user


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("plain", "plain"),
        ("é 日本 🧪", "é 日本 🧪"),
        ("\ud83e\uddea", "🧪"),  # a pair that arrived in two pieces
        ("a\ud83eb", "a\ufffdb"),
        ("\uddea\ud83e", "\ufffd\ufffd"),
        ("nul\0", "nul\ufffd"),
        ("\0é", "\ufffdé"),
        ("", ""),
    ],
)
def test_sound_text_joins_surrogates_and_replaces_what_cannot_be_stored(
    given: str, kept: str
) -> None:
    assert sanitise_text(given) == kept
    sanitise_text(given).encode("utf-8")


def test_sound_reaches_every_string_of_a_json_value_and_leaves_the_rest() -> None:
    value = {"a\0": ["\ud83e", {"b": "\ud83e\uddea"}], "n": 1, "f": 1.5, "t": True, "z": None}
    assert sanitise(value) == {
        "a\ufffd": ["\ufffd", {"b": "🧪"}], "n": 1, "f": 1.5, "t": True, "z": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (text("Hello"), "Hello"),
        (thinking("secret"), ""),
        ({"type": "redacted_thinking", "data": "AAAA"}, ""),
        (call("t1", "search", query="naïve"), '[search {"query": "naïve"}]'),
        ({"type": "server_tool_use", "name": "web_search", "input": {}}, "[web_search {}]"),
        ({"type": "mcp_tool_use", "id": "m", "name": "x", "input": {}}, "[x {}]"),
        (result("t1", "Found."), "Found."),
        (result("t1", [text("one"), image()]), "one\n\n[Attached image: image/png]"),
        (result("t1", {"rows": 3}), '{"rows": 3}'),
        (result("t1", None), ""),
        ({"type": "tool_result", "tool_use_id": "t1"}, ""),
        ({"type": "web_search_tool_result", "content": [text("page")]}, "page"),
        (
            {"type": "web_search_tool_result", "content": [
                {"type": "web_search_result", "title": "A", "url": "https://a.example",
                 "encrypted_content": "xx"},
                {"type": "web_search_result", "title": None, "url": "https://b.example"},
            ]},
            "A https://a.example\n\nhttps://b.example",
        ),
        (
            {"type": "web_fetch_tool_result", "content": {
                "type": "web_fetch_result", "url": "https://a.example", "content": {
                    "type": "document", "title": "A", "source": {"type": "text", "data": "Words."},
                },
            }},
            "https://a.example\n\n[Attached document: A]\nWords.",
        ),
        (
            {"type": "web_fetch_tool_result", "content": {
                "type": "web_fetch_result", "url": "https://a.example/x.pdf", "content": {
                    "type": "document", "source": {
                        "type": "base64", "media_type": "application/pdf", "data": "JVBERi0x",
                    },
                },
            }},
            "https://a.example/x.pdf\n\n[Attached document: application/pdf]",
        ),
        (image(), "[Attached image: image/png]"),
        ({"type": "document", "title": "Plan", "source": {}}, "[Attached document: Plan]"),
        ({"type": "document"}, "[Attached document: document]"),
        ({"type": "container_upload", "file_id": "f"}, ""),
        ({"type": "of tomorrow"}, ""),
        ({}, ""),
    ],
)  # fmt: skip
def test_block_text_is_what_a_reader_takes_from_each_kind(block: dict, shown: str) -> None:
    assert block_text(block) == shown


def test_plain_text_joins_what_there_is_to_read() -> None:
    assert plain_text([thinking(), text("One"), text(""), image(), text("Two")]) == (
        "One\n\n[Attached image: image/png]\n\nTwo"
    )


def test_what_an_answer_cites_stands_after_it_once() -> None:
    cite = {"title": "Graz", "url": "https://graz.example"}
    blocks = [
        text("Sunny. ") | {"citations": [cite]},
        text("And warm.") | {"citations": [cite, {"type": "char_location"}]},
    ]
    assert plain_text(blocks) == "Sunny. And warm.\n\nGraz https://graz.example"
    assert shown_text(blocks) == "Sunny. And warm."
    document = {"type": "document", "title": "Plan", "citations": {"enabled": True}}
    assert plain_text([document]) == "[Attached document: Plan]"
    found = {"type": "web_search_result", **cite}
    searched = [{"type": "web_search_tool_result", "content": [found]}, *blocks]
    assert plain_text(searched) == "Graz https://graz.example\n\nSunny. And warm."


@pytest.mark.parametrize(
    ("message", "prompt", "results"),
    [
        (user(1), True, False),
        (AgentMessage(1, "user", [result("t1")], 1), False, True),
        (AgentMessage(1, "user", [result("t1"), text("and")], 1), True, True),
        (AgentMessage(1, "user", [], 1), False, False),
        (AgentMessage(1, "assistant", [text("Hi")], 1), False, False),
    ],
)
def test_a_prompt_is_what_a_person_wrote(
    message: AgentMessage, prompt: bool, results: bool
) -> None:
    assert (message.is_prompt, message.holds_tool_results) == (prompt, results)


def test_the_request_of_a_usage_includes_what_the_cache_took_part_in() -> None:
    usage = Usage.from_api(
        {
            "input_tokens": 10,
            "output_tokens": 3,
            "cache_read_input_tokens": 200,
            "cache_creation_input_tokens": None,
            "service_tier": "standard",
        }
    )
    assert (usage.request_tokens, usage.total) == (210, 213)
    assert (usage + usage).total == 426
    assert Usage(**usage.as_dict()) == usage


def test_usage_of_a_server_that_reports_none_is_nothing() -> None:
    assert Usage.from_api(None) == Usage.from_api({}) == Usage()
