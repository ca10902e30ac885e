"""Summaries that are written before they are needed, and what else makes room without a wait."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.policy import Method, Reason
from agent.compaction.writing.job import WrittenSummary
from agent.messages import Usage
from chat import metrics
from chat.engine.state import load_state
from chat.live import waiting
from chat.models import Compaction, Conversation, Message, ModelProfile, Turn
from chat.models.notices import Notice
from chat.protocol import from_rows
from chat.queries.summary_versions import plan_for
from chat.services.summary import compaction_jobs, compactions, preparations, summaries
from chat.services.turns import endings, requests, sweep
from chat.services.turns.endings import TurnOutcome
from spending.calls import CallDetails
from spending.models import ModelCall
from spending.totals import load_total
from tests.chat.counts import read_count
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
)
from tests.chat.listening import Listener, race

pytestmark = pytest.mark.on_both

Listen = Callable[[Conversation], Listener]
Status = Compaction.Status

WINDOW = 20_000
TEXT = "- They spoke at length [#1]"


def filled(user: User, share: float, **values: object) -> Conversation:
    """A conversation whose messages fill that share of its window."""
    make_profile(context_window=WINDOW, max_output=2_000)
    # Bytes divided by 3.5 are tokens in the tests.
    text = "x" * int(share * WINDOW * 3.5 / 20)
    return make_conversation(owner=user, messages=[text] * 20, **values)


def prepared(conversation: Conversation, text: str = TEXT) -> Compaction:
    """A preparation that a worker has written."""
    pk = preparations.prepare_if_due(load_state(conversation.pk))
    assert pk is not None
    return written(pk, text)


def written(pk: int, text: str = TEXT) -> Compaction:
    task = compaction_jobs.claim(pk, 77)
    assert task is not None
    numbers = [message.number for message in task.plan.summarise]
    chapters = [*task.chapters, Chapter(text, numbers[0], numbers[-1])]
    result = WrittenSummary(chapters, Method.WARM_PREFIX, Reason.PRICE)
    book_call(compaction_jobs.describe_calls(task), Usage(100, 10))
    assert hand_in(task, result)
    return Compaction.objects.get(pk=pk)


def begun(conversation: Conversation) -> requests.AnswerStart:
    """The next turn's request."""
    add_messages(conversation, ["And now?"])
    return requests.open_next_request(make_turn(conversation).pk)


# --- Preparation ----------------------------------------------------------------------------------


def test_a_summary_is_prepared_from_085_of_the_trigger_on(user: User) -> None:
    assert preparations.prepare_if_due(load_state(filled(user, 0.60).pk)) is None
    assert preparations.prepare_if_due(load_state(filled(user, 0.70).pk)) is not None


def test_a_preparation_locks_nothing_and_the_gauge_hears_of_it(user: User, listen: Listen) -> None:
    conversation = filled(user, 0.70)
    heard = listen(conversation)
    compaction = prepared(conversation)
    assert (compaction.status, compaction.trigger, compaction.turn) == ("ready", "prepared", None)
    assert heard.events() == [{"type": "compaction.prepared", "id": compaction.pk}]
    assert from_rows.context_usage(load_state(conversation.pk)).ready
    conversation.refresh_from_db()
    assert conversation.compaction is None
    assert load_total("compaction", compaction.pk).request_tokens == 100
    assert ModelCall.objects.get().kind == ModelCall.Kind.PREPARATION


def test_one_preparation_at_a_time_and_none_while_a_turn_runs(user: User) -> None:
    conversation = filled(user, 0.70)
    turn = make_turn(conversation)
    assert preparations.prepare_if_due(load_state(conversation.pk)) is None
    Turn.objects.filter(pk=turn.pk).update(status=Turn.Status.COMPLETED)
    assert preparations.prepare_if_due(load_state(conversation.pk)) is not None
    assert preparations.prepare_if_due(load_state(conversation.pk)) is None


def test_a_turn_prepares_between_its_own_rounds_and_no_other_does(user: User) -> None:
    conversation = filled(user, 0.70)
    turn = make_turn(conversation)
    assert preparations.begin_between_rounds(turn.pk + 1, load_state(conversation.pk)) is None
    pk = preparations.begin_between_rounds(turn.pk, load_state(conversation.pk))
    assert pk is not None
    assert Compaction.objects.get(pk=pk).turn is None
    assert preparations.begin_between_rounds(turn.pk, load_state(conversation.pk)) is None
    small = filled(user, 0.60)
    assert preparations.begin_between_rounds(make_turn(small).pk, load_state(small.pk)) is None


def test_at_the_trigger_the_prepared_summary_is_swapped_in_at_once(
    user: User, listen: Listen
) -> None:
    conversation = filled(user, 0.70)
    compaction = prepared(conversation)
    add_messages(conversation, ["y" * int(0.12 * WINDOW * 3.5), "Yes."])
    heard = listen(conversation)
    opening = begun(conversation)
    assert opening.compact is None
    assert opening.message is not None
    assert TEXT in opening.state.context.summary.text
    assert opening.state.context.messages[-1].number == conversation.next_number - 1
    conversation.refresh_from_db()
    assert conversation.compaction_id == compaction.pk
    kinds = [event["type"] for event in heard.events()]
    assert kinds.count("CompressionStarted") == kinds.count("CompressionCompleted") == 1


def test_nobody_waits_for_a_preparation_until_a_turn_adopts_it(user: User) -> None:
    """What nobody waits for fails where a turn would get an extract, and is begun again."""
    conversation = filled(user, 0.70)
    pk = preparations.prepare_if_due(load_state(conversation.pk))
    assert pk is not None
    assert not compaction_jobs.is_waited_for(pk)
    compactions.adopt(Compaction.objects.get(pk=pk), make_turn(conversation).pk)
    assert compaction_jobs.is_waited_for(pk)


def test_a_failed_preparation_is_begun_again_after_the_next_reply(user: User) -> None:
    conversation = filled(user, 0.70)
    pk = preparations.prepare_if_due(load_state(conversation.pk))
    assert pk is not None
    assert compactions.fail(pk, "The model is overloaded.")
    assert preparations.prepare_if_due(load_state(conversation.pk)) is not None


def test_failed_preparations_hold_back_others_but_not_what_a_turn_waits_for(user: User) -> None:
    conversation = filled(user, 0.85)
    for _ in range(3):
        pk = preparations.prepare_if_due(load_state(conversation.pk))
        assert pk is not None
        compactions.fail(pk, "The model is overloaded.")
    assert preparations.prepare_if_due(load_state(conversation.pk)) is None
    assert begun(conversation).compact == "auto"


def test_many_short_messages_are_prepared_and_compacted_where_the_site_limits_them(
    user: User, settings: Any
) -> None:
    conversation = filled(user, 0.10)
    settings.COMPACTION = settings.COMPACTION | {"max_messages": 22}
    assert preparations.prepare_if_due(load_state(conversation.pk)) is not None
    Compaction.objects.all().delete()
    add_messages(conversation, ["One?", "Two."])
    assert load_state(conversation.pk).due() is None
    opening = begun(conversation)
    assert opening.compact == opening.state.due() == "messages"
    planned = plan_for(opening.state, opening.compact)
    assert planned is not None
    assert 6 <= len(planned.keep) <= 11, "half at most, from where a topic begins"


def test_under_the_trigger_a_prepared_summary_waits(user: User) -> None:
    conversation = filled(user, 0.70)
    prepared(conversation)
    assert not begun(conversation).state.context.summary


def test_a_request_that_still_fits_does_not_wait_for_a_preparation(user: User) -> None:
    conversation = filled(user, 0.70)
    assert preparations.prepare_if_due(load_state(conversation.pk)) is not None
    add_messages(conversation, ["y" * int(0.12 * WINDOW * 3.5), "Yes."])
    opening = begun(conversation)
    assert opening.state.due() == "auto"
    assert opening.message is not None


def test_a_request_that_does_not_fit_adopts_the_running_preparation(
    user: User, listen: Listen
) -> None:
    conversation = filled(user, 0.70)
    pk = preparations.prepare_if_due(load_state(conversation.pk))
    assert pk is not None
    add_messages(conversation, ["y" * int(0.28 * WINDOW * 3.5), "Yes."])
    opening = begun(conversation)
    assert opening.compact == "auto"
    turn = Turn.objects.get(conversation=conversation, status__in=Turn.ACTIVE)
    heard = listen(conversation)
    compactions.adopt(Compaction.objects.get(pk=pk), turn.pk)
    assert written(pk).status == Status.COMPLETED
    kinds = [event["type"] for event in heard.events()]
    assert kinds[0] == "CompressionStarted"
    assert kinds.count("CompressionCompleted") == 1


def test_a_preparation_that_has_just_been_written_is_not_adopted_but_swapped_in(
    user: User, listen: Listen
) -> None:
    conversation = filled(user, 0.70)
    compaction = prepared(conversation)
    turn = make_turn(conversation)
    heard = listen(conversation)
    assert not compactions.adopt(compaction, turn.pk)
    compaction.refresh_from_db()
    assert compaction.turn is None
    assert heard.events() == []
    found, to_do = waiting.find_or_begin(turn.pk, load_state(conversation.pk), "overflow", "")
    assert (found, to_do) == (compaction, False)
    assert load_state(conversation.pk).conversation.compaction == compaction


@pytest.mark.parametrize("round_", range(5))
def test_adopting_a_preparation_while_it_is_handed_in_tells_one_beginning_and_one_end(
    user: User, listen: Listen, round_: int
) -> None:
    conversation = filled(user, 0.70)
    pk = preparations.prepare_if_due(load_state(conversation.pk))
    assert pk is not None
    turn = make_turn(conversation)
    row = Compaction.objects.get(pk=pk)
    heard = listen(conversation)
    adopted, _ = race(lambda: compactions.adopt(row, turn.pk), lambda: written(pk))
    row.refresh_from_db()
    assert row.status == (Status.COMPLETED if adopted else Status.READY)
    assert row.turn_id == (turn.pk if adopted else None)
    kinds = [event["type"] for event in heard.events()]
    assert kinds.count("CompressionStarted") == kinds.count("CompressionCompleted") == adopted


def test_what_is_ready_is_used_for_compact_by_hand_but_not_for_a_focus(user: User) -> None:
    conversation = filled(user, 0.70)
    compaction = prepared(conversation)
    turn, pk = summaries.open_compaction_turn(user, conversation.pk, focus="", holder=HOLDER)
    assert pk == compaction.pk
    compaction.refresh_from_db()
    assert compaction.status == Status.COMPLETED
    endings.end_turn(turn.pk, TurnOutcome(Turn.Status.COMPLETED))
    other = filled(user, 0.70)
    compaction = prepared(other)
    _, pk = summaries.open_compaction_turn(user, other.pk, focus="the bill", holder=HOLDER)
    assert pk != compaction.pk
    compaction.refresh_from_db()
    assert compaction.status == Status.CANCELLED


def test_a_swap_tells_the_tokens_of_before_and_after_as_they_are_then(
    user: User, listen: Listen
) -> None:
    conversation = filled(user, 0.70)
    compaction = prepared(conversation)
    add_messages(conversation, ["y" * int(0.12 * WINDOW * 3.5), "Yes."])
    before, heard = load_state(conversation.pk).used, listen(conversation)
    assert compactions.commit_ready(load_state(conversation.pk))
    after = load_state(conversation.pk).used
    compaction.refresh_from_db()
    assert (compaction.tokens_before, compaction.tokens_after) == (before, after)
    (completed,) = heard.events("CompressionCompleted")
    assert (completed["tokens_before"], completed["tokens_after"]) == (before, after)
    state = load_state(conversation.pk)
    assert completed["messages_before"] == 22
    assert completed["messages_after"] == 1 + len(state.context.messages)
    assert heard.events("context.usage")[-1]["used"] == after


def test_a_preparation_over_changed_ground_is_not_used(user: User) -> None:
    conversation = filled(user, 0.70)
    compaction = prepared(conversation)
    change_messages(Message.objects.filter(conversation=conversation, number=3), active=False)
    add_messages(conversation, ["y" * int(0.20 * WINDOW * 3.5), "Yes."])
    opening = begun(conversation)
    assert opening.compact == "auto"
    compaction.refresh_from_db()
    assert compaction.status == Status.CANCELLED


def test_compact_by_hand_supersedes_a_preparation(user: User) -> None:
    conversation = filled(user, 0.70)
    pk = preparations.prepare_if_due(load_state(conversation.pk))
    summaries.open_compaction_turn(user, conversation.pk, focus="", holder=HOLDER)
    assert Compaction.objects.get(pk=pk).status == Status.CANCELLED


def test_a_dead_worker_does_not_hold_preparations_back(user: User) -> None:
    conversation = filled(user, 0.70)
    assert preparations.prepare_if_due(load_state(conversation.pk)) is not None
    Compaction.objects.update(lease_expires=timezone.now() - timedelta(seconds=1))
    assert sweep.sweep() == 1
    assert preparations.prepare_if_due(load_state(conversation.pk)) is not None


# --- Pauses ---------------------------------------------------------------------------------------


def with_pause(conversation: Conversation) -> None:
    """The user came back an hour after message 10."""
    earlier = timezone.now() - timedelta(hours=1)
    change_messages(
        Message.objects.filter(conversation=conversation, number__lte=10), created_at=earlier
    )


def test_a_pause_is_used_for_large_contexts_of_users_who_have_paused_before(user: User) -> None:
    conversation = filled(user, 0.50)
    assert preparations.find_pause(load_state(conversation.pk)) is None
    with_pause(conversation)
    assert preparations.find_pause(load_state(conversation.pk)) == (20, pytest.approx(120))
    small = filled(user, 0.30)
    with_pause(small)
    assert preparations.find_pause(load_state(small.pk)) is None


def test_a_pause_is_remembered_over_compactions(user: User) -> None:
    conversation = filled(user, 0.50)
    with_pause(conversation)
    assert load_state(conversation.pk).context.cache_ttl == "1h"
    Conversation.objects.filter(pk=conversation.pk).update(pauses_covered=9)
    for through in (14, 16):
        make_compaction(conversation, through=through)
        add_messages(conversation, ["z" * int(0.35 * WINDOW * 3.5), "Yes."])
        after = load_state(conversation.pk)
        assert after.recent.rows[0].number > 11, "the pause stood before the summary's last message"
        assert after.context.cache_ttl == "1h"
        assert preparations.find_pause(after) is not None
    conversation.refresh_from_db()
    assert conversation.pauses_covered == 10
    hidden = Message.objects.filter(conversation=conversation, number__lte=16)
    assert conversation.tokens_covered == sum(hidden.values_list("tokens", flat=True))
    Conversation.objects.filter(pk=conversation.pk).update(pauses_covered=1)
    assert load_state(conversation.pk).context.cache_ttl == "5m", "much is written between pauses"
    Conversation.objects.filter(pk=conversation.pk).update(pauses_covered=10)
    change_messages(
        Message.objects.filter(conversation=conversation, number__lte=20),
        created_at=timezone.now() - timedelta(hours=2),
    )
    assert load_state(conversation.pk).context.cache_ttl == "5m", "the newest pause counts"


def test_a_slow_answer_or_tool_is_no_pause_of_the_users(user: User) -> None:
    conversation = filled(user, 0.50)
    now = timezone.now()
    turn = make_turn(conversation, status=Turn.Status.COMPLETED)
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "Slow."}
    written = ["Read it.", [call], ("user", [result]), ("assistant", "Read.")]
    rows = add_messages(conversation, written, turn=turn)
    for row, minutes in zip(rows, (62, 60, 40, 39), strict=True):
        change_messages(
            Message.objects.filter(pk=row.pk), created_at=now - timedelta(minutes=minutes)
        )
    change_messages(
        Message.objects.filter(conversation=conversation, number__lte=20),
        created_at=now - timedelta(minutes=63),
    )
    Turn.objects.filter(pk=turn.pk).update(finished_at=now - timedelta(seconds=20))
    add_messages(conversation, ["Thanks."])
    pauses = load_state(conversation.pk).pauses
    assert pauses[-2:] == [pytest.approx(60, abs=1), pytest.approx(20, abs=1)]
    assert preparations.find_pause(load_state(conversation.pk)) is None


def test_where_the_site_says_so_no_request_is_cached_for_an_hour(user: User, settings: Any) -> None:
    conversation = filled(user, 0.50)
    earlier = timezone.now() - timedelta(minutes=20)
    change_messages(
        Message.objects.filter(conversation=conversation, number__lte=10), created_at=earlier
    )
    assert load_state(conversation.pk).context.cache_ttl == "1h"
    settings.CACHE_FOR_AN_HOUR = False
    assert load_state(conversation.pk).context.cache_ttl == "5m"


def test_what_is_cached_for_an_hour_stays_warm_that_long(user: User) -> None:
    conversation = filled(user, 0.50)
    assert load_state(conversation.pk).context.cache_ttl == "5m"
    now = timezone.now()
    messages = Message.objects.filter(conversation=conversation)
    change_messages(messages.filter(number__lte=10), created_at=now - timedelta(minutes=20))
    change_messages(messages.filter(number__gt=10), created_at=now - timedelta(minutes=12))
    usage = {"input_tokens": 10_000, "cache_creation": {"ephemeral_1h_input_tokens": 9_000}}
    change_messages(messages.filter(number=20), usage=usage)
    state = load_state(conversation.pk)
    assert state.context.cache_ttl == "1h"
    assert state.warm
    assert preparations.find_pause(load_state(conversation.pk)) == (20, pytest.approx(3_420))
    change_messages(messages.filter(number=20), usage={"input_tokens": 10_000})
    assert not load_state(conversation.pk).warm


def test_to_cache_for_an_hour_costs_twice_the_input_price() -> None:
    usage = {"cache_creation_input_tokens": 10**6}
    hour = usage | {"cache_creation": {"ephemeral_1h_input_tokens": 10**6}}
    profile = ModelProfile(input_price=2.0, cache_write_price=2.5)
    assert profile.price(Usage.from_api(usage)) == pytest.approx(2.5)
    assert profile.price(Usage.from_api(hour)) == pytest.approx(4.0)


def test_a_pause_that_the_user_ended_is_not_used(user: User) -> None:
    conversation = filled(user, 0.50)
    add_messages(conversation, ["I am back."])
    assert preparations.prepare_in_pause(conversation.pk, 20) is None


def test_what_was_prepared_in_a_pause_is_swapped_in_at_the_next_cold_turn(user: User) -> None:
    conversation = filled(user, 0.50)
    pk = preparations.prepare_in_pause(conversation.pk, 20)
    assert pk is not None
    written(pk)
    opening = begun(conversation)
    assert opening.state.due() is None
    assert TEXT in opening.state.context.summary.text


def test_while_the_cache_is_warm_it_waits(user: User) -> None:
    conversation = filled(user, 0.50)
    change_messages(
        Message.objects.filter(conversation=conversation, number=20),
        usage={"input_tokens": 10_000, "output_tokens": 10},
    )
    pk = preparations.prepare_in_pause(conversation.pk, 20)
    assert pk is not None
    written(pk)
    assert not begun(conversation).state.context.summary


# --- Pruning --------------------------------------------------------------------------------------


def test_pruning_makes_room_without_a_summary(user: User) -> None:
    make_profile(context_window=WINDOW, max_output=2_000)
    log = "line\n" * 2_400
    rounds: list = ["Read the logs."]
    for number in range(5):
        call = {"type": "tool_use", "id": f"t{number}", "name": "read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": log}
        rounds += [("assistant", [call]), ("user", [result])]
    conversation = make_conversation(owner=user, messages=[*rounds, ("assistant", "All read.")])
    before = load_state(conversation.pk).used
    opening = begun(conversation)
    assert opening.compact is None
    assert opening.state.used < before - 0.1 * WINDOW
    conversation.refresh_from_db()
    assert conversation.pruned_through > 0
    assert log in conversation.messages.get(number=3).blocks[0]["content"], "only requests change"


# --- The tokens of a day --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spent", "hours", "prepares"), [(18_000, 1, True), (19_000, 1, False), (19_000, 25, True)]
)
def test_nothing_is_prepared_over_the_tokens_of_a_day_and_that_is_counted(
    user: User, spent: int, hours: int, prepares: bool
) -> None:
    conversation = filled(user, 0.70, compaction_settings={"prepare_budgets": 2})
    used = Usage(cache_read_input_tokens=spent, output_tokens=1_000)
    turn = make_turn(conversation)
    for values in {"trigger": "prepared"}, {"origin": "rebuilt"}, {"trigger": "auto"}:
        make_row(conversation, turn, 2, **values)  # the last one does not count
    Turn.objects.update(status=Turn.Status.COMPLETED)
    ago = timezone.now() - timedelta(hours=hours)
    Compaction.objects.update(created_at=ago, status=Status.CANCELLED)
    for row in Compaction.objects.all():
        book_call(CallDetails(user.pk, ModelCall.Kind.SUMMARY, row.model, compaction=row.pk), used)
    before = read_count(metrics.NOT_PREPARED)
    assert (preparations.prepare_if_due(load_state(conversation.pk)) is not None) == prepares
    assert read_count(metrics.NOT_PREPARED) - before == (not prepares)


# --- The breaker ----------------------------------------------------------------------------------


def failed(conversation: Conversation, times: int) -> None:
    for _ in range(times):
        opening = begun(conversation)
        assert opening.compact is not None
        turn = Turn.objects.get(conversation=conversation, status__in=Turn.ACTIVE)
        planned = plan_for(opening.state)
        assert planned is not None
        compaction = compactions.begin(
            opening.state, planned, Compaction.Trigger.AUTO, turn_id=turn.pk, previous=None
        )
        compactions.fail(compaction.pk, "No.")
        endings.end_turn(turn.pk, TurnOutcome(Turn.Status.FAILED))
        conversation.refresh_from_db()


def test_after_three_failures_automatic_compaction_is_paused_and_says_so(user: User) -> None:
    conversation = filled(user, 0.85)
    failed(conversation, 3)
    opening = begun(conversation)
    assert opening.compact is None
    turn = Turn.objects.get(conversation=conversation, status__in=Turn.ACTIVE)
    assert turn.notice == Notice.COMPACTION_PAUSED
    endings.end_turn(turn.pk, TurnOutcome(Turn.Status.FAILED))
    assert preparations.prepare_if_due(load_state(conversation.pk)) is None
    assert summaries.open_compaction_turn(user, conversation.pk, focus="", holder=HOLDER)


def test_after_the_cool_down_it_runs_again(user: User) -> None:
    conversation = filled(user, 0.85)
    failed(conversation, 3)
    past = timezone.now() - timedelta(minutes=6)
    Compaction.objects.update(finished_at=past)
    assert begun(conversation).compact == "auto"


@pytest.mark.parametrize(
    ("trigger", "rests"), [("iterations", False), ("messages", False), ("auto", True)]
)
def test_rounds_of_one_long_turn_may_compact_often_but_a_loop_rests(
    user: User, trigger: str, rests: bool
) -> None:
    conversation = filled(user, 0.50)
    turn = make_turn(conversation)
    for through in (4, 8, 12):
        make_row(conversation, turn, through, trigger=trigger)
    assert preparations.is_breaker_open(load_state(conversation.pk)) == rests


def make_row(conversation: Conversation, turn: Turn, through: int, **values: str) -> None:
    message = Message.objects.get(conversation=conversation, number=through)
    Compaction.objects.create(
        conversation=conversation,
        turn=turn,
        first=message,
        through=message,
        messages=2,
        **values,
        status=Status.COMPLETED,
        lease_expires=timezone.now(),
        finished_at=timezone.now(),
    )


def test_the_tool_rests_too(user: User) -> None:
    conversation = filled(user, 0.85)
    failed(conversation, 3)
    add_messages(conversation, ["And now?"])
    turn = make_turn(conversation, compaction_wanted=True)
    opening = requests.open_next_request(turn.pk)
    assert opening.compact is None
    turn.refresh_from_db()
    assert (turn.notice, turn.compaction_wanted) == (Notice.COMPACTION_PAUSED, False)


def test_rounds_that_a_compaction_kept_do_not_count_again(user: User) -> None:
    settings = {"every_iterations": 3, "iterations_minimum": 0, "prepare_ratio": 0}
    conversation = make_conversation(owner=user, compaction_settings=settings)

    def rounds(*numbers: int) -> None:
        for number in numbers:
            call = {"type": "tool_use", "id": f"t{number}", "name": "read", "input": {}}
            result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "Line."}
            add_messages(conversation, [("assistant", [call]), ("user", [result])])

    add_messages(conversation, ["Read on."])
    rounds(1, 2, 3, 4)
    assert load_state(conversation.pk).due() == "iterations"
    make_compaction(conversation, through=3)
    assert load_state(conversation.pk).due() is None, "three rounds are kept"
    rounds(5, 6)
    assert load_state(conversation.pk).due() is None
    rounds(7)
    assert load_state(conversation.pk).due() == "iterations"


def test_with_compaction_off_nothing_is_prepared_pruned_or_compacted(user: User) -> None:
    conversation = filled(user, 0.90, compaction_enabled=False)
    assert preparations.prepare_if_due(load_state(conversation.pk)) is None
    assert preparations.find_pause(load_state(conversation.pk)) is None
    assert begun(conversation).message is not None
