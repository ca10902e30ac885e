"""A year of a site of fifty people, so that its charts can be looked at and measured.

In a database of its own: `DATA_DIR=/tmp/year python -m tests.spending.year [CALLS]`, after
`manage.py migrate`. Always the same people, models and amounts, up to today.
"""

import os
import random
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

PEOPLE = 50
GROUPS = ("Research", "Support", "Marketing", "Board")
# Names with US dollars per million tokens: read, written.
MODELS = {
    "claude-sonnet-5-5": (Decimal(3), Decimal(15)),
    "claude-opus-5-5": (Decimal(15), Decimal(75)),
    "claude-haiku-5": (Decimal(1), Decimal(5)),
}
# As often as these kinds come.
KINDS = {"answer": 60, "tool_round": 25, "title": 8, "preparation": 4, "summary": 2, "count": 1}
SEARCH = Decimal("0.01")  # US dollars
BATCH = 5_000
CALLS = 100_000


def fill_year(calls: int = CALLS) -> None:
    """Store people, groups and so many calls."""
    from django.contrib.auth.models import Group

    from accounts.models import User
    from spending.models import ModelCall

    chance = random.Random(30)
    groups = [Group.objects.get_or_create(name=name)[0] for name in GROUPS]
    people = User.objects.bulk_create(
        [User(username=f"person{number:02}", password="!") for number in range(PEOPLE)]
    )
    rows = _make_calls(chance, [person.pk for person in people], [row.pk for row in groups], calls)
    while batch := [row for _, row in zip(range(BATCH), rows, strict=False)]:
        ModelCall.objects.bulk_create(batch)
    people[7].delete()  # what a leaver has spent stays


def _make_calls(
    chance: random.Random, people: list[int], groups: list[int], count: int
) -> Iterator["ModelCall"]:  # noqa: F821 - models are imported when Django is set up
    from django.utils import timezone

    from spending.models import ModelCall

    kinds, weights = list(KINDS), list(KINDS.values())
    conversations = [UUID(int=chance.getrandbits(128)) for _ in range(max(1, count // 20))]
    for _ in range(count):
        who = min(int(chance.expovariate(0.08)), len(people) - 1)
        model = chance.choices(list(MODELS), [6, 1, 3])[0]
        read, written = int(chance.lognormvariate(8.5, 1)), int(chance.lognormvariate(5.5, 1))
        cached = int(read * chance.random())
        searches = chance.choices([0, 1, 3], [95, 4, 1])[0]
        dollars = (read - cached) * MODELS[model][0] + written * MODELS[model][1]
        dollars = dollars / 1_000_000 + cached * MODELS[model][0] / 10_000_000
        yield ModelCall(
            opened_at=_choose_moment(chance, timezone.localtime()),
            user_id=people[who],
            group_id=groups[who % len(groups)] if who % 7 else None,
            model=model,
            kind=chance.choices(kinds, weights)[0],
            conversation=chance.choice(conversations),
            state=chance.choices(["settled", "lost", "open"], [970, 29, 1])[0],
            input_tokens=read - cached,
            cache_read_tokens=cached,
            output_tokens=written,
            web_searches=searches,
            search_cost=searches * SEARCH,
            cost=dollars + searches * SEARCH,
            bound=Decimal("0.25"),
        )


def _choose_moment(chance: random.Random, now: datetime) -> datetime:
    """Of the last year; on weekends little happens."""
    while True:
        moment = now - timedelta(seconds=chance.random() * 365 * 86_400)
        if moment.weekday() < 5 or chance.random() < 0.15:
            return moment


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    fill_year(*map(int, sys.argv[1:]))
