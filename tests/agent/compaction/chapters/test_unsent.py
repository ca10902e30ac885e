"""What left the record is listed, whatever made it leave, and comes back into its range."""

from dataclasses import replace

from agent.compaction.chapters.chapter import Chapter, WrittenPart
from agent.compaction.chapters.merging import keep_own_work, select_statements
from agent.compaction.chapters.statements import list_statements
from agent.compaction.chapters.unsent import list_unsent, put_back_unsent
from agent.context.summary import CURRENT_WORK
from agent.messages import RawTokens
from tests.agent.conversations import COUNTER


def section(heading: str, *said: str) -> str:
    return "\n".join([f"## {heading}", *said])


def pears(tree: int) -> list[str]:
    return [f"- Pear tree {tree} gave {n} baskets in year {n} [#{10 * tree}]" for n in range(30)]


def record(trees: int) -> list[Chapter]:
    work = f"{CURRENT_WORK}\n- Prune tree {{}} next"
    return [
        Chapter(
            f"{section('Decisions', f'- Tree {n} stays [#{10 * n}]')}\n\n"
            f"{section('Facts and values', *pears(n))}\n\n{work.format(n)}",
            10 * n + 1,
            10 * n + 10,
        )
        for n in range(trees)
    ]


def texts(chapters: list[Chapter]) -> list[str]:
    return [each.text for chapter in chapters for each in list_statements(chapter.text)]


def test_what_a_merge_took_and_older_current_work_are_listed_with_their_parts() -> None:
    before = record(4)
    made, left = select_statements(before, RawTokens(900), COUNTER)
    listed = list_unsent(made)
    assert {*left} <= {each.statement.text for each in listed}
    assert sorted(each.statement.text for each in listed) == sorted(
        {*texts(before)} - {*texts(made)}
    )
    assert "- Prune tree 0 next" in {each.statement.text for each in listed}
    assert "- Prune tree 3 next" in texts(made)
    for each in listed:
        assert made[each.place].first <= each.first <= each.through <= made[each.place].through
    assert len({each.key for each in listed}) == len(listed)


def test_before_any_merge_only_the_older_current_work_is_not_sent() -> None:
    chapters = [*map(keep_own_work, record(2)), *record(3)[2:]]
    assert [each.statement.text for each in list_unsent(chapters)] == [
        "- Prune tree 0 next",
        "- Prune tree 1 next",
    ]
    *_, last = list_unsent(chapters)
    made = put_back_unsent(chapters, last)
    assert list_statements(made[1].text)[-1].heading == "## Facts and values"
    assert [each.statement.text for each in list_unsent(made)] == ["- Prune tree 0 next"]


def test_what_is_put_back_stands_under_its_heading_and_outlives_all_others() -> None:
    made, _ = select_statements(record(6), RawTokens(900), COUNTER)
    gone = next(
        each for each in list_unsent(made) if each.statement.heading == "## Facts and values"
    )
    back = put_back_unsent(made, gone)
    assert gone.statement in list_statements(back[gone.place].text)
    assert back[gone.place].own == (gone.statement.text,)
    assert [*back[gone.place].written] == [*made[gone.place].written]
    assert gone not in list_unsent(back)
    for _ in range(20):
        new = replace(record(1)[0], first=back[-1].through + 1, through=back[-1].through + 10)
        back, _ = select_statements([*map(keep_own_work, back), new], RawTokens(900), COUNTER)
        assert gone.statement.text in texts(back)


def test_what_was_cut_when_it_was_written_is_listed_too() -> None:
    whole = section("Decisions", "- Short [#1]", "- Cut [#2]")
    cut = Chapter(section("Decisions", "- Short [#1]"), 1, 4, parts=(WrittenPart(1, 4, whole),))
    (gone,) = list_unsent([cut])
    assert put_back_unsent([cut], gone)[0].text == whole
    assert list_unsent([replace(cut, gap=True)]) == []


def test_a_range_of_which_nothing_fitted_says_so_no_more() -> None:
    made, _ = select_statements(record(5), RawTokens(30), COUNTER)
    empty = next(place for place, each in enumerate(made) if not each.text.startswith("## "))
    back = put_back_unsent(made, next(each for each in list_unsent(made) if each.place == empty))
    assert "fits here" not in back[empty].text
