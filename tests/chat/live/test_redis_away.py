"""Redis goes away and comes back: database and model work, and so does the site.

The cache and the channel layer of the scaled profile, on a Redis of the test's own.
"""

import asyncio
import signal
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from django.core.cache import cache

from chat.db.outages import ALL, CACHE, LAYER
from chat.protocol.local_layer import LocalChannelLayer
from chat.protocol.redis_layer import RedisChannelLayer
from tests.chat.sockets import PATIENCE, Chat
from tests.support.services import RedisServer, start_own_redis

pytestmark = pytest.mark.on_both


@pytest.fixture(scope="module")
def shared_redis() -> Iterator[RedisServer]:
    server = start_own_redis()
    yield server
    server.stop()


@pytest.fixture
def own_redis(shared_redis: RedisServer, settings: Any) -> Iterator[RedisServer]:
    """What the site's cache and channel layer use; in the end it runs again."""
    assert shared_redis.owned is not None
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "chat.protocol.redis_layer.RedisChannelLayer",
            "CONFIG": {"hosts": [shared_redis.url]},
        }
    }
    settings.CACHES = {
        "default": {
            "BACKEND": "config.caches.SurvivingRedisCache",
            "LOCATION": shared_redis.url,
        }
    }
    yield shared_redis
    shared_redis.owned.process.send_signal(signal.SIGCONT)
    if shared_redis.owned.process.poll() is not None:
        shared_redis.restart()
    for outage in ALL:
        outage.note_success()


async def until(met: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not met():  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.05)


async def next_where(layer: RedisChannelLayer, channel: str, **fields: Any) -> None:
    message: dict[str, Any] = {}
    while not fields.items() <= message.items():
        message = await asyncio.wait_for(layer.receive(channel), PATIENCE)


async def send_again_and_again(layer: RedisChannelLayer, message: dict[str, Any]) -> None:
    while True:
        await layer.group_send("g", message)
        await asyncio.sleep(0.1)


# --- The cache ------------------------------------------------------------------------------------


def test_the_cache_counts_in_this_process_while_redis_is_away(own_redis: RedisServer) -> None:
    cache.set("shared", "of Redis")
    own_redis.stop()
    with structlog.testing.capture_logs() as logs:
        assert cache.get("shared") is None
        assert cache.add("count", 0, 60)
        assert [cache.incr("count") for _ in range(3)] == [1, 2, 3]
        assert not cache.add("count", 0, 60)
        cache.set_many({"a": 1, "b": [2]})
        assert cache.get_many(["a", "b"]) == {"a": 1, "b": [2]}
        with pytest.raises(ValueError, match="not found"):
            cache.incr("unknown")
    assert CACHE.is_ongoing
    assert [line["event"] for line in logs] == ["outage began"], "once, not once a call"


async def test_the_cache_is_shared_again_when_redis_is_back(own_redis: RedisServer) -> None:
    own_redis.stop()
    cache.set("count", 5)
    own_redis.restart()
    await until(lambda: cache.get("count") is None)  # what was counted meanwhile is over
    assert not CACHE.is_ongoing
    cache.set("count", 7)
    assert cache.get("count") == 7
    own_redis.stop()
    assert cache.get("count") is None, "nothing of an earlier outage"


def test_a_silent_redis_costs_one_call_in_a_while(own_redis: RedisServer) -> None:
    assert own_redis.owned is not None
    cache.set("x", 1)
    own_redis.owned.process.send_signal(signal.SIGSTOP)
    cache.get("x")
    assert CACHE.is_ongoing
    for _ in range(2_000):  # a second each would take half an hour
        cache.get("x")


# --- The channel layer ----------------------------------------------------------------------------


async def test_events_reach_this_process_without_redis_and_all_of_it_after(
    own_redis: RedisServer,
) -> None:
    layer = RedisChannelLayer([own_redis.url])
    other = RedisChannelLayer([own_redis.url])  # another process
    try:
        here, there = await layer.new_channel(), await other.new_channel()
        await layer.group_add("g", here)
        await other.group_add("g", there)
        own_redis.stop()
        await layer.group_send("g", {"n": 1})
        late = await layer.new_channel()  # somebody comes meanwhile
        await layer.group_add("g", late)
        await layer.group_send("g", {"n": 2})
        assert LAYER.is_ongoing
        seen = [await asyncio.wait_for(layer.receive(here), PATIENCE) for _ in range(3)]
        assert [message.get("n", "resync") for message in seen] == ["resync", 1, 2]
        assert (await asyncio.wait_for(layer.receive(late), PATIENCE))["n"] == 2

        own_redis.restart()
        readers = ((layer, here), (layer, late), (other, there))
        for each, channel in readers:
            await next_where(each, channel, name="resync")
        again = asyncio.create_task(send_again_and_again(other, {"n": 3}))  # until both are back
        for each, channel in readers:
            await next_where(each, channel, n=3)
        again.cancel()
    finally:
        await layer.flush()
        await other.flush()


async def test_what_is_handed_over_is_taken_from_every_process_until_its_channel_leaves(
    own_redis: RedisServer,
) -> None:
    layer, other = RedisChannelLayer([own_redis.url]), RedisChannelLayer([own_redis.url])
    try:
        channel = await layer.new_channel()
        taken: list[int] = []
        layer.hand_over(channel, lambda message: taken.append(message["n"]))
        await layer.group_add("g", channel)
        await other.group_send("g", {"n": 1})
        await until(lambda: taken == [1])
        await asyncio.to_thread(layer.deliver, "g", {"n": 2})
        await until(lambda: taken == [1, 2])

        await layer.leave(channel)
        last = await layer.new_channel()
        await layer.group_add("g", last)
        await other.group_send("g", {"n": 3})
        await next_where(layer, last, n=3)
        assert taken == [1, 2]
    finally:
        await layer.flush()
        await other.flush()


async def test_a_silent_redis_holds_nobody_up_for_long(own_redis: RedisServer) -> None:
    assert own_redis.owned is not None
    layer = RedisChannelLayer([own_redis.url])
    try:
        channel = await layer.new_channel()
        await layer.group_add("g", channel)
        own_redis.owned.process.send_signal(signal.SIGSTOP)
        async with asyncio.timeout(PATIENCE):
            for n in range(500):  # seconds each would be too many
                await layer.group_send("g", {"n": n})
        got = [await asyncio.wait_for(layer.receive(channel), PATIENCE) for _ in range(501)]
        assert [m["n"] for m in got if "n" in m] == list(range(500))
    finally:
        own_redis.owned.process.send_signal(signal.SIGCONT)
        await layer.flush()


# --- The site -------------------------------------------------------------------------------------


async def test_an_answer_goes_on_while_redis_is_away(own_redis: RedisServer, chat: Chat) -> None:
    gate = chat.script.stall("Half of it", then=" and the rest.")
    tab = await chat.open()
    tab.say("Tell me")
    await gate.wait_reached()
    await tab.until(lambda: tab.all("turn.delta"))
    await asyncio.to_thread(own_redis.stop)
    gate.release()
    finished = await tab.next("turn.finished", status="completed")
    assert "Half of it and the rest." in finished["html"]
    states = [frame["text"] for frame in tab.all("site.state")]
    assert len(states) == 1
    assert "Part of the server is away" in states[0]

    # All else works too: pages, new sockets, new messages, with as many answers as messages.
    page = await chat.http.get(chat.conversation.get_absolute_url())
    assert page.status_code == 200
    late = await chat.open()
    await late.next("site.state")
    chat.script.reply("A second one.")
    late.say("And now?")
    await late.next("turn.finished", status="completed")
    assert late.text == "A second one."

    await asyncio.to_thread(own_redis.restart)
    for each in (tab, late):
        await each.next("site.state", text="")
        await each.next("snapshot")
    chat.script.reply("A third one.")
    tab.say("And then?")
    for each in (tab, late):
        await each.next("turn.finished", status="completed")
        assert each.text.endswith("A third one.")
    assert await chat.is_idle()


async def test_a_stored_message_is_answered_once_whatever_becomes_of_its_events(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost() -> None:
        raise ConnectionError("the layer is gone")

    monkeypatch.setattr(LocalChannelLayer, "deliver", lambda self, group, message: lost())
    chat.script.reply("An answer.")
    tab = await chat.open()
    client_id = tab.say("Tell me")
    await chat.eventually(lambda message: message.text == "An answer.")
    tab.say("Tell me", client_id=client_id)  # the page tries again
    await tab.next("message.created", client_id=client_id)
    assert tab.all("error") == [], "it was stored"
    assert len(chat.script.requests) == 1
