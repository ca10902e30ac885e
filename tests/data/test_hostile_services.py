"""All hostile texts through everything that stores one: composer, titles, settings, search."""

import re
from collections.abc import Callable

import pytest
from django.test import Client as Browser
from django.urls import reverse
from django.utils.html import escape

from agent.context.assemble import assemble
from agent.messages import sanitise_text
from agent.model.rules import find_violations
from agent.search.lexical import parse_query
from agent.tokens import Factor
from chat.engine.state import load_state
from chat.errors import Refused
from chat.models import Conversation, Memory, Message, Turn
from chat.queries.search import find_messages
from chat.services.library import conversations, memories
from chat.services.turns import endings, requests
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.turns import NewMessage
from tests.chat.factories import HOLDER, make_conversation, make_profile, make_user
from tests.data.corpus import OWN, Corpus

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation() -> Conversation:
    make_profile(context_window=10_000_000)
    return make_conversation(context_budget=10_000_000)


def test_the_composer_takes_every_text_or_says_why_not(
    hostile: Corpus, conversation: Conversation
) -> None:
    sent: list[str] = []
    for text in sent_texts(hostile):
        try:
            opening = requests.send_message(
                conversation.owner,
                conversation.pk,
                NewMessage(text),
                expected_head=None,
                holder=HOLDER,
            )
        except Refused:
            assert not sanitise_text(text).strip(), repr(text[:60])
            continue
        assert opening is not None
        sent.append(sanitise_text(text).strip())
        opening.turn.messages.filter(role="assistant").delete()
        Turn.objects.filter(pk=opening.turn.pk).update(status=Turn.Status.COMPLETED)
    rows = Message.objects.filter(conversation=conversation).order_by("position")
    assert list(rows.values_list("text", flat=True)) == sent
    assert [row.blocks[0]["text"] for row in rows] == sent
    assert sent
    request = assemble(load_state(conversation.pk).context)
    assert find_violations(request.body()) == []
    [message] = request.messages
    told = [part for row in rows for part in (row.time_line, row.text) if part]
    assert [block["text"] for block in message["content"]] == told


def test_answers_of_every_text_are_stored_and_sent_back(hostile: Corpus) -> None:
    make_profile()
    texts = sent_texts(hostile)[::4]
    for start in range(0, len(texts), 40):
        answer_with(texts[start : start + 40], make_conversation())


def answer_with(texts: list[str], conversation: Conversation) -> None:
    for text in texts:
        opening = requests.send_message(
            conversation.owner,
            conversation.pk,
            NewMessage("Go on"),
            expected_head=None,
            holder=HOLDER,
        )
        assert opening is not None
        requests.open_next_request(opening.turn.pk, may_compact=False)
        # As the fold leaves them.
        blocks = [{"type": "text", "text": sanitise_text(text)}]
        assert endings.end_turn(opening.turn.pk, TurnOutcome(Turn.Status.COMPLETED, blocks=blocks))
    context = load_state(conversation.pk).context
    assert len(context.messages) == 2 * len(texts)
    assert find_violations(assemble(context).body()) == []


SETTERS: dict[str, Callable[[Conversation, str], None]] = {
    "rename": conversations.rename_conversation,
    "suggest_title": lambda row, text: conversations.set_suggested_title(row.pk, text),
}


@pytest.mark.parametrize("name", SETTERS)
def test_every_text_can_be_a_title(name: str, hostile: Corpus, conversation: Conversation) -> None:
    for text in sent_texts(hostile):
        Conversation.objects.filter(pk=conversation.pk).update(title_edited=False)
        wanted = " ".join(sanitise_text(text).split())[:200]
        try:
            SETTERS[name](conversation, text)
        except Refused:
            assert not wanted, repr(text[:60])
            continue
        conversation.refresh_from_db()
        assert conversation.title == wanted


def test_titles_are_escaped_and_found(hostile: Corpus, client: Browser) -> None:
    user = make_user()
    client.force_login(user)
    texts = [" ".join(sanitise_text(text).split())[:200] for text in searched(hostile)]
    titles = list(dict.fromkeys(filter(None, texts)))
    made = Conversation.objects.bulk_create(
        Conversation(owner=user, model="m", title=title) for title in titles
    )
    for title, row in zip(titles, made, strict=True):
        response = client.get(reverse("sidebar"), {"q": title, "count": len(titles)})
        assert response.status_code == 200
        html = response.content.decode()
        if len(re.findall(r"<a\s", html)) < 100:  # of more, only the newest are shown
            assert str(row.pk) in html, title
            assert escape(title) in html
    page = client.get(made[-1].get_absolute_url()).content.decode()
    assert page.count("<script") == page.count("<script src=") + page.count(
        'type="application/json"'
    )


def test_searching_for_every_text_answers(hostile: Corpus, client: Browser) -> None:
    client.force_login(make_user())
    make_conversation()
    for text in searched(hostile):
        for field in ("q", "current"):
            sent = text.encode("utf-8", "replace").decode()  # as a browser would; NUL stays
            response = client.get(reverse("sidebar"), {field: sent})
            assert response.status_code == 200, repr(text)


def test_every_text_is_found_by_itself(hostile: Corpus) -> None:
    texts = [text for text in sent_texts(hostile) if sanitise_text(text).strip()]
    conversation = make_conversation(messages=[("user", sanitise_text(text)) for text in texts])
    missed = []
    for number, text in enumerate(texts, 1):
        query = parse_query(sanitise_text(text).strip())
        # All: many differ in punctuation alone.
        hits = find_messages(
            conversation.owner_id, query, conversation_id=conversation.pk, limit=len(texts)
        )
        if number not in {hit.number for hit in hits}:
            missed.append(text[:60])
    assert missed == []


def test_forms_take_every_text(hostile: Corpus, client: Browser) -> None:
    conversation = make_conversation()
    client.force_login(conversation.owner)
    settings = reverse("conversation_settings", args=[conversation.pk])
    others = {"threshold": 80, "keep_recent_messages": 6, "summary_max_tokens": 2_000}
    for text in searched(hostile)[::3]:
        text = sanitise_text(text)
        response = client.post(settings, others | {"system_prompt": text})
        assert response.status_code == 204, repr(text)
        conversation.refresh_from_db()
        assert conversation.system_prompt == text.strip().replace("\r\n", "\n")
        html = client.get(settings).content.decode()
        assert escape(conversation.system_prompt) in html
        name = {"title": text}
        status = client.post(reverse("conversation_rename", args=[conversation.pk]), name)
        assert status.status_code in (302, 422)


def test_every_text_can_be_remembered_edited_recalled_and_told(
    hostile: Corpus, client: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories, "MAX_MEMORIES", 10_000)
    user = make_user()
    client.force_login(user)
    kept: dict[int, str] = {}
    for text in sent_texts(hostile):
        wanted = " ".join(sanitise_text(text).split())
        try:
            memory, new = memories.remember_fact(user.pk, text, Memory.Source.AGENT)
        except Refused:
            assert not 0 < len(wanted) <= memories.MAX_CHARACTERS, repr(text[:60])
            continue
        assert memory.text == wanted or not new
        kept[memory.pk] = memory.text
        memories.edit_fact(memory, f"Now: {text}"[: memories.MAX_CHARACTERS])
        memories.recall_facts(user.pk, text)
        told = memories.render_prompt_text(user.pk, Factor(1.0, 0))
        assert told.count("</memories>") == 1, repr(text[:60])
        assert memories.forget_fact(user.pk, memory.pk).startswith("Now: ")
    for text in dict.fromkeys(kept.values()):
        memories.remember_fact(user.pk, text, Memory.Source.USER)
    html = client.get(reverse("memories")).content.decode()
    for memory in memories.recall_facts(user.pk):
        assert f">{escape(memory.text)}</textarea>" in html
    for text in searched(hostile)[::4]:
        response = client.post(
            reverse("memories"), {"text": text.encode("utf-8", "replace").decode()}
        )
        assert response.status_code in (302, 422), repr(text[:60])


def sent_texts(hostile: Corpus) -> list[str]:
    """All naughty strings and Markdown, every eighth of the XSS lists: storing escapes nothing, so
    one payload is like another."""
    cases = [*hostile.unicode, *hostile.markdown, *OWN, *hostile.xss[::8]]
    return list(dict.fromkeys(case.text for case in cases))


def searched(hostile: Corpus) -> list[str]:
    """Enough for the slower tests: all naughty strings, a part of the others."""
    cases = [*OWN, *hostile.unicode, *hostile.markdown[::16], *hostile.xss[::40]]
    return [case.text for case in cases]
