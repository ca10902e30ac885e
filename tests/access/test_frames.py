"""Every frame of the socket × everybody who may send it: who is not the owner is sent away before
anything is heard, and a right that a group does not give is asked for."""

import json
from typing import Any, get_args

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings

from accounts.tokens import SCOPES
from chat.db.threads import in_db
from chat.live.consumer import NOT_FOUND, SIGNED_OUT
from chat.models import Conversation, Turn
from chat.protocol.frames import Frame
from config.asgi import application
from tests.access.people import SECRET, Cast, Role, bar_from_everything
from tests.chat.sockets import ORIGIN, Chat, Tab, long_text

pytestmark = pytest.mark.django_db(transaction=True)

EXAMPLES: dict[str, dict[str, Any]] = {
    "message.send": {"client_id": "1", "text": "Hello"},
    "queue.add": {"client_id": "2", "text": "And then?"},
    "queue.edit": {"id": 1, "text": "And now?"},
    "queue.remove": {"id": 1},
    "queue.now": {"id": 1},
    "queue.resume": {},
    "turn.stop": {},
    "tool.decide": {"turn_id": 1, "id": "call", "decision": "once"},
    "compact": {},
    "compact.cancel": {},
    "sync": {},
    "ping": {},
}
CLOSED = dict.fromkeys(Role, NOT_FOUND) | {Role.NOBODY: SIGNED_OUT, Role.DISABLED: SIGNED_OUT}


def test_each_frame_has_an_example() -> None:
    assert EXAMPLES.keys() == {frame.type for frame in get_args(Frame)}


async def open_socket(conversation: Conversation, cookie: str = "", token: str = "") -> Tab:
    headers = [(b"host", b"testserver"), (b"origin", ORIGIN)]
    if token:
        headers.append((b"authorization", token.encode()))
    if cookie:
        headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie}".encode()))
    path = f"{settings.BASE_PATH}ws/conversations/{conversation.pk}/"
    return await Tab(WebsocketCommunicator(application, path, headers)).connect()


@pytest.mark.parametrize("role", [role for role in Role if role != Role.OWNER])
async def test_frames_of_others_are_not_heard(
    cast: Cast, count: dict[str, int], role: Role
) -> None:
    place = cast.find_place(role)
    stored = await in_db(place.read_rows)
    for kind, fields in EXAMPLES.items():
        cookie = await in_db(cast.read_cookie, role)
        tab = await open_socket(place.conversation, cookie)
        tab.send(kind, **fields)
        await tab.until(lambda tab=tab: tab.closed_with)  # type: ignore[misc]
        assert tab.closed_with == CLOSED[role], kind
        assert SECRET not in json.dumps(tab.frames)
        assert tab.frames == []
        await tab.close()
        count["frames of others"] = count.get("frames of others", 0) + 1
    assert await in_db(place.read_rows) == stored


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_token_opens_no_socket(cast: Cast, scope: str) -> None:
    token = (await in_db(cast.show_token, scope))["Authorization"]
    tab = await open_socket(cast.owned.conversation, token=token)
    await tab.until(lambda: tab.closed_with)
    assert (tab.closed_with, tab.frames) == (SIGNED_OUT, [])
    await tab.close()


async def test_the_owners_frames_are_heard(
    chat: Chat, count: dict[str, int], settings: Any
) -> None:
    settings.TURNS_AT_ONCE = 0  # no turn begins
    tab = await chat.open()
    for kind, fields in EXAMPLES.items():
        heard = len(tab.frames)
        tab.send(kind, **fields)
        await tab.until(lambda heard=heard: len(tab.frames) > heard)  # type: ignore[misc]
        assert tab.frames[-1].get("code") != "bad_frame", kind
        count["frames of owners"] = count.get("frames of owners", 0) + 1
    assert tab.closed_with is None


async def test_an_outsiders_frames_lead_to_no_model(chat: Chat) -> None:
    """In a conversation of their own. The script of the model's server expects no request."""
    await chat.start([long_text(number) for number in range(6)])
    await in_db(bar_from_everything, chat.user)
    tab = await chat.open()
    for kind in ("message.send", "compact"):
        tab.send(kind, **EXAMPLES[kind])
        assert (await tab.next("error"))["code"] == "model_off", kind
    assert await in_db(list_turns, chat) == []


@pytest.mark.parametrize("kind", EXAMPLES)
async def test_a_person_who_is_disabled_is_not_heard_any_more(chat: Chat, kind: str) -> None:
    tab = await chat.open()
    before = await in_db(list_turns, chat)
    chat.user.is_active = False
    await in_db(chat.user.save)
    tab.send(kind, **EXAMPLES[kind])
    await tab.until(lambda: tab.closed_with)
    assert tab.closed_with == SIGNED_OUT
    assert await in_db(list_turns, chat) == before


def list_turns(chat: Chat) -> list[int]:
    return [*Turn.objects.filter(conversation=chat.conversation).values_list("pk", flat=True)]
