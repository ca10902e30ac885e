"""What waits for the user's decision, as cards above the message box: tool calls, and changes of
what is remembered."""

import json
import unicodedata

from django.template.loader import render_to_string

from agent.messages import Block
from agent.tools.mcp_names import read_own_name
from chat.html.sanitiser import clean_text
from chat.models import MemoryProposal

_UNSEEN = frozenset({"Cc", "Cf", "Co", "Zl", "Zp"})  # Unicode's categories


def render_proposal(proposal: MemoryProposal) -> str:
    """A change of what is remembered."""
    context = {"proposal": proposal, "text": make_visible(proposal.text)}
    return render_to_string("chat/questions/memory.html", context)


def render_call_question(turn_id: int, server: str, call: Block) -> str:
    """A tool call with all its arguments, before it is made."""
    context = {
        "turn_id": turn_id,
        "call_id": call["id"],
        "server": server,
        "tool": make_visible(read_own_name(call["name"].removeprefix(f"{server}__"))),
        "arguments": make_visible(json.dumps(call["input"], ensure_ascii=False, indent=2)),
    }
    return render_to_string("chat/questions/call.html", context)


def make_visible(text: str) -> str:
    """A text in which invisible characters, and characters that change the order of others, are
    escapes: the user must see exactly what they allow."""
    return "".join(map(_visible, clean_text(text)))


def _visible(character: str) -> str:
    shown = unicodedata.category(character) not in _UNSEEN and not _is_selector(character)
    return character if shown or character == "\n" else json.dumps(character).strip('"')


def _is_selector(character: str) -> bool:
    """Whether it only selects a form of the character before it. A run of them can carry hidden
    text."""
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
