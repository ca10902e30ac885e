"""What Everlong exported comes back as it was; and what was changed in the file harms nobody."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.db.models import F
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import User
from agent.attachments import list_file_ids_in
from agent.context.api_messages import text_block
from agent.context.message_list import MessageList
from agent.messages import AgentMessage, RawTokens
from chat.engine.model_server import build_request
from chat.engine.state import load_state
from chat.importers.archive import Archive
from chat.importers.everlong import OwnConversation, read
from chat.importers.formats import find_format
from chat.models import Conversation, SearchEntry
from chat.services.library import restoring
from chat.services.library.importing_messages import Stored
from spending.models import ModelCall
from tests.chat.factories import make_conversation, make_user
from tests.chat.services.library import lives
from tests.chat.services.library.lives import LIVES, export, live, without_ids

pytestmark = [pytest.mark.on_both, pytest.mark.usefixtures("transactional_db", "endless_minute")]

STEPS = st.lists(st.tuples(st.sampled_from(LIVES), st.integers(0, 99)), min_size=3, max_size=9)


def restore(owner: User, exported: str, folder: Path) -> Stored:
    path = folder / "export.json"
    path.write_text(exported)
    with Archive([("export.json", path)]) as archive:
        assert find_format(archive).NAME == "everlong"
        (own,) = read(archive)
        assert isinstance(own, OwnConversation)
        return restoring.restore_conversation(owner, own)


def find(stored: Stored) -> Conversation:
    assert stored.conversation_id is not None
    return Conversation.objects.get(pk=stored.conversation_id)


def next_request(talk: Conversation) -> bytes:
    """The request of a next message as it goes out, but for the ids of files."""
    context = load_state(talk.pk).context
    prompt = AgentMessage(10**6, "user", [text_block("And now?")], RawTokens(4))
    messages = MessageList.of(context.messages).followed_by(prompt)
    request = build_request(replace(context, messages=messages))
    written = request.data
    for number, each in enumerate(dict.fromkeys(list_file_ids_in(request.messages))):
        written = written.replace(each.encode(), f"id-{number}".encode())
    return written


def comes_back(talk: Conversation, folder: Path) -> Conversation:
    """The conversation that another person gets of an export, after all comparisons."""
    before = export(talk)
    stored = restore(make_user(), before, folder)
    back = find(stored)
    assert stored.lost == []
    assert (stored.is_new, stored.added) == (True, talk.messages.count())
    assert without_ids(export(back)) == without_ids(before)
    # What was reported and thought there is not believed here, as after any change of the context.
    Conversation.objects.filter(pk=talk.pk).update(meter_valid_from=F("next_number"))
    assert next_request(back) == next_request(talk)
    return back


def test_everything_that_can_happen_to_a_conversation_comes_back(tmp_path: Path) -> None:
    talk = make_conversation(messages=4, pinned=True, title_edited=True)
    steps = [(step, number) for number, step in enumerate(LIVES, 1)]
    live(talk, [*steps, (lives.answer, 40), (lives.compact, 41), (lives.edit_summary, 42)])
    calls = ModelCall.objects.count()
    back = comes_back(talk, tmp_path)
    assert back.compaction is not None
    assert back.compressed_context == talk.compressed_context
    assert back.messages.filter(active=False).exists()
    assert ModelCall.objects.count() == calls
    assert set(search_numbers(back)) == set(search_numbers(talk))


def search_numbers(talk: Conversation) -> Iterator[int]:
    """The messages that search knows, by their numbers."""
    entries = SearchEntry.objects.filter(conversation=talk, owner=talk.owner)
    yield from entries.values_list("message__number", flat=True)


@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.generate],  # to look for a shorter example takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_whatever_happens_to_a_conversation_comes_back(
    tmp_path: Path, steps: list[tuple[lives.Life, int]]
) -> None:
    talk = make_conversation(messages=4)
    live(talk, steps)
    comes_back(talk, tmp_path)
