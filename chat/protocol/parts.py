"""Parts of events that are more than one value."""

from typing import TypedDict


class Breakdown(TypedDict):
    """Tokens."""

    system: int
    project: int
    tools: int
    summary: int
    conversation: int
    reserve: int


class Totals(TypedDict):
    """Of the conversation so far."""

    compactions: int


class LiveText(TypedDict):
    """What a page needs to show an answer so far. The live tail `text` begins at `through`."""

    message_id: int | None
    number: int | None
    seq: int
    html: str
    through: int
    text: str
    thinking: str
    rows: str


class LiveAnswer(TypedDict):
    """An answer so far, and the HTML of its open questions."""

    text: LiveText
    questions: str


class TurnState(LiveText):
    """The turn of a snapshot."""

    turn_id: int
    kind: str
    status: str
