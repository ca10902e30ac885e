"""A history as the API takes it, whatever the stored one looks like. Pure."""

from collections.abc import Sequence
from operator import eq
from typing import Any

from agent.context.message_list import MessageList
from agent.context.thinking import THINKING, drop_misplaced_thinking
from agent.messages import ApiMessage, Block, Message, block_text, is_server_tool

MISSING_RESULT = "The tool was interrupted and returned no result."
# What an assistant message may carry back without a beta header; other content goes as text.
ASSISTANT_KINDS = {
    "text",
    "tool_use",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
}
USER_KINDS = {"image", "document", "search_result"}


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def build_api_messages(
    history: Sequence[Message],
    declared: set[str],
    *,
    thinking_from: int = 0,
    all_turns: bool = False,
) -> list[dict[str, Any]]:
    """API messages for a history that may be broken: no empty blocks, roles merged, every tool
    call answered next, undeclared tools as text. No thinking of messages numbered below
    `thinking_from`, and unless that of `all_turns` is sent, none outside the running turn."""
    if all_turns:
        return _convert(history, declared, thinking_from, all_turns=True)
    messages = _convert(history, declared, thinking_from)
    if not _may_think(messages):
        messages = _convert(history, declared, None)
    return messages


def _convert(
    history: Sequence[Message],
    declared: set[str],
    thinking_from: int | None,
    *,
    all_turns: bool = False,
) -> list[dict[str, Any]]:
    running = 0 if all_turns else _find_last_prompt(history)
    names: dict[str, str] = {}
    served = _served(history)
    messages: list[dict[str, Any]] = []
    for index, message in enumerate(history):
        if message.plain:
            messages.append(message.plain)
            continue
        keep = thinking_from is not None and index > running and message.number >= thinking_from
        sent = [
            _as_text(block)
            if is_server_tool(block) and (index, at) not in served
            else _sent_block(block, message.role, declared, names, keep)
            for at, block in enumerate(message.blocks)
        ]
        if content := [block for block in sent if block]:
            messages.append({"role": message.role, "content": message.add_time(content)})
    merged = merge_neighbours(messages)
    if all_turns:
        merged = merge_neighbours(drop_misplaced_thinking(merged))
    return _pair(merged)


def _find_last_prompt(history: Sequence[Message]) -> int:
    """Where the running turn begins; 0 where no person wrote anything."""
    return next((i for i in range(len(history) - 1, -1, -1) if history[i].is_prompt), 0)


def _served(history: Sequence[Message]) -> set[tuple[int, int]]:
    """Where calls of the server's tools stand that have their result after them, and where those
    do: a stopped search has none, and the API takes neither without the other."""
    waiting: dict[str, tuple[int, int]] = {}
    pairs: set[tuple[int, int]] = set()
    for index, message in enumerate(history):
        if message.plain or message.role == "user":
            continue
        for at, block in enumerate(message.blocks):
            if block["type"] == "server_tool_use":
                waiting[block.get("id", "")] = (index, at)
            elif is_server_tool(block) and (
                call := waiting.pop(block.get("tool_use_id", ""), None)
            ):
                pairs |= {call, (index, at)}
    return pairs


def _may_think(messages: Sequence[dict[str, Any]]) -> bool:
    """Whether thinking stands only where the API takes it back: before calls, in rounds that
    wait for the model to go on. One block out of place spoils the others: newer models bind each
    to all that came before it."""
    begun = False
    for message in messages:
        if isinstance(message, ApiMessage):  # all text
            if begun and message["role"] == "user":
                return False
            continue
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "user":
            if begun and set(kinds) != {"tool_result"}:
                return False
        elif thoughts := [i for i, kind in enumerate(kinds) if kind in THINKING]:
            begun = True
            if "tool_use" not in kinds[thoughts[-1] :] or "tool_use" in kinds[: thoughts[-1]]:
                return False
    return not begun or messages[-1]["role"] == "user"


def _sent_block(
    block: Block, role: str, declared: set[str], names: dict[str, str], thinking: bool
) -> Block | None:
    """One block as it is sent back, or None. `names` maps the ids of undeclared calls to names."""
    kind = block.get("type", "")
    from_model = role == "assistant"
    if kind == "text":
        if not block.get("text", "").strip():
            return None
        return block if from_model and block.get("citations") else text_block(block["text"])
    if kind in THINKING:
        # Without its signature (local servers, stopped replies) the API refuses it.
        signed = block.get("signature") or block.get("data")
        return block if thinking and from_model and signed else None
    if kind == "tool_use" and (not from_model or block["name"] not in declared):
        names[block["id"]] = block["name"]
        return _call_text(block)
    if kind == "tool_result":
        name = names.get(block["tool_use_id"])
        if name or from_model:
            return _result_text(block, name or "a tool")
        return _without_empty_text(block)
    if _sendable(block) if from_model else kind in USER_KINDS:
        return block
    return _as_text(block)


def _as_text(block: Block) -> Block | None:
    text = block_text(block)
    return text_block(text) if text.strip() else None


def _sendable(block: Block) -> bool:
    """Whether an assistant's block can go back as it is; a server's tool only with its result."""
    kind = block.get("type", "")
    if kind == "server_tool_use" and not str(block.get("name")).startswith("tool_search"):
        kind = f"{block.get('name')}_tool_result"
    return kind in ASSISTANT_KINDS


def _call_text(block: Block) -> Block:
    return text_block(f"[Called the tool {block_text(block)[1:]}")


def _result_text(block: Block, name: str) -> Block:
    return text_block(f"[Result of {name}]\n{block_text(block).strip() or '(no output)'}")


def _without_empty_text(result: Block) -> Block:
    content = result.get("content")
    if not isinstance(content, list):
        return result
    kept = [part for part in content if part.get("type") != "text" or part["text"].strip()]
    return result | {"content": kept}


def merge_neighbours(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbouring messages of one role as one. Mostly there are none, and that is soon known."""
    roles = [message["role"] for message in messages]
    if not any(map(eq, roles, roles[1:])):
        return list(messages)
    merged: list[dict[str, Any]] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            content = [*merged[-1]["content"], *message["content"]]
            merged[-1] = {"role": message["role"], "content": content}
        else:
            merged.append(message)
    return merged


def find_settled(history: MessageList) -> Sequence[ApiMessage]:
    """The first messages as the API takes them, whatever follows: text alone, in which the roles
    take turns. Without the last two, of which one may be what the running turn answers."""
    return history.facts.plain[:-2]


def join_messages(
    opening: Sequence[dict[str, Any]],
    settled: Sequence[ApiMessage],
    rest: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """`merge_neighbours` of all of them. The roles of those that are `settled` take turns, and the
    rest goes on like that."""
    if not settled:
        return merge_neighbours([*opening, *rest])
    begun = merge_neighbours([*opening, settled[0]])
    return [*begun, *settled[1:], *merge_neighbours(rest)]


def _pair(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results first and complete after every call; results without a call, and calls whose id was
    used before, become text."""
    paired: list[dict[str, Any]] = []
    waiting: list[str] = []
    used: set[str] = set()
    for message in messages:
        if isinstance(message, ApiMessage) and not waiting:
            paired.append(message)
            continue
        content = message["content"]
        if message["role"] == "user":
            results = {b["tool_use_id"]: b for b in content if b["type"] == "tool_result"}
            answers = [results.get(i) or _missing(i) for i in waiting]
            stray = [_result_text(b, "a tool") for i, b in results.items() if i not in waiting]
            rest = [b for b in content if b["type"] != "tool_result"]
            paired.append({"role": "user", "content": [*answers, *stray, *rest]})
            waiting = []
            continue
        sent = []
        for block in content:
            if block["type"] == "tool_use":
                if block["id"] in used:
                    block = _call_text(block)
                else:
                    used.add(block["id"])
                    waiting.append(block["id"])
            sent.append(block)
        paired.append({"role": "assistant", "content": sent})
    if waiting:
        paired.append({"role": "user", "content": [_missing(i) for i in waiting]})
    return paired


def _missing(tool_use_id: str) -> Block:
    return {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "content": MISSING_RESULT,
        "is_error": True,
    }
