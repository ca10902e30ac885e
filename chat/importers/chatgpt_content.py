"""What one message of ChatGPT's exports says, by its content type."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.utils.translation import gettext_noop

from agent.messages import Block
from chat.importers.answers import Part, make_call_id
from chat.importers.chatgpt_citations import read_cited
from chat.importers.chatgpt_files import ExportFiles, FileFacts, find_id
from chat.importers.json_bounds import Unreadable, read_inner
from chat.importers.records import ImportedFile, Offered, Tally

Raw = Mapping[str, Any]

RESULTS = {
    "execution_output",
    "system_error",
    "citable_code_output",
    "tether_quote",
    "tether_browsing_display",
    "sonic_webpage",
    "computer_output",
}
# Where the text of a result is, in the order in which people read it.
RESULT_FIELDS = ("name", "title", "url", "text", "output_str", "result", "snippet", "summary")
INTERRUPTED = ("in_progress", "finished_partial_completion")
SANDBOX_LINK = re.compile(r"\(sandbox:(/[^)\s]+)\)")
FENCE = re.compile("`+")

PLACEHOLDER = gettext_noop("a joint between messages")
SYSTEM = gettext_noop("a system message")
HIDDEN = gettext_noop("hidden in ChatGPT")
SETTINGS = gettext_noop("custom instructions or memory, which are offered apart")
RECAP = gettext_noop("how long the model thought")
EMPTY = gettext_noop("empty")
UNKNOWN_ROLE = gettext_noop("of an unknown author")
VIDEO = gettext_noop("pictures of a video call")


@dataclass(frozen=True, slots=True)
class Left:
    """A message that does not become one here, and why."""

    how: Literal["hidden", "dropped"]
    reason: str

    def count(self, tally: Tally) -> None:
        (tally.hidden if self.how == "hidden" else tally.dropped)[self.reason] += 1


class Content:
    """Reads the messages of one conversation; `offered` is what they hold of their user's
    settings."""

    def __init__(self, files: ExportFiles, tally: Tally, model: str) -> None:
        self.offered: list[Offered] = []
        self._files = files
        self._tally = tally
        self._model = model

    def read(self, identity: str, message: Raw, before: Part | None) -> Part | Left:
        """The part that a node says after the part `before`, if that is one of ours."""
        if not message:
            return Left("hidden", PLACEHOLDER)
        content = _object(message.get("content"))
        metadata = _object(message.get("metadata"))
        kind = _string(content.get("content_type"))
        role = _string(_object(message.get("author")).get("role"))
        if kind in ("user_editable_context", "model_editable_context"):
            self.offered += _list_offered(content, metadata)
            return Left("hidden", SETTINGS)
        if role == "system":
            return Left("hidden", SYSTEM)
        if metadata.get("is_visually_hidden_from_conversation") is True:
            return Left("hidden", HIDDEN)
        if message.get("weight") == 0:
            return Left("hidden", HIDDEN)
        if role not in ("user", "assistant", "tool"):
            return Left("dropped", UNKNOWN_ROLE)
        if kind == "reasoning_recap":
            _add_recap(before, _string(content.get("content")))
            return Left("hidden", RECAP)
        if role == "tool" or (role == "assistant" and kind in RESULTS):
            return self._read_result(message, content, metadata)
        if role == "user":
            return self._read_prompt(content, metadata)
        return self._read_answer(identity, message, content, metadata)

    # --- By author --------------------------------------------------------------------------------

    def _read_prompt(self, content: Raw, metadata: Raw) -> Part | Left:
        part = Part("user", files=self._list_files(content, metadata))
        part.blocks = _texts(_read_text(content, self._tally))
        return part if part.blocks or part.files else Left("dropped", EMPTY)

    def _read_answer(self, identity: str, message: Raw, content: Raw, metadata: Raw) -> Part | Left:
        part = Part("assistant", model=_string(metadata.get("model_slug")) or self._model)
        part.stop_reason = "end_turn"
        recipient = _string(message.get("recipient"))
        if recipient not in ("", "all"):
            part.stop_reason = "tool_use"
            part.blocks = [_make_call(identity, recipient, content)]
        elif content.get("content_type") == "thoughts":
            part.blocks = _think(content)
        else:
            text = read_cited(_read_text(content, self._tally), metadata)
            part.blocks = _texts(text)
            part.files = self._list_files(content, metadata)
            part.files += self._list_made(_string(message.get("id")) or identity, text)
        _end(part, message, metadata)
        return part if part.blocks or part.files else Left("dropped", EMPTY)

    def _read_result(self, message: Raw, content: Raw, metadata: Raw) -> Part:
        aggregate = _object(metadata.get("aggregate_result"))
        return Part(
            "tool",
            text=read_cited(_read_result_text(content, self._tally), metadata),
            files=self._list_files(content, metadata),
            name=_string(_object(message.get("author")).get("name")),
            is_error=content.get("content_type") == "system_error"
            or _string(aggregate.get("status")).startswith("failed"),
            model=self._model,
        )

    # --- Files ------------------------------------------------------------------------------------

    def _list_files(self, content: Raw, metadata: Raw) -> list[ImportedFile]:
        """Each file once, in the order in which it is named."""
        wanted: dict[str, FileFacts] = {}
        for raw in _objects(metadata.get("attachments")):
            identity = _string(raw.get("id")) or _string(raw.get("name"))
            facts = FileFacts(_string(raw.get("name")), _string(raw.get("mime_type")))
            if identity:
                wanted[identity] = facts
        for pointer in _list_pointers(content, metadata):
            if identity := find_id(pointer):
                wanted.setdefault(identity, FileFacts())
        found = []
        for identity, facts in wanted.items():
            if file := self._files.find(identity, facts):
                found.append(file)
            else:
                self._tally.missing.append(self._files.name(identity, facts))
        return found

    def _list_made(self, message: str, text: str) -> list[ImportedFile]:
        """The files that an answer links to: the link has no more than their name."""
        found = []
        for path in dict.fromkeys(SANDBOX_LINK.findall(text)):
            name = path.rpartition("/")[2]
            if file := self._files.find_made(message, name):
                found.append(file)
            else:
                self._tally.missing.append(name)
        return found


def _list_pointers(content: Raw, metadata: Raw) -> Iterator[Any]:
    for part in _objects(content.get("parts")):
        yield part.get("asset_pointer")
        yield _object(part.get("audio_asset_pointer")).get("asset_pointer")
    yield _object(content.get("screenshot")).get("asset_pointer")
    for made in _objects(_object(metadata.get("aggregate_result")).get("messages")):
        yield made.get("image_url")


# --- Text -----------------------------------------------------------------------------------------


def _read_text(content: Raw, tally: Tally) -> str:
    kind = _string(content.get("content_type"))
    if kind == "code":
        return _fence(_string(content.get("text")), _language(content))
    parts = content.get("parts")
    if isinstance(parts, list):
        texts = (_read_part(part, tally) for part in parts)
        return "\n\n".join(text for text in texts if text.strip())
    if kind in ("text", "multimodal_text", ""):
        return _string(content.get("text"))
    tally.unknown[kind] += 1
    return _fence(json.dumps(content, ensure_ascii=False, indent=1), "json")


def _read_part(part: Any, tally: Tally) -> str:
    if isinstance(part, str):
        return part
    raw = _object(part)
    kind = _string(raw.get("content_type"))
    if kind == "real_time_user_audio_video_asset_pointer":
        if frames := raw.get("frames_asset_pointers"):
            tally.dropped[VIDEO] += len(frames) if isinstance(frames, list) else 1
        return ""
    if kind.endswith("asset_pointer"):
        return ""
    if isinstance(raw.get("text"), str):
        return _string(raw["text"])
    if part is None:
        return ""
    tally.unknown[kind or type(part).__name__] += 1
    return _fence(json.dumps(part, ensure_ascii=False, indent=1), "json")


def _read_result_text(content: Raw, tally: Tally) -> str:
    kind = _string(content.get("content_type"))
    if kind == "computer_output":
        content = _object(content.get("state"))
    if kind in RESULTS:
        found = [_string(content.get(key)) for key in RESULT_FIELDS]
        if texts := [text for text in dict.fromkeys(found) if text.strip()]:
            return "\n".join(texts)
    if kind == "code":
        return _string(content.get("text"))
    if kind in RESULTS and "parts" not in content:
        return ""
    return _read_text(content, tally)


def _make_call(identity: str, tool: str, content: Raw) -> Block:
    text = _string(content.get("text"))
    parts = content.get("parts")
    if isinstance(parts, list):
        text = "".join(part for part in parts if isinstance(part, str))
    return {
        "type": "tool_use",
        "id": make_call_id(identity),
        "name": tool[:128],
        "input": _read_input(text, content),
    }


def _read_input(text: str, content: Raw) -> dict[str, Any]:
    value = read_inner(text)
    if isinstance(value, Unreadable):
        return {"code" if content.get("content_type") == "code" else "input": text}
    return value if isinstance(value, dict) else {"input": value}


def _think(content: Raw) -> list[Block]:
    """For reading: without a signature no server takes it back."""
    thoughts = [
        "\n\n".join(filter(None, [_bold(thought.get("summary")), _string(thought.get("content"))]))
        for thought in _objects(content.get("thoughts"))
    ]
    text = "\n\n".join(thought for thought in thoughts if thought.strip())
    return [{"type": "thinking", "thinking": text}] if text else []


def _add_recap(before: Part | None, text: str) -> None:
    if before and before.blocks and before.blocks[-1]["type"] == "thinking" and text:
        before.blocks[-1]["thinking"] += f"\n\n{text}"


def _end(part: Part, message: Raw, metadata: Raw) -> None:
    details = _string(_object(metadata.get("finish_details")).get("type"))
    if message.get("status") in INTERRUPTED or details == "interrupted":
        part.status, part.stop_reason = "interrupted", "stopped"
    elif details == "max_tokens":
        part.stop_reason = "max_tokens"


def _list_offered(content: Raw, metadata: Raw) -> Iterator[Offered]:
    if memory := _string(content.get("model_set_context")).strip():
        yield Offered("memory", memory)
    # What the person typed, without the words in which ChatGPT wraps it.
    typed = _object(metadata.get("user_context_message_data"))
    texts = [
        _string(typed.get("about_user_message")) or _string(content.get("user_profile")),
        _string(typed.get("about_model_message")) or _string(content.get("user_instructions")),
    ]
    if text := "\n\n".join(text.strip() for text in texts if text.strip()):
        yield Offered("instructions", text)


def _texts(text: str) -> list[Block]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _fence(text: str, language: str) -> str:
    if not text.strip():
        return ""
    fence = "`" * max(3, 1 + max((len(run) for run in FENCE.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def _language(content: Raw) -> str:
    language = _string(content.get("language"))
    return language if language != "unknown" and language.isalnum() else ""


def _bold(value: Any) -> str:
    text = _string(value).strip()
    return f"**{text}**" if text else ""


def _object(value: Any) -> Raw:
    return value if isinstance(value, Mapping) else {}


def _objects(value: Any) -> Iterator[Raw]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, Mapping))


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
