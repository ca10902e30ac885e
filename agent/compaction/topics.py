"""Where a topic begins, as far as code can see it: after a long pause, or where the words change.

The words are compared as in TextTiling (Hearst 1997), without a list for any language: a word that
is everywhere weighs nothing, and scripts without spaces count by pairs of characters.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import log, sqrt

from agent.messages import AgentMessage, plain_text
from agent.search.lexical import WORD

PAUSE = 3_600.0  # seconds; a shorter one does not end a topic
BLOCK = 6  # messages before a place, and after it, that are compared
CHARACTERS = 2_000  # of each message: enough to tell its topic
STEM = 6  # letters
# What the messages around a place have in common, as a share of what they have on average: only
# much less is a change of topic.
MUCH_LESS = 0.6

WordWeights = Mapping[str, float]


def find_topic_start(messages: Sequence[AgentMessage], places: Sequence[int]) -> int | None:
    """The one of several places, indexes of messages, that most clearly begins a topic; None where
    none does. It reads the messages around them only, each once or a few times."""
    if len(places) < 2:
        return None
    longest = max(places, key=lambda place: _pause_before(messages, place))
    if _pause_before(messages, longest) >= PAUSE:
        return longest
    cohesion = _measure_cohesion(messages, places)
    weakest = min(places, key=lambda place: cohesion[place])
    mean = sum(cohesion.values()) / len(cohesion)
    return weakest if cohesion[weakest] < MUCH_LESS * mean else None


def _pause_before(messages: Sequence[AgentMessage], place: int) -> float:
    """Seconds; 0 where a time is not known."""
    if place == 0:
        return 0.0
    before, after = messages[place - 1].at, messages[place].at
    return after - before if before and after else 0.0


def _measure_cohesion(messages: Sequence[AgentMessage], places: Sequence[int]) -> dict[int, float]:
    """How alike the words before each place and after it are, from 0 to 1."""
    first, end = max(0, places[0] - BLOCK), min(len(messages), places[-1] + BLOCK)
    words = {index: _count_words(messages[index]) for index in range(first, end)}
    found_in = Counter(word for each in words.values() for word in each)
    weights = {word: log(len(words) / number) for word, number in found_in.items()}

    def weigh(start: int, stop: int) -> WordWeights:
        block: Counter[str] = Counter()
        for index in range(max(first, start), min(end, stop)):
            block.update(words[index])
        return {word: number * weights[word] for word, number in block.items()}

    return {
        place: _cosine(weigh(place - BLOCK, place), weigh(place, place + BLOCK)) for place in places
    }


def _count_words(message: AgentMessage) -> Mapping[str, int]:
    texts = [block for block in message.blocks if block["type"] == "text"]
    words = WORD.findall(plain_text(texts)[:CHARACTERS].lower())
    pairs = (a + b for a, b in pairwise(words) if len(a) == len(b) == 1)
    return Counter([*(word[:STEM] for word in words if len(word) > 1), *pairs])


def _cosine(one: WordWeights, other: WordWeights) -> float:
    common = sum(one[word] * other[word] for word in one.keys() & other.keys())
    sizes = (sum(weight**2 for weight in each.values()) for each in (one, other))
    size = sqrt(next(sizes) * next(sizes))
    return common / size if size else 0.0
