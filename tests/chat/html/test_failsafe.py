"""What cannot be drawn is shown as its source, is logged and counted, and ends nothing."""

import asyncio
from collections.abc import Iterator

import pytest
from django.db import DatabaseError
from structlog.testing import capture_logs

from chat import metrics
from chat.html import divider, formulas, markdown, message, tool_row
from chat.html.failsafe import draw_safely
from chat.live.live_turn import LiveTurn
from chat.models import Compaction, Conversation, Message
from tests.chat.counts import read_count
from tests.data.live import splits, write

STRANGE = [r"$\text$", r"$\left$", r"$\color$", r"$$a \times 100\text{%}$$"]


class PanicException(BaseException):
    """As libraries in Rust raise it."""


@pytest.fixture(params=[StopIteration, ValueError, RecursionError, PanicException])
def fault(request: pytest.FixtureRequest) -> type[BaseException]:
    error: type[BaseException] = request.param
    return error


def test_the_source_is_shown_and_the_fault_logged_and_counted(fault: type[BaseException]) -> None:
    def draw() -> str:
        raise fault

    before = read_count(metrics.NOT_DRAWN)
    with capture_logs() as logs:
        assert draw_safely("text", draw, lambda: "source") == "source"
    assert [(each["event"], each["error"]) for each in logs] == [
        ("could not be drawn", fault.__name__)
    ]
    assert read_count(metrics.NOT_DRAWN) == before + 1


@pytest.mark.parametrize("error", [asyncio.CancelledError, KeyboardInterrupt, DatabaseError])
def test_what_is_no_fault_of_the_text_goes_on(error: type[BaseException]) -> None:
    def draw() -> str:
        raise error

    with pytest.raises(error):
        draw_safely("text", draw, lambda: "source")


@pytest.mark.parametrize("source", STRANGE)
def test_a_formula_that_cannot_be_converted_leaves_the_rest_of_the_text_alone(source: str) -> None:
    html = markdown.render_markdown(f"**Before** {source} and $x^2$\n\n- after\n")
    assert "<strong>Before</strong>" in html
    assert f'<code class="math-source" dir="ltr">{source.strip("$")}</code>' in html
    assert "<msup>" in html
    assert '<li dir="auto">after</li>' in html


@pytest.mark.parametrize("source", STRANGE)
async def test_an_answer_with_such_a_formula_streams_to_its_end(source: str) -> None:
    text = f"Before {source}\n\nAfter\n\n"
    for deltas in splits(text):
        written = await write(text, deltas)
        assert "After" in written.html[-1]


@pytest.fixture
def broken_parser(monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]) -> Iterator[None]:
    def broken(*_: object) -> str:
        raise fault

    monkeypatch.setattr(markdown._markdown, "render", broken)
    return


@pytest.mark.usefixtures("broken_parser")
async def test_every_text_is_shown_whatever_its_rendering_raises() -> None:
    assert (
        markdown.render_markdown("a **b** <c>\n")
        == '<p class="plain" dir="auto">a **b** &lt;c&gt;\n</p>\n'
    )
    live = LiveTurn(1, Conversation().pk, "answer")
    live.begin_message(1, 2)
    await live.write("a **b**\n\n")
    assert live.snapshot()["text"]["html"] == '<p class="plain" dir="auto">a **b**\n\n</p>\n'
    assert "a **b**" in divider.render_summary_parts("a **b**")[0]["html"]


def test_a_block_that_cannot_be_drawn_leaves_the_others_alone(
    monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    def broken(*_: object, **__: object) -> dict[str, str]:
        raise fault

    monkeypatch.setattr(message, "build_call_part", broken)
    call = {"type": "tool_use", "id": "a", "name": "look", "input": {"where": "<there>"}}
    blocks = [{"type": "text", "text": "**Before**"}, call]
    html = message.render_message(Message(role="assistant", number=2, blocks=blocks))
    assert "<strong>Before</strong>" in html
    assert "&lt;there&gt;" in html


def test_a_message_whose_template_fails_is_its_text(
    monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    def broken(*_: object) -> dict[str, object]:
        raise fault

    monkeypatch.setattr(message, "_message_context", broken)
    html = message.render_message(Message(role="assistant", number=2, text="a **b** <c>"))
    assert 'id="message-2"' in html
    assert "a **b** &lt;c&gt;" in html


def test_a_tool_row_and_a_summary_that_cannot_be_drawn_are_shown_as_they_are(
    monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    def broken(*_: object, **__: object) -> dict[str, object]:
        raise fault

    monkeypatch.setattr(tool_row, "build_call_part", broken)
    monkeypatch.setattr(divider, "render_summary_parts", broken)
    call = {"type": "tool_use", "id": "call-1", "name": "look", "input": {"where": "<there>"}}
    row = tool_row.render_call_row(call)
    assert 'data-call="call-1"' in row
    assert "&lt;there&gt;" in row
    compaction = Compaction(
        trigger="manual",
        summary="## Goal\n- <all>",
        audit={},
        pk=5,
        messages=3,
        tokens_before=9,
        tokens_after=5,
    )
    assert "- &lt;all&gt;" in divider.render_divider(compaction)


def test_the_log_says_nothing_of_a_formula() -> None:
    formulas.render_formula.cache_clear()
    with capture_logs() as logs:
        formulas.render_formula(r"\text secret", block=False)
    assert all("secret" not in str(each) for each in logs)
