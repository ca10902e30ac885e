"""Conversations that are held without a page: for walks whose subject comes after them. An exchange
takes a fifth of the processor time that it takes in Chromium."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen
from uuid import UUID, uuid4

from playwright.sync_api import StorageState
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests.support.patience import PATIENCE
from tests.support.server import EverlongProcess, manage


def hold_conversation(server: EverlongProcess, state: StorageState, *said: str) -> str:
    """What a person says, each when the answer to the one before is complete; `/compact` compacts.
    Returns the address of the conversation."""
    cookies = {cookie["name"]: cookie["value"] for cookie in state["cookies"]}
    headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    opening = Request(
        f"{server.url}/c/",
        urlencode({"text": said[0]}).encode(),
        headers
        | {"X-CSRFToken": cookies[server.cookie("csrf")], "X-Requested-With": "XMLHttpRequest"},
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


def import_session(server: EverlongProcess, file: Path, times: Sequence[float], title: str) -> str:
    """A conversation with a message for each of these times, in seconds, of which the nth says
    "number n"; its address. `file`: to be written."""
    lines: list[object] = [{"type": "session", "id": title, "version": 3}]
    for number, time in enumerate(times, 1):
        content = [{"type": "text", "text": f"This is number {number}."}]
        message = {"role": "user" if number % 2 else "assistant", "content": content}
        lines.append({"type": "message", "message": message | {"timestamp": time * 1_000}})
    file.write_text("\n".join(map(json.dumps, lines)))
    options = {"--owner": "ada", "--title": title, "--model": "other-model"}  # with room for them
    manage(server.environment, "import_session", str(file), *chain(*options.items()))
    (pk,) = _execute(server, "SELECT id FROM chat_conversation WHERE title = ?", title)
    return f"{server.url}/c/{UUID(pk)}/"


def forget(server: EverlongProcess) -> None:
    """Nothing is listed, remembered, connected or preferred: what walks have left makes every page
    of the next ones slower. In the database, which takes no time; as if the owner had deleted all,
    but in the far future, so that no sweep removes what walks share."""
    _execute(
        server,
        "UPDATE chat_conversation SET deleted_at = '2999-12-31 00:00:00' WHERE deleted_at IS NULL",
    )
    _execute(server, "UPDATE accounts_user SET appearance = '', language = '', default_model = ''")
    for table in "chat_memory", "chat_mcpserver", "accounts_accesstoken":
        _execute(server, f"DELETE FROM {table}")


def list_again(server: EverlongProcess, *conversations: str) -> None:
    """Restore conversations of walks before, which share them: their ids or addresses."""
    for each in conversations:
        pk = each.rstrip("/").rpartition("/")[2].replace("-", "")
        _execute(server, "UPDATE chat_conversation SET deleted_at = NULL WHERE id = ?", pk)


def _execute(server: EverlongProcess, statement: str, *values: str) -> list[str]:
    """The first column."""
    file = Path(server.environment["DATA_DIR"], "everlong.sqlite3")
    with closing(sqlite3.connect(file, timeout=PATIENCE)) as database, database:
        return [row[0] for row in database.execute(statement, values)]


class Talker:
    """A socket of a conversation whose first answer has come."""

    def __init__(self, socket: ClientConnection, opening: str) -> None:
        """`opening`: the first message. If it is short, it is the title until there is one."""
        self._socket = socket
        self._titled = False
        snapshot = self._wait_for(type="snapshot")
        self._titled = self._titled or snapshot["title"] != opening
        if turn := snapshot["turn"]:
            assert isinstance(turn, dict)
            self._wait_for(type="turn.finished", turn_id=turn["turn_id"])

    # By the turn's number: the end of the turn before may be told after the snapshot, and after a
    # message that was sent meanwhile.

    def say(self, text: str) -> None:
        name = uuid4().hex
        self._send(type="message.send", client_id=name, text=text)
        self._wait_for(type="message.created", client_id=name)
        self._wait_for_turn("answer")

    def compact(self) -> None:
        self._send(type="compact")
        self._wait_for_turn("compact")

    def _wait_for_turn(self, kind: str) -> None:
        begun = self._wait_for(type="turn.started", kind=kind)
        self._wait_for(type="turn.finished", turn_id=begun["turn_id"])

    def wait_for_title(self) -> None:
        """It refreshes the list, which a walk may be about."""
        if not self._titled:
            self._wait_for(type="conversation.updated")

    def _send(self, **frame: str) -> None:
        self._socket.send(json.dumps(frame))

    def _wait_for(self, **fields: object) -> dict[str, object]:
        """The next event with these fields. No error may come before."""
        while True:
            event: dict[str, object] = json.loads(self._socket.recv(PATIENCE))
            assert event["type"] != "error", event
            self._titled = self._titled or event["type"] == "conversation.updated"
            if fields.items() <= event.items():
                return event
