"""Conversations that are held without a page: for walks whose subject comes after them. An exchange
takes a fifth of the processor time that it takes in Chromium."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
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
        talker = Talker(socket, said[0])
        for text in said[1:]:
            talker.compact() if text == "/compact" else talker.say(text)
        talker.wait_for_title()
    return f"{server.url}{path}"


def empty_list(server: EverlongProcess) -> None:
    """Every conversation of a server as one that its owner deleted: a list of all that walks have
    left makes every page of the next ones slower. In its database, which takes no time; and in the
    far future, so that no sweep removes what walks share."""
    _update(server, "deleted_at = '2999-12-31 00:00:00' WHERE deleted_at IS NULL")


def list_again(server: EverlongProcess, *conversations: str) -> None:
    """Restore conversations of walks before, which share them: their ids or addresses."""
    for each in conversations:
        pk = each.rstrip("/").rpartition("/")[2].replace("-", "")
        _update(server, "deleted_at = NULL WHERE id = ?", pk)


def _update(server: EverlongProcess, change: str, *values: str) -> None:
    file = Path(server.environment["DATA_DIR"], "everlong.sqlite3")
    with closing(sqlite3.connect(file, timeout=PATIENCE)) as database, database:
        database.execute(f"UPDATE chat_conversation SET {change}", values)


class Talker:
    """A socket of a conversation whose first answer has come."""

    def __init__(self, socket: ClientConnection, opening: str) -> None:
        """`opening`: the first message. If it is short, it is the title until there is one."""
        self._socket = socket
        self._titled = False
        snapshot = self._wait_for(type="snapshot")
        self._titled = self._titled or snapshot["title"] != opening
        if snapshot["turn"]:
            self._wait_for(type="turn.finished")

    # The turn's beginning first: what is told of the one before may come after the snapshot.

    def say(self, text: str) -> None:
        name = uuid4().hex
        self._send(type="message.send", client_id=name, text=text)
        self._wait_for(type="message.created", client_id=name)
        self._wait_for(type="turn.finished")

    def compact(self) -> None:
        self._send(type="compact")
        self._wait_for(type="CompressionStarted")
        self._wait_for(type="turn.finished")

    def wait_for_title(self) -> None:
        """It refreshes the list, which a walk may be about."""
        if not self._titled:
            self._wait_for(type="conversation.updated")

    def _send(self, **frame: str) -> None:
        self._socket.send(json.dumps(frame))

    def _wait_for(self, **fields: str) -> dict[str, object]:
        """The next event with these fields. No error may come before."""
        while True:
            event: dict[str, object] = json.loads(self._socket.recv(PATIENCE))
            assert event["type"] != "error", event
            self._titled = self._titled or event["type"] == "conversation.updated"
            if fields.items() <= event.items():
                return event
