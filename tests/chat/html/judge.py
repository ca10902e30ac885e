"""An independent judge of HTML that came from a model: only harmless elements and attributes."""

import re
from html.parser import HTMLParser

from chat.html import formulas

VOID = {"br", "hr", "input"}
ATTRIBUTES = {
    "a": {"href", "target", "rel", "class", "id", "aria-label", "data-label"},
    "button": {"type", "class"},
    "div": {"class", "tabindex"},
    "input": {"type", "class", "checked", "disabled"},
    "li": {"class", "id", "dir"},
    "ol": {"start", "class"},
    "p": {"class", "dir"},
    "pre": {"tabindex", "dir"},
    "section": {"class"},
    "span": {"class", "tabindex"},
    "sup": {"class"},
    "td": {"class"},
    "th": {"class"},
    "ul": {"class"},
    "code": {"class", "dir"},
    **dict.fromkeys(("blockquote", "h3", "h4", "h5", "h6", "table"), {"dir"}),
    **dict.fromkeys(formulas.TAGS, set()),
    **formulas.ATTRIBUTES,
    **{tag: set(values) for tag, values in formulas.ATTRIBUTE_VALUES.items()},
}
PLAIN_TAGS = "br em hr label s strong tbody thead tr"
TAGS = {*ATTRIBUTES, *PLAIN_TAGS.split()}


FOOTNOTE = re.compile(r"#fn(ref)?-[0-9a-f]{8}-\d+$")


class Judge(HTMLParser):
    """Reads HTML as strictly as the page needs it: known tags, attributes and schemes only."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        footnote = FOOTNOTE.match(dict(attrs).get("href") or "")
        for name, value in attrs:
            assert name in ATTRIBUTES.get(tag, ()), (tag, name)
            if name == "dir":
                assert value == ("ltr" if tag in {"code", "pre"} else "auto")
            if name == "tabindex":
                assert value == "0"
            if name == "href" and not footnote:
                assert (value or "").split(":")[0].lower() in {"http", "https", "mailto"}, value
        if tag == "a" and not footnote:
            given = dict(attrs)
            assert given["target"] == "_blank"
            assert given["rel"] == "noopener noreferrer nofollow"
        if tag == "input":
            assert dict(attrs)["type"] == "checkbox"
            assert "disabled" in dict(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def judge(html: str) -> Judge:
    reader = Judge()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader
