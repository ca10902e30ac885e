"""The same turns through the product's own services, on a database and in virtual time.

Slower by an order of magnitude than `bench.replay.conductor`, because each turn reads the
conversation several times; so only some of the turns. Needs Django, set up on an empty database.
"""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

from asgiref.sync import async_to_sync

from agent.messages import RawTokens
from agent.model.unreported import Spent
from agent.tokens import Limits
from bench.replay.api import Caller, ScriptedApi
from bench.replay.conductor import EPOCH
from bench.replay.conversations import ReplayExchange


@dataclass
class Written:
    """A summary that the worker hands in at virtual second `ends`."""

    ends: float
    task: Any
    outcome: Any


@dataclass
class ServicesReplay:
    """One conversation. `held`: milliseconds in which a turn opened that swapped a prepared summary
    in, `held_cpu` what of it was computing; `opened`: of the other turns."""

    api: ScriptedApi
    model: str
    limits: Limits
    held: list[float] = field(default_factory=list)
    held_cpu: list[float] = field(default_factory=list)
    opened: list[float] = field(default_factory=list)
    blocking: int = 0
    _running: Written | None = None
    _pause: tuple[float, int] | None = None

    def __post_init__(self) -> None:
        from accounts.models import User
        from chat.models import Conversation
        from chat.queries.model_profiles import load_profile

        profile = load_profile(self.model)
        profile.context_window, profile.max_output = self.limits.window, self.limits.max_output
        profile.token_factor, profile.token_samples = self.limits.factor.value, 0
        profile.tools = False  # the replayed conversations use none
        profile.save()
        self._user = User.objects.create(username=f"replay{User.objects.count()}")
        self._id = Conversation.objects.create(
            owner=self._user, model=self.model, title="Replay", context_budget=self.limits.budget
        ).pk

    def play(self, exchange: ReplayExchange, gap: float) -> None:
        """A pause, a user's message and its answer, as `chat.live.runner` runs them."""
        with (
            patch("django.utils.timezone.now", self._now),
            patch(
                "chat.queries.model_server.new_client",
                lambda endpoint, spent: Caller(self.api, self.api.clock.now),
            ),
            patch(
                "django.conf.settings.MESSAGES_PER_MINUTE", 10**9
            ),  # its clock is not the world's
        ):
            self._advance(gap)
            self._turn(exchange)

    def _turn(self, exchange: ReplayExchange) -> None:
        from chat.models import Turn
        from chat.queries import model_server
        from chat.services import endings, preparations, requests

        before = self._version()
        began, began_cpu = time.perf_counter(), time.thread_time()
        opening = requests.send_message(
            self._user,
            self._id,
            text=exchange.user,
            client_id=None,
            expected_head=None,
            owner="bench",
        )
        assert opening is not None
        turn = opening.turn
        taken = 1000 * (time.perf_counter() - began)
        cpu = 1000 * (time.thread_time() - began_cpu)
        if opening.compact:
            waited = self._compact(turn.pk, opening)
            self.held.append(1000 * waited)
            self.blocking += 1
            opening = requests.begin_answer(turn.pk, may_compact=False)
        else:
            swapped = self._version() != before
            (self.held if swapped else self.opened).append(taken)
            if swapped:
                self.held_cpu.append(cpu)
        state = opening.state
        raw: int = sum(m.tokens for m in state.context.messages)
        raw += state.limits.factor.raw(state.size.fixed)
        text_block = {"type": "text", "text": exchange.answer}
        usage = self.api.answer(
            model_server.build_request(state.context),
            [text_block],
            state.conversation.compaction_id,
        )
        ending = endings.TurnOutcome(
            Turn.Status.COMPLETED,
            blocks=[text_block],
            stop_reason="end_turn",
            usage=usage,
            raw_prompt=RawTokens(raw),
        )
        after = endings.end_turn(turn.pk, ending)
        assert after is not None
        self._pause = None
        if prepared := preparations.prepare_if_due(after):
            self._write(prepared)
        elif pause := preparations.find_pause(after):
            head, seconds = pause
            self._pause = (self.api.clock.now + seconds, head)

    def _compact(self, turn_id: int, opening: Any) -> float:
        """Let the turn wait, as `chat.live.runner` does; virtual seconds."""
        from chat.queries import summaries
        from chat.services import compactions

        began = self.api.clock.now
        if running := summaries.find_running(opening.state.conversation):
            compactions.adopt(running, turn_id)
        elif planned := summaries.plan_for(opening.state, opening.compact):
            compaction = compactions.begin(
                opening.state,
                planned,
                opening.compact,
                turn_id=turn_id,
                previous=opening.state.conversation.compaction,
            )
            self._write(compaction.pk)
        if self._running:
            self._hand_in(max(began, self._running.ends))
        return self.api.clock.now - began

    def _write(self, compaction_id: int) -> None:
        """`tasks.compact` in two halves: what it stores is stored when virtual time has come."""
        from agent.compaction.failures import SummaryRejected
        from agent.errors import AgentError
        from chat.jobs.summary import ask_for_summary
        from chat.services import compaction_jobs

        task = compaction_jobs.claim(compaction_id, 1)
        assert task is not None
        calls = self.api.spent.summary_calls
        outcome: Any
        try:
            outcome = async_to_sync(ask_for_summary)(task, Spent())
        except (AgentError, SummaryRejected) as error:
            outcome = error
        seconds = self.api.call_seconds * (self.api.spent.summary_calls - calls)
        self._running = Written(self.api.clock.now + seconds, task, outcome)

    def _hand_in(self, at: float) -> None:
        """What was written, at its virtual time."""
        from chat.services import compaction_jobs, compactions

        done, self._running = self._running, None
        assert done is not None
        self.api.clock.now = at
        if isinstance(done.outcome, Exception):
            compactions.fail(done.task.compaction.pk, str(done.outcome))
            return
        compaction_jobs.complete(done.task, done.outcome)

    def _advance(self, seconds: float) -> None:
        """Virtual time passes: summaries end, a pause is used."""
        from chat.services import preparations

        later = self.api.clock.now + seconds
        for _ in range(2):
            if self._running and self._running.ends <= later:
                self._hand_in(self._running.ends)
            if self._pause and self._pause[0] < later:
                self.api.clock.now, head = self._pause
                self._pause = None
                if prepared := preparations.prepare_in_pause(self._id, head):
                    self._write(prepared)
        self.api.clock.now = later

    def _version(self) -> Any:
        from chat.models import Conversation

        return Conversation.objects.values_list("compaction_id", flat=True).get(pk=self._id)

    def _now(self) -> datetime:
        return (EPOCH + timedelta(seconds=self.api.clock.now)).astimezone(UTC)
