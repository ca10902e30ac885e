"""What the reader of a stream has of the message that is being written."""

from collections.abc import Iterator
from dataclasses import dataclass
from os.path import commonprefix
from zlib import crc32

from chat.html.markdown_stream import utf16_length


@dataclass(frozen=True, slots=True)
class Place:
    """How far somebody has read in a turn: `offset` characters of the message with the number, 0
    for none. It is the id of an event."""

    turn_id: int
    number: int = 0
    offset: int = 0
    checksum: int = 0  # of those characters

    def __str__(self) -> str:
        return f"{self.turn_id}:{self.number}:{self.offset}:{self.checksum:08x}"


def read_place(text: str, turn_id: int) -> Place:
    """The place that an event's id names; the beginning for what is none, or of another turn."""
    try:
        turn, number, offset, checksum = text.split(":")
        place = Place(int(turn), int(number), int(offset), int(checksum, 16))
    except ValueError:
        return Place(turn_id)
    return place if place.turn_id == turn_id else Place(turn_id)


@dataclass(frozen=True, slots=True)
class Delta:
    """Text that takes the place of whatever the reader has from the character `offset` on: mostly
    of nothing."""

    offset: int
    text: str


class SentText:
    """The text of one message. Each change is a Delta for the reader."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._is_known = place.offset == 0
        self._text = ""
        self._units = 0  # its length as the socket's events count

    @property
    def is_known(self) -> bool:
        """Whether what the reader has is known. It is not where they came back with a place, and no
        text was seen yet that it could be of."""
        return self._is_known

    @property
    def place(self) -> Place:
        return self._place

    def show(self, text: str, *, is_final: bool) -> Iterator[Delta]:
        """Bring the reader to a text, which may be older than what they have unless it is final."""
        if not self._is_known:
            yield from self._recognise(text, is_final=is_final)
            if not self._is_known:
                return
        if text.startswith(self._text):
            yield from self._replace(len(self._text), text[len(self._text) :])
        elif is_final or not self._text.startswith(text):
            same = len(commonprefix([self._text, text]))
            yield from self._replace(same, text[same:], shortens=True)

    def add(self, units: int, text: str) -> Iterator[Delta] | None:
        """Add what was written after so many UTF-16 units; None where something is missing before
        it."""
        if not self._is_known or units > self._units:
            return None
        if units == self._units:
            return self._replace(len(self._text), text)
        begins = self._text.encode("utf-16-le", "surrogatepass")[: 2 * units]
        return self.show(begins.decode("utf-16-le", "surrogatepass") + text, is_final=False)

    def _recognise(self, text: str, *, is_final: bool) -> Iterator[Delta]:
        """See whether the reader has the beginning of a text; where not, they get all of it."""
        read = text[: self._place.offset]
        if len(read) == self._place.offset and _sum_up(read) == self._place.checksum:
            self._is_known, self._text, self._units = True, read, utf16_length(read)
        elif is_final or len(read) == self._place.offset:
            self._is_known = True
            yield from self._replace(0, text, shortens=True)

    def _replace(self, offset: int, text: str, *, shortens: bool = False) -> Iterator[Delta]:
        if not text and not shortens:
            return
        if offset == len(self._text):
            checksum = _sum_up(text, self._place.checksum if offset else 0)
            self._text += text
            self._units += utf16_length(text)
        else:
            self._text = self._text[:offset] + text
            self._units, checksum = utf16_length(self._text), _sum_up(self._text)
        turn_id, number = self._place.turn_id, self._place.number
        self._place = Place(turn_id, number, len(self._text), checksum)
        yield Delta(offset, text)


def _sum_up(text: str, before: int = 0) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"), before)
