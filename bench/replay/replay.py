"""One conversation, turn by turn through the product's own services, on a database and in virtual
time. Needs Django, set up."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any
from unittest.mock import patch

from asgiref.sync import async_to_sync

from agent.compaction.policy import Policy
from agent.messages import Block, RawTokens, Usage
from agent.tokens import Limits
from bench.recall import ask_question
from bench.replay.api import Caller, ScriptedApi
from bench.replay.baselines import TurnSize
from bench.replay.conversations import ReplayExchange
from demo.api.tokens import count_blocks

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
ROUND_SECONDS = 10.0  # of a reply that calls tools, and of them
# What `chat.engine.state.policy_for` reads of the conversation's row.
OF_THE_ROW = ("enabled", "keep_first_message", "held")
LARGE = 0.1  # of the budget: a message that brings the trigger nearer than a preparation can


@dataclass
class Running:
    """A summary that the worker hands in at virtual second `ends`."""

    task: Any
    caller: Caller
    outcome: Any

    @property
    def ends(self) -> float:
        return self.caller.ends


@dataclass
class Tally:
    """What happened. Milliseconds in which turns opened: `swapped` those that a prepared summary
    took effect in (`swapped_cpu`: what of it was computing), `opened` the others. `held`: virtual
    seconds for which a turn waited for a summary. `dollars`: in all, after each turn."""

    swapped: list[float] = field(default_factory=list)
    swapped_cpu: list[float] = field(default_factory=list)
    opened: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)
    blocking: int = 0
    blocking_after_large: int = 0
    failed: int = 0  # calls for a summary
    trimmed: int = 0
    dollars: list[float] = field(default_factory=list)
    requests: list[TurnSize] = field(default_factory=list)  # what is new in each, and its reply


@dataclass
class Replay:
    """The clock is virtual, and with it all that is decided by time. Sizes in tokens."""

    api: ScriptedApi
    model: str
    limits: Limits
    policy: Policy = Policy()
    tools: Sequence[dict[str, Any]] = ()
    tally: Tally = field(default_factory=Tally)
    _running: Running | None = None
    _pause: tuple[float, int] | None = None
    _asked_at: float = 0.0

    def __post_init__(self) -> None:
        from accounts.models import User
        from chat.engine.model_profiles import load_profile
        from chat.models import Conversation

        profile = load_profile(self.model)
        profile.context_window, profile.max_output = self.limits.window, self.limits.max_output
        profile.token_factor, profile.token_samples = self.limits.factor.value, 0
        prices = self.api.prices
        profile.input_price, profile.output_price = float(prices.input), float(prices.output)
        profile.cache_read_price = float(prices.cache_read)
        profile.cache_write_price = float(prices.cache_write)
        profile.save()
        self._user = User.objects.create(username=f"replay{User.objects.count()}")
        self.id = Conversation.objects.create(
            owner=self._user,
            model=self.model,
            title="Replay",
            context_budget=self.limits.budget,
            compaction_enabled=self.policy.enabled,
            keep_first_message=self.policy.keep_first_message,
        ).pk

    def play(self, exchange: ReplayExchange, gap: float) -> None:
        """A pause, a user's message, the tools' rounds and the answer, as `chat.live` runs them."""
        with self._in_virtual_time():
            self._advance(gap)
            self._turn(exchange)
        self.tally.dollars.append(self.api.spent.dollars(self.api.prices))

    @property
    def versions(self) -> list[Any]:
        """The summary versions that took effect, the oldest first."""
        from chat.models import Compaction

        completed = Compaction.objects.filter(
            conversation=self.id, status=Compaction.Status.COMPLETED
        )
        return list(completed.order_by("pk"))

    def search(self, query: str) -> str:
        """What `search_history` gives the model to read."""
        from chat.tools.scope import Scope

        return ask_question(Scope(self.id, self._user.pk), query)

    @contextmanager
    def _in_virtual_time(self) -> Iterator[None]:
        """The product with this replay's clock, tools and settings; its limits are for people."""
        policy = {k: v for k, v in asdict(self.policy).items() if k not in OF_THE_ROW}
        settings = {
            "COMPACTION": policy | {"enabled": True},
            "MESSAGES_PER_MINUTE": 10**9,
            "MAX_MESSAGE_CHARACTERS": 10**9,
        }
        with ExitStack() as stack:
            stack.enter_context(patch("django.utils.timezone.now", self._now))
            tools = "chat.engine.state.declare_tools"
            stack.enter_context(patch(tools, lambda *_, **__: list(self.tools)))
            for name, value in settings.items():
                stack.enter_context(patch(f"django.conf.settings.{name}", value))
            yield

    # --- One turn ---------------------------------------------------------------------------------

    def _turn(self, exchange: ReplayExchange) -> None:
        from chat.models import Turn
        from chat.services.summary import preparations
        from chat.services.turns import endings, requests, rounds

        opening = self._open(exchange)
        turn = opening.turn.pk
        new: list[Block] = [*exchange.files, {"type": "text", "text": exchange.user}]
        for number, round_ in enumerate(exchange.rounds):
            call = round_.call(str(2 * self.api.spent.requests + 1))
            message, ending = self._answer(turn, opening, new, call, within=number > 0)
            rounds.close_round(turn, ending)
            self.api.clock.now += ROUND_SECONDS
            self._hand_in_until(self.api.clock.now)
            new = round_.result(call)
            results = _list_results(call, new)
            rounds.store_results(turn, message.pk, [each.call for each in results], results)
            opening = requests.open_next_request(turn)
        answer: list[Block] = [{"type": "text", "text": exchange.answer}]
        _, ending = self._answer(
            turn, opening, new, answer, within=bool(exchange.rounds), stopped=exchange.stopped
        )
        after = endings.end_turn(turn, ending)
        assert after is not None
        self._pause = None
        if ending.status != Turn.Status.COMPLETED:
            return
        if prepared := preparations.prepare_if_due(after):
            self._write(prepared)
        elif pause := preparations.find_pause(after):
            head, seconds = pause
            self._pause = (self.api.clock.now + seconds, head)

    def _open(self, exchange: ReplayExchange) -> Any:
        """The turn's beginning, timed."""
        from chat.services.turns import requests, turns

        prompt = turns.make_prompt(exchange.user, None, exchange.files, [])
        before = self._version()
        began, began_cpu = time.perf_counter(), time.thread_time()
        opening = requests.send_prompt(
            self._user, self.id, prompt, expected_head=None, holder="bench"
        )
        assert opening is not None
        taken = 1000 * (time.perf_counter() - began)
        cpu = 1000 * (time.thread_time() - began_cpu)
        if not opening.compact:
            swapped = self._version() != before
            (self.tally.swapped if swapped else self.tally.opened).append(taken)
            if swapped:
                self.tally.swapped_cpu.append(cpu)
        return opening

    def _answer(
        self,
        turn: int,
        opening: Any,
        new: list[Block],
        reply: list[Block],
        *,
        within: bool,
        stopped: bool = False,
    ) -> tuple[Any, Any]:
        """One request, whose last message is `new`, and its reply, as `chat.live.answer` asks and
        ends it: the answer's row, and what is to be stored of it."""
        from agent.engine import measure_sent, trim_if_needed
        from agent.model.unreported import mark
        from chat.engine import model_server
        from chat.models import Turn
        from chat.services.summary import preparations
        from chat.services.turns import requests, turns
        from chat.services.turns.endings import TurnOutcome

        if opening.compact:
            self._wait_for_summary(turn, opening)
            opening = requests.open_next_request(turn, may_compact=False)
        state, counter = opening.state, model_server.get_counter()
        if within and (prepared := preparations.begin_between_rounds(turn, state)):
            self._write(prepared)
        context = trim_if_needed(state.metered, counter)
        if context != state.context:
            turns.mark_trimmed(turn)
            self.tally.trimmed += 1
        raw = state.limits.factor.raw(measure_sent(state.metered, context, counter))
        version = (state.conversation.compaction_id, context.pruned_through, context.omitted)
        usage = self.api.answer(model_server.build_request(context), reply, version)
        now, before = self.api.clock.now, self._asked_at
        self._asked_at = now
        self.tally.requests.append(TurnSize(now - before, count_blocks(new), count_blocks(reply)))
        if stopped:
            written = mark(Usage.from_api(usage), request_known=True)
            return opening.message, TurnOutcome(Turn.Status.CANCELLED, blocks=reply, usage=written)
        ending = TurnOutcome(
            Turn.Status.COMPLETED,
            blocks=reply,
            stop_reason="end_turn",
            usage=usage,
            raw_request=RawTokens(raw),
        )
        return opening.message, ending

    # --- Compaction -------------------------------------------------------------------------------

    def _wait_for_summary(self, turn: int, opening: Any) -> None:
        """Let the turn wait, as `chat.live.waiting` does."""
        from chat.live.waiting import find_or_begin

        began = self.api.clock.now
        deadline = began + (self.policy.deadline_seconds or inf)
        limits, newest = opening.state.limits, opening.state.context.messages[-1]
        compaction, new = find_or_begin(turn, opening.state, opening.compact, opening.focus)
        if compaction and new:
            self._write(compaction.pk, deadline)
        elif self._running and self._running.ends > deadline:
            # What a worker has by then is an extract.
            late = Caller(self.api, deadline, deadline)
            self._ask(self._running, late)
        if self._running:
            self._hand_in_until(self._running.ends)
        self.tally.held.append(self.api.clock.now - began)
        if limits.factor.apply(newest.tokens) > LARGE * limits.budget:
            self.tally.blocking_after_large += 1
        else:
            self.tally.blocking += 1

    def _write(self, compaction_id: int, deadline: float = inf) -> None:
        """`chat.tasks.compact` in two halves: what it stores is stored when virtual time has
        come."""
        from chat.services.summary import compaction_jobs

        task = compaction_jobs.claim(compaction_id, 1)
        assert task is not None
        self._running = Running(task, Caller(self.api, self.api.clock.now, deadline), None)
        self._ask(self._running, self._running.caller)

    def _ask(self, running: Running, caller: Caller) -> None:
        from agent.compaction.failures import SummaryRejected, list_failures
        from agent.errors import AgentError
        from chat.jobs.summary import ask_for_summary

        running.caller = caller
        with (
            patch("chat.engine.model_server.new_client", lambda endpoint, **_: caller),
            patch("chat.jobs.summary.Deadline.pass_by", lambda _: caller.pass_deadline()),
        ):
            try:
                running.outcome = async_to_sync(ask_for_summary)(running.task)
                self.tally.failed += len(running.outcome.result.failures)
            except (AgentError, SummaryRejected) as error:
                running.outcome = error
                self.tally.failed += len(list_failures(error))

    def _hand_in_until(self, second: float) -> None:
        """What was written, at its virtual time, if that has come by then."""
        from chat.services.summary import compaction_jobs, compactions

        done = self._running
        if done is None or done.ends > second:
            return
        self._running, now = None, self.api.clock.now
        self.api.clock.now = done.ends
        if isinstance(done.outcome, Exception):
            compactions.fail(done.task.compaction.pk, str(done.outcome))
        else:
            compaction_jobs.complete(done.task, done.outcome)
        self.api.clock.now = max(now, done.ends)

    def _advance(self, seconds: float) -> None:
        """Virtual time passes: summaries end, a pause is used."""
        from chat.services.summary import preparations

        later = self.api.clock.now + seconds
        if self._pause and self._pause[0] < later:
            second, head = self._pause
            self._hand_in_until(second)
            self.api.clock.now, self._pause = second, None
            if prepared := preparations.prepare_in_pause(self.id, head):
                self._write(prepared)
        self._hand_in_until(later)
        self.api.clock.now = later

    def _version(self) -> Any:
        from chat.models import Conversation

        return Conversation.objects.values_list("compaction_id", flat=True).get(pk=self.id)

    def _now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.api.clock.now)


def _list_results(calls: Sequence[Block], results: Sequence[Block]) -> list[Any]:
    """The results of a reply's calls as the loop gives them."""
    from agent.loop import CallResult

    called = [block for block in calls if block["type"] == "tool_use"]
    return [
        CallResult(call, result["content"], False, 0.0)
        for call, result in zip(called, results, strict=True)
    ]
