"""Handles by which a model tells messages without numbers."""

import re
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.compaction.writing.handles import OPENING, READ, find_handles
from agent.compaction.writing.summary_requests import render_outline_line
from agent.messages import AgentMessage
from tests.agent.conversations import COUNTER, assistant, call, message, result, user

PLACE = re.compile(r" \(\d+ of \d+\)$")


def handles_of(*texts: str) -> list[str]:
    messages = [user(number, text) for number, text in enumerate(texts, 1)]
    found = find_handles(messages)
    return [found[message.number] for message in messages]


def test_a_message_is_told_by_its_opening_to_the_end_of_a_word() -> None:
    (handle,) = handles_of("We should paint the veranda before the first guests arrive in May.")
    assert handle == "We should paint the veranda before…"
    assert handles_of("Fine.") == ["Fine."]


def test_what_begins_alike_is_shown_as_far_as_it_differs() -> None:
    same = "Please look at the third window of the"
    one, other = handles_of(f"{same} kitchen, it leaks.", f"{same} nursery, it leaks.")
    assert (one, other) == (f"{same} kitchen…", f"{same} nursery…")


def test_of_a_long_shared_beginning_the_difference_is_shown() -> None:
    command = "run in /srv/checkout/services/billing all the tests of the module {}.py quietly"
    handles = handles_of(*(command.format(f"test_{name}") for name in ("rates", "dunning", "vat")))
    assert handles == [
        "run…test_rates.py…",
        "run…test_dunning…",
        "run…test_vat.py quietly",
    ]


def test_the_same_words_are_counted_for_each_role() -> None:
    messages = [user(1, "Yes"), assistant(2, "Yes"), user(3, "Go on"), user(5, "Yes")]
    assert dict(find_handles(messages)) == {
        1: "Yes (1 of 2)",
        2: "Yes",
        3: "Go on",
        5: "Yes (2 of 2)",
    }


def test_a_message_that_another_one_goes_on_from_is_whole() -> None:
    assert handles_of("ok", "ok then, paint it") == ["ok", "ok then, paint it"]


def test_scripts_without_spaces_are_cut_at_a_character() -> None:
    (handle,) = handles_of("請把報告翻譯成中文" * 9)
    assert handle == f"{('請把報告翻譯成中文' * 9)[:OPENING]}…"


@given(
    st.lists(
        st.text(alphabet="ab .", max_size=40)
        | st.sampled_from(["x" * 90 + "1", "x" * 90 + "2 end", "x" * READ + "3", "ok"]),
        max_size=30,
    )
)
def test_no_two_messages_have_one_handle(texts: Sequence[str]) -> None:
    handles = handles_of(*texts)
    assert len(set(handles)) == len(handles)
    flat = [" ".join(text.split()) for text in texts]
    for text, handle in zip(flat, handles, strict=True):
        assert text.startswith(PLACE.sub("", handle).split("…")[0])


def agent_work(count: int) -> list[AgentMessage]:
    """Calls that differ only far behind, and results that mostly say the same."""
    dice = Random(28)
    messages: list[AgentMessage] = []
    for number in range(1, count, 2):
        path = f"src/{dice.choice('abc')}/part_{dice.randrange(90)}.py"
        lint = call(str(number), "bash", command=f"cd /srv/project && lint {path}")
        messages.append(message(number, "assistant", [lint]))
        said = f"{'=' * 70}\nchecked {path}: {dice.choice(['fine', '2 faults'])}"
        messages.append(message(number + 1, "user", [result(str(number), said)]))
    return messages


@pytest.mark.parametrize("count", [50, 200])
def test_an_outline_of_agent_work_is_unique_and_takes_twenty_tokens_a_line(count: int) -> None:
    messages = agent_work(count)
    handles = find_handles(messages)
    lines = [render_outline_line(each, handles[each.number]) for each in messages]
    assert len({line.partition(" ")[2] for line in lines}) == len(lines)
    assert COUNTER.count("\n".join(lines)) <= 20.5 * count
