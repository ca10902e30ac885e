"""What is known of many messages is the same whether they came at once or one by one, and a request
that begins with what is known already is the request of all of them."""

from hypothesis import event, given
from hypothesis import strategies as st

from agent.context.api_messages import (
    build_api_messages,
    join_messages,
    list_ready_messages,
    merge_neighbours,
)
from agent.context.message_list import Aggregates, MessageList
from agent.messages import AgentMessage
from tests.agent.conversations import (
    assistant,
    call,
    exchanges,
    histories,
    message,
    result,
    text,
    thinking,
    user,
)

plain = st.one_of(
    st.integers(0, 3).map(exchanges),
    st.lists(st.sampled_from([user, assistant]), max_size=4).map(
        lambda roles: [make(number) for number, make in enumerate(roles, 1)]
    ),
)
begun = st.builds(lambda first, rest: [*first, *rest], plain, histories)


@given(begun)
def test_messages_that_follow_one_by_one_give_the_aggregates_of_all(
    messages: list[AgentMessage],
) -> None:
    grown = MessageList()
    for each in messages:
        grown = grown.followed_by(each)
    assert grown == tuple(messages)
    assert grown.aggregates == MessageList(messages).aggregates
    assert grown.aggregates.tokens == sum(each.tokens for each in messages)
    assert grown.aggregates.largest == max((each.tokens for each in messages), default=0)
    assert grown.aggregates.mixed == tuple(i for i, each in enumerate(messages) if not each.plain)


@given(
    begun, st.sampled_from([[], exchanges(1), exchanges(1)[:1]]), st.booleans(), st.integers(0, 4)
)
def test_a_request_that_begins_with_settled_messages_is_that_of_all(
    messages: list[AgentMessage], opening: list[AgentMessage], all_turns: bool, thinking_from: int
) -> None:
    settled = list_ready_messages(MessageList(messages))
    event(f"settled: {len(settled)}")
    made = [
        build_api_messages(part, {"search"}, own_from=thinking_from, all_turns=all_turns)
        for part in (opening, messages, messages[len(settled) :])
    ]
    assert join_messages(made[0], settled, made[2]) == merge_neighbours([*made[0], *made[1]])


def test_the_prompt_of_a_round_with_thinking_is_not_settled() -> None:
    """Its thinking goes along, which is decided by where its prompt stands."""
    round_of_tools = [
        message(5, "user", [text("Look.")]),
        message(6, "assistant", [thinking(), call("t1")]),
        message(7, "user", [result("t1")]),
    ]
    history = MessageList([*exchanges(2), *round_of_tools])
    settled = list_ready_messages(history)
    assert len(settled) == 3
    rest = build_api_messages(history[len(settled) :], {"search"})
    assert thinking() in rest[2]["content"]


def test_nothing_is_known_of_no_messages() -> None:
    assert MessageList().aggregates == Aggregates()
