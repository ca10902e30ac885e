"""What the length of a conversation costs: nothing, by design.

`python -m bench.length`. Conversations of several lengths, compacted as real ones are (as many
recent messages, a few chapters), are opened (the page's view, with all its middleware) and
prepared for their next request (loaded, counted, assembled, encoded).
So is the longest with 1,000 messages since its last compaction: the default budget allows 2,000.
They take turns within one run. Times are CPU time of this process.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench import serving
from bench.report import Report, median

LENGTHS = (100, 1_000, 10_000)
RECENT = 24  # messages after the last compaction
LONG_RECENT = 1_000
COVERED = 200  # messages that one compaction covers
MOST_CHAPTERS = 7
MOST_RATIO = 1.2
ANSWER = """\
The **cohesion** of water does it: evaporation in the leaf pulls the whole column up.

- Each molecule holds on to the next by hydrogen bonds.
- The vessels are narrow, so the column does not break.

```python
def pressure(height_m: float) -> float:
    return 1000 * 9.81 * height_m / 1e5  # bar
```

At 100 m that is about 10 bar, less than what the column bears.
"""
QUESTION = "How does a tree move water from its roots to its leaves, without any pump?"
SUMMARY = "## Overview\n\n" + "- They talked about trees, water and pressure [#1 #2]\n" * 40


def make_conversation(owner: Any, length: int, *, recent: int = RECENT) -> Any:
    """A conversation of so many messages, compacted again and again up to the recent ones."""
    from tests.chat.factories import add_messages, make_compaction, make_conversation

    conversation = make_conversation(owner, model=serving.MODEL)
    covered = length - recent
    chapters = min(MOST_CHAPTERS, -(-covered // COVERED))
    for chapter in range(chapters):
        part = covered * (chapter + 1) // chapters // 2 - covered * chapter // chapters // 2
        add_messages(conversation, [QUESTION, ANSWER] * part)
        make_compaction(conversation, SUMMARY, through=conversation.next_number - 1)
    add_messages(conversation, [QUESTION, ANSWER] * (recent // 2))
    return conversation


def next_turn(conversation: Any) -> None:
    """Everything that comes before the next request, except writing the rows."""
    from agent.context.assemble import assemble
    from chat.engine.state import load_state

    state = load_state(conversation.pk)
    assert state.due() is None
    assert assemble(state.context).data


@dataclass(frozen=True, slots=True)
class Case:
    """A conversation to measure, and the one that it is compared with, by their names."""

    name: str
    length: int
    recent: int = RECENT
    base: str = ""


def list_cases(lengths: Sequence[int]) -> list[Case]:
    """All lengths against the shortest, and the longest with many recent ones against itself."""
    shortest, *longer = sorted(lengths)
    cases = [Case(str(shortest), shortest)]
    cases += [Case(str(length), length, base=str(shortest)) for length in longer]
    longest = cases[-1]
    if longest.length > LONG_RECENT:
        name = f"{longest.name}_recent_{LONG_RECENT}"
        cases.append(Case(name, longest.length, LONG_RECENT, longest.name))
    return cases


def measure_action(
    report: Report,
    name: str,
    actions: dict[Case, Callable[[], Any]],
    repetitions: int,
) -> None:
    """Times and queries of an action for each case, and the ratio to its base."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    times: dict[str, list[float]] = defaultdict(list)
    for turn in range(repetitions + 1):
        for case, action in actions.items():
            began = time.process_time()
            action()
            if turn:  # the first warms up
                times[case.name].append((time.process_time() - began) * 1000)
    for case, action in actions.items():
        with CaptureQueriesContext(connection) as queries:
            action()
        report.add(f"length.{name}.{case.name}.cpu_ms", median(times[case.name]), "ms")
        report.add(f"length.{name}.{case.name}.queries", len(queries), "queries")
    for case in actions:
        if case.base:
            ratio = median(times[case.name]) / median(times[case.base])
            report.add(f"length.{name}.{case.name}.ratio", ratio, f"x {case.base}", MOST_RATIO)


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.length", description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS, help="in messages")
    parser.add_argument("--repetitions", type=int, default=40)
    options = parser.parse_args()

    report = Report("Cost of length")
    with serving.load_django_site():
        from django.core.cache import cache
        from django.test import Client

        from tests.chat.factories import make_user

        serving.collect_static()
        user = make_user("bench")
        conversations = {
            case: make_conversation(user, case.length, recent=case.recent)
            for case in list_cases(options.lengths)
        }
        client = Client(headers={"host": "localhost"})
        client.force_login(user)

        def open_page(conversation: Any, *, cold: bool) -> None:
            if cold:
                cache.clear()  # of rendered messages
            response = client.get(conversation.get_absolute_url())
            assert response.status_code == 200, response

        for name, action in {
            "open": lambda row: open_page(row, cold=False),
            "open_cold": lambda row: open_page(row, cold=True),
            "next_turn": next_turn,
        }.items():
            actions: dict[Case, Callable[[], Any]] = {
                case: partial(action, row) for case, row in conversations.items()
            }
            measure_action(report, name, actions, options.repetitions)
    report.print_table()
    return report


if __name__ == "__main__":
    main()
