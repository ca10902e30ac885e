"""One thread that is written from the page, the API and Slack is summarised as any other."""

from typing import Any

import pytest

from accounts.tokens import SCOPES, issue_token
from chat.db.threads import in_db
from chat.models import Message, ModelProfile
from chat.sources.slack.door import SlackDoor
from demo.api.recording import RecordedRequest
from demo.api.script import is_chat, is_summary
from tests.chat.api.programs import Program
from tests.chat.sockets import SUMMARY, Chat, Tab, long_text
from tests.chat.sources.conftest import ADA
from tests.chat.sources.test_slack import GENERAL, link
from tests.support.slack import SlackServer

pytestmark = pytest.mark.usefixtures("worker")

DOORS = ("page", "api", "slack")


@pytest.fixture(autouse=True)
def no_tools(signed_in: object) -> None:
    ModelProfile.objects.update(tools=False)


async def say(
    chat: Chat, slack: SlackServer, program: Program, tab: Tab, ts: str, door: str, text: str
) -> None:
    """The user says something through a door, and it is answered."""
    if door == "page":
        tab.say(text)
    elif door == "slack":
        await slack.write(GENERAL, ADA, text, ts)
    else:
        path = f"/conversations/{chat.conversation.pk}/messages"
        sent = await program.post(path, {"text": text, "wait": 0})
        assert sent.status_code == 202, sent.content
    await tab.next("turn.finished", status="completed")


def list_shown(request: RecordedRequest) -> list[int]:
    """The numbers of the long texts that a request has word for word."""
    content = str(request.messages)
    return [number for number in range(1, 60) if f"Message {number}: " in content]


async def test_a_thread_of_three_doors_is_compacted_twice_like_one(
    chat: Chat, slack: SlackServer, door: SlackDoor, settings: Any
) -> None:
    await chat.start(0)
    slack.people[ADA]["tz"] = settings.TIME_ZONE  # as the page's: another zone would be said
    chat.script.reply("Noted.", when=is_chat, always=True)
    chat.script.reply(SUMMARY, when=is_summary, always=True)
    program = Program(await in_db(issue_token, chat.user, "A program", [*SCOPES], None))
    tab = await chat.open()
    ts = await link(chat, slack)
    number = 0
    while len([c for c in await chat.compactions() if c.status == "completed"]) < 2:
        number += 1
        which = DOORS[number % 3]
        await say(chat, slack, program, tab, ts, which, long_text(number).strip())
        assert number < 40

    rows = await in_db(
        list, Message.objects.filter(conversation=chat.conversation).order_by("number")
    )
    prompts = [row for row in rows if row.role == "user"]
    assert {row.source for row in prompts} == {"web", "api", "slack"}
    assert [row.text for row in prompts] == [long_text(n).strip() for n in range(1, number + 1)]
    assert all(row.active for row in rows), "one branch"

    # Summaries read what came by all doors, word for word; requests do not say by which.
    summaries = [each for each in chat.script.requests if each.kind == "summary"]
    first, second = [list_shown(each) for each in summaries]
    assert first == list(range(1, first[-1] + 1))
    assert second[0] in (1, first[-1] + 1)
    assert second[-1] > first[-1] + 2
    answer = chat.script.requests[-1]
    assert "# Conversation Summary" in answer.system_text
    assert answer.last_user_text.strip() == long_text(number).strip()
    sent = [shape_of(message) for message in answer.messages if message["role"] == "user"]
    assert len(set(sent[-3:])) == 1, "those of three doors look alike"
    for word in (b"slack", b"Slack", b'"api"'):
        assert word not in answer.raw

    def count(*words: str) -> int:
        posts = slack.read_thread(GENERAL, ts)
        return sum(any(word in post.text for word in words) for post in posts)

    asked_elsewhere = sum(row.source != "slack" for row in prompts)
    await slack.until(lambda: count("Compacted: #") == 2)
    await slack.until(lambda: count("In Everlong", "By the API") == asked_elsewhere)
    await slack.until(lambda: count("Noted.") == number)


def shape_of(message: dict[str, Any]) -> tuple[str, ...]:
    """What a message of a request consists of, but for its words and where the cache ends."""
    content = message["content"]
    if isinstance(content, str):
        return ("text",)
    return tuple(block["type"] for block in content)


async def test_a_compaction_is_a_line_while_it_runs_and_after(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    await chat.start([long_text(number) for number in range(1, 6)])
    gate = chat.script.pause(SUMMARY, 1, when=is_summary)
    ts = await link(chat, slack)
    tab = await chat.open()
    tab.send("compact")
    await gate.wait_reached()
    await slack.until(lambda: [m for m in slack.of_bot(GENERAL) if "Compacting" in m.text])
    gate.release()
    await tab.next("CompressionCompleted", success=True)
    (line,) = await slack.until(
        lambda: [m for m in slack.of_bot(GENERAL) if "Compacted: #1–#" in m.text]
    )
    assert str(chat.conversation.pk) in line.text
    assert [m.ts for m in slack.read_thread(GENERAL, ts)][1:] == [line.ts], "the same post"
