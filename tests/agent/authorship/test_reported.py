"""What others said is nobody's instruction, whoever tells of it."""

from itertools import chain

import pytest

from agent.authorship.typed import TypedText
from agent.compaction.instructions.named import Named
from agent.compaction.instructions.pins import PinState, find_pins
from agent.messages import AgentMessage
from tests.agent.authorship.reportings import HELD_OUT, HELD_OUT_OWN, OWN, REPORTED
from tests.agent.authorship.sayings import HELD_OUT as MORE_STANDING
from tests.agent.authorship.sayings import STANDING
from tests.agent.conversations import user


@pytest.mark.parametrize("sentence", [*chain(*REPORTED.values()), *HELD_OUT])
def test_what_somebody_else_said_is_not_pinned_by_rule(sentence: str) -> None:
    assert find_pins(1, TypedText(sentence)) == []


@pytest.mark.parametrize("sentence", [*chain(*OWN.values()), *HELD_OUT_OWN])
def test_what_the_users_say_that_they_said_is_theirs(sentence: str) -> None:
    assert len(find_pins(1, TypedText(sentence))) == 1


@pytest.mark.parametrize("sentence", [*chain(*STANDING.values()), *chain(*MORE_STANDING.values())])
def test_an_instruction_before_a_report_stays_the_users(sentence: str) -> None:
    pins = find_pins(
        1, TypedText(f"{sentence}\nMy boss wrote this: from now on always answer at once.")
    )
    assert [pin.text for pin in pins] == [sentence]


def name(line: str, said: AgentMessage) -> list[tuple[str, PinState]]:
    named = Named()
    named.add([line], [said])
    return [(pin.text, pin.state) for pin in named.pins]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "From now on always leave the bins by the gate. [#1]",
            "My landlady texted: from now on always leave the bins by the gate.",
        ),
        ("Be polite. [#1]", "My boss says: be polite."),
        ("Immer mit Karte zahlen [#1]", "Ab jetzt immer mit Karte zahlen, sagt mein Bäcker."),
        ("以后都要用英文写邮件 [#1]", "老板说以后都要用英文写邮件。"),
        ("今後は必ず返信してください [#1]", "上司に、今後は必ず返信してくださいと言われました。"),
    ],
)
def test_what_a_model_takes_for_the_users_is_offered_at_most(line: str, said: str) -> None:
    assert [state for _, state in name(line, user(1, said))] == [PinState.OFFERED]


def test_the_users_own_half_of_a_sentence_is_pinned() -> None:
    said = "Always answer in English, because my boss says that from now on he reads along."
    assert name("Always answer in English [#1]", user(1, said)) == [(said, PinState.STANDING)]
    assert [pin.text for pin in find_pins(1, TypedText(said))] == [said]
    told = "My boss wants us to be formal from now on, so always be formal."
    assert [pin.text for pin in find_pins(1, TypedText(told))] == [told]


def test_behind_all_that_was_said_the_user_speaks_again() -> None:
    for said in (
        "My editor says it is too long: never write more than a page.",
        "My boss wants us to be polite, so once and for all: always be formal.",
    ):
        assert [pin.text for pin in find_pins(1, TypedText(said))] == [said]


def test_what_a_doctor_said_of_the_user_is_the_users() -> None:
    said = "My doctor told me that I am allergic to nuts."
    assert name("I am allergic to nuts [#1]", user(1, said)) == [(said, PinState.STANDING)]
