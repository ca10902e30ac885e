"""How much memory and time the JSON of strangers may cost while ijson reads it."""

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, BinaryIO

import orjson
from django.utils.translation import gettext, gettext_noop

from agent.messages import sanitise_text
from chat.importers.errors import BrokenArchive
from chat.importers.zips import Limits

BOM = b"\xef\xbb\xbf"
DEPTH = 200  # of what is no tree of messages: what goes through it may call itself
LONGEST_NAME = 30  # characters: ids are longer
MOST_NAMES = 1000  # of one file, that are looked up
END = b"\0"  # no JSON has it; put behind a piece, it shows whether a string goes on
STRING = re.compile(rb'"(?:[^"\\\0]++|\\.)*+["\0]', re.DOTALL)
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}

NO_JSON = gettext_noop("not JSON")
TOO_DEEP = gettext_noop("nested too deeply")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for an element of a file of which the others can be read."""

    reason: str


class Bounded:
    """The bytes of a JSON file for ijson, without a mark of UTF-8, which it does not take. Between
    two elements there are no more than the limits allow: of bytes; of values, which may need 40
    times as much memory as they have bytes; and of values in each other, as ijson writes out the
    whole path to each."""

    def __init__(self, stream: BinaryIO, limits: Limits, label: str) -> None:
        self._stream = stream
        self._limits = limits
        self._label = label
        self._begun = False
        self._depth = 0
        self._rest = b""  # what the next piece goes on with: an open string, a backslash
        self.begin_element()

    def begin_element(self) -> None:
        self._bytes = self._values = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        if not self._begun and size:
            self._begun = True
            # A file that is this mark and nothing else is over: b"" would say so as well.
            data = data.removeprefix(BOM)
        self._bytes += len(data)
        deepest = self._follow(data)
        if deepest > self._limits.depth:
            raise BrokenArchive(
                gettext(
                    "{name}: something in it is nested too deeply. What comes after it is not read."
                ).format(name=self._label)
            )
        if self._bytes > self._limits.element or self._values > self._limits.values:
            raise BrokenArchive(
                gettext(
                    "{name}: one conversation in it is larger than {most} MB, or is made of too "
                    "many parts. What comes after it is not read."
                ).format(name=self._label, most=self._limits.element // 10**6)
            )
        return data

    def _follow(self, data: bytes) -> int:
        """Count the values of a piece; returns how deep it leads."""
        data = self._rest + data
        slashes = len(data) - len(data.rstrip(b"\\"))
        held = b"\\" if slashes % 2 else b""
        marks = STRING.sub(b"", data.removesuffix(held) + END)
        is_open = not marks.endswith(END)
        self._rest = (b'"' if is_open else b"") + held
        self._values += marks.count(b"[") + marks.count(b"{") + marks.count(b",")
        steps = map(STEPS.__getitem__, marks.translate(None, NO_BRACKETS))
        depths = list(accumulate(steps, initial=self._depth))
        self._depth = depths[-1]
        return max(depths)


def make_object_type() -> type[dict[str, Any]]:
    """For the objects of one file: names that repeat are one string in memory. Without that they
    take a third of what a conversation of thousands of messages does."""
    names: dict[str, str] = {}

    class Object(dict[str, Any]):
        __slots__ = ()

        def __setitem__(self, name: str, value: Any) -> None:
            if len(name) <= LONGEST_NAME and (name in names or len(names) < MOST_NAMES):
                name = names.setdefault(name, name)
            super().__setitem__(name, value)

    return Object


def read_inner(text: str) -> Any:
    """The value of JSON that stands in a text, such as the arguments of a call; Unreadable where it
    is none, or nothing that can be stored."""
    try:
        value = orjson.loads(text)
    except ValueError:  # too deep, too large a number, half a character too
        return Unreadable(NO_JSON)
    return clean_json(value, DEPTH)


def clean_json(element: Any, depth: int) -> Any:
    """The element with texts that the database takes; Unreadable where it is nested deeper."""
    top = [element]
    level: list[Any] = [top]
    for _ in range(depth + 1):
        level = [inner for container in level for inner in _clean(container)]
        if not level:
            return top[0]
    return Unreadable(TOO_DEEP)


def _clean(container: Any) -> list[Any]:
    """Clean the texts of one array or object; returns what else is in it."""
    places = enumerate(container) if isinstance(container, list) else list(container.items())
    found = []
    for place, value in places:
        if isinstance(value, str):
            container[place] = sanitise_text(value)
        elif isinstance(value, list | dict):
            found.append(value)
    if isinstance(container, dict):
        for key in [key for key in container if "\0" in key]:
            container[sanitise_text(key)] = container.pop(key)
    return found
