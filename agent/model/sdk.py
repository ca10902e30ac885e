"""The `anthropic` SDK, set up to send what it is told to, where it is told to, and nothing else.

By itself it reads a dozen variables and files, follows redirects with the key, and takes whatever
comes back.
"""

import ssl
from typing import TYPE_CHECKING

import aiohttp
import httpx2

from agent.errors import AgentError, ErrorCode, gettext_noop
from agent.wire.bounded import PLAIN, bound
from agent.wire.proxies import Proxy

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

ANTHROPIC = "https://api.anthropic.com"
CONNECT_SECONDS = 10.0
# How long a connection without a request stays open: longer than most people think before they
# answer, shorter than routers on the way keep it in mind. The library's 5 s would have nearly every
# turn connect anew.
IDLE_SECONDS = 120.0
# The SDK's own number.
MOST_CONNECTIONS = 1000
# A reply of 128,000 tokens takes some 40 MB, where each comes in an event of 300 bytes; pages and
# documents that the server's own tools fetch come on top.
LARGEST_REPLY = 100_000_000
# Counts and lists of models have some kB, the list of a large router 1 MB.
LARGEST_ANSWER = 8_000_000
PROXY_WANTED = gettext_noop(
    "The model's server cannot be asked through its proxy: that takes one of http:// or https://. "
    "An administrator has to name one, or the server in NO_PROXY, and to restart Everlong."
)


def make_sdk(
    api_key: str, url: str, proxy: Proxy | None, timeout: float, tls: ssl.SSLContext
) -> "tuple[AsyncAnthropic, httpx2.AsyncClient]":
    """The SDK for one server, and the HTTP client below it. `timeout`: seconds without a byte."""
    import anthropic  # see agent.model.client

    http = anthropic.DefaultAioHttpClient(
        verify=tls,
        limits=httpx2.Limits(max_connections=MOST_CONNECTIONS, keepalive_expiry=IDLE_SECONDS),
        trust_env=False,
        proxy=_for_aiohttp(proxy) if proxy and not proxy.fault else None,
        follow_redirects=False,  # they would carry the key along
        event_hooks={"response": [_bound]},
    )
    sdk = anthropic.AsyncAnthropic(
        api_key=api_key,
        base_url=url,
        webhook_key="",
        max_retries=0,  # the SDK obeys any retry-after in silence
        timeout=httpx2.Timeout(timeout, connect=CONNECT_SECONDS),
        open_telemetry=False,
        http_client=http,
    )
    # There is no parameter against ANTHROPIC_CUSTOM_HEADERS.
    sdk._custom_headers = PLAIN
    return sdk, http


async def _bound(response: httpx2.Response) -> None:
    replies = response.request.url.path.endswith("/messages")
    await bound(response, LARGEST_REPLY if replies else LARGEST_ANSWER)


def _for_aiohttp(proxy: Proxy) -> httpx2.Proxy:
    """A proxy whose password goes as a header: the SDK's transport takes a form of it that aiohttp
    warns of."""
    named = httpx2.Proxy(proxy.url)
    if named.auth is None:
        return named
    password = aiohttp.encode_basic_auth(*named.auth)
    # aiohttp sends it as Proxy-Authorization, and to the proxy alone.
    return httpx2.Proxy(named.url, headers={"Authorization": password})


def require_sendable(api_key: str, url: httpx2.URL, proxy: Proxy | None) -> None:
    """AgentError where nothing can be asked: the transport would say that a connection was lost."""
    if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
        raise AgentError(
            ErrorCode.BAD_KEY,
            gettext_noop(
                "The API key has a blank, a line end or another character in it that cannot be "
                "sent. An administrator has to correct ANTHROPIC_API_KEY and restart the server, "
                "or to enter the provider's key anew."
            ),
        )
    if url.userinfo:
        raise AgentError(
            ErrorCode.SERVER_UNREACHABLE,
            gettext_noop(
                "The address of the model's server has a name or a password in it, which cannot be "
                "sent beside a key. An administrator has to take it out of ANTHROPIC_BASE_URL, and "
                "to restart the server."
            ),
        )
    if proxy and proxy.fault:
        raise AgentError(ErrorCode.SERVER_UNREACHABLE, PROXY_WANTED, said=f"{proxy.fault}.")
