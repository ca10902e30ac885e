"""A history as the API takes it, whatever the stored one looks like. Pure."""

from collections.abc import Sequence
from typing import Any

from agent.context.message_list import MessageList
from agent.context.thinking import THINKING, drop_misplaced_thinking
from agent.messages import AgentMessage, ApiMessage, Block, block_text, is_call, is_server_tool

MISSING_RESULT = "The tool was interrupted and returned no result."
# Results of the server's tools that every request may carry back, with their calls.
SERVER_RESULTS = {
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
}
USER_KINDS = {"image", "document", "search_result", "container_upload"}
# What no message of the assistant may hold: the user's blocks, and a compaction of the server's,
# which needs a header that is never sent.
NOT_FROM_MODEL = USER_KINDS | {"tool_result", "compaction"}


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def build_api_messages(
    history: Sequence[AgentMessage],
    declared: set[str],
    *,
    own_from: int = 0,
    all_turns: bool = False,
) -> list[dict[str, Any]]:
    """API messages for a history that may be broken: no empty blocks, roles merged, every tool
    call answered next, undeclared tools as text.

    What the model wrote goes back as it came, kinds of blocks that nobody knows yet too, in the
    running turn and in messages numbered `own_from` or higher: what is older may be from another
    server or under another system prompt, and of that goes what every request may hold, the rest as
    text. No thinking of messages before `own_from`, and unless that of `all_turns` is sent, none
    outside the running turn."""
    if all_turns:
        merged = merge_neighbours(_convert(history, declared, own_from, thinking_after=0))
        return _pair(merge_neighbours(drop_misplaced_thinking(merged)))
    running = _find_last_prompt(history)
    messages = _pair(
        merge_neighbours(_convert(history, declared, own_from, thinking_after=running))
    )
    if not _may_think(messages):
        messages = _pair(
            merge_neighbours(_convert(history, declared, own_from, thinking_after=len(history)))
        )
    return messages


def _convert(
    history: Sequence[AgentMessage], declared: set[str], own_from: int, *, thinking_after: int
) -> list[dict[str, Any]]:
    """Each message as it is sent, if anything is; thinking only of those that stand after the index
    `thinking_after`."""
    running = _find_last_prompt(history)
    own = [i > running or message.number >= own_from for i, message in enumerate(history)]
    served = _find_served(history, own, declared)
    names: dict[str, str] = {}
    messages: list[dict[str, Any]] = []
    for index, message in enumerate(history):
        if message.plain:
            messages.append(message.plain)
            continue
        think = index > thinking_after and message.number >= own_from
        sent = [
            _as_text(block)
            if is_server_tool(block) and (index, at) not in served
            else _sent_block(block, message.role, declared, names, think, own=own[index])
            for at, block in enumerate(message.blocks)
        ]
        if content := [block for block in sent if block]:
            messages.append({"role": message.role, "content": message.add_time(content)})
    return messages


def _find_last_prompt(history: Sequence[AgentMessage]) -> int:
    """Where the running turn begins; 0 where no person wrote anything."""
    return next((i for i in range(len(history) - 1, -1, -1) if history[i].is_prompt), 0)


def _find_served(
    history: Sequence[AgentMessage], own: Sequence[bool], declared: set[str]
) -> set[tuple[int, int]]:
    """Where calls of the server's tools, and their results, stand that go back as they are. The API
    takes neither without the other: a search that was stopped has no result, and never will. But
    while the server waits for results of ours, its own may be still to come."""
    waiting: dict[str, tuple[int, int]] = {}
    pairs: set[tuple[int, int]] = set()
    for index, message in enumerate(history):
        if message.plain or message.role == "user":
            continue
        for at, block in enumerate(message.blocks):
            if not is_server_tool(block):
                continue
            if is_call(block):
                waiting[block.get("id", "")] = (index, at)
            elif call := waiting.pop(block.get("tool_use_id", ""), None):
                asked = history[call[0]].blocks[call[1]]
                if (own[index] and own[call[0]]) or (_is_known(asked) and _is_known(block)):
                    pairs |= {call, (index, at)}
    open_round = _find_open_round(history, declared)
    return pairs | {place for place in waiting.values() if place[0] == open_round}


def _find_open_round(history: Sequence[AgentMessage], declared: set[str]) -> int | None:
    """Where the calls stand whose results the history ends with; None where it ends otherwise."""
    last = len(history) - 1
    while last >= 0 and history[last].holds_tool_results and not history[last].is_prompt:
        last -= 1
    if not 0 <= last < len(history) - 1 or history[last].role == "user":
        return None
    calls = (block for block in history[last].blocks if block["type"] == "tool_use")
    return last if any(block["name"] in declared for block in calls) else None


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
    block: Block,
    role: str,
    declared: set[str],
    names: dict[str, str],
    thinking: bool,
    *,
    own: bool,
) -> Block | None:
    """One block as it is sent back, or None. `names` maps the ids of undeclared calls to names.
    `own`: its message is of this server's, under the system prompt that is sent."""
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
    if not from_model:
        return block if kind in USER_KINDS else _as_text(block)
    if kind == "tool_use" or is_server_tool(block):
        return block
    return block if own and kind not in NOT_FROM_MODEL else _as_text(block)


def _as_text(block: Block) -> Block | None:
    text = block_text(block)
    return text_block(text) if text.strip() else None


def _is_known(block: Block) -> bool:
    """Whether every request may carry the call or the result of a server's tool."""
    kind = block.get("type", "")
    if kind == "server_tool_use":
        name = str(block.get("name"))  # tool_search_tool_regex, for one
        kind = f"{'tool_search' if name.startswith('tool_search') else name}_tool_result"
    return kind in SERVER_RESULTS


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
    """Neighbouring messages of one role as one."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            content = [*merged[-1]["content"], *message["content"]]
            merged[-1] = {"role": message["role"], "content": content}
        else:
            merged.append(message)
    return merged


def list_ready_messages(history: MessageList) -> Sequence[ApiMessage]:
    """The first messages as the API takes them, whatever follows: text alone, in which the roles
    take turns. Without the last two, of which one may be what the running turn answers."""
    return history.aggregates.plain[:-2]


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
