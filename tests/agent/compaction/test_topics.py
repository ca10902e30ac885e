"""The recent messages begin with their topic, where code can see it begin."""

from dataclasses import replace

import pytest

from agent.compaction.plan import Plan, plan_compaction
from agent.compaction.policy import Policy, Trigger
from agent.compaction.topics import PAUSE, find_topic_start
from agent.messages import AgentMessage
from agent.tokens import Factor, Limits
from tests.agent.conversations import assistant, call, message, result, text, user

LIMITS = Limits(window=200_000, max_output=16_000, budget=200_000, factor=Factor(1.0, 0))
POLICY = Policy(keep_recent_tokens=2_000)
TOPICS = {
    "English": (
        "The bread dough needs more flour and yeast before the oven is hot.",
        "Our train to Vienna leaves the station at platform nine in the morning.",
    ),
    "German": (
        "Der Brotteig braucht mehr Mehl und Hefe, bevor der Ofen heiß ist.",
        "Unser Zug nach Wien fährt morgens am Bahnhof von Gleis neun ab.",
    ),
    "Japanese": (
        "パン生地にはもっと小麦粉と酵母が必要です。",
        "ウィーン行きの列車は朝九番線から出発します。",
    ),
    "Thai": ("แป้งขนมปังต้องใส่ยีสต์เพิ่ม", "รถไฟไปเวียนนาออกจากชานชาลาเก้า"),
}


def talk(*words: str) -> list[AgentMessage]:
    """An exchange of 200 tokens for each."""
    return [
        each
        for n, said in enumerate(words)
        for each in (user(2 * n + 1, said, 100), assistant(2 * n + 2, said, 100))
    ]


def kept(
    messages: list[AgentMessage], policy: Policy = POLICY, trigger: Trigger = Trigger.AUTO
) -> int:
    """How many messages are kept; all are in one of the two parts."""
    made = plan_compaction(messages, policy, LIMITS, fixed=0, trigger=trigger)
    assert isinstance(made, Plan)
    assert [*made.summarise, *made.keep] == messages
    return len(made.keep)


def paused(messages: list[AgentMessage], *pauses: tuple[int, float]) -> list[AgentMessage]:
    """A minute between two messages; before some, by their index, so many seconds more."""
    extra = dict(pauses)
    at, timed = 1_000_000.0, []
    for index, each in enumerate(messages):
        at += 60 + extra.get(index, 0)
        timed.append(replace(each, at=at))
    return timed


@pytest.mark.parametrize("language", TOPICS)
def test_the_recent_messages_begin_where_the_words_change(language: str) -> None:
    one, other = TOPICS[language]
    assert kept(talk(*[one] * 20)) == 20
    assert kept(talk(*[one] * 13, *[other] * 7)) == 14


def test_it_begins_after_the_longest_pause_whatever_the_words() -> None:
    one, other = TOPICS["English"]
    history = talk(*[one] * 13, *[other] * 7)
    assert kept(paused(history, (24, 2 * PAUSE), (28, PAUSE))) == 16
    assert kept(paused(history, (24, PAUSE / 2))) == 14


@pytest.mark.parametrize(
    ("index", "stays"),
    [
        (18, 20),  # before what the budget keeps
        (20, 20),
        (21, 20),  # before an answer
        (30, 10),
        (32, 20),  # less than half would stay
    ],
)
def test_it_keeps_at_most_its_budget_and_at_least_half_of_it(index: int, stays: int) -> None:
    assert kept(paused(talk(*["Go on."] * 20), (index, 10 * PAUSE))) == stays


def test_it_keeps_as_many_messages_as_the_user_wants() -> None:
    history = paused(talk(*["Go on."] * 20), (32, 10 * PAUSE))
    assert kept(history, replace(POLICY, keep_recent_messages=12, keep_recent_tokens=0)) == 12


def test_a_person_who_compacts_keeps_the_topic_too() -> None:
    history = paused(talk(*["Go on."] * 20), (34, 10 * PAUSE))
    assert kept(history, trigger=Trigger.MANUAL) == 6


def test_no_call_is_separated_from_its_result_by_a_topic() -> None:
    """A user's word may stand beside the results."""
    history = talk(*["Go on."] * 20)
    history[25] = message(26, "assistant", [text("Go on."), call("t")], 100)
    history[26] = message(27, "user", [result("t"), text("Go on.")], 100)
    assert kept(paused(history, (26, 10 * PAUSE))) == 20


def test_where_nothing_stands_out_nothing_is_found() -> None:
    history = talk(*["Go on."] * 20)
    assert find_topic_start(history, range(0, 40, 2)) is None
    assert find_topic_start(history, [20]) is None
    assert find_topic_start([message(n, "user", []) for n in range(9)], range(9)) is None
