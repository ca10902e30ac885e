"""How long does a search in 200,000 messages of one person take?

`python -m bench.search [--postgresql] [--messages 200000]`: two people with as
many messages each, in 400 conversations, whose words are distributed as those of a language are.
Asked is what the sidebar asks while somebody types, from the words to the excerpts, one kind of
query after another in turns, each run counted, the first too. Then messages are stored one by one:
what the index costs each.
"""

import argparse
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import accumulate
from typing import Any

from bench.report import Report, Times
from bench.serving import load_django_site, start_postgresql

MESSAGES, CONVERSATIONS = 200_000, 400
MOST_MS = 100.0  # p95 of each kind of query
ROUNDS = 12  # of all kinds
WORDS = 40_000  # in the vocabulary
STARTS = "co re st in pro ma de tra li bu fo gri ve sku"
SYLLABLES = "ra to mi le nak so pir du vam kel ho zun bri ta"
FLATTENED = 2.7  # Mandelbrot's: the first words are less frequent than 1 / rank
QUESTION, ANSWER = 15, 65  # words of a message on average
CHINESE = "我们明天去港口看船因为天气很好所以不要忘记带上地图和一些吃的东西"
EVERY_CHINESE = 50  # one message of so many
EVERY_CODE, CODE = 20, " x -> f(x): y?"
EVERY_RARE, RARE = 9_973, " a !== b"
STORED = 200  # messages whose indexing is timed


class Writer:
    """Texts of invented words: rank r of the vocabulary has the weight 1 / (r + 2.7)."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._written = 0
        self.vocabulary = list(_invent_words(random.Random(0)))
        self._weights = list(accumulate(1 / (rank + FLATTENED) for rank in range(WORDS)))

    def write(self, number: int) -> str:
        """A question or an answer."""
        mean = ANSWER if number % 2 else QUESTION
        length = 1 + int(self._random.expovariate(1 / mean))
        words = self._random.choices(self.vocabulary, cum_weights=self._weights, k=length)
        if number % EVERY_CHINESE == 0:
            words.append("".join(self._random.sample(CHINESE, 12)))
        self._written += 1
        signs = CODE * (number % EVERY_CODE == 0) + RARE * (self._written % EVERY_RARE == 0)
        return " ".join(words) + signs + "?."[number % 2]


def _invent_words(source: random.Random) -> Iterator[str]:
    """Different words; the most frequent of them are the stop words, as in a language."""
    from agent.search.lexical import SEARCH_STOP_WORDS

    made = dict.fromkeys(sorted(word for word in SEARCH_STOP_WORDS if len(word) > 2))
    starts, rest = STARTS.split(), SYLLABLES.split()
    while len(made) < WORDS:
        start = source.choices(starts, range(len(starts), 0, -1))[0]
        made["".join([start, *source.choices(rest, k=source.choice((1, 2, 2, 3, 4)))])] = None
    return iter(made)


def store_person(name: str, messages: int, seed: int) -> Any:
    """A person with so many messages, in conversations of equal length."""
    from accounts.models import User
    from chat.models import Conversation, Message
    from chat.services.library.search_index import index_messages

    writer, owner = Writer(seed), User.objects.create(username=name)
    each = messages // CONVERSATIONS
    for index in range(CONVERSATIONS):
        conversation = Conversation.objects.create(
            owner=owner, title=writer.write(0)[:60], next_number=each + 1
        )
        rows = [_message(conversation, n, writer.write(index + n)) for n in range(each)]
        index_messages(owner.pk, Message.objects.bulk_create(rows, batch_size=500))
    return owner


def _message(conversation: Any, position: int, text: str) -> Any:
    from chat.models import Message

    return Message(
        conversation=conversation,
        number=position + 1,
        position=position,
        role=Message.Role.ASSISTANT if position % 2 else Message.Role.USER,
        blocks=[{"type": "text", "text": text}],
        text=text,
    )


def list_queries(writer: Writer, conversation: Any) -> dict[str, Callable[[], Any]]:
    """The kinds of queries; each call asks for other words."""
    from agent.search.lexical import parse_query
    from chat.queries.search import find_messages
    from chat.web.transcript import find_text_hits

    source = random.Random(3)
    words = writer.vocabulary

    def common() -> str:
        return words[source.randrange(200, 400)]

    def rare() -> str:
        return words[source.randrange(WORDS // 2, WORDS)]

    def begun(letters: int) -> str:
        return common()[:letters]

    texts: dict[str, Callable[[], str]] = {
        "rare": rare,
        "common": common,
        "most_common": lambda: words[source.randrange(130, 140)],
        "two_common": lambda: f"{common()} {common()}",
        "three": lambda: f"{common()} {common()} {rare()}",
        "ten": lambda: " ".join(common() for _ in range(10)),
        "phrase": lambda: f'"{common()} {common()}"',
        **{f"typed_{n}": partial(begun, n) for n in range(1, 6)},
        "none": lambda: "xyzzyq",
        "chinese": lambda: "".join(source.sample(CHINESE, 2)),
        "signs_none": lambda: "=>",
        "signs_common": lambda: "->",
        "signs_rare": lambda: "!==",
        "signs_apart": lambda: "-> ?",  # both in the same messages, but not so
    }
    owner = conversation.owner

    def within() -> Any:
        return find_messages(owner.pk, parse_query(common()), conversation_id=conversation.pk)

    asked = {kind: partial(_ask, find_text_hits, owner, text) for kind, text in texts.items()}
    return asked | {"one_conversation": within}


def _ask(find: Callable[..., Any], owner: Any, text: Callable[[], str]) -> Any:
    return find(owner, text())


def measure_queries(report: Report, queries: dict[str, Callable[[], Any]]) -> None:
    """Each kind in turn."""
    times: dict[str, Times] = {kind: Times() for kind in queries}
    for _ in range(ROUNDS):
        for kind, ask in queries.items():
            times[kind].measure(ask)
    for kind, taken in times.items():
        taken.report(report, f"search.{kind}", MOST_MS)


def measure_writing(report: Report, conversation: Any) -> None:
    """What the index costs a message that is stored, each in a transaction of its own."""
    from django.db import transaction

    from chat.services.library.search_index import index_messages

    writer, times = Writer(5), Times()
    for number in range(STORED):
        message = _message(conversation, conversation.next_number + number, writer.write(1))
        with transaction.atomic():
            message.save()
            times.measure(partial(index_messages, conversation.owner_id, [message]))
    times.report(report, "index_one_message")


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.search", description=__doc__)
    parser.add_argument("--postgresql", action="store_true", help="a new PostgreSQL of its own")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="of each person")
    options = parser.parse_args()
    with ExitStack() as stack:
        url = start_postgresql(stack) if options.postgresql else ""
        stack.enter_context(load_django_site(url))
        from django.db import connection, transaction

        with transaction.atomic():
            owner = store_person("ada", options.messages, 1)
            store_person("bob", options.messages, 2)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")  # as autovacuum would have by then
        report = Report(f"Search in {options.messages:,} messages on {connection.vendor}")
        conversation = owner.conversations.order_by("created_at").first()
        measure_queries(report, list_queries(Writer(1), conversation))
        measure_writing(report, conversation)
    report.print_table()
    return report


if __name__ == "__main__":
    main()
