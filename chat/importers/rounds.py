"""Conversations of other products as messages of ours, where there an answer is one message. Pure:
it knows no database.

There it has what it called and what came back among its texts. Here it is a message with calls, a
message with their results, and so on to its last words.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from agent.messages import Block
from chat.importers.content import as_input, safe_id, text_block
from chat.importers.records import ImportedFile, ImportedMessage
from chat.importers.trees import Node, Tree

Value = TypeVar("Value")

MOST_CALLS = 100  # that may wait at once: nobody makes more
MOST_OF_A_NAME = 128  # characters of a tool's name, as the Messages API takes it


@dataclass(slots=True, eq=False)
class _Call:
    """A call: its id here, its id there if it has one, and which calls were made at once."""

    id: str
    name: str
    key: str
    run: int
    round: "_Round"


@dataclass(slots=True)
class _Round:
    blocks: list[Block] = field(default_factory=list)
    results: list[Block] = field(default_factory=list)
    files: list[ImportedFile] = field(default_factory=list)


class Answer:
    """An answer that is put together in the order in which it was written. `origin` is its id
    there."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._rounds = [_Round()]
        self._made = 0
        self._waiting: list[_Call] = []  # calls without a result
        self._run = 0
        self._in_run = False

    def add(self, *blocks: Block) -> None:
        """What the model said or thought."""
        if blocks:
            self._in_run = False
            self._open_round().blocks += blocks

    def add_text(self, text: str) -> None:
        if text.strip():
            self.add(text_block(text))

    def add_thinking(self, text: str) -> None:
        """For reading: it has no signature, so it is never sent."""
        if text.strip():
            self.add({"type": "thinking", "thinking": text})

    def call(self, name: str, given: Any, key: str = "") -> None:
        """A call of a tool; `key` is its id there. `given` is made an object if it is none."""
        round_ = self._open_round()
        if not self._in_run:
            self._run, self._in_run = self._run + 1, True
        self._made += 1
        call_id = f"{safe_id(self._origin)}-{self._made}"
        name = name.strip()[:MOST_OF_A_NAME] or "tool"
        waiting = _Call(call_id, name, key, self._run, round_)
        self._waiting = [*self._waiting, waiting][-MOST_CALLS:]
        round_.blocks.append(
            {"type": "tool_use", "id": call_id, "name": name, "input": as_input(given)}
        )

    def result(
        self,
        content: str | list[Block],
        *,
        key: str = "",
        name: str = "",
        failed: bool = False,
        files: Iterable[ImportedFile] = (),
    ) -> None:
        """What came back. It belongs to the call with this `key`, or else to one of this `name`
        that has no result yet: the first of those that were made at once, and of several such
        groups the last. Where nothing was called, a call without input takes it."""
        call = self._find_call(key, name)
        if call is None:
            self.call(name, {}, key)
            call = self._waiting[-1]
        self._waiting.remove(call)
        self._in_run = False
        block: Block = {"type": "tool_result", "tool_use_id": call.id, "content": content}
        call.round.results.append(block | ({"is_error": True} if failed else {}))
        self.attach(files)

    @property
    def is_empty(self) -> bool:
        return not self._rounds[0].blocks

    def attach(self, files: Iterable[ImportedFile]) -> None:
        """Files that it made or found: they stand before what it says next."""
        files = [*files]
        if files:
            self._open_round().files += files

    def messages(self, like: ImportedMessage) -> list[ImportedMessage]:
        """Its messages, each the parent of the next: the first has the origin, the time, the model
        and the parent of `like`, and the last words its status. Empty where nothing was said and
        nothing went wrong."""
        made: list[ImportedMessage] = []

        def append(**values: Any) -> None:
            count = len(made) + 1
            origin = like.origin if count == 1 else f"{like.origin}/{count}"
            values |= {"origins": [origin], "parent": made[-1].origin if made else like.parent}
            made.append(replace(like, origin=origin, **values))

        calm = {"status": "complete", "error": ""}
        for each in self._rounds:
            if each.blocks or each.files:
                ends = {} if each is self._rounds[-1] else calm | {"stop_reason": "tool_use"}
                append(role="assistant", blocks=each.blocks, files=each.files, **ends)
            if each.results:
                values = {"role": "user", "blocks": each.results, "files": [], "model": ""}
                append(**values, **calm, stop_reason="")
        if not made and like.error:
            append(role="assistant", blocks=[], files=[])
        return made

    def _open_round(self) -> _Round:
        """The round that is being written; after results a new one."""
        if self._rounds[-1].results:
            self._rounds.append(_Round())
        return self._rounds[-1]

    def _find_call(self, key: str, name: str) -> _Call | None:
        waiting = self._waiting
        if key:
            by_key = next((call for call in waiting if call.key == key), None)
            if by_key:
                return by_key
            waiting = [call for call in waiting if not call.key]
        named = [call for call in waiting if call.name == name] if name else waiting
        return next((call for call in named if call.run == named[-1].run), None)


def list_messages(
    tree: Tree[Value],
    read: Callable[[Node[Value]], list[ImportedMessage]],
    *,
    leaf: str | None = None,
) -> tuple[list[ImportedMessage], str | None]:
    """The messages of a conversation, each after its parent, and the last one of the branch that
    is shown. `read` says what became of a node; a node without messages is left out, and what
    stands on it moves up. `leaf`: the node that the export names."""
    messages_of = {node.id: read(node) for node in tree.nodes.values()}
    kept = tree.keep(lambda node: bool(messages_of[node.id]))
    last: dict[str | None, str | None] = {None: None}
    messages: list[ImportedMessage] = []
    for node in kept.nodes.values():
        own = messages_of[node.id]
        own[0].parent = last[node.parent]
        for message in own:
            message.at = node.at
        last[node.id] = own[-1].origin
        messages += own
    return messages, last[kept.find_leaf(leaf, tree)]
