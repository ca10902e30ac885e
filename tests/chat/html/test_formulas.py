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
        "Call ${SCHEME}://${NAME}:${PORT_2} or $USER@$HOST_1.",
        "In PHP, $row->get($key) and $_POST['a'].$_GET['b'], or $i++;$j++.",
        "In Perl, $n*$m, $n.$m, @$list,$x and $hash{$key}{$name}.",
        "awk '$3 == $1 {print $NF}' and awk '{print $2,$4}'",
        "make $(CC) $(CFLAGS), $(A)/$(B) and $(A)$(B)",
        "Between ^ab$ and ^c|d$, or /^\\d+$/ and /^\\w+$/",
        "The cells $B$2:$C$7 and the columns $D:$E",
        "US$7 and US$8, A$3 and NZ$4, 5$ or 6$",
        "We pay $30 a head (or 28$), $12k-$15k a year, $9/mo or 80$ a year.",
        "Under $1.5 million, or 2$; $20, say 18$.",
        "The process is $$ and its parent $$ too.",
        "$$ and $$",
        "$$, or as root $$; then:\n\ntrap 'kill $$' INT; sleep 9; rm /tmp/$$; kill $$",
        "See $HOME and `a$`, or ($USER)$ ls",
        "```\n$x$\n```",
    ],
)
def test_dollars_and_code_stay_as_they_are(source: str) -> None:
    assert "<math" not in render_markdown(source)


@pytest.mark.parametrize(
    "source",
    [
        *("n", "2x", "3.14", "10^5", "E=mc^2", "a+b", "+", "|x|", "f'", "n!", "x^*", "A^+", "-1"),
        *("[0,1)", "(a,b)", "0 < x < 1", "x_1, x_2", "5 + 3", "1,2,3", r"\alpha", r"\$5", r"100\%"),
        *(r"5 \times 3", r"\mathbb{R}^+", r"10\text{ or more}", r"\{1,2\}", r"12 \mathrm{km}"),
    ],
)
@pytest.mark.parametrize("around", ["${}$", "the ${}$-th", "(${}$)", "其中${}$是数", "**${}$**, 5"])
def test_formulas_between_dollars_are_drawn(source: str, around: str) -> None:
    html = render_markdown(around.replace("{}", source))
    assert html.count("<math") == 1
    assert "$" not in html.replace("<mi>$</mi>", "").replace("<mo>$</mo>", "")


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
