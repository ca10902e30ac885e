"""Markdown: what it shows, that nothing dangerous survives, and that streaming changes nothing."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat.html.markdown import render_markdown
from chat.html.markdown_stream import MarkdownStream, RenderedPiece, utf16_length
from tests.chat.html.judge import judge

# --- What it shows --------------------------------------------------------------------------------


def test_wraps_tables_and_aligns_by_class():
    html = render_markdown("| a | b |\n|:-:|--:|\n| 1 | 2 |\n")
    assert html.startswith(
        '<div class="table-block"><div class="table-scroll" tabindex="0"><table dir="auto">'
    )
    assert '<th class="align-center">a</th>' in html
    assert '<td class="align-right">2</td>' in html


def test_renders_task_lists_with_dead_checkboxes():
    html = render_markdown("- [ ] open\n- [x] done\n")
    assert html.count('type="checkbox"') == 2
    assert html.count('checked="') == 1
    assert html.count('disabled=""') == 2


def test_strikes_through():
    assert "<s>old</s>" in render_markdown("~~old~~")


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("# a\n## b\n###### c", "h3 h4 h5"),
        ("### a\n## b\n### c\n# d", "h3 h3 h4 h3"),
        ("a\n=\n# b\n## c\n### d\n#### e\n##### f", "h3 h3 h4 h5 h6 h6"),
    ],
)
def test_headings_stand_below_those_of_the_page_and_leave_out_no_level(text: str, tags: str):
    assert re.findall(r"<(h\d)", render_markdown(text)) == tags.split()


def test_headings_of_a_streamed_text_keep_their_levels():
    stream = MarkdownStream()
    blocks = stream.feed("## a\n\ntext\n\n### b\n\n## c\n\n")
    assert re.findall(r"<(h\d)", "".join(b.html for b in blocks)) == ["h3", "h4", "h3"]


def test_images_become_links():
    html = render_markdown("![a **cat**](https://example.com/cat.png)")
    assert "<img" not in html
    assert 'href="https://example.com/cat.png" class="image-link"' in html
    assert "!" not in judge(html).text


def test_shows_html_as_text():
    assert judge(render_markdown('<b onclick="x()">bold</b>\n\n<div>\n')).text.startswith(
        "<b onclick"
    )


def test_numbered_lists_keep_their_start():
    assert '<ol start="3">' in render_markdown("3. three\n4. four\n")


# --- What must not survive ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](java\tscript:alert(1))",
        "[a](<javascript:alert(1)>)",
        "[a](&#106;avascript:alert(1))",
        "[a](data:text/html;base64,PHNjcmlwdD4=)",
        "[a](vbscript:x)",
        "[a](//evil.example/x)",
        "[a](/account/logout/)",
        "[a](#top)",
        "[a](file:///etc/passwd)",
        "![a](javascript:alert(1))",
        "<javascript:alert(1)>",
        "[a][b]\n\n[b]: javascript:alert(1)",
        '[a](http://x "title\\" onclick=alert(1)")',
        '```x" onclick=alert(1)\ncode\n```',
        "```<script>\ncode\n```",
        "``` \u2028onload=x\ncode\n```",
        '| a |\n|:-:|\n| <i style="x"> |',
        '<a href="http://x" style="position:fixed">a</a>',
        "<svg><style><img src=x onerror=alert(1)></style></svg>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
        "<!-- a --><![CDATA[ b ]]><?php c ?>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "\0<script\0>alert(1)</script>",
        "\ud800[a](javascript:alert(1))\udfff",
    ],
)
def test_nothing_dangerous_survives(text: str):
    judge(render_markdown(text))


@given(
    st.text(
        alphabet=st.sampled_from("ab \n\t*_`~[]()<>!#|-:\"'&;\\/=.+0\0\ud800\U0001f600"),
        max_size=300,
    )
)
@settings(max_examples=300)
def test_any_text_gives_sound_html(text: str):
    judge(render_markdown(text))


@given(st.text(max_size=200))
def test_no_character_is_too_odd(text: str):
    judge(render_markdown(f"- {text}\n\n```py\n{text}\n```\n\n[{text}](http://x/{text})"))


# --- Hostile sizes: that they end is the test; how long they take is the bench's business ---------


@pytest.mark.parametrize(
    "piece", ["[", "*", "> ", "- ", "![", "](", "`", "**a ", "<a ", "&", "~~", "_a*"]
)
def test_long_runs_end_and_stay_sound(piece: str):
    judge(render_markdown(piece * (200_000 // len(piece))))


def test_deep_nesting_ends():
    judge(render_markdown("".join("  " * depth + "- a\n" for depth in range(400))))
    judge(render_markdown("[" * 4_000 + "a" + "](http://x)" * 4_000))


def test_a_text_beyond_the_limit_is_shown_plainly():
    html = render_markdown("*a* <b>\n" * 30_000)
    assert html.startswith('<p class="plain" dir="auto">*a* &lt;b&gt;\n*a*')
    judge(html)


def test_an_endless_paragraph_is_shown_plainly():
    html = render_markdown("**a** " * 5_000)
    assert "<strong>" not in html
    assert judge(html).text.count("**a**") == 5_000


# --- Streaming ------------------------------------------------------------------------------------

PIECES = [
    "A paragraph.\nIn two lines.",
    "# Heading",
    "- one\n- two\n\n- three, loose",
    "1. one\n\n   still one\n\n2. two\n   - deeper\n\n     deepest",
    "```python\nx = 1\n\n\ny = 2\n```",
    "~~~\n```\n\nnot closed by that\n~~~",
    "````md\n```\n\ninner\n```\n\nstill inside\n````",
    "- item\n  ```js\n  a\n\n  b\n  ```\n- next",
    "> quote\n> more\n\n> another",
    "> ```\n> a\n>\n> b\n> ```",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "    indented code\n\n    goes on",
    "Text with 😀 and “quotes”.",
    "* * *",
    "**bold** at the margin",
    "Term\n===",
]
documents = st.lists(st.sampled_from(PIECES), max_size=8).flatmap(
    lambda pieces: st.lists(
        st.sampled_from(["\n\n", "\n\n\n"]), min_size=len(pieces), max_size=len(pieces)
    ).map(lambda gaps: "".join(p + g for p, g in zip(pieces, gaps, strict=True)))
)
anything = st.text(alphabet="ab1. \n\n\n`~>-*#|\t\r😀", max_size=200)


def split(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[a:b] for a, b in zip(places, places[1:], strict=False)]


def stream(deltas: list[str]) -> list[RenderedPiece]:
    reader = MarkdownStream()
    return [block for delta in deltas for block in reader.feed(delta)]


@given(documents | anything, st.lists(st.integers(min_value=0), max_size=20))
@settings(max_examples=300)
def test_every_split_gives_the_same_blocks(text: str, cuts: list[int]):
    whole = stream([text])
    assert stream(split(text, cuts)) == whole
    assert stream(list(text)) == whole


@given(documents)
@settings(max_examples=300)
@example("- a\n\nb\n\n```\nx\n\ny\n```\nz\n\n1. c\n\n\nd\n")
def test_blocks_and_rest_give_the_same_html_as_the_whole(text: str):
    blocks = stream([text])
    rest = _after(text, blocks[-1].through if blocks else 0)
    html = "".join(block.html for block in blocks)
    assert html + (render_markdown(rest) if rest.strip() else "") == render_markdown(text)


@given(documents | anything)
def test_offsets_count_utf16_units_and_only_grow(text: str):
    offsets = [0, *(block.through for block in stream([text]))]
    assert offsets == sorted(set(offsets))
    assert offsets[-1] <= utf16_length(text)
    for offset in offsets:
        assert utf16_length(_after(text, offset)) == utf16_length(text) - offset


def test_a_paragraph_goes_out_with_its_blank_line():
    reader = MarkdownStream()
    assert reader.feed("Hello *you*") == []
    assert reader.feed(".\n") == []
    assert reader.feed("\nNext") == [RenderedPiece(14, '<p dir="auto">Hello <em>you</em>.</p>\n')]


def test_code_goes_out_with_its_closing_fence_and_not_before():
    reader = MarkdownStream()
    assert reader.feed("```py\na = 1\n\n\nb = 2\n") == []
    (block,) = reader.feed("```\n")
    assert "code-block" in block.html


def test_a_list_waits_until_something_else_begins():
    reader = MarkdownStream()
    assert reader.feed("- a\n\n- b\n\n  more\n\n") == []
    (block,) = reader.feed("After.\n")
    assert block.through == len("- a\n\n- b\n\n  more\n\n")


def _after(text: str, units: int) -> str:
    raw = text.encode("utf-16-le", "surrogatepass")[2 * units :]
    return raw.decode("utf-16-le", "surrogatepass")


def test_messages_of_another_conversation_are_linked_in_it():
    other = "0b5e9f0c-6d8e-4a53-9e0c-2f4f3d1c7a10"
    html = render_markdown(f"See [#3 #4 in {other}], [#5] and [#6 in town].")
    assert (
        f'[<a href="/c/{other}/#message-3">#3</a> <a href="/c/{other}/#message-4">#4</a>]' in html
    )
    assert '[<a href="#message-5">#5</a>]' in html
    assert "[#6 in town]" in html


# --- Directions -----------------------------------------------------------------------------------

HEBREW, ARABIC = "שלום", "مرحبا"


@pytest.mark.parametrize("word", [HEBREW, ARABIC, "Hello"])
@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("{}", ["<p dir"]),
        ("# {}", ["<h3 dir"]),
        ("- {0}\n- {0}", ["<ul>", "<li dir", "<li dir"]),
        ("1. {0}\n\n   {0}", ["<ol>", "<li dir", "<p>", "<p>"]),
        ("- {0}\n  - {0}", ["<ul>", "<li dir", "<ul>", "<li dir"]),
        ("> {0}\n>\n> {0}", ["<blockquote dir", "<p>", "<p>"]),
        ("> - {0}", ["<blockquote dir", "<ul>", "<li dir"]),
        ("| {0} |\n|---|\n| {0} |", ["<table dir", "<th>", "<td>"]),
        ("{0}[^1]\n\n[^1]: {0}", ["<p dir", "<ol>", "<li dir", "<p>"]),
    ],
)
def test_a_block_finds_its_direction_and_what_it_holds_does_not_hide_it(
    word: str, text: str, opened: list[str]
) -> None:
    """`dir="auto"` skips the words of elements that have a direction of their own."""
    html = render_markdown(text.format(word))
    tags = re.findall(r"<(?:p|h\d|[uo]l|li|blockquote|table|th|td)\b[^>]*>", html)
    assert [f"<{tag.split()[0].strip('<>')}" + " dir" * ("dir=" in tag) for tag in tags] == [
        tag.removesuffix(">") for tag in opened
    ]


@pytest.mark.parametrize("word", [HEBREW, ARABIC])
def test_code_stays_left_to_right(word: str) -> None:
    html = render_markdown(f"`x = 1` {word}\n\n```py\n# {word}\n```\n")
    assert html.startswith('<p dir="auto"><code dir="ltr">x = 1</code> ')
    assert '<pre tabindex="0" dir="ltr"><code dir="ltr">' in html


def test_streamed_pieces_have_the_same_directions() -> None:
    text = f"# {HEBREW}\n\n{ARABIC} abc\n\n> {HEBREW}\n\n- {ARABIC}\n  - b\n\nEnd\n\n"
    assert "".join(piece.html for piece in MarkdownStream().feed(text)) == render_markdown(text)
