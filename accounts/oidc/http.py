"""Requests to a provider of identities."""

from time import monotonic
from typing import Any

import requests
from django.conf import settings
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError

TIMEOUT = (5, 10)  # s: to connect, and between two bytes
CHUNK = 10_000  # bytes
MOST_SECONDS = 30.0  # of one answer
MOST_BYTES = 2_000_000  # of one, unpacked; those of known providers have some 10,000
MOST_REDIRECTS = 5


class ProxiedSession(requests.Session):
    """Asks servers through the proxies of the settings, and never without limits of time and size:
    a provider that sends without end takes no thread and no memory of the site."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False  # it would send what is meant for this machine to a proxy
        self.max_redirects = MOST_REDIRECTS
        for scheme in ("https://", "http://"):
            self.mount(scheme, LimitedAdapter())


class LimitedAdapter(HTTPAdapter):
    """What `ProxiedSession` promises, for each address that an answer leads on to as well."""

    def send(
        self, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> requests.Response:
        proxy = settings.PROXIES.find(str(request.url))
        if proxy and proxy.fault:
            raise requests.exceptions.ProxyError(proxy.fault)
        ours = {
            "proxies": {"all": proxy.url} if proxy else {},
            "timeout": kwargs.get("timeout") or TIMEOUT,
            "stream": True,
        }
        until = monotonic() + MOST_SECONDS
        answer = super().send(request, *args, **kwargs | ours)
        try:
            content = _read(answer.raw, until)
        except HTTPError as error:
            answer.close()
            raise requests.exceptions.ContentDecodingError(error) from error
        answer._content = content  # where `Response.content` keeps what it has read
        return answer


def _read(body: HTTPResponse, until: float) -> bytes:
    """All of an answer. Raises HTTPError where it breaks off, is not packed as it says, is too long
    or takes longer than `until` (monotonic, in seconds)."""
    read = b""
    # As it arrives: a whole chunk of somebody who sends byte after byte takes too long.
    while part := body.read1(CHUNK, decode_content=True):
        read += part
        if len(read) > MOST_BYTES or monotonic() > until:
            raise HTTPError("The answer is too long, or takes too long.")
    return read
