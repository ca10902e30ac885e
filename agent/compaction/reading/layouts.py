"""Records that are laid out otherwise than in Markdown: as JSON, in tags, in a table or quoted.
Each is written as lines of Markdown, which `agent.compaction.reading.record` then reads."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[\w-]*[ \t]*$", re.M)
_LIST_TAG = re.compile(r"<li\b[^<>]{0,80}>", re.I)
_HEADING_TAG = re.compile(
    r"(?:<p>[ \t]*<(?P<bold>b|strong)>|<(?P<tag>h[1-6]|title|heading)\b[^<>]{0,80}>)"
    r"(?P<title>[^<>\n]{1,200})(?:</(?:b|strong|h[1-6]|title|heading)>)(?:[ \t]*</p>)?",
    re.I,
)
_NAMED_TAG = re.compile(
    r"<[a-z]{1,20}\b[^<>]{0,40}\b(?:name|title|heading|id)=[\"'](?P<title>[^\"'<>]{1,100})[\"']"
    r"[^<>]{0,40}>",
    re.I,
)
# A tag alone in its line whose name says what is in it.
_OWN_TAG = re.compile(r"^[ \t]*<(?P<title>[^\W\d][\w-]{2,40})>[ \t]*(?=$|[^<\s])", re.M)
_LAYOUT_TAG = re.compile(
    r"</?(?:html|head|body|main|article|section|div|header|ul|ol|li|p|hr|summary|record|document"
    r"|output|result|response|items?|bullets?|content|text|list)\b[^<>]{0,80}>",
    re.I,
)
_CODE = re.compile(r"(^[ \t]*(?:`{3,}|~{3,})[^\n]*\n.*?^[ \t]*(?:`{3,}|~{3,})[ \t]*$)", re.M | re.S)
_QUOTED = re.compile(r"^[ \t]*>[ \t]?", re.M)
_ROW = re.compile(r"^[ \t]*\|(?P<title>[^|\n]{1,100})\|(?P<body>[^\n]+?)\|?[ \t]*$", re.M)
_BREAK = re.compile(r"[ \t]*<br[ \t]*/?>[ \t]*", re.I)
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[{}\[\]]', re.S)
_JSON_KEY = re.compile(r"\s*(?::|$)")
_MARK = re.compile(r"[-*+•][ \t]+")
LEAST_TAGS = 5  # of a list, from which on it is no Markdown


def find_structure(text: str) -> list[str] | None:
    """The lines of a text that certainly is no Markdown: JSON, or a page of HTML with lists."""
    if (lines := _read_json(text)) is not None:
        return lines
    return _read_tags(text).splitlines() if len(_LIST_TAG.findall(text)) >= LEAST_TAGS else None


def list_layouts(text: str) -> Iterator[list[str]]:
    """The lines of a text by each other layout that it may have."""
    for sign, read in _LAYOUTS:
        if sign in text:
            yield read(text).splitlines()


def _read_json(text: str) -> list[str] | None:
    bare = _FENCE_LINE.sub("", text).strip()
    if not bare.startswith(("{\n", "{ ", '{"')):
        return None
    try:
        record = json.loads(bare if bare.endswith("}") else _close(bare), strict=False)
        while len(record) == 1 and isinstance(only := next(iter(record.values())), dict):
            record = only
        return [line for key, value in record.items() for line in _write_part(key, value)]
    except (ValueError, RecursionError):  # no JSON, or nested deeper than a record is
        return None


def _close(text: str) -> str:
    """JSON that was cut, without the value that it broke off in."""
    whole, open_now, closed = 0, "", ""
    for match in _JSON_TOKEN.finditer(text):
        token = match[0]
        if match.end() == len(text):
            break
        if token in "{[":
            open_now = ("}" if token == "{" else "]") + open_now
        elif token in "}]":
            open_now = open_now[1:]
        if token in "}]" or (token[0] == '"' and not _JSON_KEY.match(text, match.end())):
            whole, closed = match.end(), open_now
    return text[:whole] + closed or "{}"


def _write_part(key: str, value: Any) -> Iterator[str]:
    yield f"## {_read_name(key)}"
    if isinstance(value, str):
        yield from value.splitlines()
    else:
        yield from _write_items(value, "")


def _write_items(value: Any, indent: str) -> Iterator[str]:
    """What stands under a key, as bullets."""
    if isinstance(value, dict):
        for key, each in value.items():
            if isinstance(each, dict | list):
                yield f"{indent}- {key}:"
                yield from _write_items(each, indent + "  ")
            else:
                yield f"{indent}- {key}: {each}"
    elif isinstance(value, list) and any(isinstance(e, str) and _MARK.match(e) for e in value):
        yield from map(str, value)  # they are the lines themselves
    elif isinstance(value, list):
        for each in value:
            yield from _write_items(each, indent)
    elif value not in (None, ""):
        yield f"{indent}- {_MARK.sub('', str(value), count=1)}"


def _read_name(name: str) -> str:
    """A name that a program could have, as words."""
    return name if " " in name else re.sub(r"[_-]+", " ", name)


def _read_tags(text: str) -> str:
    if _FENCE_LINE.match(text.strip()):
        text = "\n".join(text.strip().splitlines()[1:-1])
    for name in {match["title"] for match in _OWN_TAG.finditer(text)}:
        text = text.replace(f"</{name}>", "\n")
    parts = _CODE.split(text)
    parts[::2] = map(_read_tags_of_text, parts[::2])
    return "\n".join(parts)


def _read_tags_of_text(text: str) -> str:
    text = _HEADING_TAG.sub(lambda match: f"\n## {match['title'].strip(' :')}\n", text)
    text = _NAMED_TAG.sub(lambda match: f"\n## {_read_name(match['title'])}\n", text)
    text = _OWN_TAG.sub(lambda match: f"## {_read_name(match['title'])}\n", text)
    text = _LAYOUT_TAG.sub("\n", _LIST_TAG.sub("\n- ", text))
    return re.sub(r"\n[ \t]*(?=\n)", "", text)


def _read_table(text: str) -> str:
    def write(match: re.Match[str]) -> str:
        items = filter(None, map(str.strip, _BREAK.split(match["body"])))
        bullets = "\n".join(f"- {_MARK.sub('', item, count=1)}" for item in items)
        return f"## {match['title'].strip(' *_`')}\n{bullets}"

    return _ROW.sub(write, text)


def _read_quotation(text: str) -> str:
    return _QUOTED.sub("", text)


# By what a text of the layout has in it.
_LAYOUTS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("</", _read_tags),
    ("|", _read_table),
    (">", _read_quotation),
)
