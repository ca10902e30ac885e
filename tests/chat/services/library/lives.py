"""Conversations to which much has happened, by the services that do it; and exports to compare."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

from asgiref.sync import async_to_sync
from PIL import Image

from agent.errors import AgentError, ErrorCode
from chat.engine.state import load_state
from chat.errors import Refused
from chat.models import Compaction, Conversation, Message, Turn
from chat.models.notices import Notice
from chat.queries.export import export_json
from chat.services.library import attachments
from chat.services.library.conversations import change_settings
from chat.services.summary import leaving_out, summaries
from chat.services.turns import branches, endings, requests, turns
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.turns import NewMessage
from tests.chat.factories import HOLDER, add_messages, make_compaction, make_turn

Life = Callable[[Conversation, int], None]
USAGE = {
    "input_tokens": 900,
    "output_tokens": 40,
    "cache_read_input_tokens": 100,
    "output_tokens_details": {"thinking_tokens": 20},
}


def _say(talk: Conversation, seed: int, files: list[str] | None = None) -> Turn:
    """A prompt with parts that were pasted, whose turn waits for its answer."""
    text = f"Take {seed} kg of “Ångström” flour, always. > quoted\n\n```\nx = {seed}\n```"
    new = NewMessage(text, files or [], [(5, 9)], zone="Europe/Berlin")
    start = requests.send_message(talk.owner, talk.pk, new, expected_head=None, holder=HOLDER)
    assert start is not None
    return start.turn


def answer(talk: Conversation, seed: int) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
        {"type": "text", "text": f"It is **{seed}** <script>alert(1)</script> [#1]"},
    ]
    done = TurnOutcome(Turn.Status.COMPLETED, blocks, "end_turn", USAGE)
    turn = _say(talk, seed)
    turns.set_notice(turn.pk, Notice.SERVERS_LEFT_OUT, "maps")
    endings.end_turn(turn.pk, done)


def fail(talk: Conversation, seed: int) -> None:
    error = AgentError(ErrorCode.OVERLOADED, "The server has too much to do.", retryable=True)
    endings.end_turn(_say(talk, seed).pk, TurnOutcome(Turn.Status.FAILED, error=error))


def stop(talk: Conversation, seed: int) -> None:
    written = [{"type": "text", "text": f"Half an ans{seed}"}]
    ending = TurnOutcome(Turn.Status.CANCELLED, written, "stopped")
    endings.end_turn(_say(talk, seed).pk, ending)


def attach(talk: Conversation, seed: int) -> None:
    """A text, and a picture that is not lossless."""
    picture = BytesIO()
    Image.effect_noise((60 + seed % 7, 40), 40).convert("RGB").save(picture, "JPEG")
    files = [("map.txt", f"Here be {seed} dragons".encode()), ("sea.jpg", picture.getvalue())]
    kept = [attachments.store_unsent(talk.owner, *file) for file in files]
    turn = _say(talk, seed, [str(file.pk) for file in kept])
    blocks = [{"type": "text", "text": "I see."}]
    endings.end_turn(turn.pk, TurnOutcome(Turn.Status.COMPLETED, blocks, "end_turn", USAGE))


def use_tools(talk: Conversation, seed: int) -> None:
    pk = f"toolu_{seed}"
    call = {"type": "tool_use", "id": pk, "name": "search_history", "input": {"query": "x"}}
    result = {"type": "tool_result", "tool_use_id": pk, "content": "Found [#1]"}
    turn = make_turn(talk, status=Turn.Status.COMPLETED)
    shown = {"text": "Found [#1]", "omitted": 0, "failed": False, "seconds": 0.25}
    add_messages(talk, [("user", "Look it up.")], turn=turn)
    add_messages(talk, [("assistant", [call])], turn=turn, calls={pk: shown}, usage=USAGE)
    add_messages(talk, [("user", [result]), ("assistant", "Found.")], turn=turn)


def compact(talk: Conversation, seed: int) -> None:
    if _count(talk) > 3:
        make_compaction(
            talk,
            f"## Overview\n\n- They spoke of {seed} kg [#1]",
            focus=f"{seed} kg",
            audit={"bullets": 1, "dropped": [f"- {seed}"], "failures": [], "dollars": {"a": 0.5}},
        )


def fail_to_compact(talk: Conversation, seed: int) -> None:
    if _count(talk) > 3:
        make_compaction(talk, status=Compaction.Status.FAILED, error=f"No worker {seed}.")


def edit_summary(talk: Conversation, seed: int) -> None:
    if talk.compaction:
        text = summaries.editable_text(talk.compaction)
        summaries.edit_summary(talk.compaction.pk, f"{text}\n- Mine: {seed} [#1]")


def revert(talk: Conversation, seed: int) -> None:
    if talk.compaction_id:
        summaries.revert(talk.compaction_id)


def edit(talk: Conversation, seed: int) -> None:
    """Another version of a prompt: a branch."""
    prompt = _choose(talk, seed, role="user")
    if prompt and prompt.blocks[0]["type"] == "text":
        start = branches.edit_message(
            talk.owner, talk.pk, prompt.pk, f"Rather {seed}.", holder=HOLDER
        )
        endings.end_turn(start.turn.pk, TurnOutcome(Turn.Status.COMPLETED))


def switch(talk: Conversation, seed: int) -> None:
    if other := _choose(talk, seed, active=False):
        branches.switch_branch(talk.owner, talk.pk, other.pk)


def leave_out(talk: Conversation, seed: int) -> None:
    if message := _choose(talk, seed, active=True):
        leaving_out.leave_message_out(talk.owner, talk.pk, message.pk, whole=bool(seed % 2))


def delete(talk: Conversation, seed: int) -> None:
    if message := _choose(talk, seed, active=True):
        branches.delete_message(talk.owner, talk.pk, message.pk)


def set_up(talk: Conversation, seed: int) -> None:
    values = {
        "system_prompt": f"Answer in {seed} words.",
        "context_budget": 20_000 + seed,
        "compaction_settings": {"threshold_ratio": 0.7, "keep_recent_messages": 4},
        "reply_settings": {"effort": "high", "max_tokens": 4_000, "temperature": 0.5},
        "tool_settings": {"web": False, "off": ["memory"], "mcp": ["maps"]},
        "keep_first_message": bool(seed % 2),
    }
    change_settings(talk, values)


LIVES: list[Life] = [
    *(answer, answer, use_tools, attach, fail, stop, compact, compact, fail_to_compact),
    *(edit_summary, revert, edit, switch, leave_out, delete, set_up),
]


def live(talk: Conversation, steps: list[tuple[Life, int]]) -> None:
    """Let all of it happen, one after the other; what a conversation refuses does not."""
    for step, seed in steps:
        talk.refresh_from_db()
        try:
            step(talk, seed)
        except Refused:
            continue
    talk.refresh_from_db()


def _count(talk: Conversation) -> int:
    """Messages that no summary covers."""
    return len(load_state(talk.pk).context.messages)


def _choose(talk: Conversation, seed: int, **of: Any) -> Message | None:
    rows = list(talk.messages.filter(**of).order_by("number"))
    return rows[seed % len(rows)] if rows else None


# --- Exports --------------------------------------------------------------------------------------


def export(talk: Conversation) -> str:
    async def read() -> str:
        return "".join([text async for text in export_json(talk)])

    return async_to_sync(read)()


def without_ids(exported: str) -> str:
    """An export with its ids counted from 1 in place of them, and nothing else changed: those of
    the conversation and of files wherever they stand, and of turns and versions in their lists."""
    found = json.loads(exported)
    for number, each in enumerate([found, *found["files"]]):
        exported = exported.replace(each["id"], f"id-{number}")
    found = json.loads(exported)
    ids: dict[str, dict[int | None, int | None]] = {
        name: {row["id"]: place for place, row in enumerate(found[name], 1)}
        for name in ("turns", "versions")
    }
    ids["versions"][None] = ids["turns"][None] = None
    found["compaction"] = ids["versions"][found["compaction"]]
    for name in ("turns", "versions"):
        for row in found[name]:
            row["id"] = ids[name][row["id"]]
    for row in [*found["messages"], *found["versions"]]:
        row["turn"] = ids["turns"][row["turn"]]
    for row in found["versions"]:
        row["previous"] = ids["versions"].get(row["previous"])
        row["replaces"] = ids["versions"].get(row["replaces"])
    return json.dumps(found, ensure_ascii=False, indent=1)
