"""A provider of identities that sends what none should: each sign-in ends with a page, not with an
error of the server."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from accounts.models import User
from accounts.oidc import http
from config.sign_in import OpenIdProvider, SignUp

CONFIGURATION = "/.well-known/openid-configuration"
CALLBACK = "/account/oidc/login/callback/"
# A token of RS256 with the key "k", whose signature is none.
ID_TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJzdWIiOiIxIn0.AAAA"

pytestmark = pytest.mark.django_db


class Provider(ThreadingHTTPServer):
    """Sends what a test has put into `documents`, by the path: an object as JSON, bytes as they
    are, and a function's chunks without end. `headers` go with
    them, by the path too; with a Location the document is elsewhere."""

    daemon_threads = True
    documents: dict[str, Any]
    headers: dict[str, dict[str, str]]

    @property
    def issuer(self) -> str:
        return f"http://localhost:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        document = self.server.documents[self.path]
        headers = self.server.headers.get(self.path, {})
        self.send_response(302 if "Location" in headers else 200)
        for header in headers.items():
            self.send_header(*header)
        if not isinstance(document, bytes):
            self.send_header("Content-Type", "application/json")
        self.end_headers()
        try:
            if callable(document):
                while chunk := document():
                    self.wfile.write(chunk)
            is_raw = isinstance(document, bytes)
            self.wfile.write(document if is_raw else json.dumps(document).encode())
        except OSError:
            return  # nobody reads on

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        """Nothing on the terminal."""


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    """The provider of all tests: to stop one takes half a second."""
    server = Provider(("localhost", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def provider(running: Provider, settings: Any) -> Provider:
    """One that says of itself what it should, and has no keys."""
    issuer = running.issuer
    running.headers = {}
    running.documents = {
        CONFIGURATION: {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys",
        },
        "/token": {"access_token": "t", "id_token": ID_TOKEN},
        "/keys": {"keys": []},
    }
    settings.SIGN_UP = SignUp("open", frozenset(), "")
    settings.OPENID_PROVIDER = OpenIdProvider(
        issuer=issuer,
        client_id="everlong",
        secret="shared",
        name="Example ID",
        scopes=("openid",),
        groups_claim="groups",
        groups={},
        origins=(issuer,),
    )
    return running


def come_back() -> int:
    """The status with which somebody comes back from the provider."""
    client = Client()
    there = client.post("/account/oidc/login/")["Location"]
    state = parse_qs(urlsplit(there).query)["state"][0]
    return client.get(CALLBACK, {"code": "c", "state": state}).status_code


@pytest.mark.parametrize(
    "document",
    [b"", b"<html>", [], 7, None, "text", {}, ["access_token"], {"access_token": 7},
     {"access_token": "t"}, {"access_token": "t", "id_token": 7},
     {"access_token": "t", "id_token": "a.b.c"}],
)  # fmt: skip
def test_an_answer_to_the_code_that_is_none(provider: Provider, document: Any) -> None:
    provider.documents["/token"] = document
    assert come_back() in (401, 503)
    assert not User.objects.exists()


@pytest.mark.parametrize(
    "document",
    [b"<html>", [], 7, {}, {"keys": None}, {"keys": [1]}, {"keys": [{}]},
     {"keys": [{"kid": "k"}]}, {"keys": [{"kid": "k", "alg": "HS256", "kty": "oct", "k": "AAAA"}]},
     {"keys": [{"kid": "k", "kty": "RSA", "n": 1, "e": 2}]}],
)  # fmt: skip
def test_keys_that_are_none(provider: Provider, document: Any) -> None:
    provider.documents["/keys"] = document
    assert come_back() in (401, 503)
    assert not User.objects.exists()


@pytest.mark.parametrize("document", [b"", b"<html>", [], 7, None, {}, {"issuer": 7}])
def test_what_a_provider_says_of_itself_is_nothing(provider: Provider, document: Any) -> None:
    provider.documents[CONFIGURATION] = document
    assert Client().post("/account/oidc/login/").status_code == 503


@pytest.mark.parametrize("path", [CONFIGURATION, "/token", "/keys"])
def test_an_answer_without_end_is_not_read_for_ever(provider: Provider, path: str) -> None:
    provider.documents[path] = partial(bytes, 100_000)
    if path == CONFIGURATION:
        assert Client().post("/account/oidc/login/").status_code == 503
    else:
        assert come_back() in (401, 503)


def test_an_address_that_has_moved_is_followed_but_what_it_sends_is_not_read_for_ever(
    provider: Provider,
) -> None:
    provider.documents["/new"] = provider.documents[CONFIGURATION]
    provider.headers[CONFIGURATION] = {"Location": "/new"}
    assert Client().post("/account/oidc/login/").status_code == 302
    provider.documents[CONFIGURATION] = partial(bytes, 100_000)
    assert Client().post("/account/oidc/login/").status_code == 503


def test_addresses_that_lead_to_each_other_lead_nowhere(provider: Provider) -> None:
    provider.headers = {
        CONFIGURATION: {"Location": "/new"},
        "/new": {"Location": CONFIGURATION},
    }
    provider.documents["/new"] = {}
    assert Client().post("/account/oidc/login/").status_code == 503


@pytest.mark.parametrize("header", [("Content-Length", "100"), ("Content-Encoding", "gzip")])
@pytest.mark.parametrize("path", [CONFIGURATION, "/token", "/keys"])
def test_an_answer_that_is_not_what_its_header_says(
    provider: Provider, path: str, header: tuple[str, str]
) -> None:
    """Cut off, or not packed."""
    provider.headers[path] = dict([header])
    if path == CONFIGURATION:
        assert Client().post("/account/oidc/login/").status_code == 503
    else:
        assert come_back() in (401, 503)


def test_an_answer_that_drips_is_left_after_a_while(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte in time for the limit between two of them."""
    monkeypatch.setattr(http, "MOST_SECONDS", 0.5)
    pause = threading.Event()

    def drip() -> bytes:
        pause.wait(0.05)
        return b" "

    provider.documents[CONFIGURATION] = drip
    assert Client().post("/account/oidc/login/").status_code == 503
