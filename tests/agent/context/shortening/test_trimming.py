"""The last resort: a turn whose own tool results are too many is shortened, and not given up."""

from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from agent.context.assemble import Context, assemble, measure
from agent.context.shortening.pruning import plan_pruning
from agent.context.shortening.trimming import shorten_turn
from agent.engine import meter, trim_if_needed
from agent.messages import AgentMessage, result_text
from agent.model.rules import find_violations
from agent.tokens import Factor, Limits
from tests.agent.conversations import COUNTER, TOOLS, assistant, call, image, message, result, user

LIMITS = Limits(16_000, 4_096, 16_000, Factor(1.0, 0))
LOG = "a line of the log that says nothing new\n" * 400  # 4,000 tokens


def turn(*contents: object, first: int = 1) -> list[AgentMessage]:
    """A prompt, and a round of one call for each content."""
    made = [user(first, "Look it all up, please.")]
    for number, content in enumerate(contents):
        at = first + 1 + 2 * number
        made.append(message(at, "assistant", [call(f"t{at}")]))
        made.append(message(at + 1, "user", [result(f"t{at}", content)]))
    return made


def send(messages: list[AgentMessage], limits: Limits = LIMITS, **values: object) -> Context:
    context = Context("claude-test", limits, messages=messages, tools=TOOLS, **values)
    return trim_if_needed(meter(context, COUNTER), COUNTER)


def test_the_newest_results_stay_longest_and_the_older_ones_name_their_message() -> None:
    assert plan_pruning(turn(LOG, LOG, LOG, LOG), 0, LIMITS, COUNTER) is None
    sent = send([user(1, "Hello."), assistant(2, "Hello."), *turn(LOG, LOG, LOG, LOG, first=3)])
    assert sent.shortened
    assert measure(sent, COUNTER).total <= LIMITS.request_limit
    sizes = [len(result_text(m.blocks[0])) for m in sent.messages if m.holds_tool_results]
    assert sizes[-1] == len(LOG)
    assert sizes == sorted(sizes)
    texts = [result_text(m.blocks[0]) for m in sent.messages if m.holds_tool_results]
    assert "message #5 has it whole" in texts[0]
    assert find_violations(assemble(sent).body()) == []


def test_what_fits_is_sent_as_it_is() -> None:
    context = Context("claude-test", LIMITS, messages=turn(LOG))
    assert shorten_turn(context, COUNTER, LIMITS.request_limit) is context
    assert send(turn(LOG)).messages == context.messages


def test_a_result_of_pictures_is_shortened_to_its_text() -> None:
    pictures = [{"type": "text", "text": "Six pages."}, *[image()] * 6]
    sent = send(turn(pictures, LOG, LOG))
    assert "Six pages." in str(sent.messages)
    assert measure(sent, COUNTER).total <= LIMITS.request_limit


def test_where_calls_alone_are_too_many_the_oldest_rounds_are_left_out_and_named() -> None:
    rounds = turn(*["ok"] * 900)
    sent = send(rounds)
    assert sent.messages[0] == rounds[0]
    assert "#2 to #" in str(sent.messages[1].blocks)
    assert sent.messages[-1] == rounds[-1]
    assert find_violations(assemble(sent).body()) == []


contents = st.one_of(
    st.builds(
        lambda n, unit: unit * n, st.integers(0, 40_000), st.sampled_from(["x", "word ", "日本"])
    ),
    st.just([image()] * 3),
)
results = st.lists(contents, min_size=1, max_size=8)


@given(st.lists(results, min_size=1, max_size=12), st.integers(16_000, 200_000), st.data())
@settings(max_examples=60)
def test_a_turn_whose_prompt_fits_gets_a_request_that_fits_whatever_its_tools_return(
    rounds: list[list[object]], window: int, data: st.DataObject
) -> None:
    limits = Limits(window, 8_192, min(window, 200_000), Factor(data.draw(st.floats(0.8, 2)), 0))
    made = [user(1, "Old."), assistant(2, "word " * 3_000), user(3, "Look it up.")]
    for number, found in enumerate(rounds):
        at = 4 + 2 * number
        ids = [f"t{at}-{n}" for n in range(len(found))]
        made.append(message(at, "assistant", [call(each) for each in ids]))
        answers = [result(each, content) for each, content in zip(ids, found, strict=True)]
        made.append(message(at + 1, "user", answers))
    pruned = data.draw(st.sampled_from([0, 7]))
    running = data.draw(st.booleans())
    if running:  # its prompt and the first round are summarised
        context = send(made[5:], limits, prompt=made[2], summary_through=5, pruned_through=pruned)
    else:
        context = send(made, limits, pruned_through=pruned)
    assert measure(context, COUNTER).total <= limits.request_limit
    request = assemble(replace(context, tools=TOOLS))
    assert find_violations(request.body()) == []
    assert "Look it up." in str(request.messages)
    event("shortened" if context.shortened else "whole")
    event("rounds left out" if context.omitted > 2 else "no round left out")
