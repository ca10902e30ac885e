"""Texts as running answers: cut into deltas, written by LiveTurn, received over the layer."""

import asyncio
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from channels.layers import get_channel_layer

from chat.live.live_turn import LiveTurn
from chat.protocol.broadcast import conversation_group

Frame = dict[str, Any]


@dataclass(frozen=True)
class Written:
    """One text in one split: the frames that went out, and what the server says at the end."""

    text: str
    frames: list[Frame]
    snapshot: dict[str, Any]

    @property
    def html(self) -> list[str]:
        return [frame["html"] for frame in self.frames if frame["type"] == "turn.block"]


def splits(text: str) -> Iterator[list[str]]:
    """At once, in lines, in sevens, in random pieces, in characters."""
    dice = random.Random(len(text))
    yield [text]
    yield text.splitlines(keepends=True)
    yield [text[at : at + 7] for at in range(0, len(text), 7)]
    cuts = sorted(dice.randrange(len(text) + 1) for _ in range(6))
    yield [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True) if a < b]
    if len(text) <= 120:
        yield list(text)


def write_all(texts: list[str]) -> list[list[Written]]:
    """Each text in each split. In a thread: Playwright keeps this one's event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(_write_all(texts))).result()


async def _write_all(texts: list[str]) -> list[list[Written]]:
    return [[await write(text, pieces) for pieces in splits(text)] for text in texts]


async def write(text: str, pieces: list[str]) -> Written:
    layer = get_channel_layer()
    channel = await layer.new_channel()
    conversation: UUID = uuid4()
    group = conversation_group(conversation)
    await layer.group_add(group, channel)
    live = LiveTurn(1, conversation, "answer")
    live.begin_message(1, 2)
    frames = []
    for piece in pieces:
        before = live.seq
        await live.write(piece)
        for _ in range(live.seq - before):
            message = await asyncio.wait_for(layer.receive(channel), 5)
            frames.append(json.loads(message["frame"]))
    await layer.group_discard(group, channel)
    return Written(text, frames, live.snapshot()["text"])
