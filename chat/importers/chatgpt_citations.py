"""Citations of ChatGPT: marks in the text that nobody can read, and where they lead."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chat.importers.content import as_list, as_object, as_text, list_sources
from chat.importers.json_bounds import Unreadable, read_inner

# A mark begins with U+E200 and ends with U+E201; U+E202 stands between its parts. Others of that
# part of Unicode's private area, up to U+E20F, stand around words and are taken out alone.
MARK = re.compile("\ue200([^\ue200\ue201]*)\ue201")
STRAY = re.compile("[\ue200-\ue20f]")
OLD_MARK = re.compile(r"【\d{1,6}(?::\d{1,6})?†[^】\n]{1,80}】")  # 【4†source】, until 2025
NAMED = ("entity", "url", "link")  # kinds whose second part is to be read


def read_cited(text: str, metadata: Mapping[str, Any]) -> str:
    """The text without marks, and after it the pages that it rests on, as links."""
    pages = list(_list_pages(metadata))
    if pages or metadata.get("citations"):
        text = OLD_MARK.sub("", text)
    text = STRAY.sub("", MARK.sub(_read_mark, text))
    if not text.strip():
        return text
    return "\n\n".join(filter(None, [text, list_sources(pages, text)]))


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
    """Title and address of each."""
    for reference in map(as_object, as_list(metadata.get("content_references"))):
        yield _read_page(reference)
        for item in map(as_object, as_list(reference.get("items"))):
            yield _read_page(item)
            for website in map(as_object, as_list(item.get("supporting_websites"))):
                yield _read_page(website)
    for citation in map(as_object, as_list(metadata.get("citations"))):
        yield _read_page(as_object(citation.get("metadata")))


def _read_page(page: Mapping[str, Any]) -> tuple[str, str]:
    return " ".join(as_text(page.get("title")).split()), as_text(page.get("url"))
