"""One message deleted: what goes with it, what stays, and how its chapter comes back."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from accounts.models import User
from agent.audit.quotes import Quote
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.gaps import GAP
from agent.compaction.instructions.pins import Pin, PinState
from agent.compaction.policy import Origin
from agent.search.exact_values import IndexEntry
from chat import tasks
from chat.engine.state import load_state
from chat.models import Compaction, Conversation
from chat.queries.summary_versions import read_chapters
from chat.services.summary import compactions, gaps, leaving_out, preparations, summaries
from chat.services.turns import branches, requests
from chat.services.turns.turns import NewMessage
from demo.api.script import is_summary
from demo.api.server import DemoServer
from spending.totals import load_total
from tests.chat.factories import HOLDER, make_compaction, make_conversation, make_profile, work
from tests.chat.sockets import MAX_OUTPUT, PLAIN, SUMMARY
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.on_both

SECRET = "xylophone"


@pytest.fixture
def long(user: User) -> Conversation:
    """200 messages, more than the trigger, in eight chapters; only the third has the secret, which
    the first chapter, its audit, its pins and its index tell."""
    make_profile(max_output=MAX_OUTPUT)
    words = "Message {}: " + "lorem ipsum " * 150
    texts = [words.format(number) for number in range(1, 201)]
    texts[2] = f"Always say {SECRET}. " + texts[2]
    talk = make_conversation(
        owner=user, messages=texts, compaction_settings=PLAIN, context_budget=75_000
    )
    for through in range(24, 193, 24):
        if through == 24:
            audit = {
                "dropped": [f"- {SECRET}"],
                "borne_out": [f"- The {SECRET} [#3]"],
                "failures": [],
                "dollars": {"chunks": 1.0},
            }
            first = make_compaction(talk, f"- The {SECRET} [#3]", through=24, audit=audit)
            chapter = replace(
                read_chapters(first)[0],
                pins=(
                    Pin(3, f"Always say {SECRET}."),
                    Pin(5, "Never shout."),
                    Pin(7, f"Say {SECRET}", PinState.RESTATED),  # the model's words and number
                ),
                index=(IndexEntry(SECRET, 3, ""), IndexEntry("42.5", 5, "")),
                quotes=(Quote(f"- The {SECRET} [#3]", 3, f"Always say {SECRET}"),),
            )
            Compaction.objects.filter(pk=first.pk).update(chapters=[chapter.as_dict()])
        else:
            make_compaction(talk, f"- Lorem of {through} [#{through}]", through=through)
    assert sum(load_state(talk.pk).limits.factor.apply(m.tokens) for m in rows(talk)) > 60_000
    assert SECRET in (talk.compressed_context or "")
    return talk


def rows(talk: Conversation) -> Any:
    return talk.messages.filter(active=True)


def delete(talk: Conversation, number: int) -> None:
    branches.delete_message(talk.owner, talk.pk, talk.messages.get(number=number).pk)
    talk.refresh_from_db()


def chapters(talk: Conversation) -> list[Chapter]:
    talk.refresh_from_db()
    return read_chapters(talk.compaction)


def everything_stored(talk: Conversation) -> str:
    versions = talk.compactions.values_list("chapters", "summary", "audit")
    return json.dumps([list(versions), talk.compressed_context])


def starts_at_once(talk: Conversation) -> bool:
    """Whether a message sent now is answered without a compaction before it."""
    head = rows(talk).order_by("-position").first()
    opening = requests.send_message(
        talk.owner, talk.pk, NewMessage("Hi"), expected_head=head.number, holder=HOLDER
    )
    assert opening is not None
    return opening.message is not None and opening.compact is None


def test_one_deleted_message_costs_one_chapter_and_no_wait(
    long: Conversation, model_server: DemoServer
) -> None:
    before, had = load_state(long.pk).used, chapters(long)
    delete(long, 3)
    after = load_state(long.pk)
    assert after.used <= before + 100, "the gap's line takes the place of the chapter's text"
    assert chapters(long)[1:] == had[1:]
    assert f"**Messages #1 to #24**\n\n{GAP}" in (long.compressed_context or "")
    assert SECRET not in everything_stored(long)
    assert [pin.number for pin in chapters(long)[0].pins] == [5]
    assert [entry.number for entry in chapters(long)[0].index] == [5]
    assert starts_at_once(long)

    model_server.script.reply(SUMMARY, when=is_summary)
    tasks.rebuild(str(long.pk))
    (request,) = [r for r in model_server.script.requests if is_summary(r)]
    sent = json.dumps(request.body)
    assert "Message 24:" in sent
    assert "Message 25:" not in sent
    assert SECRET not in sent
    assert "Lorem of" not in sent, "later chapters do not tell what came before them"
    filled, *others = chapters(long)
    assert "Lorem ipsum" in filled.text
    assert not filled.gap
    assert others == had[1:]
    assert GAP not in (long.compressed_context or "")
    assert load_state(long.pk).used <= before + 2_000
    row = long.compactions.get(origin=Origin.REBUILT)
    assert (row.status, row.first.number, row.through.number) == ("completed", 1, 24)
    assert load_total("compaction", row.pk).dollars > 0


def test_no_earlier_version_brings_a_deleted_message_back(
    long: Conversation, model_server: DemoServer
) -> None:
    delete(long, 3)
    current = long.compaction
    assert current is not None
    summaries.revert(current.pk)
    assert SECRET not in everything_stored(long)
    assert chapters(long)[0].gap
    model_server.script.reply(SUMMARY, when=is_summary)
    tasks.rebuild(str(long.pk))
    assert "Lorem ipsum" in chapters(long)[0].text
    current.refresh_from_db()
    assert not any(chapter.gap for chapter in read_chapters(current)), "all versions got it back"


def test_quotes_go_with_a_message_that_is_left_out_and_those_of_the_new_text_are_stored(
    user: User, model_server: DemoServer
) -> None:
    make_profile(max_output=MAX_OUTPUT)
    texts = [f"Message {n}: {'lorem ipsum ' * 150}" for n in range(1, 13)]
    texts[2] = f"The bill is 40 euros, the tip 10. {texts[2]}"
    talk = make_conversation(owner=user, messages=texts, compaction_settings=PLAIN)
    version = make_compaction(talk, "- In all 50 euros [#3]", through=8)
    quotes = (Quote("- In all 50 euros [#3]", 3, "The bill is 40 euros, the tip 10"),)
    told = [replace(each, quotes=quotes).as_dict() for each in read_chapters(version)]
    Compaction.objects.filter(pk=version.pk).update(chapters=told)
    third = talk.messages.get(number=3).pk
    leaving_out.leave_message_out(user, talk.pk, third, whole=False)
    assert chapters(talk)[0].quotes == ()
    assert "the tip 10" not in everything_stored(talk)
    leaving_out.put_message_back(user, talk.pk, third, whole=False)
    heading = "## Decisions\n"
    doubted = SUMMARY.replace(
        heading, f"{heading}- The evening was not dear, judged by its bill [#3]\n"
    )
    model_server.script.reply(doubted, when=is_summary)
    model_server.script.reply('1. #3: "the bill is 40 euros"', when=is_summary)
    tasks.rebuild(str(talk.pk))
    stands = "- The evening was not dear, judged by its bill [#3]"
    assert stands in chapters(talk)[0].text.splitlines()
    assert chapters(talk)[0].quotes == (Quote(stands, 3, "The bill is 40 euros"),)


def test_what_a_person_wrote_comes_back_with_the_chapter_but_not_what_tells_of_the_deleted(
    long: Conversation, model_server: DemoServer
) -> None:
    current = long.compaction
    assert current is not None
    mine = f"- I never liked it [#5]\n- Not the {SECRET}, a drum [#4]"
    text = summaries.editable_text(current).replace(f"- The {SECRET} [#3]", mine)
    summaries.edit_summary(current.pk, text)
    delete(long, 3)
    assert SECRET not in everything_stored(long)
    model_server.script.reply(SUMMARY, when=is_summary)
    tasks.rebuild(str(long.pk))
    filled = chapters(long)[0]
    assert "- I never liked it [#5]" in filled.text.splitlines()
    assert filled.own == ("- I never liked it [#5]",)
    assert SECRET not in everything_stored(long)


def test_the_audit_keeps_what_quotes_nothing(long: Conversation) -> None:
    delete(long, 3)
    oldest = long.compactions.order_by("pk").first()
    assert oldest is not None
    assert oldest.audit == {"failures": [], "dollars": {"chunks": 1.0}}


@pytest.mark.parametrize(
    "text",
    [
        f"- As #3 says, {SECRET} [#3]",
        f"- Always say {SECRET} (unverified)",
        f"- Replaced: always say {SECRET} → sing [#7]",
    ],
)
def test_a_later_chapter_that_repeats_the_message_is_written_again_too(
    user: User, text: str
) -> None:
    talk = make_conversation(owner=user, messages=["Hi", "Hello", f"Always say {SECRET}."] * 4)
    make_compaction(talk, "- They met [#1]", through=4)
    make_compaction(talk, text, through=8)
    delete(talk, 3)
    assert [chapter.gap for chapter in chapters(talk)] == [True, True]
    assert SECRET not in everything_stored(talk)


def test_the_ends_of_a_chapter_move_and_an_empty_one_goes(user: User) -> None:
    talk = make_conversation(owner=user, messages=12)
    first = make_compaction(talk, "First.", through=3)
    second = make_compaction(talk, "Second.", through=6)
    delete(talk, 3)
    delete(talk, 4)
    assert [(c.first, c.through, c.gap) for c in chapters(talk)] == [(1, 2, True), (5, 6, True)]
    second.refresh_from_db()
    assert (second.first.number, second.through.number) == (5, 6)
    delete(talk, 6)
    delete(talk, 5)
    assert [(c.first, c.through) for c in chapters(talk)] == [(1, 2)]
    assert [m.number for m in load_state(talk.pk).context.messages] == list(range(7, 13))
    delete(talk, 2)
    delete(talk, 1)
    assert (talk.compaction, talk.compressed_context) == (None, None)
    first.refresh_from_db()
    assert (first.chapters, first.summary) == ([], "")
    assert load_total("compaction", first.pk).dollars > 0


def test_a_merged_chapter_goes_as_one(user: User) -> None:
    talk = make_conversation(owner=user, messages=20)
    make_compaction(talk, "First.", through=4)
    make_compaction(talk, "Second.", through=8)
    merged = make_compaction(talk, "Third.", through=12)
    joined = Chapter.join(read_chapters(merged)[:2], "Joined.", depth=2, level=2)
    state = [joined.as_dict(), merged.chapters[2]]
    Compaction.objects.filter(pk=merged.pk).update(chapters=state)
    delete(talk, 6)
    assert [(c.first, c.through, c.gap) for c in chapters(talk)] == [(1, 8, True), (9, 12, False)]


# --- While it is written --------------------------------------------------------------------------


@pytest.fixture
def gapped(user: User) -> Conversation:
    texts = ["Lorem ipsum."] * 12
    talk = make_conversation(owner=user, messages=texts, compaction_settings=PLAIN)
    make_compaction(talk, "First.", through=4)
    make_compaction(talk, "Second.", through=8)
    delete(talk, 2)
    return talk


def test_a_turn_neither_waits_for_a_rebuild_nor_is_held_up_by_it(gapped: Conversation) -> None:
    rebuild = gaps.begin_rebuild(gapped.pk)
    assert rebuild is not None
    assert gaps.begin_rebuild(gapped.pk) is None, "one at a time"
    turn = summaries.open_compaction_turn(gapped.owner, gapped.pk, focus="x", holder=HOLDER)
    assert turn.compaction_id != rebuild
    assert Compaction.objects.get(pk=rebuild).status == Compaction.Status.CANCELLED


def test_a_rebuild_that_fails_leaves_the_line_and_rests_after_three(
    gapped: Conversation, model_server: DemoServer
) -> None:
    model_server.script.reply("No summary.", when=is_summary, always=True)
    for _ in range(4):
        tasks.rebuild(str(gapped.pk))
    failed = gapped.compactions.filter(origin=Origin.REBUILT)
    assert [row.status for row in failed] == [Compaction.Status.FAILED] * 3
    assert GAP in (gapped.compressed_context or "")
    assert not preparations.is_breaker_open(load_state(gapped.pk)), "turns compact all the same"


def test_what_was_deleted_meanwhile_is_not_filled_in(
    gapped: Conversation, model_server: DemoServer
) -> None:
    gate = model_server.script.stall(SUMMARY[:200], then=SUMMARY[200:], when=is_summary)
    pk = gaps.begin_rebuild(gapped.pk)
    assert pk is not None
    with ThreadPoolExecutor(1) as worker:
        done = worker.submit(work, pk)
        assert gate.reached.wait(PATIENCE)
        delete(gapped, 3)
        gate.release()
        done.result(10)
    assert chapters(gapped)[0].gap
    assert Compaction.objects.get(pk=pk).status == Compaction.Status.CANCELLED


def test_an_edit_keeps_a_gap_that_it_leaves_and_fills_one_that_it_writes(
    gapped: Conversation,
) -> None:
    current = gapped.compaction
    assert current is not None
    text = summaries.editable_text(current)
    version = summaries.edit_summary(current.pk, text.replace("Second.", "Otherwise."))
    assert [(c.text, c.gap) for c in read_chapters(version)] == [(GAP, True), ("Otherwise.", False)]
    version = summaries.edit_summary(version.pk, text.replace(GAP, "They met."))
    assert [c.gap for c in read_chapters(version)] == [False, False]


def test_a_prepared_summary_that_is_swapped_in_meanwhile_gets_the_chapter_too(
    gapped: Conversation, model_server: DemoServer
) -> None:
    pk = gaps.begin_rebuild(gapped.pk)
    assert pk is not None
    ready = Compaction.objects.get(pk=gapped.compaction_id)
    ready.pk, ready.status, ready.turn = None, Compaction.Status.READY, None
    ready.replaces = gapped.compaction
    ready.save()
    Compaction.objects.filter(pk=ready.pk).update(messages=4)
    assert compactions.commit_ready(load_state(gapped.pk)) is not None
    model_server.script.reply(SUMMARY, when=is_summary)
    tasks.compact(pk)
    gapped.refresh_from_db()
    assert gapped.compaction_id == ready.pk
    assert not any(chapter.gap for chapter in chapters(gapped))
