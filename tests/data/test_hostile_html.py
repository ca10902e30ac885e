"""All hostile texts through the renderers, parsed by Chromium: only harmless elements come out."""

from collections.abc import Callable
from functools import partial

import pytest
from playwright.sync_api import Page

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.rendering import render_summary
from agent.compaction.instructions.pins import Pin
from agent.search.exact_values import IndexEntry
from chat.engine.model_server import get_counter
from chat.html.code_blocks import render_code
from chat.html.divider import render_divider
from chat.html.markdown import render_markdown
from chat.html.markdown_stream import MarkdownStream
from chat.html.message import render_message
from chat.html.render_budget import RenderBudget
from chat.html.sanitiser import clean_text
from chat.models import Compaction, Message
from tests.data.corpus import Corpus
from tests.data.danger import dangers

pytestmark = pytest.mark.e2e


def message(role: str, block: Callable[[str], dict[str, object]], text: str) -> str:
    return render_message(Message(role=role, number=1, position=0, blocks=[block(text)]))


def result(text: str) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": "t", "content": text, "is_error": True}


def call(text: str) -> dict[str, object]:
    return {"type": "tool_use", "id": text, "name": text, "input": {text: text, "list": [text]}}


def thinking(text: str) -> dict[str, object]:
    return {"type": "thinking", "thinking": text, "signature": text}


def said(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def document(text: str) -> dict[str, object]:
    source = {"type": "text", "media_type": text, "data": text}
    return {"type": "document", "title": text, "source": source}


def unknown(text: str) -> dict[str, object]:
    return {"type": text, "text": text}


def divider(text: str) -> str:
    """In a chapter, a pin, a value of the index and what went wrong."""
    line = " ".join(text.split())
    values = {"pins": (Pin(1, line),), "index": (IndexEntry(line, 1, line),)}
    chapter = Chapter(f"{text} [#1 #2]", 1, 2, **values)
    summary = render_summary(
        [chapter], pin_tokens=10_000, index_tokens=10_000, counter=get_counter()
    )
    audit = {"failures": [{"step": "serialised", "cause": text}]}
    row = Compaction(pk=1, summary=summary.text, audit=audit, messages=2, trigger="manual")
    return render_divider(row)


def fence(text: str) -> str:
    return render_code(text, clean_text(text), RenderBudget())


def pieces(text: str) -> str:
    """What goes out while an answer is written."""
    return "".join(block.html for block in MarkdownStream().feed(text + "\n\n\n"))


RENDERERS: dict[str, Callable[[str], str]] = {
    "Markdown": render_markdown,
    "live pieces": pieces,
    "code": fence,
    "text of the user": partial(message, "user", said),
    "text of the model": partial(message, "assistant", said),
    "thinking": partial(message, "assistant", thinking),
    "tool call": partial(message, "assistant", call),
    "tool result": partial(message, "user", result),
    "document": partial(message, "user", document),
    "unknown content": partial(message, "assistant", unknown),
    "summary": divider,
}


@pytest.mark.parametrize("name", RENDERERS)
def test_no_renderer_lets_anything_dangerous_through(
    name: str, hostile: Corpus, page: Page, report: dict[str, list[str]]
) -> None:
    texts = hostile.texts
    found = dangers(page, [RENDERERS[name](text) for text in texts])
    lines = report.setdefault("hostile texts by renderer (Chromium's parser)", [])
    lines.append(f"{name:20} {len(texts):5} texts, {len(found)} dangerous")
    shown = [f"{texts[index][:80]!r}: {what[:3]}" for index, what in found.items()]
    assert not found, "\n".join(shown[:20])


def test_the_scan_sees_what_is_dangerous(page: Page) -> None:
    """The other tests are worth as much as this one."""
    bad = [
        "<script>1</script>",
        "<img src=x onerror=alert(1)>",
        "<p onclick=alert(1)>x</p>",
        '<a href="javascript:alert(1)" rel=noopener>x</a>',
        '<a href="java\tscript:alert(1)" rel=noopener>x</a>',
        '<a href=" data:text/html,x" rel=noopener>x</a>',
        '<a href="//evil.example" rel=noopener>x</a>',
        '<a href="https://x.example">x</a>',
        "<p style='color:red'>x</p>",
        "<form><button>x</button></form>",
        "<input name=q>",
        "<iframe srcdoc='<p>'></iframe>",
        "<svg><a href='https://x.example'></a><style>x</style></svg>",
        "<template><script>1</script></template>",
        "<p id=scroller>x</p>",
        "<meta http-equiv=refresh content='0'>",
        "<button type=submit>x</button>",
        "<math><maction actiontype=toggle><mi>x</mi></maction></math>",
        "<math><mi href='https://x.example'>x</mi></math>",
        "<math><annotation-xml encoding=text/html><p>x</p></annotation-xml></math>",
    ]
    assert set(dangers(page, bad)) == set(range(len(bad)))
    good = [
        "<p>x</p>",
        '<a href="https://x.example" target="_blank" rel="noopener">x</a>',
        '<a href="#message-12">#12</a>',
    ]
    assert dangers(page, good) == {}
