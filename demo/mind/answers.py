"""The demo's mind: from a request to a reply, by rule and always the same.

It says that it is not an AI. Its replies are long for its small window, so that a conversation of
some seven short messages reaches the compaction's trigger.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from demo.api.protocol import ScriptedReply, text, tool_use
from demo.api.recording import find_time, join_text
from demo.api.tokens import (
    Body,
    blocks_of,
    compact_json,
    count_request_tokens,
    encode_text,
    tokens_of_bytes,
)
from demo.mind import samples, texts
from demo.mind.models import DEMO_MODEL
from demo.mind.recognition import SUMMARY_MARK, messages_of, recognise_kind
from demo.mind.summaries import compose_summary
from demo.mind.titles import compose_title

# Seven replies of this size, with their questions, fill 80 % of the demo's 8,192 tokens.
REPLY_BYTES = 3900
ECHO_CHARACTERS = 160
FOUND_CHARACTERS = 1200
PIECE_CHARACTERS = 12
# Examples and tour by turns; a reply has room for about five of them.
PIECES = tuple(piece for pair in zip(texts.TOUR, samples.SAMPLES, strict=True) for piece in pair)
PIECES_PER_REPLY = 5
SEARCH_TOOL = "search_history"

_INTENTS = (
    (r"compact|summar|context|forget|how (does|do) (it|this|everlong)", texts.COMPACTION),
    (r"\btable|\bcolumns?\b|\bcompare|\bcsv\b", samples.TABLE),
    (r"\bcode\b|python|function|script|program|\bclass\b|\bregex", samples.CODE),
    (r"\blists?\b|\bsteps?\b|\bplan\b|\bto-?dos?\b|\bideas?\b|bullet", samples.LIST),
    (r"^\W*(hi|hello|hey|good (morning|day|evening)|who are you|what are you)\b", texts.GREETING),
)
_SEARCH = re.compile(
    r"\b(search|find|look up|recall|remember when|earlier|what (was|were))\b", re.IGNORECASE
)
_ASKS_TIME = re.compile(r"\bwhat (?:day|date|time|year|month)\b|\btoday\b", re.IGNORECASE)
_HIT = re.compile(r"^\[(#\d+)\]", re.MULTILINE)  # how a result names the message of a hit
CITED = 3


def answer(body: Body, *, window: int = DEMO_MODEL.window) -> ScriptedReply:
    """The demo's reply to a Messages API request: a summary, a title, a tool call or a text.

    It is cut at `max_tokens` and at the window (tokens), with the stop reason that says so.
    """
    kind = recognise_kind(body)
    if kind == "summary":
        reply = ScriptedReply((text(compose_summary(body)),))
    elif kind == "title":
        reply = ScriptedReply((text(compose_title(body)),))
    else:
        reply = _chat(body)
    return _clip(replace(reply, piece_chars=PIECE_CHARACTERS), body, window)


def _chat(body: Body) -> ScriptedReply:
    messages = messages_of(body)
    last = messages[-1] if messages else {}
    results = [b for b in blocks_of(last.get("content")) if b.get("type") == "tool_result"]
    if results:
        return ScriptedReply((text(_compose(_found(results), body)),))
    asked = join_text(last).strip()
    call = _search_call(asked, body)
    if call is not None:
        return call
    told = _tell_time(messages) if _ASKS_TIME.search(asked) else ""
    return ScriptedReply((text(_compose(_echo(asked) + told + _section(asked), body)),))


def _tell_time(messages: Sequence[dict[str, Any]]) -> str:
    """The last time that the request says, "" for none."""
    told = next(filter(None, map(find_time, reversed(messages))), "")
    return f"The last time that your request says is {told}.\n" if told else ""


def _section(asked: str) -> str:
    for pattern, section in _INTENTS:
        if re.search(pattern, asked, re.IGNORECASE):
            return "\n" + section
    return ""


def _echo(asked: str) -> str:
    if not asked:
        return "You sent something without text, which a demo cannot read.\n"
    words = " ".join(asked.split())
    short = words[:ECHO_CHARACTERS]
    more = " …" if len(words) > len(short) else ""
    count = len(words.split())
    return f"You wrote {count} word{'s' * (count != 1)}: “{_plain(short)}{more}”\n"


def _plain(value: str) -> str:
    """The text with its Markdown escaped, so that an echo looks like what was typed."""
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", value)


def _compose(answer_text: str, body: Body) -> str:
    """The opening, what was asked for, the state of the window, and enough pieces to fill the
    reply."""
    parts = [texts.OPENING, answer_text, _state(body)]
    size = sum(len(encode_text(part)) + 1 for part in parts)
    turn = sum(1 for m in messages_of(body) if m.get("role") == "user")
    start = (turn - 1) * PIECES_PER_REPLY
    for offset in range(len(PIECES)):
        piece = PIECES[(start + offset) % len(PIECES)]
        fits = size + len(encode_text(piece)) + 1 <= REPLY_BYTES
        if fits and piece not in answer_text:
            parts.append(piece)
            size += len(encode_text(piece)) + 1
    return "\n".join(parts).rstrip()


def _state(body: Body) -> str:
    """How full the window is, as the demo's server counts it."""
    used, summary = count_request_tokens(body), SUMMARY_MARK in compact_json(body.get("system"))
    kept = "with a summary of what was before" if summary else "all of it word for word"
    return (
        f"Your request was {used:,} tokens long by the demo's count, {kept}: "
        f"{used * 100 // DEMO_MODEL.window} % of the {DEMO_MODEL.window:,} that fit.\n"
    )


def _search_call(asked: str, body: Body) -> ScriptedReply | None:
    """A call of the search tool, if it is declared and the user wants something found."""
    tools: list[Mapping[str, Any]] = [t for t in body.get("tools") or [] if isinstance(t, dict)]
    if not any(tool.get("name") == SEARCH_TOOL for tool in tools) or not _SEARCH.search(asked):
        return None
    query = " ".join(_SEARCH.sub(" ", asked).split())[:ECHO_CHARACTERS] or asked
    # The id must differ from all others of the conversation, and still be the same each time.
    digest = sha256(encode_text(compact_json(body.get("messages")))).hexdigest()
    lead = text("Demo reply, not an AI: the search tool is called with your words.")
    return ScriptedReply(
        (lead, tool_use(SEARCH_TOOL, {"query": query}, f"toolu_demo_{digest[:16]}"))
    )


def _found(results: list[dict[str, Any]]) -> str:
    found = "\n\n".join(
        str(block.get("text", "")) for r in results for block in blocks_of(r.get("content"))
    )
    quoted = "\n".join(f"> {_plain(line)}" for line in found[:FOUND_CHARACTERS].splitlines())
    hits = list(dict.fromkeys(_HIT.findall(found)))[:CITED]
    cited = f"\nIt stands in [{' '.join(hits)}].\n" if hits else ""
    return texts.FOUND + (quoted or "> Nothing.") + "\n" + cited


def _clip(reply: ScriptedReply, body: Body, window: int) -> ScriptedReply:
    """The reply as a model would be stopped by the limits of the request."""
    limit, reason = int(body.get("max_tokens") or 1), "max_tokens"
    room = window - count_request_tokens(body)
    if 0 < room < limit:
        limit, reason = room, "model_context_window_exceeded"
    whole = encode_text(reply.text)
    if reply.effective_stop_reason == "tool_use" or tokens_of_bytes(len(whole)) <= limit:
        return reply
    cut = whole[: limit * 4].decode("utf-8", "ignore").rstrip()
    return replace(reply, blocks=(text(cut),), stop_reason=reason)
