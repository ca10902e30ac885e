"""The common constructs of answers: each becomes what it means, and no source is left over."""

import re
from html import unescape

import pytest

from chat.html.markdown import render_markdown
from chat.html.markdown_stream import MarkdownStream

BARE = "https://example.org"

# A construct, and what its HTML must contain.
CONSTRUCTS = [
    # Words
    ("**bold**", "<strong>"),
    ("__bold__", "<strong>"),
    ("*italic*", "<em>"),
    ("_italic_", "<em>"),
    ("***both***", "<em><strong>"),
    ("**bold with *italic* in it**", "<em>"),
    ("~~struck~~", "<s>"),
    ("`code`", "<code"),
    ("``code with a tick``", "<code"),
    ("**`bold code`**", "<strong><code"),
    ("snake_case_name stays", "snake_case_name"),
    ("2 < 3 and 4 > 1", "2 &lt; 3"),
    ("line one  \nline two", "<br>"),
    ("line one\\\nline two", "<br>"),
    ("a\nb", "a\nb"),
    ("AT&T, R&D", "AT&amp;T"),
    ("&copy; 2026", "© 2026"),
    ("5 &times; 3 &lt; 16", "5 × 3 &lt; 16"),
    ("a&nbsp;b", "a"),
    ("&#8364; 5", "€ 5"),
    ("&#x20AC; 5", "€ 5"),
    (r"C\# and \*stars\*", "C# and *stars*"),
    (r"3\. no list", "3. no list"),
    (r"costs \$5", "costs $5"),
    ("It costs $5 and $10 more.", "$5 and $10"),
    ("Emoji 🎉 stays", "🎉"),
    # Headings and rules
    ("# One", "<h3"),
    ("## Two", "<h3"),
    ("# One\n## Two\n### Three", "<h5"),
    ("One\n===", "<h3"),
    ("One\n---", "<h3"),
    ("# With `code`", "<code"),
    ("## Closed ##", ">Closed</h3>"),
    ("a\n\n---\n\nb", "<hr>"),
    ("a\n\n***\n\nb", "<hr>"),
    # Lists
    ("- a\n- b", "<ul>"),
    ("* a\n* b", "<ul>"),
    ("+ a\n+ b", "<ul>"),
    ("1. a\n2. b", "<ol>"),
    ("1) a\n2) b", "<ol>"),
    ("5. a\n6. b", '<ol start="5">'),
    ("- a\n  - b\n    - c", "<ul>"),
    ("1. a\n   - b\n2. c", "<ul>"),
    ("- a\n  1. b", "<ol>"),
    ("- a\n\n  more of a\n- b", "<p>"),
    ("- **Name**: text", "<strong>"),
    ("- a\n\n  ```py\n  x = 1\n  ```\n- b", "<pre"),
    ("- a\n\n  > quoted", "<blockquote>"),
    ("Text:\n- a\n- b", "<ul>"),
    ("- [ ] open", 'type="checkbox"'),
    ("- [x] done", "checked"),
    ("- [X] done", "checked"),
    ("1. [ ] open", 'type="checkbox"'),
    ("- [ ] a\n  - [x] b", "checked"),
    # Quotes
    ("> quoted", "<blockquote"),
    ("> a\n>\n> b", "<blockquote"),
    ("> a\n> > b", "<blockquote>"),
    ("> - a\n> - b", "<ul>"),
    ("> ```\n> code\n> ```", "<pre"),
    ("> **Note:** text", "<strong>"),
    # Code
    ("```\ncode\n```", "<pre"),
    ("```python\nx = 1\n```", ">python</span>"),
    ("~~~\ncode\n~~~", "<pre"),
    ("````\n```\ninner\n```\n````", "inner"),
    ("    indented code", "<pre"),
    ("```no-such-language\nx\n```", "no-such-language"),
    ("```diff\n- a\n+ b\n```", 'class="gd"'),
    ("Text\n```js\nlet a;\n```\nText", "<pre"),
    # Tables
    ("| a | b |\n|---|---|\n| 1 | 2 |", "<td>1</td>"),
    ("a | b\n--|--\n1 | 2", "<td>1</td>"),
    ("| a |\n|:-:|\n| 1 |", "align-center"),
    ("| a |\n|--:|\n| 1 |", "align-right"),
    ("| a |\n|---|\n| `x` |", "<td><code"),
    ("| a |\n|---|\n| **x** |", "<strong>"),
    ("| a |\n|---|\n| x \\| y |", "x | y"),
    ("| a | b |\n|---|---|\n| 1 |", "<td></td>"),
    ("| day |\n|---|\n| 2026-11-23 |", '<td><span class="date">2026-11-23</span></td>'),
    ("| a |\n|---|\n| *2026-11-23* and 2026-11-23-1 |", "</em> and 2026-11-23-1"),
    ("Text\n\n| a |\n|---|\n| 1 |\n\nText", "<table"),
    # Links
    ("[name](https://example.org)", f'<a href="{BARE}"'),
    ('[name](https://example.org "title")', f'<a href="{BARE}"'),
    ("[name][1]\n\n[1]: https://example.org", f'<a href="{BARE}"'),
    ("[name]\n\n[name]: https://example.org", f'<a href="{BARE}"'),
    ("[`code`](https://example.org)", "<code"),
    ("**[name](https://example.org)**", "<strong><a"),
    ("<https://example.org>", f'<a href="{BARE}"'),
    ("<ada@example.org>", '<a href="mailto:ada@example.org"'),
    (BARE, f'<a href="{BARE}"'),
    (f"See {BARE}.", f'<a href="{BARE}"'),
    (f"({BARE}/a_(b))", f'<a href="{BARE}/a_(b)"'),
    (f"**{BARE}**", f'<strong><a href="{BARE}"'),
    (f"{BARE}/?a=1&b=2#c", f'<a href="{BARE}/?a=1&amp;b=2#c"'),
    (f"- {BARE}/a_b_c", f'<a href="{BARE}/a_b_c"'),
    (f"| a |\n|---|\n| {BARE} |", f'<a href="{BARE}"'),
    (f"看{BARE}。", f'<a href="{BARE}"'),
    ("![A picture](https://example.org/a.png)", "image-link"),
    # Footnotes
    ("Text[^1]\n\n[^1]: The note.", "footnote-ref"),
    ("Text[^note]\n\n[^note]: The note.", "footnote-ref"),
    # Formulas
    ("$x^2$", "<msup>"),
    ("$$x^2$$", 'display="block"'),
    ("$$\nx^2\n$$", 'display="block"'),
    (r"\(x^2\)", "<msup>"),
    (r"\[x^2\]", 'display="block"'),
    ("\\[\nx^2\n\\]", 'display="block"'),
    (r"$\frac{1}{2}$", "<mfrac>"),
    (r"$\sqrt{x}$", "<msqrt>"),
    (r"$\sum_{i=1}^{n} i$", "<msubsup>"),
    (r"$\alpha \le \beta$", "α"),
    (r"$\vec{v} \cdot \hat{n}$", "<mover>"),
    (r"$\text{rate} = 5$", "<mtext>"),
    (r"$\mathbb{R}^n$", "<msup>"),
    ("$$\\begin{aligned}\na &= b \\\\\nc &= d\n\\end{aligned}$$", "<mtable"),
    ("\\[\n\\begin{aligned}\na &= b \\\\\nc &= d\n\\end{aligned}\n\\]", "<mtable"),
    ("$$\\begin{gathered} a \\\\ b + c \\end{gathered}$$", "<mtable"),
    ("$$\n\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}\n$$", "<mtable"),
    ("$$f(x) = \\begin{cases} 1 & x > 0 \\\\ 0 & x \\le 0 \\end{cases}$$", "<mtable"),
    ("- $x^2$ in a list", "<msup>"),
    ("| $x^2$ |\n|---|\n| 1 |", "<msup>"),
]

# Marks that stand for something: in what a reader sees, they are left over.
LEFT_OVER = re.compile(
    r"\*\*|__|~~|`|^#{1,6} |\]\(|\[\^|\[[ xX]\]|^\s*[-*+] |^>|\|-|^\||\\[a-zA-Z]+|\\[()\[\]]|\$\$|"
    r"&[a-z#]\w*;|&amp;",
    re.M,
)
CODE = re.compile(r"<code\b.*?</code>", re.S)


def read(html: str) -> str:
    """What a person reads, without code."""
    return unescape(re.sub(r"<[^>]+>", "", CODE.sub("", html)))


@pytest.mark.parametrize(("source", "expected"), CONSTRUCTS, ids=[s[:40] for s, _ in CONSTRUCTS])
def test_a_construct_becomes_what_it_means(source: str, expected: str) -> None:
    html = render_markdown(source)
    assert expected in html
    assert LEFT_OVER.findall(read(html)) == []


def test_there_are_a_hundred() -> None:
    assert len(dict(CONSTRUCTS)) >= 100


@pytest.mark.parametrize("source", [s for s, _ in CONSTRUCTS if BARE in s and "]: " not in s])
def test_a_link_is_the_same_while_it_is_streamed(source: str) -> None:
    text = f"{source}\n\nEnd\n\n"
    stream = MarkdownStream()
    pieces = [piece.html for letter in text for piece in stream.feed(letter)]
    assert "".join(pieces) == render_markdown(text)


@pytest.mark.parametrize(
    "text",
    [
        f"`{BARE}`",
        f"```\n{BARE}\n```",
        f"    {BARE}",
        "manage.py README.md example.org www.example.org",
        "http:// https://. http://)",
        "ftp://example.org javascript://example.org xhttp://example.org",
    ],
)
def test_code_files_and_other_schemes_are_no_links(text: str) -> None:
    assert "<a " not in render_markdown(text)


@pytest.mark.parametrize("text", [f"[{BARE}/a](https://other.org)", f"Wow!{BARE}", f"<{BARE}>!"])
def test_a_link_is_made_once_and_is_no_picture(text: str) -> None:
    html = render_markdown(text)
    assert html.count("<a ") == 1
    assert "image-link" not in html


@pytest.mark.parametrize(
    "address",
    [
        "http://[::1]:8000/x",
        "http://[2001:db8::7]/a?b=c#d",
        "https://me:secret@[2001:DB8::7]:8443/",
    ],
)
def test_a_host_in_brackets_is_a_host(address: str) -> None:
    for text in (f"[name]({address})", f"<{address}>", f"Open {address}.", f"({address})"):
        html = render_markdown(text)
        assert html.count(f'<a href="{address}"') == 1, text
        assert "</a>" in html


@pytest.mark.parametrize(
    "address",
    [
        "https://exa[mple.org/",
        "https://exa]mple.org/a",
        "https://www.[host].org/",
        "http://[fe80::1%25eth0]/x",
        "http://[::1/",
        "https://a^b.org/",
        "https://example.org:99999/",
    ],
)
def test_what_no_browser_opens_is_no_link_and_stays_to_be_read(address: str) -> None:
    for text in (
        f"[name]({address})",
        f"![name]({address})",
        f"<{address}>",
        f"Open {address} now",
        f"[name]\n\n[name]: {address}",
    ):
        html = render_markdown(text)
        assert "<a " not in html, text
        assert address in read(html), text


@pytest.mark.parametrize("note", ["[1]", "[^1]", "[1].", "]", "[#12]"])
def test_a_note_behind_an_address_is_not_part_of_it(note: str) -> None:
    assert f'<a href="{BARE}"' in render_markdown(f"[see {BARE}{note}")
