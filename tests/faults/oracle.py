"""What must hold after every fault, whatever it was."""

import time
from collections import Counter
from uuid import UUID

from demo.api.script import is_chat
from tests.faults.sites import Site
from tests.faults.visitors import KeepingTab, Visitor, asked
from tests.support.patience import PATIENCE

# Of an answer's text. A checkpoint is written each second; what a killed process was told since the
# last one is lost, and the one that is being written may be.
MAY_LOSE_SECONDS = 2.0
# Those that the sweep has to end; a title is left for longer.
OPEN_CALLS = """
SELECT turn, compaction FROM spending_modelcall
WHERE state = 'open' AND (turn IS NOT NULL OR compaction IS NOT NULL)
"""
ENDED = ("completed", "failed", "cancelled", "ready")


def check(site: Site, person: Visitor, *, killed_at: float | None = None) -> float:
    """Everything that the site told the person is true, and the model was asked nothing twice.

    `killed_at` is the (monotonic) time at which a process died that was writing. Returns how many
    seconds of an answer's text were lost with it. Raises AssertionError.
    """
    lost = 0.0
    for conversation, told in person.told.items():
        stored_once(site, conversation, told.acknowledged)
        lost = max(lost, text_is_kept(site, conversation, person, killed_at))
        compaction_is_consistent(site, conversation, told.started)
        for error in told.errors:
            assert error["code"] != "internal", f"an error that names no cause: {error}"
            assert error["message"], error
    for tab in person.tabs:
        twice = {pk: count for pk, count in tab.completed.items() if count > 1}
        assert not twice, f"CompressionCompleted more than once on one socket: {twice}"
        assert tab.closed_with or not tab.compacting, "a tab still shows a compaction as running"
    nothing_was_asked_twice(site, person.retries)
    all_calls_are_booked(site)
    return lost


def stored_once(site: Site, conversation: UUID, acknowledged: list[str]) -> None:
    """Every message that was acknowledged is there once, word for word."""
    texts = Counter(m["text"] for m in site.messages(conversation) if m["role"] == "user")
    for text in acknowledged:
        assert texts[text] == 1, f"stored {texts[text]} times: {text[:60]!r}"


def text_is_kept(site: Site, conversation: UUID, person: Visitor, killed_at: float | None) -> float:
    """What was seen of each answer is there, but for the last moment before a kill. Returns the
    seconds of it that are lost."""
    told, lost = person.told[conversation], 0.0
    stored = {m["id"]: m for m in site.messages(conversation)}
    for message_id, seen in told.texts.items():
        assert message_id in stored, f"the answer {seen[:60]!r} is gone"
        kept = stored[message_id]["text"]
        moment = killed_at - MAY_LOSE_SECONDS if killed_at else time.monotonic()
        due = told.read_by(message_id, moment)
        assert kept.startswith(due), f"seen and not kept: {due[len(kept) :][:200]!r}"
        if killed_at and len(kept) < len(seen):
            first_lost = next(at for at, size in told.times[message_id] if size > len(kept))
            lost = max(lost, killed_at - first_lost)
    return lost


def compaction_is_consistent(site: Site, conversation: UUID, started: set[int]) -> None:
    """Each compaction that was announced has ended, and the conversation shows the state of its
    current one and of no other."""
    found = {row["id"]: row for row in site.compactions(conversation)}
    for pk in started:
        assert found[pk]["status"] in ENDED, f"compaction {pk} is {found[pk]['status']}"
    now = site.compressed(conversation)
    current = found.get(now["compaction_id"] or 0)
    if current is None:
        assert now["compressed_context"] is None
        assert now["compressed_through_id"] is None
        return
    assert current["status"] == "completed"
    assert now["compressed_context"] == current["summary"]
    assert now["compressed_through_id"] == current["through_id"]


def nothing_was_asked_twice(site: Site, retries: int) -> None:
    """The provider's log: no rule of the API broken, nothing unexpected, and no chat request sent
    again but for the answers that the person asked for again."""
    script = site.model.script
    assert not script.violations, script.violations
    assert not script.unexpected, [r.last_user_text[:80] for r in script.unexpected]
    questions = Counter(asked(r) for r in script.requests if r.kind == "chat")
    again = sum(count - 1 for count in questions.values())
    assert again <= retries, f"{again} chat requests were repeated, {retries} retries were pressed"


def all_calls_are_booked(site: Site) -> None:
    """Each time that the model was asked has a row, and none of a turn or a summary stays open:
    what it held of a budget comes back."""
    script = site.model.script
    (booked,) = site.rows("SELECT COUNT(*) AS calls FROM spending_modelcall")
    assert booked["calls"] >= len(script.requests) + len(script.count_requests)
    until = time.monotonic() + PATIENCE
    while left := site.rows(OPEN_CALLS):
        assert time.monotonic() < until, f"open still: {left}"
        time.sleep(0.2)


async def goes_on(site: Site, tab: KeepingTab, text: str = "And now?") -> None:
    """The next message is stored and answered."""
    site.model.script.reply("Gladly.", when=is_chat)
    client_id = tab.say(text)
    await tab.next("message.created", client_id=client_id)
    finished = await tab.finished(kind="answer")
    assert finished["status"] == "completed", finished["error"]
