"""A turn as server-sent events that can be resumed: in any process, from the database's rows.

The id of an event is a place (`chat.api.sent_text`). Who comes back with it gets what follows: of
the row first, in which a running answer is stored each second, then of the channel layer. That may
lose events. So the row decides what the text is.
"""

import json
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext
from ninja.responses import NinjaJSONEncoder

from agent.messages import shown_text
from chat.api.auth import require_token
from chat.api.ear import MOST_WAITING, Ear
from chat.api.errors import ApiError, describe
from chat.api.rows import as_turn
from chat.api.sent_text import Delta, Place, SentText
from chat.db.outages import DATABASE
from chat.db.threads import UNAVAILABLE, in_db
from chat.live.runner import runner
from chat.models import Message, Turn
from chat.protocol import events as frames
from chat.queries.turns import find_turn, load_answers, load_turn, read_written

HEARTBEAT_SECONDS = 15.0  # of silence: proxies close what says nothing for a minute
CHECK_SECONDS = 2.0  # between two looks whether the token is still good and the turn still runs
CATCH_UP_SECONDS = 0.5  # the same while text is missing, which is stored within a second
FOR_PAGES = ("type", "html", "seq", "conversation_id", "message_id", "turn_id", "after_message_id")
_open: Counter[int] = Counter()  # streams of each person in this process


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """`place`: its id."""

    name: str
    data: dict[str, Any]
    place: Place

    def encode(self) -> str:
        data = json.dumps(self.data, cls=NinjaJSONEncoder, ensure_ascii=False)
        return f"id: {self.place}\nevent: {self.name}\ndata: {data}\n\n"


@dataclass(frozen=True, slots=True)
class Reader:
    """Whose program reads, and by which right."""

    user_id: int
    token: str
    scope: str


class TurnStream:
    """A turn for one reader. Memory is bounded by that of its ear and by the text of one message.
    No thread and no connection to the database is held between two looks."""

    def __init__(
        self,
        reader: Reader,
        ear: Ear,
        conversation_id: UUID,
        turn_id: int,
        *,
        place: Place | None = None,
    ) -> None:
        self._reader, self._ear = reader, ear
        self._conversation_id, self._turn_id = conversation_id, turn_id
        self._begins = place is None or not place.number
        self._sent = SentText(place or Place(turn_id))
        self._message_id: int | None = None  # of the message that is being written
        # Deltas after a gap: of which message, after how many UTF-16 units, and the text.
        self._ahead: deque[tuple[int, int, str]] = deque()

    # --- As a response ----------------------------------------------------------------------------

    async def write(self) -> AsyncIterator[str]:
        """The events as they are sent, and a comment where nothing was said for a while."""
        user_id = self._reader.user_id
        _open[user_id] += 1
        try:
            if _open[user_id] > settings.SOCKETS_PER_USER:
                words = gettext("Too many streams of yours are open. Close one, and try again.")
                yield _encode_error("rate_limited", words)
                return
            async with aclosing(self.follow()) as events:
                async for event in events:
                    yield event.encode() if event else ": still here\n\n"
        except ApiError as error:
            yield _encode_error(error.code, error.message)
        except Turn.DoesNotExist:
            yield _encode_error("not_found", gettext("The conversation was deleted."))
        except UNAVAILABLE as error:
            DATABASE.note_failure(error)
            words = gettext("The database is away. Open the stream again in a moment.")
            yield _encode_error("unavailable", words)
        finally:
            _open[user_id] -= 1

    # --- What happens -----------------------------------------------------------------------------

    async def follow(self) -> AsyncGenerator[StreamEvent | None, None]:
        """All events to the end of the turn; None after some seconds of silence. Raises ApiError
        where the token is no longer good, and Turn.DoesNotExist."""
        self._ear.is_used = True
        said = monotonic()
        try:
            while True:
                due = monotonic() + (CATCH_UP_SECONDS if self._lacks_text else CHECK_SECONDS)
                needs_text = self._ear.catch_up() or self._lacks_text
                turn, answers = await in_db(self._look, needs_text=needs_text)
                for event in self._catch_up(turn, answers):
                    said = monotonic()
                    yield event
                if turn.finished_at:
                    yield await in_db(self._describe_end)
                    return
                while not self._ear.is_behind and await self._ear.wait(until=due):
                    for event in self._take(json.loads(self._ear.waiting.popleft())):
                        said = monotonic()
                        yield event
                if monotonic() - said >= HEARTBEAT_SECONDS:
                    said = monotonic()
                    yield None
        finally:
            await self._ear.close()

    @property
    def _lacks_text(self) -> bool:
        """Whether the row will soon have what is missing before what the reader gets next."""
        return bool(self._ahead) or not self._sent.is_known

    # --- Rows -------------------------------------------------------------------------------------

    def _look(self, *, needs_text: bool) -> tuple[Turn, list[Message]]:
        """In a database thread: whether the program may still read, how the turn is, and its
        answers where they are needed, as they are in the end."""
        require_token(self._reader.token, self._reader.scope)
        turn = find_turn(self._reader.user_id, self._conversation_id, self._turn_id)
        if not needs_text and not turn.finished_at:
            return turn, []
        number = self._sent.place.number
        answers = load_answers(turn.pk, number)
        if number and (not answers or answers[0].number != number):
            self._sent = SentText(Place(turn.pk))  # the id that was sent names no message of it
            answers = load_answers(turn.pk, 0)
        return turn, answers

    def _describe_end(self) -> StreamEvent:
        turn, messages = load_turn(self._reader.user_id, self._conversation_id, self._turn_id)
        data = {"turn": as_turn(turn, messages).model_dump()}
        return StreamEvent(frames.TurnFinished.type, data, self._sent.place)

    def _catch_up(self, turn: Turn, answers: Sequence[Message]) -> Iterator[StreamEvent]:
        """What the rows have and the reader has not."""
        if self._begins:
            self._begins = False
            data = {"turn_id": turn.pk, "kind": turn.kind}
            yield StreamEvent(frames.TurnStarted.type, data, self._sent.place)
        for row in answers:
            if row.number != self._sent.place.number:
                self._sent = SentText(Place(turn.pk, row.number))
            self._message_id = row.pk
            is_final = bool(turn.finished_at) or row.status != Message.Status.STREAMING
            yield from self._tell(self._sent.show(read_written(row), is_final=is_final))
        if answers and not turn.finished_at:
            yield from self._tell(self._show_live())
            yield from self._use_ahead()
        elif turn.finished_at:
            for frame in map(json.loads, self._ear.waiting):
                if frame["type"] != frames.TurnDelta.type:
                    yield from self._take(frame)

    def _show_live(self) -> Iterator[Delta]:
        """What this process has written of the turn, if it runs here."""
        live = runner.find_live(self._conversation_id)
        if live and live.turn_id == self._turn_id and live.message_id == self._message_id:
            written = (each for each in live.reply.partial_blocks() if each["type"] == "text")
            yield from self._sent.show(shown_text(written), is_final=False)

    # --- Events -----------------------------------------------------------------------------------

    def _take(self, frame: dict[str, Any]) -> Iterator[StreamEvent]:
        if frame.get("turn_id", self._turn_id) not in (self._turn_id, None):
            return
        if frame["type"] != frames.TurnDelta.type:
            data = {name: value for name, value in frame.items() if name not in FOR_PAGES}
            yield StreamEvent(frame["type"], data, self._sent.place)
            return
        if frame["message_id"] != self._message_id:
            self._ear.is_behind = True  # the rows have its number
        if len(self._ahead) >= MOST_WAITING:
            self._ahead.clear()
        self._ahead.append((frame["message_id"], frame["offset"], frame["text"]))
        yield from self._use_ahead()

    def _use_ahead(self) -> Iterator[StreamEvent]:
        """Send what follows the text that the reader has."""
        while self._ahead and not self._ear.is_behind:
            message_id, units, text = self._ahead[0]
            if message_id == self._message_id:
                deltas = self._sent.add(units, text)
                if deltas is None:
                    return  # until the row has what is missing
                yield from self._tell(deltas)
            self._ahead.popleft()

    def _tell(self, deltas: Iterator[Delta]) -> Iterator[StreamEvent]:
        for delta in deltas:
            place = self._sent.place
            data = {"number": place.number, "offset": delta.offset, "text": delta.text}
            yield StreamEvent(frames.TurnDelta.type, data, place)


def _encode_error(code: str, message: str) -> str:
    """The last event of a stream that does not reach the turn's end. Without an id: who comes back
    goes on where they were."""
    data = json.dumps(describe(code, message), ensure_ascii=False)
    return f"event: error\ndata: {data}\n\n"
