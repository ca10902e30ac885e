"""Looking first, editing, switching models, deleting: what people do with summaries."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from agent.compaction.policy import Extent, Method
from agent.context.summary import CURRENT_WORK, SEPARATOR
from agent.messages import plain_text
from chat.engine.state import load_state
from chat.errors import Refused
from chat.models import Compaction, Conversation
from chat.queries import preview
from chat.services.library import conversations
from chat.services.summary import summaries
from tests.chat.factories import (
    HOLDER,
    change_messages,
    make_compaction,
    make_conversation,
    make_profile,
    make_turn,
)
from tests.chat.listening import Listener

pytestmark = pytest.mark.on_both

Listen = Callable[[Conversation], Listener]


@pytest.fixture
def long(user: User) -> Conversation:
    return make_conversation(owner=user, messages=["Words and words. " * 40] * 20)


# --- Preview --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("extent", "kept"), [(Extent.THOROUGH, 5), (Extent.GENTLE, 10)])
def test_the_preview_says_what_compact_will_do(
    long: Conversation, extent: Extent, kept: int
) -> None:
    (seen,) = (each for each in preview.preview_compactions(long) if each.extent == extent)
    assert seen.kept == kept
    turn, pk = summaries.open_compaction_turn(
        long.owner, long.pk, focus="", holder=HOLDER, extent=extent
    )
    compaction = Compaction.objects.get(pk=pk)
    assert (seen.first, seen.through) == (compaction.first.number, compaction.through.number)
    assert seen.messages == compaction.messages
    assert seen.messages + seen.kept == 20
    assert seen.tokens_before == compaction.tokens_before
    assert seen.cost > 0
    assert seen.method == Method.SERIALISED


def test_the_preview_of_a_small_conversation_promises_no_larger_context(user: User) -> None:
    """Though a chapter may have more tokens than all that is there."""
    (seen,) = preview.preview_compactions(make_conversation(owner=user, messages=4))
    assert seen.tokens_after <= seen.tokens_before


def test_a_preview_of_nothing_says_so(user: User) -> None:
    with pytest.raises(Refused, match="empty"):
        preview.preview_compactions(make_conversation(owner=user))


def test_the_preview_prices_the_summary_model_and_the_new_cache(
    long: Conversation, settings: Any
) -> None:
    cold = preview.preview_compactions(long)[0].cost
    make_profile("cheap", input_price=0.01, output_price=0.01)
    settings.SUMMARY_MODEL = "cheap"
    assert 0 < preview.preview_compactions(long)[0].cost < cold / 10
    settings.SUMMARY_MODEL = ""
    change_messages(
        long.messages.filter(number=20), usage={"input_tokens": 4_000, "output_tokens": 10}
    )
    seen = preview.preview_compactions(long)[0]
    assert seen.method == Method.WARM_PREFIX
    assert seen.cost > seen.tokens_after * 2.5 / 1e6, "the prefix that is left is written anew"


def prepare(conversation: Conversation, *, through: int) -> Compaction:
    prepared = make_compaction(conversation, through=through)
    summaries.revert(prepared.pk)
    Compaction.objects.update(status=Compaction.Status.READY, turn=None, reverted=False)
    Conversation.objects.update(compaction_held=False)
    return prepared


def test_the_preview_of_what_is_prepared_is_what_compact_does(long: Conversation) -> None:
    prepared = prepare(long, through=13)
    seen = preview.preview_compactions(long)[0]
    assert (seen.through, seen.messages, seen.kept, seen.cost) == (13, 13, 7, 0.0)
    assert seen.method is None
    turn, pk = summaries.open_compaction_turn(long.owner, long.pk, focus="", holder=HOLDER)
    assert pk == prepared.pk
    long.refresh_from_db()
    assert long.compaction_id == pk
    assert seen.tokens_after == pytest.approx(load_state(long.pk).used, rel=0.1)


def test_what_was_prepared_is_not_used_if_it_keeps_less_than_a_gentle_compaction(
    long: Conversation,
) -> None:
    prepare(long, through=13)
    thorough, gentle = preview.preview_compactions(long)
    assert (thorough.method, gentle.method) == (None, Method.SERIALISED)
    _, pk = summaries.open_compaction_turn(
        long.owner, long.pk, focus="", holder=HOLDER, extent=Extent.GENTLE
    )
    assert Compaction.objects.get(pk=pk).through.number == gentle.through == 10


def test_what_was_prepared_is_not_used_by_hand_if_it_reads_too_little(long: Conversation) -> None:
    prepared = prepare(long, through=7)
    seen = preview.preview_compactions(long)[0]
    assert (seen.through, seen.kept) == (15, 5), "a quarter stays at most"
    assert seen.method is not None
    _, pk = summaries.open_compaction_turn(long.owner, long.pk, focus="", holder=HOLDER)
    assert pk != prepared.pk
    prepared.refresh_from_db()
    assert prepared.status not in (Compaction.Status.READY, Compaction.Status.COMPLETED)


# --- Edit -----------------------------------------------------------------------------------------


def test_an_edit_is_a_new_version_that_is_sent_from_then_on(
    long: Conversation, listen: Listen
) -> None:
    old = make_compaction(long, "- Words [#1]", through=6)
    heard = listen(long)
    new = summaries.edit_summary(old.pk, "- Only words that matter [#2]")
    long.refresh_from_db()
    assert long.compaction == new
    assert new.previous == old
    assert "Only words that matter" in load_state(long.pk).context.summary.text
    assert (new.origin, new.method, new.through) == ("edit", "edited", old.through)
    assert long.compactions_completed == 1, "no edit is a compaction"
    (changed,) = heard.events("summary.changed")
    assert changed["id"] == new.pk
    assert heard.events("CompressionCompleted") == [], "nothing was compacted"
    old.refresh_from_db()
    assert "- Words [#1]" in old.summary


def test_an_edit_is_audited_and_never_stripped(long: Conversation) -> None:
    old = make_compaction(long, through=6)
    new = summaries.edit_summary(old.pk, "- The port is 9999 [#1]")
    assert "9999" in new.summary
    assert new.audit["dropped"] == ["- The port is 9999 [#1]"]


def test_an_edit_leaves_the_quotes_of_what_it_leaves(long: Conversation) -> None:
    """What a quote bears out is not told again to be unverified."""
    version = make_compaction(long, "- It is 9 a.m. [#2]\n- Not 8 [#2]", through=6)
    said = ["- It is 9 a.m. [#2]", "- Not 8 [#2]"]
    words = " ".join(plain_text(long.messages.get(number=2).blocks).split()[:6])
    quotes = [[each, 2, words] for each in said]
    version.chapters = [chapter | {"quotes": quotes} for chapter in version.chapters]
    version.save()
    new = summaries.edit_summary(version.pk, "- It is 9 a.m. [#2]\n- Not 7 [#2]")
    assert new.chapters[0]["quotes"] == quotes[:1]


def test_chapters_are_edited_one_by_one_or_become_one(long: Conversation) -> None:
    make_compaction(long, "One.", through=4)
    two = make_compaction(long, "Two.", through=8)
    assert summaries.editable_text(two) == f"One.{SEPARATOR}Two."
    both = summaries.edit_summary(two.pk, f"First.{SEPARATOR}Second.")
    assert [(c["text"], c["first"]) for c in both.chapters] == [("First.", 1), ("Second.", 5)]
    merged = summaries.edit_summary(both.pk, "All.")
    assert [(c["text"], c["first"], c["through"]) for c in merged.chapters] == [("All.", 1, 8)]


def test_what_is_written_under_the_current_work_of_an_earlier_chapter_is_sent_too(
    long: Conversation,
) -> None:
    make_compaction(long, f"## Decisions\n- One\n\n{CURRENT_WORK}\n- Lift the jar", through=4)
    two = make_compaction(long, "Two.", through=8)
    text = summaries.editable_text(two)
    new = summaries.edit_summary(two.pk, text.replace("the jar", "the jar with both hands"))
    assert "Lift the jar with both hands" in new.summary


def test_an_edit_can_be_reverted(long: Conversation) -> None:
    old = make_compaction(long, "- Words [#1]", through=6)
    new = summaries.edit_summary(old.pk, "Better.")
    summaries.revert(new.pk)
    long.refresh_from_db()
    assert long.compaction == old
    assert "- Words [#1]" in (long.compressed_context or "")
    assert not long.compaction_held, "whoever undoes an edit still wants summaries"


@pytest.mark.parametrize("text", ["", "  \n", "x" * 100_001])
def test_refuses_no_text_and_too_much(long: Conversation, text: str) -> None:
    old = make_compaction(long, through=6)
    with pytest.raises(Refused):
        summaries.edit_summary(old.pk, text)
    long.refresh_from_db()
    assert long.compaction == old


def test_only_the_current_version_of_an_idle_conversation_is_edited(long: Conversation) -> None:
    old = make_compaction(long, through=4)
    current = make_compaction(long, through=8)
    with pytest.raises(Refused, match="current"):
        summaries.edit_summary(old.pk, "No.")
    make_turn(long)
    with pytest.raises(Refused) as refusal:
        summaries.edit_summary(current.pk, "No.")
    assert refusal.value.code == "conversation_busy"


# --- Model switch ---------------------------------------------------------------------------------


def test_a_switch_to_a_model_that_is_too_small_compacts_with_the_old_one(
    long: Conversation,
) -> None:
    make_profile("small", context_window=3_000, max_output=300)
    old_model = long.model
    conversations.change_settings(long, {"model": "small"})
    opened = summaries.open_model_switch(long.pk, old_model=old_model, holder=HOLDER)
    assert opened is not None
    compaction = Compaction.objects.get(pk=opened[1])
    assert (compaction.trigger, compaction.model) == ("model_switch", old_model)


def test_a_switch_to_a_model_that_fits_compacts_nothing(long: Conversation) -> None:
    make_profile("large")
    conversations.change_settings(long, {"model": "large"})
    assert summaries.open_model_switch(long.pk, old_model="x", holder=HOLDER) is None
    assert not Compaction.objects.exists()
