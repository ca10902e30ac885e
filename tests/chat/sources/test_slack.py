"""A conversation and a thread of Slack are one."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.utils import timezone

from accounts.models import User
from chat.db.outages import SLACK
from chat.db.threads import in_db
from chat.models import (
    Conversation,
    Message,
    QueuedPrompt,
    SlackConnection,
    SlackEvent,
    SlackMessage,
    SlackPost,
    SlackThread,
)
from chat.services.library import conversations
from chat.services.slack.connection import take_lease
from chat.services.turns import branches
from chat.sources.slack.door import SlackDoor
from tests.chat.factories import make_conversation, set_policy
from tests.chat.sockets import Chat
from tests.chat.sources.conftest import ADA, BEA
from tests.support.patience import PATIENCE
from tests.support.slack import BOT, BOT_TOKEN, Posted, SlackServer

GENERAL = "CGENERAL"


async def eventually(read: Callable[[], Any]) -> Any:
    """What a query returns, once it is something."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await in_db(read)):  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.02)
    return found


def thread_of(conversation: Conversation) -> SlackThread | None:
    return SlackThread.objects.filter(conversation=conversation).exclude(ts="").first()


async def link(chat: Chat, slack: SlackServer) -> str:
    """The conversation is linked with a new thread; its `ts`."""
    address = f"http://testserver{chat.conversation.get_absolute_url()}"
    await slack.command(GENERAL, ADA, f"link {address}")
    thread = await eventually(lambda: thread_of(chat.conversation))
    return str(thread.ts)


async def said(slack: SlackServer, ts: str, *texts: str) -> list[Posted]:
    """The thread, once the bot has said that in it after its first message, and nothing else."""

    def found() -> bool:
        return [each.text for each in posts()[1:]] == list(texts)

    def posts() -> list[Posted]:
        return [each for each in slack.read_thread(GENERAL, ts) if each.user == BOT]

    try:
        await slack.until(found)
    except TimeoutError:
        raise AssertionError([each.text for each in posts()]) from None
    return posts()


def list_messages(conversation: Conversation) -> list[tuple[str, str, str]]:
    rows = Message.objects.filter(conversation=conversation, active=True, number__gt=4)
    return list(rows.order_by("position").values_list("role", "source", "text"))


async def test_a_command_begins_a_thread_and_its_conversation(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    chat.script.reply("Fine.")
    await slack.command(GENERAL, ADA, "How are *you*?")
    row = await eventually(lambda: SlackThread.objects.exclude(ts="").first())
    opening, asked, _ = await said(slack, row.ts, "*ada* · _In Slack_\nHow are *you*?", "Fine.")
    assert str(row.conversation_id) in opening.text
    assert f"<@{ADA}>" in opening.text
    conversation = await in_db(lambda: SlackThread.objects.get().conversation)
    assert conversation.owner_id == chat.user.pk
    (request,) = chat.script.requests
    assert "How are **you**?" in str(request.body["messages"][-1])


async def test_messages_of_both_sides_are_one_branch_and_answers_go_to_both(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    for text in ("From Slack: **yes**", "From the page: no"):
        chat.script.reply(text)
    tab = await chat.open()
    ts = await link(chat, slack)
    await slack.write(GENERAL, ADA, "One", ts)
    await tab.next("turn.finished")
    await said(slack, ts, "From Slack: *yes*")
    tab.say("Two")
    await tab.next("turn.finished")
    await said(slack, ts, "From Slack: *yes*", "*ada* · _In Everlong_\nTwo", "From the page: no")
    assert await in_db(list_messages, chat.conversation) == [
        ("user", "slack", "One"),
        ("assistant", "web", "From Slack: **yes**"),
        ("user", "web", "Two"),
        ("assistant", "web", "From the page: no"),
    ]


async def test_an_event_that_comes_twice_is_one_message(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    chat.script.reply("Once.").reply("Again.")
    ts = await link(chat, slack)
    await slack.write(GENERAL, ADA, f"<@{BOT}> One", ts, twice=True)
    await said(slack, ts, "Once.")
    await slack.command(GENERAL, ADA, "Two", twice=True)
    await slack.until(lambda: any(post.text == "Again." for post in slack.of_bot(GENERAL)))
    assert await in_db(Conversation.objects.count) == 2
    assert [text for role, _, text in await in_db(list_messages, chat.conversation)] == [
        "One",
        "Once.",
    ]


async def test_a_mention_makes_its_thread_a_conversation(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    chat.script.reply("Here.").reply("Still here.")
    ts = await slack.write(GENERAL, BEA, "We were talking")
    await slack.write(GENERAL, ADA, f"<@{BOT}> are you there, <@{BEA}>?", ts)
    await slack.until(lambda: [m.text for m in slack.of_bot(GENERAL)] == ["Here."])
    await slack.write(GENERAL, ADA, "And now?", ts)
    await slack.until(lambda: [m.text for m in slack.of_bot(GENERAL)] == ["Here.", "Still here."])
    thread = await in_db(SlackThread.objects.get)
    assert (thread.ts, thread.channel_name) == (ts, "general")
    assert "are you there, @Bea?" in str(chat.script.requests[0].messages)
    assert "We were talking" not in str(chat.script.requests[0].messages)


async def test_a_direct_message_needs_no_mention(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    chat.script.reply("Hello.")
    direct = slack.add_channel("ada", direct=True)
    ts = await slack.write(direct, ADA, "Hi")
    await slack.until(lambda: [m.text for m in slack.of_bot(direct)] == ["Hello."])
    assert [m.text for m in slack.read_thread(direct, ts)] == ["Hi", "Hello."]


async def test_only_the_owner_of_a_thread_talks_with_the_model(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    ts = await link(chat, slack)
    await slack.write(GENERAL, BEA, "May I?", ts)
    await slack.until(lambda: len(slack.ephemeral) == 1)
    await slack.write(GENERAL, BEA, "Hello?", ts)
    await slack.write(GENERAL, BEA, "Anybody?")  # concerns nobody
    chat.script.reply("Yours.")
    await slack.write(GENERAL, ADA, "Mine", ts)
    await said(slack, ts, "Yours.")
    (word,) = slack.ephemeral
    assert (word["user"], word["thread_ts"]) == (BEA, ts)
    assert "/everlong" in word["text"]
    assert await in_db(list_messages, chat.conversation) == [
        ("user", "slack", "Mine"),
        ("assistant", "web", "Yours."),
    ]


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"address": "eve@example.org"}, "eve@example.org"),
        ({"address": ""}, "profile"),
        ({"address": "ada@example.org", "is_email_confirmed": False}, "profile"),
        ({"address": "ada@example.org", "team_id": "T2"}, "workspace"),
        ({"address": "ada@example.org", "is_stranger": True}, "workspace"),
    ],
    ids=["unknown", "no address", "not confirmed", "other workspace", "stranger"],
)
async def test_a_stranger_gets_a_word_and_nothing_else(
    chat: Chat, slack: SlackServer, door: SlackDoor, about: dict[str, Any], words: str
) -> None:
    slack.add_person("UEVE", **about)
    ts = await link(chat, slack)
    await slack.write(GENERAL, "UEVE", "I am in", ts)
    await slack.until(lambda: len(slack.ephemeral) == 1)
    await slack.write(GENERAL, "UEVE", f"<@{BOT}> and here?")
    await slack.command(GENERAL, "UEVE", "hello")
    await slack.until(lambda: len(slack.responses) == 1)
    assert words in slack.ephemeral[0]["text"]
    assert words in slack.responses[0]["text"]
    assert len(slack.ephemeral) == 1, "once an hour"
    assert await in_db(Conversation.objects.count) == 1
    assert await in_db(list_messages, chat.conversation) == []


async def test_an_address_that_nobody_has_verified_is_nobodys(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    def unverify() -> None:
        EmailAddress.objects.update(verified=False)
        User.objects.filter(pk=chat.user.pk).update(email="ada@example.org")

    await in_db(unverify)
    await slack.command(GENERAL, ADA, "Hello")
    await slack.until(lambda: slack.responses)
    assert "ada@example.org" in slack.responses[0]["text"]
    assert not slack.of_bot(GENERAL)


async def test_somebody_who_is_disabled_is_refused(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    ts = await link(chat, slack)
    await in_db(User.objects.filter(pk=chat.user.pk).update, is_active=False)
    await slack.write(GENERAL, ADA, "Still me", ts)
    await slack.until(lambda: slack.ephemeral)
    assert "disabled" in slack.ephemeral[0]["text"]
    assert await in_db(list_messages, chat.conversation) == []


async def test_a_command_where_the_bot_is_not_says_how_to_invite_it(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    await slack.command(slack.add_channel("secret", member=False), ADA, "Hello")
    await slack.until(lambda: slack.responses)
    assert "/invite" in slack.responses[0]["text"]
    assert await in_db(Conversation.objects.count) == 1


@pytest.mark.parametrize("whose", ["nobody's", "Bea's", "linked"])
async def test_only_an_own_free_conversation_can_be_linked(
    chat: Chat, slack: SlackServer, door: SlackDoor, whose: str
) -> None:
    pk = "00000000-0000-4000-8000-000000000000"
    if whose == "Bea's":
        bea = await in_db(User.objects.get, username="bea")
        pk = (await in_db(make_conversation, owner=bea)).pk
    elif whose == "linked":
        await link(chat, slack)
        pk = chat.conversation.pk
    threads = await in_db(SlackThread.objects.count)
    await slack.command(GENERAL, ADA, f"link http://testserver/c/{pk}/")
    await slack.until(lambda: slack.responses)
    assert await in_db(SlackThread.objects.count) == threads


async def test_files_come_along_and_what_cannot_be_taken_is_said(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    chat.script.reply("I see.")
    ts = await link(chat, slack)
    files = [
        slack.add_file("notes.txt", b"remember the milk"),
        slack.add_file("away.txt", b"x", url_private_download="http://127.0.0.1:9/files/away.txt"),
        slack.add_file("elsewhere", b""),
        slack.add_file("huge.txt", b"x", size=10**10),
        slack.add_file("odd.bin", bytes(range(256)) * 40),
    ]
    await slack.write(GENERAL, ADA, "Look", ts, files=files)
    await said(slack, ts, "I see.")
    assert "remember the milk" in str(chat.script.requests[0].messages[-1])
    (word,) = slack.ephemeral
    for name in ("away.txt", "elsewhere", "huge.txt", "odd.bin"):
        assert name in word["text"]
    assert slack.asked_files == ["notes.txt", "elsewhere", "odd.bin"]


async def test_an_edit_there_is_an_edit_here(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    for answer in ("Five.", "Six.", "Seven."):
        chat.script.reply(answer)
    ts = await link(chat, slack)
    asked = await slack.write(GENERAL, ADA, "2 + 3?", ts)
    await said(slack, ts, "Five.")
    await slack.edit(asked, "2 + 4?")
    await said(slack, ts, "Five.", "Six.")
    await slack.edit(asked, "2 + 5?")
    await said(slack, ts, "Five.", "Six.", "Seven.")
    assert await in_db(list_messages, chat.conversation) == [
        ("user", "slack", "2 + 5?"),
        ("assistant", "web", "Seven."),
    ]
    variants = Message.objects.filter(conversation=chat.conversation, role="user", number__gt=4)
    assert await in_db(variants.count) == 3, "nothing is rewritten"


async def test_what_waits_follows_edits_and_deletions_there(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    gate = chat.script.pause("First.", 0)
    chat.script.reply("Second.")
    ts = await link(chat, slack)
    await slack.write(GENERAL, ADA, "1", ts)
    await gate.wait_reached()
    wrong, mistaken = [await slack.write(GENERAL, ADA, text, ts) for text in ("tow", "three")]
    await eventually(lambda: QueuedPrompt.objects.count() == 2)
    await slack.edit(wrong, "two")
    await slack.delete(mistaken)
    await eventually(lambda: [q.text for q in QueuedPrompt.objects.all()] == ["two"])
    gate.release()
    await said(slack, ts, "First.", "Second.")
    assert [text for _, _, text in await in_db(list_messages, chat.conversation)] == [
        "1",
        "First.",
        "two",
        "Second.",
    ]


async def test_an_edit_of_what_is_being_answered_happens_afterwards(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    gate = chat.script.pause("To the first.", 0)
    chat.script.reply("To the second.")
    ts = await link(chat, slack)
    asked = await slack.write(GENERAL, ADA, "first", ts)
    await gate.wait_reached()
    await slack.edit(asked, "second")
    await eventually(lambda: SlackEvent.objects.filter(done=False, tries__gt=0).exists())
    gate.release()
    await said(slack, ts, "To the first.", "To the second.")
    assert await in_db(list_messages, chat.conversation) == [
        ("user", "slack", "second"),
        ("assistant", "web", "To the second."),
    ]


async def test_a_deletion_on_one_side_is_one_on_the_other(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    chat.script.reply("One.")
    ts = await link(chat, slack)
    asked = await slack.write(GENERAL, ADA, "1", ts)
    await said(slack, ts, "One.")
    await slack.delete(asked)
    await eventually(lambda: list_messages(chat.conversation) == [("assistant", "web", "One.")])
    answer = await in_db(Message.objects.get, conversation=chat.conversation, text="One.")
    await in_db(branches.delete_message, chat.user, chat.conversation.pk, answer.pk)
    await said(slack, ts)


async def test_an_answer_grows_in_its_post_and_a_long_one_is_several(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    long = "\n\n".join(f"Paragraph {number}. " + "word " * 150 for number in range(12))
    gate = chat.script.pause(long, 2)
    ts = await link(chat, slack)
    await slack.write(GENERAL, ADA, "Tell me", ts)
    first = await slack.until(
        lambda: next((m for m in slack.of_bot(GENERAL) if m.text.startswith("Paragraph 0")), None)
    )
    assert first.text.endswith("_…_")
    gate.release()
    await slack.until(lambda: any("Paragraph 11" in m.text for m in slack.of_bot(GENERAL)))
    posts = [m for m in slack.read_thread(GENERAL, ts) if m.text.startswith("Paragraph")]
    assert posts[0] is first
    assert len(posts) > 1
    assert max(len(version) for post in posts for version in post.versions) <= 4_000
    await slack.until(lambda: "\n\n".join(m.text for m in posts).split() == long.split())


async def test_a_long_prompt_of_the_page_is_several_posts_with_its_author_first(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    chat.script.reply("Read.")
    ts = await link(chat, slack)
    tab = await chat.open()
    tab.say("word " * 1_500)
    await slack.until(lambda: any(m.text == "Read." for m in slack.of_bot(GENERAL)))
    _, *posts, answer = [m.text for m in slack.read_thread(GENERAL, ts)]
    assert posts[0].startswith("*ada* · _In Everlong_")
    assert "".join(posts).count("word") == 1_500
    assert max(map(len, posts)) <= 4_000
    assert answer == "Read."


async def test_a_failed_answer_is_said_with_the_next_step(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    chat.script.error(401)
    ts = await link(chat, slack)
    await slack.write(GENERAL, ADA, "Hello", ts)
    post = await slack.until(
        lambda: next((m for m in slack.of_bot(GENERAL) if ":warning:" in m.text), None)
    )
    assert str(chat.conversation.pk) in post.text


async def test_what_cannot_go_out_is_said(chat: Chat, slack: SlackServer, door: SlackDoor) -> None:
    ts = await link(chat, slack)
    await in_db(set_policy, chat.user, model_names=["another"])
    await slack.write(GENERAL, ADA, "Hello", ts)
    post = await slack.until(
        lambda: next((m for m in slack.of_bot(GENERAL) if "Not sent" in m.text), None)
    )
    assert str(chat.conversation.pk) in post.text


async def test_what_goes_wrong_at_slack_neither_loses_nor_doubles_a_post(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    for answer in ("1", "2", "3", "4"):
        chat.script.reply(answer)
    slack.faults["chat.postMessage"] = ["lost"]
    ts = await link(chat, slack)
    faults = ["lost", "429", "500", "internal_error"]
    for number, fault in enumerate(faults, 1):
        slack.faults["chat.postMessage"] = [fault]
        slack.faults["users.info"] = ["500"]
        await slack.write(GENERAL, ADA, "next", ts)
        await said(slack, ts, *map(str, range(1, number + 1)))
    assert len(slack.of_bot(GENERAL)) == 5, "with the first one of the thread"
    assert not slack.ephemeral


async def test_while_slack_is_away_all_goes_on_here_and_is_posted_later_in_order(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    for answer in ("1", "2"):
        chat.script.reply(answer)
    ts = await link(chat, slack)
    tab = await chat.open()
    slack.away = True
    await slack.drop_sockets()
    for text in ("one", "two"):
        tab.say(text)
        await tab.next("turn.finished")
    assert len(slack.of_bot(GENERAL)) == 1
    slack.away = False
    names = "*ada* · _In Everlong_\n"
    await said(slack, ts, f"{names}one", "1", f"{names}two", "2")


async def test_what_was_written_edited_and_deleted_while_the_line_was_down_is_caught_up_with(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    for answer in ("A", "B", "C"):
        chat.script.reply(answer)
    ts = await link(chat, slack)
    await slack.write(GENERAL, ADA, "a", ts)
    await said(slack, ts, "A")
    gone = await slack.write(GENERAL, ADA, "b", ts)
    await said(slack, ts, "A", "B")
    slack.away = True
    await slack.drop_sockets()
    await slack.delete(gone, tell=False)
    await slack.write(GENERAL, ADA, "c", ts, tell=False)
    slack.away = False
    await said(slack, ts, "A", "B", "C")
    texts = [text for _, _, text in await in_db(list_messages, chat.conversation)]
    assert texts == ["a", "A", "B", "c", "C"]


async def test_refused_tokens_stop_the_door_until_they_count_again(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    chat.script.reply("Later.")
    ts = await link(chat, slack)
    tab = await chat.open()
    slack.revoked = True
    tab.say("Now")
    await tab.next("turn.finished")
    problem = await eventually(lambda: SlackConnection.objects.exclude(problem="").first())
    assert "invalid_auth" in problem.problem
    assert BOT_TOKEN not in problem.problem
    assert SLACK.is_ongoing
    slack.revoked = False
    await said(slack, ts, "*ada* · _In Everlong_\nNow", "Later.")
    await eventually(lambda: SlackConnection.objects.filter(problem="").exists())
    assert not SLACK.is_ongoing


async def test_of_two_processes_one_is_connected_and_the_other_takes_over(
    chat: Chat, slack: SlackServer, doors: Callable[[str], SlackDoor]
) -> None:
    for answer in ("1", "2"):
        chat.script.reply(answer)
    first = doors("first")
    await slack.is_connected()
    ts = await link(chat, slack)
    doors("second")
    await slack.write(GENERAL, ADA, "one", ts)
    await said(slack, ts, "1")
    assert len(slack.open_sockets) == 1
    await first.close()
    await slack.is_connected()
    await slack.write(GENERAL, ADA, "two", ts)
    await said(slack, ts, "1", "2")


async def test_what_a_dead_process_may_have_posted_is_looked_for(
    chat: Chat, slack: SlackServer, doors: Callable[[str], SlackDoor]
) -> None:
    """It died between Slack's answer and the database, or before it asked."""
    for answer in ("posted", "not posted"):
        chat.script.reply(answer)
    first = doors("first")
    await slack.is_connected()
    ts = await link(chat, slack)
    for text in ("one", "two"):
        await slack.write(GENERAL, ADA, text, ts)
    await said(slack, ts, "posted", "not posted")
    await eventually(lambda: SlackThread.objects.filter(through__gte=8).exists())
    await first.close()

    def forget() -> None:
        SlackPost.objects.exclude(key="opening").update(ts="", tries=1, final=False)
        SlackThread.objects.update(through=4, history_version=None)

    await in_db(forget)
    lost = next(post for post in slack.of_bot(GENERAL) if post.text == "not posted")
    del slack.messages[lost.ts]
    doors("second")
    await said(slack, ts, "posted", "not posted")


def test_a_lease_goes_to_another_process_only_when_it_is_over(transactional_db: None) -> None:
    assert take_lease("first")
    assert not take_lease("second")
    assert take_lease("first")
    SlackConnection.objects.update(lease_expires=timezone.now() - timedelta(seconds=1))
    assert take_lease("second")
    assert not take_lease("first")


async def test_the_bot_without_its_channel_parts_thread_and_conversation(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    chat.script.reply("Alone.")
    await link(chat, slack)
    tab = await chat.open()
    del slack.channels[GENERAL]
    tab.say("Where are you?")
    await tab.next("turn.finished")
    await eventually(lambda: not SlackThread.objects.exists())


async def test_a_deleted_conversation_leaves_nothing_of_its_thread(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    chat.script.reply("Gone.")
    ts = await link(chat, slack)
    await slack.write(GENERAL, ADA, "Secret", ts)
    await said(slack, ts, "Gone.")
    await in_db(conversations.delete_conversation, chat.conversation)
    for table in (SlackThread, SlackMessage, SlackPost):
        assert not await in_db(table.objects.exists)
    assert "Secret" not in str(await in_db(list, SlackEvent.objects.values()))
    await slack.write(GENERAL, ADA, "Anybody?", ts)
    assert not await in_db(SlackEvent.objects.filter(done=False).exists)
