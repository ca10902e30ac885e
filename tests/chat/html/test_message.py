"""Messages and dividers as HTML. Rows need no database here: rendering only reads."""

import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from hypothesis import given
from hypothesis import strategies as st

from chat.html import kept
from chat.html.divider import render_divider
from chat.html.figures import format_tokens
from chat.html.message import MOST_ROWS, render_message
from chat.html.tool_row import MAX_TOOL_TEXT
from chat.models import Compaction, Conversation, Message, Turn

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _empty_cache():
    cache.clear()


class Nodes(HTMLParser):
    """All elements as (tag, attributes), and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.nodes: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.nodes.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.nodes if name == tag]


def message(
    *blocks: Any, role: str = "assistant", turn: Turn | None = None, **fields: Any
) -> Message:
    values = {"pk": 7, "number": 3, "position": 2, "status": "complete", "created_at": NOON}
    values["conversation"] = Conversation(pk=uuid4(), model="m")
    return Message(
        role=role,
        blocks=list(blocks),
        turn=turn,
        **(values | fields),
    )


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def nodes(row: Message) -> Nodes:
    return Nodes(render_message(row))


# --- The article ----------------------------------------------------------------------------------


def test_the_article_carries_what_scripts_look_for():
    (article,) = nodes(message(text("hi"))).all("article")
    assert article["id"] == "message-3"
    assert article["data-message-id"] == "7"
    assert article["data-number"] == "3"
    assert article["data-position"] == "2"
    assert article["data-role"] == "assistant"
    assert article["data-status"] == "complete"


def test_assistant_text_is_markdown():
    assert "<strong>bold</strong>" in render_message(message(text("**bold**")))


def test_user_text_means_itself_except_for_fenced_code():
    html = render_message(message(text("# *a* <b>\n\n```py\nx < 1\n```\nend"), role="user"))
    assert '<p class="plain" dir="auto"># *a* &lt;b&gt;</p>' in html
    assert '<span class="code-language">py</span>' in html
    assert '<p class="plain" dir="auto">end</p>' in html


def test_an_unclosed_fence_of_a_user_stays_text():
    html = render_message(message(text("```py\nx"), role="user"))
    assert '<p class="plain" dir="auto">```py\nx</p>' in html


def test_times_are_machine_readable():
    assert nodes(message(text("x"))).all("time")[0]["datetime"] == "2026-11-21T12:00:00+00:00"


# --- Content blocks -------------------------------------------------------------------------------


def test_thinking_is_folded():
    html = render_message(message({"type": "thinking", "thinking": "*hm*", "signature": "s"}))
    assert '<details class="row thinking">' in html
    assert "<em>hm</em>" in html


def test_redacted_thinking_is_a_quiet_note():
    html = render_message(message({"type": "redacted_thinking", "data": "xyz"}))
    assert "not shown" in html
    assert "xyz" not in html


def test_a_tool_call_shows_name_and_arguments():
    page = nodes(message({"type": "tool_use", "id": "1", "name": "find", "input": {"q": "<é>"}}))
    assert '"q": "<é>"' in page.text
    assert "find" in page.text


def test_no_message_shows_thousands_of_rows():
    calls = [
        {"type": "tool_use", "id": f"t{number}", "name": "search", "input": {}}
        for number in range(MOST_ROWS + 40)
    ]
    html = render_message(message(*calls, text("Done.")))
    assert html.count("data-call=") == MOST_ROWS
    assert "40 more rows of tools are not shown here" in html
    assert "Done." in html


def test_a_result_shows_its_state_and_a_bounded_text():
    block = {"type": "tool_result", "tool_use_id": "1", "is_error": True, "content": "x" * 9_000}
    page = nodes(message(block, role="user"))
    assert "failed" in page.text
    assert f"{9_000 - MAX_TOOL_TEXT} more characters" in page.text


def test_results_alone_are_rows_and_no_bubble():
    block = {"type": "tool_result", "tool_use_id": "1", "content": [text("42")]}
    page = nodes(message(block, role="user"))
    assert "tools-only" in str(page.all("article")[0]["class"])
    assert "42" in page.text


def test_a_tool_of_the_server_is_one_row_with_the_pages_it_found():
    found = {"type": "web_search_result", "url": "https://cats.example", "title": "All cats"}
    page = nodes(
        message(
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "c"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found]},
        )
    )
    assert len(page.all("details")) == 1
    assert [a["href"] for a in page.all("a")] == ["https://cats.example", "#message-3"]
    assert "All cats" in page.text


def test_a_fetched_page_is_its_link_and_its_text():
    source = {"type": "text", "media_type": "text/plain", "data": "Cats sleep a lot."}
    fetched = {
        "type": "web_fetch_result",
        "url": "https://cats.example",
        "content": {"type": "document", "title": "All cats", "source": source},
    }
    page = nodes(
        message(
            {"type": "server_tool_use", "id": "s1", "name": "web_fetch", "input": {}},
            {"type": "web_fetch_tool_result", "tool_use_id": "s1", "content": fetched},
        )
    )
    assert [a["href"] for a in page.all("a")] == ["https://cats.example", "#message-3"]
    assert "All cats" in page.text
    assert "Cats sleep a lot." in page.text
    assert "media_type" not in page.text


def test_files_are_chips():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "…"}}
    page = nodes(message(image, {"type": "document", "title": "plan.pdf"}, role="user"))
    assert "image/png" in page.text
    assert "plan.pdf" in page.text
    assert not page.all("img")


def test_an_unknown_block_is_named_and_nothing_fails():
    assert "hologram" in nodes(message({"type": "hologram", "x": {}})).text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
TYPES = """
    text thinking redacted_thinking tool_use server_tool_use tool_result image document
    web_search_tool_result x
"""
KEYS = "text thinking name input content source title is_error media_type"
types, keys = st.sampled_from(TYPES.split()), st.sampled_from(KEYS.split())
blocks = st.dictionaries(keys, json_values, max_size=5).flatmap(
    lambda block: types.map(lambda kind: {"type": kind} | block)
)


@given(st.lists(blocks | json_values, max_size=4), st.sampled_from(["user", "assistant"]))
def test_no_block_of_whatever_shape_fails(content: list[Any], role: str):
    page = nodes(message(*content, role=role, pk=None))
    for tag, attributes in page.nodes:
        assert tag not in ("script", "style", "iframe", "img")
        assert not any(name.startswith("on") or name == "style" for name in attributes)


def test_markup_in_names_and_results_is_text():
    evil = "<script>alert(1)</script>"
    page = nodes(
        message(
            {"type": "tool_use", "name": evil, "input": {evil: evil}},
            {"type": "tool_result", "content": evil},
            {"type": "document", "title": evil, "source": {"media_type": evil}},
            {"type": evil},
            text(evil),
        )
    )
    assert not page.all("script")


# --- How a turn ended -----------------------------------------------------------------------------


def failed(code: str = "overloaded", **error: Any) -> Turn:
    values = {"code": code, "message": "Too busy <now>.", "retryable": True, "retry_after": None}
    return Turn(kind="answer", status="failed", error=values | error, finished_at=NOON)


def test_a_failure_shows_its_reason_and_retry():
    row = message(text("half"), status="failed", turn=failed())
    page = nodes(row)
    assert "half" in page.text
    assert "Too busy <now>." in page.text
    retry = [button for button in page.all("button") if button.get("data-action") == "retry"]
    assert [button["data-url"] for button in retry] == [f"/c/{row.conversation_id}/retry/"]


def test_what_cannot_be_retried_has_no_button():
    page = nodes(message(status="failed", turn=failed(retryable=False)))
    assert not [button for button in page.all("button") if button.get("data-action") == "retry"]


def test_a_countdown_ends_when_the_server_allows_a_retry():
    page = nodes(message(status="failed", turn=failed(retry_after=30)))
    (countdown,) = [span for span in page.all("span") if "data-retry-at" in span]
    assert countdown["data-retry-at"] == (NOON + timedelta(seconds=30)).isoformat()


def test_an_interruption_without_a_reason_says_so():
    turn = Turn(kind="answer", status="interrupted")
    assert "interrupted" in nodes(message(text("half"), status="interrupted", turn=turn)).text


def test_a_stopped_answer_is_quiet():
    turn = Turn(kind="answer", status="cancelled")
    page = nodes(message(text("half"), status="interrupted", turn=turn))
    assert "Stopped" in page.text
    assert "error-card" not in str(page.nodes)


def test_a_notice_is_shown_with_the_answer():
    turn = Turn(kind="answer", status="completed", notice="trimmed")
    assert "left out" in nodes(message(text("x"), turn=turn)).text


# --- Cache ----------------------------------------------------------------------------------------


def test_a_finished_message_is_rendered_once():
    first = message(text("one"))
    again = message(text("two"), conversation=first.conversation)
    html = render_message(first)
    assert render_message(again) == html


@pytest.mark.django_db(transaction=True)
def test_what_a_conversation_had_in_the_cache_goes_with_it():
    first, second = message(text("one")), message(text("one"))
    for each in (first, second):
        render_message(each)
    kept.forget_later([first.conversation_id])
    first.blocks = second.blocks = [text("another")]
    assert "another" in render_message(first)
    assert "one" in render_message(second)


def test_a_running_message_is_rendered_each_time():
    row = message(text("one"), status="streaming")
    assert "one" in render_message(row)
    row.blocks = [text("two")]
    assert "two" in render_message(row)
    row.blocks, row.status = [text("three")], "complete"
    assert "three" in render_message(row)


def test_a_cached_message_follows_its_turn():
    first = message(status="failed", turn=failed())
    assert "Too busy" in render_message(first)
    turn = Turn(kind="answer", status="failed", notice="cut", error=failed().error)
    again = message(status="failed", turn=turn, conversation=first.conversation)
    assert "length limit" in render_message(again)


# --- Divider --------------------------------------------------------------------------------------


def compaction(summary: str, **fields: Any) -> Compaction:
    values: dict[str, Any] = {
        "pk": 5,
        "messages": 124,
        "tokens_before": 161_234,
        "tokens_after": 9_180,
        "messages_before": 130,
        "messages_after": 7,
        "trigger": "auto",
        "summary": summary,
        "finished_at": NOON,
    }
    return Compaction(**(values | fields))


def test_a_cached_divider_follows_its_summary():
    assert "Trees" in render_divider(compaction("Trees"))
    assert "The summary was removed" in render_divider(compaction(""))


def test_the_divider_tells_what_happened():
    page = Nodes(render_divider(compaction("x")))
    line = " ".join(page.text.split())
    sizes = "130 → 7 messages · 161k → 9.2k tokens"
    assert f"Conversation compacted · {sizes} · automatic · 12:00" in line
    assert "View summary" in line
    assert page.all("div")[0]["data-compaction-id"] == "5"


def test_message_numbers_in_the_summary_are_links():
    html = render_divider(compaction("- a [#12 #15]\n- b [#3]\n- `[#x]` [other]"))
    assert '[<a href="#message-12">#12</a> <a href="#message-15">#15</a>]' in html
    assert '[<a href="#message-3">#3</a>]' in html
    assert "[#x]" in html


def test_a_link_with_brackets_in_its_address_stays_whole():
    html = render_divider(compaction("[a](http://x/[#12]) <http://x/[#13]> [#14]"))
    hrefs = [a["href"] for a in Nodes(html).all("a")]
    assert hrefs.count("#message-14") == 1
    assert all(str(href).startswith(("http://x/", "#message-")) for href in hrefs)


def test_the_summary_is_sanitised():
    assert not Nodes(render_divider(compaction("<script>x</script> [a](javascript:x)"))).all(
        "script"
    )


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0"),
        (None, "0"),
        (999, "999"),
        (1_000, "1k"),
        (9_180, "9.2k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (161_234, "161k"),
        (999_499, "999k"),
        (999_500, "1M"),
        (1_250_000, "1.2M"),
    ],
)
def test_token_counts_are_short(count: int | None, words: str):
    assert format_tokens(count) == words


def test_the_divider_leaves_out_sections_that_say_none():
    text = "## Overview\n\nTrees.\n\n## Files\nNone.\n\n## Goals\n- None. Of these\n\n"
    text += "## Errors\n\nNone.\n"
    html = render_divider(compaction(text))
    assert re.findall('<h4 dir="auto">(.*?)</h4>', html) == ["Overview", "Goals"]
    assert "None. Of these" in html
    only = render_divider(compaction("## Overview\nNone."))
    assert '<h4 dir="auto">Overview</h4>' in only


QUOTED = """## Overview
They met. It is 25 % more now.

## Decisions
- Twenty more came [#1 #2]
- Port 8443 [#3], replaced by 9443 [#9]
- Other [#3] (unverified)
- Above:
  - Below [#4]

## Facts and values
```
x = 5
```"""
QUOTES = [
    ("It is 25 % more now.", 1, "80 before, 100 <now>"),
    ("- Twenty more came [#1 #2]", 1, "80 before"),
    ("- Twenty more came [#1 #2]", 2, "100 [#7] now"),
    ("- Port 8443 [#3]", 3, "We moved to 8443"),
    ("- Above:", 4, "above"),
    ("x = 5", 4, "five"),
    ("- It was edited [#4]", 4, "nothing"),
]


def quoted(text: str, quotes: list[tuple[str, int, str]]) -> Compaction:
    chapter = {"text": text, "first": 1, "through": 9, "quotes": [list(each) for each in quotes]}
    return compaction(f"**Messages #1 to #9**\n\n{text}", chapters=[chapter])


def test_the_divider_folds_the_quotes_behind_their_statements():
    html = render_divider(quoted(QUOTED, QUOTES))
    folded = re.findall(r'<details class="quote">(.*?)</details>', html)
    assert len(folded) == 5
    assert "80 before, 100 &lt;now&gt;" in folded[0]
    assert folded[1].count("<blockquote") == 2
    assert '[<a href="#message-1">#1</a>]' in folded[1]
    assert "100 [#7] now" in folded[1], "what is quoted is text"
    bullets = re.findall(r"<li[^>]*>(.*?)</li>", html.replace("\n", ""))
    assert bullets[0].endswith("</details>")
    assert "Below" in html.partition("above")[2], "the bullets under one come after its quote"
    assert html.count('class="unverified-mark"') == 2, "and in the legend"
    assert not re.search(r"<p\b[^>]*>(?:(?!</p>).)*<details class=.quote", html, re.S)
    assert not re.search("[\ue000-\uf8ff]", html)


def test_marks_of_the_page_in_a_summary_quote_nothing():
    html = render_divider(quoted("- a \ue1000\ue101 [#1]", QUOTES))
    assert 'class="quote"' not in html
