"""What the model wants to remember or forget: at once only what the user said themselves, else a
proposal, which has no effect until the user allows it."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client as Browser
from django.utils import timezone

from chat.db.threads import in_db
from chat.errors import Refused
from chat.models import Conversation, Memory, MemoryProposal
from chat.services.library import memories, projects
from chat.services.turns.sweep import sweep
from demo.api.protocol import tool_use
from tests.chat.factories import make_user
from tests.chat.sockets import Chat, Tab

pytestmark = pytest.mark.on_both

FACT = "Sends all invoices to Eve."


def remember(text: str = FACT, block_id: str = "toolu_r") -> dict[str, Any]:
    return tool_use("remember", {"text": text}, block_id)


async def stored() -> tuple[list[str], list[str]]:
    """What is remembered, and what is proposed."""

    def read() -> tuple[list[str], list[str]]:
        facts = Memory.objects.values_list("text", flat=True)
        return list(facts), list(MemoryProposal.objects.values_list("text", flat=True))

    return await in_db(read)


async def said(chat: Chat, text: str, **fields: Any) -> Tab:
    """A turn that the user begins with a text that they typed, or as `fields` say."""
    tab = await chat.open()
    tab.say(text, **({"pasted": []} | fields))
    await tab.next("turn.finished", status="completed")
    return tab


def result(chat: Chat) -> str:
    """What the model was told of its last call."""
    (block,) = chat.script.requests[-1].messages[-1]["content"]
    return str(block["content"])


# --- What the model may keep by itself ------------------------------------------------------------


async def test_in_a_project_facts_are_kept_and_recalled_for_it_alone(chat: Chat) -> None:
    mine = await in_db(projects.create_project, chat.user, "Sea trip")
    other = await in_db(projects.create_project, chat.user, "Kitchen")
    for text, place in (("Lives in Graz", None), ("Wants oak", other.pk)):
        await in_db(
            memories.remember_fact, chat.user.pk, text, Memory.Source.USER, project_id=place
        )
    oak = await in_db(Memory.objects.get, text="Wants oak")
    await in_db(projects.move_conversations, chat.user, [chat.conversation.pk], mine)
    chat.script.reply(remember("The user likes short answers.")).reply("Noted.")
    await said(chat, "Remember: I like SHORT answers!")
    kept = await in_db(Memory.objects.select_related("project").get, source="agent")
    assert kept.project == mine

    chat.script.reply(tool_use("recall", {}, "toolu_all")).reply("Those.")
    await said(chat, "What do you know?")
    assert "Graz" in result(chat)
    assert "short answers" in result(chat)
    assert "oak" not in result(chat)
    system = str(chat.script.requests[-1].body["system"])
    assert "short answers" in system
    assert "oak" not in system

    chat.script.reply(tool_use("forget", {"id": oak.pk}, "toolu_f")).reply("I cannot.")
    await said(chat, "Forget that I want oak.")
    assert "Nothing is remembered under" in result(chat)
    assert await in_db(Memory.objects.filter(pk=oak.pk).exists)


async def test_a_proposal_of_a_project_is_decided_for_it(chat: Chat) -> None:
    mine = await in_db(projects.create_project, chat.user, "Sea trip")
    await in_db(projects.move_conversations, chat.user, [chat.conversation.pk], mine)
    chat.script.reply(remember()).reply("I asked.")
    await said(chat, "What should I do with invoices?")
    proposal = await in_db(MemoryProposal.objects.get)
    await in_db(projects.move_conversations, chat.user, [chat.conversation.pk], None)
    await in_db(lambda: memories.decide_proposal(proposal, accept=True))
    assert (await in_db(Memory.objects.get)).project_id == mine.pk


async def test_what_the_user_typed_is_kept_at_once_with_its_source(chat: Chat) -> None:
    chat.script.reply(remember("The user likes short answers.")).reply("Noted.")
    await said(chat, "Remember: I like SHORT answers!")
    (memory,) = await in_db(lambda: list(Memory.objects.all()))
    assert (memory.text, memory.source) == ("The user likes short answers.", "agent")
    assert (memory.conversation_id, memory.message_number) == (chat.conversation.pk, 5)
    assert "Remembered" in result(chat)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("What does this mail say?\nSends all invoices to Eve.", {"pasted": [[25, 51]]}),
        ("Sends all invoices to Eve.", {"pasted": None}),
        ("Read my mail, please.", {}),
        ("Does Eve get an invoice?", {}),
    ],
    ids=["pasted", "nobody saw", "not said", "said in part"],
)
async def test_what_the_user_did_not_type_is_a_proposal_without_effect(
    chat: Chat, text: str, fields: dict[str, Any]
) -> None:
    chat.script.reply(remember()).reply("I asked.").reply(tool_use("recall", {}, "toolu_2"))
    chat.script.reply("Nothing.")
    tab = await said(chat, text, **fields)
    assert await stored() == ([], [FACT])
    assert "Not remembered yet" in result(chat)
    assert FACT in tab.all("question.asked")[0]["html"]
    tab.say("Hello", pasted=[])
    await tab.next("turn.finished", status="completed")
    assert result(chat) == "Nothing is remembered about this."
    assert FACT not in str(chat.script.requests[-1].body["system"])


@pytest.mark.parametrize("tool", ["search_history", "read_messages"])
async def test_after_a_result_of_a_tool_everything_is_a_proposal(chat: Chat, tool: str) -> None:
    look = {"search_history": {"query": "message"}, "read_messages": {"from": 1, "to": 2}}[tool]
    chat.script.reply(tool_use(tool, look, "toolu_1")).reply(remember()).reply("I asked.")
    await said(chat, "Eve sends all invoices. Look it up.")
    assert await stored() == ([], [FACT])


async def test_our_own_memory_does_not_make_a_turn_foreign(chat: Chat) -> None:
    chat.script.reply(tool_use("recall", {}, "toolu_1")).reply(remember()).reply("Noted.")
    await said(chat, "Eve sends all invoices. Remember that.")
    assert await stored() == ([FACT], [])


async def test_a_model_whose_memory_is_off_can_note_nothing(chat: Chat) -> None:
    """It may know the tool from earlier turns."""
    await in_db(Conversation.objects.update, tool_settings={"off": ["memory"]})
    chat.script.reply(remember()).reply("I cannot.")
    await said(chat, "Eve sends all invoices. Remember that.")
    assert await stored() == ([], [])


async def test_with_a_file_everything_is_a_proposal(chat: Chat) -> None:
    file = {"file": SimpleUploadedFile("a.txt", b"Sends all invoices to Eve.")}
    uploaded = (await chat.http.post("/attachments/", file)).json()
    chat.script.reply(remember()).reply("I asked.")
    await said(chat, "Eve sends all invoices, see here", attachments=[uploaded["id"]])
    assert await stored() == ([], [FACT])


async def test_the_model_forgets_at_once_only_what_the_user_names(chat: Chat) -> None:
    for text in ("Lives in Graz", "Likes tea"):
        await in_db(memories.remember_fact, chat.user.pk, text, Memory.Source.USER)
    graz, tea = await in_db(lambda: list(Memory.objects.order_by("pk")))
    calls = [
        tool_use("forget", {"id": graz.pk}, "toolu_1"),
        tool_use("forget", {"id": tea.pk}, "toolu_2"),
    ]
    chat.script.reply(calls).reply("Done.")
    tab = await said(chat, "I left Graz, forget it")
    assert await stored() == (["Likes tea"], ["Likes tea"])
    assert "forget" in tab.all("question.asked")[0]["html"]


# --- Deciding -------------------------------------------------------------------------------------


async def proposed(chat: Chat) -> MemoryProposal:
    """A proposal, after its turn."""
    chat.script.reply(remember()).reply("I asked.")
    await said(chat, "Read my mail.")
    proposal = await in_db(MemoryProposal.objects.get)
    assert isinstance(proposal, MemoryProposal)
    return proposal


async def test_a_proposal_is_kept_by_a_click_and_its_question_closes_in_every_tab(
    chat: Chat,
) -> None:
    proposal = await proposed(chat)
    tab, other = chat.tabs[0], await chat.open()
    assert FACT in other.all("snapshot")[0]["questions"]
    answer = await chat.http.post(f"/memories/proposals/{proposal.pk}/", {"decision": "accept"})
    assert answer.status_code == 302
    for each in (tab, other):
        await each.next("question.closed", id=f"memory-{proposal.pk}")
    assert await stored() == ([FACT], [])
    memory = await in_db(Memory.objects.get)
    assert (memory.source, memory.message_number) == ("agent", 5)
    assert (await tab.sync())["questions"] == ""


async def test_a_discarded_proposal_leaves_nothing(chat: Chat) -> None:
    proposal = await proposed(chat)
    url = f"/memories/proposals/{proposal.pk}/"
    assert (await chat.http.post(url, {"decision": "perhaps"})).status_code == 400
    headers = {"x-requested-with": "fetch"}
    assert (await chat.http.post(url, {"decision": "discard"}, headers=headers)).status_code == 204
    assert await stored() == ([], [])
    assert (await chat.http.post(url, {"decision": "accept"})).status_code == 404


async def test_a_fact_is_forgotten_by_a_click(chat: Chat) -> None:
    memory, _ = await in_db(memories.remember_fact, chat.user.pk, "Likes tea", Memory.Source.USER)
    chat.script.reply(tool_use("forget", {"id": memory.pk}, "toolu_1")).reply("I asked.")
    await said(chat, "Read my mail.")
    proposal = await in_db(MemoryProposal.objects.get)
    await chat.http.post(f"/memories/proposals/{proposal.pk}/", {"decision": "accept"})
    assert await stored() == ([], [])


async def test_a_stranger_neither_sees_nor_decides(chat: Chat, client: Browser) -> None:
    proposal = await proposed(chat)

    def try_it() -> None:
        client.force_login(make_user("eve"))
        url = f"/memories/proposals/{proposal.pk}/"
        assert client.post(url, {"decision": "accept"}).status_code == 404
        assert FACT not in client.get("/memories/").content.decode()

    await in_db(try_it)
    assert await stored() == ([], [FACT])


async def test_the_page_lists_proposals_with_their_source(chat: Chat) -> None:
    await proposed(chat)
    page = (await chat.http.get("/memories/")).content.decode()
    assert FACT in page
    assert f'href="/c/{chat.conversation.pk}/#message-5"' in page
    assert "Keep" in page
    assert "Discard" in page


# --- Bounds ---------------------------------------------------------------------------------------


def propose(conversation: Conversation, text: str = FACT) -> MemoryProposal:
    proposal = memories.propose_fact(conversation.owner_id, text, conversation.pk, 1)
    assert proposal is not None
    return proposal


def test_a_proposal_is_made_once_and_there_is_a_limit(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories, "MAX_PROPOSALS", 2)
    assert propose(conversation, "One") == propose(conversation, "one.")
    propose(conversation, "Two")
    with pytest.raises(Refused, match="wait for"):
        propose(conversation, "Three")
    memories.remember_fact(conversation.owner_id, "Known", Memory.Source.USER)
    assert memories.propose_fact(conversation.owner_id, "known", conversation.pk, 1) is None


def test_proposals_expire(conversation: Conversation) -> None:
    proposal = propose(conversation)
    old = timezone.now() - memories.PROPOSALS_KEPT - timedelta(seconds=1)
    MemoryProposal.objects.filter(pk=proposal.pk).update(created_at=old)
    assert list(memories.list_proposals(conversation.owner_id)) == []
    sweep()
    assert not MemoryProposal.objects.exists()


def test_a_fact_outlives_its_conversation_and_a_proposal_does_not(
    conversation: Conversation,
) -> None:
    memories.decide_proposal(propose(conversation, "One"), accept=True)
    propose(conversation, "Two")
    conversation.delete()
    assert Memory.objects.get().conversation is None
    assert not MemoryProposal.objects.exists()
