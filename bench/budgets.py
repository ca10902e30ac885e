"""How long a send waits to begin, with budgets and without: `python -m bench.budgets`.

Of 200 sends at once, without a budget all are answered; with one of the site for 37 answers, and
one of each person, 37 are, and the others are told that it is used up. Rounds of both kinds take
turns. A wait lasts until the turn is stored, or refused. One process, and a scripted model whose
answers take a third of a second.
"""

import argparse
import asyncio
import time
from contextlib import ExitStack
from decimal import Decimal
from typing import Any

from bench import serving
from bench.report import Report, percentile

PEOPLE, CHATS_EACH = 40, 5
ANSWERED = 37
ROUNDS = 3
MOST_RATIO = 2.0
ANSWER_SECONDS = 0.3
# An answer costs a cent, and holds three: less than 400 tokens do not shrink.
CENT, MOST_TOKENS, TOKENS = Decimal("0.01"), 300, 100
PRICES: dict[str, Any] = {
    "input_price": 0.0,
    "cache_read_price": 0.0,
    "cache_write_price": 0.0,
    "output_price": 100.0,
}


async def send_all(talks: list[Any]) -> tuple[list[float], int]:
    """Send to all chats at once; the seconds that each waited, and how many were begun."""
    from chat.errors import Refused
    from chat.live.admission import Sender
    from chat.live.runner import runner
    from chat.services.turns import requests
    from chat.services.turns.turns import NewMessage

    async def send(talk: Any) -> tuple[float, bool]:
        came = time.perf_counter()
        try:
            await runner.begin(
                Sender(talk.owner_id),
                requests.send_message,
                talk.owner,
                talk.pk,
                NewMessage("Yes or no?"),
                expected_head=None,
                holder=runner.holder,
            )
        except Refused:
            return time.perf_counter() - came, False
        return time.perf_counter() - came, True

    ends = await asyncio.gather(*map(send, talks))
    while runner.turn_ids:  # noqa: ASYNC110 - no event tells
        await asyncio.sleep(0.05)
    return [wait for wait, _ in ends], sum(begun for _, begun in ends)


def set_budgets(*, on: bool) -> None:
    """Those of the site and of each person, or none; of what was spent nothing counts."""
    from accounts.models import User
    from spending.limits import forget_budgets
    from spending.models import Budget, BudgetCounter, ModelCall, Period, Unit

    for model in (Budget, BudgetCounter, ModelCall):
        model.objects.all().delete()
    if on:
        kind: dict[str, Any] = {"period": Period.MONTH, "unit": Unit.MONEY}
        Budget.objects.create(limit=(ANSWERED - 1) * CENT + MOST_TOKENS * CENT / TOKENS, **kind)
        for user in User.objects.all():
            Budget.objects.create(user=user, limit=100, **kind)
    forget_budgets()


async def measure(report: Report, talks: list[Any], rounds: int) -> None:
    from chat.db.threads import in_db
    from chat.engine.model_server import close_clients

    waits: dict[bool, list[float]] = {False: [], True: []}
    await send_all(talks[:5])  # what the first turns of a process load
    for _ in range(rounds):
        for on in (False, True):
            await in_db(set_budgets, on=on)
            found, begun = await send_all(talks)
            assert begun == (ANSWERED if on else len(talks)), begun
            waits[on] += found
    await close_clients()
    without, with_budgets = (percentile(waits[on], 0.95) for on in (False, True))
    report.add("wait.p95.without", without, "s")
    report.add("wait.p95.with", with_budgets, "s")
    report.add("wait.p95.ratio", with_budgets / without, "x", MOST_RATIO)


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.budgets", description=__doc__)
    parser.add_argument("--postgresql", action="store_true", help="a new PostgreSQL of its own")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each kind")
    options = parser.parse_args()
    with ExitStack() as stack:
        url = serving.start_postgresql(stack) if options.postgresql else ""
        stack.enter_context(serving.load_django_site(url))
        from django.conf import settings
        from django.db import connection

        from demo.api.protocol import ScriptedReply, text
        from demo.api.server import DemoServer
        from tests.chat.factories import make_conversation, make_profile, make_user

        model = stack.enter_context(DemoServer())
        usage = {"input_tokens": 10, "output_tokens": TOKENS}
        reply = ScriptedReply((text("Yes."),), usage=usage)
        model.script.reply(reply, always=True, delay_s=ANSWER_SECONDS)
        settings.ANTHROPIC_BASE_URL = model.base_url
        settings.TURNS_AT_ONCE = settings.MESSAGES_PER_MINUTE = 100_000
        make_profile(max_output=MOST_TOKENS, tools=False, **PRICES)
        people = [make_user(f"person{number}") for number in range(PEOPLE)]
        plain: dict[str, Any] = {"title_edited": True, "compaction_settings": {"enabled": False}}
        talks = [make_conversation(each, **plain) for each in people for _ in range(CHATS_EACH)]
        report = Report(f"200 sends at once, a budget for {ANSWERED}, on {connection.vendor}")
        asyncio.run(measure(report, talks, options.rounds))
    report.print_table()
    return report


if __name__ == "__main__":
    main()
