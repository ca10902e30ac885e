"""The servers of models: one client per event loop, address and key, and one token counter per
process."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any
from weakref import WeakKeyDictionary

import structlog
from django.conf import settings

from agent.context.assemble import Context, assemble, convert_to_text
from agent.context.request import Request
from agent.errors import AgentError, ErrorCode, gettext_noop
from agent.loop import make_last_request
from agent.messages import ApiMessage
from agent.model.client import Client, import_sdk
from agent.model.rules import find_violations
from agent.model_names import split_name
from agent.tokens import TokenCounter
from chat import metrics
from chat.db.threads import call_with_connection, in_db, in_db_with_retries
from chat.engine import attachment_contents, providers, rights
from chat.engine.providers import Endpoint

log = structlog.get_logger(__name__)

_demo_url = ""
_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Endpoint, Client]]" = (
    WeakKeyDictionary()
)


def use_demo_server(base_url: str) -> None:
    """Send model calls to the demo server; it is started by `manage.py serve`."""
    global _demo_url
    _demo_url = base_url


def server_url() -> str:
    """Where calls of the site's own models go; "" is Anthropic's API."""
    return _demo_url or settings.ANTHROPIC_BASE_URL


def load_endpoint(name: str) -> Endpoint:
    """Where a model is asked, by its name. Raises AgentError."""
    if provider := split_name(name)[0]:
        return providers.load_provider_endpoint(provider)
    return _own_endpoint()


def _own_endpoint() -> Endpoint:
    """Of the server that the site was started for."""
    return Endpoint(server_url(), settings.ANTHROPIC_API_KEY)


def load_writer_endpoint(name: str) -> Endpoint:
    """The same for a model that writes summaries and titles: `SUMMARY_MODEL` may have a server of
    its own. No server gets another server's key."""
    if name != settings.SUMMARY_MODEL or split_name(name)[0]:
        return load_endpoint(name)
    if not settings.SUMMARY_BASE_URL:
        return Endpoint(server_url(), settings.SUMMARY_API_KEY or settings.ANTHROPIC_API_KEY)
    return Endpoint(settings.SUMMARY_BASE_URL, settings.SUMMARY_API_KEY)


def new_client(
    endpoint: Endpoint, *, owner_id: int | None = None, timeout: float | None = None
) -> Client:
    """A client for the running loop, to be closed by the caller. `owner_id`: in whose conversation
    it writes whole replies; `timeout`: seconds without a byte."""
    return Client(
        # Local servers ignore the key, but the SDK refuses to send without one.
        api_key=endpoint.key or "none",
        base_url=endpoint.base_url,
        proxies=settings.PROXIES,
        timeout=timeout or settings.MODEL_TIMEOUT,
        caching=settings.PROMPT_CACHING,
        retries=settings.MODEL_RETRIES,
        read=_read,
        check=partial(_check, owner_id),
    )


def _check(owner_id: int | None, request: Request) -> None:
    """Of each call for a whole reply, in a thread. Raises AgentError."""
    if owner_id is not None:
        call_with_connection(partial(rights.require_writer, owner_id, request.model))
    require_valid(request)


async def _read(ids: Sequence[str]) -> Mapping[str, bytes]:
    return await in_db(attachment_contents.read_files, ids)


def get_client() -> Client:
    """The running loop's client of the site's own server, which lives as long as the loop."""
    return _get_client(_own_endpoint())


async def find_client(name: str) -> Client:
    """The running loop's client for a model, by its name. Raises AgentError."""
    if not split_name(name)[0]:
        return get_client()
    return _get_client(await in_db_with_retries(load_endpoint, name))


def _get_client(endpoint: Endpoint) -> Client:
    """One for each address and key, so that a changed key counts from the next request on, and
    answers that are being written keep their connection."""
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if endpoint not in clients:
        clients[endpoint] = new_client(endpoint)
    return clients[endpoint]


async def close_clients() -> None:
    """Close what the running loop has opened."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.close()


def connect_ahead() -> None:
    """Begin to open a connection for a request that will follow. Only where the loop has a client
    already, as a server's has: other loops end soon."""
    client = _clients.get(asyncio.get_running_loop(), {}).get(_own_endpoint())
    if client:
        client.connect_ahead()


def build_request(context: Context, *, final: bool = False) -> Request:
    """The request for a context, `final` where it is the turn's last, checked by the API's rules
    before it goes out. One that breaks a rule is logged and sent as text; AgentError where that
    does not help. It takes some 20 ms a megabyte: a long one is not for the
    event loop."""
    request = _assembled(context, final=final)
    if broken := _violations(request):
        log.error("request repaired", model=context.model, violations=broken[:5])
        metrics.REQUEST_REPAIRED.inc()
        request = _assembled(convert_to_text(context), final=final)
        require_valid(request)
    return request


def _assembled(context: Context, *, final: bool) -> Request:
    request = replace(assemble(context), once=not settings.PROMPT_CACHING)
    return make_last_request(request) if final else request


def require_valid(request: Request, *, resumed: bool = False) -> None:
    """AgentError for a request that the API would refuse. `resumed`: it sends a paused reply back,
    and so may end with the assistant's words."""
    if broken := _violations(request, resumed=resumed):
        log.error("request refused", model=request.model, violations=broken[:5])
        metrics.REQUEST_REFUSED.inc()
        raise AgentError(
            ErrorCode.BAD_REQUEST,
            gettext_noop("Everlong built a request that the API would refuse. Please report it."),
            said=broken[0],
        )


def _violations(request: Request, *, resumed: bool = False) -> list[str]:
    """What a request breaks. Texts that stood in a valid request before are not checked again."""
    body, size = request.body(), len(request.data)
    newer = _leave_out_known(body["messages"])
    # Of a provider's models the profile has said whether they take a temperature.
    sampling = bool(split_name(request.model)[0] or server_url())
    judge = partial(find_violations, body_bytes=size, resumed=resumed, sampling=sampling)
    if judge(body | {"messages": newer}):
        return judge(body)
    for each in newer:
        if isinstance(each, ApiMessage):
            each.valid = True
    return []


def _leave_out_known(messages: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The messages without the inside of the first run of texts that are known to be valid. The
    rules that span messages are about calls and thinking: two texts beside them say as much."""
    known = [isinstance(each, ApiMessage) and each.valid for each in messages]
    start = known.index(True) if True in known else len(known)
    end = known.index(False, start) if False in known[start:] else len(known)
    return messages if end - start <= 4 else [*messages[: start + 2], *messages[end - 2 :]]


@cache
def get_counter() -> TokenCounter:
    return TokenCounter(settings.DATA_DIR / "tiktoken")


def load_ahead() -> None:
    """Load what the first message would otherwise wait for: the SDK, and the vocabulary. More than
    a second of processor time, so a loop does it in a thread."""
    import_sdk()
    _ = get_counter().encoding
