"""Edit, answer again, switch, delete: what is shown and sent, and which summary counts."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from agent.context.assemble import assemble
from agent.errors import AgentError, ErrorCode
from agent.messages import Usage
from agent.model.reply import Reply
from agent.model.rules import find_violations
from chat.engine.state import load_state
from chat.errors import Refused
from chat.html.message import render_message
from chat.models import Compaction, Conversation, Message, Turn
from chat.queries import tree
from chat.services.calls import describe_end
from chat.services.summary import leaving_out, summaries
from chat.services.turns import branches, endings, requests
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.turns import NewMessage
from spending.totals import load_total
from tests.chat.factories import (
    HOLDER,
    add_messages,
    make_compaction,
    make_conversation,
    make_profile,
    make_turn,
    make_user,
)
from tests.chat.listening import Listener

pytestmark = pytest.mark.on_both

Listen = Callable[[Conversation], Listener]
# What PostgreSQL could do otherwise are the statements, and few sequences have them all.
EXAMPLES = 40 if connection.vendor == "sqlite" else 12


@pytest.fixture
def talk(user: User) -> Conversation:
    """Ten messages, five exchanges."""
    return make_conversation(owner=user, messages=10)


def shown(conversation: Conversation) -> list[int]:
    """The numbers of the branch that is shown, in order."""
    rows = conversation.messages.filter(active=True).order_by("position")
    return list(rows.values_list("number", flat=True))


def message(conversation: Conversation, number: int) -> Message:
    return conversation.messages.get(number=number)


def answer(turn: Turn, text: str = "An answer.") -> Message:
    """Run a turn to its end, as the runner does."""
    opening = requests.open_next_request(turn.pk)
    assert opening.message is not None
    blocks = [{"type": "text", "text": text}]
    endings.end_turn(
        turn.pk, TurnOutcome(Turn.Status.COMPLETED, blocks=blocks, stop_reason="end_turn")
    )
    return opening.message


def edit(conversation: Conversation, number: int, text: str = "Otherwise.") -> Turn:
    pk = message(conversation, number).pk
    return branches.edit_message(conversation.owner, conversation.pk, pk, text, holder=HOLDER).turn


def regenerate(conversation: Conversation, number: int, model: str = "") -> Turn:
    pk = message(conversation, number).pk
    owner = conversation.owner
    return branches.regenerate(owner, conversation.pk, pk, holder=HOLDER, model=model).turn


def switch(conversation: Conversation, number: int) -> None:
    branches.switch_branch(conversation.owner, conversation.pk, message(conversation, number).pk)


def delete(conversation: Conversation, number: int) -> None:
    branches.delete_message(conversation.owner, conversation.pk, message(conversation, number).pk)


# --- Edit and answer again ------------------------------------------------------------------------


def test_an_edit_is_a_sibling_and_the_old_way_stays(talk: Conversation, listen: Listen) -> None:
    heard = listen(talk)
    answer(edit(talk, 5))
    assert shown(talk) == [1, 2, 3, 4, 11, 12]
    assert message(talk, 11).parent == message(talk, 4)
    assert message(talk, 5).text == "Message number 5."
    (changed,) = heard.events("branch.changed")
    assert changed["after"] == message(talk, 4).position
    created = heard.events("message.created")[0]
    assert "2/2" in created["html"]


def test_the_first_message_can_be_edited(talk: Conversation) -> None:
    answer(edit(talk, 1))
    assert shown(talk) == [11, 12]
    assert message(talk, 11).parent is None


def test_an_answer_is_written_again_for_the_same_message(talk: Conversation) -> None:
    again = answer(regenerate(talk, 6), "Another answer.")
    assert shown(talk) == [1, 2, 3, 4, 5, again.number]
    assert again.parent == message(talk, 5)


def test_an_answer_with_tools_is_written_again_from_its_prompt(user: User) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "seen"}
    talk = make_conversation(
        owner=user, messages=["Look!", ("assistant", [call]), ("user", [result]), "Seen."]
    )
    answer(regenerate(talk, 4))
    assert shown(talk) == [1, 5]


def test_another_model_answers_once(talk: Conversation) -> None:
    make_profile("other-model", context_window=50_000, output_price=7.0)
    turn = regenerate(talk, 6, "other-model")
    opening = requests.open_next_request(turn.pk)
    assert opening.state.context.model == "other-model"
    assert opening.state.limits.window == 50_000
    used = {"input_tokens": 100, "output_tokens": 1_000_000}
    blocks = [{"type": "text", "text": "Otherwise."}]
    assert opening.call
    end = describe_end(
        opening.call, Reply(usage=Usage.from_api(used), complete=True, is_reported=True), None
    )
    ending = TurnOutcome(Turn.Status.COMPLETED, blocks=blocks, usage=used, call=end)
    state = endings.end_turn(turn.pk, ending)
    again = message(talk, 11)
    assert again.model == "other-model"
    assert float(load_total("turn", turn.pk).dollars) == pytest.approx(7.0, abs=0.001)
    assert state
    assert state.profile.name == "test-model"
    assert state.estimated  # what another model reported says nothing of the next request
    talk.refresh_from_db()
    assert talk.model == "test-model"
    assert (
        requests.send_message(
            talk.owner, talk.pk, NewMessage("On.", client_id="1"), expected_head=None, holder=HOLDER
        ).state.context.model
        == "test-model"
    )  # type: ignore[union-attr]


def test_what_another_model_thought_is_not_sent_to_the_conversations_own(
    talk: Conversation,
) -> None:
    make_profile("other-model")
    turn = regenerate(talk, 6, "other-model")
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "theirs"}
    blocks = [thinking, {"type": "text", "text": "Otherwise."}]
    state = endings.end_turn(turn.pk, TurnOutcome(Turn.Status.COMPLETED, blocks=blocks))
    assert state
    assert "theirs" not in str(assemble(state.context).messages)


def test_a_retry_asks_the_model_again_that_was_asked_for_once(talk: Conversation) -> None:
    make_profile("other-model")
    turn = regenerate(talk, 6, "other-model")
    error = AgentError(ErrorCode.OVERLOADED, "Busy.", retryable=True)
    endings.end_turn(turn.pk, TurnOutcome(Turn.Status.FAILED, error=error))
    assert requests.retry(talk, holder=HOLDER).state.context.model == "other-model"


@pytest.mark.parametrize("number", [2, 4])
def test_only_ones_own_words_are_edited(talk: Conversation, number: int) -> None:
    with pytest.raises(Refused, match="that you wrote"):
        edit(talk, number)
    assert shown(talk) == list(range(1, 11))


def test_an_empty_edit_is_refused(talk: Conversation) -> None:
    with pytest.raises(Refused, match="Write a message"):
        edit(talk, 3, "  ")


def test_a_busy_conversation_is_left_alone(talk: Conversation) -> None:
    make_turn(talk)
    for change in (edit, regenerate, switch, delete):
        with pytest.raises(Refused) as refused:
            change(talk, 5)
        assert refused.value.code == "conversation_busy"
    assert shown(talk) == list(range(1, 11))


def test_a_stranger_changes_nothing(talk: Conversation) -> None:
    stranger, pk = make_user(), message(talk, 5).pk
    for change in (
        lambda: branches.edit_message(stranger, talk.pk, pk, "x", holder=HOLDER),
        lambda: branches.regenerate(stranger, talk.pk, pk, holder=HOLDER),
        lambda: branches.switch_branch(stranger, talk.pk, pk),
        lambda: branches.delete_message(stranger, talk.pk, pk),
    ):
        with pytest.raises(Conversation.DoesNotExist):
            change()
    other = make_conversation(owner=stranger, messages=2)
    with pytest.raises(Message.DoesNotExist):  # a message of another conversation
        branches.delete_message(stranger, other.pk, pk)


# --- Branches -------------------------------------------------------------------------------------


def test_switching_back_shows_the_old_way_to_its_end(talk: Conversation, listen: Listen) -> None:
    answer(edit(talk, 5))
    heard = listen(talk)
    switch(talk, 5)
    assert shown(talk) == list(range(1, 11))
    (changed,) = heard.events("branch.changed")
    assert changed["after"] == message(talk, 4).position
    switch(talk, 11)
    assert shown(talk) == [1, 2, 3, 4, 11, 12]


def test_a_branch_opens_where_it_was_written_on_last(talk: Conversation) -> None:
    answer(edit(talk, 7))  # 11, 12
    answer(edit(talk, 3))  # 13, 14
    switch(talk, 3)
    assert shown(talk) == [1, 2, 3, 4, 5, 6, 11, 12]


def test_a_message_goes_on_from_where_its_sender_saw_the_end(talk: Conversation) -> None:
    opening = branches.send_as_branch(
        talk.owner, talk.pk, NewMessage("From here.", client_id="c"), expected_head=6, holder=HOLDER
    )
    assert opening is not None
    assert shown(talk) == [1, 2, 3, 4, 5, 6, 11, 12]
    endings.end_turn(opening.turn.pk, TurnOutcome(Turn.Status.COMPLETED))
    switch(talk, 7)
    assert shown(talk) == list(range(1, 11))


def test_only_what_differs_is_rewritten(user: User, django_assert_max_num_queries: Any) -> None:
    talk = make_conversation(owner=user, messages=400)
    answer(edit(talk, 399))
    with django_assert_max_num_queries(22):
        switch(talk, 399)
    assert shown(talk) == list(range(1, 401))


# --- Summaries ------------------------------------------------------------------------------------


def test_an_edit_in_the_summarised_part_goes_back_to_the_summary_before_it(
    talk: Conversation,
) -> None:
    first = make_compaction(talk, "First.", through=2)
    second = make_compaction(talk, "Second.", through=6)
    answer(edit(talk, 5))
    talk.refresh_from_db()
    assert talk.compaction == first
    assert [m.number for m in load_state(talk.pk).context.messages] == [3, 4, 11, 12]
    switch(talk, 5)
    talk.refresh_from_db()
    assert talk.compaction == second
    assert "Second." in (talk.compressed_context or "")


def test_a_reverted_summary_does_not_come_back_with_its_branch(talk: Conversation) -> None:
    first = make_compaction(talk, "First.", through=2)
    second = make_compaction(talk, "Second.", through=6)
    summaries.revert(second.pk)
    answer(edit(talk, 9))
    switch(talk, 9)
    talk.refresh_from_db()
    assert talk.compaction == first


def test_what_is_answered_again_is_never_in_the_summary(talk: Conversation) -> None:
    make_compaction(talk, "All but the answer.", through=9)
    turn = regenerate(talk, 10)
    opening = requests.open_next_request(turn.pk)
    assert opening.state.context.messages[-1].number == 9


def test_reported_usage_of_another_branch_does_not_count(talk: Conversation) -> None:
    usage = {"input_tokens": 90_000, "output_tokens": 10}
    add_messages(talk, ["More?", "Yes."], usage=usage)
    assert load_state(talk.pk).used > 90_000
    answer(edit(talk, 11))
    assert load_state(talk.pk).used < 1_500


# --- Delete ---------------------------------------------------------------------------------------


def test_a_deleted_message_is_gone_and_what_followed_it_follows_the_one_before(
    talk: Conversation, listen: Listen
) -> None:
    heard = listen(talk)
    pk = message(talk, 5).pk
    delete(talk, 5)
    assert shown(talk) == [1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert message(talk, 6).parent == message(talk, 4)
    assert heard.events("message.deleted") == [{"type": "message.deleted", "id": pk}]
    assert heard.events("summary.changed") == []
    assert not find_violations(assemble(load_state(talk.pk).context).body())


def test_a_calls_results_are_deleted_with_it(user: User) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "seen"}
    talk = make_conversation(
        owner=user, messages=["Look!", ("assistant", [call]), ("user", [result]), "Seen."]
    )
    delete(talk, 2)
    assert shown(talk) == [1, 4]


def test_the_summary_of_a_deleted_message_still_covers_the_others(talk: Conversation) -> None:
    make_compaction(talk, "First.", through=2)
    second = make_compaction(talk, "Second.", through=6)
    delete(talk, 6)  # the last one that it covers
    talk.refresh_from_db()
    assert talk.compaction == second
    assert "First." in (talk.compressed_context or "")
    assert "Second." not in (talk.compressed_context or "")
    assert [m.number for m in load_state(talk.pk).context.messages] == [7, 8, 9, 10]


def test_a_summary_of_another_branch_is_kept(talk: Conversation) -> None:
    on_old = make_compaction(talk, "The old way.", through=6)
    answer(edit(talk, 3))
    delete(talk, 11)  # only on the new way
    on_old.refresh_from_db()
    assert "The old way." in on_old.summary
    switch(talk, 3)
    delete(talk, 2)  # on both
    on_old.refresh_from_db()
    assert "The old way." not in on_old.summary


@pytest.mark.parametrize(("again", "left"), [(1, 10), (2, 11)])
def test_after_the_last_message_its_nearest_variant_is_shown(
    talk: Conversation, again: int, left: int
) -> None:
    for _ in range(again):
        newest = answer(regenerate(talk, 10))
    delete(talk, newest.number)
    assert shown(talk) == [*range(1, 10), left]


def test_after_the_first_variant_the_next_one_is_shown(talk: Conversation) -> None:
    newest = answer(regenerate(talk, 10))
    switch(talk, 10)
    delete(talk, 10)
    assert shown(talk) == [*range(1, 10), newest.number]


def test_the_way_to_a_variant_is_drawn_anew_when_its_neighbour_was_deleted(
    talk: Conversation,
) -> None:
    """Two of two before and after: only the neighbour differs."""
    deleted = answer(regenerate(talk, 10))
    talk.refresh_from_db()
    rows = [message(talk, 10)]
    render_message(rows[0], tree.find_variants(talk, rows)[rows[0].pk])
    delete(talk, deleted.number)
    newest = answer(regenerate(talk, 10))
    talk.refresh_from_db()
    html = render_message(rows[0], tree.find_variants(talk, rows)[rows[0].pk])
    assert f'data-to="{newest.pk}"' in html
    assert f'data-to="{deleted.pk}"' not in html


def test_the_only_message_can_be_deleted(user: User) -> None:
    talk = make_conversation(owner=user, messages=["Hello"])
    delete(talk, 1)
    assert shown(talk) == []
    opening = requests.send_message(
        user, talk.pk, NewMessage("Again"), expected_head=0, holder=HOLDER
    )
    assert opening is not None


# --- Whatever comes in whatever order -------------------------------------------------------------

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["edit", "regenerate", "switch", "delete", "compact", "post", "leave out", "put back"]
        ),
        st.integers(0, 10_000),
    ),
    max_size=12,
)


@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_any_sequence_leaves_one_sound_branch(user: User, steps: list[tuple[str, int]]) -> None:
    """Of every conversation: the branch is a chain, each of its messages is in the summary or is
    sent, the summary covers only what is on the branch, and the request is valid."""
    talk = make_conversation(owner=user, messages=8)
    for step, choice in steps:
        rows = list(talk.messages.order_by("number"))
        chosen = rows[choice % len(rows)] if rows else None
        try:
            if step == "post":
                head = talk.messages.filter(active=True).order_by("-position").first()
                opening = requests.send_message(
                    user,
                    talk.pk,
                    NewMessage("More."),
                    expected_head=head.number if head else 0,
                    holder=HOLDER,
                )
                assert opening is not None
                turn = opening.turn
                answer(turn)
            elif step == "compact":
                recent = load_state(talk.pk).context.messages
                if len(recent) > 3:
                    make_compaction(talk, "So far.")
            elif chosen is not None and step in ("edit", "regenerate"):
                answer({"edit": edit, "regenerate": regenerate}[step](talk, chosen.number))
            elif chosen is not None and step in ("leave out", "put back"):
                change = (
                    leaving_out.leave_message_out
                    if step == "leave out"
                    else leaving_out.put_message_back
                )
                change(user, talk.pk, chosen.pk, whole=choice % 2 == 1)
            elif chosen is not None:
                {"switch": switch, "delete": delete}[step](talk, chosen.number)
        except Refused:
            continue
        assert_sound(talk)


def assert_sound(talk: Conversation) -> None:
    talk.refresh_from_db()
    rows = list(talk.messages.filter(active=True).order_by("position"))
    for before, row in zip([None, *rows], rows, strict=False):
        assert row.parent_id == (before.pk if before else None)
    assert [row.number for row in rows] == sorted(row.number for row in rows)
    through = talk.compressed_through
    covered = [r.number for r in rows if through and r.position <= through.position]
    sent = [m.number for m in load_state(talk.pk).context.messages]
    assert covered + sent == [row.number for row in rows]
    if talk.compaction:
        assert talk.compaction.status == Compaction.Status.COMPLETED
        assert talk.compaction.through.active
        assert talk.compaction.summary == talk.compressed_context != ""
    if rows:
        assert not find_violations(assemble(load_state(talk.pk).context).body())
