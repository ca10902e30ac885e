"""What Everlong exported comes back as it was; and what was changed in the file harms nobody."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import User
from chat.engine.model_server import build_request
from chat.engine.state import load_state
from chat.importers.archive import Archive
from chat.importers.everlong import OwnConversation, read
from chat.models import Conversation
from chat.services.library import restoring
from chat.services.library.importing_messages import Stored
from tests.chat.factories import make_conversation, make_user
from tests.chat.services.library import lives
from tests.chat.services.library.lives import LIVES, export, live, without_ids

pytestmark = [pytest.mark.on_both, pytest.mark.usefixtures("transactional_db", "endless_minute")]

STEPS = st.lists(st.tuples(st.sampled_from(LIVES), st.integers(0, 99)), min_size=4, max_size=14)


def restore(owner: User, exported: str, folder: Path) -> Stored:
    path = folder / "export.json"
    path.write_text(exported)
    with Archive([("export.json", path)]) as archive:
        (own,) = read(archive)
        assert isinstance(own, OwnConversation)
        return restoring.restore_conversation(owner, own)


def find(stored: Stored) -> Conversation:
    return Conversation.objects.get(pk=stored.conversation_id)


def request_of(talk: Conversation) -> bytes:
    """The next request's messages and system blocks as they go out."""
    return build_request(load_state(talk.pk).context).body


@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.generate],  # to look for a shorter example takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_an_export_that_was_imported_is_exported_alike(
    tmp_path: Path, steps: list[tuple[lives.Life, int]]
) -> None:
    talk = make_conversation(messages=4)
    live(talk, steps)
    before = export(talk)
    stored = restore(make_user(), before, tmp_path)
    assert stored.lost == []
    assert without_ids(export(find(stored))) == without_ids(before)
