"""What a program reads and changes, and how it is refused."""

import ast
import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import AccessToken, User
from accounts.tokens import CONVERSATIONS_READ, USAGE_READ
from chat import api as chat_api
from chat.api import library
from chat.db import threads
from chat.db.threads import in_db
from chat.models import Conversation, Turn
from tests.chat.api.programs import ROOT, Program, hear
from tests.chat.factories import (
    add_messages,
    make_compaction,
    make_conversation,
    make_profile,
    make_turn,
)
from tests.chat.sockets import Chat, long_text

Ask = Callable[..., Any]
STORES_TURN = re.compile(r'INSERT INTO "?chat_turn"? ')


@pytest.fixture
def ask(user: User, issue: Callable[..., Program]) -> Ask:
    """`ask(method, path, body)`: a response to a program of this person's."""
    return asking(issue(user))


def asking(program: Program) -> Ask:
    client = Client(headers={"Authorization": f"Bearer {program.token}"})
    client.raise_request_exception = False

    def send(method: str, path: str, body: Any = None, **more: Any) -> Any:
        content = json.dumps(body) if body is not None else ""
        return client.generic(method, ROOT + path, content, "application/json", **more)

    send.client = client  # type: ignore[attr-defined]
    return send


def code(response: Any) -> tuple[int, str]:
    """The status and the code of an error in the API's form."""
    told = response.json()
    assert told.keys() == {"error"}
    assert told["error"]["message"]
    return response.status_code, told["error"]["code"]


# --- Conversations --------------------------------------------------------------------------------


def test_a_conversation_is_made_changed_deleted_and_restored(ask: Ask, user: User) -> None:
    made = ask("POST", "/conversations", {"title": "Rivers", "system_prompt": "Be brief."})
    assert made.status_code == 201
    pk = made.json()["id"]
    assert (made.json()["title"], made.json()["system_prompt"]) == ("Rivers", "Be brief.")
    change = {"title": "Lakes", "pinned": True, "archived": True, "compaction_enabled": False}
    changed = ask("PATCH", f"/conversations/{pk}", change).json()
    assert {name: changed[name] for name in change} == change
    assert ask("GET", f"/conversations/{pk}").json() == changed
    assert ask("DELETE", f"/conversations/{pk}").status_code == 204
    assert code(ask("GET", f"/conversations/{pk}")) == (404, "not_found")
    assert ask("POST", f"/conversations/{pk}/restore").json() == changed
    assert Conversation.objects.of(user).get().title_edited


def test_a_list_is_read_page_by_page(ask: Ask, user: User) -> None:
    rows = [make_conversation(owner=user, title=f"Talk {n}") for n in range(5)]
    same = timezone.now()
    Conversation.objects.filter(pk__in=[row.pk for row in rows[:3]]).update(updated_at=same)
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = ask("GET", f"/conversations?limit=2&cursor={cursor}").json()
        assert len(page["items"]) <= 2
        seen += [each["title"] for each in page["items"]]
        cursor = page["next"]
    assert sorted(seen) == [row.title for row in rows]


def test_a_list_has_what_is_asked_for(ask: Ask, user: User) -> None:
    make_conversation(owner=user, title="Rivers of Styria", pinned=True)
    make_conversation(owner=user, title="Lakes", archived=True)
    make_conversation(owner=user, title="Passing", temporary=True)
    make_conversation(title="Rivers of somebody else")

    def titles(query: str) -> list[str]:
        return [each["title"] for each in ask("GET", f"/conversations?{query}").json()["items"]]

    assert titles("") == titles("title=rivers") == titles("pinned=true") == ["Rivers of Styria"]
    assert titles("archived=true") == ["Lakes"]


async def test_another_model_that_is_not_offered_is_refused(chat: Chat, program: Program) -> None:
    path = f"/conversations/{chat.conversation.pk}"
    refused = await program.ask("PATCH", path, {"model": "of-nobody", "title": "Changed"})
    assert code(refused) == (403, "model_off")
    assert (await program.get(path)).json()["title"] == chat.conversation.title


# --- Messages and branches ------------------------------------------------------------------------


@pytest.fixture
def branched(user: User) -> Conversation:
    """Six messages; the sixth has a variant, number 7, which is shown."""
    talk = make_conversation(owner=user, messages=6)
    old = talk.messages.get(number=6)
    talk.messages.filter(pk=old.pk).update(active=False)
    (new,) = add_messages(talk, ["Another answer"])
    talk.messages.filter(pk=new.pk).update(parent=old.parent, position=old.position)
    return talk


def numbers(response: Any) -> list[int]:
    return [each["number"] for each in response.json()["items"]]


def test_messages_are_read_in_both_ways(ask: Ask, branched: Conversation) -> None:
    path = f"/conversations/{branched.pk}/messages"
    newest = ask("GET", f"{path}?limit=2")
    assert numbers(newest) == [5, 7]
    assert (newest.json()["earlier"], newest.json()["later"]) == (5, None)
    before = ask("GET", f"{path}?limit=2&before=5")
    assert numbers(before) == [3, 4]
    assert (before.json()["earlier"], before.json()["later"]) == (3, 4)
    after = ask("GET", f"{path}?limit=9&after=4")
    assert numbers(after) == [5, 7]
    assert numbers(ask("GET", f"{path}?tip=6")) == [1, 2, 3, 4, 5, 6]
    assert code(ask("GET", f"{path}?before=6")) == (409, "not_shown")
    assert code(ask("GET", f"{path}?before=3&after=2")) == (422, "invalid")


def test_branches_are_listed_and_switched(ask: Ask, branched: Conversation) -> None:
    path = f"/conversations/{branched.pk}"
    listed = ask("GET", f"{path}/branches").json()["items"]
    assert [(each["tip"], each["messages"], each["active"]) for each in listed] == [
        (7, 6, True),
        (6, 6, False),
    ]
    assert ask("POST", f"{path}/messages/6/switch").status_code == 204
    assert numbers(ask("GET", f"{path}/messages?limit=1")) == [6]
    assert ask("GET", f"{path}/messages/7").json()["active"] is False


def test_a_message_is_deleted(ask: Ask, conversation: Conversation) -> None:
    path = f"/conversations/{conversation.pk}/messages"
    assert ask("DELETE", f"{path}/4").status_code == 204
    assert numbers(ask("GET", path)) == [1, 2, 3]


async def test_an_edit_and_a_new_answer_are_branches(chat: Chat, program: Program) -> None:
    chat.model.script.reply("To the edit.").reply("Once more.")
    path = f"/conversations/{chat.conversation.pk}/messages"
    edited = (await program.post(f"{path}/3/edit", {"text": "Otherwise"})).json()
    assert (edited["prompt"], edited["message"]["number"]) == (5, 6)
    again = (await program.post(f"{path}/6/regenerate")).json()
    assert (again["prompt"], again["message"]["text"]) == (5, "Once more.")
    shown = (await program.get(path)).json()["items"]
    assert [each["number"] for each in shown] == [1, 2, 5, 7]


async def test_an_answer_that_failed_is_retried(chat: Chat, program: Program) -> None:
    chat.model.script.error(500).reply("Now.")
    path = f"/conversations/{chat.conversation.pk}"
    failed = (await program.post(f"{path}/messages", {"text": "Hello"})).json()
    assert failed["status"] == "failed"
    assert failed["error"]["code"]
    assert (await program.post(f"{path}/retry")).json()["message"]["text"] == "Now."


async def test_a_file_is_sent_along(chat: Chat, program: Program) -> None:
    chat.model.script.reply("Read.")
    file = SimpleUploadedFile("plan.txt", b"Build a bridge.", "text/plain")
    uploaded = await AsyncClient().post(
        f"{ROOT}/files", {"file": file}, headers={"Authorization": f"Bearer {program.token}"}
    )
    assert uploaded.status_code == 201, uploaded.content
    pk = uploaded.json()["id"]
    body = {"text": "Read this", "files": [pk]}
    turn = (await program.post(f"/conversations/{chat.conversation.pk}/messages", body)).json()
    assert "Build a bridge." in str(chat.model.script.requests[-1].messages[-1])
    path = f"/conversations/{chat.conversation.pk}/messages/{turn['prompt']}"
    assert [each["name"] for each in (await program.get(path)).json()["files"]] == ["plan.txt"]
    assert (await program.get(f"/files/{pk}/content")).content == b"Build a bridge."


async def test_a_page_shows_what_a_program_sends(chat: Chat, program: Program) -> None:
    chat.model.script.reply("Hello.")
    tab = await chat.open()
    await program.post(f"/conversations/{chat.conversation.pk}/messages", {"text": "From outside"})
    created = await tab.next("message.created", role="user")
    assert "From outside" in created["html"]
    await tab.next("turn.finished", status="completed")


# --- Summaries ------------------------------------------------------------------------------------


def test_summaries_are_listed_read_and_reverted(ask: Ask, user: User) -> None:
    talk = make_conversation(owner=user, messages=6)
    version = make_compaction(talk, "## Overview\n- Hello [#1 #2]")
    path = f"/conversations/{talk.pk}/compactions"
    (listed,) = ask("GET", path).json()["items"]
    assert (listed["id"], listed["current"], listed["first"]) == (version.pk, True, 1)
    told = ask("GET", f"{path}/{version.pk}").json()
    assert "Hello [#1 #2]" in told["summary"]
    assert ask("POST", f"{path}/{version.pk}/revert").status_code == 204
    assert ask("GET", f"{path}/{version.pk}").json()["current"] is False
    assert code(ask("POST", f"{path}/{version.pk}/revert")) == (409, "not_current")


async def test_a_compaction_is_told_as_it_goes(chat: Chat, program: Program, worker: Any) -> None:
    from tests.chat.sockets import SUMMARY

    await chat.start([long_text(number) for number in range(6)])
    chat.model.script.reply(SUMMARY)
    path = f"/conversations/{chat.conversation.pk}/compactions"
    heard = await hear(await program.post(path, {"focus": "rivers", "stream": True}))
    names = [told["name"] for told in heard]
    assert names[0] == "turn.started"
    assert "CompressionCompleted" in names
    assert names[-1] == "turn.finished"
    assert heard[-1]["data"]["turn"]["status"] == "completed"
    (listed,) = (await program.get(path)).json()["items"]
    assert (listed["focus"], listed["current"]) == ("rivers", True)


async def test_what_cannot_be_compacted_or_cancelled_is_said(chat: Chat, program: Program) -> None:
    await chat.start(1)
    path = f"/conversations/{chat.conversation.pk}/compactions"
    assert code(await program.post(path)) == (409, "nothing_to_compact")
    assert code(await program.post(f"{path}/cancel")) == (409, "nothing_to_stop")


# --- The rest -------------------------------------------------------------------------------------


def test_search_finds_messages(ask: Ask, user: User) -> None:
    talk = make_conversation(owner=user, messages=["Where is the Mur?", "In Graz."])
    make_conversation(messages=["Where is the Mur?"])
    (hit,) = ask("GET", "/search?q=mur").json()["items"]
    assert (hit["conversation"], hit["number"]) == (str(talk.pk), 1)
    assert ask("GET", f"/search?q=mur&conversation={talk.pk}").json()["items"] == [hit]


def test_a_program_knows_whose_it_is_and_what_there_is(
    user: User, issue: Callable[..., Program], conversation: Conversation
) -> None:
    ask = asking(issue(user, CONVERSATIONS_READ))
    assert ask("GET", "/me").json() == {
        "username": "ada",
        "scopes": [CONVERSATIONS_READ],
        "expires_at": None,
    }
    assert conversation.model in [each["name"] for each in ask("GET", "/models").json()["items"]]
    assert ask("GET", "/projects").json() == {"items": []}


def test_usage_of_a_month(ask: Ask) -> None:
    total = ask("GET", "/usage?month=2026-11").json()["total"]
    assert (total["calls"], total["dollars"].strip("0.")) == (0, "")
    assert code(ask("GET", "/usage?month=2026-13")) == (422, "invalid")


# --- Who is let in --------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ev_wrong", "Basic YWRhOmFkYQ=="])
def test_without_a_good_token_nothing_is_told(user: User, header: str) -> None:
    client = Client(headers={"Authorization": header} if header else {})
    client.force_login(user)  # a session is not looked at
    for path in ("/conversations", "/me", "/models"):
        response = client.get(ROOT + path)
        assert code(response) == (401, "bad_token")
        assert response["WWW-Authenticate"].startswith("Bearer")


def test_a_token_is_good_for_its_scopes_until_it_ends(
    user: User, issue: Callable[..., Program]
) -> None:
    ask = asking(issue(user, CONVERSATIONS_READ))
    assert ask("GET", "/conversations").status_code == 200
    assert code(ask("POST", "/conversations", {})) == (403, "missing_scope")
    assert code(ask("GET", "/usage")) == (403, "missing_scope")
    AccessToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert code(ask("GET", "/conversations")) == (401, "bad_token")
    AccessToken.objects.update(expires_at=None)
    user.is_active = False
    user.save()
    assert code(ask("GET", "/conversations")) == (401, "bad_token")


def test_a_token_in_the_address_is_refused(user: User, issue: Callable[..., Program]) -> None:
    program = issue(user)
    response = Client().get(f"{ROOT}/conversations?token={program.token}")
    assert code(response) == (400, "token_in_address")


def test_a_person_has_so_many_requests(ask: Ask, settings: Any) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"api": "1/m/key", "wrong_token": "60/m/ip"}
    assert ask("GET", "/me").status_code == 200
    response = ask("GET", "/me")
    assert code(response) == (429, "rate_limited")
    assert response["Retry-After"] == "60"


def test_what_is_somebody_elses_is_not_there(ask: Ask, conversation: Conversation) -> None:
    theirs = make_conversation(messages=2)
    turn = make_turn(theirs, status=Turn.Status.COMPLETED)
    version = make_compaction(theirs, "## Overview\n- Hello [#1 #2]")
    path = f"/conversations/{theirs.pk}"
    for method, place in [
        ("GET", path),
        ("PATCH", path),
        ("DELETE", path),
        ("POST", f"{path}/restore"),
        ("GET", f"{path}/branches"),
        ("GET", f"{path}/messages"),
        ("POST", f"{path}/messages"),
        ("GET", f"{path}/messages/1"),
        ("DELETE", f"{path}/messages/1"),
        ("POST", f"{path}/messages/1/switch"),
        ("POST", f"{path}/messages/1/edit"),
        ("POST", f"{path}/messages/2/regenerate"),
        ("POST", f"{path}/retry"),
        ("POST", f"{path}/stop"),
        ("GET", f"{path}/turns/{turn.pk}"),
        ("GET", f"{path}/turns/{turn.pk}/events"),
        ("GET", f"/conversations/{conversation.pk}/turns/{turn.pk}"),
        ("GET", f"{path}/compactions"),
        ("POST", f"{path}/compactions"),
        ("GET", f"{path}/compactions/{version.pk}"),
        ("POST", f"{path}/compactions/{version.pk}/revert"),
        ("POST", f"{path}/compactions/cancel"),
        ("GET", f"/conversations/{conversation.pk}/compactions/{version.pk}"),
        ("GET", f"/search?q=mur&conversation={theirs.pk}"),
    ]:
        body = {"text": "Hello"} if place.endswith(("/messages", "/edit")) else {}
        assert code(ask(method, place, body)) == (404, "not_found"), f"{method} {place}"
    assert theirs.messages.count() == 2


# --- One form of errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/nowhere", None, (404, "not_found")),
        ("GET", "/conversations/no-id", None, (404, "not_found")),
        ("GET", "/", None, (404, "not_found")),
        ("PUT", "/conversations", {}, (405, "method_not_allowed")),
        ("GET", "/conversations?limit=0", None, (422, "invalid")),
        ("GET", "/conversations?cursor=bad", None, (422, "bad_cursor")),
        ("POST", "/conversations", [], (422, "invalid")),
        ("POST", "/conversations", {"titel": "Rivers"}, (422, "invalid")),
        ("POST", "/conversations", {"title": "x" * 201}, (422, "invalid")),
        ("POST", "/conversations", {"model": "of-nobody"}, (403, "model_off")),
    ],
)
def test_every_error_has_one_form(
    ask: Ask, method: str, path: str, body: Any, expected: tuple[int, str]
) -> None:
    response = ask(method, path, body)
    assert code(response) == expected
    if expected[0] == 405:
        assert "POST" in response["Allow"]


def test_what_is_no_json_is_said(user: User, issue: Callable[..., Program]) -> None:
    headers = {"Authorization": f"Bearer {issue(user).token}"}
    client = Client(headers=headers)
    sent = client.generic("POST", f"{ROOT}/conversations", "{", "application/json")
    assert code(sent) == (400, "bad_request")


def test_a_body_that_says_it_is_a_form_is_no_json(ask: Ask) -> None:
    for kind in ("multipart/form-data; boundary=edge", "application/x-www-form-urlencoded"):
        sent = ask.client.generic("POST", f"{ROOT}/conversations", '--edge\n{"a"', kind)
        assert code(sent) == (400, "bad_request")


def test_fields_that_are_wrong_are_named(ask: Ask) -> None:
    error = ask("GET", "/conversations?limit=many").json()["error"]
    assert [each["field"] for each in error["fields"]] == ["query.limit"]
    error = ask("POST", "/conversations", {"pinned": 1, "title": 7}).json()["error"]
    assert {each["field"] for each in error["fields"]} == {"body.pinned", "body.title"}
    error = ask("POST", "/conversations").json()["error"]
    assert [each["field"] for each in error["fields"]] == ["body"]


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (OperationalError("the disk is away"), (503, "unavailable")),
        (RuntimeError("a bug"), (500, "internal")),
    ],
)
def test_what_fails_inside_has_the_same_form(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, raised: Exception, expected: tuple[int, str]
) -> None:
    def fail(*_: Any) -> None:
        raise raised

    monkeypatch.setattr(library, "list_offered", fail)
    assert code(ask("GET", "/models")) == expected


async def test_refusals_are_those_of_the_page(chat: Chat, program: Program, settings: Any) -> None:
    path = f"/conversations/{chat.conversation.pk}/messages"
    assert code(await program.post(path, {"text": " "})) == (422, "empty_message")
    behind = {"text": "Hello", "expected_head": 1}
    assert code(await program.post(path, behind)) == (409, "head_changed")
    await in_db(make_turn, chat.conversation)
    assert code(await program.post(path, {"text": "Hello"})) == (409, "conversation_busy")
    await in_db(Turn.objects.all().delete)
    settings.MESSAGES_PER_MINUTE = 0
    limited = await program.post(path, {"text": "Hello"})
    assert code(limited) == (429, "rate_limited")
    assert limited["Retry-After"]


async def test_nothing_asks_a_model_without_being_counted(
    chat: Chat, program: Program, settings: Any
) -> None:
    """`begins` are all functions of the API that begin a turn, with how each is asked for one."""
    settings.MESSAGES_PER_MINUTE = 0
    await in_db(make_profile, "small-model", context_window=16_000, max_output=1_024)
    await chat.start([long_text(number) for number in range(1, 15)])
    await in_db(chat.conversation.messages.filter(number=14).update, status="interrupted")
    path = f"/conversations/{chat.conversation.pk}"
    begins: dict[str, tuple[str, str, Any]] = {
        "send_message": ("POST", "/messages", {"text": "Hello"}),
        "edit_message": ("POST", "/messages/5/edit", {"text": "Hello"}),
        "regenerate_answer": ("POST", "/messages/6/regenerate", {}),
        "retry": ("POST", "/retry", {}),
        "compact": ("POST", "/compactions", {}),
        "change_conversation": ("PATCH", "", {"model": "small-model"}),
    }
    assert begins.keys() == {name for name in find_beginners() if name != "run_turn"}
    for name, (method, place, body) in begins.items():
        assert code(await program.ask(method, path + place, body)) == (429, "rate_limited"), name
    assert not await in_db(Turn.objects.exists)
    assert chat.script.requests == []


def find_beginners() -> set[str]:
    """The functions of the API that begin turns."""
    found = set()
    for source in Path(chat_api.__path__[0]).glob("*.py"):
        for function in ast.parse(source.read_text()).body:
            if isinstance(function, ast.AsyncFunctionDef | ast.FunctionDef) and re.search(
                r"\b(run_turn|runner\.begin)\(", ast.unparse(ast.Module(function.body, []))
            ):
                found.add(function.name)
    return found


# --- What it costs --------------------------------------------------------------------------------


def test_the_token_is_one_statement(ask: Ask, conversation: Conversation) -> None:
    ask("GET", "/me")  # its use is noted once a minute
    with CaptureQueriesContext(
        connection,
    ) as captured:
        ask("GET", f"/conversations/{conversation.pk}")
    assert len(captured) == 2


async def test_sending_takes_no_more_statements_than_in_the_page(
    chat: Chat, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[list[str]] = []
    call = threads.call_with_connection

    def count(function: Callable[[], Any]) -> Any:
        with CaptureQueriesContext(connection) as captured:
            result = call(function)
        found.append([query["sql"] for query in captured])
        return result

    monkeypatch.setattr(threads, "call_with_connection", count)

    def count_of_send() -> int:
        """How many there are where a turn is stored."""
        [of_it] = [each for each in found if any(map(STORES_TURN.match, each))]
        return len(of_it)

    chat.model.script.reply("In the page.").reply("To the program.")
    tab = await chat.open()
    tab.say("Hello")
    await tab.next("turn.finished")
    in_page = count_of_send()
    await in_db(AccessToken.objects.update, last_used_at=timezone.now())
    found.clear()
    path = f"/conversations/{chat.conversation.pk}/messages"
    await program.post(path, {"text": "Hello", "wait": 0})
    token = next(len(each) for each in found if "accounts_accesstoken" in str(each))
    assert token == 1
    assert count_of_send() + token <= in_page
    await tab.next("turn.finished")


# --- Imports and the queue ------------------------------------------------------------------------


def test_an_import_is_sent_in_pieces_and_cancelled(ask: Ask) -> None:
    body = {"files": [{"name": "chats.json", "size": 10}]}
    made = ask("POST", "/imports", body)
    assert made.status_code == 201
    job = made.json()
    assert ask("POST", "/imports", body).json()["id"] == job["id"]
    path = f"/imports/pieces/{job['id']}/{job['files'][0]['id']}"

    def send(offset: int, data: str) -> Any:
        return asked.generic(
            "PUT", f"{ROOT}{path}?offset={offset}", data, "application/octet-stream"
        )

    asked = ask.client  # type: ignore[attr-defined]
    assert send(0, "01234").json() == {"received": 5}
    wrong = send(3, "34")
    assert code(wrong) == (409, "wrong_offset")
    assert "5 bytes" in wrong.json()["error"]["message"]
    assert code(ask("POST", f"/imports/{job['id']}/start")) == (422, "import_files")
    assert send(5, "56789").json() == {"received": 10}
    ended = ask("POST", f"/imports/{job['id']}/cancel").json()
    assert ended["status"] == "cancelled"
    assert [each["id"] for each in ask("GET", "/imports").json()["items"]] == [job["id"]]
    assert ask("GET", f"/imports/{job['id']}/report").json() == {}


async def test_a_message_waits_in_the_queue(chat: Chat, program: Program) -> None:
    await in_db(make_turn, chat.conversation)  # of another process
    path = f"/conversations/{chat.conversation.pk}/queue"
    key = {"Idempotency-Key": "mine"}
    queued = await program.post(path, {"text": "Then this"}, key)
    assert queued.status_code == 201
    assert (await program.post(path, {"text": "Then this"}, key)).json() == queued.json()
    (listed,) = (await program.get(path)).json()["items"]
    assert (listed["text"], listed["source"]) == ("Then this", "api")
    assert (await program.ask("DELETE", f"{path}/{listed['id']}")).status_code == 204
    assert (await program.get(path)).json() == {"items": []}
    assert code(await program.ask("DELETE", f"{path}/{listed['id']}")) == (404, "not_found")


# --- Exports --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["zip", "json", "md", "html"])
async def test_a_conversation_is_taken_along(chat: Chat, program: Program, form: str) -> None:
    response = await program.get(f"/conversations/{chat.conversation.pk}/export?form={form}")
    assert response.status_code == 200
    sent = b"".join([chunk async for chunk in response.streaming_content])
    assert form == "zip" or b"Message number 1." in sent


async def test_an_account_is_taken_along_once_at_a_time(chat: Chat, program: Program) -> None:
    first = await program.get("/account/export")
    assert code(await program.get("/account/export")) == (429, "rate_limited")
    assert b"".join([chunk async for chunk in first.streaming_content]).startswith(b"PK")


# --- The document ---------------------------------------------------------------------------------


def test_the_document_is_for_people_and_programs(user: User, issue: Callable[..., Program]) -> None:
    client = Client()
    assert client.get(f"{ROOT}/openapi.json").status_code == 302
    assert client.get(f"{ROOT}/docs/").status_code == 302
    token = {"Authorization": f"Bearer {issue(user, USAGE_READ).token}"}
    assert client.get(f"{ROOT}/openapi.json", headers=token).json()["info"]["title"] == "Everlong"
    assert (
        client.get(f"{ROOT}/openapi.json", headers={"Authorization": "Bearer x"}).status_code == 401
    )
    client.force_login(user)
    assert client.get(f"{ROOT}/openapi.json").status_code == 200
    page = client.get(f"{ROOT}/docs/").content.decode()
    for each in ("/api/v1/search", "messages:send", "Idempotency-Key", "object-TurnOut"):
        assert each in page
