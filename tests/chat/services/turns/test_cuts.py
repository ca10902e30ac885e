"""Where a long message is cut is stored with it, so that requests go on as they began."""

import pytest

from agent.context.assemble import assemble
from agent.tokens import Factor
from chat.engine.state import load_state
from chat.models import Conversation, Message, ModelProfile
from chat.services.library import memories
from chat.services.turns import endings, requests
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.turns import NewMessage
from tests.chat.factories import HOLDER, make_compaction, make_profile

pytestmark = pytest.mark.on_both

WINDOW = 20_000
LOG = "2026-03-04 the pump in hall 4 stopped at 7 bar\n" * 900


def send(conversation: Conversation, text: str, factor: float) -> list[str]:
    """A turn with the model's factor as it is then; what its request holds of each message."""
    ModelProfile.objects.update(token_factor=factor, token_samples=50)
    opening = requests.send_message(
        conversation.owner, conversation.pk, NewMessage(text), expected_head=None, holder=HOLDER
    )
    assert opening is not None
    opening = requests.open_next_request(opening.turn.pk, may_compact=False)
    blocks = [{"type": "text", "text": "Yes."}]
    endings.end_turn(opening.turn.pk, TurnOutcome("completed", blocks=blocks))
    return [str(message["content"]) for message in assemble(opening.state.context).messages]


def test_a_preview_is_the_same_in_each_request_until_it_is_summarised(
    conversation: Conversation,
) -> None:
    make_profile(context_window=WINDOW, tools=False)
    Conversation.objects.update(context_budget=WINDOW)
    first = send(conversation, LOG, 0.9999)
    assert "left out" in first[-1]
    before = first
    for factor in (1.0001, 0.9999, 1.1001, 0.91, 1.2):
        after = send(conversation, "Go on", factor)
        assert after[: len(before)] == before
        before = after
    long = Message.objects.get(conversation=conversation, text=LOG.strip())
    assert (long.sent_in_part, long.cut_factor) == (True, 1.0)
    # A summary of what came before it leaves it as it is.
    make_compaction(conversation, through=long.number - 1)
    assert first[-1].strip("[]") in "".join(send(conversation, "Go on", 1.1501))


def test_what_was_sent_whole_stays_whole(conversation: Conversation) -> None:
    make_profile(context_window=WINDOW, tools=False)
    Conversation.objects.update(context_budget=WINDOW)
    tokens = load_state(conversation.pk).limits.budget * 0.4
    line = "word " * 10
    text = line * int(tokens / 1.02 / (len(line) / 3.5))
    first = send(conversation, text, 0.9501)
    assert "left out" not in first[-1]
    assert send(conversation, "Go on", 1.1001)[: len(first)] == first


def test_facts_that_are_told_stay_while_the_factor_wanders(
    conversation: Conversation, settings: object
) -> None:
    settings.MEMORY_TOKENS = 400  # type: ignore[attr-defined]
    make_profile()
    owner = conversation.owner_id
    for number in range(60):
        memories.remember_fact(owner, f"Fact number {number:03} of a great many", "user")
    told = memories.render_prompt_text(owner, Factor(0.9999, 50))
    assert memories.render_prompt_text(owner, Factor(1.0001, 50)) != told
    for factor in (1.0001, 0.9, 1.2, 0.7):
        assert memories.render_prompt_text(owner, Factor(factor, 50), before=told) == told
    assert memories.render_prompt_text(owner, Factor(1.5, 50), before=told) != told
    memories.remember_fact(owner, "Something new", "user")
    assert "new" in memories.render_prompt_text(owner, Factor(1.0, 50), before=told)
