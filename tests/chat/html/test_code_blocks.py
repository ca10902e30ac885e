"""Blocks of code: marked where that is safe and quick, plain elsewhere."""

import pytest

from chat.html import code_blocks
from chat.html.code_blocks import render_code
from chat.html.markdown import render_markdown
from chat.html.render_budget import RenderBudget
from tests.chat.html.judge import judge


def test_highlights_code_with_classes():
    html = render_markdown("```python\ndef f(): return 1\n```\n")
    assert '<span class="k">def</span>' in html
    assert '<span class="code-language">python</span>' in html
    assert "button" not in html  # the page's script adds them
    assert "style" not in html


def test_shows_code_of_an_unknown_language_plainly():
    html = render_markdown("```no-such-language\na < b\n```\n")
    assert '<pre tabindex="0" dir="ltr"><code dir="ltr">a &lt; b\n</code></pre>' in html
    assert "no-such-language" in html


def test_a_diagram_is_code_that_says_so():
    html = render_markdown("```mermaid\ngraph TD; A-->B\n```\n")
    assert '<span class="code-language">mermaid · diagram source</span>' in html
    assert judge(html).text.endswith("graph TD; A-->B\n\n")


def test_leaves_very_long_code_unhighlighted():
    html = render_markdown("```python\n" + "x = 1\n" * 10_000 + "```\n")
    assert judge(html).text.count("x = 1\n") == 10_000
    assert '<span class="' not in html.partition("<pre")[2]


@pytest.mark.parametrize(
    ("language", "code"),
    [("python", "\n " * 9_000), ("js", "a." * 9_000), ("yaml", "%" * 18_000)],
)
def test_gives_up_on_code_that_a_lexer_is_slow_with(language: str, code: str):
    html = render_markdown(f"```{language}\n{code}\n```\n")
    assert f"{code}\n" in judge(html).text
    assert '<span class="' not in html.partition("<pre")[2]


def test_every_listed_language_has_a_lexer():
    for language in code_blocks._languages:
        assert code_blocks._lexer(language), language
        judge(render_code("x = [1] # 'a'\n", language, RenderBudget()))


def test_keeps_the_newlines_of_code_as_they_are():
    assert '<pre tabindex="0" dir="ltr"><code dir="ltr">\n\na\n\n</code></pre>' in render_markdown(
        "```\n\n\na\n\n```\n"
    )
