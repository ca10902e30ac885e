"""A Markdown file in a fence is one block, live and in the end."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.html.markdown import render_markdown
from chat.html.markdown_stream import MarkdownStream

README = "# Tool\n\n```sh\nmake\n```\n\nThen:\n\n```py\nimport tool\n```\n"


def list_blocks(text: str) -> list[str]:
    """The text of each block of code."""
    html = re.sub(r'<div class="code-header">.*?</div>', "", render_markdown(text), flags=re.S)
    blocks = re.findall(r"<pre.*?</pre>", html, re.S)
    return [re.sub(r"<[^>]*>", "", block) for block in blocks]


@pytest.mark.parametrize("language", ["markdown", "md", "Markdown title=x"])
@pytest.mark.parametrize("mark", ["```", "~~~~"])
def test_fences_with_a_language_pair_up_in_a_fence_of_markdown(language: str, mark: str) -> None:
    file = README.replace("```", mark)
    text = f"See:\n\n{mark}{language}\n{file}{mark}\n\nDone.\n"
    assert list_blocks(text) == [file]
    assert '<p dir="auto">Done.</p>' in render_markdown(text)


def test_a_file_in_a_file_and_in_a_list_is_one_block_too() -> None:
    inner = f"```md\n{README}```\n"
    assert list_blocks(f"```md\n{inner}```\n") == [inner]
    indented = "".join(f"   {line}\n" for line in f"```md\n{README}```".split("\n"))
    assert list_blocks(f"1. Save:\n\n{indented}\n2. Run\n") == [README]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("```md\n# a\n```\n\nb\n\n```sh\nc\n```\n", ["# a\n", "c\n"]),
        ("```md\n```sh\na\n```\n\nb\n", ["```sh\na\n"]),  # too few ends
        ("```sh\n```py\na\n```\nb\n", ["```py\na\n"]),  # no Markdown
        ("````md\n```sh\na\n```\n````\nb\n", ["```sh\na\n```\n"]),
        ("```md\n````sh\na\n```\n````\n```\nb\n", ["````sh\na\n```\n````\n"]),
    ],
)
def test_other_fences_end_as_ever(text: str, blocks: list[str]) -> None:
    assert list_blocks(text) == blocks


def test_a_quote_goes_on_after_its_code() -> None:
    text = "> ```\n> a = 1\n> ```\n> That is all.\n\nDone.\n\n"
    live = "".join(piece.html for piece in MarkdownStream().feed(text))
    assert live.count("<blockquote") == render_markdown(text).count("<blockquote") == 1


LINES = ["```md", "```sh", "```", "~~~", "~~~~md", "a", "", "- b", "# c", "1"]


@given(st.lists(st.sampled_from(LINES), max_size=14))
@settings(max_examples=200)
def test_pieces_that_were_given_stay_as_they_are(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n\n"
    stream = MarkdownStream()
    pieces = [piece for line in lines for piece in stream.feed(line + "\n")]
    through = pieces[-1].through if pieces else 0
    html = "".join(piece.html for piece in pieces)
    rest = render_markdown(text[through:])
    assert judged(html + rest) == judged(render_markdown(text))


def judged(html: str) -> str:
    """The blocks; headings go by what stands before them."""
    return re.sub(r"h[1-6]\b", "h", html)
