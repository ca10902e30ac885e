"""Formulas and footnotes: what is drawn, what stays text, and what cannot get through."""

import pytest

from chat.html.markdown import render_markdown
from chat.html.markdown_stream import MarkdownStream


@pytest.mark.parametrize(
    "source", ["$x^2$", r"\(x^2\)", "$$x^2$$", "$$\nx^2\n$$", "\\[x^2\\]", "a $$x^2$$ b"]
)
def test_every_way_to_write_a_formula_gives_mathml(source: str) -> None:
    html = render_markdown(source)
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in html
    assert "<math display=" in html
    assert "$" not in html


@pytest.mark.parametrize(
    "source",
    [
        "It costs $5 or $10.",
        "From $5-$10, later $20",
        "`$x$`",
        "Escaped \\$x\\$",
        "```\n$x$\n```",
    ],
)
def test_dollars_and_code_stay_as_they_are(source: str) -> None:
    assert "<math" not in render_markdown(source)


@pytest.mark.parametrize("source", [r"\frac{", "a_b_c", r"\left(", "{" * 1_500, "x" * 2_001, "&"])
def test_what_cannot_be_converted_is_shown_as_its_source(source: str) -> None:
    html = render_markdown(f"before $${source}$$ after")
    assert "before" in html
    assert "after" in html


@pytest.mark.parametrize(
    "source",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\text{<img src=x onerror=alert(1)>}",
        r"\text{</math><script>alert(1)</script>}",
        r"\class{actions}{x}",
        r"\style{position:fixed}{x}",
        r"\hspace{99999em}",
    ],
)
def test_a_formula_carries_nothing_but_a_formula(source: str) -> None:
    html = render_markdown(f"${source}$")
    for unwanted in ("javascript", "<img", "<script", "class=", "style=", "href", "99999"):
        assert unwanted not in html.replace("&lt;", "(").replace("math-source", ""), html


def test_footnotes_are_linked_both_ways_and_do_not_meet_those_of_other_messages() -> None:
    html = render_markdown("One[^a], two[^b], one again[^a].\n\n[^a]: First.\n[^b]: Second.")
    other = render_markdown("Other[^a].\n\n[^a]: First.")
    ids = {part.partition('"')[0] for part in html.split(' id="')[1:]}
    links = [part.partition('"')[0] for part in html.split(' href="#')[1:]]
    assert len(ids) == 4
    assert len(links) == 5
    assert set(links) == ids
    assert not any(each in other for each in ids)


def test_a_streamed_formula_is_not_cut() -> None:
    stream = MarkdownStream()
    blocks = [
        block
        for delta in ("Now $$\n", "x^2\n", "$$\n", "\nNext.\n\n")
        for block in stream.feed(delta)
    ]
    assert "<msup>" in blocks[0].html
