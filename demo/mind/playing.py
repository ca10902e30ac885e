"""Ready-made scripts: the demo that people play with, and the one that is measured against."""

from __future__ import annotations

import re

from demo.api.protocol import ScriptedReply
from demo.api.recording import RecordedRequest
from demo.api.script import Script, is_chat
from demo.api.stream import STAMP
from demo.api.tokens import BYTES_PER_TOKEN
from demo.mind.answers import PIECE_CHARACTERS, answer
from demo.mind.models import DEMO_MODEL
from demo.mind.samples import SAMPLES

REMEMBERED_REQUESTS = 20
SUMMARY_SPEEDUP = 3


def demo_script(
    *, tokens_per_s: float = 80.0, remember: int | None = REMEMBERED_REQUESTS
) -> Script:
    """The demo's mind as a script. tokens_per_s: pace of its replies, 0 = all at once."""
    interval_s = PIECE_CHARACTERS / BYTES_PER_TOKEN / tokens_per_s if tokens_per_s else 0.0
    script = Script(remember=remember)
    script.reply(_answer, when=is_chat, always=True, interval_s=interval_s)
    # Nobody reads a summary while it is written, but it must last long enough to be seen.
    script.reply(_answer, always=True, interval_s=interval_s / SUMMARY_SPEEDUP)
    return script


def bench_script(
    deltas: int,
    interval_s: float,
    *,
    delta_chars: int = 16,
    stamp: bool = False,
    markdown: bool = False,
) -> Script:
    """Every chat gets that many deltas, one per interval; summaries and titles are the demo's. The
    deltas are one paragraph of words, or Markdown with code; with `stamp` each ends with the time
    at which it was written, and a paragraph consists of nothing else."""
    if markdown:
        pieces = [piece + STAMP * stamp for piece in cut_markdown(deltas, delta_chars)]
    elif stamp:
        pieces = [STAMP] * deltas
    else:
        pieces = [("everlong" * (delta_chars // 8 + 1))[: delta_chars - 1] + " "] * deltas
    script = Script(remember=REMEMBERED_REQUESTS)
    script.drip(pieces, interval_s, stamp=stamp, when=is_chat, always=True)
    script.reply(_answer, always=True)
    return script


def cut_markdown(number: int, characters: int) -> list[str]:
    """So many pieces of the demo's samples, of at least so many characters each. A piece ends after
    a space within a line, where a number more changes nothing of the structure."""
    pieces, piece = list[str](), ""
    for word in re.findall(r"[\s\S]*?\S (?=\S)", "\n".join(SAMPLES) + "\n") * number:
        piece += word
        if len(piece) >= characters:
            pieces.append(piece)
            piece = ""
        if len(pieces) == number:
            break
    return pieces


def _answer(request: RecordedRequest) -> ScriptedReply:
    return answer(request.body, window=DEMO_MODEL.window)
