"""What the services do for one turn, split into send, request and end.

`python -m bench.turn [--postgresql]`. Conversations that were never compacted, of several lengths,
take turns: a message is stored and its answer begun (*send*), the request is built and checked
(*request*), an answer with Markdown and code is stored, charged and drawn (*end*). No socket, no
model. Times are CPU time of this process; PostgreSQL's own are not in it. The *first* turn of a
conversation in a process may have to load what later ones find there.
"""

import argparse
import json
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench import serving
from bench.length import ANSWER, MOST_RATIO, QUESTION, make_conversation
from bench.report import Report, median

RECENT = (2, 24, 1_000)  # recent messages before the first measured turn; each turn adds two
CONVERSATIONS = 8  # of each length
TURNS = 5  # of each conversation
MOST_MS = 10.0
PARTS = ("send", "request", "end")
_FIXED_WORK = [{"number": number, "text": "fixed work " * 5} for number in range(400)]


@dataclass
class Stopwatch:
    """CPU milliseconds of the parts of one turn."""

    parts: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def time(self, part: str) -> Iterator[None]:
        began = time.process_time()
        yield
        self.parts[part] = (time.process_time() - began) * 1000

    @property
    def whole(self) -> float:
        return sum(self.parts[part] for part in PARTS)


def take_turn(user: Any, conversation: Any) -> Stopwatch:
    """One turn as `chat.live` has it done, and a piece of fixed work to compare machines by."""
    from agent.messages import Usage
    from agent.model.reply import Reply
    from chat.engine import model_server
    from chat.models import Turn
    from chat.services.calls import describe_end
    from chat.services.summary import gaps, preparations
    from chat.services.turns import endings, requests
    from chat.services.turns.turns import NewMessage

    watch = Stopwatch()
    with watch.time("send"):
        begun = requests.send_message(
            user,
            conversation.pk,
            NewMessage(QUESTION, client_id=uuid.uuid4().hex),
            expected_head=None,
            holder="bench",
        )
    assert begun is not None
    assert begun.call is not None, "it has to be compacted first"
    state = begun.state
    with watch.time("request"):
        model_server.build_request(state.context)
    usage = {"input_tokens": int(state.used), "output_tokens": 120}
    reply = Reply(usage=Usage.from_api(usage), complete=True, is_reported=True)
    ending = endings.TurnOutcome(
        Turn.Status.COMPLETED,
        blocks=[{"type": "text", "text": ANSWER}],
        stop_reason="end_turn",
        usage=usage,
        raw_request=state.limits.factor.raw(state.used),
        rounds=0,
        calls=1,
        call=describe_end(begun.call, reply, None),
    )
    with watch.time("end"):
        ended = endings.end_turn(begun.turn.pk, ending)
        assert ended is not None, "the turn had ended"
        preparing = preparations.prepare_if_due(ended) or gaps.has_gap(ended)
        preparations.find_pause(ended)
    assert not preparing, "a summary is due"
    with watch.time("fixed"):
        json.loads(json.dumps(_FIXED_WORK))
    return watch


def measure_turns(lengths: list[int], conversations: int, turns: int) -> dict[str, list[Stopwatch]]:
    """The turns by the number of recent messages ("1000", and "1000.first" for the first ones of
    conversations). The numbers take turns."""
    from tests.chat.factories import make_user

    user = make_user("bench")
    warm = make_conversation(user, 2, recent=2)
    take_turn(user, warm)
    rows = [
        (recent, make_conversation(user, recent, recent=recent))
        for _ in range(conversations)
        for recent in lengths
    ]
    watches: dict[str, list[Stopwatch]] = defaultdict(list)
    for turn in range(turns):
        for recent, conversation in rows:
            name = str(recent) if turn else f"{recent}.first"
            watches[name].append(take_turn(user, conversation))
    return watches


def report_turns(report: Report, watches: dict[str, list[Stopwatch]], lengths: list[int]) -> None:
    for recent in lengths:
        later = watches[str(recent)]
        for part in PARTS:
            report.add(
                f"turn.{recent}.{part}_ms", median([each.parts[part] for each in later]), "ms"
            )
        report.add(f"turn.{recent}.cpu_ms", median([each.whole for each in later]), "ms", MOST_MS)
        first = median([each.whole for each in watches[f"{recent}.first"]])
        report.add(f"turn.{recent}.first.cpu_ms", first, "ms")
    if {24, 1_000} <= set(lengths):
        long, short = (median([each.whole for each in watches[str(n)]]) for n in (1_000, 24))
        report.add("turn.1000.ratio", long / short, "x 24", MOST_RATIO)
    fixed = [each.parts["fixed"] for every in watches.values() for each in every]
    report.add("turn.fixed_work_ms", median(fixed), "ms")


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.turn", description=__doc__)
    parser.add_argument("--postgresql", action="store_true", help="a new PostgreSQL of its own")
    parser.add_argument("--recent", type=int, nargs="*", default=RECENT, help="in messages")
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS, help="of each length")
    parser.add_argument("--turns", type=int, default=TURNS, help="of each conversation")
    options = parser.parse_args()
    with ExitStack() as stack:
        url = serving.start_postgresql(stack) if options.postgresql else ""
        stack.enter_context(serving.load_django_site(url))
        from django.db import connection

        report = Report(f"A turn on {connection.vendor}")
        watches = measure_turns(options.recent, options.conversations, options.turns)
        report_turns(report, watches, options.recent)
    report.print_table()
    return report


if __name__ == "__main__":
    main()
