"""Statements that cite the neighbour of the message that bears them out."""

from collections.abc import Sequence

import pytest

from agent.audit.audit import audit
from agent.audit.citations import mend_citations
from agent.audit.evidence import UNVERIFIED, Source
from agent.messages import AgentMessage
from tests.agent.conversations import assistant, image, message, text, user

ROOMS = ("attic", "cellar", "kitchen", "study", "nursery", "workshop", "pantry", "library", "barn")
WORKS = ("plaster", "floor", "window", "heating", "wiring", "roof", "staircase", "door", "chimney")
PEOPLE = ("Marta", "Olek", "Ines", "Bruno", "Tilda", "Ravi", "Salome", "Edgar", "Noor", "Piet")
JOBS = [(room, work) for room in (*ROOMS, "stable") for work in (*WORKS, "gutter")]


def is_marked(bullet: str, source: Source, heading: str = "Facts and values") -> bool:
    """Marked or dropped."""
    return bool(stored(bullet, source, heading) == "None." or UNVERIFIED in stored(bullet, source))


def stored(bullet: str, source: Source, heading: str = "Facts and values") -> str:
    kept, _ = audit(f"## {heading}\n- {bullet}", source)
    return kept.splitlines()[-1].removeprefix("- ")


def write_work() -> tuple[list[AgentMessage], list[str]]:
    """A hundred jobs, each asked for by the user and answered with a figure; and a true statement
    of each answer, without its number."""
    messages, statements = [], []
    for n, (room, work) in enumerate(JOBS):
        person, price = PEOPLE[(n * 7) % 10], 200 + 13 * n
        code = f"RB-{n + 11}-{(n * 37) % 900 + 100}"
        messages.append(user(2 * n + 1, f"Who does the {work} of the {room}, and for how much?"))
        answer = f"{person} repairs the {work} of the {room} for {price} euros, order {code}."
        messages.append(assistant(2 * n + 2, answer))
        statements.append(f"The {work} in the {room}: repaired by {person}, {price} EUR, {code}")
    return messages, statements


@pytest.mark.parametrize("off", [-3, -2, -1, 1, 2, 3])
def test_of_a_hundred_true_statements_that_cite_a_neighbour_none_is_marked(off: int) -> None:
    messages, statements = write_work()
    source = Source(messages)
    for n, statement in enumerate(statements):
        cited = min(max(2 * n + 2 + off, 1), 200)
        kept = stored(f"{statement} [#{cited}]", source)
        assert UNVERIFIED not in kept
        assert f"[#{2 * n + 2}]" in kept


@pytest.mark.parametrize("off", [-1, 0, 1])
def test_of_a_hundred_lies_none_finds_a_message(off: int) -> None:
    """Each is a true statement but for one thing, which another message says of something else."""
    messages, statements = write_work()
    source = Source(messages)
    for n, statement in enumerate(statements):
        other = statements[(n + 31) % 100]
        for part in (1, 2):  # price, order
            old, new = statement.split(", ")[part], other.split(", ")[part]
            lie = f"{statement.replace(old, new)} [#{min(max(2 * n + 2 + off, 1), 200)}]"
            assert is_marked(lie, source), lie


def exchange(*texts: str) -> Source:
    return Source([(user if n % 2 else assistant)(n, said) for n, said in enumerate(texts, 1)])


DEPOSIT = exchange(
    "Where is the boat moored?",
    "The boat is moored in the northern harbour of Skagen.",
    "What does the mooring there cost me a month?",
    "The mooring in the harbour costs 310 euros a month.",
    "And the insurance?",
    "The insurance of the boat costs 95 euros a month.",
)


@pytest.mark.parametrize(
    ("statement", "cited", "right"),
    [
        ("The mooring in the harbour costs 310 EUR a month", "[#3]", "[#4]"),
        ("The boat is moored in the northern harbour of Skagen", "[#6]", "[#2]"),
        ("The mooring in the harbour costs 310 EUR a month", "[#1 #5]", "[#4]"),
        ("The mooring in the harbour of Skagen costs 310 EUR a month", "[#2 #3]", "[#2 #4]"),
        ("The mooring in the harbour costs 310 EUR a month", "[#5–#6]", "[#4"),
        ("The mooring in the harbour costs 310 EUR a month", "[#77]", "[#4]"),
    ],
)
def test_the_number_of_the_message_that_says_it_takes_the_others_place(
    statement: str, cited: str, right: str
) -> None:
    assert right in stored(f"{statement} {cited}", DEPOSIT)
    assert UNVERIFIED not in stored(f"{statement} {cited}", DEPOSIT)


@pytest.mark.parametrize(
    ("statement", "cited"),
    [
        ("The mooring in the harbour costs 310 EUR a month", "[#4]"),  # as it should be
        ("The mooring in the harbour costs 310 EUR a month", "[#3–#4]"),
        ("The insurance of the boat costs 310 EUR a month", "[#6]"),  # a value from elsewhere
        ("The mooring in Lisbon costs 310 EUR a month", "[#3]"),  # a name that is nowhere
        ("The boat is fine", "[#1]"),
        ("Replaced: The mooring costs 290 EUR → it costs 310 EUR", "[#3]"),
    ],
)
def test_what_the_words_do_not_decide_keeps_its_number(statement: str, cited: str) -> None:
    line = f"- {statement} {cited}"
    assert mend_citations(line, DEPOSIT, "facts and values") == line


def test_two_messages_that_say_it_equally_decide_nothing() -> None:
    said = "The gate code of the yard is 7741."
    source = exchange(said, "Understood.", "Is it raining?", "No.", said)
    line = "- The gate code of the yard is 7741 [#3]"
    assert mend_citations(line, source, "facts and values") == line


def test_the_nearer_one_of_two_messages_counts() -> None:
    said = "The gate code of the yard is 7741."
    source = exchange(said, "No.", "Is it raining?", "No.", "Yes?", "No.", "Why?", said)
    assert "[#8]" in stored("The gate code of the yard is 7741 [#7]", source)


def test_of_a_prompt_and_the_answer_that_repeats_it_the_nearer_one_counts() -> None:
    said = "The gate code of the yard is 7741."
    source = exchange(said, f"Noted: {said}", "Is it raining?", "No.", "Why?", "It is not.")
    assert "[#2]" in stored("The gate code of the yard is 7741 [#5]", source)


def test_a_prompt_and_its_reply_may_say_it_together() -> None:
    source = exchange("What does Henrike want for the old piano?", "She wants 850 euros.")
    kept = stored("Henrike wants 850 EUR for the old piano [#2]", source)
    assert kept == "Henrike wants 850 EUR for the old piano [#1 #2]"


def test_a_denial_finds_no_message_that_affirms_it() -> None:
    assert is_marked("The boat is not moored in the northern harbour of Skagen [#1]", DEPOSIT)


def test_a_goal_is_looked_for_in_what_the_user_typed() -> None:
    source = exchange(
        "Hello",
        "Hi!",
        "The brochure must have 24 pages in A5 format.",
        "Noted: 24 pages, A5 format.",
    )
    wish = "The brochure has 24 pages in A5 format [#2]"
    assert "[#3]" in stored(wish, source, "Goal and constraints")


def test_what_a_picture_may_say_keeps_its_number() -> None:
    source = Source(
        [
            user(1, "The mooring costs 310 euros a month, says the harbour."),
            message(2, "user", [image(), text("And this?")]),
        ]
    )
    line = "- The mooring costs 310 EUR a month, says the harbour [#2]"
    assert mend_citations(line, source, "facts and values") == line


@pytest.mark.parametrize(
    ("texts", "statement", "right"),
    [
        (
            [
                "Guten Tag",
                "Hallo!",
                "Wie hoch ist die Miete?",
                "Die Miete der Halle beträgt 1.240 Euro.",
            ],
            "Die Miete der Halle: 1240 EUR [#3]",
            4,
        ),
        (
            ["你好", "你好！", "仓库的租金是每月一千二百元。", "好的。"],
            "仓库租金每月1200元 [#2]",
            3,
        ),
        (
            ["Привет", "Здравствуйте!", "Сколько стоит аренда?", "Аренда склада стоит 1240 евро."],
            "Аренда склада стоит 1240 евро [#1]",
            4,
        ),
        (
            ["مرحبا", "أهلا", "إيجار المخزن 1240 يورو في الشهر", "حسنا"],
            "إيجار المخزن ١٢٤٠ يورو [#4]",
            3,
        ),
    ],
)
def test_it_holds_for_other_languages(texts: Sequence[str], statement: str, right: int) -> None:
    kept = stored(statement, exchange(*texts))
    assert f"[#{right}]" in kept
    assert UNVERIFIED not in kept


def test_an_earlier_chapter_s_statement_is_a_place_too() -> None:
    earlier = "## Facts and values\n- The mooring in the harbour costs 310 EUR a month [#4]"
    source = Source([user(21, "Go on."), assistant(22, "Gladly.")], earlier)
    kept = stored("The mooring in the harbour costs 310 EUR a month [#22]", source)
    assert kept.endswith("[#4]")
