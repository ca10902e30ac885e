"""The configured model server: one client per event loop, one token counter per process."""

import asyncio
from functools import cache
from weakref import WeakKeyDictionary

from django.conf import settings

from agent.llm import Client
from agent.tokens import TokenCounter

_demo_url = ""
_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, Client]" = WeakKeyDictionary()


def use_demo_server(base_url: str) -> None:
    """Send model calls to the demo server; it is started by `manage.py serve`."""
    global _demo_url
    _demo_url = base_url


def server_url() -> str:
    """Where model calls go; "" is Anthropic's API."""
    return _demo_url or settings.ANTHROPIC_BASE_URL


def new_client() -> Client:
    """A client for the running loop, to be closed by the caller."""
    return Client(
        # Local servers ignore the key, but the SDK refuses to send without one.
        api_key=settings.ANTHROPIC_API_KEY or "none",
        base_url=server_url() or None,
        timeout=settings.MODEL_TIMEOUT,
        caching=settings.PROMPT_CACHING,
        retries=settings.MODEL_RETRIES,
    )


def client() -> Client:
    """The running loop's client, which lives as long as the loop."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = new_client()
    return _clients[loop]


@cache
def counter() -> TokenCounter:
    return TokenCounter(settings.DATA_DIR / "tiktoken")
