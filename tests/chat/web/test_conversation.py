"""HTTP: pages and actions, each only for the conversation's owner."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from chat import metrics
from chat.db.threads import in_db
from chat.models import Conversation, Provider
from chat.models.notices import Notice
from chat.services.library import conversations
from chat.services.turns import requests, sweep
from chat.services.turns.turns import NewMessage
from chat.web import transcript
from demo.api.script import is_chat
from tests.chat.counts import read_count
from tests.chat.factories import (
    HOLDER,
    add_messages,
    make_compaction,
    make_conversation,
    make_conversations,
    make_profile,
    make_provider,
    make_turn,
    make_user,
)
from tests.chat.sockets import Chat
from tests.spending.factories import make_call


@pytest.fixture
def client(user: User) -> Client:
    made = Client()
    made.force_login(user)
    return made


def shown(html: bytes) -> list[int]:
    """The numbers of the messages in a page or fragment."""
    return [int(number) for number in re.findall(rb'data-number="(\d+)"', html)]


PATHS = ["", "messages/", "rename/", "settings/", "model/", "retry/"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_strangers_conversation_is_not_there(
    conversation: Conversation, path: str, method: str
) -> None:
    client = Client()
    client.force_login(make_user())
    response = getattr(client, method)(f"/c/{conversation.pk}/{path}")
    assert response.status_code in (404, 405)
    if method == "get" and path in ("", "messages/", "rename/", "settings/"):
        assert response.status_code == 404
    if method == "post" and path not in ("", "messages/"):
        assert response.status_code == 404
    assert Conversation.objects.filter(pk=conversation.pk).exists()


@pytest.mark.parametrize(
    "path",
    ["/", "/c/", "/c/change/", "/sidebar/", "/palette/", *(f"/c/%s/{path}" for path in PATHS)],
)
def test_the_signed_out_are_sent_to_sign_in(conversation: Conversation, path: str) -> None:
    address = path % conversation.pk if "%s" in path else path
    for response in (Client().get(address), Client().post(address)):
        assert response.status_code == 302
        assert response["location"].startswith("/account/login/")


def test_a_page_has_the_newest_messages_and_the_way_to_earlier_ones(
    client: Client, user: User
) -> None:
    conversation = make_conversation(owner=user, messages=75)
    page = client.get(conversation.get_absolute_url())
    assert shown(page.content) == list(range(56, 76))
    seen = shown(page.content)
    while match := re.search(rb'id="earlier"[^>]+data-url="([^"]+)"', page.content):
        page = client.get(match[1].decode())
        seen = shown(page.content) + seen
    assert seen == list(range(1, 76))


RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "endless\n" * 500}


@pytest.mark.parametrize(
    ("texts", "sent"),
    [
        (["short"] * 20, 20),
        (["one line\n" * 18] * 20, 3),  # with what is around them, twenty lines each
        (["many words " * 150] * 20, 3),  # the browser breaks them
        (["short", *["endless\n" * 500] * 20], 3),  # code of that length is folded
        (["ask", [RESULT]] * 10, 20),
        ([], 0),
    ],
)
def test_a_page_opens_with_as_many_messages_as_fill_a_screen(
    client: Client, user: User, texts: list[Any], sent: int
) -> None:
    conversation = make_conversation(owner=user, messages=texts)
    page = client.get(conversation.get_absolute_url())
    assert shown(page.content) == list(range(len(texts) - sent + 1, len(texts) + 1))
    assert (b'id="earlier"' in page.content) == (sent < len(texts))


def test_a_page_says_how_full_the_context_is_before_any_script_runs(
    client: Client, user: User
) -> None:
    conversation = make_conversation(owner=user, messages=["word " * 20_000])
    page = client.get(conversation.get_absolute_url()).content.decode()
    usage = re.search(r'<script id="usage-data"[^>]*>(.+?)</script>', page)
    assert usage
    percent = round(json.loads(usage[1])["ratio"] * 100)
    assert percent > 5
    assert f'<span id="gauge-text">{percent} %</span>' in page
    assert f'stroke-dasharray="{percent} 100"' in page


@pytest.mark.parametrize(
    "blocks", ["text", 3, {"type": "text"}, [None, "text", {}, {"type": "text"}, {"text": "x"}]]
)
def test_the_newest_messages_are_shown_whatever_stands_in_place_of_the_blocks_of_one(
    client: Client, user: User, blocks: Any
) -> None:
    conversation = make_conversation(owner=user, messages=["Hello", "Hi"])
    conversation.messages.filter(number=2).update(blocks=blocks)
    assert shown(client.get(reverse("messages", args=[conversation.pk])).content) == [1, 2]


@pytest.mark.parametrize("path", ["/", "a conversation"])
def test_a_script_that_goes_to_another_chat_gets_the_chat_alone(
    client: Client, user: User, conversation: Conversation, path: str
) -> None:
    make_conversations(user, 20)
    address = conversation.get_absolute_url() if path == "a conversation" else path
    script = {"HX-Request": "true"}
    with CaptureQueriesContext(connection) as of_page:
        page = client.get(address)
    with CaptureQueriesContext(connection) as of_chat:
        chat = client.get(address, headers=script)
    html = chat.content.decode().strip()
    assert html.startswith("<main")
    assert html.endswith("</main>")
    assert 'id="composer"' in html
    assert 'id="sidebar"' not in html
    without_token = re.compile(r'(name="csrfmiddlewaretoken" value=")\w+')
    assert without_token.sub(r"\1", html) in without_token.sub(r"\1", page.content.decode())
    assert len(of_chat) < len(of_page)
    for response in page, chat:
        assert "HX-Request" in response["Vary"]
    stranger = Client()
    stranger.force_login(make_user())
    if path != "/":
        assert stranger.get(address, headers=script).status_code == 404
    assert Client().get(address, headers=script)["location"].startswith("/account/login/")


def test_messages_after_a_position_come_with_their_divider(client: Client, user: User) -> None:
    conversation = make_conversation(owner=user, messages=10)
    make_compaction(conversation, "The summary so far.", through=6)
    response = client.get(f"/c/{conversation.pk}/messages/?after=3")
    assert shown(response.content) == [5, 6, 7, 8, 9, 10]
    assert b"The summary so far." in response.content
    assert response.content.index(b'data-number="6"') < response.content.index(b"The summary")
    assert response.content.index(b"The summary") < response.content.index(b'data-number="7"')
    assert client.get(f"/c/{conversation.pk}/messages/?after=x").status_code == 400


def test_a_page_does_not_claim_to_know_a_message_that_it_does_not_show(
    client: Client, conversation: Conversation
) -> None:
    """An answer that is stored while the page is made would never be asked for."""
    came: list[Any] = []

    def answer_comes(
        execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        result = execute(sql, params, many, context)
        if not came and 'FROM "chat_message"' in sql and '"chat_message"."blocks"' in sql:
            came.append(True)
            came.extend(add_messages(conversation, ["And another."]))
        return result

    with connection.execute_wrapper(answer_comes):
        page = client.get(conversation.get_absolute_url())
    assert len(came) == 2
    head = re.search(rb'data-head="(\d+)"', page.content)
    assert head is not None
    assert int(head[1]) <= max(shown(page.content))


def test_rename_and_its_limits(client: Client, conversation: Conversation) -> None:
    address = f"/c/{conversation.pk}/rename/"
    assert client.post(address, {"title": "  The\n bill "}).status_code == 302
    conversation.refresh_from_db()
    assert (conversation.title, conversation.title_edited) == ("The bill", True)
    for title in ("", "   ", "x" * 201):
        assert client.post(address, {"title": title}).status_code == 422
    conversation.refresh_from_db()
    assert conversation.title == "The bill"


def test_only_offered_models_can_be_chosen(client: Client, conversation: Conversation) -> None:
    make_profile("other-model")
    make_profile("hidden-model", enabled=False)
    make_profile("foreign-model", base_url="https://elsewhere.example")
    address = f"/c/{conversation.pk}/model/"
    assert client.post(address, {"model": "other-model"}).status_code == 204
    for name in ("hidden-model", "foreign-model", "unheard-of", ""):
        assert client.post(address, {"model": name}).status_code == 422
    conversation.refresh_from_db()
    assert conversation.model == "other-model"
    make_turn(conversation)
    assert client.post(address, {"model": "test-model"}).status_code == 409


def test_the_budgets_to_choose_from_are_those_that_hold_for_the_model(
    client: Client, conversation: Conversation
) -> None:
    make_profile(context_window=8_192)
    address = f"/c/{conversation.pk}/settings/"

    def choices() -> dict[str, str]:
        found = re.search(r'<select name="context_budget".*?</select>', text(address), re.S)
        assert found
        return dict(re.findall(r'<option value="(\d*)"[^>]*>([^<]*)<', found[0]))

    def text(address: str) -> str:
        return client.get(address).content.decode()

    full = "Full: the model&#x27;s window"
    assert choices() == {"": "Default: 8,192", "10000000": full}
    # Chosen when the conversation had a larger model.
    Conversation.objects.update(context_budget=75_000)
    assert choices() == {"": "Default: 8,192", "10000000": full, "75000": "As it is: 8,192"}


def test_settings_are_saved_or_say_why_not(client: Client, conversation: Conversation) -> None:
    address = f"/c/{conversation.pk}/settings/"
    assert b"system_prompt" in client.get(address).content
    form = {
        "system_prompt": "Rhyme.",
        "compaction_enabled": "on",
        "threshold": "80",
        "context_budget": "75000",
        "keep_recent_messages": "6",
        "summary_max_tokens": "2000",
    }
    assert client.post(address, form).status_code == 204
    conversation.refresh_from_db()
    assert conversation.system_prompt == "Rhyme."
    assert conversation.context_budget == 75_000
    assert conversation.compaction_enabled
    assert not conversation.keep_first_message
    assert client.post(address, form | {"context_budget": "7"}).status_code == 422
    make_turn(conversation)
    busy = client.post(address, form | {"system_prompt": "Prose."})
    assert busy.status_code == 422
    assert b"being written" in busy.content
    conversation.refresh_from_db()
    assert conversation.system_prompt == "Rhyme."


def test_reply_settings_are_those_that_the_model_has(
    client: Client, conversation: Conversation
) -> None:
    address = f"/c/{conversation.pk}/settings/"
    form = {
        "threshold": "80",
        "keep_recent_messages": "6",
        "summary_max_tokens": "2000",
        "effort": "low",
        "thinking": "on",
        "temperature": "0.5",
        "max_tokens": "4000",
    }
    page = client.get(address).content.decode()
    assert 'name="max_tokens"' in page
    assert not [name for name in ("effort", "thinking", "temperature") if f'name="{name}"' in page]
    assert client.post(address, form).status_code == 204
    conversation.refresh_from_db()
    assert conversation.reply_settings == {"max_tokens": 4_000}
    make_profile(efforts=["low", "max"], thinking_types=["adaptive"], temperature=True)
    page = client.get(address).content.decode()
    assert "As high as it goes" in page
    assert "Very high" not in page
    assert client.post(address, form | {"temperature": "3"}).status_code == 422
    assert client.post(address, form).status_code == 204
    conversation.refresh_from_db()
    chosen = {"effort": "low", "thinking": "on", "temperature": 0.5, "max_tokens": 4_000}
    assert conversation.reply_settings == chosen
    make_profile(efforts=[], thinking_types=[])
    assert client.post(address, form | {"temperature": "", "max_tokens": ""}).status_code == 204
    conversation.refresh_from_db()
    assert conversation.reply_settings == {"effort": "low", "thinking": "on"}


@pytest.mark.parametrize(("kind", "said"), [("enabled", True), ("adaptive", False)])
def test_the_form_says_that_too_short_a_reply_leaves_no_room_for_thinking(
    client: Client, conversation: Conversation, kind: str, said: bool
) -> None:
    make_profile(thinking_types=[kind])
    page = client.get(f"/c/{conversation.pk}/settings/").content.decode()
    assert 'name="thinking"' in page
    assert ("needs a longest reply of at least 2,048 tokens" in page) is said


def test_pinned_chats_are_listed_however_old_they_are_and_older_ones_can_be_asked_for(
    client: Client, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "SIDEBAR", 2)
    make_conversation(owner=user, title="Old and pinned", pinned=True)
    for number in range(4):
        make_conversation(owner=user, title=f"Chat {number}")
    first = client.get("/sidebar/").content
    assert re.findall(rb">([^<>]+)</a>", first)[:2] == [b"Old and pinned", b"Chat 3"]
    assert b"&quot;count&quot;: &quot;4&quot;" in first or b'"count": "4"' in first
    second = client.get("/sidebar/?count=4").content
    assert re.findall(rb">(Chat \d)</a>", second) == [b"Chat 3", b"Chat 2", b"Chat 1"]
    assert b'name="count" value="4"' in second, "a refresh shows as many"
    assert b"Show older" not in client.get("/sidebar/?count=6").content
    assert client.get("/sidebar/?count=x").status_code == 200


def test_the_start_page_shows_what_was_searched_for(client: Client, user: User) -> None:
    make_conversation(owner=user, title="Lisbon in May")
    make_conversation(owner=user, title="The bill")
    page = client.get("/?q=lisbon").content
    assert b"Lisbon in May" in page
    assert b"The bill" not in page
    assert b'value="lisbon"' in page


def test_who_signed_in_to_send_a_first_message_gets_the_start_page(client: Client) -> None:
    response = client.get("/c/")
    assert (response.status_code, response["location"]) == (302, "/")


def test_the_sidebar_lists_ones_own_by_title(client: Client, user: User) -> None:
    make_conversation(owner=user, title="Lisbon in May")
    make_conversation(owner=user, title="The bill")
    make_conversation(owner=user, title="Lisbon archived", archived=True)
    make_conversation(title="Lisbon of somebody else")
    response = client.get("/sidebar/?q=LISBON")
    assert re.findall(rb">(Lisbon[^<]*)</a>", response.content) == [b"Lisbon in May"]
    assert b"The bill" in client.get("/sidebar/").content


def test_the_sidebar_leads_to_archived_conversations_where_there_are_any(
    client: Client, user: User
) -> None:
    talk = make_conversation(owner=user)
    make_conversation(archived=True)
    for address in "/", "/sidebar/", talk.get_absolute_url():
        assert b"Archived conversations" not in client.get(address).content
    Conversation.objects.filter(pk=talk.pk).update(archived=True)
    for address in "/", "/sidebar/", talk.get_absolute_url():
        assert b"Archived conversations" in client.get(address).content
    assert b"Archived conversations" not in client.get("/sidebar/?archived=1").content


def test_a_demo_says_so_and_tells_staff_what_to_do(
    client: Client, user: User, settings: Any
) -> None:
    settings.DEMO = True
    page = client.get("/").content
    assert b"Demo server" in page
    assert b"ANTHROPIC_API_KEY" not in page
    User.objects.filter(pk=user.pk).update(is_staff=True)
    assert b"ANTHROPIC_API_KEY" in client.get("/").content


def test_beside_the_demo_a_providers_model_is_the_one_to_chat_with(
    client: Client, settings: Any
) -> None:
    settings.DEMO, settings.DEFAULT_MODEL = True, "everlong-demo"
    make_profile("everlong-demo")
    make_profile("local::qwen", provider=make_provider("local", "http://127.0.0.1:9"))
    page = client.get("/").content.decode()
    assert "Demo server" not in page
    assert 'value="local::qwen" data-name="Local::qwen · local" selected' in page
    Provider.objects.update(enabled=False)
    assert "Demo server" in client.get("/").content.decode()


# --- Asynchronous views, with the application behind them -----------------------------------------


async def test_a_first_message_leads_to_its_conversation_and_answer(chat: Chat) -> None:
    gate = chat.script.stall("Welcome, ", then="Ada.", when=is_chat)
    response = await chat.http.post("/c/", {"text": "Hello", "model": "test-model"})
    assert response.status_code == 302
    await gate.wait_reached()
    pk = response["location"].split("/")[2]
    conversation = await in_db(Conversation.objects.get, pk=pk)
    assert conversation.title == "Hello"
    await in_db(Conversation.objects.filter(pk=pk).update, title_edited=True)
    tab = await chat.open(conversation)
    assert tab.all("snapshot")[0]["turn"]["text"] == "Welcome, "
    gate.release()
    await tab.next("turn.finished", status="completed")
    assert tab.text == "Welcome, Ada."


@pytest.mark.parametrize("text", ["", "   ", "x" * 300_000])
async def test_a_first_message_that_cannot_be_sent_stays_in_the_box(chat: Chat, text: str) -> None:
    response = await chat.http.post("/c/", {"text": text, "model": "test-model"})
    assert response.status_code == 422
    content = response.content.decode()
    assert 'role="alert"' in content
    assert text.strip()[:1000] in content


async def test_a_refused_temporary_chat_stays_temporary(chat: Chat) -> None:
    response = await chat.http.post("/c/", {"text": "", "temporary": "1"})
    assert re.search(rb'name="temporary"[^>]+ checked', response.content)
    page = await chat.http.get("/")
    assert not re.search(rb'name="temporary"[^>]+ checked', page.content)


async def test_the_pages_script_gets_the_address_of_a_new_chat_or_words(chat: Chat) -> None:
    scripted = {"x-requested-with": "fetch"}
    refused = await chat.http.post("/c/", {"text": " "}, headers=scripted)
    assert (refused.status_code, refused.content) == (422, b"Write a message first.")
    gate = chat.script.stall("Hi", then="!", when=is_chat)
    made = await chat.http.post("/c/", {"text": "Hello"}, headers=scripted)
    assert made.status_code == 201
    await gate.wait_reached()
    pk = made["location"].split("/")[2]
    conversation = await in_db(Conversation.objects.get, pk=pk)
    await in_db(Conversation.objects.filter(pk=pk).update, title_edited=True)
    tab = await chat.open(conversation)
    gate.release()
    await tab.next("turn.finished", status="completed")


def long_ago() -> None:
    """What was deleted can no longer be restored."""
    past = timezone.now() - conversations.DELETED_KEPT - timedelta(seconds=1)
    Conversation.objects.filter(deleted_at__isnull=False).update(deleted_at=past)


def test_what_was_deleted_is_nowhere_to_be_found_and_can_be_restored(
    client: Client, user: User
) -> None:
    """Several at once; those of others stay as they are."""
    mine = [
        make_conversation(owner=user, messages=["Harbours"], title=f"Trip {n}") for n in range(2)
    ]
    other = make_conversation(title="Trip of somebody else")
    ids = [row.pk for row in [*mine, other]]
    assert client.post("/c/change/", {"id": ids, "deleted": "1"}).status_code == 204
    for address in ["/", "/sidebar/?q=Trip", "/sidebar/?q=harbours", "/sidebar/?archived=1"]:
        assert b"Trip" not in client.get(address).content.replace(b'value="Trip"', b""), address
    assert client.get(mine[0].get_absolute_url()).status_code == 404
    assert client.get(f"/c/{mine[0].pk}/export.md").status_code == 404
    assert sweep.sweep() == 0
    other.refresh_from_db()
    assert other.deleted_at is None
    assert client.post("/c/change/", {"id": ids, "deleted": ""}).status_code == 204
    assert shown(client.get(mine[1].get_absolute_url()).content) == [1]


def test_what_was_not_restored_is_swept_and_then_it_is_too_late(client: Client, user: User) -> None:
    kept, gone = (make_conversation(owner=user, messages=2) for _ in range(2))
    for row in (kept, gone):
        client.post("/c/change/", {"id": row.pk, "deleted": "1"})
    long_ago()
    client.post(
        "/c/change/", {"id": kept.pk, "deleted": ""}
    )  # between the sweep's look and its deed
    assert conversations.delete_abandoned(kept.pk) == 0
    assert sweep.sweep() == 1
    assert list(Conversation.objects.filter(owner=user)) == [kept]
    late = client.post("/c/change/", {"id": gone.pk, "deleted": ""})
    assert late.status_code == 404


def test_a_temporary_chat_is_deleted_at_once(client: Client, user: User) -> None:
    row = make_conversation(owner=user, temporary=True)
    client.post("/c/change/", {"id": row.pk, "deleted": "1"})
    assert not Conversation.objects.filter(pk=row.pk).exists()


def test_a_change_of_nothing_that_is_ones_own_is_refused(client: Client, user: User) -> None:
    row = make_conversation(owner=user)
    strange = make_conversation()
    for change in ("pinned", "archived", "deleted"):
        assert client.post("/c/change/", {"id": strange.pk, change: "1"}).status_code == 404
        assert client.post("/c/change/", {"id": "x", change: "1"}).status_code == 404
    assert client.post("/c/change/", {"id": row.pk}).status_code == 400
    strange.refresh_from_db()
    assert (strange.pinned, strange.archived, strange.deleted_at) == (False, False, None)


def test_no_message_goes_into_a_conversation_that_was_deleted(user: User) -> None:
    row = make_conversation(owner=user, messages=2)
    conversations.discard_conversations(user, [row.pk])
    with pytest.raises(Conversation.DoesNotExist):
        requests.send_message(user, row.pk, NewMessage("More"), expected_head=None, holder=HOLDER)


async def test_posting_needs_the_token_of_the_page(chat: Chat) -> None:
    client = AsyncClient(enforce_csrf_checks=True)
    client.cookies[settings.SESSION_COOKIE_NAME] = chat.cookie
    for address in ("/c/", "/c/change/"):
        assert (await client.post(address, {"text": "Hello"})).status_code == 403


# --- Metrics --------------------------------------------------------------------------------------


def test_metrics_are_for_staff_and_for_who_has_the_token(user: User, settings: Any) -> None:
    url, browser = reverse("metrics"), Client()
    assert browser.get(url).status_code == 403
    assert browser.get(url, headers={"authorization": "Bearer "}).status_code == 403
    browser.force_login(user)
    assert browser.get(url).status_code == 403
    settings.METRICS_TOKEN = "a-token"
    anybody = Client()
    assert anybody.get(url, headers={"authorization": "Bearer a-token"}).status_code == 200
    assert anybody.get(url, headers={"authorization": "Bearer another"}).status_code == 403
    browser.force_login(make_user(staff=True))
    assert browser.get(url).status_code == 200


def test_metrics_count_turns_compactions_and_degraded_modes(user: User, settings: Any) -> None:
    settings.METRICS_TOKEN = "a-token"
    conversation = make_conversation(owner=user, messages=6)
    make_compaction(conversation)
    make_turn(conversation, status="completed", notice=Notice.TRIMMED)
    make_turn(conversation, status="failed", notice=Notice.SERVERS_LEFT_OUT)
    metrics.REQUEST_REPAIRED.inc()
    repaired = read_count(metrics.REQUEST_REPAIRED)
    response = Client().get(reverse("metrics"), headers={"authorization": "Bearer a-token"})
    assert response["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = response.content.decode().splitlines()
    labels = 'engine="serialised",status="completed",trigger="manual"'
    for line in (
        'everlong_turns{kind="answer",status="completed"} 1.0',
        'everlong_turns{kind="answer",status="failed"} 1.0',
        'everlong_degraded_turns{mode="trimmed"} 1.0',
        'everlong_degraded_turns{mode="servers_left_out"} 1.0',
        'everlong_degraded_turns{mode="compaction_paused"} 0.0',
        f"everlong_compactions{{{labels}}} 1.0",
        f"everlong_request_repaired_total {float(repaired)}",
        "# TYPE everlong_request_refused_total counter",
    ):
        assert line in lines


def test_metrics_tell_what_model_calls_cost_and_hold(db: None, settings: Any) -> None:
    settings.METRICS_TOKEN = "a-token"
    make_call("0.5", provider="ours", model="dear")
    make_call("0.25", kind="summary", state="lost")
    make_call("4", opened_at=timezone.now() - timedelta(hours=25))
    make_call("0", state="open", bound=Decimal("0.125"))
    response = Client().get(reverse("metrics"), headers={"authorization": "Bearer a-token"})
    lines = response.content.decode().splitlines()
    for line in (
        'everlong_model_calls{kind="answer",state="settled"} 1.0',
        'everlong_model_calls{kind="summary",state="lost"} 1.0',
        'everlong_model_call_dollars{kind="answer",model="ours::dear"} 0.5',
        'everlong_model_call_dollars{kind="summary",model="test-model"} 0.25',
        "everlong_compaction_dollars 0.25",
        "everlong_open_model_calls 1.0",
        "everlong_held_dollars 0.125",
    ):
        assert line in lines


def test_metrics_say_how_long_turns_waited_to_begin(db: None, settings: Any) -> None:
    settings.METRICS_TOKEN = "a-token"
    metrics.TURN_WAITS.observe(0.2)
    count = read_count(metrics.TURN_WAITS)
    response = Client().get(reverse("metrics"), headers={"authorization": "Bearer a-token"})
    lines = response.content.decode().splitlines()
    for line in (
        "everlong_waiting_turns 0.0",
        "# TYPE everlong_turn_wait_seconds histogram",
        f'everlong_turn_wait_seconds_bucket{{le="20.0"}} {float(count)}',
        f'everlong_turn_wait_seconds_bucket{{le="+Inf"}} {float(count)}',
        f"everlong_turn_wait_seconds_count {float(count)}",
    ):
        assert line in lines
