"""In which order, and by which way, frames leave for a socket."""

import asyncio

from chat.live import outbox
from chat.live.outbox import Outbox


class Server:
    """Notes what is written and what is sent; it writes while `writes`."""

    def __init__(self) -> None:
        self.writes = True
        self.out: list[str] = []

    def write(self, frame: bytes) -> bool:
        if self.writes:
            self.out.append(f"written {frame.decode()}")
        return self.writes

    async def send(self, text: str) -> None:
        await asyncio.sleep(0)
        self.out.append(f"sent {text}")


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_what_cannot_be_written_is_sent_and_not_overtaken() -> None:
    server = Server()
    box = Outbox(server.write, server.send)
    box.put(b"1")
    server.writes = False
    box.put(b"2")
    await asyncio.sleep(0)  # it is on its way
    server.writes = True
    box.put(b"3")
    await settle()
    assert server.out == ["written 1", "sent 2", "written 3"]


async def test_what_is_put_while_it_is_held_waits_behind_what_is_sent() -> None:
    server = Server()
    box = Outbox(server.write, server.send)
    with box.hold():
        with box.hold():
            box.put(b"news")
        box.put(b"more")
        await box.send(b"snapshot")
    assert server.out == ["written snapshot", "written news", "written more"]


async def test_a_closed_one_lets_nothing_out() -> None:
    server = Server()
    server.writes = False
    box = Outbox(server.write, server.send)
    box.put(b"1")
    box.close()
    server.writes = True
    box.put(b"2")
    await settle()
    assert server.out == []


async def test_who_falls_too_far_behind_loses_the_newest() -> None:
    server = Server()
    box = Outbox(server.write, server.send)
    with box.hold():
        for number in range(outbox.CAPACITY + 5):
            box.put(str(number).encode())
    assert len(server.out) == outbox.CAPACITY
    assert server.out[-1] == f"written {outbox.CAPACITY - 1}"
