"""Conversations that are held without a page: for walks whose subject comes after them. An exchange
takes a fifth of the processor time that it takes in Chromium."""

import json
from urllib.parse import urlencode
from urllib.request import Request, urlopen
from uuid import uuid4

from playwright.sync_api import StorageState
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests.support.patience import PATIENCE
from tests.support.server import EverlongProcess


def hold_conversation(server: EverlongProcess, state: StorageState, *said: str) -> str:
    """What a person says, each when the answer to the one before is complete; `/compact` compacts.
    Returns the address of the conversation."""
    cookies = {cookie["name"]: cookie["value"] for cookie in state["cookies"]}
    headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    opening = Request(
        f"{server.url}/c/",
        urlencode({"text": said[0]}).encode(),
        headers | {"X-CSRFToken": cookies["csrftoken"], "X-Requested-With": "XMLHttpRequest"},
    )
    with urlopen(opening, timeout=PATIENCE) as response:
        path = response.headers["Location"]
    with connect(
        f"{server.url.replace('http', 'ws', 1)}/ws/conversations/{path.split('/')[2]}/",
        origin=Origin(server.url),
        additional_headers=headers,
    ) as socket:
        if _wait_for(socket, type="snapshot")["turn"]:
            _wait_for(socket, type="turn.finished")
        for text in said[1:]:
            # Its beginning first: what is told of the turn before may come after the snapshot.
            if text == "/compact":
                socket.send(json.dumps({"type": "compact"}))
                _wait_for(socket, type="CompressionStarted")
            else:
                name = uuid4().hex
                frame = {"type": "message.send", "client_id": name, "text": text}
                socket.send(json.dumps(frame))
                _wait_for(socket, type="message.created", client_id=name)
            _wait_for(socket, type="turn.finished")
    return f"{server.url}{path}"


def _wait_for(socket: ClientConnection, **fields: str) -> dict[str, object]:
    """The next event with these fields. No error may come before."""
    while True:
        event: dict[str, object] = json.loads(socket.recv(PATIENCE))
        assert event["type"] != "error", event
        if fields.items() <= event.items():
            return event
