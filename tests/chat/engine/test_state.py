"""The meter: what is reported counts, as long as it describes the context that is sent."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agent.context.assemble import assemble
from agent.errors import AgentError
from chat.engine.model_server import build_request
from chat.engine.state import load_state
from chat.errors import Refused
from chat.models import Conversation, Memory, Message
from chat.protocol import from_rows
from chat.services.library import conversations, memories
from chat.services.turns import requests
from tests.chat.factories import (
    add_messages,
    change_messages,
    make_compaction,
    make_conversation,
    make_profile,
    make_turn,
)

pytestmark = pytest.mark.on_both

USAGE = {
    "input_tokens": 40,
    "cache_read_input_tokens": 900,
    "cache_creation_input_tokens": 60,
    "output_tokens": 50,
}


@pytest.fixture
def measured(conversation: Conversation) -> Conversation:
    """Its last answer came with usage: 1,050 tokens."""
    change_messages(conversation.messages.filter(number=4), usage=USAGE)
    return conversation


def meter(conversation: Conversation) -> tuple[int, bool]:
    state = load_state(conversation.pk)
    return state.used, state.estimated


def test_reported_usage_is_the_meter(measured: Conversation) -> None:
    assert meter(measured) == (1_050, False)


def test_newer_messages_are_estimated_on_top_with_the_models_factor(
    measured: Conversation,
) -> None:
    make_profile(token_factor=2.0)
    (message,) = add_messages(measured, ["And another thing, which is longer."])
    assert meter(measured) == (1_050 + 2 * message.tokens, True)


def test_without_usage_everything_is_estimated(conversation: Conversation) -> None:
    state = load_state(conversation.pk)
    assert (state.used, state.estimated) == (state.size.total, True)
    assert state.size.conversation == sum(m.tokens for m in conversation.messages.all())


def test_thinking_of_a_finished_turn_does_not_count(measured: Conversation) -> None:
    usage = USAGE | {"output_tokens_details": {"thinking_tokens": 30}}
    change_messages(measured.messages.filter(number=4), usage=usage)
    assert meter(measured) == (1_020, False)


def test_thinking_counts_where_the_model_keeps_it(measured: Conversation) -> None:
    make_profile("claude-opus-5")
    Conversation.objects.filter(pk=measured.pk).update(model="claude-opus-5")
    usage = USAGE | {"output_tokens_details": {"thinking_tokens": 30}}
    rows = measured.messages.filter(number=4)
    rows.update(usage=usage, model="claude-opus-5", turn=make_turn(measured, status="completed"))
    assert meter(measured) == (1_050, False)
    assert load_state(measured.pk).size.conversation == 30 + sum(
        m.tokens for m in measured.messages.all()
    )


def test_imported_thinking_is_not_sent(measured: Conversation) -> None:
    """It was written for another account, after another system prompt."""
    make_profile("claude-opus-5")
    Conversation.objects.filter(pk=measured.pk).update(model="claude-opus-5")
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    add_messages(measured, ["Well?", [thought, {"type": "text", "text": "Yes."}], "And?"])
    turn = make_turn(measured, status="completed")
    (answer,) = add_messages(measured, [[thought, {"type": "text", "text": "No."}]], turn=turn)
    messages = assemble(load_state(measured.pk).context).messages
    thinking = [m["content"] for m in messages if m["content"][0]["type"] == "thinking"]
    assert thinking == [answer.blocks]


def test_usage_is_stale_after_a_compaction(measured: Conversation) -> None:
    make_compaction(measured, through=2)
    used, estimated = meter(measured)
    assert estimated
    assert used == load_state(measured.pk).size.total


def test_usage_reported_after_a_compaction_counts_again(measured: Conversation) -> None:
    make_compaction(measured, through=2)
    add_messages(measured, ["Next", ("assistant", "Yes.")])
    change_messages(
        measured.messages.filter(number=6), usage={"input_tokens": 1_300, "output_tokens": 5}
    )
    assert meter(measured) == (1_305, False)


def test_usage_older_than_the_summary_compacts_nothing_again_though_its_message_is_kept_4(
    measured: Conversation,
) -> None:
    change_messages(measured.messages.filter(number=4), usage={"input_tokens": 610_000})
    assert load_state(measured.pk).due() == "auto"
    make_compaction(measured, through=2)
    add_messages(measured, ["And another thing."])
    state = load_state(measured.pk)
    assert 4 in [message.number for message in state.context.messages]
    assert state.due() is None


@pytest.mark.parametrize(("reported", "due"), [(190_000, "auto"), (0, None)])
def test_an_answer_that_failed_without_usage_leaves_the_meter_to_the_one_before_5(
    conversation: Conversation, reported: int, due: str | None
) -> None:
    change_messages(conversation.messages.filter(number=4), usage={"input_tokens": reported})
    add_messages(conversation, ["And another thing."])
    zero = {"input_tokens": 0, "output_tokens": 0}
    add_messages(conversation, [("assistant", "")], status=Message.Status.FAILED, usage=zero)
    state = load_state(conversation.pk)
    assert state.used >= reported
    assert state.due() == due


@pytest.mark.parametrize(
    "values",
    [
        {"model": "another-model"},
        {"system_prompt": "Answer in rhyme."},
        {"keep_first_message": False},
    ],
)
def test_usage_is_stale_after_a_change_of_the_request(
    measured: Conversation, values: dict[str, Any]
) -> None:
    make_profile("another-model")
    conversations.change_settings(measured, values)
    assert meter(measured)[1]


def test_what_is_newly_remembered_makes_cache_and_meter_stale(measured: Conversation) -> None:
    assert load_state(measured.pk).warm
    memories.remember_fact(measured.owner_id, "I live in Lisbon.", Memory.Source.USER)
    add_messages(measured, ["Where was that?"])
    state = requests.open_next_request(make_turn(measured).pk).state
    assert "Lisbon" in state.context.memory
    assert (state.warm, state.used) == (False, state.size.total)


def test_a_setting_that_leaves_the_request_alone_leaves_the_meter(measured: Conversation) -> None:
    conversations.change_settings(measured, {"compaction_enabled": False})
    assert meter(measured) == (1_050, False)


def test_settings_cannot_change_under_a_running_turn(measured: Conversation) -> None:
    make_turn(measured)
    with pytest.raises(Refused):
        conversations.change_settings(measured, {"model": "another-model"})


def test_a_stopped_answer_counts_with_the_text_it_has(conversation: Conversation) -> None:
    """The last report of a stopped answer came with its first event: 1 token of output."""
    long = "It was a long story, and it was not over when it was stopped. " * 20
    add_messages(conversation, ["Go on"])
    (partial,) = add_messages(
        conversation,
        [long],
        status="interrupted",
        usage={"input_tokens": 1_000, "output_tokens": 1},
    )
    assert meter(conversation)[0] >= 1_000 + partial.tokens


def test_the_event_adds_up(measured: Conversation) -> None:
    make_profile(context_window=10_000, max_output=1_000)
    event = from_rows.context_usage(load_state(measured.pk))
    assert (event.used, event.budget, event.window) == (1_050, 10_000, 10_000)
    assert event.ratio == pytest.approx(0.105)
    assert event.trigger == 0.8
    parts = event.breakdown
    assert parts["system"] + parts["tools"] + parts["summary"] + parts["conversation"] == 1_050
    assert parts["reserve"] == 1_000


def test_only_what_the_model_has_is_sent_of_the_reply_settings(
    measured: Conversation, settings: Any
) -> None:
    chosen = {"effort": "max", "thinking": "off", "temperature": 0.3, "max_tokens": 2_000}
    measured.reply_settings = chosen
    measured.save()

    def sent() -> dict[str, Any]:
        body = build_request(load_state(measured.pk).context).body()
        names = ("output_config", "thinking", "temperature", "max_tokens")
        return {name: body[name] for name in names if name in body}

    assert sent() == {"max_tokens": 2_000}
    make_profile(temperature=True, max_output=1_500)
    assert sent() == {"temperature": 0.3, "max_tokens": 1_500}
    make_profile(efforts=["max"], thinking_types=["adaptive", "disabled"], max_output=1_500)
    assert sent() == {
        "output_config": {"effort": "max"},
        "thinking": {"type": "disabled"},
        "temperature": 0.3,
        "max_tokens": 1_500,
    }
    assert load_state(measured.pk).limits.reserve == 1_500
    settings.ANTHROPIC_BASE_URL = ""  # Anthropic's own API takes no temperature
    with pytest.raises(AgentError):
        sent()


def test_a_long_history_costs_no_more_than_its_recent_messages(conversation: Conversation) -> None:
    def queries(row: Conversation) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert len(load_state(row.pk).recent.rows) == 6
        return len(captured)

    long = make_conversation(owner=conversation.owner, messages=400)
    make_compaction(long, through=394)
    add_messages(conversation, ["More", "Yes"])
    assert queries(long) <= queries(conversation) + 2  # the summary's end, the protected first


def test_the_prompt_of_kept_rounds_stays_when_the_next_turn_begins(
    conversation: Conversation,
) -> None:
    """Without it, all that follows it would be written to the prompt cache again."""

    def send() -> list[Any]:
        return list(build_request(load_state(conversation.pk).context).messages)

    rounds = [
        (role, [block | {key: f"t{n}"}])
        for n in range(3)
        for role, key, block in (
            ("assistant", "id", {"type": "tool_use", "name": "run", "input": {}}),
            ("user", "tool_use_id", {"type": "tool_result", "content": "done"}),
        )
    ]
    _, _, result, *_ = add_messages(conversation, ["Mend it.", *rounds])
    make_compaction(conversation, through=result.number)
    before = send()
    assert "Mend it." in str(before)
    add_messages(conversation, [("assistant", "Mended."), ("user", "Thanks.")])
    assert send()[: len(before)] == before
