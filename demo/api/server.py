"""The HTTP face: serves a script as the Messages API on the loopback interface.

In a test the server runs in a daemon thread (`with DemoServer() as server`); `python -m demo` runs
it as its own process.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

from aiohttp import web

from demo.api.routes import Api, add_routes
from demo.api.script import Script
from demo.mind.models import DEMO_MODEL, OLLAMA_MODEL, ListedModel

# Above the API's own limit of 32 MB, so that the answer is the API's and not aiohttp's.
CLIENT_MAX_BYTES = 96 * 1024 * 1024


class DemoServer:
    """A Messages API server that answers by a script.

    script: what to answer; tests reach it as `server.script`.
    ollama: behave like Ollama: no count_tokens, the OpenAI model list, no cache in usage, no
        mid-stream `error` event.
    models: what is listed; a request for one of them is checked against its window (tokens).
        Any other model id is answered too, without that check.
    strict: answer a request that breaks a rule with 400, as the API does; otherwise only record.
    sampling: take a temperature, as Ollama and other local servers do and the API does not.
    api_key: the only key that is accepted; None accepts any.
    cache_minimum_tokens, clock: see `demo.api.prompt_cache.PromptCache`.
    port: 0 takes a free one and keeps it over stop and start.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        ollama: bool = False,
        models: Sequence[ListedModel] | None = None,
        strict: bool = True,
        sampling: bool = False,
        api_key: str | None = None,
        cache_minimum_tokens: int = 0,
        clock: Callable[[], float] = time.monotonic,
        host: str = "127.0.0.1",
        port: int = 0,
        control: bool = False,
    ) -> None:
        self.script = script if script is not None else Script()
        listed = tuple(models) if models is not None else (OLLAMA_MODEL if ollama else DEMO_MODEL,)
        self.api = Api(
            self.script,
            ollama=ollama,
            models=listed,
            strict=strict,
            sampling=sampling or ollama,
            api_key=api_key,
            cache_minimum_tokens=cache_minimum_tokens,
            clock=clock,
        )
        self.host = host
        self.port = port
        self._control = control
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner: web.AppRunner | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """The address for the SDK's `base_url`, without `/v1`."""
        return f"http://{self.host}:{self.port}"

    async def open(self) -> str:
        """Listen in the running event loop; returns the base URL."""
        application = web.Application(client_max_size=CLIENT_MAX_BYTES)
        add_routes(application, self.api, control=self._control)
        # Handlers are cancelled when the client goes away: that is how Stop is noticed.
        self._runner = web.AppRunner(
            application, handler_cancellation=True, access_log=None, shutdown_timeout=0.1
        )
        await self._runner.setup()
        self.api.closing = False
        site = web.TCPSite(self._runner, self.host, self.port, backlog=1024)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self.base_url

    async def close(self) -> None:
        """Stop listening and end what is still being answered."""
        self.api.closing = True
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def start(self) -> str:
        """Listen in a daemon thread; returns the base URL. OSError if the port is taken."""
        if self._thread is not None:
            raise RuntimeError("the server is already running")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="demo-server", daemon=True)
        self._thread.start()
        try:
            return asyncio.run_coroutine_threadsafe(self.open(), self._loop).result(timeout=10)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Close, and end the thread. Does nothing if the server does not run."""
        if self._thread is None or self._loop is None:
            return
        asyncio.run_coroutine_threadsafe(self.close(), self._loop).result(timeout=10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()
        self._thread = self._loop = None

    def _run(self) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
