"""The worker's job, called as the worker calls it: real requests to a scripted model server."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from itertools import count
from threading import Event
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from agent.compaction.policy import Method, Reason
from agent.compaction.writing.choice import MOST_REJECTED
from agent.context.assemble import assemble
from agent.context.request import Request
from agent.errors import AgentError, ErrorCode
from agent.messages import Usage
from agent.model.reply import Reply
from chat import metrics, tasks
from chat.engine import model_server as llm
from chat.engine.state import load_state
from chat.errors import Refused
from chat.html.compaction_words import explain_compaction, explain_failure
from chat.html.divider import render_divider
from chat.jobs import summary as jobs
from chat.models import Compaction, Conversation, Turn
from chat.queries import preview
from chat.queries.outline import load_outline
from chat.queries.summary_versions import plan_for
from chat.services.ledgers import JobLedger
from chat.services.summary import compaction_jobs, compactions, preparations, rewrites, summaries
from chat.services.turns import sweep
from demo.api.protocol import ScriptedReply, text
from demo.api.script import is_chat, is_summary, is_title
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from spending.models import ModelCall
from spending.totals import Total, load_total
from tests.chat.counts import read_count
from tests.chat.factories import (
    HOLDER,
    add_messages,
    change_messages,
    make_compaction,
    make_conversation,
    make_profile,
    make_provider,
    make_turn,
    work,
)
from tests.chat.sockets import MAX_OUTPUT, PLAIN, SUMMARY, WINDOW, long_text
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.on_both

Status = Compaction.Status
CHEAP, LARGE = "cheap-model", "large-model"


@pytest.fixture
def talk(signed_in: tuple[Conversation, str]) -> Conversation:
    """Six long messages, whose model needs no tools."""
    owner = signed_in[0].owner
    make_profile(context_window=WINDOW, max_output=MAX_OUTPUT, tools=False)
    history = [long_text(number) for number in range(1, 7)]
    return make_conversation(
        owner=owner, messages=history, title_edited=True, compaction_settings=PLAIN
    )


def opened(talk: Conversation) -> int:
    return summaries.open_compaction_turn(talk.owner, talk.pk, focus="", holder=HOLDER)[1]


def bill(pk: int) -> Total:
    """What a compaction has cost."""
    return load_total("compaction", pk)


def kinds() -> list[tuple[str, str]]:
    """The kinds and states of the calls, in the order in which they were opened."""
    return list(ModelCall.objects.order_by("pk").values_list("kind", "state"))


# --- Charges --------------------------------------------------------------------------------------


def test_a_rejected_summary_is_charged_with_all_its_calls(
    talk: Conversation, model_server: DemoServer
) -> None:
    model_server.script.reply("No summary.", when=is_summary, always=True)
    pk = opened(talk)
    work(pk)
    compaction = Compaction.objects.get(pk=pk)
    assert compaction.status == Status.FAILED
    calls = len(model_server.script.requests)
    assert calls == MOST_REJECTED
    assert kinds()[:2] == [("summary", "settled"), ("correction", "settled")]
    assert len(kinds()) == calls
    assert bill(pk).request_tokens > 3_000 * calls
    assert bill(pk).dollars == load_total("conversation", talk.pk).summary_dollars > 0


def test_a_stream_that_breaks_off_is_charged_as_far_as_it_was_reported(
    talk: Conversation, model_server: DemoServer
) -> None:
    model_server.script.cut(SUMMARY[:200], when=is_summary, always=True)
    pk = opened(talk)
    work(pk)
    assert bill(pk).dollars == load_total("conversation", talk.pk).dollars > 0


def test_a_cancelled_summary_is_charged(talk: Conversation, model_server: DemoServer) -> None:
    gate = model_server.script.stall(SUMMARY[:200], then=SUMMARY[200:], when=is_summary)
    pk = opened(talk)
    with ThreadPoolExecutor(1) as worker:
        done = worker.submit(work, pk)
        assert gate.reached.wait(PATIENCE)
        assert compactions.cancel(talk.pk)
        done.result(10)
    assert Compaction.objects.get(pk=pk).status == Status.CANCELLED
    assert bill(pk).dollars == load_total("conversation", talk.pk).dollars > 0


def test_a_summary_of_what_has_changed_is_charged(
    talk: Conversation, model_server: DemoServer
) -> None:
    gate = model_server.script.stall(SUMMARY[:200], then=SUMMARY[200:], when=is_summary)
    pk = opened(talk)
    with ThreadPoolExecutor(1) as worker:
        done = worker.submit(work, pk)
        assert gate.reached.wait(PATIENCE)
        change_messages(talk.messages.filter(number=2), active=False)
        gate.release()
        done.result(10)
    compaction = Compaction.objects.get(pk=pk)
    assert (compaction.status, compaction.error) == (Status.FAILED, compactions.CHANGED)
    assert bill(pk).dollars == load_total("conversation", talk.pk).dollars > 0


# --- Another try ----------------------------------------------------------------------------------


def by_rule(talk: Conversation, model_server: DemoServer) -> Compaction:
    """The current summary, which no model has written, and no turn that runs."""
    values = PLAIN | {"extract_on_failure": True}
    Conversation.objects.filter(pk=talk.pk).update(compaction_settings=values)
    model_server.script.error(401, when=is_summary)
    pk = opened(talk)
    work(pk)
    end_turns(talk)
    written = Compaction.objects.get(pk=pk)
    assert (written.status, written.method) == (Status.COMPLETED, Method.EXTRACT)
    return written


def end_turns(talk: Conversation) -> None:
    talk.turns.update(status=Turn.Status.COMPLETED, finished_at=timezone.now())


def test_a_summary_by_rule_is_tried_again_by_the_model_and_replaced(
    talk: Conversation, model_server: DemoServer
) -> None:
    rule = by_rule(talk, model_server)
    model_server.script.reply(SUMMARY, when=is_summary)
    turn, pk = rewrites.open_rewrite_turn(rule.pk, holder=HOLDER)
    assert turn.kind == Turn.Kind.COMPACT
    work(pk)
    end_turns(talk)
    talk.refresh_from_db()
    again = Compaction.objects.get(pk=pk)
    assert talk.compaction == again
    assert again.method != Method.EXTRACT
    assert (again.first, again.through) == (rule.first, rule.through)
    with pytest.raises(Refused):
        rewrites.open_rewrite_turn(pk, holder=HOLDER)


def test_another_try_that_fails_leaves_the_summary_and_says_why(
    talk: Conversation, model_server: DemoServer
) -> None:
    rule = by_rule(talk, model_server)
    model_server.script.error(401, when=is_summary)
    pk = rewrites.open_rewrite_turn(rule.pk, holder=HOLDER).compaction_id
    work(pk)
    talk.refresh_from_db()
    assert talk.compaction == rule
    failed = Compaction.objects.get(pk=pk)
    assert failed.status == Status.FAILED
    assert explain_failure(failed) == (
        "No summary could be written because the API key was not accepted. Nothing was lost."
    )


# --- The deadline ---------------------------------------------------------------------------------


@pytest.fixture
def impatient(talk: Conversation) -> Conversation:
    """Whoever waits for a summary waits for a fifth of a second."""
    values = PLAIN | {"extract_on_failure": True, "deadline_seconds": 0.2}
    Conversation.objects.filter(pk=talk.pk).update(compaction_settings=values)
    talk.refresh_from_db()
    return talk


def test_a_model_that_takes_too_long_is_not_waited_for(
    impatient: Conversation, model_server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = model_server.script.stall(SUMMARY[:200], when=is_summary)
    pass_by = jobs.Deadline.pass_by

    async def pass_by_once_asked(deadline: jobs.Deadline) -> None:
        await gate.wait_reached()
        await pass_by(deadline)

    monkeypatch.setattr(jobs.Deadline, "pass_by", pass_by_once_asked)
    pk = opened(impatient)
    work(pk)
    compaction = Compaction.objects.get(pk=pk)
    assert (compaction.status, compaction.method) == (Status.COMPLETED, Method.EXTRACT)
    assert compaction.method_reason == Reason.TIME_UP
    assert "longer than anybody should wait" in explain_compaction(compaction)


def test_a_server_that_does_not_count_in_time_is_not_waited_for(
    talk: Conversation, model_server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_server.script.reply(SUMMARY, when=is_summary)
    gate = model_server.script.stall(endpoint="count_tokens")
    monkeypatch.setattr(jobs.Deadline, "pass_by", lambda self: gate.wait_reached())
    pk = opened(talk)
    work(pk)
    compaction = Compaction.objects.get(pk=pk)
    assert (compaction.status, compaction.method) == (Status.COMPLETED, Method.SERIALISED)


def test_work_that_keeps_the_worker_from_all_else_keeps_its_lease(
    talk: Conversation, model_server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a long calculation does, or too little processor time."""
    begun, over = Event(), Event()

    async def calculate(*_: Any, **__: Any) -> Any:
        begun.set()
        assert over.wait(PATIENCE)
        raise AgentError(ErrorCode.OVERLOADED, "The test is over.")

    monkeypatch.setattr(jobs, "run_compaction", calculate)
    pk = opened(talk)
    with ThreadPoolExecutor(1) as worker:
        done = worker.submit(work, pk)
        try:
            assert begun.wait(PATIENCE)
            for _ in range(2):
                Compaction.objects.update(lease_expires=timezone.now() - timedelta(seconds=1))
                waiting = compactions.fail_if_abandoned(pk, pickup_over=True)
                assert waiting.status == Status.RUNNING, "this process is at work on it"
                deadline = time.monotonic() + PATIENCE
                while Compaction.objects.get(pk=pk).lease_expires < timezone.now():
                    assert time.monotonic() < deadline
        finally:
            over.set()
        done.result(PATIENCE)
    assert "The test is over" in Compaction.objects.get(pk=pk).error


def test_a_preparation_has_time_until_a_turn_waits_for_it(
    impatient: Conversation, model_server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "BEAT_SECONDS", 0.01)
    gate = model_server.script.stall(SUMMARY[:200], when=is_summary)
    state = load_state(impatient.pk)
    planned = plan_for(state, Compaction.Trigger.MANUAL)
    assert planned is not None
    prepared = compactions.begin(
        state, planned, Compaction.Trigger.PREPARED, turn_id=None, previous=None
    )
    looks, is_waited_for = count(1), compaction_jobs.is_waited_for
    long_enough = Event()

    def look(pk: int) -> bool:
        if next(looks) > 40:  # each a beat after the last: longer than a turn would have waited
            long_enough.set()
        return is_waited_for(pk)

    monkeypatch.setattr(compaction_jobs, "is_waited_for", look)
    with ThreadPoolExecutor(1) as worker:
        done = worker.submit(work, prepared.pk)
        assert gate.reached.wait(PATIENCE)
        assert long_enough.wait(PATIENCE)
        assert not done.done()
        assert compactions.adopt(prepared, make_turn(impatient, kind=Turn.Kind.COMPACT).pk)
        done.result(PATIENCE)
    row = Compaction.objects.get(pk=prepared.pk)
    assert (row.status, row.method) == (Status.COMPLETED, Method.EXTRACT)


# --- Counting -------------------------------------------------------------------------------------


def test_where_the_server_cannot_count_a_probe_does_and_is_charged(
    talk: Conversation, model_server: DemoServer, settings: Any
) -> None:
    settings.COUNT_BY_PROBE = True
    script = model_server.script
    cached = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    usage = cached | {"input_tokens": 1_234, "output_tokens": 16}
    script.error(404, endpoint="count_tokens")
    script.reply(SUMMARY, when=is_summary).reply(
        ScriptedReply((text("So"),), usage=usage), when=is_chat
    )
    pk = opened(talk)
    work(pk)
    compaction = Compaction.objects.get(pk=pk)
    assert (compaction.status, compaction.tokens_after) == (Status.COMPLETED, 1_234)
    summary, probe = script.requests
    assert probe.body["max_tokens"] == 16
    assert "# Conversation Summary" in probe.system_text
    assert bill(pk).output_tokens > 16
    assert bill(pk).request_tokens > 1_234 + 3_000
    assert kinds() == [("summary", "settled"), ("count", "settled"), ("probe", "settled")]


def test_without_that_setting_the_estimate_has_to_do(
    talk: Conversation, model_server: DemoServer
) -> None:
    model_server.script.error(404, endpoint="count_tokens").reply(SUMMARY)
    pk = opened(talk)
    work(pk)
    assert Compaction.objects.get(pk=pk).tokens_after > 0
    assert len(model_server.script.requests) == 1


def test_cancel_is_noticed_while_the_context_is_counted(
    talk: Conversation, model_server: DemoServer, settings: Any
) -> None:
    settings.COUNT_BY_PROBE = True
    script = model_server.script
    script.error(404, endpoint="count_tokens").reply(SUMMARY, when=is_summary)
    gate = script.stall(when=is_chat)
    pk = opened(talk)
    with ThreadPoolExecutor(1) as worker:
        done = worker.submit(work, pk)
        assert gate.reached.wait(PATIENCE)
        assert compactions.cancel(talk.pk)
        done.result(10)
    script.wait_for_disconnects(1)


def test_messages_that_came_before_it_was_taken_up_do_not_make_it_too_large(
    talk: Conversation, model_server: DemoServer
) -> None:
    """The row was written for a context that has grown since by more than the summary frees."""
    Conversation.objects.filter(pk=talk.pk).update(compaction_settings={"prepare_ratio": 0.1})
    pk = preparations.prepare_if_due(load_state(talk.pk))
    assert pk is not None
    add_messages(talk, [long_text(7) * 5])
    model_server.script.reply(SUMMARY, when=is_summary)
    work(pk)
    compaction = Compaction.objects.get(pk=pk)
    assert compaction.tokens_after > compaction.tokens_before, "or the test shows nothing"
    assert compaction.status == Status.READY


# --- A model of its own ---------------------------------------------------------------------------


def test_the_summary_model_writes_summaries(
    talk: Conversation, model_server: DemoServer, settings: Any
) -> None:
    settings.SUMMARY_MODEL = CHEAP
    model_server.stop()
    models = [
        ListedModel(id=name, window=WINDOW, max_output=MAX_OUTPUT) for name in (CHEAP, talk.model)
    ]
    make_profile(CHEAP, context_window=WINDOW, max_output=MAX_OUTPUT, input_price=0.1)
    with DemoServer(models=models, port=model_server.port) as server:
        server.script.reply(SUMMARY, when=is_summary)
        pk = opened(talk)
        work(pk)
        (request,) = server.script.requests
        assert request.body["model"] == CHEAP
    compaction = Compaction.objects.get(pk=pk)
    assert (compaction.status, compaction.model) == (Status.COMPLETED, CHEAP)


@pytest.mark.parametrize(
    ("method", "values"),
    [
        (Method.SERIALISED, {}),
        (Method.WARM_PREFIX, {"usage": {"input_tokens": 9_000, "output_tokens": 10}}),
        (Method.EXTRACT, {"policy": {"engine": Method.EXTRACT}}),
        (Method.CHUNKS, {"policy": {"engine": Method.CHUNKS}}),
    ],
)
def test_the_preview_names_the_method_that_runs(
    talk: Conversation, model_server: DemoServer, settings: Any, method: Method, values: Any
) -> None:
    settings.COMPACTION = settings.COMPACTION | values.get("policy", {})
    settings.MODEL_RETRIES = 0
    change_messages(talk.messages.filter(number=6), usage=values.get("usage"))
    model_server.script.reply(SUMMARY, when=is_summary, always=True)
    seen = preview.preview_compactions(talk)[0]
    pk = opened(talk)
    work(pk)
    row = Compaction.objects.get(pk=pk)
    assert (seen.method, row.method) == (method, method), row.error
    assert row.audit["dollars"].get(method, 0.0) == pytest.approx(
        float(seen.cost) - (seen.tokens_after * 2.5e-6 if method == Method.WARM_PREFIX else 0.0)
    )


@pytest.fixture
def other_server(settings: Any) -> Iterator[DemoServer]:
    """A server for the summary model alone, which lets only its own key in."""
    make_profile(CHEAP, context_window=WINDOW, max_output=MAX_OUTPUT, input_price=0.1)
    models = [ListedModel(id=CHEAP, window=WINDOW, max_output=MAX_OUTPUT)]
    with DemoServer(models=models, api_key="the-other-key") as server:
        settings.SUMMARY_MODEL, settings.SUMMARY_BASE_URL = CHEAP, server.base_url
        yield server
        server.script.assert_done()


def test_a_summary_model_can_have_a_server_and_a_key_of_its_own(
    talk: Conversation, model_server: DemoServer, other_server: DemoServer, settings: Any
) -> None:
    settings.SUMMARY_API_KEY = "the-other-key"
    other_server.script.reply(SUMMARY, when=is_summary).reply("A title", when=is_title)
    pk = opened(talk)
    work(pk)
    assert Compaction.objects.get(pk=pk).status == Status.COMPLETED
    Conversation.objects.filter(pk=talk.pk).update(title_edited=False)
    before = load_total("conversation", talk.pk)
    tasks.suggest_title(str(talk.pk))
    talk.refresh_from_db()
    assert talk.title == "A title"
    after = load_total("conversation", talk.pk)
    assert after.dollars > before.dollars, "a title costs too"
    assert after.summary_dollars == before.summary_dollars
    assert model_server.script.requests == []
    (counted,) = model_server.script.count_requests
    assert counted.body["model"] == talk.model, "its context is counted where it will be sent"


def test_no_server_gets_another_ones_key(
    talk: Conversation, model_server: DemoServer, other_server: DemoServer, settings: Any
) -> None:
    settings.ANTHROPIC_API_KEY = "the-other-key"
    pk = opened(talk)
    work(pk)
    compaction = Compaction.objects.get(pk=pk)
    assert compaction.status == Status.FAILED
    assert "key was not accepted" in compaction.error


def test_a_providers_conversation_is_summarised_and_named_by_its_own_server(
    talk: Conversation, model_server: DemoServer
) -> None:
    limits = {"context_window": WINDOW, "max_output": MAX_OUTPUT, "tools": False}
    served = [ListedModel(id="shared", window=WINDOW, max_output=MAX_OUTPUT)]
    with DemoServer(models=served, api_key="sk-local") as server:
        provider = make_provider("local", server.base_url, key="sk-local")
        make_profile("local::shared", provider=provider, temperature=True, **limits)
        talk.model, talk.reply_settings = "local::shared", {"temperature": 1.5}
        talk.save()
        server.script.reply(SUMMARY, when=is_summary).reply("A title", when=is_title)
        pk = opened(talk)
        work(pk)
        compaction = Compaction.objects.get(pk=pk)
        assert (compaction.status, compaction.model) == (Status.COMPLETED, "local::shared")
        assert bill(pk).dollars > 0
        Conversation.objects.filter(pk=talk.pk).update(title_edited=False)
        tasks.suggest_title(str(talk.pk))
        talk.refresh_from_db()
        assert talk.title == "A title"
        assert {request.body["model"] for request in server.script.requests} == {"shared"}
        assert len(server.script.count_requests) == 1
    assert model_server.script.requests == model_server.script.count_requests == []


async def test_what_a_worker_asks_for_passes_the_same_check_as_a_turns_request(
    transactional_db: None,
    model_server: DemoServer,
) -> None:
    refused = read_count(metrics.REQUEST_REFUSED)
    blank = [{"type": "text", "text": " "}]
    empty = Request("test-model", 100, [], [{"role": "user", "content": blank}])
    made = llm.new_client(llm.load_endpoint("test-model"))
    with pytest.raises(AgentError, match="would refuse"):
        await made.complete(empty)
    await made.close()
    assert read_count(metrics.REQUEST_REFUSED) == refused + 1
    assert model_server.script.requests == []


# --- What no server has reported ------------------------------------------------------------------


def test_a_summary_that_is_cancelled_before_its_server_says_anything_costs_its_request(
    talk: Conversation, model_server: DemoServer
) -> None:
    gate = model_server.script.stall(when=is_summary)
    pk = opened(talk)
    with ThreadPoolExecutor(1) as worker:
        done = worker.submit(work, pk)
        assert gate.reached.wait(PATIENCE)
        assert compactions.cancel(talk.pk)
        done.result(10)
    assert bill(pk).is_estimated
    assert bill(pk).request_tokens > 3_000
    assert bill(pk).dollars > 0


def test_what_a_killed_worker_had_spent_is_charged_and_once_only(talk: Conversation) -> None:
    pk = opened(talk)
    task = compaction_jobs.claim(pk, 77)
    assert task is not None
    block = {"type": "text", "text": "lorem ipsum " * 500}
    request = Request(talk.model, 100, [], [{"role": "user", "content": [block]}])
    ledger, reply = JobLedger(compaction_jobs.describe_calls(task)), Reply()
    async_to_sync(ledger.open)(request, reply)
    assert bill(pk) == Total(), "it has not ended yet"
    reply.written.add("lorem ipsum")
    ledger.keep_progress()
    Compaction.objects.filter(pk=pk).update(lease_expires=timezone.now() - timedelta(seconds=9))
    assert sweep.sweep() == 1
    lost = bill(pk)
    assert lost.is_estimated
    assert lost.request_tokens > 1_000
    assert lost.output_tokens > 0
    # The worker was not dead, but late.
    reply.usage = Usage(input_tokens=2_000, output_tokens=50)
    reply.complete = reply.is_reported = True
    async_to_sync(ledger.end)(reply, None)
    assert not bill(pk).is_estimated
    assert (bill(pk).request_tokens, bill(pk).output_tokens) == (2_000, 50)


def test_a_title_that_breaks_off_is_charged(talk: Conversation, model_server: DemoServer) -> None:
    Conversation.objects.filter(pk=talk.pk).update(title_edited=False)
    model_server.script.cut("A title of many words")
    tasks.suggest_title(str(talk.pk))
    assert load_total("conversation", talk.pk).output_tokens > 1
    assert kinds() == [("title", "lost")]


# --- A merge --------------------------------------------------------------------------------------


def test_a_merge_keeps_the_outline_and_a_persons_words_and_says_what_left(
    talk: Conversation, model_server: DemoServer
) -> None:
    """Where a window of 16,000 tokens has room for 2,400 tokens of chapters."""
    make_profile(context_window=16_000, max_output=MAX_OUTPUT, tools=False)
    for number in range(1, 10):
        said = [f"- Shelf {number}-{n} holds {n} jars of plum jam [#{number}]" for n in range(25)]
        decided = f"## Decisions\n- Jam {number} goes to shelf {number} [#{number}]\n"
        facts = "## Facts and values\n" + "\n".join(said)
        version = make_compaction(talk, decided + facts, through=talk.next_number - 3)
        if number == 2:
            wrong, mended = "- Jam 1 goes to shelf 1 [#1]", "- Jam 1 goes to the cellar, I say [#1]"
            edited = summaries.editable_text(version).replace(wrong, mended)
            version = summaries.edit_summary(version.pk, edited)
        add_messages(talk, [long_text(90 + number), "Fine."] * 2)
    earlier = load_outline(talk)
    faults = read_count(metrics.STATEMENTS_LEFT)
    model_server.script.reply(SUMMARY.replace("[#1 #2]", "[#37]"), when=is_summary)
    pk = opened(talk)
    work(pk)
    row = Compaction.objects.get(pk=pk)
    assert row.status == Status.COMPLETED, row.error
    assert len(model_server.script.requests) == 1, "no model is asked for a merge"
    talk.refresh_from_db()
    state = load_state(talk.pk)
    left = row.audit["left"]
    assert mended in state.context.summary.text
    assert sum(each in state.context.summary.text for each in left) < len(left) / 10
    outline = load_outline(talk)
    assert [*outline.chapters[:-1]] == [*earlier.chapters]
    assert outline.chapters[0].headline == "Jam 1 goes to the cellar, I say"
    assert f"{len(left)} earlier statements are no longer sent" in explain_compaction(row)
    assert read_count(metrics.STATEMENTS_LEFT) == faults + len(left)
    folded = render_divider(row)
    assert folded.count('<details class="chapter"') == len(outline.chapters) == 10
    assert "Shelf 3-20 holds" in folded, "as it was written"
    assert "statements of this chapter are no longer sent" in folded
    Turn.objects.update(status=Turn.Status.COMPLETED)
    again = summaries.edit_summary(
        pk, summaries.editable_text(row).replace("the cellar, I say", "the attic, I say")
    )
    talk.refresh_from_db()
    assert load_outline(talk).chapters[0].headline == "Jam 1 goes to the attic, I say"
    assert "Shelf 3-20 holds" in render_divider(again)


def test_a_summary_that_was_cut_says_what_is_missing(
    user_talk: Conversation, model_server: DemoServer
) -> None:
    model_server.script.reply(BROKEN, when=is_summary, always=True)
    pk = opened(user_talk)
    work(pk)
    row = Compaction.objects.get(pk=pk)
    assert row.status == Status.COMPLETED, row.error
    assert row.audit["unwritten"][-1] == "Current work and next step"
    assert "parts of the summary are missing or incomplete" in explain_compaction(row)
    assert len(model_server.script.requests) == 2


# --- The preview's price and the bill -------------------------------------------------------------


def reply_of(words: int) -> str:
    """A summary that passes, of about so many words."""
    bullets = [f"- Message {1 + n % 9}: lorem ipsum [#{1 + n % 9}]\n" for n in range(words // 5)]
    return SUMMARY.replace("## Facts and values\n\n", "## Facts and values\n\n" + "".join(bullets))


def ask_once(talk: Conversation, model_server: DemoServer) -> None:
    """Have the server cache what the last answer was written for."""
    context = load_state(talk.pk).context
    request = assemble(replace(context, messages=context.messages[:-1]))
    where, replies = llm.load_endpoint(talk.model), list[Reply]()
    model_server.script.reply("Fine.", when=is_chat)

    async def ask() -> None:
        client = llm.new_client(where)
        replies.append(await client.complete(request))
        await client.close()

    async_to_sync(ask)()
    used = {
        "input_tokens": replies[0].usage.request_tokens,
        "output_tokens": context.messages[-1].tokens,
    }
    change_messages(talk.messages.filter(number=talk.next_number - 1), usage=used)


WRONG_FORM = "No summary."
BROKEN = ScriptedReply(
    (text(SUMMARY.partition("## Open questions")[0] + "Lorem ipsum [#1]. " * 1_000),), "max_tokens"
)


@pytest.mark.parametrize(
    ("case", "replies"),
    [
        ("a plain chapter", [0]),
        ("chunks", []),
        ("a merge that is due", [SUMMARY.replace("[#1 #2]", "[#9 #10]")]),
        ("a corrective retry", [WRONG_FORM, 0]),
        ("nothing that can be used", [WRONG_FORM] * 3),
        ("replies that are cut at their limit", [BROKEN, BROKEN]),
        ("a summary model with its own prices", [0]),
        ("a warm cache", [0]),
        ("a warm prefix that has expired", [0]),
        ("written again", [0]),
    ],
)
def test_the_bill_is_what_the_preview_says(
    user_talk: Conversation, model_server: DemoServer, settings: Any, case: str, replies: list[Any]
) -> None:
    talk = user_talk
    if case == "a merge that is due":
        jars = [f"- Shelf {n} holds {n} jars of plum jam [#{n}]" for n in range(150)]
        for number in range(1, 9):
            make_compaction(talk, "## Decisions\n" + "\n".join(jars), through=number)
        add_messages(talk, [long_text(n) for n in range(40, 60)])
    if case == "a summary model with its own prices":
        make_profile(CHEAP, input_price=0.1, output_price=90.0)
        settings.SUMMARY_MODEL = CHEAP
    methods = {"chunks": Method.CHUNKS, "a warm prefix that has expired": Method.WARM_PREFIX}
    settings.COMPACTION = settings.COMPACTION | {"engine": methods.get(case, Method.AUTO)}
    if case == "chunks":
        settings.COMPACTION |= {"input_characters": 20_000}
    cached = 0.0
    if case == "a warm cache":
        ask_once(talk, model_server)
    if case == "written again":
        version = make_compaction(talk, through=talk.next_number - 4)
        seen: Any = preview.preview_rewrite(version)
        pk = rewrites.begin_rewrite(version.pk)
    else:
        seen = preview.preview_compactions(talk)[0]
        if load_state(talk.pk).warm:
            cached = seen.tokens_after * 2.5e-6  # of the next turn
        pk = opened(talk)
    for each in replies:
        model_server.script.reply(each or reply_of(1_000), when=is_summary)
    if case == "chunks":
        model_server.script.reply(reply_of(1_000), when=is_summary, always=True)
    work(pk)
    row = Compaction.objects.get(pk=pk)
    expected_method = Method.WARM_PREFIX if case == "a warm cache" else methods.get(case)
    assert expected_method in (None, seen.method), row.error
    about, most, cost = float(seen.cost) - cached, float(seen.most) - cached, bill(pk).dollars
    assert cost > 0
    if WRONG_FORM in replies or BROKEN in replies:
        assert 0.5 * about < cost <= most
    else:
        assert float(cost) == pytest.approx(about, rel=0.25)
        assert about < most


@pytest.fixture
def user_talk(signed_in: tuple[Conversation, str]) -> Conversation:
    """Thirty long messages in a large window."""
    make_profile(LARGE, tools=False)
    messages = [long_text(number) for number in range(1, 31)]
    return make_conversation(
        model=LARGE,
        owner=signed_in[0].owner,
        messages=messages,
        title_edited=True,
        compaction_settings=PLAIN,
    )
