"""Messages and usage as values. Blocks are plain dicts, exactly the API's content blocks."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NewType

Block = dict[str, Any]
Role = Literal["user", "assistant"]
# Two units that must not be mixed: what `agent.tokens.TokenCounter` counts, which is stored with
# each message, and what the model will count. Only `agent.tokens.Factor` makes one of the other.
RawTokens = NewType("RawTokens", int)
RealTokens = NewType("RealTokens", int)
PARAGRAPH = "\n\n"  # between two blocks of a text
MOST_LOOKED_FOR = 100  # pages of the web that a message cites
MOST_TOKENS = 10**9  # that one call may report


class ApiMessage(dict[str, Any]):
    """A message as the API takes it, which nobody changes: it is sent with every request until it
    is summarised. `valid`: a request with it was found to break no rule."""

    valid = False

    @cached_property
    def data(self) -> bytes:
        """Its JSON."""
        return encode_json(self)


def encode_json(value: Any) -> bytes:
    """A part of a request's body. Raises ValueError for NaN, which is no JSON.

    The keys are sorted: PostgreSQL gives them back in an order of its own, and the server caches a
    request by its bytes."""
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True
    ).encode()


@dataclass(frozen=True)
class AgentMessage:
    """One message of the active branch; `tokens` is the raw count, before the model's factor.
    `pasted` are the parts of its text, in characters, that its author did not type; None:
    unknown. `thinking`: what its model reported of its thinking. `at`: when it was stored, in
    seconds of the clock; 0: unknown. `cut_factor`: the tokens of its model by which it was decided
    how much of it is sent (`agent.context.shortening.previews.decide_cuts`); 0: not decided yet.
    `zone`: where its author was. `time_line`: what requests say before it of the time, which
    `tokens` count; see `agent.clock`.

    What follows from its blocks is found out once: a process keeps the messages of its
    conversations, and every request looks at all of them."""

    number: int
    role: Role
    blocks: Sequence[Block]
    tokens: RawTokens
    pasted: Sequence[tuple[int, int]] | None = None
    thinking: RealTokens = RealTokens(0)
    at: float = field(default=0.0, compare=False)
    cut_factor: float = 0.0
    zone: str = ""
    time_line: str = ""

    @cached_property
    def plain(self) -> ApiMessage | None:
        """The message for the API where that depends on nothing else: it is all text, without
        citations, and not all blank. None: see `agent.context.api_messages`."""
        if any(block["type"] != "text" or block.get("citations") for block in self.blocks):
            return None
        texts = [block.get("text", "") for block in self.blocks]
        content = [{"type": "text", "text": text} for text in texts if text.strip()]
        return ApiMessage(role=self.role, content=self.add_time(content)) if content else None

    def add_time(self, content: list[Block]) -> list[Block]:
        """What is sent of the message, after the line that tells its time."""
        if not (self.time_line and content):
            return content
        return [{"type": "text", "text": self.time_line}, *content]

    @cached_property
    def holds_tool_results(self) -> bool:
        return any(block["type"] == "tool_result" for block in self.blocks)

    @cached_property
    def is_prompt(self) -> bool:
        """Whether a person wrote it: a user message that is more than tool results."""
        return self.role == "user" and any(b["type"] != "tool_result" for b in self.blocks)

    @cached_property
    def is_countable(self) -> bool:
        """Whether an estimate can know its tokens: those of files, and of what the server's own
        tools returned, only the server knows."""
        return not any(holds_file(block) or is_server_tool(block) for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the API reported for one or several calls."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    ephemeral_1h_input_tokens: int = 0  # of those written to the cache, for an hour
    web_search_requests: int = 0  # that the server made, which cost by themselves

    @classmethod
    def from_api(cls, usage: Mapping[str, Any] | None) -> "Usage":
        """From the `usage` object of a reply; absent and null fields count as 0. Raises ValueError
        for anything that is not a number of tokens."""
        usage = usage or {}
        for name in ("cache_creation", "server_tool_use"):
            within = usage.get(name) or {}
            if not isinstance(within, Mapping):
                raise ValueError(f"{name} is not an object")
            usage = {**within, **usage}
        return cls(**{name: _tokens(usage.get(name)) for name in cls.__slots__})

    @property
    def request_tokens(self) -> int:
        """Tokens of the whole request: `input_tokens` alone leaves out what the cache served."""
        return self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens

    @property
    def total(self) -> int:
        return self.request_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def as_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}


def _tokens(value: Any) -> int:
    """A reported number of tokens; a server may write 12 as 12.0."""
    if value is None:
        return 0
    whole = type(value) is int or (type(value) is float and value.is_integer())
    if not whole or not 0 <= value <= MOST_TOKENS:
        raise ValueError(f"not a number of tokens: {value!r:.40}")
    return int(value)


def is_server_tool(block: Block) -> bool:
    """Whether a block is the call or the result of a tool that the model's server runs."""
    return str(block.get("type", "")).endswith(("_tool_use", "_tool_result"))


def is_call(block: Block) -> bool:
    """Whether a block calls a tool, of ours or of the model's server."""
    return str(block.get("type", "")).endswith("tool_use")


def sanitise_text(text: str) -> str:
    """Join surrogate pairs that arrived in two pieces; replace lone ones and NUL by U+FFFD.

    JSON can carry both, UTF-8 cannot carry the first and PostgreSQL cannot store the second.
    """
    if text.isascii() and "\0" not in text:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\0", "\ufffd")


def sanitise(value: Any) -> Any:
    """`sanitise_text` for every string in a JSON value."""
    if isinstance(value, str):
        return sanitise_text(value)
    if isinstance(value, list):
        return [sanitise(item) for item in value]
    if isinstance(value, dict):
        return {sanitise_text(key): sanitise(item) for key, item in value.items()}
    return value


def result_text(block: Block) -> str:
    """The readable part of a tool result, whose content is a string, a list of blocks, or the page
    that web_fetch read."""
    content = block.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return plain_text(item for item in content if isinstance(item, dict))
    if isinstance(content, dict) and content.get("type") == "web_fetch_result":
        return f"{content.get('url', '')}\n\n{block_text(content.get('content') or {})}".strip()
    return json.dumps(content, ensure_ascii=False) if content is not None else ""


def block_text(block: Block) -> str:
    """What a reader sees of one block; thinking and binary data give nothing."""
    kind = block.get("type", "")
    if kind == "text":
        return str(block.get("text", ""))
    if kind.endswith("tool_use"):
        return f"[{block.get('name', 'tool')} {json.dumps(block.get('input'), ensure_ascii=False)}]"
    if kind.endswith("tool_result"):
        return result_text(block)
    if kind == "web_search_result":
        return _source(block)
    if is_file(block):
        return "\n".join(filter(None, [file_name(block), file_text(block)]))
    return ""


def is_file(block: Block) -> bool:
    """Whether a block is a file, with its bytes or as a reference."""
    return block.get("type") in ("image", "document")


def holds_file(block: Block) -> bool:
    """Whether a block is a file, or the result of a tool that returned one."""
    content = block.get("content")
    parts = content if isinstance(content, list) else []
    return is_file(block) or any(isinstance(part, dict) and is_file(part) for part in parts)


def file_name(block: Block) -> str:
    """What stands for a file in a text."""
    name = block.get("title") or _origin(block).get("media_type") or block["type"]
    return f"[Attached {block['type']}: {name}]"


def file_text(block: Block) -> str:
    """The text of a file that is one; "" for references, images and PDFs."""
    origin = _origin(block)
    return str(origin.get("data") or "") if origin.get("type") == "text" else ""


def _origin(block: Block) -> Mapping[str, Any]:
    source = block.get("source")
    return source if isinstance(source, dict) else {}


def _source(page: Mapping[str, Any]) -> str:
    """A page of the web by its title and address."""
    return " ".join(str(page[key]) for key in ("title", "url") if page.get(key))


def list_cited_pages(blocks: Iterable[Block]) -> list[str]:
    """The pages of the web that texts cite, each once."""
    # In a document, `citations` is a setting.
    texts = (block for block in blocks if block.get("type") == "text")
    citations = (each for block in texts for each in block.get("citations") or [])
    pages = {page["url"]: _source(page) for page in citations if page.get("url")}
    return list(pages.values())


def continues_text(before: Block | None, block: Block) -> bool:
    """Whether a text block continues the sentence of the block before: the API cuts a text where a
    citation begins and ends. Other blocks are paragraphs of their own."""
    if before is None or (before.get("type"), block.get("type")) != ("text", "text"):
        return False
    return bool(before.get("citations")) or block.get("citations") is not None


def locate_texts(blocks: Iterable[Block]) -> list[tuple[int, str]]:
    """The text of each block, and where in `shown_text` it begins."""
    places: list[tuple[int, str]] = []
    end, before = 0, None
    for block in blocks:
        text = block_text(block)
        start = end if not (end and text) or continues_text(before, block) else end + len(PARAGRAPH)
        places.append((start, text))
        end, before = start + len(text), block
    return places


def shown_text(blocks: Iterable[Block]) -> str:
    """The text of a message as it streams."""
    whole = ""
    for start, text in locate_texts(blocks):
        whole += PARAGRAPH[: start - len(whole)] + text
    return whole


def plain_text(blocks: Iterable[Block]) -> str:
    """The text of a message, for search, export, previews and the summariser: what is shown, and
    after it the cited pages that it does not name."""
    blocks = list(blocks)
    whole = shown_text(blocks)
    pages = list_cited_pages(blocks)
    # To look for thousands of pages in a long text would take seconds.
    sources = [page for page in pages[:MOST_LOOKED_FOR] if page not in whole]
    sources += pages[MOST_LOOKED_FOR:]
    return PARAGRAPH.join(filter(None, [whole, "\n".join(sources)]))
