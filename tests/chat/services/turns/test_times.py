"""The line that tells a model the time: which messages have one, that it stays, that it counts."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import override_settings

from accounts.models import User
from agent.context.assemble import assemble
from chat.engine.model_server import get_counter
from chat.engine.state import load_state
from chat.importers.records import ImportedConversation, ImportedMessage
from chat.models import Conversation, Message, Turn
from chat.services.library.importing import store_conversation
from chat.services.summary import leaving_out
from chat.services.turns import branches, endings, requests, rounds
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.turns import NewMessage
from tests.chat.factories import (
    HOLDER,
    add_messages,
    change_messages,
    make_compaction,
    make_conversation,
)

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]

BERLIN = "Europe/Berlin"
Move = Callable[..., None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Move:
    """Moves the clock: to a moment in UTC, or on by so much."""
    now = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)

    def move(*moment: int, **span: float) -> None:
        nonlocal now
        now = datetime(*moment, tzinfo=UTC) if moment else now + timedelta(**span)  # type: ignore[arg-type, misc]

    return move


@pytest.fixture
def talk(user: User) -> Conversation:
    return make_conversation(owner=user)


def send(talk: Conversation, text: str = "Hello", zone: str = BERLIN) -> requests.AnswerStart:
    begun = requests.send_message(
        talk.owner, talk.pk, NewMessage(text, zone=zone), expected_head=None, holder=HOLDER
    )
    assert begun is not None
    return begun


def end(begun: requests.AnswerStart, text: str = "Good.", **values: Any) -> Message:
    """The answer of a turn."""
    blocks = [{"type": "text", "text": text}]
    status = values.pop("status", Turn.Status.COMPLETED)
    ending = TurnOutcome(status, blocks=blocks, stop_reason="end_turn", **values)
    endings.end_turn(begun.turn.pk, ending)
    assert begun.message
    return begun.message


def say(talk: Conversation, text: str = "Hello", zone: str = BERLIN) -> Message:
    """An exchange; the user's message."""
    answer = end(send(talk, text, zone))
    assert answer.parent
    return answer.parent


def sent(talk: Conversation) -> list[dict[str, Any]]:
    """The messages of the next request."""
    return list(assemble(load_state(talk.pk).context, continued=True).messages)


def texts(talk: Conversation) -> list[list[str]]:
    """Of the users' messages in the next request, each block's text."""
    return [[b["text"] for b in m["content"]] for m in sent(talk) if m["role"] == "user"]


# --- Which messages tell it -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "line"),
    [
        (BERLIN, "[Monday, 2 March 2026, 10:00, Europe/Berlin]"),
        ("America/Los_Angeles", "[Monday, 2 March 2026, 01:00, America/Los_Angeles]"),
        ("Pacific/Auckland", "[Monday, 2 March 2026, 22:00, Pacific/Auckland]"),
    ],
)
def test_the_first_message_tells_it_and_the_next_of_that_hour_does_not(
    talk: Conversation, clock: Move, zone: str, line: str
) -> None:
    say(talk, "One", zone)
    clock(minutes=59)
    say(talk, "Two", zone)
    assert texts(talk) == [[line, "One"], ["Two"]]


def test_an_hour_later_and_on_a_new_day_it_is_told_again(talk: Conversation, clock: Move) -> None:
    clock(2026, 3, 2, 21, 50)
    say(talk, "One")
    clock(minutes=60)
    say(talk, "Two")
    clock(2026, 3, 2, 23, 0)  # midnight in Berlin
    say(talk, "Three")
    assert [len(each) for each in texts(talk)] == [2, 2, 2]
    assert texts(talk)[2][0] == "[Tuesday, 3 March 2026, 00:00, Europe/Berlin]"


def test_after_the_clocks_are_changed_it_is_the_time_of_the_place(
    talk: Conversation, clock: Move
) -> None:
    clock(2026, 3, 29, 0, 59)
    say(talk, "One")
    clock(minutes=1)
    say(talk, "Two")  # 03:00, a minute later
    clock(minutes=59)
    say(talk, "Three")
    assert texts(talk) == [
        ["[Sunday, 29 March 2026, 01:59, Europe/Berlin]", "One"],
        ["Two"],
        ["[Sunday, 29 March 2026, 03:59, Europe/Berlin]", "Three"],
    ]


def test_who_moves_to_another_zone_is_told_of_at_once(talk: Conversation, clock: Move) -> None:
    """So are two tabs of two zones, by turns."""
    for zone in (BERLIN, "Asia/Tokyo", BERLIN, BERLIN):
        say(talk, zone, zone)
    assert [each[0].rpartition(", ")[2] for each in texts(talk)[:3]] == [
        "Europe/Berlin]",
        "Asia/Tokyo]",
        "Europe/Berlin]",
    ]
    assert texts(talk)[3] == [BERLIN]


def test_without_a_zone_the_sites_counts(talk: Conversation, clock: Move) -> None:
    with override_settings(TIME_ZONE="Asia/Kolkata"):
        say(talk, zone="")
    assert texts(talk)[0][0] == "[Monday, 2 March 2026, 14:30, Asia/Kolkata]"


def test_an_old_conversation_tells_the_time_from_its_next_message_on(
    talk: Conversation, clock: Move
) -> None:
    add_messages(talk, ["Is my interview soon?", "It is."])
    clock(days=5)
    say(talk, "Is it ahead of me?")
    assert texts(talk) == [
        ["Is my interview soon?"],
        [
            "[Saturday, 7 March 2026, 10:00, Europe/Berlin; "
            "the message before is from Monday, 2 March 2026, 10:00]",
            "Is it ahead of me?",
        ],
    ]


def test_an_imported_thread_stays_as_it_was_and_its_age_is_told(user: User, clock: Move) -> None:
    at = datetime(2025, 11, 20, 23, 33, tzinfo=UTC)
    messages = [
        ImportedMessage("1", None, "user", [{"type": "text", "text": "Count."}], at=at),
        ImportedMessage("2", "1", "assistant", [{"type": "text", "text": "One."}], at=at),
    ]
    stored = store_conversation(user, "test", ImportedConversation("talk", messages))
    talk = Conversation.objects.get(pk=stored.conversation_id)
    assert texts(talk) == [["Count."]]
    say(talk, "And now?")
    assert texts(talk)[1][0].endswith("the message before is from Friday, 21 November 2025, 00:33]")


def test_where_the_summary_has_taken_the_last_line_the_next_message_has_one(
    talk: Conversation, clock: Move
) -> None:
    say(talk, "One")
    second = say(talk, "Two")
    make_compaction(talk, through=2)
    clock(minutes=5)
    say(talk, "Three")
    told = [each for each in texts(talk) if each[0].startswith("[Monday")]
    assert ["[Monday, 2 March 2026, 10:05, Europe/Berlin]", "Three"] in told
    assert not second.time_line


def test_a_line_that_is_left_out_does_not_count(talk: Conversation, clock: Move) -> None:
    first = say(talk, "One")
    leaving_out.leave_message_out(talk.owner, talk.pk, first.pk, whole=True)
    clock(minutes=5)
    say(talk, "Two")
    assert texts(talk)[-1][0] == "[Monday, 2 March 2026, 10:05, Europe/Berlin]"


# --- It stays -------------------------------------------------------------------------------------


def test_every_request_begins_with_the_bytes_of_the_one_before(
    talk: Conversation, clock: Move
) -> None:
    before: list[dict[str, Any]] = []
    for number in range(8):
        say(talk, f"Message {number}", "Asia/Tokyo" if number == 5 else BERLIN)
        clock(minutes=25)
        now = sent(talk)
        assert now[: len(before)] == before
        before = now
    assert sum(len(each) for each in texts(talk)) > 8


def test_a_round_of_tools_leaves_it_alone(talk: Conversation, clock: Move) -> None:
    begun = send(talk)
    call = {"type": "tool_use", "id": "t1", "name": "search_history", "input": {"query": "x"}}
    before = list(assemble(begun.state.context).messages)
    rounds.close_round(
        begun.turn.pk, TurnOutcome(Turn.Status.COMPLETED, blocks=[call], stop_reason="tool_use")
    )
    assert begun.message
    clock(hours=3)
    rounds.store_results(begun.turn.pk, begun.message.pk, [call], [])
    again = requests.open_next_request(begun.turn.pk)
    assert list(assemble(again.state.context).messages)[:1] == before
    rows = Message.objects.filter(conversation=talk).order_by("number")
    assert {row.time_zone for row in rows} == {BERLIN}
    assert [bool(row.time_line) for row in rows] == [True, False, False, False]


def test_it_is_no_part_of_the_message(talk: Conversation, clock: Move) -> None:
    message = say(talk, "Hello")
    assert message.text == "Hello"
    assert message.blocks == [{"type": "text", "text": "Hello"}]


def test_its_tokens_count(talk: Conversation, clock: Move) -> None:
    count = get_counter().count
    with_line, without = say(talk, "Hello"), say(talk, "Hello")
    assert with_line.tokens - without.tokens == count(with_line.time_line) > 0


# --- Asked again ----------------------------------------------------------------------------------

AGAIN = "[Monday, 2 March 2026, 10:00, Europe/Berlin; asked again on Tuesday, 3 March 2026, 09:00]"


def test_a_retry_after_an_hour_says_both_times(talk: Conversation, clock: Move) -> None:
    end(send(talk, "Is it tomorrow?"), status=Turn.Status.FAILED)
    clock(days=1, hours=-1)
    begun = requests.retry(talk, holder=HOLDER, zone=BERLIN)
    assert [m.time_line for m in begun.state.context.messages] == [AGAIN]
    end(begun)
    prompt = Message.objects.get(conversation=talk, number=1)
    assert prompt.tokens == get_counter().count_blocks(prompt.blocks) + get_counter().count(AGAIN)


def test_a_retry_within_the_hour_changes_nothing(talk: Conversation, clock: Move) -> None:
    before = list(assemble(send_and_fail(talk).state.context).messages)
    clock(minutes=50)
    again = requests.retry(talk, holder=HOLDER, zone=BERLIN)
    assert list(assemble(again.state.context).messages) == before


def send_and_fail(talk: Conversation) -> requests.AnswerStart:
    begun = send(talk)
    end(begun, status=Turn.Status.FAILED)
    return begun


def test_a_retry_within_a_round_of_tools_leaves_the_prompt_as_it_is(
    talk: Conversation, clock: Move
) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "search_history", "input": {"query": "x"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "Found."}
    end(send(talk), status=Turn.Status.FAILED)
    change_messages(talk.messages.filter(number=2), active=False)
    add_messages(talk, [("assistant", [call]), ("user", [result])])
    before = sent(talk)
    clock(days=1)
    again = requests.retry(talk, holder=HOLDER, zone=BERLIN)
    assert list(assemble(again.state.context).messages)[0] == before[0]


def test_another_answer_after_a_day_says_both_times(talk: Conversation, clock: Move) -> None:
    answer = end(send(talk, "Is it tomorrow?"))
    clock(days=1, hours=-1)
    begun = branches.regenerate(talk.owner, talk.pk, answer.pk, holder=HOLDER, zone=BERLIN)
    assert [m.time_line for m in begun.state.context.messages] == [AGAIN]
    end(begun)
    clock(minutes=5)
    say(talk, "Thanks")
    assert texts(talk) == [[AGAIN, "Is it tomorrow?"], ["Thanks"]]


def test_what_had_no_line_gets_one_when_it_is_asked_again(talk: Conversation, clock: Move) -> None:
    say(talk, "One")
    clock(minutes=10)
    answer = end(send(talk, "Two"))
    clock(hours=2)
    branches.regenerate(talk.owner, talk.pk, answer.pk, holder=HOLDER, zone=BERLIN)
    assert texts(talk)[1][0] == (
        "[Monday, 2 March 2026, 10:10, Europe/Berlin; asked again on Monday, 2 March 2026, 12:10]"
    )


def test_an_edit_of_an_old_message_is_said_now(talk: Conversation, clock: Move) -> None:
    old = say(talk, "My test is tomorrow")
    say(talk, "Two")
    clock(days=3)
    begun = branches.edit_message(
        talk.owner, talk.pk, old.pk, "My test was yesterday", holder=HOLDER, zone=BERLIN
    )
    end(begun)
    assert texts(talk) == [
        ["[Thursday, 5 March 2026, 10:00, Europe/Berlin]", "My test was yesterday"]
    ]
    branches.switch_branch(talk.owner, talk.pk, old.pk)
    assert texts(talk)[0][0] == "[Monday, 2 March 2026, 10:00, Europe/Berlin]"
