"""What a client may do to a real server process: send hugely, slowly, or in great number.

No test counts on speed: where something must not happen, another thing that must is waited for.
"""

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode

import pytest
from websockets import ConnectionClosed, Origin
from websockets.sync.client import ClientConnection, connect

from tests.support.patience import PATIENCE
from tests.support.server import EverlongProcess

PASSWORD = "correct horse battery"
LOGIN = b"POST /account/login/ HTTP/1.1\r\nHost: localhost\r\n"
UPLOAD = b"POST /attachments/ HTTP/1.1\r\nHost: localhost\r\n"
LIMITS = {
    "HEADER_SECONDS": "2",
    "IDLE_SECONDS": "2",
    "BODY_GRACE_SECONDS": "2",
    "BODY_BYTES_PER_SECOND": "1000",
    "LARGE_BODIES": "1",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, site: Path) -> Iterator[EverlongProcess]:
    directory = tmp_path_factory.mktemp("limits")
    process = EverlongProcess(directory, site, **LIMITS).start()
    yield process
    process.kill()


@pytest.fixture(scope="module")
def small_server(tmp_path_factory: pytest.TempPathFactory, site: Path) -> Iterator[EverlongProcess]:
    """Room for few connections, which may take their time, and for fewer of one address (this
    machine's own has no limit)."""
    environment = {"MAX_CONNECTIONS": "12", "HEADER_SECONDS": "600", "BODY_GRACE_SECONDS": "600"}
    environment["CONNECTIONS_PER_ADDRESS"] = "3"
    directory = tmp_path_factory.mktemp("small")
    process = EverlongProcess(directory, site, **environment).start()
    yield process
    process.kill()


@pytest.fixture(autouse=True)
def _serves_others_in_the_end(server: EverlongProcess) -> Iterator[None]:
    yield
    assert ask(server, "/healthz").status == 200, server.log[-4000:]


@pytest.fixture(scope="module")
def session(server: EverlongProcess) -> dict[str, str]:
    """The headers of a signed-in administrator's requests."""
    token = csrf_token(ask(server, server.setup_path))
    fields = {"username": "ada", "password1": PASSWORD, "password2": PASSWORD}
    form = urlencode(fields | {"csrfmiddlewaretoken": token})
    headers = {
        "Cookie": f"{server.cookie('csrf')}={token}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    answer = ask(server, server.setup_path, "POST", form.encode(), headers)
    assert answer.status == 302
    cookies = " ".join(answer.headers.get_all("Set-Cookie"))
    session_id = re.search(r"(everlong_session_\w+=\w+)", cookies)
    token_now = re.search(r"everlong_csrf_\w+=(\w+)", cookies)
    assert session_id
    token = token_now.group(1) if token_now else token
    return {
        "Cookie": f"{server.cookie('csrf')}={token}; {session_id.group(1)}",
        "X-CSRFToken": token,
    }


def csrf_token(answer: HTTPResponse) -> str:
    found = re.search(r"everlong_csrf_\w+=(\w+)", answer.headers["Set-Cookie"])
    assert found
    return found.group(1)


def ask(
    server: EverlongProcess,
    path: str,
    method: str = "GET",
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> HTTPResponse:
    """An ordinary request on a connection of its own; the body of the answer is read."""
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as connection:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        answer.content = answer.read()  # type: ignore[attr-defined]
        return answer


def reach(server: EverlongProcess, *parts: bytes, source: str = "") -> socket.socket:
    own = (source, 0) if source else None
    client = socket.create_connection(("127.0.0.1", server.port), PATIENCE, own)
    for part in parts:
        client.sendall(part)
    return client


def everything(client: socket.socket) -> bytes:
    """What the server sends until it closes the connection, however it does that."""
    received = b""
    try:
        while data := client.recv(65_536):
            received += data
    except ConnectionResetError:
        pass
    return received


def status(client: socket.socket) -> int:
    """The status of the one answer before the server closes."""
    answer = everything(client)
    assert answer.count(b"HTTP/1.1 ") == 1, answer
    return int(answer.split(b" ")[1])


def form_data(data: bytes) -> tuple[bytes, dict[str, str]]:
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    return head + data + b"\r\n--x--\r\n", {"Content-Type": "multipart/form-data; boundary=x"}


def cookie(session: dict[str, str]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in session.items()).encode()


# --- Bodies that are too large --------------------------------------------------------------------


@pytest.mark.parametrize("length", [100_001, 1_500_000_000, 10**19])
def test_a_body_is_refused_by_its_length_before_it_is_sent(
    server: EverlongProcess, length: int
) -> None:
    with reach(server, LOGIN + b"Content-Length: %d\r\n\r\n" % length) as client:
        answer = everything(client)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"Connection: close" in answer
    assert b"at most 100,000 bytes" in answer


def test_the_refusal_is_read_by_a_client_that_is_still_sending(server: EverlongProcess) -> None:
    with reach(server, LOGIN + b"Content-Length: 3000000\r\n\r\n") as client:
        for _ in range(30):
            client.sendall(b"a" * 100_000)
        assert status(client) == 413


def test_chunks_are_counted_as_they_come(server: EverlongProcess) -> None:
    with reach(server, LOGIN + b"Transfer-Encoding: chunked\r\n\r\n") as client:
        for _ in range(11):
            client.sendall(b"2710\r\n" + b"a" * 10_000 + b"\r\n")
        assert status(client) == 413


def test_one_endless_chunk_is_counted_too(server: EverlongProcess) -> None:
    with reach(server, LOGIN + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n") as client:
        client.sendall(b"a" * 110_000)
        assert status(client) == 413


def test_who_is_asked_to_wait_is_refused_at_once(server: EverlongProcess) -> None:
    header = LOGIN + b"Expect: 100-continue\r\nContent-Length: 1500000000\r\n\r\n"
    with reach(server, header) as client:
        assert everything(client).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("cookie", [b"", b"Cookie: %s=made-up\r\n"])
def test_a_strangers_upload_is_refused_before_its_body(
    server: EverlongProcess, cookie: bytes
) -> None:
    cookies = cookie.replace(b"%s", server.cookie("session").encode())
    with reach(server, UPLOAD + cookies + b"Content-Length: 15000000\r\n\r\n") as client:
        answer = everything(client)
    assert answer.startswith(b"HTTP/1.1 302 ")
    assert b"Location: /account/login/" in answer


def test_a_person_uploads_what_fits_and_no_more(
    server: EverlongProcess, session: dict[str, str]
) -> None:
    body, headers = form_data(b"a" * 300_000)
    assert ask(server, "/attachments/", "POST", body, headers | session).status == 201
    body, headers = form_data(b"a" * 15_000_000)  # fits the server; the service refuses it
    refused = ask(server, "/attachments/", "POST", body, headers | session)
    assert refused.status == 422
    with reach(server, UPLOAD + cookie(session) + b"Content-Length: 30000000\r\n\r\n") as client:
        assert status(client) == 413


def test_the_longest_message_fits_a_form_in_its_longest_encoding(
    server: EverlongProcess, session: dict[str, str]
) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"} | session
    form = urlencode({"text": "😀" * 200_001})
    assert len(form) > 2_400_000
    refused = ask(server, "/c/", "POST", form.encode(), headers)
    assert refused.status == 422
    assert b"200,001 characters" in refused.content  # type: ignore[attr-defined]


def test_a_websocket_request_with_a_body_is_refused(server: EverlongProcess) -> None:
    header = (
        b"GET /ws/conversations/1/ HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 50000\r\n\r\n"
    )
    with reach(server, header, b"a" * 50_000) as client:
        assert status(client) == 400


# --- Headers and waits ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 20_000,
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Many: 1\r\n" * 2_000,
    ],
)
def test_a_long_header_is_refused(server: EverlongProcess, header: bytes) -> None:
    with reach(server, header) as client:
        assert status(client) in (400, 431)


def trickle(client: socket.socket, data: bytes) -> bytes:
    """Send a byte every now and then until the server has had enough; what it answers."""
    client.settimeout(0.2)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            client.sendall(data)
            if answer := client.recv(1_000):
                return answer
        except TimeoutError:
            continue
    return b"still open"


def test_a_header_that_comes_byte_by_byte_is_cut_off(server: EverlongProcess) -> None:
    with reach(server, b"GET / HTTP/1.1\r\nX-Slow: ") as client:
        assert trickle(client, b"a").startswith(b"HTTP/1.1 408 ")


def test_a_body_that_comes_byte_by_byte_is_cut_off(server: EverlongProcess) -> None:
    with reach(server, LOGIN + b"Content-Length: 5000\r\n\r\n") as client:
        assert trickle(client, b"a").startswith(b"HTTP/1.1 408 ")


def test_a_slow_body_that_keeps_the_least_rate_is_taken(server: EverlongProcess) -> None:
    with reach(server, LOGIN + b"Content-Length: 90000\r\n\r\n") as client:
        began = time.monotonic()
        sent = 0
        while time.monotonic() < began + 4:  # twice the grace
            client.sendall(b"a" * 2_000)  # twenty times the rate, however rarely it is our turn
            sent += 2_000
            time.sleep(0.1)
        client.sendall(b"a" * (90_000 - sent))
        assert client.recv(12) == b"HTTP/1.1 403"  # Django's: no CSRF token


def test_a_connection_is_kept_for_the_next_request_and_then_closed(server: EverlongProcess) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with reach(server, request) as client:
        assert client.recv(12) == b"HTTP/1.1 200"
        client.sendall(request)
        assert everything(client).count(b"HTTP/1.1 200") == 1


def test_requests_sent_ahead_are_answered_in_order(server: EverlongProcess) -> None:
    paths = [b"/healthz", b"/account/login/", b"/nowhere"] * 20
    requests = [b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path for path in paths]
    with reach(server, b"".join(requests)) as client:
        answers = re.findall(rb"HTTP/1.1 (\d+) ", everything(client))
    assert answers == [b"200", b"200", b"404"] * 20


# --- Many at a time -------------------------------------------------------------------------------


def test_idle_connections_give_way_to_whoever_asks(small_server: EverlongProcess) -> None:
    with ExitStack() as stack:
        idle = [stack.enter_context(reach(small_server)) for _ in range(12)]
        assert ask(small_server, "/healthz").status == 200
        assert everything(idle[0]) == b""


def test_connections_at_work_are_not_cut_off_for_others(small_server: EverlongProcess) -> None:
    header = LOGIN + b"Content-Length: 90000\r\nExpect: 100-continue\r\n\r\n"
    with ExitStack() as stack:
        busy = [stack.enter_context(reach(small_server, header)) for _ in range(12)]
        for client in busy:
            assert client.recv(1_000).startswith(b"HTTP/1.1 100 ")
        assert ask_or_refused(small_server) in (503, 0)
        for client in busy:
            client.sendall(b"a" * 90_000)
            assert client.recv(12) == b"HTTP/1.1 403"


def ask_or_refused(server: EverlongProcess) -> int:
    """The status, or 0 where the connection was closed before the answer could be read."""
    try:
        return ask(server, "/healthz").status
    except ConnectionError:
        return 0


def test_one_address_cannot_take_all_connections(small_server: EverlongProcess) -> None:
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(reach(small_server, source="127.0.0.2"))
        with reach(small_server, source="127.0.0.2") as fourth:
            assert status(fourth) == 503
        assert ask(small_server, "/healthz").status == 200  # another address
    # Its own connections count no more when they are closed.
    deadline = time.monotonic() + PATIENCE
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = b""
    while not answer.startswith(b"HTTP/1.1 200"):
        assert time.monotonic() < deadline
        with reach(small_server, request, source="127.0.0.2") as again:
            answer = everything(again)


def test_large_bodies_wait_for_one_another(
    server: EverlongProcess, session: dict[str, str]
) -> None:
    body, headers = form_data(b"a" * 300_000)
    head = UPLOAD + cookie(session) + b"Connection: close\r\nContent-Length: %d\r\n" % len(body)
    head += b"Content-Type: multipart/form-data; boundary=x\r\n\r\n"
    with ExitStack() as stack:
        clients = [stack.enter_context(reach(server, head, body)) for _ in range(4)]
        stack.enter_context(reach(server, head, body[:-10])).close()  # one goes away meanwhile
        assert [status(client) for client in clients] == [201] * 4


# --- Websockets -----------------------------------------------------------------------------------


@pytest.fixture
def chat(server: EverlongProcess, session: dict[str, str]) -> Iterator[ClientConnection]:
    """The socket of a new conversation, after its first snapshot."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"} | session
    created = ask(server, "/c/", "POST", b"text=Hello", headers)
    path = created.headers["Location"].removeprefix("/c/")
    with connect(
        f"ws://127.0.0.1:{server.port}/ws/conversations/{path}",
        origin=Origin(server.url),
        additional_headers={"Cookie": session["Cookie"]},
        compression=None,
        max_size=None,
    ) as client:
        assert '"snapshot"' in str(client.recv(PATIENCE))
        yield client


@pytest.mark.parametrize("pieces", [1, 2])
def test_a_socket_opens_on_a_connection_that_has_taken_a_file(
    server: EverlongProcess, session: dict[str, str], pieces: int
) -> None:
    """As behind a proxy, which hands a connection to whoever comes next."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"} | session
    created = ask(server, "/c/", "POST", b"text=Hello", headers)
    path = created.headers["Location"].removeprefix("/c/").encode()
    body, _ = form_data(b"a note")
    head = UPLOAD + cookie(session) + b"Content-Length: %d\r\n" % len(body)
    head += b"Content-Type: multipart/form-data; boundary=x\r\n\r\n"
    upgrade = b"GET /ws/conversations/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % (path, server.port)
    upgrade += b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    upgrade += (
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: %s\r\n" % server.url.encode()
    )
    with reach(server, *([head + body] if pieces == 1 else [head, body])) as client:
        with HTTPResponse(client) as taken:
            taken.begin()
            assert taken.status == 201
            taken.read()
        client.sendall(upgrade + cookie(session) + b"\r\n")
        assert client.recv(12) == b"HTTP/1.1 101"


@pytest.mark.parametrize("character", ["a", "\x01", "語", "😀"])
def test_a_message_that_is_too_long_is_answered_with_words(
    chat: ClientConnection, character: str
) -> None:
    text = character + "a" + character * 200_000
    frame = {"type": "message.send", "client_id": "1", "text": text}
    chat.send(json.dumps(frame))  # ASCII: each character takes up to 12 bytes
    while (answer := json.loads(chat.recv(PATIENCE)))["type"] != "error":
        pass
    assert answer["code"] == "message_too_long"


def test_a_frame_that_is_too_large_closes_the_socket_with_its_code(chat: ClientConnection) -> None:
    with suppress(ConnectionClosed):
        chat.send("a" * 30_000_000)
        while chat.recv(PATIENCE):
            pass
    assert chat.close_code == 1009
