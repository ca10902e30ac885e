"""A person's program: it has a token, and reads streams."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from django.test import AsyncClient

ROOT = "/api/v1"
Told = dict[str, Any]  # an event: its id, its name and its data


@dataclass
class Program:
    """Asks as the owner of a token does."""

    token: str

    async def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Any:
        """The response to a request below the API's root."""
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        content = {} if body is None else {"data": json.dumps(body)}
        send = getattr(AsyncClient(), method.lower())
        if method in ("POST", "PATCH"):
            content["content_type"] = "application/json"
        return await send(ROOT + path, headers=sent, **content)

    async def get(self, path: str, **headers: str) -> Any:
        return await self.ask("GET", path, headers=headers)

    async def post(self, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        return await self.ask("POST", path, {} if body is None else body, headers)


async def listen(response: Any) -> AsyncIterator[Told]:
    """The events of a stream, and its comments as events named "comment"."""
    assert response.status_code == 200
    assert response["Content-Type"] == "text/event-stream"
    waiting = ""
    async for chunk in response.streaming_content:
        waiting += chunk.decode()
        *whole, waiting = waiting.split("\n\n")
        for each in whole:
            yield parse_event(each)


def parse_event(text: str) -> Told:
    fields = dict(line.partition(": ")[::2] for line in text.splitlines())
    if "event" not in fields:
        return {"id": "", "name": "comment", "data": {}}
    return {
        "id": fields.get("id", ""),
        "name": fields["event"],
        "data": json.loads(fields["data"]),
    }


async def hear(response: Any) -> list[Told]:
    """All events, to the end of the stream."""
    return [told async for told in listen(response) if told["name"] != "comment"]


def read_along(events: list[Told], texts: dict[int, str] | None = None) -> dict[int, str]:
    """The text of each message by number, as a client puts it together."""
    texts = dict(texts or {})
    for told in events:
        if told["name"] == "turn.delta":
            data = told["data"]
            before = texts.get(data["number"], "")[: data["offset"]]
            assert len(before) == data["offset"], "lost text"
            texts[data["number"]] = before + data["text"]
    return texts
