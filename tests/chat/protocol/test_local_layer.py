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


async def test_what_is_not_taken_at_once_waits_and_is_not_overtaken() -> None:
    layer = LocalChannelLayer()
    channel = await layer.new_channel()
    await layer.group_add("a", channel)
    taken: list[int] = []

    def take(message: dict) -> bool:
        if message["number"] == 2:
            return False
        taken.append(message["number"])
        return True

    layer.hand_over(channel, take)
    for number in 1, 2, 3:
        await layer.group_send("a", {"type": "event", "number": number})
    assert taken == [1]
    for number in 2, 3:
        assert await received(layer, channel) == {"type": "event", "number": number}
    await layer.group_send("a", {"type": "event", "number": 4})
    assert taken == [1, 4]
    await layer.group_discard("a", channel)
    await layer.group_send("a", {"type": "event", "number": 5})
    assert taken == [1, 4]
