"""What is written on one side is read as it was meant on the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.sources.slack.drawing import draw_posts, link
from chat.sources.slack.reading import list_people, read_mrkdwn

NAMES = {"U1": "Ada", "UBOT": ""}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
        ("*bold*, _it_ and ~gone~", "**bold**, _it_ and ~~gone~~"),
        ("2*3*4 and a * b * c", "2*3*4 and a * b * c"),
        ("<https://example.org/a_b*c*|the *plan*>", "[the *plan*](https://example.org/a_b*c*)"),
        ("<https://example.org>", "https://example.org"),
        ("<mailto:a@example.org|a@example.org>", "a@example.org"),
        ("<@UBOT> ask <@U1>, <@U2|bob> and <@U3>", "ask @Ada, @bob and @U3"),
        ("<#C1|general> <!here> <!subteam^S1|@ops>", "#general @here @ops"),
        ("<!date^1700000000^{date}|14 November>", "14 November"),
        ("• one\n• two\n  ◦ three", "- one\n- two\n  - three"),
        ("&gt; said\nno", "> said\nno"),
        ("`a *b* &lt;c&gt;` *d*", "`a *b* <c>` **d**"),
        ("see ```x = *y*\nz``` there", "see \n```\nx = *y*\nz\n```\n there"),
        ("`<https://a.example|a.example>`", "`a.example`"),
        (":tada: done :white_check_mark:", ":tada: done :white_check_mark:"),
        ("<|one> and <|>", "one and"),
        ("", ""),
    ],
)
def test_slacks_markup_is_read_as_markdown(written: str, read: str) -> None:
    assert read_mrkdwn(written, NAMES) == read


def test_the_people_that_a_text_mentions_are_known() -> None:
    assert list_people("<@U1> and <@U2|bob>, not @U3") == {"U1", "U2"}


@pytest.mark.parametrize(
    ("markdown", "drawn"),
    [
        ("**bold** _it_ ~~gone~~ `a<b`", "*bold* _it_ ~gone~ `a&lt;b`"),
        ("# A *title*", "*A _title_*"),
        ("[here](https://example.org/?a=1&b=2)", "<https://example.org/?a=1&amp;b=2|here>"),
        ("[x](ftp://example.org/a) [y](javascript:alert)", "x [y](javascript:alert)"),
        ("[x](http://[host:port]/c) ![y](https://[d:e]/)", "x y"),
        ("![plan](https://example.org/p.png)", "<https://example.org/p.png|plan>"),
        ("- a\n  - b\n    1. c\n- d", "• a\n    ◦ b\n        1. c\n• d"),
        ("3. three\n4. four", "3. three\n4. four"),
        ("> a\n> b", "> a\n> b"),
        ("```py\nif a < b:\n    pass\n```", "```\nif a &lt; b:\n    pass\n```"),
        ("| A | B |\n|---|---|\n| 1 | long |\n", "```\nA  B\n-  ----\n1  long\n```"),
        ("one\ntwo\n\nthree", "one\ntwo\n\nthree"),
        ("---", "———"),
        ("<b>raw</b>", "&lt;b&gt;raw&lt;/b&gt;"),
        ("a & b", "a &amp; b"),
    ],
)
def test_markdown_is_drawn_in_slacks_markup(markdown: str, drawn: str) -> None:
    assert draw_posts(markdown) == [drawn]


@pytest.mark.parametrize("alarm", ["<!channel>", "<!here|x>", "<@U1>", "<!subteam^S1>"])
def test_nothing_that_a_model_writes_rings_anybody(alarm: str) -> None:
    forms = f"{alarm} `{alarm}` **{alarm}** [{alarm}](https://example.org)\n\n```\n{alarm}\n```"
    (drawn,) = draw_posts(forms)
    assert alarm not in drawn
    assert "<!" not in drawn
    assert "<@" not in drawn


def test_a_link_cannot_be_left_by_its_address() -> None:
    assert link("https://example.org/|x><!here>", "a>b|c").count(">") == 1


def test_no_text_is_no_post() -> None:
    assert draw_posts("") == draw_posts(" \n\n") == []


@given(
    st.lists(st.sampled_from(["word ", "a&b ", "<x> ", "\n\n", "`code` ", "x" * 70]), max_size=80)
)
def test_posts_are_short_and_lose_no_word(pieces: list[str]) -> None:
    markdown = "".join(pieces)
    posts = draw_posts(markdown, longest=300)
    assert all(0 < len(post) <= 300 for post in posts)
    whole = "".join("".join(draw_posts(markdown, longest=10**6)).split())
    assert "".join("".join(posts).split()) == whole


def test_long_code_is_code_in_each_post() -> None:
    code = "\n".join(f"line {number} < {number + 1}" for number in range(500))
    posts = draw_posts(f"```\n{code}\n```")
    assert len(posts) > 1
    inside = [post.removeprefix("```\n").removesuffix("\n```") for post in posts]
    assert all(post == f"```\n{each}\n```" for post, each in zip(posts, inside, strict=True))
    assert "\n".join(inside).replace("&lt;", "<") == code
