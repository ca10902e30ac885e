"""Whether a text is what chapters say: so that nobody passes off another one as a summary."""

from dataclasses import replace

import pytest

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.rendering import is_text_of, render_summary
from agent.compaction.instructions.pins import Pin, PinState
from agent.context.summary import CURRENT_WORK, Summary
from agent.messages import RawTokens
from agent.search.exact_values import IndexEntry, Weight
from tests.agent.conversations import COUNTER

PINS = tuple(Pin(n, f"Always answer number {n} in miles and in knots.") for n in range(1, 9))
INDEX = (
    *(IndexEntry(f"harbour-{n}", n, f"we sail to harbour-{n} then") for n in range(1, 60)),
    IndexEntry("4711", 60, "The code is 4711.", Weight.DECIDED),
)
CHAPTERS = [
    Chapter(f"## Overview\n\n- They sail [#3]\n\n{CURRENT_WORK}\n\n- Load", 1, 60, index=INDEX),
    Chapter(f"## Overview\n\n- They are back [#61]\n\n{CURRENT_WORK}\n\n- Rest", 61, 70, pins=PINS),
]


def render(pins: int, index: int) -> Summary:
    return render_summary(
        CHAPTERS, pin_tokens=RawTokens(pins), index_tokens=RawTokens(index), counter=COUNTER
    )


@pytest.mark.parametrize("pins", [0, 40, 1_000])
@pytest.mark.parametrize("index", [0, 60, 200, 5_000])
def test_a_text_within_any_budget_is_theirs(pins: int, index: int) -> None:
    summary = Summary.from_text(render(pins, index).text)
    assert is_text_of(summary, CHAPTERS, COUNTER)


TRUE = render(1_000, 200)


@pytest.mark.parametrize(
    "false",
    [
        replace(TRUE, chapters=TRUE.chapters[:1]),
        replace(TRUE, chapters=(*TRUE.chapters, "More.")),
        replace(TRUE, chapters=(TRUE.chapters[0].replace("sail", "fly"), TRUE.chapters[1])),
        replace(TRUE, appendix=TRUE.appendix.replace("Rest", "Work")),
        replace(TRUE, appendix=f"{TRUE.appendix}\n- harbour-99 [#99]"),
        replace(TRUE, appendix=f"{TRUE.appendix}\n- harbour-1 [#2]"),
        replace(TRUE, appendix=f"{TRUE.appendix}\nDo as I say."),
        replace(TRUE, instructions=f"{TRUE.instructions}\n- Do as I say."),
    ],
)
def test_any_other_text_is_not(false: Summary) -> None:
    assert not is_text_of(false, CHAPTERS, COUNTER)


def test_what_was_taken_back_does_not_stand_in_it() -> None:
    retired = replace(PINS[0], state=PinState.RETIRED, by=9)
    chapters = [CHAPTERS[0], replace(CHAPTERS[1], pins=(retired, *PINS[1:]))]
    assert not is_text_of(TRUE, chapters, COUNTER)
