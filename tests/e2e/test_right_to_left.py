"""Arabic and Hebrew: each block runs the way its own words do, while it arrives and afterwards."""

import pytest
from playwright.sync_api import Locator, Page, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import composer, say

pytestmark = pytest.mark.e2e

HEBREW_QUESTION = "איך מתקינים את השרת עם `pip install everlong`?"
ARABIC_ANSWER = """## خطوات التثبيت

ثبّت الحزمة أولاً ثم شغّل الأمر `manage.py migrate` مرة واحدة.

- الخطوة الأولى: نسخ الملفات
  - وهذا بند فرعي
- A step in English
- ثم التشغيل

1. أولاً
2. ثانياً

> اقتباس قصير
> من سطرين

| الاسم | القيمة |
|---|---|
| المنفذ | 8000 |

```python
print("مرحبا")  # تعليق
```

And a paragraph in English, with 3 words of Arabic: مرحبا بك.
"""


def way(found: Locator) -> str:
    """ "rtl" or "ltr", as the browser lays it out."""
    return str(found.evaluate("node => getComputedStyle(node).direction"))


def margins(found: Locator) -> tuple[str, str]:
    """Left and right."""
    script = "node => { const s = getComputedStyle(node); return [s.marginLeft, s.marginRight]; }"
    left, right = found.evaluate(script)
    return left, right


def test_each_block_runs_the_way_its_words_do(tab: Page, scripted: DemoServer) -> None:
    half = ARABIC_ANSWER.index("- A step")
    gate = scripted.script.stall(ARABIC_ANSWER[:half], then=ARABIC_ANSWER[half:], when=is_chat)
    composer(tab).fill(HEBREW_QUESTION)
    assert way(composer(tab)) == "rtl"
    say(tab, HEBREW_QUESTION)
    answer = tab.locator("article[data-role=assistant]")
    tail = answer.locator(".tail")
    expect(tail.locator(".tail-item")).to_have_count(2)
    assert way(tail.locator(".tail-item").first) == "rtl"
    gate.release()

    expect(answer).to_contain_text("And a paragraph in English")
    expect(answer).to_have_attribute("data-status", "complete")
    assert way(tab.locator("article[data-role=user] .plain")) == "rtl"
    for right_to_left in ("h3", "p >> nth=0", "ul > li >> nth=0", "ol > li", "blockquote", "table"):
        assert way(answer.locator(right_to_left).first) == "rtl", right_to_left
    for left_to_right in ("pre", "p code", "p:has-text('And a paragraph')"):
        assert way(answer.locator(left_to_right).first) == "ltr", left_to_right
    # The marker has room on the side where its item begins.
    assert margins(answer.locator("ul > li").first) == ("0px", "24px")
    # The first column stands on the right.
    columns = [node.evaluate("n => n.offsetLeft") for node in answer.locator("th").all()]
    assert columns == sorted(columns, reverse=True)
    assert len(columns) == 2
    aligned = [
        node.evaluate("n => getComputedStyle(n).textAlign")
        for node in answer.locator("th, td").all()
    ]
    assert aligned == ["right"] * 4, "numbers too"
    # Nothing sticks out of the page.
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
