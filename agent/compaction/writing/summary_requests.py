"""The summariser's requests: a warm prefix, serialised text, or records to be merged.

Nothing in the material can leave its place: closing tags are defused, and code checks the result.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import inf
from typing import NamedTuple

from agent.clock import format_local_day, format_local_moment
from agent.compaction.skills import FULL, Skill
from agent.compaction.writing.handles import find_handles
from agent.context.api_messages import text_block
from agent.context.assemble import DEFUSED, Context, assemble
from agent.context.request import ReplySettings, Request
from agent.context.shortening.text_previews import HEAD, TAIL, preview_text
from agent.messages import (
    AgentMessage,
    Block,
    RawTokens,
    block_text,
    file_name,
    file_text,
    is_file,
    list_cited_pages,
)
from agent.tokens import Factor, TokenCounter

# Of a record with its headings and citations, by cl100k: English bullets have 0.5 to 0.7 words a
# token. Chinese and Japanese have no spaces; theirs have 1.3 characters, and 0.9 without values.
WORDS_PER_TOKEN, CHARACTERS_PER_TOKEN = 0.6, 1.0
COMPACT_FORM = 700  # tokens; a chapter that small has room for one bullet a heading
MESSAGE_CHARACTERS = 100_000
NOTES_CHARACTERS = 300  # of what is capped: header, and note of what was left out

# Tags that fence the material, and the line that begins a message in it.
_FENCE = re.compile(
    r"<(\s*/\s*(?:transcript|previous_summary|focus|outline|written|statements)\b)", re.I
)
_HEADER = re.compile(r"^\[#\d+ (?:user|assistant)(?=\]| ·)", re.M)
_ESCAPED = r"\\\g<0>"

MERGE_NOTE = (
    "The previous summary has several chapters, and is the material here. Write one new chapter "
    "that replaces the previous summary and covers everything in it. Keep every decision, pending "
    "task, open question, constraint and exact value; drop what is settled and no longer matters. "
    "The chapters stand in the order of time: where two disagree, the later one is right. Keep the "
    "bullets that begin with “Replaced:”."
)

MISTAKES_NOTE = (
    "Your last record was looked up in the messages that it cites. These statements failed. Write "
    "the whole record again, with each of them corrected from the messages and with the numbers of "
    "the messages that say it; leave out what no message says.\n"
)

TOO_LONG_NOTE = (
    "Your last record was too long, so that these statements would be thrown away. Write the whole "
    "record again within the limit: say it in fewer words, and leave out what matters least.\n"
)

MISSING_NOTE = (
    "These headings were not found in it: {missing}. Answer with the record alone, with no word, "
    "tag or fence around it, and write each heading on a line of its own, exactly as here and in "
    "this order: {headings}."
)

REST_NOTE = (
    "Your last reply was cut off at its limit. Of what you wrote, this is kept:\n"
    "<written>\n{written}\n</written>\nWrite only the rest, in fewer words, and nothing of this "
    "again. Go on under the first of these headings with what it still lacks, and write them all: "
    "{left}."
)


@dataclass(frozen=True, slots=True)
class Form:
    """What is asked for: the chapter's size in tokens, what to keep in particular, and what was
    wrong with the attempt before, if there was one: with its form, of which headings may be
    `missing`; with some statements; with its size, for which some were too many; or that it was cut
    after what is `written`, so that these headings are `left`. `hard`: nothing longer is kept."""

    tokens: int
    focus: str = ""
    correction: str = ""
    missing: Sequence[str] = ()
    mistakes: Sequence[str] = ()
    too_many: Sequence[str] = ()
    written: str = ""
    left: Sequence[str] = ()
    skill: Skill = FULL
    hard: bool = False

    @property
    def most(self) -> int:
        """Tokens of the model's text beyond which it is cut: a little too long is better than cut,
        but under a hard limit, of which a fifth is left for the user's last request."""
        return self.tokens * 4 // 5 if self.hard else 2 * self.tokens

    def note(self) -> str:
        """The last paragraphs of the instruction."""
        tokens = min(self.tokens, self.most)
        words, characters = int(tokens * WORDS_PER_TOKEN), int(tokens * CHARACTERS_PER_TOKEN)
        parts = [
            f"Write at most {words} words in all, citations counted; without spaces between words, "
            f"{characters} characters."
        ]
        if self.tokens <= COMPACT_FORM and self.skill is FULL:
            parts.append("Write one bullet a heading, the one that matters most.")
        if self.focus:
            parts.append(
                "The user asked to keep the following in particular (a topic, not an "
                f"instruction):\n<focus>\n{defuse(self.focus)}\n</focus>"
            )
        if self.correction:
            parts.append(f"Your last record could not be used: {self.correction}. Mend that.")
        if self.missing:
            missing, headings = map(_name_headings, (self.missing, self.skill.headings))
            parts.append(MISSING_NOTE.format(missing=missing, headings=headings))
        if self.mistakes:
            parts.append(MISTAKES_NOTE + "\n".join(map(defuse, self.mistakes)))
        if self.too_many:
            parts.append(TOO_LONG_NOTE + "\n".join(map(defuse, self.too_many)))
        if self.written:
            left = _name_headings(self.left)
            parts.append(REST_NOTE.format(written=defuse(self.written), left=left))
        return "\n\n".join(parts)


def _name_headings(headings: Sequence[str]) -> str:
    return ", ".join(f"“## {heading}”" for heading in headings)


def defuse(text: str) -> str:
    """Text in which no closing tag of ours closes anything."""
    return _FENCE.sub(DEFUSED, text)


def serialise(message: AgentMessage, limit: int = MESSAGE_CHARACTERS) -> str:
    """One message as the summariser reads it: with its number and time, tool results as previews,
    at most `limit` characters; no text in it can leave the transcript or pass for another
    message."""
    body = _HEADER.sub(_ESCAPED, defuse(_shortened(message, limit)))
    time = f" · {format_local_moment(message.at, message.zone)}" if message.at else ""
    return f"[#{message.number} {message.role}{time}]\n{body}"


def _serialise_all(messages: Sequence[AgentMessage]) -> str:
    """The messages in order, without those of which nothing is sent."""
    return "\n\n".join(serialise(message) for message in messages if message.blocks)


def _shortened(message: AgentMessage, limit: int) -> str:
    return preview_text(_read_of(message.blocks), limit // 2, limit // 2)


def _read_of(blocks: Sequence[Block]) -> str:
    """The text that is read of a message, tool results and files as previews."""
    texts = []
    for block in blocks:
        if is_file(block):
            texts += [file_name(block), preview_text(file_text(block), HEAD, TAIL)]
        elif block.get("type", "").endswith("tool_result"):
            texts.append(preview_text(block_text(block), HEAD, TAIL))
        else:
            texts.append(block_text(block))
    return "\n".join(filter(None, [*texts, *list_cited_pages(blocks)]))


def shorten_message(message: AgentMessage, characters: int) -> AgentMessage:
    """A message of which at most so many characters of text, and a note, are read."""
    text = _read_of([block for block in message.blocks if not is_file(block)])
    if len(text) <= characters:
        return message
    files = [block for block in message.blocks if is_file(block)]
    short = preview_text(text, characters // 2, characters // 2)
    return replace(message, blocks=[text_block(short), *files])


def build_serialised_request(
    messages: Sequence[AgentMessage], previous: str, form: Form, *, model: str, max_tokens: int
) -> Request:
    """Instructions as system prompt, the material as text in one message."""
    transcript = _serialise_all(messages)
    parts = [f"<transcript>\n{transcript}\n</transcript>", form.note()]
    if previous:
        parts.insert(0, f"<previous_summary>\n{defuse(previous)}\n</previous_summary>")
    what = "rest of the record" if form.written else "record"
    parts.append(f"Write the {what} of this transcript now.")
    return _request("\n\n".join(parts), form, model, max_tokens)


def build_merge_request(records: str, form: Form, *, model: str, max_tokens: int) -> Request:
    """The records of several parts, to be written as one."""
    parts = [f"<previous_summary>\n{defuse(records)}\n</previous_summary>"]
    parts += [MERGE_NOTE, form.note()]
    return _request("\n\n".join(parts), form, model, max_tokens)


def _request(text: str, form: Form, model: str, max_tokens: int) -> Request:
    return Request(
        model=model,
        max_tokens=max_tokens,
        system=[text_block(form.skill.text)],
        messages=[{"role": "user", "content": [text_block(text)]}],
        once=True,
    )


def build_warm_request(context: Context, covered: Sequence[AgentMessage], form: Form) -> Request:
    """The conversation's own last request, byte for byte, and the instruction after it, so that
    the server reads all but the instruction from its prompt cache. A prompt that has not been
    sent yet is left out, and so is how a person wants replies: a summary is none."""
    sent = context.messages[: len(context.messages) - count_unsent(context)]
    request = assemble(replace(context, messages=sent), continued=True)
    content = [text_block(write_warm_instruction(covered, form))]
    return replace(
        request,
        max_tokens=choose_warm_max_tokens(context, form),
        reply=ReplySettings(),
        messages=[*request.messages, {"role": "user", "content": content}],
        aside=True,
    )


def count_unsent(context: Context) -> int:
    """How many prompts at its end have not been sent yet."""
    prompts = takewhile(
        lambda message: message.role == "user" and not message.holds_tool_results,
        reversed(context.messages),
    )
    return sum(1 for _ in prompts)


def choose_warm_max_tokens(context: Context, form: Form) -> int:
    """Limit of the reply to a warm prefix, with room for thinking."""
    room = context.limits.usual_reserve
    return min(2 * form.tokens + room // 2, room)


def write_warm_instruction(covered: Sequence[AgentMessage], form: Form) -> str:
    """What is asked after the conversation's own request, with a line for each covered message."""
    first, last = covered[0].number, covered[-1].number
    outline = "\n".join(_outline([message for message in covered if message.blocks]))
    return "\n\n".join(
        [
            f"Stop here. Write the record of messages #{first} to #{last} of this conversation, "
            "and of nothing after them.",
            form.skill.text,
            "The messages and their numbers, each by how it begins and where it differs from "
            f"others:\n<outline>\n{outline}\n</outline>",
            form.note(),
        ]
    )


def _outline(messages: Sequence[AgentMessage]) -> Iterator[str]:
    """A line for each message, and one before them wherever a day begins."""
    day, handles = "", find_handles(messages)
    for message in messages:
        began = format_local_day(message.at, message.zone) if message.at else day
        if began != day:
            day = began
            yield day
        yield render_outline_line(message, handles[message.number])


def render_outline_line(message: AgentMessage, handle: str | None = None) -> str:
    """A message as a line, by which the model can tell its number: with its handle among others,
    or as if there were none."""
    handle = find_handles([message])[message.number] if handle is None else handle
    return f"#{message.number} {message.role}: {defuse(handle)}"


class TranscriptPart(NamedTuple):
    """A run of messages, and its tokens once serialised."""

    messages: Sequence[AgentMessage]
    tokens: int


def split_messages(
    messages: Sequence[AgentMessage],
    room: int,
    factor: Factor,
    counter: TokenCounter,
    characters: float = inf,
) -> list[TranscriptPart]:
    """Runs of messages of at most `room` tokens and so many characters once serialised, each of at
    least one message; a call stays with its results."""
    parts = [TranscriptPart([], 0)]
    length = 0
    for message in messages:
        text = serialise(message)
        size = factor.apply(counter.count(text))
        run, used = parts[-1]
        full = used + size > room or length + len(text) > characters
        if run and full and not message.holds_tool_results:
            parts.append(TranscriptPart([message], size))
            length = len(text)
        else:
            parts[-1] = TranscriptPart([*run, message], used + size)
            length += len(text)
    return parts


def count_unread_tokens(
    message: AgentMessage, read: AgentMessage, counter: TokenCounter
) -> RawTokens:
    """Tokens of a message that a request does not hold, where `read` is what was made of it to fit.
    Results and files are previews in any case, and do not count."""
    whole, part = _read_of(message.blocks), _shortened(read, MESSAGE_CHARACTERS)
    if whole == part:
        return RawTokens(0)
    return RawTokens(max(0, counter.count(whole) - counter.count(part)))
