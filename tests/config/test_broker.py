"""The queue between the web process and its embedded worker."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from kombu import Connection, Consumer, Message, Producer, Queue

from tests.support.patience import PATIENCE


def connect() -> Connection:
    return Connection("memory://localhost/", transport="config.broker:Transport")


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_a_message_wakes_who_waits_for_it(thread: ThreadPoolExecutor) -> None:
    heard: list[str] = []
    queue = Queue("wakes", durable=False)
    with (
        connect() as receiving,
        connect() as sending,
        Consumer(receiving, [queue], callbacks=[lambda body, _: heard.append(body)]),
    ):
        waiting = thread.submit(receiving.drain_events, timeout=PATIENCE)
        Producer(sending).publish("news", routing_key="wakes", declare=[queue])
        waiting.result(PATIENCE)
    assert heard == ["news"]


def test_who_waits_in_vain_is_told_so() -> None:
    queue = Queue("nothing", durable=False)
    with (
        connect() as connection,
        Consumer(connection, [queue], callbacks=[]),
        pytest.raises(TimeoutError),
    ):
        connection.drain_events(timeout=0.01)


def test_a_worker_with_its_hands_full_is_woken_when_a_task_is_done(
    thread: ThreadPoolExecutor,
) -> None:
    taken: list[Message] = []
    queue = Queue("full", durable=False)
    with (
        connect() as connection,
        Consumer(connection, [queue], callbacks=[lambda _, message: taken.append(message)]) as one,
    ):
        one.qos(prefetch_count=1)
        for body in "first", "second":
            Producer(connection).publish(body, routing_key="full", declare=[queue])
        connection.drain_events(timeout=PATIENCE)
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=0.01)
        waiting = thread.submit(connection.drain_events, timeout=PATIENCE)
        taken[0].ack()
        waiting.result(PATIENCE)
    assert [message.payload for message in taken] == ["first", "second"]
