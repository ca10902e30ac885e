"""The configured model server: one client per event loop, one token counter per process."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import structlog
from django.conf import settings

from agent.context.assemble import Context, assemble, convert_to_text
from agent.context.request import Request
from agent.errors import AgentError, ErrorCode, gettext_noop
from agent.loop import make_last_request
from agent.messages import ApiMessage
from agent.model.client import Client, Spent, import_sdk
from agent.model.rules import find_violations
from agent.tokens import TokenCounter
from chat import metrics
from chat.db import in_db
from chat.queries import attachments

log = structlog.get_logger(__name__)

_demo_url = ""
_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, Client]" = WeakKeyDictionary()


def use_demo_server(base_url: str) -> None:
    """Send model calls to the demo server; it is started by `manage.py serve`."""
    global _demo_url
    _demo_url = base_url


def server_url() -> str:
    """Where model calls go; "" is Anthropic's API."""
    return _demo_url or settings.ANTHROPIC_BASE_URL


def new_client(spent: Spent | None = None) -> Client:
    """A client for the running loop, to be closed by the caller."""
    return _client(server_url(), settings.ANTHROPIC_API_KEY, spent)


def new_summary_client(spent: Spent | None = None) -> Client:
    """The same for the model that writes summaries and titles, which may have a server of its own.
    No server gets another server's key."""
    if not settings.SUMMARY_BASE_URL:
        return _client(server_url(), settings.SUMMARY_API_KEY or settings.ANTHROPIC_API_KEY, spent)
    return _client(settings.SUMMARY_BASE_URL, settings.SUMMARY_API_KEY, spent)


def _client(base_url: str, key: str, spent: Spent | None) -> Client:
    return Client(
        # Local servers ignore the key, but the SDK refuses to send without one.
        api_key=key or "none",
        base_url=base_url or None,
        timeout=settings.MODEL_TIMEOUT,
        caching=settings.PROMPT_CACHING,
        retries=settings.MODEL_RETRIES,
        read=_read,
        check=require_valid,
        spent=spent,
    )


async def _read(ids: Sequence[str]) -> Mapping[str, bytes]:
    return await in_db(attachments.read_files, ids)


def get_client() -> Client:
    """The running loop's client, which lives as long as the loop."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = new_client()
    return _clients[loop]


def connect_ahead() -> None:
    """Begin to open a connection for a request that will follow. Only where the loop has a client
    already, as a server's has: other loops end soon."""
    if client := _clients.get(asyncio.get_running_loop()):
        client.connect_ahead()


def build_request(context: Context, *, final: bool = False) -> Request:
    """The request for a context, `final` where it is the turn's last, checked by the API's rules
    before it goes out. One that breaks a rule is logged and sent as text; AgentError where that
    does not help. It takes some 20 ms a megabyte: a long one is not for the
    event loop."""
    request = _assembled(context, final=final)
    if broken := _violations(request):
        log.error("request repaired", model=context.model, violations=broken[:5])
        metrics.count_fault(metrics.Fault.REQUEST_REPAIRED)
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
        metrics.count_fault(metrics.Fault.REQUEST_REFUSED)
        raise AgentError(
            ErrorCode.BAD_REQUEST,
            gettext_noop("Everlong built a request that the API would refuse. Please report it."),
            said=broken[0],
        )


def _violations(request: Request, *, resumed: bool = False) -> list[str]:
    """What a request breaks. Texts that stood in a valid request before are not checked again."""
    body, size = request.body(), len(request.data)
    newer = _leave_out_known(body["messages"])
    if find_violations(body | {"messages": newer}, body_bytes=size, resumed=resumed):
        return find_violations(body, body_bytes=size, resumed=resumed)
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
