"""What `read_messages` shows of the pictures and PDFs in a message."""

from collections.abc import Callable
from functools import cache, cached_property

from agent.messages import Block
from chat.models import Attachment, Conversation, Message, Turn
from chat.queries.readable_files import can_read, find_kept, list_files
from chat.tools.scope import Scope

AGAIN = "To look at it again, the user must attach it again: tell them."
SHOWN = "[{name} stands in this turn already.]"
GONE = "[{name} is not kept any more. {again}]"
UNREADABLE = "[{name} cannot be shown: this model is not known to read such files. {again}]"
CROWDED = "[{name} has no room in this result: read #{number} alone.]"
TOO_LARGE = "[{name} is too large for the result of a tool. {again}]"
MOST_FILES = 10  # of one result


class ShownFiles:
    """The files of one result, within the room of its `scope`, which its texts share. `in_sight`
    gives the keys of the running turn's messages that the model sees whole."""

    def __init__(self, scope: Scope, in_sight: Callable[[], set[int]]) -> None:
        self._scope = scope
        self._room = scope.room
        self._count = 0
        self._in_sight = in_sight
        self._can_read = cache(lambda kind: can_read(scope.owner_id, self._model, kind))

    def take(self, tokens: int) -> None:
        """Leave so many raw tokens less for files."""
        self._room -= tokens

    def show(self, row: Message, *, alone: bool) -> list[str | Block]:
        """The files of a message, or in place of one why it is not shown. `alone`: the result
        begins with this message."""
        files = {str(block["source"]["id"]): block for block in list_files(row.blocks)}
        kept = find_kept(self._scope.owner_id, list(files)) if files else {}
        return [
            self._show(block, kept.get(pk), row.number, alone=alone) for pk, block in files.items()
        ]

    def _show(
        self, block: Block, file: Attachment | None, number: int, *, alone: bool
    ) -> str | Block:
        name = str(block.get("title") or block["type"])
        if file is None:
            return GONE.format(name=name, again=AGAIN)
        if str(file.pk) in self._shown:
            return SHOWN.format(name=name)
        if not self._can_read(file.kind):
            return UNREADABLE.format(name=name, again=AGAIN)
        if file.tokens > self._room or self._count == MOST_FILES:
            too_large = alone and not self._count
            words = TOO_LARGE if too_large else CROWDED
            return words.format(name=name, number=number, again=AGAIN)
        self._count += 1
        self.take(file.tokens)
        return {key: block[key] for key in ("type", "title", "source") if key in block}

    @cached_property
    def _shown(self) -> set[str]:
        """The ids of the files that the model sees in this turn."""
        rows = Message.objects.filter(pk__in=self._in_sight()).only("blocks")
        return {str(block["source"]["id"]) for row in rows for block in list_files(row.blocks)}

    @cached_property
    def _model(self) -> str:
        """The name of the model that reads."""
        pk = self._scope.conversation_id
        turn = Turn.objects.filter(conversation=pk, status__in=Turn.ACTIVE).first()
        return turn.answering_model if turn else Conversation.objects.get(pk=pk).model
