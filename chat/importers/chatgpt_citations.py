"""Citations of ChatGPT: marks in the text that nobody can read, and where they lead."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chat.importers.json_bounds import Unreadable, read_inner

# A mark begins with U+E200 and ends with U+E201; U+E202 stands between its parts. Others of that
# part of Unicode's private area, up to U+E20F, stand around words and are taken out alone.
MARK = re.compile("\ue200([^\ue200\ue201]*)\ue201")
STRAY = re.compile("[\ue200-\ue20f]")
OLD_MARK = re.compile(r"【\d+(?::\d+)?†[^】\n]{1,80}】")  # 【4†source】, until 2025
NAMED = ("entity", "url", "link")  # kinds whose second part is to be read


def read_cited(text: str, metadata: Mapping[str, Any]) -> str:
    """The text without marks, and after it the pages that it rests on, as links."""
    pages = dict(_list_pages(metadata))
    if pages or metadata.get("citations"):
        text = OLD_MARK.sub("", text)
    text = STRAY.sub("", MARK.sub(_read_mark, text))
    shown = [f"- [{_escape(title or url)}](<{url}>)" for url, title in pages.items()]
    return "\n\n".join(filter(None, [text, "\n".join(shown)])) if text.strip() else text


def _read_mark(mark: re.Match[str]) -> str:
    kind, _, rest = mark[1].partition("\ue202")
    if kind not in NAMED:
        return ""
    first = rest.partition("\ue202")[0]
    value = read_inner(first)
    if isinstance(value, Unreadable):
        return first
    words = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    return words[1] if len(words) > 1 else "".join(words[:1])


def _list_pages(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Address and title of each."""
    for reference in _objects(metadata.get("content_references")):
        yield from _read_page(reference)
        for item in _objects(reference.get("items")):
            yield from _read_page(item)
            for website in _objects(item.get("supporting_websites")):
                yield from _read_page(website)
    for citation in _objects(metadata.get("citations")):
        page = citation.get("metadata")
        if isinstance(page, Mapping):
            yield from _read_page(page)


def _read_page(page: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    url, title = page.get("url"), page.get("title")
    if isinstance(url, str) and re.fullmatch(r"https?://[^\s<>]+", url):
        yield url, " ".join(title.split()) if isinstance(title, str) else ""


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, Mapping))


def _escape(title: str) -> str:
    """Words of a Markdown link."""
    return re.sub(r"([\\\[\]`*_<>])", r"\\\1", title)
