"""Slack's Web API: calls with their faults told apart, and files. The tokens go nowhere else."""

import asyncio
import logging
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from django.conf import settings
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from agent.wire.proxies import is_loopback
from chat.db.outages import SLACK

# What the library logs of itself below this names whole messages.
LIBRARY_LOG = logging.getLogger("slack")
LIBRARY_LOG.setLevel(logging.WARNING)

CALL_SECONDS = 10.0  # shorter than the lease: whoever lost that does not post any more
FILE_SECONDS = 60.0
AWAY = (aiohttp.ClientError, TimeoutError, SlackClientError, OSError)
# As Slack documents them for auth.test: nothing works until an administrator acts.
TOKEN_ERRORS = {
    "account_inactive",
    "invalid_auth",
    "not_allowed_token_type",
    "not_authed",
    "org_login_required",
    "team_access_not_granted",
    "token_expired",
    "token_revoked",
}
PASSING = {"fatal_error", "internal_error", "request_timeout", "service_unavailable"}


class SlackFault(Exception):
    """A call that did not succeed; `str` is for the log."""


class SlackAway(SlackFault):
    """No answer, or one that says to try again: whether it was done is not known."""


class SlackBusy(SlackFault):
    """Too many calls: again in so many `seconds`."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"{method}: too many calls, again in {seconds:.0f} s")
        self.seconds = seconds


class TokenRefused(SlackFault):
    """The tokens count no more: `str` is Slack's code."""


class CallRefused(SlackFault):
    """Slack understood and does not do it: `code` is Slack's, as "not_in_channel"."""

    def __init__(self, method: str, code: str, needed: str = "") -> None:
        super().__init__(f"{method}: {code} {needed}".strip())
        self.code = code


class FileRefused(SlackFault):
    """A file that is not fetched."""


class SlackClient:
    """The Web API for the bot's token. Belongs to one event loop."""

    def __init__(self) -> None:
        self.web = make_web_client(settings.SLACK_BOT_TOKEN)
        self._held: dict[str, float] = {}  # until when a method is not called, by the loop's clock

    async def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """What a method answers. Raises SlackFault."""
        now = asyncio.get_running_loop().time()
        if (held := self._held.get(method, 0.0)) > now:
            raise SlackBusy(method, held - now)
        try:
            response = await getattr(self.web, method.replace(".", "_"))(**arguments)
        except SlackApiError as error:
            raise self._explain(method, error) from error
        except AWAY as error:
            raise _note_away(f"{method}: {type(error).__name__}") from error
        SLACK.note_success()
        return dict(response.data) if isinstance(response.data, dict) else {}

    def _explain(self, method: str, error: SlackApiError) -> SlackFault:
        response = error.response
        status = getattr(response, "status_code", 0)
        body = getattr(response, "data", None)
        data = body if isinstance(body, dict) else {}
        code = str(data.get("error", ""))
        if status == 429 or code == "ratelimited":
            seconds = _read_pause(response.headers)
            self._held[method] = asyncio.get_running_loop().time() + seconds
            return SlackBusy(method, seconds)
        if code in TOKEN_ERRORS:
            return TokenRefused(code)
        if not code or code in PASSING or status >= 500:
            return _note_away(f"{method}: {code or status or 'no answer'}")
        return CallRefused(method, code, str(data.get("needed", "")))  # of a missing_scope

    async def fetch_file(self, address: str, most: int) -> bytes:
        """The bytes of a file of Slack's. Raises FileRefused, and SlackAway."""
        if not is_slack_address(address):
            raise FileRefused("not at Slack")
        timeout = aiohttp.ClientTimeout(total=FILE_SECONDS)
        headers = {"Authorization": f"Bearer {settings.SLACK_BOT_TOKEN}"}
        proxy = find_proxy(address)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(address, headers=headers, proxy=proxy, allow_redirects=False) as found,
            ):
                if found.status >= 500:
                    raise SlackAway(f"file: {found.status}")
                if found.status != 200:  # a redirection leads to the page that asks to sign in
                    raise FileRefused(f"status {found.status}")
                data = bytearray()
                async for piece in found.content.iter_any():
                    data += piece
                    if len(data) > most:
                        raise FileRefused("too large")
                return bytes(data)
        except AWAY as error:
            raise SlackAway(f"file: {type(error).__name__}") from error

    async def respond(self, address: str, text: str) -> None:
        """Say something to who gave a command, whether or not the bot is in the channel."""
        if not is_slack_address(address):
            raise CallRefused("response_url", "not at Slack")
        timeout = aiohttp.ClientTimeout(total=CALL_SECONDS)
        body = {"response_type": "ephemeral", "text": text}
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(
                    address, json=body, proxy=find_proxy(address), allow_redirects=False
                ) as answer,
            ):
                if answer.status >= 400:
                    raise CallRefused("response_url", str(answer.status))
        except AWAY as error:
            raise SlackAway(f"response_url: {type(error).__name__}") from error


def _note_away(reason: str) -> SlackAway:
    fault = SlackAway(reason)
    SLACK.note_failure(fault)
    return fault


def make_web_client(token: str | None = None) -> AsyncWebClient:
    """The library's client, which tries nothing twice: what was posted may be there already."""
    address = settings.SLACK_API_URL
    client = AsyncWebClient(
        token=token,
        base_url=address if address.endswith("/") else f"{address}/",
        timeout=round(CALL_SECONDS),
        trust_env_in_session=False,
        logger=LIBRARY_LOG,
        retry_handlers=[],
    )
    client.proxy = find_proxy(address)  # the library would read the environment by itself
    return client


def find_proxy(address: str) -> str | None:
    """The proxy through which an address is reached, as the environment says."""
    found = settings.PROXIES.find(address)
    return found.url if found else None


def is_slack_address(address: str) -> bool:
    """Whether it is Slack's, with encryption; or where SLACK_API_URL is, if on this machine."""
    own = urlsplit(settings.SLACK_API_URL)
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return False
    if is_loopback(own.hostname or ""):
        return (host, port) == (own.hostname, own.port)
    return parts.scheme in ("https", "wss") and (host == "slack.com" or host.endswith(".slack.com"))


def _read_pause(headers: Any) -> float:
    try:
        return max(float(headers.get("Retry-After", 1)), 0.0)
    except (TypeError, ValueError):
        return 30.0
