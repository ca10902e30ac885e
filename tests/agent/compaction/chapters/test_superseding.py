"""Newer wins: reversed decisions, and one current work, over chapters and over compactions."""

from collections.abc import Sequence

import pytest

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.rendering import render_summary
from agent.compaction.chapters.superseding import (
    combine,
    drop_empty_sections,
    join_current_work,
    split_current_work,
)
from agent.compaction.skills import HEADINGS
from agent.context.summary import CURRENT_WORK, Summary
from tests.agent.conversations import COUNTER

DECIDED = "## Decisions\n- Photos go to disk A [#3]\n- Mails go to disk A [#4]"
FIRST = f"{DECIDED}\n\n{CURRENT_WORK}\n- Buy it"


def test_the_current_work_is_the_forms_last_heading() -> None:
    assert f"## {HEADINGS[-1]}" == CURRENT_WORK


def test_sections_without_content_go() -> None:
    text = "## Overview\nA.\n\n## Decisions\nNone.\n\n## Progress\n- None. of it\n## Errors\nNone"
    assert drop_empty_sections(text) == "## Overview\nA.\n\n## Progress\n- None. of it"


def test_the_current_work_is_split_off_and_joined_again() -> None:
    body, work = split_current_work(FIRST)
    assert (CURRENT_WORK in body, work) == (False, "- Buy it")
    assert join_current_work(body, work) == FIRST
    assert split_current_work("Free text") == ("Free text", "")
    middle = f"## Overview\nA.\n{CURRENT_WORK}\n- Buy it\n## Open questions\n- When?"
    assert split_current_work(middle) == ("## Overview\nA.\n## Open questions\n- When?", "- Buy it")


@pytest.mark.parametrize("arrow", ["→", "->"])
@pytest.mark.parametrize("mark", ["", " (unverified)"])
def test_what_was_replaced_says_so_where_it_stands(arrow: str, mark: str) -> None:
    later = f"## Decisions\n- Replaced: photos on disk A {arrow} disk B [#3 #40]{mark}"
    bodies, work = combine([FIRST, later])
    assert "- Photos go to disk A [#3], replaced by disk B [#40]\n- Mails" in bodies[0]
    assert bodies[1] == later
    assert work == ""


@pytest.mark.parametrize(
    "later",
    [
        "- Replaced: photos on disk A → disk B",  # rests on nothing
        "- Replaced: photos on disk C → disk B [#3 #40]",  # another value
        "- Replaced: disk A → disk B [#9 #40]",  # of whose photos, nothing says
        "- Replaced: rain at noon → sun [#3 #40]",  # another fact of the same message
        "- Photos go to disk A → disk B [#3 #40]",
        "- Replaced: photos on disk A [#3 #40]",  # by nothing
    ],
)
def test_nothing_else_is_marked(later: str) -> None:
    bodies, _ = combine([FIRST, f"## Decisions\n{later}"])
    assert bodies[0] == DECIDED


ROOMS = "- The choir rehearses in room 214 [#12]"


@pytest.mark.parametrize(
    ("old", "others", "later"),
    [
        # The value, not only one word and one message
        (
            ROOMS,
            ["- The office is in room 305 [#12]", "- The room of the archive stays 118 [#12]"],
            "room 214 → room 307 [#12 #40]",
        ),
        # The number of something else
        (ROOMS, ["- 214 members were invited [#12]"], "room 214 → room 307 [#12 #40]"),
        (ROOMS, ["- Members that were invited: 214 [#30]"], "choir's room 214 → 307 [#90]"),
        # Dates, money, times, units, versions
        (
            "- The concert is on 5 May [#3]",
            ["- The rehearsal is on 4 May [#3]", "- 5 singers arrive in May [#3]"],
            "concert on 05.05. → 7 May [#3 #40]",
        ),
        (
            "- Rent of the hall: €1,200 [#3]",
            ["- The caterer takes €1,250 [#3]", "- Deposit of the hall: €400 [#3]"],
            "hall rent 1200 EUR → €1,350 [#3 #9]",
        ),
        (
            "- The standup is at 9:30 [#7]",
            ["- The standup has 9 people [#7]", "- The retro is at 16:00 [#7]"],
            "standup at 9:30 → 10:00 [#7 #70]",
        ),
        (
            "- Timeout of uploads: 30 s [#7]",
            ["- 30 users test the uploads [#7]"],
            "timeout 30 seconds → 60 s [#7 #70]",
        ),
        (
            "- Version 2.3.1 is deployed [#7]",
            ["- Version 2.3.4 of the client [#7]"],
            "version 2.3.1 → 2.4.0 [#7 #70]",
        ),
        # Words
        (
            "- The ledger is kept in Postgres [#5]",
            ["- The ledger has 14 tables [#5]", "- The blog runs on Postgres [#6]"],
            "ledger in Postgres → SQLite [#5 #50]",
        ),
        (
            "- The logo's colour is blue [#5]",
            ["- The logo colour must suit print [#5]", "- The doors are red [#5]"],
            "logo colour blue → green [#5 #50]",
        ),
        ("- The doors are red [#5]", ["- The roof is grey [#5]"], "red → green [#5 #50]"),
        (
            "- Nora moderates the meeting [#7]",
            ["- Ben writes the minutes of the meeting [#7]"],
            "Nora moderates → Ben moderates [#7 #70]",
        ),
        # The same subject and property
        (
            "- The gateway's port is 8443 [#12]",
            ["- The database's port is 5432 [#12]"],
            "gateway port → 9443 [#12 #40]",
        ),
        # Another message says it
        (ROOMS, ["- The office is in room 305 [#13]"], "choir room 214 → 307 [#90]"),
        (
            "- The ledger is kept in Postgres [#5]",
            ["- The blog runs on Postgres [#6]"],
            "ledger in Postgres → SQLite [#90]",
        ),
        # Other languages
        (
            "- 合唱团在214室排练 [#12]",
            ["- 五月邀请了214名会员 [#12]"],
            "排练 214室 → 307室 [#12 #40]",
        ),
        ("- 标志是蓝色的 [#5]", ["- 门是红色的 [#5]"], "蓝色 → 绿色 [#5 #50]"),
        (
            "- ゲートウェイのポートは8443 [#12]",
            ["- データベースのポートは5432 [#12]"],
            "ゲートウェイのポート8443 → 9443 [#90]",
        ),
        (
            "- Шлюз слушает порт 8443 [#12]",
            ["- Порт базы данных 5432 [#12]"],
            "порт шлюза 8443 → 9443 [#12 #40]",
        ),
        (
            "- المنفذ 8443 للبوابة [#12]",
            ["- منفذ قاعدة البيانات 5432 [#12]"],
            "منفذ البوابة 8443 → 9443 [#12 #40]",
        ),
    ],
)
def test_only_what_says_the_same_thing_is_marked(
    old: str, others: Sequence[str], later: str
) -> None:
    far_back = "\n".join([*others, old])
    bodies, _ = combine([far_back, "- Tea is at four [#80]", f"- Replaced: {later}"])
    *untouched, marked = bodies[0].splitlines()
    assert untouched == [*others]
    assert marked.startswith(f"{old}, replaced by ")


def test_a_replacement_may_be_replaced_again() -> None:
    bodies, _ = combine(
        [
            "- Photos go to disk A [#3]",
            "- Replaced: photos on disk A → disk B [#3 #40]",
            "- Replaced: photos on disk B → a tape [#40 #60]",
            "- Replaced: photos on disk A, then B → the cloud [#3 #80]",
        ]
    )
    assert bodies[0].endswith("disk A [#3], replaced by the cloud [#80]"), "the last one counts"
    assert bodies[1].endswith("[#3 #40], replaced by the cloud [#80]")
    assert bodies[2].endswith("[#40 #60]")


def rendered(texts: Sequence[str]) -> Summary:
    chapters = [Chapter(text, n, n) for n, text in enumerate(texts, 1)]
    return render_summary(chapters, pin_tokens=1_000, index_tokens=1_000, counter=COUNTER)


@pytest.mark.parametrize("between", [0, 2, 5])
def test_a_decision_is_reversed_after_one_three_and_six_compactions(between: int) -> None:
    numbers = range(10, 10 + between)
    others = [f"## Facts and values\n- Fact {n} [#{n}]\n\n{CURRENT_WORK}\n- Old" for n in numbers]
    replaced = "## Decisions\n- Replaced: photos on disk A → disk B [#3 #40]"
    reversal = f"{replaced}\n\n{CURRENT_WORK}\n- Order disk B [#41]"
    before, after = rendered([FIRST, *others]), rendered([FIRST, *others, reversal])
    assert "replaced" not in before.text
    assert after.text.count("- Photos go to disk A [#3], replaced by disk B [#40]") == 1
    assert after.text.count(CURRENT_WORK) == 1
    assert "Order disk B" in after.appendix
    assert "Buy it" not in after.text
    assert "- Old" not in after.text
    assert after.chapters[1 : 1 + between] == before.chapters[1:], "the cached bytes stay"
    assert Summary.from_text(after.text) == after
