"""Emphasis beside Chinese, Japanese and Korean, and everywhere else as CommonMark has it."""

import re

import pytest

from chat.html.markdown import render_markdown


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("请看**《红楼梦》**这本书。", "《红楼梦》"),
        ("**价格：**十元", "价格："),
        ("这是**（重要）**的", "（重要）"),
        ("他说**“你好”**然后走了", "“你好”"),
        ("このファイルを**『保存』**してください", "『保存』"),
        ("**注意！**必ず", "注意！"),
        ("**API(앱)**입니다", "API(앱)"),
        ('**"필수"**는 꼭', '"필수"'),
        ("**50%**를 **줄였다.**그리고", "50%"),
        ("运行**`make`**命令", "make"),
        ("**。**", "。"),
    ],
)
@pytest.mark.parametrize(("mark", "tag"), [("**", "strong"), ("*", "em"), ("~~", "s")])
def test_marks_beside_punctuation_work_in_scripts_without_spaces(
    text: str, marked: str, mark: str, tag: str
) -> None:
    html = re.sub("</?code[^>]*>", "", render_markdown(text.replace("**", mark)))
    assert f"<{tag}>{marked}</{tag}>" in html
    assert mark not in html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ('a*"foo"*b', 'a*"foo"*b'),
        ("**(a)**b", "**(a)**b"),
        ("**a:**b, é", "**a:**b, é"),
        ("✅**(a)**b", "✅**(a)**b"),
        ("中 ** 文 ** 字", "中 ** 文 ** 字"),
        ("中_文_字", "中_文_字"),
        ("2 * 3 * 4，", "2 * 3 * 4，"),
    ],
)
def test_elsewhere_they_stay_what_commonmark_makes_of_them(text: str, html: str) -> None:
    assert render_markdown(text) == f'<p dir="auto">{html}</p>\n'
