"""One answer as it is being written, and how it reaches the browsers."""

import asyncio
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any
from uuid import UUID

from django.conf import settings

from agent.messages import Block, RealTokens, plain_text
from agent.model.reply import Reply
from agent.model.unreported import estimate_usage, mark
from agent.tokens import Factor
from chat.engine.model_server import get_counter
from chat.html.markdown_pieces import Piece
from chat.html.markdown_stream import MarkdownStream, RenderedPiece, is_light, utf16_length
from chat.html.sanitiser import clean_text
from chat.html.tool_row import render_call_row
from chat.protocol.broadcast import conversation_group, send
from chat.protocol.events import Event, ToolStarted, TurnBlock, TurnDelta, TurnThinking
from chat.protocol.parts import LiveAnswer, LiveText
from chat.services.calls import KEPT_CALL
from chat.services.ledgers import AnswerLedger
from chat.services.turns.turns import Unstored


@dataclass
class Question:
    """A call of a server's tool that waits for the user."""

    server: str
    html: str
    decision: asyncio.Future[str]


@dataclass
class LiveTurn:
    """A turn that this process runs. `seq` numbers its frames; `length` and `through` are offsets
    in UTF-16 units: of all text, and of what has gone out as finished HTML."""

    turn_id: int
    conversation_id: UUID
    kind: str
    task: asyncio.Task[None] | None = None
    preparing: asyncio.Task[None] | None = None  # a summary, between two rounds
    stopping: bool = False
    ending: bool = False  # its end is being stored: too late to stop it
    message_id: int | None = None
    number: int | None = None
    reply: Reply = field(default_factory=Reply)
    ledger: AnswerLedger = field(default_factory=AnswerLedger)
    opening: bool = False  # it is the conversation's first answer
    seq: int = 0
    length: int = 0
    through: int = 0
    unfinished: str = ""  # Markdown of a block that is not complete
    html: list[str] = field(default_factory=list)
    # Of the request that is out: its estimated tokens, 0 for none, and its model's factor.
    asked: RealTokens = RealTokens(0)
    factor: Factor = Factor(1.0, 0)
    saved: tuple[int, ...] = ()  # `progress` at the last checkpoint
    thinking: str = ""
    thought: int = 0  # its length in UTF-16 units
    calls_html: list[str] = field(default_factory=list)  # HTML of the calls so far
    first_delta: float | None = None  # seconds until its first text went out
    rounds: int = 0  # of tools, so far
    _began: float = field(default_factory=perf_counter)
    questions: dict[str, Question] = field(default_factory=dict)  # open ones by id of the call
    _half: str = ""  # the first half of a surrogate pair whose second has not come yet
    _markdown: MarkdownStream = field(default_factory=MarkdownStream)

    def begin_message(self, message_id: int, number: int) -> None:
        """A request is about to go out. Whatever an earlier one of this turn wrote is dropped."""
        self.end_message()
        self.message_id, self.number = message_id, number
        self.opening = self.opening or number == 2

    def end_message(self) -> None:
        """What was written is stored; the turn may go on with another message."""
        self.message_id = self.number = None
        self.reply = Reply()
        self.thinking, self.thought, self.calls_html = "", 0, []
        self.length = self.through = 0
        self.asked, self.saved = RealTokens(0), ()
        self.unfinished, self.html, self._markdown = "", [], MarkdownStream()
        self._half = ""

    @property
    def progress(self) -> tuple[int, ...]:
        """What a checkpoint keeps, in figures: it is stored when they change. () before a request
        is out."""
        if not self.asked or self.message_id is None:
            return ()
        return self.message_id, self.asked, self.length, len(self.reply.written.pieces)

    @property
    def kept_text(self) -> str:
        """What its reply says so far, and after that the pages that it cites: as they are stored of
        a reply that ends."""
        return plain_text(b for b in self.reply.partial_blocks() if b["type"] == "text")

    def draft(self) -> Unstored:
        """What a checkpoint keeps."""
        assert self.message_id is not None
        return self.message_id, self.kept_text, partial(self._estimate_kept, self.reply)

    def _estimate_kept(self, reply: Reply) -> dict[str, Any] | None:
        """The usage that a checkpoint keeps, with the call that it is of."""
        call, usage = self.ledger.open_id, self.estimate_usage(reply)
        return usage and usage | {KEPT_CALL: call}

    def estimate_usage(self, reply: Reply) -> dict[str, Any] | None:
        """What its reply, or one that was there a moment ago, has used so far, to be stored; None
        where nothing was asked. Counts tokens: for a thread."""
        if not (self.asked or reply.begun):
            return None
        usage = estimate_usage(reply, self.asked, self.factor, get_counter())
        return mark(usage, request_known=bool(reply.usage.request_tokens))

    async def write(self, text: str) -> None:
        """Send text to the browsers, and the pieces that it completes as HTML."""
        text, self._half = _whole_pairs(self._half + text)
        if not text:
            return
        if self.first_delta is None:
            self.first_delta = perf_counter() - self._began
        offset, self.length = self.length, self.length + utf16_length(text)
        self.unfinished += text
        await self._send(
            TurnDelta(self.turn_id, self.message_id, self._next_seq(), offset=offset, text=text)
        )
        for piece in self._markdown.cut(text):
            block = await self._rendered(piece)
            self.unfinished = _after(self.unfinished, block.through - self.through)
            self.through = block.through
            self.html.append(block.html)
            await self._send(
                TurnBlock(
                    self.turn_id,
                    self.message_id,
                    self._next_seq(),
                    through=block.through,
                    html=block.html,
                )
            )

    async def _rendered(self, piece: Piece) -> RenderedPiece:
        """A piece as HTML: in a thread where it would hold up the loop, and with it every other
        answer."""
        if is_light(piece):
            return self._markdown.render(piece)
        return await asyncio.to_thread(self._markdown.render, piece)

    async def think(self, text: str) -> None:
        """Show thinking while it streams. Without a sequence number: what is lost on the way
        arrives with the finished message."""
        text = clean_text(text)
        offset, self.thought = self.thought, self.thought + utf16_length(text)
        self.thinking += text
        await self._send(TurnThinking(self.turn_id, self.message_id, offset=offset, text=text))

    async def begin_block(self, block: Block) -> None:
        """Show that a tool is being called, while the arguments still come; calls that are too many
        for a reply are only counted in the end (`chat.html.message`)."""
        if block["type"].endswith("tool_use") and len(self.calls_html) < settings.MAX_TOOL_CALLS:
            html = render_call_row(block)
            self.calls_html.append(html)
            await self._send(
                ToolStarted(
                    self.turn_id, self.message_id, id=block["id"], name=block["name"], html=html
                )
            )

    def _next_seq(self) -> int:
        self.seq += 1
        return self.seq

    async def _send(self, event: Event) -> None:
        await send(conversation_group(self.conversation_id), event)

    def snapshot(self) -> LiveAnswer:
        """What a page needs to show the answer so far."""
        text: LiveText = {
            "message_id": self.message_id,
            "number": self.number,
            "seq": self.seq,
            "html": "".join(self.html),
            "through": self.through,
            "text": self.unfinished,
            "thinking": self.thinking,
            "rows": "".join(self.calls_html),
        }
        questions = "".join(question.html for question in self.questions.values())
        return {"text": text, "questions": questions}


def _whole_pairs(text: str) -> tuple[str, str]:
    """`text` with its surrogate pairs joined, and the half of a pair that may stand at its end."""
    if text.isascii():
        return text, ""
    half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    units = text[: len(text) - len(half)].encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le", "surrogatepass"), half


def _after(text: str, units: int) -> str:
    """`text` without its first `units` UTF-16 units."""
    if text.isascii():
        return text[units:]
    return text.encode("utf-16-le", "surrogatepass")[2 * units :].decode(
        "utf-16-le", "surrogatepass"
    )
