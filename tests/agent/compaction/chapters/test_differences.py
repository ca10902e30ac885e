"""What a summary that was written again says otherwise."""

from hypothesis import given
from hypothesis import strategies as st

from agent.compaction.chapters.differences import (
    Change,
    ChangedSection,
    compare_summaries,
    count_changes,
)

OLD = """**Messages #1 to #8**

## Decisions
- The queue is Redis [#3]
- Bookings are never retried [#5]
- The launch is on 12 March [#8]
## Facts and values
- The limit is 100 calls a minute [#6]
## Open questions
None.

* * *

# Standing instructions of the user
- Answer in English. [#1]"""
NEW = """**Messages #1 to #8**

## Decisions
- The queue is Redis [#3]
- The launch is on 14 March [#8]
- Ada owns the dead-letter queue [#7]
## Facts and values
- The limit is 100 calls a minute [#6]
## Open questions
None.

* * *

# Standing instructions of the user
- Answer in English. [#1]"""


def tell(sections: list[ChangedSection]) -> list[tuple[str, str, str]]:
    """Each line by its heading, what became of it, and its words with [-dropped-] and {+added+}."""
    marks = {Change.DROPPED: "[-{}-]", Change.ADDED: "{{+{}+}}"}
    return [
        (
            section.heading,
            line.change.value,
            "".join(marks.get(p.change, "{}").format(p.text) for p in line.pieces),
        )
        for section in sections
        for line in section.lines
    ]


def test_statements_are_kept_changed_added_and_dropped() -> None:
    found = compare_summaries(OLD, NEW)
    assert tell(found) == [
        ("Decisions", "kept", "The queue is Redis [#3]"),
        ("Decisions", "changed", "The launch is on [-12 -]{+14 +}March [#8]"),
        ("Decisions", "added", "{+Ada owns the dead-letter queue [#7]+}"),
        ("Decisions", "dropped", "[-Bookings are never retried [#5]-]"),
        ("Facts and values", "kept", "The limit is 100 calls a minute [#6]"),
        ("Standing instructions of the user", "kept", "Answer in English. [#1]"),
    ]
    assert {section.chapter for section in found} == {"Messages #1 to #8", ""}
    assert count_changes(found) == {"kept": 3, "changed": 1, "added": 1, "dropped": 1}


def test_a_chapter_that_says_its_days_is_the_same_one() -> None:
    dated = NEW.replace("#8**", "#8 (12–14 March 2026)**")
    assert tell(compare_summaries(OLD, dated)) == tell(compare_summaries(OLD, NEW))


def test_what_stands_elsewhere_now_is_kept() -> None:
    old = "## Done\n- It works [#2]\n## Open\n- Who pays? [#3]"
    new = "## Open\n- It works [#2]\n- Who pays? [#3]"
    assert [change for _, change, _ in tell(compare_summaries(old, new))] == ["kept", "kept"]


def test_code_is_one_statement_and_a_list_in_it_is_none() -> None:
    code = "Run this:\n\n```sh\n- not a bullet\n## no heading\n```"
    found = compare_summaries("", f"## Files\n{code}\n- And this [#1]")
    assert [words for _, _, words in tell(found)] == [
        "{+Run this:+}",
        "{+```sh\n- not a bullet\n## no heading\n```+}",
        "{+And this [#1]+}",
    ]


texts = st.text(alphabet="ab #-*`\n.", max_size=80)


@given(old=texts, new=texts)
def test_both_texts_can_be_told_from_the_comparison(old: str, new: str) -> None:
    """Without what was added it says what the old text says, without what was dropped the new."""
    lines = [line for section in compare_summaries(old, new) for line in section.lines]

    def without(change: Change) -> list[str]:
        left = [[p.text for p in line.pieces if p.change != change] for line in lines]
        return sorted("".join("".join(pieces).split()) for pieces in left if pieces)

    def said(text: str) -> list[str]:
        found = (line for each in compare_summaries(text, text) for line in each.lines)
        return sorted("".join("".join(p.text for p in line.pieces).split()) for line in found)

    assert without(Change.ADDED) == said(old)
    assert without(Change.DROPPED) == said(new)


def test_a_summary_is_no_different_from_itself() -> None:
    assert set(count_changes(compare_summaries(OLD, OLD))) == set(Change)
    assert count_changes(compare_summaries(OLD, OLD))[Change.KEPT] == 5


def test_what_has_too_many_words_in_common_is_not_compared_for_long() -> None:
    old, new = ("\n".join(f"- {mark} {'a ' * 2_000}{n}" for n in range(20)) for mark in "xy")
    assert count_changes(compare_summaries(old, new))[Change.ADDED] > 15
