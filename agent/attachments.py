"""Files in messages: blocks refer to a file by its id, and its bytes join when a request goes out.

A reference is an `image` or `document` block with the source
`{"type": "attachment", "id", "media_type", "bytes", "tokens"}` and the file's name as `title`; a
result of a tool may hold some too. Of an Office file the text is sent, and of a text its UTF-8;
`original_bytes` is the size of the file itself, `encoding` that of a text.
"""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.messages import AgentMessage, ApiMessage, Block

# The API takes 32 MB a request; the rest is for the text.
REQUEST_BYTES = 28_000_000
TEXT = "text/plain"  # the media type of every file that is sent as text

Read = Callable[[Sequence[str]], Awaitable[Mapping[str, bytes]]]


def find_reference(block: Block) -> dict[str, Any] | None:
    """The source of a block that refers to a file, else None."""
    source = block.get("source")
    if isinstance(source, dict) and source.get("type") == "attachment":
        return source
    return None


def list_references(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks that refer to a file, those in results of tools too."""
    for block in blocks:
        if find_reference(block):
            yield block
        elif parts := _list_parts(block):
            yield from list_references(parts)


def _list_parts(block: Block) -> list[Block]:
    """What a result of a tool consists of, where that is more than a text."""
    content = block.get("content") if block.get("type") == "tool_result" else None
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, dict)]


async def with_texts(messages: Sequence[AgentMessage], read: Read) -> list[AgentMessage]:
    """The messages with the contents of their text files in place of the references."""
    wanted = [each for message in messages for each in list_text_file_ids(message.blocks)]
    return with_files(messages, await read(wanted) if wanted else {})


def with_files(messages: Sequence[AgentMessage], files: Mapping[str, bytes]) -> list[AgentMessage]:
    """`with_texts`, of files that were read already."""
    if not files:
        return list(messages)
    return [
        replace(message, blocks=[_with_text(block, files) for block in message.blocks])
        for message in messages
    ]


def _with_text(block: Block, files: Mapping[str, bytes]) -> Block:
    source = find_reference(block)
    if source is None or source["id"] not in files:
        return block
    text = files[source["id"]].decode("utf-8", "replace")
    return block | {"source": {"type": "text", "media_type": TEXT, "data": text}}


def limit_files(messages: Sequence[AgentMessage], limit: int = REQUEST_BYTES) -> list[AgentMessage]:
    """The messages with the oldest files as placeholders where all would not fit one request.

    A fold over the messages in order: what was replaced once stays replaced. It makes
    room down to half the limit: the next file does not move the cut, and the prompt cache holds.
    """
    sizes = [0 if message.plain else count_sent_bytes(message.blocks) for message in messages]
    first = total = 0  # files before `first` are placeholders
    for index, size in enumerate(sizes):
        total += size
        if total > limit:
            while total > limit // 2 and first < index:
                total -= sizes[first]
                first += 1
    if not first:
        return list(messages)
    return [
        replace(message, blocks=[_placeholder(block) for block in message.blocks])
        if index < first and sizes[index]
        else message
        for index, message in enumerate(messages)
    ]


def count_sent_bytes(blocks: Iterable[Block]) -> int:
    """Bytes that the files of blocks take in a request's body."""
    return sum(-(-each["source"]["bytes"] // 3) * 4 for each in list_references(blocks))


def _placeholder(block: Block) -> Block:
    if not find_reference(block):
        parts = _list_parts(block)
        return block | {"content": list(map(_placeholder, parts))} if parts else block
    name = block.get("title") or block["type"]
    return {
        "type": "text",
        "text": f"[The file {name} was sent here; it is too old to send again.]",
    }


def list_file_ids_in(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """The ids of the files that a request's messages refer to."""
    mixed = (message for message in messages if not isinstance(message, ApiMessage))
    return [each for message in mixed for each in list_file_ids(message["content"])]


def fill_in_files(body: dict[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """A request's body with the bytes of its files; a file that is gone becomes a note."""
    messages = [
        message | {"content": [_filled(block, files) for block in message["content"]]}
        for message in body["messages"]
    ]
    return body | {"messages": messages}


def _filled(block: Block, files: Mapping[str, bytes]) -> Block:
    source = find_reference(block)
    if source is None:
        parts = _list_parts(block)
        filled = [_filled(part, files) for part in parts]
        return block | {"content": filled} if parts else block
    rest = {key: value for key, value in block.items() if key == "cache_control"}
    data = files.get(source["id"])
    if data is None:
        return {"type": "text", "text": f"[The file {block.get('title', '')} is gone.]"} | rest
    media_type = source["media_type"]
    if media_type == TEXT:
        kind, content = "text", data.decode("utf-8", "replace")
    else:
        kind, content = "base64", b64encode(data).decode()
    filled_in: Block = {
        "type": block["type"],
        "source": {"type": kind, "media_type": media_type, "data": content},
    }
    if block["type"] == "document" and block.get("title"):
        filled_in["title"] = block["title"]
    return filled_in | rest


def list_file_ids(blocks: Iterable[Block]) -> list[str]:
    """The ids of the files that blocks refer to."""
    return [each["source"]["id"] for each in list_references(blocks)]


def list_text_file_ids(blocks: Iterable[Block]) -> list[str]:
    """The ids of those that are text, code too."""
    sources = (each["source"] for each in list_references(blocks))
    return [source["id"] for source in sources if source["media_type"] == TEXT]
