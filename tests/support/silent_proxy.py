"""A network path that forgets its connections, as a NAT or a VPN does: nobody is told."""

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from typing import Self


class SilentProxy:
    """A TCP proxy in a thread of its own to a port of this machine, at `url`."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._open: set[object] = set()
        self._silent: set[object] = set()
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Self:
        listening: Future[int] = Future()
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=[self._run(listening)]
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{listening.result()}"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._loop.close()

    def silence(self) -> None:
        """From now on every connection that is open swallows each byte; new ones work."""
        self._silent |= self._open

    async def _run(self, listening: "Future[int]") -> None:
        self._over = asyncio.Event()
        server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        listening.set_result(server.sockets[0].getsockname()[1])
        await self._over.wait()
        server.close()
        joined = asyncio.all_tasks() - {asyncio.current_task()}
        for task in joined:
            task.cancel()
        await asyncio.gather(*joined, return_exceptions=True)
        await asyncio.sleep(0)  # in which what they have closed is

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        connection = object()
        self._open.add(connection)
        try:
            await asyncio.gather(
                self._pass_on(connection, reader, back), self._pass_on(connection, there, writer)
            )
        finally:
            for each in writer, back:
                each.transport.abort()

    async def _pass_on(
        self, connection: object, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                if connection not in self._silent:
                    sink.write(data)
                    await sink.drain()
        if connection not in self._silent:
            sink.close()
