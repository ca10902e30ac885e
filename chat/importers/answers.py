"""What the nodes of an export say, as messages of ours. Pure.

Elsewhere a call, its result and each paragraph of an answer may be a node by itself. Here the
answer is one message up to its calls, their results are one message of the user's, and the answer
goes on in the next. Where a branch begins, a new message does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from agent.messages import Block
from chat.importers.content import safe_id
from chat.importers.records import ImportedFile, ImportedMessage
from chat.importers.trees import Node, Tree

MOST_CALLS = 100  # that may wait at once: nobody makes more


@dataclass(slots=True)
class Part:
    """What one node says. `role` tool: it is the result `text` of a call of the tool `name`; of the
    one with the id `call`, or else of the nearest one that fits. Files of a result are shown in the
    answer that follows it."""

    role: Literal["user", "assistant", "tool"]
    blocks: list[Block] = field(default_factory=list)
    files: list[ImportedFile] = field(default_factory=list)
    text: str = ""
    name: str = ""
    call: str = ""
    is_error: bool = False
    status: Literal["complete", "interrupted", "failed"] = "complete"
    stop_reason: str = ""
    model: str = ""
    error: str = ""


@dataclass(slots=True)
class _Call:
    """A call of the running answer; `result` has the texts that answer it, in the message
    `answered_in`."""

    id: str
    name: str
    result: list[str] | None = None
    answered_in: ImportedMessage | None = None


@dataclass(frozen=True, slots=True)
class _End:
    """Where a node left its branch: the last message, the calls of the answer that wait, and the
    one that was answered last. Where several nodes follow, none of them may add to what is
    `shared`."""

    message: ImportedMessage | None = None
    calls: tuple[_Call, ...] = ()
    shared: bool = False

    def share(self) -> "_End":
        waiting = tuple(call for call in self.calls if call.result is None)
        return replace(self, calls=waiting, shared=True)


def fold(tree: Tree[Part]) -> list[ImportedMessage]:
    """Every node in a message, each message after its parent."""
    children = tree.count_children()
    folded = _Folded()
    ends: dict[str | None, _End] = {None: _End()}
    for node in tree.nodes.values():
        end = folded.add(node, ends[node.parent])
        ends[node.id] = end.share() if children.get(node.id, 0) > 1 else end
    for block, texts in folded.results:
        block["content"] = "\n\n".join(filter(None, texts))
    return folded.messages


def find_message(messages: Sequence[ImportedMessage], node: str | None) -> str | None:
    """The message that a node ended in: where it brought files, that which shows them."""
    ends = {node, _name_files(node)}
    return next((m.origin for m in reversed(messages) if not ends.isdisjoint(m.origins)), None)


class _Folded:
    def __init__(self) -> None:
        self.messages: list[ImportedMessage] = []
        self.results: list[tuple[Block, list[str]]] = []

    def add(self, node: Node[Part], end: _End) -> _End:
        """The branch with one more node."""
        match node.value.role:
            case "user":
                return _End(self._begin(node, end, node.id, "user"))
            case "assistant":
                return self._add_answer(node, end)
            case "tool":
                return self._add_result(node, end)

    def _begin(
        self, node: Node[Part], end: _End, origin: str, role: Literal["user", "assistant"]
    ) -> ImportedMessage:
        message = ImportedMessage(
            origin=origin,
            parent=end.message.origin if end.message else None,
            role=role,
            blocks=[],
            origins=[] if origin == node.id else [origin],
            at=node.at,
        )
        if role == node.value.role:
            _extend(message, node)
        self.messages.append(message)
        return message

    def _add_answer(self, node: Node[Part], end: _End) -> _End:
        part = node.value
        calls = tuple(_Call(b["id"], b["name"]) for b in part.blocks if b["type"] == "tool_use")
        message = _open_message(end, "assistant")
        if message and _goes_on(message, part):
            _extend(message, node)
        else:
            message = self._begin(node, end, node.id, "assistant")
        return _End(message, (*end.calls, *calls)[-MOST_CALLS:])

    def _add_result(self, node: Node[Part], end: _End) -> _End:
        part = node.value
        call = _find_call(part, end)
        if call is None:
            end, call = self._add_call(node, end)
        if call.result is not None and call.answered_in:
            call.result.append(part.text)
            call.answered_in.origins.append(node.id)
        else:
            end = self._answer(node, end, call)
        if not part.files:
            return end
        message = _open_message(end, "assistant")
        if message is None:
            message = self._begin(node, end, _name_files(node.id), "assistant")
        message.files += part.files
        message.model = message.model or part.model
        return replace(end, message=message, shared=False)

    def _add_call(self, node: Node[Part], end: _End) -> tuple[_End, _Call]:
        """The call that the export does not have: no result stands without one."""
        call = _Call(make_call_id(node.id), node.value.name or "tool")
        message = _open_message(end, "assistant")
        if message is None:
            message = self._begin(node, end, f"{node.id}:call", "assistant")
        message.blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": {}})
        return _End(message, (*end.calls, call)), call

    def _answer(self, node: Node[Part], end: _End, call: _Call) -> _End:
        message = _open_message(end, "user")
        if message is None:
            message = self._begin(node, end, node.id, "user")
        message.origins.append(node.id)
        block: Block = {"type": "tool_result", "tool_use_id": call.id}
        if node.value.is_error:
            block["is_error"] = True
        message.blocks.append(block)
        texts = [node.value.text]
        self.results.append((block, texts))
        answered = replace(call, result=texts, answered_in=message)
        waiting = tuple(each for each in end.calls if each.result is None and each is not call)
        return _End(message, (*waiting, answered))


def _extend(message: ImportedMessage, node: Node[Part]) -> None:
    part = node.value
    message.blocks += part.blocks
    message.files += part.files
    message.origins.append(node.id)
    message.status, message.stop_reason, message.error = part.status, part.stop_reason, part.error
    message.model = part.model or message.model


def _open_message(end: _End, role: str) -> ImportedMessage | None:
    """The last message, if more of a role may be added to it: of a user's, results to results."""
    message = end.message
    if message is None or end.shared or message.role != role:
        return None
    # A user's message has results alone or none, and an answer's calls stand at its end.
    is_results = bool(message.blocks) and message.blocks[0]["type"] == "tool_result"
    return message if role == "assistant" or is_results else None


def _goes_on(message: ImportedMessage, part: Part) -> bool:
    """Whether an answer takes more: after its calls, nothing but calls."""
    has_calls = bool(message.blocks) and message.blocks[-1]["type"] == "tool_use"
    return message.status == "complete" and (not has_calls or _is_calls(part.blocks))


def _is_calls(blocks: Sequence[Block]) -> bool:
    return all(block["type"] == "tool_use" for block in blocks)


def _find_call(part: Part, end: _End) -> _Call | None:
    """Which call a result is of: the one it names, the last that waits, one of its own name first,
    or the one of its name that has a result already, which it goes on with."""
    waiting = [call for call in reversed(end.calls) if call.result is None]
    if part.call:
        return next((call for call in waiting if call.id == part.call), None)
    for call in waiting:
        if call.name == part.name or call.name.startswith(f"{part.name}."):
            return call
    if end.calls and not waiting:
        return end.calls[-1]
    return waiting[0] if waiting else None


def _name_files(node: str | None) -> str:
    return f"{node}:files"


def make_call_id(origin: str) -> str:
    """An id that the API takes, of that of a node."""
    return f"call_{safe_id(origin)}"
