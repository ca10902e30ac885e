"""What holds of any conversation of Claude.ai, Open WebUI and LibreChat, whatever its tree."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chat.importers import claude_ai, librechat, open_webui
from chat.importers.records import ImportedConversation, ImportedMessage, Skipped
from tests.chat.importers.rival_exports import check

Entry = dict[str, Any]

words = st.text("ab c", max_size=4)
# Of each message: which one stands before it (some do not exist), who wrote it, and what it holds.
part = st.tuples(st.sampled_from(["text", "thinking", "call", "result"]), words)
message = st.tuples(
    st.integers(-1, 9),
    st.sampled_from(["person", "model", "model", "stranger"]),
    st.lists(part, max_size=6),
)
trees = st.lists(message, min_size=1, max_size=9)


def name(number: int) -> str:
    return f"m{number}"


def of_claude_ai(tree: list[Any]) -> Any:
    def content(kind: str, text: str) -> Entry:
        match kind:
            case "call":
                return {"type": "tool_use", "id": None, "name": text or "t", "input": {"x": text}}
            case "result":
                return {"type": "tool_result", "name": text or "t", "content": text}
        return {"type": kind, kind: text}

    entries = [
        {
            "uuid": name(number),
            "parent_message_uuid": name(parent),
            "sender": {"person": "human", "model": "assistant"}.get(author, author),
            "content": [content(*each) for each in parts],
        }
        for number, (parent, author, parts) in enumerate(tree)
    ]
    return claude_ai.read_conversation("1", {"uuid": "c", "name": "n", "chat_messages": entries})


def of_open_webui(tree: list[Any]) -> Any:
    def item(kind: str, text: str) -> Entry:
        match kind:
            case "call":
                return {"type": "function_call", "call_id": text, "name": "t", "arguments": text}
            case "result":
                return {"type": "function_call_output", "call_id": text, "output": text}
            case "thinking":
                return {"type": "reasoning", "content": [{"text": text}]}
        return {"type": "message", "content": [{"text": text}]}

    entries = {
        name(number): {
            "id": name(number),
            "parentId": name(parent),
            "role": {"person": "user", "model": "assistant"}.get(author, author),
            "content": " ".join(text for kind, text in parts if kind == "text"),
            "output": [item(*each) for each in parts],
        }
        for number, (parent, author, parts) in enumerate(tree)
    }
    return open_webui.read_conversation(
        "1", {"id": "c", "chat": {"history": {"messages": entries}}}
    )


def of_librechat(tree: list[Any]) -> Any:
    def content(kind: str, text: str) -> Entry:
        match kind:
            case "call":
                return {"type": "tool_call", "tool_call": {"name": "t", "args": text}}
            case "result":
                return {"type": "tool_call", "tool_call": {"name": "t", "args": "", "output": text}}
            case "thinking":
                return {"type": "think", "think": text}
        return {"type": "text", "text": text}

    entries = [
        {
            "messageId": name(number),
            "parentMessageId": name(parent),
            "isCreatedByUser": author == "person",
            "content": [content(*each) for each in parts],
        }
        for number, (parent, author, parts) in enumerate(tree)
    ]
    return librechat.read_conversation("1", {"conversationId": "c", "messages": entries})


def said_by(messages: list[ImportedMessage], role: str) -> list[str]:
    texts = (b["text"] for m in messages if m.role == role for b in m.blocks if b["type"] == "text")
    return sorted(text.strip() for text in texts)


@settings(max_examples=150, deadline=None)
@given(trees, st.sampled_from([of_claude_ai, of_open_webui, of_librechat]))
def test_every_word_is_kept_once_and_the_tree_can_be_sent(tree: list[Any], read: Any) -> None:
    found = read(tree)
    if isinstance(found, Skipped):
        return
    assert isinstance(found, ImportedConversation)
    check(found)
    dropped = found.tally.dropped.total()
    assert found.tally.kept + dropped == len(tree)
    by_model = [
        text.strip()
        for _, author, parts in tree
        if author == "model" or (author == "stranger" and read is of_librechat)
        for kind, text in parts
        if kind == "text" and text.strip()
    ]
    assert said_by(found.messages, "assistant") == sorted(by_model)
