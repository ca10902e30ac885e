"""What CommonMark and its extensions expect, where our settings mean the same.

Ours differ on purpose: HTML in the text is text, images are links, links lead to http, https and
mail only, bare addresses are links, headings go by depth, code has a header. The first four make a
case incomparable; the rest is taken away before the comparison.
"""

import re
from collections import Counter
from html.parser import HTMLParser

from chat.html.markdown import render_markdown
from tests.data.corpus import Case, Corpus
from tests.data.recordings import need

NAMES = """
a blockquote br code del em h1 h2 h3 h4 h5 h6 hr input li ol p pre s strong table tbody td th thead
tr ul
"""
ELEMENTS = set(NAMES.split())
# Not where Markdown's own links have one: `<…>`, `](…`, `]: …`; nor in code.
BARE_ADDRESS = re.compile(r"(?<![<(`])(?<!\]: )(?<![^\W_])https?://[^\s<]", re.I)


class Bones(HTMLParser):
    """HTML as elements and text, without what our page adds."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._skip = 0  # depth inside a code header
        self._open: list[bool] = []  # for each div: whether it is left out
        self._pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        classes = (values.get("class") or "").split()
        if tag == "div":
            skipped = "code-header" in classes
            self._skip += skipped
            self._open.append(skipped)
        if self._skip or tag in ("div", "span", "input", "label"):
            return
        self._pre = self._pre or tag == "pre"
        kept = {k: v for k, v in values.items() if k in ("href", "start", "checked")}
        style = values.get("style") or " ".join(c for c in classes if c.startswith("align-"))
        align = re.search(r"left|center|right", style) if tag in ("td", "th") else None
        self.found.append(f"<{self._name(tag)} {sorted(kept.items())} {align and align[0]}>")

    def handle_endtag(self, tag: str) -> None:
        if tag == "div" and self._open and self._open.pop():
            self._skip -= 1
            return
        if not self._skip and tag not in ("div", "span", "br", "hr", "input", "label"):
            self._pre = self._pre and tag != "pre"
            self.found.append(f"</{self._name(tag)}>")

    def _name(self, tag: str) -> str:
        return "heading" if re.fullmatch(r"h[1-6]", tag) else tag

    def handle_data(self, data: str) -> None:
        if self._skip or (not self._pre and not data.strip()):
            return
        text = data if self._pre else re.sub(r"\s+", " ", data)
        if self.found and not self.found[-1].startswith("<"):
            text = self.found.pop() + text
        self.found.append(text)


def bones(html: str) -> list[str]:
    reader = Bones()
    reader.feed(html)
    reader.close()
    text = [re.sub(r"^ | $", "", item) if item[0] != "<" else item for item in reader.found]
    return [item for item in text if item]


def incomparable(case: Case) -> str:
    """Why our settings make another result of a case; "" where they do not."""
    if "<img" in case.html:
        return "an image"
    links = re.findall('href="([^"]*)"', case.html)
    links += re.findall(r"^[ >]*\[[^]]+\]:\s*<?(\S+)", case.text, re.M)
    if not all(re.match("https?:|mailto:", link, re.I) for link in links):
        return "a link that leads elsewhere"
    if "linkify" in case.name or BARE_ADDRESS.search(case.text):
        return "a bare address"
    if "single_tilde" in case.name:
        return "~ for strikethrough"
    if case.section in ("HTML blocks", "Raw HTML") or re.search("<[!?]", case.html):
        return "HTML in the text"
    tags = {tag.lower() for tag in re.findall(r"</?([a-zA-Z][\w-]*)", case.html)}
    return "HTML in the text" if tags - ELEMENTS else ""


def test_what_commonmark_expects(hostile: Corpus, report: dict[str, list[str]]) -> None:
    need(hostile.markdown, "Markdown")
    left_out: Counter[str] = Counter()
    by_list: dict[str, Counter[bool]] = {}
    different = {}
    for case in hostile.markdown:
        if reason := incomparable(case):
            left_out[reason] += 1
            continue
        same = bones(render_markdown(case.text)) == bones(case.html)
        by_list.setdefault(case.name.rpartition(" ")[0], Counter())[same] += 1
        if not same:
            different[case.name] = case
    compared = sum(map(Counter.total, by_list.values()))
    lines = [f"{name:32} {n[True]:4} of {n.total():4}" for name, n in by_list.items()]
    why = ", ".join(f"{reason}: {number}" for reason, number in left_out.most_common())
    lines.append(f"{compared - len(different)} of {compared} as expected; not comparable: {why}")
    report["CommonMark and extensions"] = lines
    shown = [
        f"{name}\n{case.text!r}\nours   {render_markdown(case.text)!r}\ntheirs {case.html!r}"
        for name, case in different.items()
    ]
    assert not shown, "\n\n".join(shown)


def test_no_case_comes_out_empty(hostile: Corpus) -> None:
    """Some once made parsers fail."""
    need(hostile.markdown, "Markdown")
    for case in hostile.markdown:
        assert render_markdown(case.text) or not bones(case.html), case.name
