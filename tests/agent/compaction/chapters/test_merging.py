"""A merge selects what stays in the record, and rewrites nothing."""

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.merging import (
    FLOOR,
    FLOORS_SHARE,
    LEFT,
    RANGES,
    keep_own_work,
    select_statements,
)
from agent.compaction.chapters.rendering import render_summary
from agent.compaction.chapters.statements import (
    carry_over,
    edit_chapter,
    join_statements,
    list_statements,
)
from agent.compaction.chapters.unsent import list_sent, list_unsent
from agent.compaction.instructions.pins import Pin
from agent.compaction.policy import Policy
from agent.context.summary import CURRENT_WORK
from agent.messages import RawTokens
from agent.search.exact_values import IndexEntry, Weight
from agent.tokens import Factor, Limits
from tests.agent.conversations import COUNTER

FACTS = "## Facts and values"


def facts(number: int, many: int) -> list[str]:
    return [
        f"- Lamp {number}-{n} hangs in room {n} of house {number} [#{number}]" for n in range(many)
    ]


def chapter(number: int, *sections: str, **values: object) -> Chapter:
    return Chapter("\n\n".join(sections), 10 * number + 1, 10 * number + 10, **values)


def section(heading: str, *bullets: str) -> str:
    return "\n".join([f"## {heading}", *bullets])


count = cache(COUNTER.count)


def measure(chapters: Sequence[Chapter]) -> int:
    return sum(count(each.text) for each in chapters)


def lines(chapters: Sequence[Chapter]) -> list[str]:
    return [each.text for chapter in chapters for each in list_statements(chapter.text)]


def select(chapters: Sequence[Chapter], tokens: int) -> tuple[list[Chapter], list[str]]:
    return select_statements(chapters, RawTokens(tokens), COUNTER)


def test_what_fits_stays_as_it_is_however_many_chapters_there_are() -> None:
    chapters = [chapter(n, section("Decisions", f"- Lamp {n} is red [#1]")) for n in range(60)]
    assert select(chapters, measure(chapters)) == (chapters, [])


def test_a_merge_keeps_words_citations_pins_and_what_was_written() -> None:
    pin, entry = Pin(1, "Be brief."), IndexEntry("8443", 1, "the port")
    chapters = [
        chapter(n, section("Facts and values", *facts(n, 40)), pins=(pin,), index=(entry,))
        for n in range(4)
    ]
    before = lines(chapters)
    made, left = select(chapters, measure(chapters) // 2)
    assert [(c.first, c.through, c.pins, c.index) for c in made] == [
        (c.first, c.through, c.pins, c.index) for c in chapters
    ]
    assert sorted(lines(made) + left) == sorted(before)
    assert [part.text for c in made for part in c.written] == [c.text for c in chapters]
    assert made[-1] == chapters[-1], "the newest gives way last"
    again, _ = select(made, measure(made))
    assert again == made


def test_what_no_longer_holds_is_done_or_said_twice_goes_first() -> None:
    spent = [
        "- Photos go to disk A4 [#1]",
        "- Done: the roof is mended [#2]",
        "- The gate is green [#3]",
    ]
    first = chapter(
        0,
        section("Decisions", spent[0], "- Mails go to disk C [#1]"),
        section("Progress", spent[1], "- Pending: paint the fence [#2]"),
        section("Facts and values", spent[2], *facts(0, 10)),
    )
    second = chapter(
        1,
        section("Decisions", "- Replaced: photos on disk A4 → disk B7 [#1 #12]"),
        section("Facts and values", "- The gate is green [#14]", *facts(1, 10)),
    )
    last = chapter(2, section("Facts and values", *facts(2, 10)))
    made, left = select([first, second, last], measure([first, second, last]) - 1)
    assert left[:3] == spent
    assert "- Replaced: photos on disk A4 → disk B7 [#1 #12]" in lines(made)
    assert "- Mails go to disk C [#1]" in lines(made), "it only shares the message"


def test_what_stands_under_a_bullet_never_stays_without_it() -> None:
    def nested(number: int) -> str:
        below = [f"  - Lamp {number}-{n} costs {n} € [#{number}]" for n in range(8)]
        deep = [f"    - Room {number} has two [#{number}]"]
        return section("Facts and values", "- Rejected:", *below, *deep, *facts(number, 8))

    chapters = [chapter(n, nested(n)) for n in range(6)]
    for tokens in range(measure(chapters), 0, -measure(chapters) // 20):
        made, left = select(chapters, tokens)
        assert len(lines(made)) + len(left) >= len(lines(chapters))
        for each in made:
            said = each.text.splitlines()
            below = [n for n, line in enumerate(said) if line.startswith("  ")]
            assert all(said[n - 1].startswith(("  ", "- Rejected:")) for n in below)


def test_decisions_and_goals_outlive_values_plain_facts_and_prose() -> None:
    kinds = [
        "Overview",
        "Facts and values",
        "Facts and values",
        "Decisions",
        "Goal and constraints",
    ]
    said = [
        "It was about lamp {}.",
        "- Lamp {} is old",
        "- It costs 1{} €",
        "- Buy {}",
        "- Only {}",
    ]
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    bullets = [[f"{text.format(word)} [#1]" for text in said] for word in words]
    old = [
        chapter(n, *(section(kind, text) for kind, text in zip(kinds, texts, strict=True)))
        for n, texts in enumerate(bullets)
    ]
    chapters = [*old, chapter(8, section("Facts and values", *facts(8, 3)))]
    made, left = select(chapters, measure(chapters) * 9 // 10)
    assert {texts[0] for texts in bullets} <= set(left)
    assert {text for texts in bullets for text in texts[3:]} <= set(lines(made))


def test_a_persons_statement_outlives_everything_else_word_for_word() -> None:
    own = "- The gate is teal, not green: I painted it myself [#3]"
    chapters = [
        chapter(n, section("Facts and values", *([own] if n == 0 else []), *facts(n, 30)))
        for n in range(3)
    ]
    chapters[0] = replace(chapters[0], own=(own,))
    for _ in range(30):
        chapters.append(chapter(len(chapters), section("Facts and values", *facts(99, 30))))
        chapters, _ = select(chapters, 900)
        assert measure(chapters) <= 900
        assert own in lines(chapters)
        assert [o for c in chapters for o in c.own] == [own]


def test_what_a_person_wrote_of_the_current_work_stays_when_another_chapter_follows() -> None:
    text = f"## Decisions\n- A [#1]\n\n{CURRENT_WORK}\n- Call Ada\n- Call Bo, not Cy"
    last = replace(chapter(1, text), own=("- Call Bo, not Cy",))
    summary = render_summary(
        [keep_own_work(last), chapter(2, f"{CURRENT_WORK}\n- Rest")],
        pin_tokens=RawTokens(9),
        index_tokens=RawTokens(9),
        counter=COUNTER,
    )
    assert "- Call Bo, not Cy" in summary.chapters[0]
    assert "- Call Ada" not in summary.text
    assert keep_own_work(replace(last, own=())) == replace(last, own=())


def test_a_gap_is_neither_joined_nor_cut() -> None:
    gap = replace(chapter(3, "Written again soon."), gap=True)
    chapters = [chapter(n, section("Facts and values", *facts(n, 20))) for n in range(30)]
    chapters[3] = gap
    made, _ = select(chapters, 1_500)
    assert gap in made
    assert measure(made) <= 1_500


# --- Over a long life -----------------------------------------------------------------------------


def test_what_a_user_settled_outlives_other_decisions_whatever_it_stands_under() -> None:
    said = "- The gate code is 4417 [#3]"
    index = (IndexEntry("4417", 3, "The gate code is 4417.", Weight.STATED),)
    first = chapter(0, section("Facts and values", *facts(0, 20), said, *facts(5, 20)), index=index)
    chapters = [first, *(chapter(n, section("Facts and values", *facts(n, 40))) for n in (1, 2, 3))]
    made, left = select(chapters, 600)
    assert said in lines(made)
    made, left = select([replace(first, index=()), *chapters[1:]], 600)
    assert said in left


LIVES = st.tuples(
    st.sampled_from([8_000, 12_000, 16_000, 34_000, 64_000, 200_000, 1_000_000]),
    st.sampled_from([1.0, 1.5]),
    st.floats(0.3, 2.0),
    st.randoms(use_true_random=False),
)


@settings(max_examples=3, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(LIVES)
@example((8_000, 1.5, 2.0, random.Random(1)))
@example((34_000, 1.0, 1.4, random.Random(2)))
@example((1_000_000, 1.0, 0.3, random.Random(3)))
def test_over_many_compactions_no_range_is_empty_nothing_is_rewritten_and_the_prefix_holds(
    life: tuple[int, float, float, random.Random],
) -> None:
    """Where each of the model's chapters has `length` times the size that was asked for: of 200
    compactions nothing goes but what is listed, and all that was written stays as it was."""
    budget, factor, length, chance = life
    limits = Limits(budget, 8_000, budget, Factor(factor, 0))
    policy = Policy()
    total = limits.factor.raw(policy.total_tokens(limits))
    floor = min(FLOOR, int(FLOORS_SHARE * total / RANGES))
    words = max(1, min(12, total // 400))  # of a statement: few large ones are checked sooner
    chapters: list[Chapter] = []
    written: set[str] = set()
    gone: set[str] = set()
    own: list[str] = []
    merges = 0
    for number in range(200):
        real = limits.factor.apply(RawTokens(measure(chapters)))
        asked = limits.factor.raw(policy.chapter_tokens(limits, real) * length)
        bullets: list[str] = []
        while not bullets or sum(map(count, bullets)) < asked - 30:
            place = f"{number}-{len(bullets)}"
            bullets.append(f"- Lamp {place} hangs in {'a hall of ' * words}{place} [#{number}]")
        work = f"- Lamp {number} comes next"
        written |= {*bullets, work}
        new = chapter(
            number,
            section(chance.choice(["Decisions", "Facts and values"]), *bullets),
            f"{CURRENT_WORK}\n{work}",
        )
        if chance.random() < 0.03 and len(own) < 3:
            own.append(bullets[0])
            new = replace(new, own=(bullets[0],))
        before = [*map(keep_own_work, chapters), new]
        chapters, left = select(before, total)
        gone |= {*left, *(f"- Lamp {number - 1} comes next" for _ in range(number and 1))}
        assert measure(chapters) <= total
        assert not gone & {each for n in range(len(chapters)) for each in sent(chapters, n)}
        assert [part for c in chapters for part in c.written] == [
            p for c in before for p in c.written
        ]
        assert chapters[0].first == 1
        assert all(a.through + 1 == b.first for a, b in zip(chapters, chapters[1:], strict=False))
        if not left:
            assert chapters[:-1] == before[:-1], "only a merge changes the bytes before"
            continue
        merges += 1
        assert chapters[-1] == new or measure(chapters[:-1]) <= 1.05 * LEFT * total
        for each in chapters[:-1]:
            had = sum(count(part.text) for part in each.written)
            longest = max(count(said) for said in lines([each])) + 1
            assert count(each.text) > 0.75 * min(had, floor) - longest  # parts count more
    assert len(chapters) <= max(RANGES, int(FLOORS_SHARE * total / floor)) + 60
    kept = {each for n in range(len(chapters)) for each in sent(chapters, n)}
    assert {*own} <= kept
    assert kept | gone == written
    assert {each.statement.text for each in list_unsent(chapters)} == gone
    assert merges > 5


def sent(chapters: Sequence[Chapter], place: int) -> list[str]:
    return [each.text for each in list_sent(chapters, place)]


# --- Statements -----------------------------------------------------------------------------------

TEXTS = [
    "- A\n  goes on\n- B",
    "Free text.\n\nMore.\n\n## Decisions\n- A\n\nA paragraph.\n```\n## no heading\n\n- no\n```",
    "## A\nNone.\n## B\n| a |\n|---|\n| 1 |\n\n- x",
    "\n\n## A\n\n1. one\n2. two\n   - three",
]


@pytest.mark.parametrize("text", TEXTS)
def test_statements_come_back_as_they_were(text: str) -> None:
    said = list_statements(text)
    assert list_statements(join_statements(said)) == said
    assert all(each.text in text for each in said)


def test_an_edit_of_what_was_selected_reaches_what_was_written() -> None:
    written = [
        "## Decisions\n- A1\n- A2\n\n## Facts and values\n- A3",
        "## Decisions\n- B1\n- B2",
    ]
    before = list_statements("## Decisions\n- A1\n- B1\n- B2\n\n## Facts and values\n- A3")
    after = list_statements(
        "## Decisions\n- A1 corrected\n- B1\n- new\n\n## Facts and values\n- A3"
    )
    assert carry_over(written, before, after) == [
        "## Decisions\n- A1 corrected\n- A2\n\n## Facts and values\n- A3",
        "## Decisions\n- B1\n- new",
    ]
    assert carry_over(["## A\n- a"], list_statements("- b"), list_statements("- c\n- b")) == [
        "- c\n\n## A\n- a"
    ]


def test_an_edited_chapter_keeps_what_the_record_had_left_and_knows_whose_words_are_new() -> None:
    first = chapter(0, section("Facts and values", *facts(0, 30)))
    second = chapter(1, section("Facts and values", *facts(1, 30)))
    (small, _, _), left = select([first, second, chapter(2, "- C")], 500)
    assert small.parts
    kept = lines([small])
    text = small.text.replace(kept[0], "- Mine [#1]").replace(kept[-1], "")
    edited = edit_chapter(small, text)
    assert edited.own == ("- Mine [#1]",)
    (part,) = edited.written
    said = [each.text for each in list_statements(part.text)]
    assert "- Mine [#1]" in said
    assert not {kept[0], kept[-1]} & {*said}
    assert {each for each in left if each in lines([first])} <= {*said}
    assert edit_chapter(edited, edited.text) == edited
    nothing = edit_chapter(edited, "Only this.")
    assert nothing.own == ("Only this.",)
    assert "Only this." in nothing.written[0].text
