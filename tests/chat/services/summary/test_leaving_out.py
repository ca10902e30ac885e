"""Messages left out of the context and put back: what is sent, what summaries say, what stays."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.gaps import GAP, NOTHING_LEFT
from agent.compaction.chapters.standing_pins import list_pins
from agent.compaction.instructions.pins import Pin, PinState
from agent.compaction.policy import Method, Reason, Trigger
from agent.compaction.writing.job import WrittenSummary
from agent.context.assemble import assemble
from agent.messages import AgentMessage, plain_text
from agent.model.rules import find_violations
from agent.search.exact_values import IndexEntry
from chat import tasks
from chat.engine.state import load_state
from chat.errors import RefusalCode, Refused
from chat.models import Compaction, Conversation
from chat.queries.export import export_json
from chat.queries.outline import load_outline
from chat.queries.readable_export import export_markdown
from chat.queries.summary_versions import read_chapters
from chat.services.summary import compaction_jobs, gaps, leaving_out, summaries
from chat.services.turns import branches, requests
from chat.services.turns.turns import NewMessage
from chat.tools.history import read_messages, search_history
from chat.tools.scope import Scope
from demo.api.script import is_summary
from demo.api.server import DemoServer
from tests.chat.factories import (
    HOLDER,
    Written,
    add_messages,
    make_compaction,
    make_conversation,
    make_turn,
)
from tests.chat.listening import Listener
from tests.chat.sockets import PLAIN, SUMMARY

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]

Listen = Callable[[Conversation], Listener]
SECRET = "xylophone"
# What PostgreSQL could do otherwise are the statements, and a few conversations have them all.
EXAMPLES = 12 if connection.vendor == "sqlite" else 4


def call(number: int) -> Written:
    return "assistant", [
        {"type": "text", "text": f"Looking, round {number}."},
        {"type": "tool_use", "id": f"t{number}", "name": "search_history", "input": {"query": "x"}},
    ]


def result(number: int, *more: dict[str, Any]) -> Written:
    found = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"found {number}"}
    return "user", [found, *more]


def change(talk: Conversation, number: int, *, whole: bool = False, back: bool = False) -> bool:
    pk = talk.messages.get(number=number).pk
    service = leaving_out.put_message_back if back else leaving_out.leave_message_out
    rebuilt = service(talk.owner, talk.pk, pk, whole=whole)
    talk.refresh_from_db()
    return rebuilt


def left_out(talk: Conversation) -> list[int]:
    rows = talk.messages.filter(left_out=True).order_by("number")
    return list(rows.values_list("number", flat=True))


def sent(talk: Conversation) -> str:
    """The next request as it goes out; it breaks no rule."""
    request = assemble(load_state(talk.pk).context)
    assert not find_violations(request.body())
    return request.data.decode()


def chapters(talk: Conversation) -> list[Chapter]:
    talk.refresh_from_db()
    return read_chapters(talk.compaction)


def rebuild(talk: Conversation, server: DemoServer) -> str:
    """Have the chapters without text written again; what the model read for it."""
    server.script.reply(SUMMARY, when=is_summary, always=True)
    asked = len(server.script.requests)
    tasks.rebuild(str(talk.pk))
    return json.dumps([r.body for r in server.script.requests[asked:] if is_summary(r)])


# --- What is sent ---------------------------------------------------------------------------------


def test_a_message_is_left_out_and_comes_back_byte_for_byte(user: User) -> None:
    talk = make_conversation(owner=user, messages=["Hi", "Hello", f"A {SECRET}!", "Nice", "So?"])
    before = sent(talk)
    change(talk, 3)
    assert SECRET not in sent(talk)
    assert talk.messages.get(number=3).text == f"A {SECRET}!"
    change(talk, 3, back=True)
    assert sent(talk) == before


def test_an_exchange_goes_with_its_rounds_of_tools(user: User) -> None:
    messages = ["Hi", "Hello", "Look!", call(1), result(1), call(2), result(2), "Seen.", "Ok?"]
    talk = make_conversation(owner=user, messages=[*messages[:-1], ("user", "Ok?")])
    change(talk, 8, whole=True)
    assert left_out(talk) == [3, 4, 5, 6, 7, 8]
    assert "Looking" not in sent(talk)
    change(talk, 3, whole=True, back=True)
    assert left_out(talk) == []


@pytest.mark.parametrize("number", [4, 5])
def test_a_call_and_its_result_go_together(user: User, number: int) -> None:
    asked = {"type": "text", "text": "And then?"}
    messages = [("user", "Look!"), call(1), result(1), call(2), result(2, asked), "Seen."]
    talk = make_conversation(owner=user, messages=messages)
    change(talk, number)
    assert left_out(talk) == [4, 5]
    body = sent(talk)
    assert "found 1" in body
    assert "found 2" not in body


def test_what_comes_next_follows_the_last_message_though_it_is_left_out(user: User) -> None:
    talk = make_conversation(owner=user, messages=4)
    change(talk, 4, whole=True)
    opening = requests.send_message(
        user, talk.pk, NewMessage("Next"), expected_head=4, holder=HOLDER
    )
    assert opening is not None
    new = talk.messages.get(number=5)
    assert (new.position, new.parent) == (4, talk.messages.get(number=4))


def test_a_first_message_that_is_left_out_is_not_sent_beside_the_summary(user: User) -> None:
    talk = make_conversation(owner=user, messages=[f"A {SECRET}!", "Hello", "So?", "Yes", "Ok"])
    make_compaction(talk, "- They met [#2]", through=4)
    assert SECRET in sent(talk)
    change(talk, 1)
    assert SECRET not in sent(talk)


def test_messages_that_are_left_out_are_nothing_to_compact(user: User) -> None:
    talk = make_conversation(owner=user, messages=8)
    for number in (1, 3, 5):
        change(talk, number, whole=True)
    assert load_state(talk.pk).context.message_count == 2
    assert summaries.summary_versions.plan_for(load_state(talk.pk), Trigger.MANUAL) is None


WORDS = [f"secret{number}" for number in range(30)]
_WORD = re.compile(r"<secret\d+>")
ROLLS = st.lists(st.integers(0, 3), min_size=1, max_size=8)
CHOICES = st.lists(st.tuples(st.integers(0, 200), st.booleans()), min_size=1, max_size=6)


def write_history(rolls: Iterable[int]) -> list[Written]:
    """Exchanges of so many rounds of tools each; every message has a word of its own."""
    history: list[Written] = []

    def word() -> str:
        return f"<{WORDS[len(history) % len(WORDS)]}>"

    for rounds in rolls:
        history.append(("user", word()))
        for number in range(rounds):
            name = f"c{len(history)}-{number}"
            told = {"type": "text", "text": word()}
            made = {"type": "tool_use", "id": name, "name": "search_history", "input": {}}
            history.append(("assistant", [told, made]))
            found = {"type": "tool_result", "tool_use_id": name, "content": word()}
            history.append(("user", [found]))
        history.append(("assistant", word()))
    return history


def quote(messages: Iterable[AgentMessage]) -> str:
    """A summary that quotes the words of all messages."""
    texts = ((m.number, _WORD.findall(plain_text(m.blocks))) for m in messages)
    return "\n".join(f"- {' '.join(words)} [#{number}]" for number, words in texts if words)


def write_gaps(talk: Conversation) -> None:
    """What a worker does, with summaries that quote all that it reads."""
    while (pk := gaps.begin_rebuild(talk.pk)) is not None:
        task = compaction_jobs.claim(pk, 1)
        assert task is not None
        read = task.plan.summarise
        earlier = [each for each in task.chapters if each.through < read[0].number]
        written = Chapter(quote(read), read[0].number, read[-1].number)
        result = WrittenSummary([*earlier, written], Method.SERIALISED, Reason.NOT_CACHED)
        assert gaps.fill(task, result)


@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rolls=ROLLS, choices=CHOICES, chapters=st.integers(0, 2))
def test_no_byte_of_what_is_left_out_is_sent_and_all_of_it_comes_back(
    user: User, rolls: list[int], choices: list[tuple[int, bool]], chapters: int
) -> None:
    """Whatever is left out of the recent messages or of chapters that quote it, alone or with its
    exchange."""
    talk = make_conversation(
        owner=user,
        messages=write_history(rolls)[: len(WORDS)],
        compaction_settings=PLAIN,
        keep_first_message=False,
    )
    prompts = [m.number for m in load_state(talk.pk).context.messages if m.is_prompt]
    for prompt in prompts[1 : chapters + 1]:
        recent = load_state(talk.pk).context.messages
        make_compaction(talk, quote([m for m in recent if m.number < prompt]), through=prompt - 1)
    before = sent(talk)
    count = talk.messages.count()
    for choice, whole in choices:
        change(talk, choice % count + 1, whole=whole)
        write_gaps(talk)
        body = sent(talk)
        for row in talk.messages.all():
            assert (f"<{WORDS[row.number - 1]}>" in body) != row.left_out
    for choice, whole in choices:
        change(talk, choice % count + 1, whole=whole, back=True)
    write_gaps(talk)
    assert left_out(talk) == []
    assert sent(talk) == before


# --- What refuses ---------------------------------------------------------------------------------


def test_nothing_is_left_out_while_an_answer_is_written(user: User) -> None:
    talk = make_conversation(owner=user, messages=3)
    make_turn(talk)
    with pytest.raises(Refused) as refusal:
        change(talk, 3)
    assert refusal.value.code == RefusalCode.CONVERSATION_BUSY
    assert left_out(talk) == []


def test_nobody_leaves_out_what_is_not_theirs(user: User) -> None:
    talk = make_conversation(messages=2)
    with pytest.raises(Conversation.DoesNotExist):
        leaving_out.leave_message_out(user, talk.pk, talk.messages.get(number=1).pk, whole=False)


def test_only_the_shown_branch_can_be_changed(user: User) -> None:
    talk = make_conversation(owner=user, messages=4)
    talk.messages.filter(number=4).update(active=False)
    with pytest.raises(Refused) as refusal:
        change(talk, 4)
    assert refusal.value.code == RefusalCode.NOT_SHOWN


def test_a_message_that_is_left_out_is_not_answered_again(user: User) -> None:
    talk = make_conversation(owner=user, messages=3)
    change(talk, 3)
    with pytest.raises(Refused, match="#3.*left out") as refusal:
        requests.retry(talk, holder=HOLDER)
    assert refusal.value.code == RefusalCode.LEFT_OUT
    change(talk, 1)
    with pytest.raises(Refused, match="#1.*left out"):
        branches.regenerate(user, talk.pk, talk.messages.get(number=2).pk, holder=HOLDER)
    branches.edit_message(
        user, talk.pk, talk.messages.get(number=3).pk, "Otherwise.", holder=HOLDER
    )
    assert "Otherwise." in sent(talk)


# --- What summaries say ---------------------------------------------------------------------------


@pytest.fixture
def summed(user: User) -> Conversation:
    """Two chapters; the first rests on #3, which it pins, indexes and cites, and whose instruction
    #7 has taken back in the second."""
    talk = make_conversation(
        owner=user,
        messages=["Hi", "Hello", f"Always say {SECRET} 42.5.", "Yes.", *["More", "Ok"] * 4],
        compaction_settings=PLAIN,
    )
    first = make_compaction(talk, f"- Say {SECRET} [#3]", through=4)
    chapter = replace(
        read_chapters(first)[0],
        pins=(Pin(1, "Be brief."), Pin(3, f"Always say {SECRET}.", edited=True)),
        index=(IndexEntry("42.5", 3, ""), IndexEntry("17", 1, "")),
    )
    Compaction.objects.filter(pk=first.pk).update(chapters=[chapter.as_dict()])
    make_compaction(talk, "- More [#7]", through=8)
    return talk


def test_a_chapter_is_written_again_without_it_and_again_with_it(
    summed: Conversation, model_server: DemoServer
) -> None:
    had = chapters(summed)
    assert change(summed, 3)
    assert [c.gap for c in chapters(summed)] == [True, False]
    assert f"**Messages #1 to #4**\n\n{GAP}" in (summed.compressed_context or "")
    assert SECRET not in sent(summed) + (summed.compressed_context or "")
    assert "42.5" not in (summed.compressed_context or "")
    assert "Be brief." in (summed.compressed_context or "")

    assert SECRET not in rebuild(summed, model_server)
    assert not any(c.gap for c in chapters(summed))
    assert "Lorem ipsum" in (summed.compressed_context or "")
    assert SECRET not in sent(summed) + (summed.compressed_context or "")

    assert change(summed, 3, back=True)
    assert chapters(summed)[0].gap
    assert SECRET in rebuild(summed, model_server)
    back = chapters(summed)
    assert not any(c.gap for c in back)
    assert (back[0].pins, back[0].index, back[0].left_out) == (had[0].pins, had[0].index, ())
    assert back[1] == had[1]
    assert SECRET in (summed.compressed_context or "")


def test_what_a_person_wrote_of_it_comes_back_with_it(
    summed: Conversation, model_server: DemoServer
) -> None:
    current = summed.compaction
    assert current is not None
    mine = f"- The {SECRET} is a drum [#3]"
    text = summaries.editable_text(current).replace(f"- Say {SECRET} [#3]", mine)
    text = text.replace("- More [#7]", f"- Mine too, see [#3 #7]: {SECRET}")
    summaries.edit_summary(current.pk, text)
    change(summed, 3)
    change(summed, 4)
    rebuild(summed, model_server)
    assert SECRET not in (summed.compressed_context or "")
    change(summed, 4, back=True)
    rebuild(summed, model_server)
    assert SECRET not in (summed.compressed_context or "")
    change(summed, 3, back=True)
    assert "Mine too" in (summed.compressed_context or ""), "its chapter has a text of its own"
    rebuild(summed, model_server)
    assert mine in chapters(summed)[0].text.splitlines()
    assert [(len(c.own), c.withheld) for c in chapters(summed)] == [(1, ()), (1, ())]


def test_no_other_version_brings_it_back(summed: Conversation) -> None:
    change(summed, 3)
    current = summed.compaction
    assert current is not None
    summaries.revert(current.pk)
    summed.refresh_from_db()
    assert chapters(summed)[0].gap
    assert SECRET not in (summed.compressed_context or "")


def test_an_instruction_that_it_took_back_holds_meanwhile(summed: Conversation) -> None:
    current = summed.compaction
    assert current is not None
    first, second = read_chapters(current)
    taken = replace(first, pins=(Pin(1, "Be brief.", PinState.RETIRED, by=7),))
    current.chapters = [taken.as_dict(), second.as_dict()]
    current.save()
    assert list_pins(chapters(summed)) == [Pin(1, "Be brief.", PinState.RETIRED, by=7)]
    change(summed, 7)
    assert list_pins(chapters(summed)) == [Pin(1, "Be brief.")]
    change(summed, 7, back=True)
    assert list_pins(chapters(summed)) == [Pin(1, "Be brief.", PinState.RETIRED, by=7)]


def test_what_was_summarised_without_it_gets_its_pins_and_values_with_it(
    user: User, model_server: DemoServer
) -> None:
    said = f"Never say {SECRET} 42.5 to anyone."
    talk = make_conversation(
        owner=user,
        messages=["Hi", "Hello", said, "Yes.", "More", "Ok"],
        compaction_settings=PLAIN | {"engine": "extract"},
    )
    change(talk, 3)
    make_compaction(talk, "- They met [#1]", through=4)
    assert SECRET not in (talk.compressed_context or "")
    change(talk, 3, back=True)
    model_server.script.reply(
        f"{SUMMARY}\n\n## Standing instructions\n\n- {said} [#3]\n", when=is_summary, always=True
    )
    tasks.rebuild(str(talk.pk))
    (chapter,) = chapters(talk)
    assert not chapter.gap
    assert "42.5" in [entry.value for entry in chapter.index]


def test_a_chapter_of_which_nothing_is_left_asks_no_model(
    summed: Conversation, model_server: DemoServer
) -> None:
    change(summed, 1, whole=True)
    change(summed, 3, whole=True)
    tasks.rebuild(str(summed.pk))
    assert chapters(summed)[0].text == NOTHING_LEFT
    assert not [r for r in model_server.script.requests if is_summary(r)]
    change(summed, 1, back=True)
    assert "Hi" in rebuild(summed, model_server)


def test_a_prepared_summary_is_not_used(user: User) -> None:
    talk = make_conversation(owner=user, messages=8)
    ready = make_compaction(talk, status=Compaction.Status.READY, turn=None)
    change(talk, 3)
    ready.refresh_from_db()
    assert ready.status == Compaction.Status.CANCELLED


def test_a_deletion_takes_away_what_was_kept_for_putting_back(
    summed: Conversation, model_server: DemoServer
) -> None:
    current = summed.compaction
    assert current is not None
    text = summaries.editable_text(current).replace("- Say", "- Never say")
    summaries.edit_summary(current.pk, text.replace("[#7]", f"[#3 #7]: {SECRET}"))
    change(summed, 3)
    rebuild(summed, model_server)
    assert [len(chapter.withheld) for chapter in chapters(summed)] == [1, 1]
    branches.delete_message(summed.owner, summed.pk, summed.messages.get(number=3).pk)
    stored = json.dumps(list(summed.compactions.values_list("chapters", "summary", "audit")))
    assert SECRET not in stored
    assert not any(chapter.left_out for chapter in chapters(summed))


# --- Who hears of it, and what else shows it ------------------------------------------------------


def test_every_tab_hears_of_it_and_the_meter_is_right_at_once(user: User, listen: Listen) -> None:
    talk = make_conversation(owner=user, messages=["Hi", "Long. " * 2_000, "So?"])
    usage = {"input_tokens": 9_000, "output_tokens": 9}
    add_messages(talk, ["Yes."], usage=usage)
    assert load_state(talk.pk).used > 9_000
    heard = listen(talk)
    change(talk, 2)
    (event,) = heard.events("messages.left_out")
    assert event == {
        "type": "messages.left_out",
        "ids": [talk.messages.get(number=2).pk],
        "left_out": True,
    }
    assert heard.events("context.usage")[-1]["used"] == load_state(talk.pk).used < 1_000


def run(tool: Any, talk: Conversation, **input: Any) -> str:
    told: str = async_to_sync(tool)(Scope(talk.pk, talk.owner_id), input)
    return told


def test_the_models_tools_do_not_show_it(user: User) -> None:
    talk = make_conversation(owner=user, messages=["Hi", "Hello", f"A {SECRET}!", "A harp."])
    change(talk, 3)
    assert SECRET not in run(search_history, talk, query=f"{SECRET} harp")
    assert "left out by the user" in run(search_history, talk, query=SECRET)
    told = run(read_messages, talk, **{"from": 1, "to": 4})
    assert SECRET not in told
    assert "[#3] user" in told
    assert "(left out by the user)" in told
    other = make_conversation(owner=user, messages=2)
    assert SECRET not in run(
        read_messages, other, **{"from": 1, "to": 4, "conversation": str(talk.pk)}
    )
    change(talk, 3, back=True)
    assert SECRET in run(search_history, talk, query=SECRET)


def test_exports_and_the_outline_mark_it(user: User) -> None:
    talk = make_conversation(owner=user, messages=6)
    change(talk, 3, whole=True)
    change(talk, 6)

    async def read(export: Any) -> str:
        return "".join([part async for part in export(talk)])

    markdown = async_to_sync(read)(export_markdown)
    assert markdown.count("left out of the context") == 3
    assert "Message number 3." in markdown
    exported = json.loads(async_to_sync(read)(export_json))
    assert [m["number"] for m in exported["messages"] if m["left_out"]] == [3, 4, 6]
    outline = load_outline(talk)
    assert [turn.number for turn in outline.recent.turns if turn.left_out] == [3]
    assert outline.left_out == [(2, 2), (5, 1)]
