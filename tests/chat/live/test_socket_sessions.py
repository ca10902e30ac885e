"""A socket lives as long as its session: what ends one ends the other, and a disabled person's
answers stop."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from accounts.models import User
from chat.db.threads import in_db
from chat.live import consumer, snapshot
from chat.models import Compaction, Message, Turn
from chat.protocol.broadcast import conversation_group
from chat.protocol.events import Snapshot
from chat.protocol.local_layer import RESYNC
from chat.queries import schema
from chat.queries.schema import Misfit, MisfitKind
from chat.services.summary import compaction_jobs, preparations
from tests.chat.factories import PASSWORD, make_compaction, make_user, work
from tests.chat.sockets import Chat, long_text, sign_in
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.on_both


def sign_out(chat: Chat) -> None:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = chat.cookie
    assert client.post("/account/logout/").status_code == 302


def change_password(chat: Chat) -> None:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = sign_in(
        chat.user
    )  # another browser of the same person
    new = "battery horse staple"
    form = {"oldpassword": PASSWORD, "password1": new, "password2": new}
    assert client.post("/account/password/change/", form).status_code == 302


def deactivate(chat: Chat) -> None:
    chat.user.is_active = False
    chat.user.save()


def deactivate_in_the_admin(chat: Chat) -> None:
    client = Client()
    client.force_login(make_user(admin=True))
    address = f"/admin/accounts/user/{chat.user.pk}/change/"
    form = client.get(address).context["adminform"].form
    values = {name: form[name].value() for name in form.fields if form[name].value()}
    values |= {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    values.pop("is_active")
    assert client.post(address, values).status_code == 302
    assert not User.objects.get(pk=chat.user.pk).is_active


def delete_session(chat: Chat) -> None:
    Session.objects.get(pk=chat.cookie).delete()


def delete_person(chat: Chat) -> None:
    chat.user.delete()


def delete_person_in_the_admin(chat: Chat) -> None:
    client = Client()
    client.force_login(make_user(admin=True))
    address = f"/admin/accounts/user/{chat.user.pk}/delete/"
    assert client.post(address, {"post": "yes"}).status_code == 302


@pytest.mark.parametrize(
    "end",
    [
        sign_out,
        change_password,
        deactivate,
        deactivate_in_the_admin,
        delete_session,
        delete_person,
        delete_person_in_the_admin,
    ],
)
async def test_the_end_of_a_session_closes_its_sockets_at_once(
    chat: Chat, end: Callable[[Chat], None]
) -> None:
    tabs = [await chat.open(), await chat.open()]
    await in_db(end, chat)
    for tab in tabs:
        await tab.until(lambda tab=tab: tab.closed_with)
        assert tab.closed_with == 4401


async def test_no_frame_is_handled_while_the_database_does_not_fit(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab = await chat.open()
    monkeypatch.setattr(schema.watch, "misfit", Misfit(MisfitKind.NEWER, "A column is gone."))
    tab.say("Hello")
    refused = await tab.next("error")
    assert refused["code"] == "unavailable"
    assert "does not fit this release" in refused["message"]
    another = await chat.open(snapshot=False)
    await another.until(lambda: another.closed_with)
    assert another.closed_with == 1013
    assert await in_db(Message.objects.filter(conversation=chat.conversation).count) == 4


async def test_a_socket_whose_opening_failed_hears_nothing_any_more(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(snapshot, "build_snapshot", fail_as_a_database_that_is_away)
        tab = await chat.open(snapshot=False)
        with pytest.raises(OperationalError):
            await tab.communicator.wait()
    chat.tabs.remove(tab)
    other = await chat.open()
    chat.script.reply("For others.")
    other.say("Hello")
    await other.next("turn.finished")
    assert tab.frames == []
    assert tab.communicator.output_queue.empty()


def delete_the_conversation(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    chat.conversation.delete()


def break_the_snapshot(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "build_snapshot", fail)


async def fail(*_: Any) -> Snapshot:
    raise ValueError("a bug")


@pytest.mark.parametrize(
    ("act", "code"), [(delete_the_conversation, 4404), (break_the_snapshot, 1013)]
)
async def test_a_socket_that_cannot_be_told_what_it_missed_is_closed(
    chat: Chat, act: Callable[..., None], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab = await chat.open()
    group = conversation_group(chat.conversation.pk)
    await in_db(act, chat, monkeypatch)
    await asyncio.to_thread(get_channel_layer().deliver, group, RESYNC)
    await tab.until(lambda: tab.closed_with)
    assert tab.closed_with == code


async def fail_as_a_database_that_is_away(*_: Any) -> Snapshot:
    raise OperationalError("away")


def disable_by_hand(chat: Chat) -> None:
    User.objects.filter(pk=chat.user.pk).update(is_active=False)


def change_password_by_hand(chat: Chat) -> None:
    User.objects.filter(pk=chat.user.pk).update(password="!")


def let_expire(chat: Chat) -> None:
    past = timezone.now() - timedelta(seconds=1)
    Session.objects.filter(pk=chat.cookie).update(expire_date=past)


SILENT = [disable_by_hand, change_password_by_hand, let_expire]


@pytest.mark.parametrize("end", SILENT)
async def test_no_frame_is_handled_after_an_end_that_gave_no_signal(
    chat: Chat, end: Callable[[Chat], None]
) -> None:
    tab = await chat.open()
    await in_db(end, chat)
    tab.say("Hello")
    await tab.until(lambda: tab.closed_with)
    assert tab.closed_with == 4401
    assert await in_db(Message.objects.filter(conversation=chat.conversation).count) == 4


@pytest.mark.parametrize("end", SILENT)
async def test_a_socket_that_only_listens_notices_such_an_end_too(
    chat: Chat, end: Callable[[Chat], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "RECHECK_SECONDS", 0.05)
    tab = await chat.open()
    await in_db(end, chat)
    await tab.until(lambda: tab.closed_with)
    assert tab.closed_with == 4401


async def test_after_the_close_nothing_more_is_told(chat: Chat) -> None:
    tab = await chat.open()
    await in_db(delete_session, chat)
    await tab.until(lambda: tab.closed_with)
    told = len(tab.frames)
    other = await chat.open(cookie=await in_db(sign_in, chat.user))
    chat.script.reply("For others only.")
    other.say("Hello")
    await other.next("turn.finished")
    assert len(tab.frames) == told
    assert tab.communicator.output_queue.empty()


async def test_other_sessions_of_the_same_person_stay_open(chat: Chat) -> None:
    tab = await chat.open()
    other = await chat.open(cookie=await in_db(sign_in, chat.user))
    await in_db(sign_out, chat)
    await tab.until(lambda: tab.closed_with)
    assert (await other.sync())["head"] == 4
    assert other.closed_with is None


async def test_a_changed_name_closes_nothing(chat: Chat) -> None:
    tab = await chat.open()

    def rename() -> None:
        user = User.objects.get(pk=chat.user.pk)
        user.first_name = "Ada"
        user.save()

    await in_db(rename)
    await tab.sync()
    assert tab.closed_with is None


@pytest.mark.parametrize(
    "end", [deactivate, disable_by_hand, delete_person, delete_person_in_the_admin]
)
async def test_the_answers_of_a_person_who_may_not_sign_in_any_more_stop(
    chat: Chat, end: Callable[[Chat], None]
) -> None:
    chat.script.stall("What I had said so far")
    tab = await chat.open()
    tab.say("Tell me")
    await tab.next("turn.delta")
    await in_db(end, chat)
    await asyncio.to_thread(chat.script.wait_for_disconnects, 1)

    def status() -> str | None:
        found = Turn.objects.filter(conversation=chat.conversation).values_list("status", flat=True)
        return found.first()

    over = (Turn.Status.CANCELLED, None)
    async with asyncio.timeout(PATIENCE):
        while await in_db(status) not in over:  # noqa: ASYNC110 - nobody is told any more
            await asyncio.sleep(0.05)


def running_preparation(chat: Chat) -> Compaction:
    return make_compaction(chat.conversation, status=Compaction.Status.RUNNING, turn=None)


async def test_a_disabled_persons_preparation_ends_at_its_next_heartbeat(chat: Chat) -> None:
    await chat.start([long_text(n) for n in range(1, 7)])
    compaction = await in_db(running_preparation, chat)
    assert await in_db(compaction_jobs.is_wanted, compaction.pk)
    await in_db(disable_by_hand, chat)
    assert not await in_db(compaction_jobs.is_wanted, compaction.pk)
    await in_db(compaction.refresh_from_db)
    assert compaction.status == Compaction.Status.CANCELLED


async def test_a_disabled_persons_queued_compaction_asks_no_model(chat: Chat) -> None:
    await chat.start([long_text(n) for n in range(1, 7)])
    compaction = await in_db(running_preparation, chat)
    await in_db(Compaction.objects.filter(pk=compaction.pk).update, worker_pid=None)
    await in_db(disable_by_hand, chat)
    await in_db(work, compaction.pk)
    await in_db(compaction.refresh_from_db)
    assert compaction.status == Compaction.Status.CANCELLED
    assert chat.script.requests == []


async def test_nothing_is_prepared_in_the_pause_of_a_disabled_person(chat: Chat) -> None:
    settings: dict[str, Any] = {"idle_ratio": 0.1}
    await chat.start([long_text(n) for n in range(1, 9)], compaction_settings=settings)
    head = (await chat.last()).number
    await in_db(disable_by_hand, chat)
    assert await in_db(preparations.prepare_in_pause, chat.conversation.pk, head) is None
    await in_db(chat.user.save)  # as it was
    assert await in_db(preparations.prepare_in_pause, chat.conversation.pk, head)


PAGES = ("", "messages/", "usage/", "summary/", "compact/", "settings/", "export.md", "export.json")


@pytest.mark.parametrize("end", [deactivate, disable_by_hand])
async def test_no_page_opens_for_a_disabled_person(chat: Chat, end: Callable[[Chat], None]) -> None:
    await in_db(User.objects.filter(pk=chat.user.pk).update, is_staff=True, is_superuser=True)
    page = chat.conversation.get_absolute_url()
    paths = [f"{page}{name}" for name in PAGES] + ["/", "/sidebar/", "/memories/", "/admin/"]
    before = [(await chat.http.get(path)).status_code for path in paths]
    assert set(before) <= {200, 204}, before
    assert (await chat.http.get("/metrics")).status_code == 200
    await in_db(end, chat)
    for path in paths:
        refused = await chat.http.get(path)
        assert refused.status_code == 302, path
        assert "/login/" in refused["Location"]
    changes = [f"{page}{name}" for name in ("retry/", "model/", "rename/")] + ["/c/change/"]
    for path in changes:
        assert (await chat.http.post(path)).status_code == 302, path
    assert (await chat.http.get("/metrics")).status_code == 403
