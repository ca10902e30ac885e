"""The embedded profile's channel layer."""

import asyncio

from chat.protocol.local_layer import LocalChannelLayer


async def received(layer: LocalChannelLayer, channel: str) -> dict | None:
    """What a channel holds, None for nothing."""
    try:
        async with asyncio.timeout(0.01):
            return await layer.receive(channel)
    except TimeoutError:
        return None


async def test_a_channel_without_groups_is_there_for_one_answer() -> None:
    layer = LocalChannelLayer()
    answered, unanswered = await layer.new_channel(), await layer.new_channel()
    await layer.send(answered, {"type": "told"})
    assert await received(layer, answered) == {"type": "told"}
    assert await received(layer, unanswered) is None
    for channel in answered, unanswered:
        await layer.send(channel, {"type": "late"})
        assert await received(layer, channel) is None, "it was forgotten"


async def test_a_channel_lives_as_long_as_it_is_in_a_group() -> None:
    layer = LocalChannelLayer()
    channel = await layer.new_channel()
    await layer.group_add("a", channel)
    await layer.group_add("b", channel)
    await layer.group_discard("a", channel)
    await layer.group_send("a", {"type": "not for it"})
    for number in 1, 2:
        await layer.group_send("b", {"type": "event", "number": number})
        assert await received(layer, channel) == {"type": "event", "number": number}
    await layer.group_discard("b", channel)
    await layer.send(channel, {"type": "late"})
    assert await received(layer, channel) is None


async def test_what_is_handed_over_is_taken_at_once_until_its_channel_leaves() -> None:
    layer = LocalChannelLayer()
    channel = await layer.new_channel()
    taken: list[int] = []
    layer.hand_over(channel, lambda message: taken.append(message["number"]))
    for group in "a", "b":
        await layer.group_add(group, channel)
    for number, group in (1, "a"), (2, "b"):
        await layer.group_send(group, {"type": "event", "number": number})
    await asyncio.to_thread(layer.deliver, "a", {"type": "event", "number": 3})
    await asyncio.sleep(0)
    assert taken == [1, 2, 3]
    assert layer.has_listeners("a")
    await layer.leave(channel)
    await layer.group_send("a", {"type": "event", "number": 4})
    assert taken == [1, 2, 3]
    assert not layer.has_listeners("a")
