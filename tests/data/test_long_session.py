"""Real coding sessions: imported, opened, paged, counted and compacted."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client as Browser
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from agent.context.assemble import assemble
from agent.messages import Usage
from agent.model.rules import find_violations
from agent.tokens import Factor
from chat.engine.model_server import get_counter
from chat.engine.state import load_state
from chat.importers import pi_sessions
from chat.importers.archive import Archive
from chat.importers.pi import Session
from chat.models import Compaction, Conversation, Message
from chat.services.library.importing import store_conversation
from chat.services.summary import summaries
from chat.services.turns import endings
from chat.services.turns.endings import TurnOutcome
from chat.tasks import compact
from demo.api.script import is_summary
from demo.api.server import DemoServer
from tests.chat.factories import HOLDER, make_profile, make_user
from tests.data.recordings import read, summary_of

# In another thread a compaction reads and writes what this one has stored.
pytestmark = [
    pytest.mark.django_db(transaction=True),
    # The SDK says so of the session's model by now.
    pytest.mark.filterwarnings("ignore:The model '.*':DeprecationWarning"),
]

WINDOW = 200_000
NEAR = 0.3  # of what was reported an estimate may miss: the agent's own prompt is not in the file


@pytest.fixture
def session(session_path: Path) -> Session:
    return read(session_path)


@pytest.fixture
def user(settings: Settings, vocabulary_directory: Path, session: Session) -> User:
    # Real counts: the estimate is compared with what the API reported.
    settings.DATA_DIR = vocabulary_directory.parent
    get_counter.cache_clear()
    cache.clear()  # other tests' messages had the same keys
    factor = Factor.start(session.model).value
    make_profile(session.model, context_window=WINDOW, max_output=64_000, token_factor=factor)
    return make_user()


@pytest.fixture
def conversation(user: User, session: Session, session_path: Path) -> Iterator[Conversation]:
    """The session as it is stored, with what was reported there, which an import does not keep. Its
    owner agrees that a model reads it."""
    with Archive([(session_path.name, session_path)]) as archive:
        (record,) = pi_sessions.read(archive)
        stored = store_conversation(user, pi_sessions.NAME, record)
    row = Conversation.objects.get(pk=stored.conversation_id)
    row.record_agreed_at = timezone.now()
    row.save(update_fields=["record_agreed_at"])
    rows = list(row.messages.order_by("number"))
    reported = {repr(m.blocks[-1:]): m.usage for m in session.messages if m.usage}
    for message in rows:
        message.usage = reported.get(repr(message.blocks[-1:]))
    Message.objects.bulk_update(rows, ["usage"], batch_size=200)
    yield row
    get_counter.cache_clear()


def test_every_line_is_understood(session_path: Path, session: Session) -> None:
    """Counted again by a reader of its own."""
    written = Counter(
        message.get("stopReason") if message["role"] == "assistant" else message["role"]
        for message in written_messages(session_path)
    )
    answers = [m for m in session.messages if m.role == "assistant"]
    stopped = [m.status for m in answers].count("interrupted")
    failed = [m.status for m in answers].count("failed")
    results = [b for m in session.messages for b in m.blocks if b["type"] == "tool_result"]
    assert session.problems == []
    assert (stopped, failed) == (written.pop("aborted", 0), written.pop("error", 0))
    assert len(results) == written.pop("toolResult", 0)
    others = written.pop("user", 0) + written.pop("bashExecution", 0)
    assert len(answers) - stopped - failed == written.total()
    asked = [m for m in session.messages if m.role == "user" and not m.holds_results]
    assert len(asked) == others


def written_messages(path: Path) -> list[dict[str, Any]]:
    """The messages of the branch that ends a file."""
    entries = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    by_id = {entry["id"]: entry for entry in entries if "parentId" in entry}
    if by_id:
        entries = [list(by_id.values())[-1]]
        while before := by_id.get(entries[0]["parentId"]):
            entries.insert(0, before)
    return [entry["message"] for entry in entries if entry["type"] == "message"]


def test_it_opens_pages_and_counts(
    conversation: Conversation,
    user: User,
    client: Browser,
    session_path: Path,
    report: dict[str, list[str]],
) -> None:
    total = conversation.messages.count()
    numbers = pages_back(client, user, conversation)
    assert numbers == list(range(1, total + 1))
    state = load_state(conversation.pk)
    assert state.estimated, "what the agent was told was of its own requests"
    reported = Usage.from_api(state.recent.rows[-1].usage).total
    errors = sorted(estimated_errors(conversation, state.limits.factor.value)) or [0.0]
    median = errors[len(errors) // 2]
    report[f"the long session {session_path.stem}"] = [
        f"{total} messages; meter {state.used:,} tokens, reported to the agent {reported:,}",
        f"growth of the prompt between {len(errors)} pairs of answers, estimated against "
        f"reported: median {median:+.1%}, half of them within "
        f"{errors[len(errors) // 4]:+.1%} to {errors[len(errors) * 3 // 4]:+.1%}",
    ]
    if reported and b'"type":"compaction"' not in session_path.read_bytes():
        assert abs(state.used / reported - 1) < NEAR  # its last request held the same messages
    assert abs(median) < NEAR
    assert find_violations(assemble(replace(state.context, tools=tools(conversation))).body()) == []
    assert find_violations(assemble(state.context).body(), window=WINDOW) == []


def pages_back(client: Browser, user: User, conversation: Conversation) -> list[int]:
    """The numbers of all messages, from the newest page back to the first."""
    client.force_login(user)
    html = client.get(conversation.get_absolute_url()).content.decode()
    pages = [html]
    while earlier := re.search(r'id="earlier"[^>]*\sdata-url="([^"]+before=\d+)"', pages[-1]):
        pages.append(client.get(earlier[1]).content.decode())
    shown = [[int(n) for n in re.findall(r'data-number="(\d+)"', page)] for page in pages]
    for page in pages:
        articles = re.findall(r"<article.*?</article>", page, re.S)
        # Messages of results alone are rows without a footer.
        assert all(("<details" in a) >= ("tools-only" in a) for a in articles)
        assert all(("<footer" in a) != ("tools-only" in a) for a in articles)
    rows = conversation.messages.filter(role="user")
    results = sum(all(b["type"] == "tool_result" for b in row.blocks) for row in rows)
    assert sum(page.count("tools-only") for page in pages) == results
    return [number for numbers in reversed(shown) for number in numbers]


def estimated_errors(conversation: Conversation, factor: float) -> list[float]:
    """For two answers in a row: the estimate of what came between, against what was reported."""
    rows = list(conversation.messages.order_by("position"))
    answers = [
        i for i, row in enumerate(rows) if row.usage and Usage.from_api(row.usage).request_tokens
    ]
    errors = []
    for before, after in pairwise(answers):
        reported = (
            Usage.from_api(rows[after].usage).request_tokens
            - Usage.from_api(rows[before].usage).request_tokens
        )
        estimated = sum(row.tokens for row in rows[before:after]) * factor
        if reported > 1_000 and rows[before].status == "complete":
            errors.append(estimated / reported - 1)
    return errors


def tools(conversation: Conversation) -> list[dict[str, Any]]:
    rows = Message.objects.filter(conversation=conversation, role="assistant")
    names = {b["name"] for row in rows for b in row.blocks if b["type"] == "tool_use"}
    return [{"name": name, "input_schema": {"type": "object"}} for name in sorted(names)]


def test_it_compacts_and_the_next_request_is_small(
    conversation: Conversation,
    user: User,
    session: Session,
    session_path: Path,
    settings: Settings,
    report: dict[str, list[str]],
) -> None:
    before = load_state(conversation.pk)
    full = before.used > before.policy.trigger_tokens(before.limits)
    assert (before.due() == "auto") == full
    with DemoServer() as server:
        settings.ANTHROPIC_BASE_URL = server.base_url
        server.script.reply(summary_of(session), when=is_summary, always=True)
        turn, compaction_id = summaries.open_compaction_turn(
            user, conversation.pk, focus="what was decided", holder=HOLDER
        )
        compact(compaction_id)
        read = server.script.requests
        assert server.script.problems() == []
    compaction = Compaction.objects.get()
    assert compaction.status == Compaction.Status.COMPLETED, compaction.error
    assert endings.end_turn(turn.pk, TurnOutcome(turn.Status.COMPLETED))
    after = load_state(conversation.pk)
    request = assemble(replace(after.context, tools=tools(conversation)))
    assert find_violations(request.body(), window=WINDOW) == []
    assert after.used < 0.5 * after.policy.trigger_tokens(after.limits)
    assert after.due() is None
    assert after.context.first is not None
    assert conversation.messages.count() == len(before.recent.rows)
    # Every summarised message that says something was read, in order: a part whose reply was given
    # back is read again.
    asked = [r.body["messages"][0]["content"][0]["text"] for r in read]
    numbers = [int(n) for text in asked for n in re.findall(r"^\[#(\d+) \w+.*\]$", text, re.M)]
    through = compaction.through.number
    assert [row.number for row in before.recent.rows][:through] == list(range(1, through + 1))
    told = [row.number for row in before.recent.rows[:through] if row.blocks]
    assert list(dict.fromkeys(numbers)) == told
    report[f"the long session {session_path.stem} compacted"] = [
        f"{compaction.messages} messages in {len(read)} calls: {before.used:,} tokens before, "
        f"{compaction.tokens_after:,} after ({after.used:,} by the meter)"
    ]
