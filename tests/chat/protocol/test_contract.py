"""Types, docs/protocol.md, codes and the page's scripts say the same of the protocol."""

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, is_typeddict

import pytest

from agent.errors import AgentError, ErrorCode
from chat.errors import RefusalCode
from chat.models.notices import WORDS, Notice, notice_text
from chat.protocol import events, frames, parts

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = (ROOT / "docs/protocol.md").read_text()
SCRIPT = "\n".join(path.read_text() for path in (ROOT / "static/js").rglob("*.js"))
TEMPLATES = "\n".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
SOURCES = {
    path: path.read_text() for room in ("agent", "chat") for path in (ROOT / room).rglob("*.py")
}
EVENTS: list[type[events.Event]] = [
    each
    for each in vars(events).values()
    if isinstance(each, type) and issubclass(each, events.Event) and each is not events.Event
]
FRAMES: tuple[Any, ...] = get_args(frames.Frame)
# Events that the page leaves alone on purpose.
UNHANDLED: frozenset[str] = frozenset()


def section(heading: str) -> str:
    return DOCUMENT.split(f"## {heading}\n")[1].split("\n## ")[0]


def rows(text: str) -> Iterator[list[str]]:
    """The cells of a table's rows, without its head."""
    for line in text.splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def ticked(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def table(text: str) -> dict[str, list[str]]:
    """By name what the second column lists, which must be nothing but a list. Each once."""
    listed: dict[str, list[str]] = {}
    for name, names, *_ in rows(text):
        assert name not in listed, f"{name} is documented twice"
        listed[name] = ticked(names)
        assert names == (", ".join(f"`{each}`" for each in listed[name]) or "–")
    return listed


def field_names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind)]


def optional(kind: Any) -> set[str]:
    return {field.name for field in fields(kind) if field.default is not MISSING}


# --- The document ---------------------------------------------------------------------------------


def test_each_event_is_documented_with_exactly_its_fields() -> None:
    documented = table(section("Server to client").split("Objects in events:")[0])
    assert documented == {f"`{each.type}`": field_names(each) for each in EVENTS}


def test_each_frame_is_documented_with_exactly_its_fields() -> None:
    def written(kind: Any) -> list[str]:
        return [name + "?" * (name in optional(kind)) for name in field_names(kind)]

    documented = table(section("Client to server"))
    assert documented == {f"`{each.type}`": written(each) for each in FRAMES}


def test_the_objects_in_events_are_documented_with_exactly_their_keys() -> None:
    documented = table(section("Server to client").split("Objects in events:")[1])
    error = AgentError(ErrorCode.INTERNAL, "Broken.").as_dict()
    assert {name: set(keys) for name, keys in documented.items()} == {
        "`turn` of a snapshot": parts.TurnState.__required_keys__,
        "`error` of `turn.finished`": error.keys(),
        "`breakdown`": parts.Breakdown.__required_keys__,
        "`totals`": parts.Totals.__required_keys__,
    }
    assert all(is_typeddict(each) for each in (parts.TurnState, parts.Breakdown, parts.Totals))


@pytest.mark.parametrize(
    ("heading", "codes"),
    [("Refusals:", RefusalCode), ("Failures:", ErrorCode), ("Degraded modes:", Notice)],
)
def test_each_code_is_documented_once(heading: str, codes: type[StrEnum]) -> None:
    text = section("Codes").split(f"{heading} ")[1]
    first_table = text[text.index("|---") :].split("\n\n")[0]
    documented = [code for names, *_ in rows(first_table) for code in ticked(names)]
    assert sorted(documented) == sorted(codes)


# --- The server -----------------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [RefusalCode, ErrorCode, Notice])
def test_each_code_is_used(codes: type[StrEnum]) -> None:
    """mypy lets nothing but members be raised; a member that nothing raises is dead."""
    uses = "\n".join(SOURCES.values())
    used = re.findall(rf"\b{codes.__name__}\.([A-Z_]+)\b", uses)
    written = {name: used.count(name) for name in codes.__members__}
    in_its_table = 1 if codes is Notice else 0
    assert [name for name, times in written.items() if times <= in_its_table] == []


def test_events_are_built_in_the_protocol_and_nowhere_else() -> None:
    names = "|".join(re.escape(each.type) for each in EVENTS)
    by_hand = re.compile(rf'"type": ?"({names})"')
    found = [str(path) for path, text in SOURCES.items() if by_hand.search(text)]
    assert found == []


def test_each_notice_has_words_and_only_those_that_concern_something_name_it() -> None:
    assert WORDS.keys() == set(Notice)
    naming = {notice for notice in Notice if "the library" in notice_text(notice, "the library")}
    assert naming == {Notice.SERVERS_LEFT_OUT, Notice.UNSTORED}


# --- The page -------------------------------------------------------------------------------------


def handles(name: str) -> re.Pattern[str]:
    """A handler's key in an object: `"turn.delta": streamed`, `async snapshot(frame) {`."""
    key = re.escape(name) if name.isidentifier() else f'"{re.escape(name)}"'
    return re.compile(rf"^\s*(?:async )?{key}(?:\(frame\) \{{|: )", re.M)


def test_the_page_handles_each_event() -> None:
    unhandled = {each.type for each in EVENTS if not handles(each.type).search(SCRIPT)}
    assert unhandled == UNHANDLED


def test_the_page_handles_nothing_that_is_not_an_event() -> None:
    handled = set(re.findall(r'^\s*(?:async )?"([a-z]+\.[a-z]+)"(?:\(frame\) \{|: )', SCRIPT, re.M))
    handled |= set(re.findall(r"^\s*(Compression\w+)(?:\(frame\) \{|: )", SCRIPT, re.M))
    assert handled - {each.type for each in EVENTS} == set()


def test_the_page_reads_no_field_that_no_event_has() -> None:
    known = {name for each in (*EVENTS, *FRAMES) for name in field_names(each)}
    read = set(re.findall(r"\bframe\??\.(\w+)", SCRIPT))
    assert read - known - {"type"} == set()


def literals(before: str) -> Iterator[str]:
    """The object literals of the scripts that follow a pattern, without their braces."""
    for match in re.finditer(before + r"\{", SCRIPT):
        depth = 0
        for at in range(match.end() - 1, len(SCRIPT)):
            depth += {"{": 1, "}": -1}.get(SCRIPT[at], 0)
            if depth == 0:
                yield SCRIPT[match.end() : at]
                break


def keys(literal: str) -> set[str]:
    """Also of literals that are spread inside."""
    plain = re.sub(r'"[^"]*"', '""', literal)
    return set(re.findall(r"(?:^|[{,])\s*(\w+)\s*(?=[:,}]|$)", plain))


def test_the_page_sends_frames_with_exactly_their_fields() -> None:
    sent: dict[str, set[str]] = {each.type: set() for each in FRAMES}
    for literal in literals(""):
        kind = re.match(r'\s*type: "([\w.]+)"', literal)
        if kind and kind[1] in sent:
            sent[kind[1]] |= keys(literal)
    # What is given to the sender of messages goes out as such a frame, or as one for the queue; it
    # adds the id.
    for literal in literals(r"\bbegin\("):
        sent["message.send"] |= keys(literal)
    sent["queue.add"].add("client_id")
    assert sent == {each.type: {"type", *field_names(each)} for each in FRAMES}


def test_scripts_and_templates_compare_codes_that_exist() -> None:
    codes = {*RefusalCode, *ErrorCode, *Notice}
    compared = set(re.findall(r'\bcode [!=]==? "([^"]*)"', SCRIPT + TEMPLATES))
    for name in re.findall(r"\b(\w+)\.includes\((?:\w+\.)?code\)", SCRIPT):
        listed = re.search(rf"const {name} = (\[[^\]]*\])", SCRIPT)
        assert listed, name
        compared |= set(re.findall(r'"([^"]*)"', listed[1]))
    assert {"head_changed", "too_long", "nothing_to_compact"} <= compared
    assert compared - codes == set()
