"""Fills the database of a server process: `python -m tests.data.seed DATA KIND...`.

The same rows for each administrator, `harmless` and `hostile`; those of the second hold the whole
corpus. Prints as JSON a session cookie of each, and the addresses of the pages.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import django
from django.conf import settings

django.setup()

from django.test import Client as Browser  # noqa: E402
from django.urls import reverse  # noqa: E402

from accounts.models import User  # noqa: E402
from agent.messages import Block, sanitise  # noqa: E402
from chat.models import Compaction, Conversation, Memory, ModelProfile, Turn  # noqa: E402
from chat.services.library import memories  # noqa: E402
from tests.chat import factories  # noqa: E402
from tests.data import corpus  # noqa: E402

MESSAGES = 30  # one page
TITLES = 100  # one sidebar
FACTS = 150  # of the most that are remembered
# Every element that a harmless text may bring.
MARKDOWN = (
    "\n\n# a\n\n- [ ] b\n\n1. c\n\n> d\n\n|e|\n|:-|\n|f|\n\n```py\ng\n```\n\n---\n\n"
    "[h](https://i.example) *j* **k** `l` ~~m~~  \nn"
)
SCRIPT = "<script>window.__xss = 1</script>"
SUMMARY = 190_000  # characters; longer ones are shown without Markdown


def said(text: str) -> list[Block]:
    return [{"type": "text", "text": text}]


def tools(text: str) -> list[Block]:
    return [
        {"type": "thinking", "thinking": text, "signature": text},
        {"type": "tool_use", "id": text, "name": text, "input": {text: text}},
    ]


def results(text: str) -> list[Block]:
    document = {"type": "text", "media_type": text, "data": text}
    return [
        {"type": "tool_result", "tool_use_id": text, "content": text, "is_error": True},
        {"type": "document", "title": text, "source": document},
        {"type": text[:30] or "none", "text": text},
    ]


def fill(user: User, texts: Sequence[str]) -> dict[str, str]:
    """Conversations with each text in each place. Returns their addresses."""
    return {
        "answers": transcript(user, texts, "assistant", said),
        "prompts": transcript(user, texts, "user", said),
        "tools": transcript(user, texts[::4], "assistant", tools),
        "results": transcript(user, texts[::4], "user", results),
        "summary": summary(user, texts),
        "titles": titles(user, texts),
        "memories": remembered(user, texts),
    }


def transcript(
    user: User, texts: Sequence[str], role: str, blocks: Callable[[str], list[Block]]
) -> str:
    conversation = factories.make_conversation(user, title=texts[0][:200])
    size = -(-len(texts) // MESSAGES)
    parts = [texts[start : start + size] for start in range(0, len(texts), size)]
    messages = [(role, [b for text in part for b in blocks(text)]) for part in parts]
    factories.add_messages(conversation, messages)
    return conversation.get_absolute_url()


def summary(user: User, texts: Sequence[str]) -> str:
    """A divider, an error card and a notice."""
    conversation = factories.make_conversation(
        user, messages=[*texts[1:4], "An answer."], system_prompt=texts[0]
    )
    text = "\n\n".join(texts)[:SUMMARY]
    compaction = factories.make_compaction(
        conversation, text, focus=texts[0], audit={"x": texts[:9]}
    )
    Conversation.objects.filter(pk=conversation.pk).update(compressed_context=text)
    Compaction.objects.filter(pk=compaction.pk).update(error=texts[0], method_reason=texts[1][:200])
    error: dict[str, Any] = {"code": texts[0], "message": texts[0], "retryable": False}
    turn = factories.make_turn(
        conversation,
        status=Turn.Status.FAILED,
        error=error,
        focus=texts[2],
        notice="servers_left_out",
        notice_about=texts[1],
    )
    factories.add_messages(conversation, [("assistant", texts[0])], turn=turn, status="failed")
    return conversation.get_absolute_url()


def titles(user: User, texts: Sequence[str]) -> str:
    made = [
        Conversation.objects.create(owner=user, model=text[:200] or "m", title=text[:200])
        for text in corpus.spread(texts, TITLES)
    ]
    return made[-1].get_absolute_url()


def remembered(user: User, texts: Sequence[str]) -> str:
    for text in corpus.spread(texts, FACTS):
        memories.remember_fact(user.pk, text[: memories.MAX_CHARACTERS], Memory.Source.USER)
    return reverse("memories")


def account(kind: str, name: str, texts: Sequence[str]) -> dict[str, Any]:
    """An administrator with everything, and the cookie of the session."""
    user = User.objects.create_user(
        kind, first_name=name[:150], last_name=name[:150], is_staff=True, is_superuser=True
    )
    pages = fill(user, texts)
    browser = Browser()
    browser.force_login(user)
    return {
        "session": browser.cookies[settings.SESSION_COOKIE_NAME].value,
        "pages": pages,
        "memories": user.memories.count(),
    }


def main() -> None:
    texts = [text for text in sanitise(corpus.load(Path(sys.argv[1])).texts) if text.strip()]
    name = next((text for text in texts if "<script" in text and len(text) < 60), SCRIPT)
    made = {}
    for kind in sys.argv[2:]:
        if kind == "harmless":
            made[kind] = account(kind, "Harmless", [f"Harmless {n} {MARKDOWN}" for n in range(200)])
        else:
            made[kind] = account(kind, name, texts)
            limits = {"context_window": 100_000, "max_output": 9}
            ModelProfile.objects.create(name=name, display_name=name, **limits)
    print(json.dumps(made))  # noqa: T201


if __name__ == "__main__":
    main()
