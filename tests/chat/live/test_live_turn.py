"""An answer as it is written: what takes long is not rendered on the event loop."""

from threading import get_ident

import pytest

from chat.html import markdown_stream
from chat.html.markdown_stream import MarkdownStream, RenderedPiece
from chat.live import live_turn
from tests.data.live import write


async def test_a_large_block_is_rendered_in_a_thread_and_the_frames_keep_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[int] = []

    class Watched(MarkdownStream):
        def render(self, piece: markdown_stream.Piece) -> RenderedPiece:
            threads.append(get_ident())
            return super().render(piece)

    monkeypatch.setattr(live_turn, "MarkdownStream", Watched)
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 300
    text = f"Before.\n\n{table}\nAfter.\n\n"
    written = await write(text, [text[:40], text[40:]])
    assert [thread == get_ident() for thread in threads] == [True, False, True]
    assert [frame["seq"] for frame in written.frames] == list(range(1, len(written.frames) + 1))
    through = [frame["through"] for frame in written.frames if frame["type"] == "turn.block"]
    assert through == [9, 10 + len(table), len(text)]
    assert '<table dir="auto">' in written.html[1]
    assert written.snapshot["text"] == ""


async def test_a_text_beyond_what_may_be_rendered_is_shown_plainly_from_there_on() -> None:
    text = "- a\n" * 200 + "\nBetween.\n\n" + "- b\n" * 20_000 + "\n**After.**\n\n"
    written = await write(text, [text])
    assert written.html[0].count("<li ") == 200
    assert '<p dir="auto">Between.</p>' in "".join(written.html)
    assert '<li dir="auto">b' not in "".join(written.html)
    assert "**After.**" in written.html[-1]
    whole = markdown_stream.render_markdown(text)
    assert whole.startswith("".join(written.html).partition('<p class="plain"')[0])
    assert '<li dir="auto">b' not in whole
