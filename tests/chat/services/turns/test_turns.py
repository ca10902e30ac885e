"""Turns in the database: stored with their message, ended exactly once, told after the commit."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal

import pytest
from django.db import connection, transaction

from accounts.models import User
from agent.errors import AgentError, ErrorCode
from agent.messages import Usage
from agent.model.reply import Reply
from chat.errors import Refused
from chat.models import Conversation, Message, ModelProfile, Turn
from chat.services.calls import describe_end
from chat.services.turns import endings, requests, turns
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.turns import NewMessage, TurnEnded
from spending.calls import CallEnd
from spending.models import ModelCall
from spending.totals import load_total
from tests.chat.factories import HOLDER, make_conversation, make_profile, make_turn, make_user
from tests.chat.listening import Listener, race

pytestmark = pytest.mark.on_both

Listen = Callable[[Conversation], Listener]

ANSWER = [{"type": "text", "text": "Hi! How can I help?"}]
USAGE = {"input_tokens": 30, "cache_read_input_tokens": 970, "output_tokens": 20}


def post(
    conversation: Conversation,
    text: str = "Hello",
    *,
    client_id: str | None = "c1",
    expected_head: int | None = None,
    by: User | None = None,
) -> Turn | None:
    opening = requests.send_message(
        by or conversation.owner,
        conversation.pk,
        NewMessage(text, client_id=client_id),
        expected_head=expected_head,
        holder=HOLDER,
    )
    return opening.turn if opening else None


def answered(conversation: Conversation, status: Turn.Status = Turn.Status.COMPLETED) -> Turn:
    """A turn that went the whole way."""
    turn = post(conversation, client_id=None)
    assert turn is not None
    requests.open_next_request(turn.pk)
    assert endings.end_turn(turn.pk, TurnOutcome(status, blocks=ANSWER, usage=USAGE))
    turn.refresh_from_db()
    return turn


def texts(conversation: Conversation) -> list[str]:
    return list(
        conversation.messages.filter(active=True)
        .order_by("position")
        .values_list("text", flat=True)
    )


# --- A message is posted --------------------------------------------------------------------------


def test_a_message_is_stored_with_its_turn_and_told(
    conversation: Conversation, listen: Listen
) -> None:
    heard = listen(conversation)
    turn = post(conversation, "  Hello *there*  ", expected_head=4)
    message = conversation.messages.get(number=5)
    assert message.text == "Hello *there*"
    assert message.blocks == [{"type": "text", "text": "Hello *there*"}]
    assert (message.role, message.status, message.position) == ("user", "complete", 4)
    assert message.parent is not None
    assert message.parent.number == 4
    assert message.tokens > 0
    assert message.turn == turn
    assert turn is not None
    assert (turn.kind, turn.holder) == ("answer", HOLDER)
    created, started, _ = heard.events("message.created", "turn.started")
    assert (created["id"], created["client_id"], created["number"]) == (message.pk, "c1", 5)
    assert "Hello *there*" in created["html"]
    assert started == {"type": "turn.started", "turn_id": turn.pk, "kind": "answer"}
    assert "conversation.updated" in heard.types()


def test_a_repeated_client_id_changes_nothing(conversation: Conversation, listen: Listen) -> None:
    assert post(conversation)
    heard = listen(conversation)
    assert post(conversation) is None  # while the answer runs
    Turn.objects.update(status=Turn.Status.COMPLETED)
    assert post(conversation, "Something else") is None  # and after it
    assert conversation.messages.filter(client_id="c1").count() == 1
    assert Turn.objects.count() == 1
    assert heard.events() == []


def test_of_two_equal_frames_at_once_one_is_stored(conversation: Conversation) -> None:
    results = race(*[lambda: post(conversation, "Hi", client_id="same")] * 4)
    assert sorted(type(result).__name__ for result in results) == ["NoneType"] * 3 + ["Turn"]
    assert conversation.messages.filter(client_id="same").count() == 1


def test_of_two_messages_at_once_one_is_refused(conversation: Conversation) -> None:
    results = race(
        *[lambda n=n: post(conversation, f"Tab {n}", client_id=f"tab-{n}") for n in range(4)]
    )
    refused = [result for result in results if isinstance(result, Refused)]
    assert [refusal.code for refusal in refused] == ["conversation_busy"] * 3
    assert conversation.messages.filter(role="user").count() == 3
    assert Turn.objects.filter(status__in=Turn.ACTIVE).count() == 1


@pytest.mark.services
def test_a_message_in_the_moment_in_which_a_turn_ends_is_refused_and_waits_for_nothing(
    conversation: Conversation,
) -> None:
    """It would hold the conversation, which the end of the turn is about to write."""
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer: needs --services")
    turn = post(conversation, client_id="first")
    assert turn is not None

    def send_meanwhile() -> Turn | None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '100ms'")
            return post(conversation, client_id="second")

    with transaction.atomic():
        Turn.objects.filter(pk=turn.pk).update(status=Turn.Status.COMPLETED)
        (refused,) = race(send_meanwhile)
    assert isinstance(refused, Refused)
    assert refused.code == "conversation_busy"


@pytest.mark.parametrize("head", [0, 3, 5, 10**30])
def test_another_head_than_expected_stores_nothing(conversation: Conversation, head: int) -> None:
    with pytest.raises(Refused) as refusal:
        post(conversation, expected_head=head)
    assert refusal.value.code == "head_changed"
    assert conversation.messages.count() == 4
    assert not Turn.objects.exists()


def test_an_empty_conversation_has_head_zero_and_takes_its_title(user: User) -> None:
    conversation = make_conversation(owner=user, title="")
    assert post(conversation, "Plan the move to Lisbon\nby May", expected_head=0)
    conversation.refresh_from_db()
    assert conversation.title == "Plan the move to Lisbon"


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (Turn.Status.QUEUED, Turn.Kind.ANSWER, "An answer is being written"),
        (Turn.Status.RUNNING, Turn.Kind.ANSWER, "An answer is being written"),
        (Turn.Status.COMPACTING, Turn.Kind.ANSWER, "being compacted"),
        (Turn.Status.QUEUED, Turn.Kind.COMPACT, "being compacted"),
    ],
)
def test_a_busy_conversation_refuses(
    conversation: Conversation, status: Turn.Status, kind: Turn.Kind, words: str
) -> None:
    make_turn(conversation, status=status, kind=kind)
    with pytest.raises(Refused, match=words) as refusal:
        post(conversation)
    assert refusal.value.code == "conversation_busy"
    assert refusal.value.retryable
    assert conversation.messages.count() == 4


@pytest.mark.parametrize("text", ["", "   \n\t "])
def test_an_empty_message_is_refused(conversation: Conversation, text: str) -> None:
    with pytest.raises(Refused) as refusal:
        post(conversation, text)
    assert refusal.value.code == "empty_message"


def test_a_message_over_the_limit_is_refused_with_both_numbers(
    conversation: Conversation, settings: pytest.FixtureRequest
) -> None:
    settings.MAX_MESSAGE_CHARACTERS = 1_000  # type: ignore[attr-defined]
    with pytest.raises(Refused, match=r"1,001 .* 1,000") as refusal:
        post(conversation, "x" * 1_001)
    assert refusal.value.code == "message_too_long"
    assert post(conversation, "x" * 1_000)


def test_nul_and_lone_surrogates_are_replaced_and_pairs_joined(conversation: Conversation) -> None:
    post(conversation, "a\0b \ud83d\ude00 \ud800!")
    assert conversation.messages.get(number=5).text == "a\ufffdb 😀 \ufffd!"


def test_a_stranger_cannot_post(conversation: Conversation) -> None:
    with pytest.raises(Conversation.DoesNotExist):
        post(conversation, by=make_user())
    assert conversation.messages.count() == 4


def test_a_new_conversation_comes_with_its_first_message_or_not_at_all(user: User) -> None:
    opening = requests.open_conversation(user, "test-model", NewMessage("Hello"), holder=HOLDER)
    assert opening.message is not None, "the answer begins with it"
    assert texts(opening.turn.conversation) == ["Hello", ""]
    with pytest.raises(Refused):
        requests.open_conversation(user, "test-model", NewMessage("  "), holder=HOLDER)
    assert Conversation.objects.count() == 1


# --- Events wait for the commit -------------------------------------------------------------------


def test_nothing_is_told_before_the_commit(conversation: Conversation, listen: Listen) -> None:
    heard = listen(conversation)
    with transaction.atomic():
        post(conversation)
        assert heard.events() == []
    assert heard.types() == [
        "conversation.updated",
        "message.created",
        "turn.started",
        "message.created",
    ]


def test_nothing_is_told_of_what_was_rolled_back(
    conversation: Conversation, listen: Listen
) -> None:
    heard = listen(conversation)
    with transaction.atomic():
        post(conversation)
        transaction.set_rollback(True)
    assert heard.events() == []
    assert conversation.messages.count() == 4


# --- The answer begins ----------------------------------------------------------------------------


def test_an_answer_opens_one_row_however_often_it_begins(
    conversation: Conversation, listen: Listen
) -> None:
    turn = make_turn(conversation)
    heard = listen(conversation)
    opening = requests.open_next_request(turn.pk)
    state, message = opening.state, opening.message
    assert message is not None
    assert (message.role, message.status, message.number) == ("assistant", "streaming", 5)
    assert [m.number for m in state.context.messages] == [1, 2, 3, 4]
    again = requests.open_next_request(turn.pk).message
    assert again == message
    turn.refresh_from_db()
    assert turn.status == Turn.Status.RUNNING
    (created,) = heard.events()
    assert (created["type"], created["status"]) == ("message.created", "streaming")


def test_an_answer_waits_where_a_compaction_is_due(user: User) -> None:
    make_profile("small", context_window=16_000)
    conversation = make_conversation(owner=user, messages=["x" * 5_000] * 10, model="small")
    turn = post(conversation)
    assert turn is not None
    message = requests.open_next_request(turn.pk).message
    assert message is None
    message = requests.open_next_request(turn.pk, may_compact=False).message
    assert message is not None


def test_an_ended_turn_cannot_begin(conversation: Conversation) -> None:
    turn = answered(conversation)
    with pytest.raises(TurnEnded):
        requests.open_next_request(turn.pk)
    assert conversation.messages.count() == 6


# --- The turn ends --------------------------------------------------------------------------------


def end_of(opening: requests.AnswerStart) -> CallEnd:
    """The end of a request's call, as its server has reported it."""
    assert opening.call
    return describe_end(
        opening.call, Reply(usage=Usage.from_api(USAGE), complete=True, is_reported=True), None
    )


def test_a_finished_turn_stores_answer_usage_and_cost(
    conversation: Conversation, listen: Listen
) -> None:
    turn = post(conversation)
    assert turn is not None
    opening = requests.open_next_request(turn.pk)
    heard = listen(conversation)
    ending = TurnOutcome(
        Turn.Status.COMPLETED,
        blocks=ANSWER,
        stop_reason="end_turn",
        usage=USAGE,
        call=end_of(opening),
    )
    assert endings.end_turn(turn.pk, ending)

    message = conversation.messages.get(number=6)
    assert message.blocks == ANSWER
    assert message.text == "Hi! How can I help?"
    assert (message.status, message.stop_reason, message.usage) == ("complete", "end_turn", USAGE)
    call = ModelCall.objects.get(state=ModelCall.State.SETTLED)
    assert (call.user, call.message, call.turn) == (conversation.owner, message.pk, turn.pk)
    assert (call.input_tokens, call.cache_read_tokens, call.output_tokens) == (30, 970, 20)
    assert call.cost == Decimal(30 * 2 + 194 + 20 * 10) / 10**6
    assert call.bound > call.cost
    finished, usage = heard.events()
    assert finished["type"] == "turn.finished"
    assert (finished["status"], finished["message_id"]) == ("completed", message.pk)
    assert "Hi! How can I help?" in finished["html"]
    assert usage["type"] == "context.usage"
    assert (usage["used"], usage["estimated"]) == (1_020, False)


def test_a_turn_ends_once_under_racing_threads(conversation: Conversation, listen: Listen) -> None:
    turn = post(conversation)
    assert turn is not None
    call = end_of(requests.open_next_request(turn.pk))
    heard = listen(conversation)
    ways = [
        TurnOutcome(
            status,
            blocks=[{"type": "text", "text": f"ended as {status}"}],
            usage=USAGE,
            call=call,
        )
        for status in ("completed", "cancelled", "failed", "interrupted")
    ]
    results = race(*[lambda e=e: endings.end_turn(turn.pk, e) for e in ways])
    assert sum(result is not None for result in results) == 1
    turn.refresh_from_db()
    (finished,) = heard.events("turn.finished")
    assert finished["status"] == turn.status
    assert conversation.messages.get(number=6).text == f"ended as {turn.status}"
    assert load_total("turn", turn.pk).request_tokens == 1_000


def test_a_turn_that_failed_before_its_request_still_shows_why(conversation: Conversation) -> None:
    turn = post(conversation)
    assert turn is not None
    error = AgentError(ErrorCode.BAD_KEY, "The API key was not accepted.")
    assert endings.end_turn(turn.pk, TurnOutcome(Turn.Status.FAILED, error=error))
    message = conversation.messages.get(number=6)
    assert (message.role, message.status, message.blocks) == ("assistant", "failed", [])
    turn.refresh_from_db()
    assert turn.error["code"] == "bad_key"


def test_the_model_learns_its_token_factor_from_usage(conversation: Conversation) -> None:
    turn = post(conversation)
    assert turn is not None
    requests.open_next_request(turn.pk)
    usage = {"input_tokens": 1_500, "output_tokens": 5}
    endings.end_turn(
        turn.pk, TurnOutcome(Turn.Status.COMPLETED, blocks=ANSWER, usage=usage, raw_request=1_000)
    )
    profile = ModelProfile.objects.get(name=conversation.model)
    assert (profile.token_factor, profile.token_samples) == (pytest.approx(1.5), 1)


# --- Stopping, checkpoints ------------------------------------------------------------------------


def test_a_checkpoint_keeps_text_and_tells_who_should_stop(
    conversation: Conversation, user: User
) -> None:
    turn = post(conversation)
    assert turn is not None
    message = requests.open_next_request(turn.pk).message
    assert message is not None
    lost = make_turn(make_conversation(owner=user))
    assert turns.checkpoint([turn.pk], [(message.pk, "Half an ans", lambda: None)]) == set()
    message.refresh_from_db()
    assert (message.text, message.status) == ("Half an ans", "streaming")
    turns.request_stop(turn.pk)
    turns.request_stop(lost.pk)
    assert turns.checkpoint([turn.pk], []) == {turn.pk}


def test_a_text_that_cannot_be_stored_does_not_stop_the_checkpoints_of_others(
    conversation: Conversation, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [make_conversation(owner=user) for _ in range(2)]
    begun = [post(each) for each in (conversation, *others)]
    messages = [requests.open_next_request(turn.pk).message for turn in begun if turn]
    ids = [message.pk for message in messages if message]
    texts = "The first.", "\0" + "x" * 2_000, "The third."
    written = [(pk, text, lambda: None) for pk, text in zip(ids, texts, strict=True)]
    with unable_to_store(monkeypatch):
        turns.checkpoint([turn.pk for turn in begun if turn], written)
    assert [Message.objects.get(pk=pk).text for pk in ids] == ["The first.", "", "The third."]
    assert Turn.objects.filter(status__in=Turn.ACTIVE).count() == len(begun)


@contextmanager
def unable_to_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The database takes no text with a NUL, or of more than a thousand characters."""
    if connection.vendor == "postgresql":
        monkeypatch.setattr(turns, "sanitise_text", str)
        yield
        return
    connection.ensure_connection()
    most = connection.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000)
    try:
        yield
    finally:
        connection.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most)


def test_a_late_checkpoint_does_not_overwrite_the_final_text(conversation: Conversation) -> None:
    turn = answered(conversation)
    message = Message.objects.get(turn=turn, role="assistant")
    turns.checkpoint([turn.pk], [(message.pk, "Hi! How", lambda: None)])
    message.refresh_from_db()
    assert message.text == "Hi! How can I help?"


# --- Retry ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["failed", "cancelled", "interrupted"])
def test_retry_sets_the_unfinished_answer_aside(
    conversation: Conversation, listen: Listen, status: str
) -> None:
    answered(conversation, Turn.Status(status))
    old = conversation.messages.get(number=6)
    heard = listen(conversation)
    fresh = requests.retry(conversation, holder=HOLDER).message
    old.refresh_from_db()
    assert not old.active
    assert old.text == "Hi! How can I help?"
    assert fresh is not None
    assert (fresh.number, fresh.position) == (7, old.position)
    assert fresh.parent_id == conversation.messages.get(number=5).pk
    assert heard.types() == ["turn.started", "message.created"]


def test_retry_answers_a_message_that_has_no_answer(user: User, listen: Listen) -> None:
    conversation = make_conversation(owner=user, messages=["Hello"])
    heard = listen(conversation)
    assert requests.retry(conversation, holder=HOLDER).message
    started, created = heard.events()
    assert started["type"] == "turn.started"
    assert created["role"] == "assistant", "the person's message stays on the page"
    assert texts(conversation) == ["Hello", ""]


def test_a_complete_answer_and_an_empty_conversation_cannot_be_retried(
    conversation: Conversation, user: User
) -> None:
    for row in (conversation, make_conversation(owner=user)):
        with pytest.raises(Refused) as refusal:
            requests.retry(row, holder=HOLDER)
        assert refusal.value.code == "nothing_to_retry"
    assert not Turn.objects.exists()


def test_of_many_retries_at_once_one_runs(conversation: Conversation) -> None:
    answered(conversation, Turn.Status.FAILED)
    results = race(*[lambda: requests.retry(conversation, holder=HOLDER)] * 4)
    assert sum(isinstance(result, requests.AnswerStart) for result in results) == 1
    codes = [result.code for result in results if isinstance(result, Refused)]
    assert codes == ["conversation_busy"] * 3
