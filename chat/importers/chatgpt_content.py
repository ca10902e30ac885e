"""What one message of ChatGPT's exports says, by its content type."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.utils.translation import gettext_noop

from agent.messages import Block
from chat.importers.answers import Part, make_call_id
from chat.importers.chatgpt_citations import read_cited
from chat.importers.chatgpt_files import ExportFiles, FileFacts, find_id
from chat.importers.content import (
    as_list,
    as_object,
    as_text,
    fence,
    name_missing,
    text_block,
    unknown_part,
)
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
SANDBOX_LINK = re.compile(r"\(sandbox:(/[^()\s]+)\)")
MOST_RECAPPED = 200_000  # characters of thinking, to which many recaps might be added

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
        content = as_object(message.get("content"))
        metadata = as_object(message.get("metadata"))
        kind = as_text(content.get("content_type"))
        role = as_text(as_object(message.get("author")).get("role"))
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
            _add_recap(before, as_text(content.get("content")))
            return Left("hidden", RECAP)
        if role == "tool" or (role == "assistant" and kind in RESULTS):
            return self._read_result(message, content, metadata)
        if role == "user":
            return self._read_prompt(content, metadata)
        return self._read_answer(identity, message, content, metadata)

    # --- By author --------------------------------------------------------------------------------

    def _read_prompt(self, content: Raw, metadata: Raw) -> Part | Left:
        known = len(self._tally.missing)
        part = Part("user", files=self._list_files(content, metadata))
        part.blocks = _texts(_read_text(content, self._tally))
        missing = self._tally.missing[known:]
        if missing and not part.blocks:
            part.blocks = [name_missing(missing)]
        return part if part.blocks or part.files else Left("dropped", EMPTY)

    def _read_answer(self, identity: str, message: Raw, content: Raw, metadata: Raw) -> Part | Left:
        part = Part("assistant", model=as_text(metadata.get("model_slug")) or self._model)
        part.stop_reason = "end_turn"
        recipient = as_text(message.get("recipient"))
        if recipient not in ("", "all"):
            part.stop_reason = "tool_use"
            part.blocks = [_make_call(identity, recipient, content)]
        elif content.get("content_type") == "thoughts":
            part.blocks = _think(content)
        else:
            text = read_cited(_read_text(content, self._tally), metadata)
            part.blocks = _texts(text)
            part.files = self._list_files(content, metadata)
            part.files += self._list_made(as_text(message.get("id")) or identity, text)
        _end(part, message, metadata)
        return part if part.blocks or part.files else Left("dropped", EMPTY)

    def _read_result(self, message: Raw, content: Raw, metadata: Raw) -> Part:
        aggregate = as_object(metadata.get("aggregate_result"))
        return Part(
            "tool",
            text=read_cited(_read_result_text(content, self._tally), metadata),
            files=self._list_files(content, metadata),
            name=as_text(as_object(message.get("author")).get("name")),
            is_error=content.get("content_type") == "system_error"
            or as_text(aggregate.get("status")).startswith("failed"),
            model=self._model,
        )

    # --- Files ------------------------------------------------------------------------------------

    def _list_files(self, content: Raw, metadata: Raw) -> list[ImportedFile]:
        """Each file once, in the order in which it is named."""
        wanted: dict[str, FileFacts] = {}
        for raw in _objects(metadata.get("attachments")):
            identity = as_text(raw.get("id")) or as_text(raw.get("name"))
            facts = FileFacts(as_text(raw.get("name")), as_text(raw.get("mime_type")))
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
        yield as_object(part.get("audio_asset_pointer")).get("asset_pointer")
    yield as_object(content.get("screenshot")).get("asset_pointer")
    for made in _objects(as_object(metadata.get("aggregate_result")).get("messages")):
        yield made.get("image_url")


# --- Text -----------------------------------------------------------------------------------------


def _read_text(content: Raw, tally: Tally) -> str:
    kind = as_text(content.get("content_type"))
    if kind == "code":
        text = as_text(content.get("text"))
        return fence(text, _language(content)) if text.strip() else ""
    parts = content.get("parts")
    if isinstance(parts, list):
        texts = (_read_part(part, tally) for part in parts)
        return "\n\n".join(text for text in texts if text.strip())
    if kind in ("text", "multimodal_text", ""):
        return as_text(content.get("text"))
    return unknown_part(tally, kind, content)


def _read_part(part: Any, tally: Tally) -> str:
    if isinstance(part, str):
        return part
    raw = as_object(part)
    kind = as_text(raw.get("content_type"))
    if kind == "real_time_user_audio_video_asset_pointer":
        if frames := raw.get("frames_asset_pointers"):
            tally.dropped[VIDEO] += len(frames) if isinstance(frames, list) else 1
        return ""
    if kind.endswith("asset_pointer") or "asset_pointer" in raw:  # without a type until 2024
        return ""
    if isinstance(raw.get("text"), str):
        return as_text(raw["text"])
    if part is None:
        return ""
    return unknown_part(tally, kind, part)


def _read_result_text(content: Raw, tally: Tally) -> str:
    kind = as_text(content.get("content_type"))
    if kind == "computer_output":
        content = as_object(content.get("state"))
    if kind in RESULTS:
        found = [as_text(content.get(key)) for key in RESULT_FIELDS]
        if texts := [text for text in dict.fromkeys(found) if text.strip()]:
            return "\n".join(texts)
    if kind == "code":
        return as_text(content.get("text"))
    if kind in RESULTS and "parts" not in content:
        return ""
    return _read_text(content, tally)


def _make_call(identity: str, tool: str, content: Raw) -> Block:
    text = as_text(content.get("text"))
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
        "\n\n".join(filter(None, [_bold(thought.get("summary")), as_text(thought.get("content"))]))
        for thought in _objects(content.get("thoughts"))
    ]
    text = "\n\n".join(thought for thought in thoughts if thought.strip())
    return [{"type": "thinking", "thinking": text}] if text else []


def _add_recap(before: Part | None, text: str) -> None:
    last = before.blocks[-1] if before and before.blocks else {}
    if last.get("type") == "thinking" and text and len(last["thinking"]) < MOST_RECAPPED:
        last["thinking"] += f"\n\n{text}"


def _end(part: Part, message: Raw, metadata: Raw) -> None:
    details = as_text(as_object(metadata.get("finish_details")).get("type"))
    if message.get("status") in INTERRUPTED or details == "interrupted":
        part.status, part.stop_reason = "interrupted", "stopped"
    elif details == "max_tokens":
        part.stop_reason = "max_tokens"


def _list_offered(content: Raw, metadata: Raw) -> Iterator[Offered]:
    if memory := as_text(content.get("model_set_context")).strip():
        yield Offered("memory", memory)
    # What the person typed, without the words in which ChatGPT wraps it.
    typed = as_object(metadata.get("user_context_message_data"))
    texts = [
        as_text(typed.get("about_user_message")) or as_text(content.get("user_profile")),
        as_text(typed.get("about_model_message")) or as_text(content.get("user_instructions")),
    ]
    if text := "\n\n".join(text.strip() for text in texts if text.strip()):
        yield Offered("instructions", text)


def _texts(text: str) -> list[Block]:
    return [text_block(text)] if text.strip() else []


def _language(content: Raw) -> str:
    language = as_text(content.get("language"))
    return language if language != "unknown" and language.isalnum() else ""


def _bold(value: Any) -> str:
    text = as_text(value).strip()
    return f"**{text}**" if text else ""


def _objects(value: Any) -> Iterator[Raw]:
    yield from (each for each in as_list(value) if isinstance(each, dict))
