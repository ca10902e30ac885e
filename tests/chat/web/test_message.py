"""HTTP: single messages, where a conversation stands, and how it leaves as a file."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import AsyncClient, Client

from accounts.models import User
from chat.db.threads import in_db
from chat.models import Conversation, Message
from chat.services.turns import branches
from demo.api.script import is_chat
from tests.chat.factories import HOLDER, add_messages, make_conversation, make_turn, make_user
from tests.chat.sockets import Chat

DAY = 24 * 3600  # seconds
ACTIONS = ["markdown", "row", "edit", "regenerate", "switch", "leave-out", "delete"]


@pytest.fixture
def client(user: User) -> Client:
    made = Client()
    made.force_login(user)
    return made


@pytest.fixture
def long(user: User) -> Conversation:
    return make_conversation(owner=user, messages=100)


def shown(html: bytes) -> list[int]:
    return [int(number) for number in re.findall(rb'data-number="(\d+)"', html)]


def address(conversation: Conversation, number: int, action: str) -> str:
    pk = conversation.messages.get(number=number).pk
    return f"/c/{conversation.pk}/messages/{pk}/{action}/"


# --- What a citation shows ---


def test_a_citation_shows_how_its_message_begins_as_text(client: Client, user: User) -> None:
    source = "<b>Hello</b>\n\n" + "word " * 1_000
    talk = make_conversation(owner=user, messages=["Hi", source])
    html = client.get(f"/c/{talk.pk}/messages/number/2/").content.decode()
    assert "Assistant" in html
    assert "&lt;b&gt;Hello&lt;/b&gt; word word" in html
    assert "…" in html
    assert 50 < html.count("word") < 60  # 300 characters


def test_a_citation_of_nothing_or_of_anothers_message_is_404(client: Client) -> None:
    theirs = make_conversation(messages=["Mine", "Yes"])
    assert client.get(f"/c/{theirs.pk}/messages/number/1/").status_code == 404


def test_a_citation_of_a_deleted_message_is_404(client: Client, user: User) -> None:
    talk = make_conversation(owner=user, messages=4)
    branches.delete_message(user, talk.pk, talk.messages.get(number=4).pk)
    assert client.get(f"/c/{talk.pk}/messages/number/3/").status_code == 200
    assert client.get(f"/c/{talk.pk}/messages/number/4/").status_code == 404


def test_a_citation_says_that_its_message_is_on_another_branch(client: Client, user: User) -> None:
    talk = make_conversation(owner=user, messages=4)
    talk.messages.filter(number=4).update(active=False)
    html = client.get(f"/c/{talk.pk}/messages/number/4/").content.decode()
    assert "on another branch" in html


def test_a_model_that_is_not_offered_does_not_answer_again(client: Client, user: User) -> None:
    talk = make_conversation(owner=user, messages=2)
    response = client.post(address(talk, 2, "regenerate"), {"model": "other-model"})
    assert response.status_code == 422
    assert "no longer offered" in response.content.decode()
    assert talk.messages.count() == 2


# --- Rows of tools ---


def whole(client: Client, conversation: Conversation, number: int) -> str:
    """What the row that the page shows of a message loads."""
    page = client.get(conversation.get_absolute_url()).content.decode()
    article = page.partition(f'id="message-{number}"')[2].partition("</article>")[0]
    assert "more characters are not shown" in article
    found = re.search(r'data-action="whole" data-url="([^"]+)"', article)
    assert found
    return client.get(found[1].replace("&amp;", "&")).content.decode()


LONG = "".join(f"Line {n}.\n" for n in range(2_000)) + "END"


def test_what_a_row_leaves_out_is_loaded_from_the_message_that_holds_it(
    client: Client, user: User
) -> None:
    conversation = make_conversation(owner=user, messages=["Look"])
    turn = make_turn(conversation, status="running")
    call = {"type": "tool_use", "id": "t&1", "name": "look", "input": {}}
    (called,) = add_messages(
        conversation,
        [[call]],
        turn=turn,
        calls={"t&1": {"text": LONG[:4_000], "omitted": len(LONG) - 4_000, "failed": False}},
    )
    result = {"type": "tool_result", "tool_use_id": "t&1", "content": LONG}
    add_messages(conversation, [("user", [result])], turn=turn)
    row = whole(client, conversation, called.number)
    assert "END" in row
    assert "not shown" not in row
    assert 'data-call="t&amp;1"' in row


def test_what_a_result_without_its_call_leaves_out_is_loaded_too(
    client: Client, user: User
) -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": LONG}
    conversation = make_conversation(owner=user, messages=["Look", "So", [result]])
    assert "END" in whole(client, conversation, 3)
    assert client.get(address(conversation, 1, "row"), {"call": "t1"}).status_code == 404


def test_only_the_owners_conversations_are_linked_from_a_message(
    client: Client, user: User
) -> None:
    mine, theirs = make_conversation(owner=user, messages=2), make_conversation(messages=2)
    said = f"See [#1 in {mine.pk}] and [#2 in {theirs.pk}]."
    conversation = make_conversation(owner=user, messages=["Where?", said])
    html = client.get(conversation.get_absolute_url()).content.decode()
    assert f'<a href="/c/{mine.pk}/#message-1">#1</a>' in html
    assert str(theirs.pk) not in html
    assert "and [#2]." in html


# --- Only for the owner ---------------------------------------------------------------------------


@pytest.mark.parametrize("action", ACTIONS)
def test_a_strangers_message_is_not_there(conversation: Conversation, action: str) -> None:
    stranger = Client()
    stranger.force_login(make_user())
    url = address(conversation, 1, action)
    for response in (stranger.get(url), stranger.post(url, {"text": "x"})):
        assert response.status_code in (404, 405)
    assert conversation.messages.count() == 4


def test_a_message_of_another_conversation_is_not_there(client: Client, user: User) -> None:
    one, other = (make_conversation(owner=user, messages=2) for _ in range(2))
    pk = other.messages.get(number=1).pk
    assert client.post(f"/c/{one.pk}/messages/{pk}/delete/").status_code == 404


@pytest.mark.parametrize(
    "path", ["usage/", "export.md", "export.json", "export.zip", "export.html"]
)
def test_a_strangers_conversation_is_not_there(conversation: Conversation, path: str) -> None:
    stranger = Client()
    stranger.force_login(make_user())
    url = f"/c/{conversation.pk}/{path}"
    assert {stranger.get(url).status_code, stranger.post(url).status_code} <= {404, 405}


# --- One message ----------------------------------------------------------------------------------


async def test_an_edit_is_answered_over_the_socket(chat: Chat) -> None:
    chat.script.reply("Otherwise, then.", when=is_chat)
    tab = await chat.open()
    client = AsyncClient()
    await client.aforce_login(chat.user)
    url = await in_db(address, chat.conversation, 3, "edit")
    response = await client.post(url, {"text": "Otherwise?"})
    assert response.status_code == 204
    assert (await tab.next("branch.changed"))["after"] == 1
    assert "Otherwise?" in (await tab.next("message.created", role="user"))["html"]
    finished = await tab.next("turn.finished", status="completed")
    assert "Otherwise, then." in finished["html"]
    assert (await tab.sync())["head"] == 6


@pytest.mark.parametrize("action", ["edit", "regenerate", "switch"])
def test_a_busy_conversation_says_so(
    client: Client, conversation: Conversation, action: str
) -> None:
    make_turn(conversation)
    number = 2 if action == "regenerate" else 1
    response = client.post(address(conversation, number, action), {"text": "x"})
    assert response.status_code == 409
    assert "running" in response.content.decode()


def test_an_empty_edit_says_what_to_do(client: Client, conversation: Conversation) -> None:
    response = client.post(address(conversation, 1, "edit"), {"text": " "})
    assert (response.status_code, response.content) == (422, b"Write a message first.")


def test_copying_gives_what_was_written(client: Client, user: User) -> None:
    source = "# A *title*\n\n- <b>&amp;</b>\n"
    conversation = make_conversation(owner=user, messages=["Hi", source])
    response = client.get(address(conversation, 2, "markdown"))
    assert response.content.decode() == source
    assert response["Content-Type"].startswith("text/plain")


def test_deleting_asks_first_and_says_what_goes_with_it(
    client: Client, conversation: Conversation
) -> None:
    url = address(conversation, 2, "delete")
    assert "Delete this message?" in client.get(url).content.decode()
    assert conversation.messages.count() == 4
    response = client.post(url)
    assert response["HX-Trigger"] == "message-deleted"
    assert conversation.messages.count() == 3


def test_leaving_out_asks_first_for_a_message_or_its_exchange(
    client: Client, conversation: Conversation
) -> None:
    url = address(conversation, 2, "leave-out")
    asked = client.get(url).content.decode()
    assert "Leave this message out?" in asked
    assert "is 2 messages" in " ".join(asked.split())
    assert not conversation.messages.filter(left_out=True).exists()
    assert client.post(url, {"whole": "1"})["HX-Trigger"] == "message-left-out"
    marked = client.get(f"/c/{conversation.pk}/messages/").content.decode()
    assert marked.count("data-left-out") == 2
    assert "Put this message back?" in client.get(url).content.decode()
    assert client.post(url, {"change": "put-back"})["HX-Trigger"] == "message-put-back"
    assert [m.number for m in conversation.messages.filter(left_out=True)] == [1]


def test_what_cannot_be_left_out_now_says_why(client: Client, conversation: Conversation) -> None:
    make_turn(conversation)
    response = client.post(address(conversation, 2, "leave-out"))
    assert response.status_code == 422
    assert "An answer or a compaction is running" in response.content.decode()


# --- Any part of a long conversation --------------------------------------------------------------


def test_the_page_around_a_message_leads_both_ways(client: Client, long: Conversation) -> None:
    page = client.get(f"/c/{long.pk}/messages/?around=50").content
    assert shown(page) == list(range(35, 65))
    later = re.search(rb'id="later"[^>]+data-url="([^"]+)"', page)
    earlier = re.search(rb'id="earlier"[^>]+data-url="([^"]+)"', page)
    assert later
    assert earlier
    assert shown(client.get(later[1].decode()).content) == list(range(65, 95))
    assert shown(client.get(earlier[1].decode()).content) == list(range(5, 35))


@pytest.mark.parametrize(("number", "numbers"), [(1, range(1, 16)), (100, range(85, 101))])
def test_at_the_ends_nothing_leads_on(
    client: Client, long: Conversation, number: int, numbers: Any
) -> None:
    page = client.get(f"/c/{long.pk}/messages/?around={number}").content
    assert shown(page) == list(numbers)
    assert (b'id="earlier"' in page) == (number == 100)
    assert (b'id="later"' in page) == (number == 1)


def test_a_gap_of_a_deleted_message_does_not_end_the_way(
    client: Client, long: Conversation
) -> None:
    branches.delete_message(long.owner, long.pk, long.messages.get(number=1).pk)
    page = client.get(f"/c/{long.pk}/messages/?around=2").content
    assert shown(page)[0] == 2
    assert b'id="earlier"' not in page


def test_what_is_not_on_the_branch_says_where_it_is(client: Client, long: Conversation) -> None:
    old = long.messages.get(number=99)
    branches.edit_message(long.owner, long.pk, old.pk, "Otherwise.", holder=HOLDER)
    response = client.get(f"/c/{long.pk}/messages/?around=99")
    assert response.status_code == 409
    assert response["X-Message-Id"] == str(old.pk)
    assert client.get(f"/c/{long.pk}/messages/?around=500").status_code == 404
    # A page that still shows the other branch begins anew.
    stale = client.get(f"/c/{long.pk}/messages/?after=98&number=99")
    assert stale.status_code == 409
    assert client.get(f"/c/{long.pk}/messages/?after=97&number=98").status_code == 200


def test_after_minus_one_comes_the_first_page(client: Client, long: Conversation) -> None:
    branches.delete_message(long.owner, long.pk, long.messages.get(number=1).pk)
    page = client.get(f"/c/{long.pk}/messages/?after=-1").content
    assert shown(page) == list(range(2, 32))
    assert b'id="earlier"' not in page
    assert b'id="later"' in page


@pytest.fixture
def daily(long: Conversation) -> Conversation:
    """Message n was written n days after 1970 began."""
    rows = list(long.messages.all())
    for row in rows:
        row.created_at = datetime.fromtimestamp(row.number * DAY, UTC)
    Message.objects.bulk_update(rows, ["created_at"])
    return long


def find_since(client: Client, conversation: Conversation, seconds: int) -> str:
    """The number that is told, or the status."""
    response = client.get(f"/c/{conversation.pk}/messages/since/{seconds}/")
    return response.content.decode() if response.status_code == 200 else str(response.status_code)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "1"), (50 * DAY - 1, "50"), (50 * DAY, "50"), (50 * DAY + 1, "51"), (101 * DAY, "404")],
)
def test_a_time_leads_to_the_first_message_from_then_on(
    client: Client, daily: Conversation, seconds: int, told: str
) -> None:
    assert find_since(client, daily, seconds) == told


def test_a_time_leads_only_to_what_is_shown(client: Client, daily: Conversation) -> None:
    edited = daily.messages.get(number=51)
    branches.edit_message(daily.owner, daily.pk, edited.pk, "Otherwise.", holder=HOLDER)
    assert find_since(client, daily, 50 * DAY) == "50"
    assert find_since(client, daily, 51 * DAY) == "101"


def test_a_time_is_looked_up_for_the_owner_alone(daily: Conversation) -> None:
    stranger = Client()
    stranger.force_login(make_user())
    assert find_since(stranger, daily, 0) == "404"


def test_opening_costs_the_same_queries_at_any_length(
    client: Client, user: User, django_assert_max_num_queries: Any
) -> None:
    conversation = make_conversation(owner=user, messages=300)
    with django_assert_max_num_queries(
        18
    ):  # two for what is told of answers drawn for the first time
        client.get(conversation.get_absolute_url())


# --- Place and file -------------------------------------------------------------------------------


def test_pinned_on_top_and_archived_away(client: Client, user: User) -> None:
    pinned = make_conversation(owner=user, title="Keep me")
    archived = make_conversation(owner=user, title="Put me away")
    client.post("/c/change/", {"id": pinned.pk, "pinned": "1"})
    client.post("/c/change/", {"id": archived.pk, "archived": "1"})
    sidebar = client.get("/sidebar/").content.decode()
    assert sidebar.index("Pinned") < sidebar.index("Keep me")
    assert "Put me away" not in sidebar
    away = client.get("/sidebar/?archived=1").content.decode()
    assert "Put me away" in away
    assert "Keep me" not in away
    client.post("/c/change/", {"id": archived.pk, "archived": ""})
    assert "Put me away" in client.get("/sidebar/").content.decode()


async def exported(conversation: Conversation, form: str) -> str:
    client = AsyncClient()
    await client.aforce_login(conversation.owner)
    response = await client.get(f"/c/{conversation.pk}/export.{form}")
    assert response["Content-Disposition"].startswith("attachment; filename=")
    return b"".join([part async for part in response.streaming_content]).decode()


async def test_an_export_holds_every_message(user: User) -> None:
    conversation = await in_db(make_conversation, user, messages=450, title="Ünïted / plans")
    text = await exported(conversation, "md")
    assert text.startswith('---\ntitle: "Ünïted / plans"\n')
    assert "\n# Ünïted / plans\n" in text
    assert re.findall(r"^Message number (\d+)\.$", text, re.M) == [str(n) for n in range(1, 451)]
    data = json.loads(await exported(conversation, "json"))
    assert [message["number"] for message in data["messages"]] == list(range(1, 451))


async def test_an_export_holds_the_other_branches(user: User) -> None:
    def branched() -> Conversation:
        conversation = make_conversation(owner=user, messages=2)
        old = conversation.messages.get(number=1)
        branches.edit_message(user, conversation.pk, old.pk, "Otherwise.", holder=HOLDER)
        return conversation

    conversation = await in_db(branched)
    data = json.loads(await exported(conversation, "json"))
    assert [(m["number"], m["parent"], m["shown"]) for m in data["messages"]] == [
        (1, None, False),
        (2, 1, False),
        (3, None, True),
        (4, 3, True),
    ]
    shown, _, others = (await exported(conversation, "md")).partition("# Other branches")
    assert "Message number 1." not in shown
    assert "## Branch from the beginning" in others
    assert "Message number 1." in others
    assert "Message number 1." not in await exported(conversation, "html")
    empty = await in_db(make_conversation, user)
    assert json.loads(await exported(empty, "json"))["messages"] == []


async def test_a_message_to_an_old_head_can_go_on_as_a_branch(chat: Chat) -> None:
    tab = await chat.open()
    await in_db(add_messages, chat.conversation, ["Elsewhere.", "Indeed."])
    tab.say("From here.", expected_head=4)
    assert (await tab.next("error"))["code"] == "head_changed"
    chat.script.reply("From there.", when=is_chat)
    tab.say("From here.", expected_head=4, as_branch=True)
    await tab.next("turn.finished", status="completed")
    shown_now = Message.objects.filter(conversation=chat.conversation, active=True)
    numbers = await in_db(
        lambda: list(shown_now.order_by("position").values_list("number", flat=True))
    )
    assert numbers == [1, 2, 3, 4, 7, 8]
