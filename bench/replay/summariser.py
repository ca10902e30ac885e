"""A scripted model that writes lossy summaries, and now and then bad ones.

It copies sentences of what it is given under the headings that are demanded, each with its message
number. A twentieth of its bullets hold a made-up value; two replies in a hundred are
empty, and two lack headings.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.audit.evidence import GOALS
from agent.compaction.instructions.pins import find_pins_in
from agent.compaction.skills import INSTRUCTIONS
from agent.compaction.writing.handles import READ
from agent.messages import AgentMessage, RawTokens, plain_text
from bench.replay.values import Text
from demo.api import protocol
from demo.api.recording import join_text
from demo.mind.recognition import HEADING, messages_of, summary_instruction
from demo.mind.summaries import CUT_HERE, SourceMessage, read_entries

INVENTED, EMPTY, UNHEADED = 0.05, 0.02, 0.02
FROM_USER = 0.5  # of the bullets
FROM_PREVIOUS = 0.5  # of a merge's bullets
_LIMIT = re.compile(r"Write at most (\d+) words")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
BULLET = re.compile(r"^- (.*?)((?: \[#[^\]]*\])?)$", re.M)
_PREVIOUS = re.compile(r"<previous_summary>\n(.*?)\n</previous_summary>", re.S)
_NUMBER = re.compile(r"\d{2,}")
_STATEMENTS = re.compile(r"<statements>\n(.*?)\n</statements>", re.S)
_STATEMENT = re.compile(r"^(\d+)\. - (.*?) \[#(\d+)\]", re.M)
LONGEST = 240  # characters of a bullet


@dataclass
class Summariser:
    """`planted`: the invented values so far, in lower case."""

    seed: int
    planted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)

    def write(self, body: Mapping[str, Any]) -> str:
        """The reply's text for a summariser's request."""
        fate = self._dice.random()
        if fate < EMPTY:
            return ""
        if statements := _STATEMENTS.search(join_text(messages_of(body)[-1])):
            return self._correct(statements[1], body)
        instruction = summary_instruction(body)
        if instruction is None:
            raise ValueError("this is not a request for a summary")
        headings = HEADING.findall(instruction)
        if fate < EMPTY + UNHEADED:
            headings = headings[::2]
        limits = _LIMIT.findall(join_text(messages_of(body)[-1]))
        named = "\n".join(_instructions(body)) or "None."
        words = int(limits[-1])
        lines = self._bullets(body, max(words - len(named.split()), words // 2))
        sections = []
        if INSTRUCTIONS in headings:
            headings.remove(INSTRUCTIONS)
            sections.append(f"## {INSTRUCTIONS}\n{named}")
        per_heading = -(-len(lines) // len(headings))
        typed = {f"[#{entry.number}]" for entry in find_entries(body) if entry.role == "user"}
        for heading in headings:
            goals = heading.casefold() == GOALS
            fitting = [line for line in lines if not goals or line.split()[-1] in typed]
            part = fitting[:per_heading]
            lines = [line for line in lines if line not in part]
            sections.append(f"## {heading}\n" + ("\n".join(part) or "None."))
        return "\n".join(sections)

    def _correct(self, statements: str, body: Mapping[str, Any]) -> str:
        """Each statement as the most similar sentence of a message that it cites; it may lie
        again."""
        entries = {entry.number: entry for entry in find_entries(body)}
        source = Text("\n".join(join_text(m) for m in messages_of(body)))
        lines = []
        for number, statement, cited in _STATEMENT.findall(statements):
            entry = entries.get(int(cited))
            words = set(statement.split())
            sentences = split_sentences(entry.text) if entry else []
            if not sentences:
                continue
            best = max(sentences, key=lambda each: len(words & set(each.split())))
            if self._dice.random() < INVENTED:
                best = self._lie(best, source)
            lines.append(f"{number}. {best} [#{cited}]")
        return "\n".join(lines)

    def _bullets(self, body: Mapping[str, Any], words: int) -> list[str]:
        source = Text("\n".join(join_text(m) for m in messages_of(body)))
        old = previous_bullets(body) if "replaces the previous" in str(body["messages"]) else []
        return self.pick_bullets(find_entries(body), old, source, words)

    def pick_bullets(
        self,
        entries: Sequence[SourceMessage],
        old: Sequence[tuple[str, str]],
        source: Text,
        words: int,
    ) -> list[str]:
        """Lines of so many words in all, of messages and of `old` bullets, in the order in which
        they were picked."""
        lines: list[str] = []
        for sentence, citation in self._picked(entries, old):
            if self._dice.random() < INVENTED:
                sentence = self._lie(sentence, source)
            lines.append(f"- {sentence}{citation}")
            words -= len(sentence.split()) + 1
            if words <= 0:
                break
        return lines

    def _picked(
        self, entries: Sequence[SourceMessage], old: Sequence[tuple[str, str]]
    ) -> Iterator[tuple[str, str]]:
        """Sentences with their citations, each once, at most a few hundred."""
        typed = [entry for entry in entries if entry.role == "user"]
        groups = [typed, [entry for entry in entries if entry.role != "user"]]
        seen: set[str] = set()
        for _ in range(400):
            if old and self._dice.random() < FROM_PREVIOUS:
                sentence, citation = self._dice.choice(old)
            else:
                group = groups[self._dice.random() > FROM_USER] or entries
                if not group:
                    continue
                entry = self._dice.choice(group)
                sentence = self._dice.choice(split_sentences(entry.text) or [""])
                citation = f" [#{entry.number}]"
            if sentence and sentence not in seen:
                seen.add(sentence)
                yield sentence, citation

    def _lie(self, sentence: str, source: Text) -> str:
        """The sentence with a number changed or, where that gives nothing new, a made-up value."""
        numbers = _NUMBER.findall(sentence)
        if numbers and self._dice.random() < 0.5:
            old = self._dice.choice(numbers)
            new = str(self._dice.randrange(10 ** (len(old) - 1), 10 ** len(old)))
            if not source.holds(new):
                self.planted.append(new)
                return sentence.replace(old, new, 1)
        made = self._made_up()
        self.planted.append(made.casefold())
        return f"{sentence.rstrip('.')}, see {made}."

    def _made_up(self) -> str:
        number, name = self._dice.randrange(10**5, 10**6), f"{self._dice.randrange(16**5):05x}"
        kinds = [
            f"src/{name}/handler_{number}.py",
            f"https://example.org/{name}/{number}",
            f"{number % 97}.{number % 89}.{number}",
            f"ERR-{number}",
            f"rebuild_{name}_{number}",
            f"{number} ms",
            f"Load{name.capitalize()}{number}Error",
        ]
        return self._dice.choice(kinds)


def _instructions(body: Mapping[str, Any]) -> list[str]:
    """The user's standing ones, which this model knows by their wording."""
    users = [
        AgentMessage(entry.number, "user", [protocol.text(entry.text)], RawTokens(0))
        for entry in find_entries(body)
        if entry.role == "user"
    ]
    return [pin.render() for message in users for pin in find_pins_in(message)]


def split_sentences(text: str) -> list[str]:
    """Sentences and lines of some words; markup of lists and headings left out."""
    parts = (" ".join(part.split()).lstrip("#*-> ") for part in _SENTENCE.split(text))
    return [
        part[:LONGEST].rsplit(" ", 1)[0] if len(part) > LONGEST else part
        for part in parts
        if len(part.split()) > 3 and not part.startswith("[…")
    ]


def find_entries(body: Mapping[str, Any]) -> list[SourceMessage]:
    """The messages that the summariser reads; results of tools have the role "tool". After a warm
    prefix they stand in the request itself; the outline tells which is which by their
    beginnings."""
    listed = read_entries(body)
    if "<transcript>" in join_text(messages_of(body)[-1]):
        return listed
    whole = list(_list_texts(body))
    found, at = [], 0
    for entry in listed:
        opening = CUT_HERE.split(entry.text)[0]
        for index, (role, start, said) in enumerate(whole[at:], start=at + 1):
            if start.startswith(opening) and (role == "tool") <= (entry.role == "user"):
                entry, at = SourceMessage(entry.number, role, said), index
                break
        found.append(entry)
    return found


def _list_texts(body: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The role, the opening on one line and the text of each message in a request, and of its
    blocks: several messages in a row of one role are sent as one."""
    for message in messages_of(body)[:-1]:
        blocks = message["content"]
        results = any(block["type"] == "tool_result" for block in blocks)
        for text in dict.fromkeys([plain_text(blocks), *(plain_text([b]) for b in blocks)]):
            opening = " ".join(text[:READ].split())
            yield "tool" if results else message["role"], opening, text


def previous_bullets(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Bullets of the chapters that are to be merged: (text, citation)."""
    text = "\n".join(join_text(m) for m in messages_of(body))
    return [pair for part in _PREVIOUS.findall(text) for pair in BULLET.findall(part)]
