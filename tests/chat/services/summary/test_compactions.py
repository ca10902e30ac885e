"""Compactions in the database: one at a time, ended exactly once, and only a good one changes
anything."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.core import serializers
from django.utils import timezone
from structlog.testing import capture_logs

from accounts.models import User
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.policy import Method, Reason
from agent.compaction.writing.job import WrittenSummary
from agent.context.summary import SEPARATOR
from agent.messages import Usage
from chat.engine.state import load_state
from chat.errors import Refused
from chat.models import Compaction, Conversation, Turn
from chat.queries.summary_versions import has_ready, plan_for
from chat.services.summary import compaction_jobs, compactions, rewrites, summaries
from chat.services.turns import branches, endings, requests, sweep, turns
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.turns import NewMessage, TurnEnded
from chat.signals import compaction_ended, compaction_started
from spending.totals import load_total
from tests.chat.factories import (
    HOLDER,
    add_messages,
    book_call,
    change_messages,
    hand_in,
    make_compaction,
    make_conversation,
    make_profile,
    make_turn,
    make_user,
)
from tests.chat.listening import Listener, race

pytestmark = pytest.mark.on_both

Listen = Callable[[Conversation], Listener]
Status = Compaction.Status

PID = 77
SUMMARY = "## Overview\n\n- They greeted each other [#1 #2]"


def stored(conversation: Conversation) -> str:
    """Every byte of a conversation's row and of its messages."""
    row = Conversation.objects.get(pk=conversation.pk)
    return serializers.serialize("json", [row, *row.messages.order_by("number")])


def opened(conversation: Conversation, focus: str = "") -> Compaction:
    """`/compact`, not yet taken up."""
    _, pk = summaries.open_compaction_turn(
        conversation.owner, conversation.pk, focus=focus, holder=HOLDER
    )
    return Compaction.objects.get(pk=pk)


def claimed(conversation: Conversation) -> compaction_jobs.SummaryTask:
    """`/compact`, taken up by a worker."""
    job = compaction_jobs.claim(opened(conversation).pk, PID)
    assert job is not None
    return job


def written(job: compaction_jobs.SummaryTask, text: str = SUMMARY) -> WrittenSummary:
    numbers = [message.number for message in job.plan.summarise]
    chapter = Chapter(text, numbers[0], numbers[-1])
    return WrittenSummary([*job.chapters, chapter], Method.SERIALISED, Reason.NOT_CACHED)


def complete(job: compaction_jobs.SummaryTask, text: str = SUMMARY) -> bool:
    return hand_in(job, written(job, text))


def end_turn(compaction: Compaction) -> None:
    assert compaction.turn_id is not None
    endings.end_turn(compaction.turn_id, TurnOutcome(Turn.Status.COMPLETED))


# --- Beginning ------------------------------------------------------------------------------------


def test_compact_locks_the_conversation_and_says_what_it_reads(
    conversation: Conversation, listen: Listen
) -> None:
    heard = listen(conversation)
    compaction = opened(conversation, focus="the bill")
    assert (compaction.status, compaction.trigger, compaction.focus) == (
        "running",
        "manual",
        "the bill",
    )
    assert (compaction.first.number, compaction.through.number, compaction.messages) == (1, 2, 2)
    assert compaction.turn is not None
    assert (compaction.turn.kind, compaction.turn.status) == ("compact", "compacting")
    turn_started, started = heard.events()
    assert turn_started["kind"] == "compact"
    assert 0 <= started.pop("elapsed") < 3600
    assert started == {
        "type": "CompressionStarted",
        "conversation_id": str(conversation.pk),
        "compaction_id": compaction.pk,
        "trigger": "manual",
        "why": "on request",
        "messages": 2,
        "messages_before": 4,
        "tokens_before": compaction.tokens_before,
    }


@pytest.mark.parametrize(
    ("messages", "words"), [(0, "is empty"), (1, "last exchange"), (2, "last")]
)
def test_too_little_to_compact_is_a_no_op_that_says_so(
    user: User, listen: Listen, messages: int, words: str
) -> None:
    conversation = make_conversation(owner=user, messages=messages)
    heard = listen(conversation)
    with pytest.raises(Refused, match=words) as refusal:
        opened(conversation)
    assert refusal.value.code == "nothing_to_compact"
    assert not Turn.objects.exists()
    assert not Compaction.objects.exists()
    assert heard.events() == []


def test_directly_after_a_compaction_there_is_nothing_to_compact(
    conversation: Conversation,
) -> None:
    make_compaction(conversation, through=2)
    with pytest.raises(Refused, match="last exchange"):
        opened(conversation)


def test_a_busy_conversation_is_not_compacted(conversation: Conversation) -> None:
    make_turn(conversation)
    with pytest.raises(Refused) as refusal:
        opened(conversation)
    assert refusal.value.code == "conversation_busy"


def test_a_stranger_cannot_compact(conversation: Conversation) -> None:
    with pytest.raises(Conversation.DoesNotExist):
        summaries.open_compaction_turn(make_user(), conversation.pk, focus="", holder=HOLDER)


def test_of_many_compacts_at_once_one_runs(conversation: Conversation) -> None:
    results = race(*[lambda: opened(conversation)] * 4)
    assert sum(isinstance(result, Compaction) for result in results) == 1
    codes = [result.code for result in results if isinstance(result, Refused)]
    assert codes == ["conversation_busy"] * 3
    assert Compaction.objects.count() == 1


def test_an_ended_turn_cannot_begin_a_compaction(conversation: Conversation) -> None:
    turn = make_turn(conversation, status=Turn.Status.CANCELLED)
    state = load_state(conversation.pk)
    planned = plan_for(state, "manual")
    assert planned is not None
    with pytest.raises(TurnEnded):
        compactions.begin(state, planned, Compaction.Trigger.AUTO, turn_id=turn.pk, previous=None)
    assert not Compaction.objects.exists()


# --- Claiming and beating -------------------------------------------------------------------------


def test_one_worker_of_many_gets_a_compaction(conversation: Conversation) -> None:
    compaction = opened(conversation)
    jobs = race(*[partial(compaction_jobs.claim, compaction.pk, pid) for pid in range(1, 5)])
    (job,) = [job for job in jobs if job is not None]
    compaction.refresh_from_db()
    assert compaction.worker_pid == job.compaction.worker_pid
    assert compaction.started_at is not None
    assert [m.number for m in job.plan.summarise] == [1, 2]
    assert [m.number for m in job.plan.keep] == [3, 4]


def test_an_ended_compaction_cannot_be_claimed_and_is_not_wanted(
    conversation: Conversation,
) -> None:
    compaction = opened(conversation)
    assert compaction_jobs.is_wanted(compaction.pk)
    assert compactions.fail(compaction.pk, "No.")
    assert compaction_jobs.claim(compaction.pk, PID) is None
    assert not compaction_jobs.is_wanted(compaction.pk)
    assert not compaction_jobs.is_wanted(10**9)


def test_nobody_taking_it_up_fails_it_only_when_the_time_is_over(
    conversation: Conversation,
) -> None:
    compaction = opened(conversation)
    assert compactions.fail_if_abandoned(compaction.pk, pickup_over=False).status == Status.RUNNING
    failed = compactions.fail_if_abandoned(compaction.pk, pickup_over=True)
    assert (failed.status, failed.error) == (Status.FAILED, compactions.NOT_TAKEN_UP)


def test_a_dead_worker_fails_it_and_a_living_one_does_not(conversation: Conversation) -> None:
    compaction = claimed(conversation).compaction
    assert compactions.fail_if_abandoned(compaction.pk, pickup_over=True).status == Status.RUNNING
    Compaction.objects.update(lease_expires=timezone.now() - timedelta(seconds=1))
    failed = compactions.fail_if_abandoned(compaction.pk, pickup_over=True)
    assert (failed.status, failed.error) == (Status.FAILED, compactions.UNHEARD)


# --- Completing -----------------------------------------------------------------------------------


def test_a_completed_compaction_becomes_the_context(
    conversation: Conversation, listen: Listen
) -> None:
    messages = serializers.serialize("json", conversation.messages.order_by("number"))
    job = claimed(conversation)
    book_call(compaction_jobs.describe_calls(job), Usage(1_000, 100))
    heard = listen(conversation)
    assert complete(job)
    conversation.refresh_from_db()
    compaction = Compaction.objects.get()
    assert conversation.compressed_context == f"**Messages #1 to #2**\n\n{SUMMARY}"
    assert conversation.compressed_through == conversation.messages.get(number=2)
    assert conversation.compressed_at == compaction.finished_at
    assert conversation.compaction == compaction
    assert conversation.compactions_completed == 1
    total = load_total("conversation", conversation.pk)
    assert total.dollars == total.summary_dollars == Decimal(1_000 * 2 + 100 * 10) / 10**6
    assert compaction.status == Status.COMPLETED
    assert (compaction.worker_pid, compaction.tokens_after) == (PID, 5)
    assert serializers.serialize("json", conversation.messages.order_by("number")) == messages

    completed, usage = heard.events()
    assert completed["type"] == "CompressionCompleted"
    assert (completed["success"], completed["error"], completed["cancelled"]) == (True, "", False)
    assert completed["after_message_id"] == conversation.compressed_through_id
    assert completed["why"] == "on request"
    # The first message stays as it is, beside the last exchange.
    assert (completed["messages_before"], completed["messages_after"]) == (4, 3)
    assert "4 → 3 messages" in " ".join(completed["html"].split())
    assert "They greeted each other" in completed["html"]
    assert usage["type"] == "context.usage"
    assert usage["totals"]["compactions"] == 1

    context = load_state(conversation.pk).context
    assert context.summary.text == conversation.compressed_context
    assert context.first is not None
    assert context.first.number == 1
    assert [m.number for m in context.messages] == [3, 4]


def test_the_log_tells_beginning_and_end_with_trigger_and_sizes(conversation: Conversation) -> None:
    with capture_logs() as logs:
        assert complete(claimed(conversation))
    begun, ended = (line for line in logs if line["event"].startswith("compaction "))
    assert (begun["event"], ended["event"]) == ("compaction begun", "compaction ended")
    for line in (begun, ended):
        assert (line["trigger"], line["messages"], line["messages_before"]) == ("manual", 2, 4)
        assert line["tokens_before"] > 0
    assert (ended["messages_after"], ended["tokens_after"]) == (3, 5)


def test_a_second_compaction_reads_only_what_the_first_did_not_cover(user: User) -> None:
    conversation = make_conversation(owner=user, messages=10)
    make_compaction(conversation, through=4)
    job = claimed(conversation)
    assert [m.number for m in job.plan.summarise] == [5, 6, 7, 8]
    assert [m.number for m in job.plan.keep] == [9, 10]
    assert [chapter.through for chapter in job.chapters] == [4]
    assert complete(job)
    conversation.refresh_from_db()
    assert conversation.compaction is not None
    assert conversation.compaction.previous is not None
    assert [(c["first"], c["through"]) for c in conversation.compaction.chapters] == [
        (1, 4),
        (5, 8),
    ]


def test_every_message_is_covered_or_kept_over_many_compactions(user: User) -> None:
    conversation = make_conversation(owner=user, messages=4)
    for round_ in range(5):
        add_messages(conversation, 2 * ["More of it."] * (round_ + 1))
        job = claimed(conversation)
        assert complete(job)
        end_turn(job.compaction)
        conversation.refresh_from_db()
        assert conversation.compaction is not None
        chapters = conversation.compaction.chapters
        covered = [n for c in chapters for n in range(c["first"], c["through"] + 1)]
        kept = [m.number for m in load_state(conversation.pk).context.messages]
        assert covered + kept == list(range(1, conversation.next_number))


def test_a_compaction_over_changed_ground_fails_and_changes_nothing(
    conversation: Conversation, listen: Listen
) -> None:
    job = claimed(conversation)
    change_messages(conversation.messages.filter(number=2), active=False)
    before, heard = stored(conversation), listen(conversation)
    assert not complete(job)
    assert stored(conversation) == before
    (completed,) = heard.events()
    assert (completed["success"], completed["error"]) == (False, compactions.CHANGED)


def test_a_compaction_of_a_version_that_was_replaced_meanwhile_fails(
    conversation: Conversation,
) -> None:
    job = claimed(conversation)
    Conversation.objects.filter(pk=conversation.pk).update(compaction=job.compaction)
    before = stored(conversation)
    assert not complete(job)
    assert stored(conversation) == before
    assert Compaction.objects.get().status == Status.FAILED


# --- Failing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_failed_compaction_changes_nothing_and_says_why(
    conversation: Conversation, listen: Listen, cancelled: bool
) -> None:
    before = stored(conversation)
    job = claimed(conversation)
    heard = listen(conversation)
    assert compactions.fail(job.compaction.pk, "The summary is empty.", cancelled=cancelled)
    assert stored(conversation) == before
    (completed,) = heard.events()
    assert completed["type"] == "CompressionCompleted"
    assert (completed["success"], completed["cancelled"]) == (False, cancelled)
    assert completed["error"] == "The summary is empty."
    assert completed["html"] == ""
    assert not complete(job)
    assert stored(conversation) == before


def test_cancel_without_a_compaction_says_no(conversation: Conversation) -> None:
    assert not compactions.cancel(conversation.pk)
    opened(conversation)
    assert compactions.cancel(conversation.pk)
    assert not compactions.cancel(conversation.pk)
    assert Compaction.objects.get().status == Status.CANCELLED


@pytest.mark.parametrize("round_", range(5))
def test_whoever_comes_first_ends_it_and_one_end_is_told(
    conversation: Conversation, listen: Listen, round_: int
) -> None:
    job = claimed(conversation)
    before, heard = stored(conversation), listen(conversation)
    Compaction.objects.update(lease_expires=timezone.now() - timedelta(seconds=1))
    race(
        lambda: complete(job),
        lambda: compactions.cancel(conversation.pk),
        lambda: compactions.fail(job.compaction.pk, "Overloaded."),
        lambda: compactions.fail_if_abandoned(job.compaction.pk, pickup_over=True),
        sweep.sweep,
    )
    compaction = Compaction.objects.get()
    (completed,) = heard.events("CompressionCompleted")
    assert completed["success"] == (compaction.status == Status.COMPLETED)
    assert completed["cancelled"] == (compaction.status == Status.CANCELLED)
    assert completed["error"] == compaction.error
    if not completed["success"]:
        assert stored(conversation) == before


# --- Hooks ----------------------------------------------------------------------------------------


@pytest.fixture
def hooks() -> Iterator[list[tuple[str, int, str]]]:
    """What the signals told: which, of which compaction, in which status."""
    told: list[tuple[str, int, str]] = []

    def started(compaction: Compaction, **_: object) -> None:
        told.append(("started", compaction.pk, compaction.status))

    def ended(compaction: Compaction, **_: object) -> None:
        told.append(("ended", compaction.pk, compaction.status))

    compaction_started.connect(started)
    compaction_ended.connect(ended)
    yield told
    compaction_started.disconnect(started)
    compaction_ended.disconnect(ended)


Hooks = list[tuple[str, int, str]]


def test_the_hooks_hear_one_beginning_and_one_end(conversation: Conversation, hooks: Hooks) -> None:
    job = claimed(conversation)
    assert complete(job)
    assert not complete(job)
    pk = job.compaction.pk
    assert hooks == [("started", pk, "running"), ("ended", pk, "completed")]


@pytest.mark.parametrize("end", ["swapped in", "superseded", "failed"])
def test_the_hooks_hear_of_preparations_too(
    conversation: Conversation, hooks: Hooks, listen: Listen, end: str
) -> None:
    state = load_state(conversation.pk)
    planned = plan_for(state, "manual")
    assert planned is not None
    heard = listen(conversation)
    pk = compactions.begin(
        state, planned, Compaction.Trigger.PREPARED, turn_id=None, previous=None
    ).pk
    if end == "failed":
        assert compactions.fail(pk, "Overloaded.")
    else:
        job = compaction_jobs.claim(pk, PID)
        assert job is not None
        assert complete(job)
        assert hooks == [("started", pk, "running")], "it is written, and not used yet"
        if end == "swapped in":
            assert compactions.commit_ready(load_state(conversation.pk))
        else:
            compactions.discard_preparations(conversation)
    status = {"swapped in": "completed", "superseded": "cancelled", "failed": "failed"}[end]
    assert hooks == [("started", pk, "running"), ("ended", pk, status)]
    shown = [event["type"] for event in heard.events()]
    swap = ["CompressionStarted", "CompressionCompleted", "context.usage"]
    told = {
        "swapped in": ["compaction.prepared", *swap],
        "superseded": ["compaction.prepared"],
        "failed": [],
    }
    assert shown == told[end]


# --- The sweep ------------------------------------------------------------------------------------


def expire() -> None:
    past = timezone.now() - timedelta(seconds=1)
    Turn.objects.update(lease_expires=past)
    Compaction.objects.update(lease_expires=past)


def test_the_sweep_interrupts_a_turn_and_keeps_its_text(
    conversation: Conversation, listen: Listen
) -> None:
    opening = requests.send_message(
        conversation.owner,
        conversation.pk,
        NewMessage("Tell me everything"),
        expected_head=None,
        holder="dead",
    )
    assert opening is not None
    turn = opening.turn
    message = requests.open_next_request(turn.pk).message
    assert message is not None
    turns.checkpoint([turn.pk], [(message.pk, "It all began with 😀", lambda: None)])
    heard = listen(conversation)
    assert sweep.sweep() == 0, "the lease still runs"
    expire()
    assert sweep.sweep() == 1
    message.refresh_from_db()
    turn.refresh_from_db()
    assert (message.status, message.text) == ("interrupted", "It all began with 😀")
    assert message.blocks == [{"type": "text", "text": "It all began with 😀"}]
    assert turn.status == Turn.Status.INTERRUPTED
    assert turn.error["code"] == "interrupted"
    (finished,) = heard.events("turn.finished")
    assert finished["status"] == "interrupted"
    assert 'data-action="retry"' in finished["html"]
    assert sweep.sweep() == 0
    assert requests.retry(conversation, holder=HOLDER)


def test_the_sweep_interrupts_a_turn_that_had_written_nothing(conversation: Conversation) -> None:
    make_turn(conversation)
    expire()
    assert sweep.sweep() == 1
    last = conversation.messages.order_by("number").last()
    assert last is not None
    assert (last.role, last.status, last.text) == ("assistant", "interrupted", "")


def test_racing_sweeps_tell_one_end_of_each(conversation: Conversation, listen: Listen) -> None:
    before = stored(conversation)
    claimed(conversation)
    heard = listen(conversation)
    expire()
    assert sum(race(*[sweep.sweep] * 4)) == 2
    (completed,) = heard.events("CompressionCompleted")
    assert (completed["success"], completed["error"]) == (False, compactions.UNHEARD)
    (finished,) = heard.events("turn.finished")
    assert (finished["kind"], finished["status"]) == ("compact", "interrupted")
    assert stored(conversation) == before


def test_a_dead_web_process_takes_its_compaction_with_it(
    conversation: Conversation, listen: Listen
) -> None:
    """Its worker may live on for minutes, while the person has long pressed Retry."""
    job = claimed(conversation)
    heard = listen(conversation)
    Turn.objects.update(lease_expires=timezone.now() - timedelta(seconds=1))
    sweep.sweep()
    assert [e["success"] for e in heard.events("CompressionCompleted")] == [False]
    assert not compaction_jobs.is_wanted(job.compaction.pk), "the worker notices"
    assert opened(conversation).status == Status.RUNNING


def test_a_turn_that_is_stopped_tells_the_end_of_its_compaction_first(
    conversation: Conversation, listen: Listen
) -> None:
    job = claimed(conversation)
    heard = listen(conversation)
    assert job.compaction.turn_id is not None
    assert endings.end_turn(job.compaction.turn_id, TurnOutcome(Turn.Status.CANCELLED))
    kinds = [event["type"] for event in heard.events()]
    assert kinds[:2] == ["CompressionCompleted", "turn.finished"]
    assert not endings.end_turn(job.compaction.turn_id, TurnOutcome(Turn.Status.CANCELLED))


@pytest.mark.parametrize("round_", range(5))
def test_a_compaction_that_begins_just_when_its_turn_is_stopped_does_not_stay(
    conversation: Conversation, round_: int
) -> None:
    turn = make_turn(conversation)
    state = load_state(conversation.pk)
    planned = plan_for(state, "manual")
    assert planned is not None
    race(
        lambda: compactions.begin(
            state, planned, Compaction.Trigger.AUTO, turn_id=turn.pk, previous=None
        ),
        lambda: endings.end_turn(turn.pk, TurnOutcome(Turn.Status.CANCELLED)),
    )
    assert not Compaction.objects.filter(status=Status.RUNNING).exists()


# --- Revert and write again -----------------------------------------------------------------------


def test_revert_goes_back_one_version_and_then_to_none(user: User, listen: Listen) -> None:
    conversation = make_conversation(owner=user, messages=10)
    first = make_compaction(conversation, "First.", through=2)
    second = make_compaction(conversation, "Second.", through=6)
    heard = listen(conversation)
    summaries.revert(second.pk)
    conversation.refresh_from_db()
    assert conversation.compaction == first
    assert conversation.compressed_context == "**Messages #1 to #2**\n\nFirst."
    assert conversation.compressed_through == conversation.messages.get(number=2)
    assert conversation.compaction_held
    assert [m.number for m in load_state(conversation.pk).context.messages] == list(range(3, 11))
    reverted, usage = heard.events()
    assert reverted == {"type": "compaction.reverted", "id": second.pk}
    assert usage["type"] == "context.usage"
    summaries.revert(first.pk)
    conversation.refresh_from_db()
    assert conversation.compaction is None
    assert conversation.compressed_context is None
    assert conversation.compressed_through is None
    assert conversation.compressed_at is None


def test_only_the_current_version_can_be_reverted_or_written_again(user: User) -> None:
    conversation = make_conversation(owner=user, messages=10)
    first = make_compaction(conversation, through=2)
    make_compaction(conversation, through=6)
    before = stored(conversation)
    for refused in (
        lambda: summaries.revert(first.pk),
        lambda: rewrites.begin_rewrite(first.pk),
    ):
        with pytest.raises(Refused) as refusal:
            refused()
        assert refusal.value.code == "not_current"
    assert stored(conversation) == before


def test_a_busy_conversation_is_neither_reverted_nor_written_again(
    conversation: Conversation,
) -> None:
    compaction = make_compaction(conversation)
    make_turn(conversation)
    before = stored(conversation)
    for refused in (
        lambda: summaries.revert(compaction.pk),
        lambda: rewrites.begin_rewrite(compaction.pk),
    ):
        with pytest.raises(Refused) as refusal:
            refused()
        assert refusal.value.code == "conversation_busy"
    assert stored(conversation) == before


def test_a_revert_that_would_not_fit_the_window_is_refused(user: User) -> None:
    make_profile("small", context_window=16_000)
    conversation = make_conversation(owner=user, model="small", messages=["x" * 5_000] * 14)
    compaction = make_compaction(conversation, through=8)
    before = stored(conversation)
    with pytest.raises(Refused) as refusal:
        summaries.revert(compaction.pk)
    assert refusal.value.code == "does_not_fit"
    assert stored(conversation) == before


def test_after_a_revert_automatic_compaction_waits_for_the_window(user: User) -> None:
    make_profile("small", context_window=16_000)
    conversation = make_conversation(owner=user, model="small", messages=["x" * 5_000] * 8)
    compaction = make_compaction(conversation, through=4)
    Conversation.objects.filter(pk=conversation.pk).update(context_budget=12_000)
    assert load_state(conversation.pk).due() is None
    summaries.revert(compaction.pk)
    assert load_state(conversation.pk).used > 0.8 * 12_000
    assert load_state(conversation.pk).due() is None
    add_messages(conversation, ["x" * 5_000] * 2)
    assert load_state(conversation.pk).due() == "auto", "the window itself is full"


def test_writing_again_replaces_the_version_from_the_same_messages(user: User) -> None:
    conversation = make_conversation(owner=user, messages=10)
    first = make_compaction(conversation, "First.", through=2)
    second = make_compaction(conversation, "Second.", through=6, focus="the bill")
    add_messages(conversation, ["More", "Yes."])
    pk = rewrites.begin_rewrite(second.pk)
    job = compaction_jobs.claim(pk, PID)
    assert job is not None
    assert [m.number for m in job.plan.summarise] == [3, 4, 5, 6]
    assert [m.number for m in job.plan.keep] == [7, 8, 9, 10, 11, 12]
    assert job.compaction.focus == "the bill"
    before = stored(conversation)
    assert complete(job, "Second, better.")
    assert stored(conversation) == before, "nothing is replaced before somebody decides"
    rewrites.use_rewrite(pk)
    conversation.refresh_from_db()
    assert conversation.compaction_id == pk
    assert conversation.compaction is not None
    assert conversation.compaction.previous == first
    assert [c["text"] for c in conversation.compaction.chapters] == ["First.", "Second, better."]


def test_the_page_hears_of_it_as_a_summary_that_has_changed(user: User, listen: Listen) -> None:
    conversation = make_conversation(owner=user, messages=10)
    old = make_compaction(conversation, "First.", through=2)
    heard = listen(conversation)
    new = rewritten(old, "First, better.")
    assert [event["id"] for event in heard.events("summary.changed")] == [new.pk]
    assert heard.events("CompressionCompleted") == [], "nothing was compacted"


def rewritten(compaction: Compaction, text: str) -> Compaction:
    made = waiting(compaction, text)
    rewrites.use_rewrite(made.pk)
    return made


def waiting(compaction: Compaction, text: str) -> Compaction:
    """Written again, and not decided on."""
    pk = rewrites.begin_rewrite(compaction.pk)
    job = compaction_jobs.claim(pk, PID)
    assert job is not None
    assert complete(job, text)
    return Compaction.objects.get(pk=pk)


def test_writing_an_edited_version_again_replaces_its_chapter(user: User) -> None:
    conversation = make_conversation(owner=user, messages=10)
    make_compaction(conversation, "First.", through=2)
    second = make_compaction(conversation, "Second.", through=6)
    once = summaries.edit_summary(second.pk, f"First.{SEPARATOR}Second, edited.")
    twice = summaries.edit_summary(once.pk, f"First.{SEPARATOR}Second, edited again.")
    made = rewritten(twice, "Second, better.")
    assert [(c["text"], c["through"]) for c in made.chapters] == [
        ("First.", 2),
        ("Second, better.", 6),
    ]


def test_what_was_edited_in_an_earlier_chapter_stays_when_the_newest_is_written_again(
    user: User,
) -> None:
    conversation = make_conversation(owner=user, messages=10)
    make_compaction(conversation, "First.", through=2)
    second = make_compaction(conversation, "Second.", through=6)
    edited = summaries.edit_summary(second.pk, f"First, mended.{SEPARATOR}Second.")
    made = rewritten(edited, "Second, better.")
    assert [c["text"] for c in made.chapters] == ["First, mended.", "Second, better."]
    assert made.chapters[0]["own"] == ["First, mended."]
    as_one = rewritten(summaries.edit_summary(made.pk, "All."), "Second, once more.")
    assert [c["text"] for c in as_one.chapters] == ["First.", "Second, once more."]


def test_reverting_a_rewrite_brings_back_what_it_replaced_and_a_switch_leaves_it(
    user: User,
) -> None:
    conversation = make_conversation(owner=user, messages=10)
    make_compaction(conversation, "First.", through=2)
    second = make_compaction(conversation, "Second.", through=6)
    made = rewritten(second, "Second, better.")
    summaries.revert(made.pk)
    conversation.refresh_from_db()
    assert conversation.compaction == second
    summaries.revert(second.pk)
    branches.switch_branch(user, conversation.pk, conversation.messages.get(number=10).pk)
    conversation.refresh_from_db()
    assert conversation.compressed_context == "**Messages #1 to #2**\n\nFirst."


def test_a_failed_rewrite_leaves_the_current_version(conversation: Conversation) -> None:
    compaction = make_compaction(conversation)
    before = stored(conversation)
    pk = rewrites.begin_rewrite(compaction.pk)
    assert compactions.fail(pk, "Refused.")
    assert stored(conversation) == before


def test_a_discarded_rewrite_leaves_everything_as_it_was(conversation: Conversation) -> None:
    compaction = make_compaction(conversation)
    before = stored(conversation)
    made = waiting(compaction, "Better.")
    rewrites.discard_rewrite(made.pk)
    with pytest.raises(Refused):
        rewrites.use_rewrite(made.pk)
    with pytest.raises(Refused):
        rewrites.discard_rewrite(made.pk)
    assert stored(conversation) == before
    made.refresh_from_db()
    assert made.status == Compaction.Status.CANCELLED


def test_no_turn_uses_a_rewrite_that_waits(conversation: Conversation) -> None:
    made = waiting(make_compaction(conversation), "Better.")
    assert not has_ready(conversation)
    assert compactions.commit_ready(load_state(conversation.pk)) is None
    made.refresh_from_db()
    assert made.status == Compaction.Status.READY


@pytest.mark.parametrize("change", ["edit", "delete", "compact"])
def test_a_rewrite_is_not_used_after_the_conversation_has_moved_on(user: User, change: str) -> None:
    conversation = make_conversation(owner=user, messages=10)
    compaction = make_compaction(conversation, "First.", through=4)
    made = waiting(compaction, "Better.")
    if change == "edit":
        summaries.edit_summary(compaction.pk, "First, edited.")
    elif change == "delete":
        branches.delete_message(user, conversation.pk, conversation.messages.get(number=2).pk)
    else:
        make_compaction(conversation, "More.", through=8)
    before = stored(conversation)
    with pytest.raises(Refused, match="moved on") as refusal:
        rewrites.use_rewrite(made.pk)
    assert refusal.value.code == "not_current"
    assert stored(conversation) == before
