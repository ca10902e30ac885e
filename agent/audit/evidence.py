"""The messages that a summary was written from, as places to look statements up."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property

from agent.audit.derived_values import Operands
from agent.audit.facts.clauses import Clause, split_sentences
from agent.audit.facts.dates import Day, agree
from agent.audit.facts.names import is_abbreviation, is_name_in
from agent.audit.facts.relative import find_meant_days, is_meant
from agent.audit.facts.spans import DAY, find_gaps, is_between, is_year, spans
from agent.audit.facts.values import Value, find_values, read_label
from agent.audit.facts.words import clean, find_content_words
from agent.authorship.typed import read_typed_words
from agent.clock import to_local
from agent.messages import AgentMessage, Block, file_text, is_file, plain_text
from agent.search.exact_values import is_serial, simplify_numbers

UNVERIFIED = "(unverified)"
FENCE = re.compile(r"\s*(?:```|~~~)")
GOALS = "goal and constraints"  # the heading, in lower case
_CITATION = re.compile(r"(?<!\s)\s*\[((?:#\d+(?:[–-]#?\d+)?[,;\s]*)+)\]")
MOST_DIGITS = 9  # of a message's number: databases count to 2**31, Python reads 4,300 digits
_NUMBERS = re.compile(r"#(\d+)(?:[–-]#?(\d+))?")
# A value's parts, between which a text may have spaces or marks of code.
_PIECE = re.compile(r"[\d.]*\d|[^\d\s`()]+")
_GAP = r"[\s`()]*"
# A longer number has what is looked for as its beginning or its end: HT-2024 of HT-2024-118.
_NO_FIGURE_BEFORE, _NO_GROUP_BEFORE = r"(?<!\d-)", r"(?<![^\W_]-)"
_NO_GROUP_AFTER = r"(?!-(?:[^\W_]*\d|[^\W\d_]{1,3}\b))"
# A German noun with a number before it: its parts may stand apart, as in “Impfung gegen COVID-19”.
_COMPOUND = re.compile(r"(.*\d.*)-([A-ZÄÖÜ][a-zäöüß]{3,})")
_CJK = re.compile("[\u3040-\u9fff]")
# Content words that a bullet and a message that it cites must share.
SHARED_WORDS = 2
# A whole number up to this one may be what the model counted itself. It is wrong only where a
# message has another number of the same thing.
COUNTED = 12
RARE, RARE_SHARE = 2, 0.02  # messages with a word, or a share of all, for it to be no common one
SHORTEST_STEM, LONGEST_ENDING = 4, 4  # letters


class Evidence:
    """Texts that are looked at together. `said_on`: the day of each, as far as it is known."""

    def __init__(self, texts: Iterable[str], said_on: Iterable[date | None] = ()) -> None:
        self._texts, self._said_on = tuple(texts), tuple(said_on)

    @cached_property
    def text(self) -> str:
        return clean("\n".join(self._texts))

    @cached_property
    def words(self) -> set[str]:
        return find_content_words(self.text)

    @cached_property
    def sentences(self) -> list[Clause]:
        return split_sentences(self.text)

    @cached_property
    def _simple(self) -> str:
        return simplify_numbers(self.text)

    @cached_property
    def _values(self) -> Sequence[Value]:
        return find_values(self.text)

    @cached_property
    def _readings(self) -> set[tuple[str, float]]:
        return {reading for value in self._values for reading in value.readings}

    @cached_property
    def _amounts(self) -> set[float]:
        return {amount for value in self._values for amount in value.amounts}

    @cached_property
    def _bare(self) -> set[float]:
        return {amount for value in self._values if value.is_bare for amount in value.amounts}

    @cached_property
    def _days(self) -> set[Day]:
        days = {day for value in self._values for day in value.days}
        # “2026-05-04, not as May 4”: the year of one is that of the other.
        whole = {day[1:] for day in days if day[0]}
        return {day for day in days if day[0] or day[1:] not in whole}

    @cached_property
    def _meant(self) -> set[Day]:
        """The days that are said from the day of a text on, as in “tomorrow”."""
        dated = zip(self._texts, self._said_on, strict=False)
        return {day for text, said in dated if said for day in find_meant_days(clean(text), said)}

    @cached_property
    def _counts(self) -> Mapping[str, set[float]]:
        """The numbers that are given of each thing."""
        found: dict[str, set[float]] = {}
        for value in self._values:
            if value.noun and not value.loose:
                found.setdefault(value.noun, set()).update(value.amounts)
        return found

    @cached_property
    def _labels(self) -> Collection[str]:
        """The words that have a number, as "article" of "article 7"."""
        return {label for value in self._values if (label := read_label(self.text, value))}

    @cached_property
    def _operands(self) -> Operands:
        return Operands(self.text, self._values)

    def shares_unit(self, value: Value) -> bool:
        """Whether something else is said here in its unit, from which it may follow."""
        return self._operands.has_unit(value)

    @cached_property
    def _before_a_word(self) -> str:
        """As an expression. What allows for words that follow Chinese or Japanese at once takes a
        millisecond to compile, for each name anew."""
        return r"(?<![^\W\u3040-\u9fff])" if _CJK.search(self._simple) else r"(?<!\w)"

    def holds(self, name: str) -> bool:
        """Whether an exact value stands here by itself, and not as a part of a longer one. Spaces
        and marks of code may differ, and in a number with letters its hyphens."""
        pieces = _PIECE.findall(simplify_numbers(clean(name)).rstrip("/."))
        if not pieces:
            return True
        before = r"(?<!\d)(?<!\d\.)" if pieces[0][0].isdigit() else self._before_a_word
        after = r"(?!\d)" if pieces[-1][-1].isdigit() else ""
        if not (pieces[0][0].isalnum() or pieces[0][0] == "_"):
            before = ""
        pattern = _GAP.join(map(re.escape, pieces))
        if is_serial(name):
            of_groups = name[0].isdigit() and "-" in name
            before += _NO_GROUP_BEFORE if of_groups else _NO_FIGURE_BEFORE
            after += _NO_GROUP_AFTER
            pattern = pattern.replace(r"\-", r"-?")
        if re.search(before + pattern + after, self._simple) or is_abbreviation(name, self._simple):
            return True
        compound = _COMPOUND.fullmatch(name)
        return compound is not None and self.holds(compound[1]) and self.names(compound[2])

    def backs(self, value: Value, statement: str = "") -> bool:
        """Whether a number, a date or a time is said here or follows from what is said, and from
        other numbers and periods of the statement that it stands in."""
        if any(agree(day, other) for day in value.days for other in self._days):
            return True
        if any(is_meant(day, self._meant) for day in value.days):
            return True
        if not value.readings:
            return False
        counted = self._counts.get(value.noun, ())
        return self._says(value, statement) or self._operands.gives_value(value, statement, counted)

    def _says(self, value: Value, statement: str) -> bool:
        if value.readings & self._readings:
            return not (value.is_bare and self._is_of_another_number(value))
        if value.is_bare:
            years = (int(n) for n in value.amounts if is_year(n))
            if any(is_meant((year, None, None), self._meant) for year in years):
                return True
            small = all(n <= COUNTED and n % 1 == 0 for n in value.amounts)
            if not small and value.amounts & self._amounts:
                return not self._is_of_another_number(value)
            label = read_label(statement, value)
            return small and not (self._is_of_another_number(value) or label in self._labels)
        return bool(self._without_unit(value)) or self._is_span(value)

    def _without_unit(self, value: Value) -> set[float]:
        """The numbers of a value that stand here without a unit: large ones, or small ones beside
        others of the unit, as in “14 minutes; under five”."""
        units = {unit for unit, _ in self._readings}
        shared = any(unit in units for unit, _ in value.readings)
        return {n for n in value.amounts & self._bare if n > COUNTED or shared}

    def says(self, value: Value) -> bool:
        """`backs`, looked for as it is written first: all of a conversation is slow to read."""
        written = re.escape(value.text)
        return re.search(rf"(?<!\d){written}(?!\d)", self.text) is not None or self.backs(value)

    def _is_of_another_number(self, value: Value) -> bool:
        counted = self._counts.get(value.noun)
        return counted is not None and value.amounts.isdisjoint(counted)

    def _is_span(self, value: Value) -> bool:
        """Whether it is the time between two dates or two times."""
        times = [amount for unit, amount in self._readings if unit == "time"]
        return any(
            is_between(times, amount)
            if unit == "s" and amount < DAY
            else unit in ("s", "month") and any(spans(unit, amount, n) for n in self._gaps)
            for unit, amount in value.readings
        )

    @cached_property
    def _gaps(self) -> set[int]:
        """Days between any two dates."""
        return find_gaps(self._days, self._bare)

    def knows_name(self, word: str) -> bool:
        """Whether a word is written as a name here."""
        return is_name_in(word, self.text)

    def has_stem(self, word: str) -> bool:
        """Whether a word of the same beginning stands here: "Deployment" where one deploys."""
        stem = word.casefold()[: max(SHORTEST_STEM, len(word) - LONGEST_ENDING)]
        return stem in self._simple

    def has_parts(self, word: str) -> bool:
        """Whether a German compound is made of words that stand here: Getränkeverkauf."""
        word = word.casefold()
        cuts = range(SHORTEST_STEM, len(word) - SHORTEST_STEM)
        return any(word[:at] in self._simple and word[at:] in self._simple for at in cuts)

    def names(self, name: str) -> bool:
        """Whether a name stands here, in any case and with another ending."""
        word = name.casefold()
        if len(word) <= SHORTEST_STEM and "\u0400" <= word[0] <= "\u052f":  # Зоя, Зою
            return re.search(rf"(?<!\w){word[:-1]}\w{{0,2}}(?!\w)", self._simple) is not None
        ending = 2 if "\u0400" <= word[0] <= "\u052f" else int(word.endswith("s"))
        return word[: max(3, len(word) - ending)] in self._simple or is_abbreviation(
            name, self._simple
        )


class Source:
    """The covered messages, and what an earlier summary said."""

    def __init__(self, messages: Sequence[AgentMessage], previous: str = "") -> None:
        self._texts = {message.number: plain_text(message.blocks) for message in messages}
        self._days = {m.number: to_local(m.at, m.zone).date() for m in messages if m.at}
        self._messages = {message.number: message for message in messages}
        # Many bullets cite the same messages.
        self._said: dict[tuple[int, ...], Evidence] = {}
        self._own: dict[tuple[int, ...], Evidence] = {}
        self._goals: dict[int, str] = {}  # of an earlier summary, by the message that each cites
        # What an image or a PDF says, code cannot look up.
        self.unreadable = {m.number for m in messages if any(map(_is_unreadable, m.blocks))}
        verified = remove_unverified(previous)
        self._add_previous(verified)
        days = map(self._days.get, self._texts)
        self.all = Evidence([*self._texts.values(), verified], days)

    def _add_previous(self, previous: str) -> None:
        """In a merge a bullet that cites a message stands for it."""
        heading = ""
        for line in previous.splitlines():
            heading = line[3:].strip().casefold() if line.startswith("## ") else heading
            for number in find_citations(line):
                said = remove_citations(line)
                self._texts[number] = f"{self._texts.get(number, '')}\n{said}"
                if heading == GOALS and number not in self._messages:
                    self._goals[number] = f"{self._goals.get(number, '')}\n{said}"

    def __contains__(self, number: int) -> bool:
        return number in self._texts

    def is_before(self, number: int) -> bool:
        """Whether a message is older than all of these."""
        return 0 < number < min(self._texts, default=0)

    def is_exchange(self, number: int, after: int) -> bool:
        """Whether one message is a person's, and the other the reply to it."""
        prompt, reply = self._messages.get(number), self._messages.get(after)
        return bool(prompt and reply and prompt.is_prompt and reply.role == "assistant")

    @cached_property
    def places(self) -> Mapping[str, Sequence[int]]:
        """The numbers of the messages that have a content word."""
        found: dict[str, list[int]] = {}
        for number in self._texts:
            for word in self.look_up(f"x [#{number}]").words:
                found.setdefault(word, []).append(number)
        return found

    def look_up(self, line: str) -> Evidence:
        """What the messages say that a line cites."""
        cited = tuple(self._list_cited(line))
        if cited not in self._said:
            texts = (self._texts[number] for number in cited)
            self._said[cited] = Evidence(texts, map(self._days.get, cited))
        return self._said[cited]

    def look_up_typed(self, line: str) -> Evidence:
        """What the user typed in the messages that a line cites."""
        cited = tuple(self._list_cited(line))
        if cited not in self._own:
            typed = map(self._read_typed, cited)
            self._own[cited] = Evidence(typed, map(self._days.get, cited))
        return self._own[cited]

    def _read_typed(self, number: int) -> str:
        message = self._messages.get(number)
        if message is None:
            return self._goals.get(number, "")
        return read_typed_words(message) if message.is_prompt else ""

    def _list_cited(self, line: str) -> list[int]:
        """Every message that a line cites; a range is all that lies in it."""
        cited: dict[int, None] = {}
        for group in _CITATION.findall(line):
            for first, last in _NUMBERS.findall(group):
                if max(len(first), len(last)) > MOST_DIGITS:
                    continue
                ends = int(first), int(last or first)
                cited |= dict.fromkeys(n for n in ends if n in self._texts)
                if last:
                    cited |= dict.fromkeys(n for n in self._texts if ends[0] <= n <= ends[1])
        return list(cited)

    def find_writer(self, line: str) -> str:
        """Who wrote the message that a line cites: "user" or "assistant"; of several, the one that
        has most of its words. "" where that is not certain, or a tool wrote it."""
        writers: dict[str, int] = {}
        words = find_content_words(clean(strip_citations(line)))
        cited = [self._messages.get(number) for number in self._list_cited(line)]
        for message in cited:
            if message is None or not (message.role == "assistant" or message.is_prompt):
                return ""
        roles = {message.role for message in cited if message}
        if len(roles) < 2:
            return next(iter(roles), "")
        for message in filter(None, cited):
            shared = len(words & find_content_words(clean(plain_text(message.blocks))))
            writers[message.role] = max(writers.get(message.role, 0), shared)
        return max(writers, key=writers.__getitem__) if len(set(writers.values())) > 1 else ""

    def is_rare(self, word: str) -> bool:
        """Whether a word stands in some message, and in few of them."""
        count = sum(word in text for text in self._texts.values())
        return 0 < count <= max(RARE, RARE_SHARE * len(self._texts))


def _is_unreadable(block: Block) -> bool:
    if block["type"] == "tool_result" and isinstance(block.get("content"), list):
        return any(map(_is_unreadable, block["content"]))
    return is_file(block) and not file_text(block)


def remove_unverified(summary: str) -> str:
    """A summary without what an audit marked, which supports nothing. The mark of code stands on a
    line of its own behind its fence."""
    kept: list[str] = []
    code, inside = 0, False  # where in `kept` the last block of code begins
    for line in summary.splitlines():
        if FENCE.match(line):
            code = code if inside else len(kept)
            inside = not inside
        elif UNVERIFIED in line and not inside:
            if line.strip() == UNVERIFIED and kept and FENCE.match(kept[-1]):
                del kept[code:]
            continue
        kept.append(line)
    return "\n".join(kept)


def find_citations(line: str) -> list[int]:
    """The message numbers that a bullet rests on, in order; a range counts with both ends. What is
    too long to be a message's number is ignored."""
    ends = (
        end for group in _CITATION.findall(line) for pair in _NUMBERS.findall(group) for end in pair
    )
    return list(dict.fromkeys(int(end) for end in ends if 0 < len(end) <= MOST_DIGITS))


def remove_citations(line: str) -> str:
    return _CITATION.sub("", line)


def strip_citations(line: str) -> str:
    """A line's text alone, without its message numbers and the audit's mark."""
    return remove_citations(line).replace(UNVERIFIED, "").strip()
