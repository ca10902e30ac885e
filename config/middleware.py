"""ASGI applications around those of the site: see `config.asgi`."""

from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import structlog
from asgiref.sync import ThreadSensitiveContext
from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.utils.http import is_same_domain

log = structlog.get_logger(__name__)

PORTS = {"http": 80, "https": 443}
MOST_THREADS_KEPT = 8

_idle: list[ThreadPoolExecutor] = []


class BelowPath:
    """An ASGI application below a path. Proxies may pass the path on or take it away: the
    application always sees it."""

    def __init__(self, application: Any, path: str) -> None:
        self._application = application
        self._path = path

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        if not f"{scope['path']}/".startswith(self._path):
            scope = {**scope, "path": self._path + scope["path"].removeprefix("/")}
        return await self._application(scope, receive, send)


class ReusingThreads:
    """An ASGI application whose requests have, one after the other, the same threads, each with its
    database connection. Django would begin a thread for each request, which opens the database
    anew: a fifth of the processor time of a page."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        thread = _idle.pop() if _idle else ThreadPoolExecutor(1, thread_name_prefix="request")
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self._application(scope, receive, send)
        finally:
            # Its own last work: where a client left, a view may still be running in there.
            thread.submit(_keep, thread)


def _keep(thread: ThreadPoolExecutor) -> None:
    if len(_idle) < MOST_THREADS_KEPT:
        _idle.append(thread)
    else:
        thread.shutdown(wait=False)


class SameOriginMiddleware:
    """Lets only this site's own pages open a websocket: browsers send cookies with any page's.
    Passes a handshake on if its `Origin` is the site as the browser reached it (scheme, host and
    port), or one of CSRF_TRUSTED_ORIGINS: the rule that Django has for forms. None is refused."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        if _is_allowed(scope):
            return await self._application(scope, receive, send)
        return await WebsocketDenier()(scope, receive, send)


def _is_allowed(scope: dict[str, Any]) -> bool:
    # As a request of Django's, which knows the settings about hosts and proxies.
    scheme = "https" if scope.get("scheme") == "wss" else "http"
    request = ASGIRequest(scope | {"method": "GET", "scheme": scheme}, BytesIO())
    origin = request.headers.get("Origin", "")
    try:
        own = f"{request.scheme}://{request.get_host()}"
    except DisallowedHost as error:
        log.warning("socket refused", origin=origin, reason=str(error))
        return False
    given = _parts(origin)
    trusted = settings.CSRF_TRUSTED_ORIGINS
    if given and (given == _parts(own) or any(_trusts(each, given) for each in trusted)):
        return True
    log.warning(
        "socket refused: its Origin is not this site",
        origin=origin,
        site=own,
        next_step="If this is your site's address, set HTTPS or CSRF_TRUSTED_ORIGINS.",
    )
    return False


def _parts(origin: str) -> tuple[str, str, int] | None:
    """Scheme, host and port; None for what is not an origin, as `null`."""
    try:
        url = urlsplit(origin)
        if url.scheme not in PORTS or not url.hostname or url.path or url.query or url.fragment:
            return None
        return url.scheme, url.hostname, url.port or PORTS[url.scheme]
    except ValueError:
        return None


def _trusts(trusted: str, given: tuple[str, str, int]) -> bool:
    """Whether an entry of CSRF_TRUSTED_ORIGINS, perhaps `https://*.example.com`, holds for it."""
    parts = _parts(trusted.replace("://*.", "://."))
    if parts is None:
        return False
    scheme, host, port = parts
    return (scheme, port) == (given[0], given[2]) and is_same_domain(given[1], host)
