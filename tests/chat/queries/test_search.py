"""The search index and what is found by it: on SQLite, and on PostgreSQL with `--services`."""

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import transaction
from django.test import Client

from accounts.models import User
from agent.context.shortening.previews import preview_messages
from agent.errors import ToolError
from agent.messages import AgentMessage, Block, sanitise_text
from agent.search.lexical import parse_query
from agent.tokens import Limits
from chat.db.threads import in_db
from chat.engine.model_profiles import limits_for
from chat.engine.model_server import get_counter
from chat.engine.recent_messages import to_agent_message
from chat.engine.state import load_state
from chat.models import Conversation, Message, SearchEntry, Turn
from chat.queries.search import find_messages
from chat.services.library import attachments, conversations, search_index
from chat.services.turns import endings, requests
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.turns import NewMessage
from chat.tools.history import READ_TOKENS, SEARCH_TOKENS, read_messages, search_history
from chat.tools.registry import bind_tools
from chat.tools.scope import Scope
from tests.chat.factories import (
    HOLDER,
    add_messages,
    change_messages,
    make_compaction,
    make_conversation,
    make_profile,
    make_turn,
    make_user,
)
from tests.search_texts import EXACT, NAUGHTY

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]


def numbers(conversation: Conversation, query: str) -> list[int]:
    found = find_messages(
        conversation.owner_id, parse_query(query), conversation_id=conversation.pk
    )
    return [hit.number for hit in found]


def post(conversation: Conversation, text: str, files: Sequence[str] = ()) -> Turn:
    opening = requests.send_message(
        conversation.owner,
        conversation.pk,
        NewMessage(text, files=files),
        expected_head=None,
        holder=HOLDER,
    )
    assert opening is not None
    return opening.turn


# --- The index ------------------------------------------------------------------------------------


def test_messages_are_found_from_the_transaction_that_stores_them(user: User) -> None:
    conversation = make_conversation(owner=user)
    turn = post(conversation, "The harbour is closed on Mondays.")
    assert numbers(conversation, "harbour")[0] == 1
    requests.open_next_request(turn.pk, may_compact=False)
    assert 2 not in SearchEntry.objects.values_list("message__number", flat=True)
    blocks = [{"type": "text", "text": "Then take the ferry."}]
    endings.end_turn(turn.pk, TurnOutcome(Turn.Status.COMPLETED, blocks=blocks))
    assert numbers(conversation, "ferry")[0] == 2


def test_a_rolled_back_message_leaves_no_trace(user: User) -> None:
    conversation = make_conversation(owner=user, messages=["Before"])

    with transaction.atomic():
        post(conversation, "The harbour is closed.")
        assert numbers(conversation, "harbour")[0] == 2
        transaction.set_rollback(True)
    assert numbers(conversation, "harbour") == []
    assert SearchEntry.objects.count() == 1
    post(conversation, "The bridge is open.")
    assert numbers(conversation, "harbour") == []
    assert numbers(conversation, "bridge")[0] == 2


def test_a_deleted_conversation_leaves_nothing_in_the_index(user: User) -> None:
    gone = make_conversation(owner=user, messages=["The harbour", "is closed"])
    kept = make_conversation(owner=user, messages=["The harbour", "is open"])
    conversations.delete_conversation(gone)
    assert SearchEntry.objects.count() == 2
    found = find_messages(user.pk, parse_query("harbour"))
    assert {hit.conversation_id for hit in found} == {kept.pk}


def test_what_is_forgotten_is_not_found(user: User) -> None:
    conversation = make_conversation(owner=user, messages=["The harbour", "is closed"])
    search_index.unindex_messages(conversation.messages.filter(number=1))
    assert numbers(conversation, "harbour") == []


def test_huge_texts_are_stored_and_found_by_their_beginning(user: User) -> None:
    text = "harbour " + " ".join(f"word{n:x}" for n in range(300_000))
    conversation = make_conversation(owner=user, messages=[text, "no"])
    assert numbers(conversation, "harbour")[0] == 1
    assert numbers(conversation, "word2710")[0] == 1


def attach(conversation: Conversation, name: str, said: bytes) -> str:
    return str(attachments.store_unsent(conversation.owner, name, said).pk)


async def test_what_attached_texts_say_is_found_and_read(user: User) -> None:
    def sent() -> Conversation:
        conversation = make_conversation(owner=user, messages=["Hello", "Hi!"])
        lines = "".join(f"retries = {n}\n" for n in range(5_000))
        first = attach(conversation, "limits.ini", f"{lines}ferry_port = 48151\n".encode())
        other = attach(conversation, "note.txt", b"The harbour opens at nine.")
        turn = post(conversation, "Keep these.", [first, other])
        endings.end_turn(turn.pk, TurnOutcome(Turn.Status.COMPLETED, blocks=[]))
        return conversation

    conversation = await in_db(sent)
    scope = Scope(conversation.pk, user.pk, SEARCH_TOKENS)
    found = await search_history(scope, {"query": "ferry_port 48151"})
    assert "ferry_port = 48151" in found
    assert found.startswith("[#3] user")
    assert "opens at nine" in await search_history(scope, {"query": "harbour opens"})

    told, call = "", {"from": 3, "to": 3}
    while call:
        page = await read_messages(scope, call)
        told += page
        offset = re.search(r"\[continues: read_messages\(from=3, to=3, offset=(\d+)\)\]$", page)
        call = {"from": 3, "to": 3, "offset": int(offset[1])} if offset else {}
    for said in ("Keep these.", "[limits.ini]\nretries = 0\n", "[note.txt]\nThe harbour opens"):
        assert said in told
    assert set(re.findall(r"retries = (\d+)\n", told)) >= {"1", "4999"}


def test_tool_calls_results_and_code_are_found(user: User) -> None:
    conversation = make_conversation(
        owner=user,
        messages=[
            "Look",
            [{"type": "tool_use", "id": "t1", "name": "grep", "input": {"pattern": "needle"}}],
            [{"type": "tool_result", "tool_use_id": "t1", "content": "def haystack(): ..."}],
            "```python\nprint(sys.flags)\n```",
        ],
    )
    assert numbers(conversation, "needle")[0] == 2
    assert numbers(conversation, "def haystack():")[0] == 3
    assert numbers(conversation, "sys.flags")[0] == 4


def test_dates_are_found(user: User) -> None:
    conversation = make_conversation(owner=user, messages=2)
    day = conversation.messages.get(number=1).created_at
    assert 1 in numbers(conversation, f"{day:%-d %B %Y}")


# --- Scope ----------------------------------------------------------------------------------------


def test_a_temporary_chat_is_found_in_itself_only(user: User) -> None:
    conversation = make_conversation(owner=user, messages=["The zebra crossing"], temporary=True)
    for query in ("zebra", "\u2603"):
        add_messages(conversation, ["\u2603"])
        assert find_messages(user.pk, parse_query(query), conversation_id=conversation.pk)
        assert not find_messages(user.pk, parse_query(query))


def test_nobody_finds_what_is_anothers(user: User) -> None:
    mine = make_conversation(owner=user, messages=["The harbour", "is mine"])
    theirs = make_conversation(messages=["The harbour", "is theirs"])
    found = find_messages(user.pk, parse_query("harbour"))
    assert {hit.conversation_id for hit in found} == {mine.pk}
    assert find_messages(user.pk, parse_query("harbour"), conversation_id=theirs.pk) == []
    assert find_messages(user.pk, parse_query("???"), conversation_id=theirs.pk) == []


def test_one_conversation_or_all(user: User) -> None:
    first = make_conversation(owner=user, messages=["The harbour", "yes"])
    second = make_conversation(owner=user, messages=["A harbour", "no"])
    assert numbers(first, "harbour") == [1, 2]
    found = find_messages(user.pk, parse_query("harbour"))
    assert {hit.conversation_id for hit in found} == {first.pk, second.pk}


def test_a_temporary_conversation_is_found_only_in_itself(user: User) -> None:
    passing = make_conversation(owner=user, messages=["The harbour -> left", "yes"])
    Conversation.objects.filter(pk=passing.pk).update(temporary=True)
    assert find_messages(user.pk, parse_query("harbour")) == []
    assert find_messages(user.pk, parse_query("->")) == []
    assert numbers(passing, "harbour") == [1, 2]
    assert numbers(passing, "->") == [1]


def test_neighbours_are_of_the_same_conversation(user: User) -> None:
    make_conversation(owner=user, messages=["Hello", "Hi"])
    found = make_conversation(owner=user, messages=["The harbour", "yes"])
    make_conversation(owner=user, messages=["Hello", "Hi"])
    assert {hit.conversation_id for hit in find_messages(user.pk, parse_query("harbour"))} == {
        found.pk
    }


def test_only_the_shown_branch_is_searched(user: User) -> None:
    conversation = make_conversation(owner=user, messages=["Hello", "The harbour is closed"])
    change_messages(Message.objects.filter(conversation=conversation, number=2), active=False)
    assert numbers(conversation, "harbour") == []
    change_messages(Message.objects.filter(conversation=conversation, number=2), active=True)
    assert numbers(conversation, "harbour")[0] == 2


# --- Any text -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [*NAUGHTY, *EXACT])
def test_every_text_is_found_by_itself_and_breaks_nothing(user: User, text: str) -> None:
    filler = [f"Something else entirely, number {n}." for n in range(8)]
    conversation = make_conversation(owner=user, messages=[*filler, text, *filler])
    assert numbers(conversation, text)[0] == 9
    assert 9 in numbers(conversation, f'"{text}"')
    assert isinstance(numbers(conversation, f"number ({text}"), list)


@pytest.mark.parametrize("value", EXACT)
def test_exact_values_come_before_similar_ones(user: User, value: str) -> None:
    similar = [f"Something like {value[:-2]} and {value}9x, number {n}." for n in range(20)]
    conversation = make_conversation(owner=user, messages=[*similar, f"It was {value}, I said."])
    assert numbers(conversation, f"What was it with {value} again?")[0] == 21


def test_a_quoted_phrase_comes_before_its_scattered_words(user: User) -> None:
    scattered = ["An apple, a green one", "green is the apple"] * 5
    conversation = make_conversation(owner=user, messages=[*scattered, "My green apple pie"])
    assert numbers(conversation, '"green apple"')[0] == 11


# --- The tools ------------------------------------------------------------------------------------


async def test_the_model_gets_numbers_roles_dates_and_excerpts(user: User) -> None:
    texts = ["filler " * 500 + "The harbour closes at nine." + " filler" * 500, "Good to know"]
    conversation = await in_db(make_conversation, user, messages=texts)
    told = await search_history(Scope(conversation.pk, user.pk), {"query": "harbour"})
    heading, excerpt = told.split("\n\n")[0].split("\n", 1)
    assert heading.startswith("[#1] user, 20")
    assert "The harbour closes at nine." in excerpt
    assert excerpt.startswith("…")
    assert len(excerpt) < 600


async def test_hits_and_what_is_read_have_the_time_of_their_authors_place(user: User) -> None:
    talk = await in_db(make_conversation, user, messages=["The harbour", "ok"])
    at = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)
    changed = Message.objects.filter(conversation=talk)
    await in_db(changed.update, created_at=at, time_zone="Asia/Tokyo")
    scope = Scope(talk.pk, user.pk)
    assert (await search_history(scope, {"query": "harbour"})).startswith(
        "[#1] user, 2026-03-03 08:30\n"
    )
    assert "[#2] assistant, 2026-03-03 08:30\n" in await read_messages(scope, {"from": 1, "to": 2})


async def test_hits_elsewhere_name_their_conversation_and_can_be_read(user: User) -> None:
    here = await in_db(make_conversation, user, messages=["Hello", "Hi"])
    there = await in_db(make_conversation, user, messages=["The harbour", "ok"], title="Trip")
    scope = Scope(here.pk, user.pk)
    assert (await search_history(scope, {"query": "harbour"})).startswith("Nothing was found.")
    told = await search_history(scope, {"query": "harbour", "all_conversations": True})
    assert told.startswith(f"[#1 in {there.pk}] user, 20")
    assert "from “Trip”" in told
    read = await read_messages(scope, {"from": 1, "to": 1, "conversation": str(there.pk)})
    assert read.startswith(f"[#1 in {there.pk}] user, 20")
    assert "The harbour" in read


async def test_what_is_being_answered_is_not_a_hit(user: User) -> None:
    conversation = await in_db(make_conversation, user, messages=["The harbour", "ok"])
    await in_db(post, conversation, "When does the harbour close?")
    told = await search_history(Scope(conversation.pk, user.pk), {"query": "harbour close"})
    assert "[#1]" in told
    assert "[#3]" not in told


def asked(conversation: Conversation, text: str) -> Turn:
    """A running turn that has written nothing yet."""
    turn = make_turn(conversation, status=Turn.Status.RUNNING)
    add_messages(conversation, [text], turn=turn)
    return turn


def ran(conversation: Conversation, name: str, found: str) -> None:
    """A round of the running turn: a call and its result."""
    turn = Turn.objects.get(conversation=conversation, status__in=Turn.ACTIVE)
    called = {"type": "tool_use", "id": name, "name": "read_file", "input": {"path": name}}
    result = {"type": "tool_result", "tool_use_id": name, "content": found}
    add_messages(conversation, [("assistant", [called]), ("user", [result])], turn=turn)


async def test_what_the_running_turn_found_is_a_hit_once_it_is_compacted_away(user: User) -> None:
    conversation = await in_db(make_conversation, user, messages=2)
    turn = await in_db(asked, conversation, "Read the logs of the ferry.")
    await in_db(ran, conversation, "one.log", "The ferry left pier nine.")
    await in_db(ran, conversation, "two.log", "The ferry came back.")
    scope, query = Scope(conversation.pk, user.pk), {"query": "ferry"}
    assert "ferry" not in await search_history(scope, query)

    def compact() -> None:
        Turn.objects.filter(pk=turn.pk).update(status=Turn.Status.COMPLETED)
        make_compaction(conversation, through=5)
        Turn.objects.filter(pk=turn.pk).update(status=Turn.Status.RUNNING)

    await in_db(compact)
    told = await search_history(scope, query)
    assert "pier nine" in told
    assert "[#5]" in told
    assert "[#3]" not in told, "the prompt is always sent"
    assert "[#7]" not in told, "the newest round is still there"


async def test_what_is_only_previewed_of_the_running_turn_is_a_hit(user: User) -> None:
    conversation = await in_db(make_conversation, user, messages=2)
    await in_db(asked, conversation, "Read the logs of the ferry.")
    log = "Nothing. " * 20_000 + "The ferry left pier nine." + " Nothing." * 20_000
    await in_db(ran, conversation, "one.log", log)
    await in_db(ran, conversation, "two.log", "x " * 2_000 + "ferry two" + " x" * 2_000)
    scope, query = Scope(conversation.pk, user.pk), {"query": "ferry"}
    told = await search_history(scope, query)
    assert "pier nine" in told
    assert "ferry two" not in told
    await in_db(Conversation.objects.update, pruned_through=7)
    assert "ferry two" in await search_history(scope, query)


async def nobody_is_asked(server: str, call: Block) -> None:
    raise AssertionError("no server's tool is called here")


@pytest.mark.parametrize("window", [8_000, 16_000, 200_000])
async def test_what_a_preview_leaves_out_is_read_on_to_its_end(user: User, window: int) -> None:
    """Three pages a round, each of which is sent whole with the others."""
    text = "".join(f"Line {n}: naïve words.\n" for n in range(20_000))

    def made() -> tuple[Conversation, Limits]:
        profile = make_profile(context_window=window, token_factor=1.5)
        conversation = make_conversation(user, messages=[text])
        return conversation, limits_for(profile, conversation)

    conversation, limits = await in_db(made)
    row = await in_db(conversation.messages.get)
    (cut,) = preview_messages([to_agent_message(row)], limits)[0].blocks
    read, note, _ = re.split(r"\n\n(?=\[…)|(?<=…\])\n\n", cut["text"])
    tools = await in_db(bind_tools, await in_db(load_state, conversation.pk), 3, nobody_is_asked)
    results: list[dict] = []
    while note:
        arguments = json.loads(
            re.sub(r"(\w+)=", r'"\1":', "{" + re.search(r"read_messages\((.*)\)", note)[1] + "}")
        )
        page = await tools["read_messages"].run(arguments)
        results.append({"type": "tool_result", "tool_use_id": "t", "content": page})
        body, _, note = page.partition("\n\n[continues: ")
        read += body.split("\n", 1)[1]
    assert read == text
    for start in range(0, len(results), 3):
        blocks = results[start : start + 3]
        together = AgentMessage(9, "user", blocks, get_counter().count_blocks(blocks))
        assert preview_messages([together], limits)[0] is together


async def test_an_empty_message_does_not_end_the_reading(user: User) -> None:
    texts = ["Before", [{"type": "thinking", "thinking": "Hm."}], "After"]
    conversation = await in_db(make_conversation, user, messages=texts)
    told = await read_messages(Scope(conversation.pk, user.pk), {"from": 1, "to": 3})
    assert "After" in told
    assert "continues" not in told


async def test_results_keep_within_their_tokens(user: User) -> None:
    texts = [f"harbour {n} " + "lorem ipsum " * 400 for n in range(60)]
    conversation = await in_db(make_conversation, user, messages=texts)
    scope = Scope(conversation.pk, user.pk)
    told = await search_history(scope, {"query": "harbour"})
    assert get_counter().count(told) <= SEARCH_TOKENS + 100
    assert told.count("[#") >= 20
    read = await read_messages(scope, {"from": 1, "to": 60})
    assert get_counter().count(read) <= READ_TOKENS + 200


async def test_long_messages_are_read_in_pages_to_the_last_character(user: User) -> None:
    texts = ["x".join(map(str, range(20_000))), "short", "y" * 50_000, "end"]
    conversation = await in_db(make_conversation, user, messages=texts)
    scope = Scope(conversation.pk, user.pk)
    pages: dict[int, str] = {}
    arguments = {"from": 1, "to": 4}
    for _ in range(40):
        told = await read_messages(scope, arguments)
        body, _, rest = told.partition("\n\n[continues: read_messages(")
        for part in re.split(r"\n\n(?=\[#\d)", body):
            heading, text = part.split("\n", 1)
            number = int(heading[2 : heading.index("]")])
            pages[number] = pages.get(number, "") + text
        if not rest:
            break
        arguments = json.loads(re.sub(r"(\w+)=", r'"\1":', "{" + rest.removesuffix(")]") + "}"))
    assert [pages[number] for number in sorted(pages)] == texts


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (search_history, {}),
        (search_history, {"query": "  "}),
        (search_history, {"query": ["a"]}),
        (search_history, {"query": "a", "all_conversations": "yes"}),
        (read_messages, {}),
        (read_messages, {"from": 2, "to": 1}),
        (read_messages, {"from": "1", "to": 1}),
        (read_messages, {"from": 0, "to": 1}),
        (read_messages, {"from": True, "to": 1}),
        (read_messages, {"from": 1, "to": 1, "offset": -1}),
        (read_messages, {"from": 1, "to": 1, "conversation": "nonsense"}),
        (read_messages, {"from": 1, "to": 1, "conversation": str(uuid4())}),
        (read_messages, {"from": 7, "to": 10**30}),
    ],
)
async def test_bad_arguments_are_told_to_the_model(
    conversation: Conversation, tool: Callable, arguments: dict
) -> None:
    with pytest.raises(ToolError) as told:
        await tool(Scope(conversation.pk, conversation.owner_id), arguments)
    assert str(told.value).endswith(".")


async def test_a_strangers_messages_cannot_be_read(conversation: Conversation) -> None:
    stranger = await in_db(make_user)
    for scope, arguments in (
        (Scope(conversation.pk, stranger.pk), {"from": 1, "to": 4}),
        (Scope(uuid4(), stranger.pk), {"from": 1, "to": 4, "conversation": str(conversation.pk)}),
    ):
        with pytest.raises(ToolError):
            await read_messages(scope, arguments)
    told = await search_history(Scope(conversation.pk, stranger.pk), {"query": "message"})
    assert told.startswith("Nothing was found.")


def test_signs_longer_than_a_database_compares_are_looked_for_by_their_beginning(
    user: User,
) -> None:
    conversation = make_conversation(owner=user, messages=["->" * 30_000, "no"])
    assert numbers(conversation, "->" * 30_000) == [1]


# --- The sidebar ----------------------------------------------------------------------------------


@pytest.fixture
def client(user: User) -> Client:
    made = Client()
    made.force_login(user)
    return made


def test_the_sidebar_finds_messages_and_links_to_them(client: Client, user: User) -> None:
    texts = ["Where to?", "To the <b>harbour</b> of Lisbon"]
    conversation = make_conversation(owner=user, messages=texts, title="A & B")
    make_conversation(messages=["The harbour"])
    html = client.get("/sidebar/", {"q": "harbours"}).content.decode()
    assert f'href="{conversation.get_absolute_url()}#message-2"' in html
    assert "A &amp; B" in html
    assert "&lt;b&gt;<mark>harbour</mark>&lt;/b&gt;" in html
    assert html.count('class="hit-title"') == 1  # not its neighbour, and nothing of the stranger's


def test_the_sidebar_finds_the_word_that_is_being_typed(client: Client, user: User) -> None:
    make_conversation(owner=user, messages=["To the harbour", "of Lisbon"], title="A")
    make_conversation(owner=user, title="Über die Brücke: trip to the harbour")
    html = client.get("/sidebar/", {"q": "trip harb"}).content.decode()
    assert "Über die Brücke" in html
    assert "<mark>harbour</mark>" in html
    assert "Über die Brücke" in client.get("/sidebar/", {"q": "über"}).content.decode()
    assert numbers(user.conversations.get(title="A"), "harb") == []


@pytest.mark.parametrize("number", [20, 21])
def test_the_sidebar_says_that_there_are_more_than_it_shows(
    client: Client, user: User, number: int
) -> None:
    make_conversation(owner=user, messages=["The harbour"] * number)
    html = client.get("/sidebar/", {"q": "harbour"}).content.decode()
    assert html.count('class="hit-title"') == 20
    assert ("There are more." in html) == (number > 20)


def test_the_palette_finds_by_title_in_messages_and_here(client: Client, user: User) -> None:
    here = make_conversation(user, messages=["The harbour?", "Deep harbour."], title="Trip")
    make_conversation(user, messages=["A harbour too."], title="Harbour dues")
    strange = make_conversation(messages=["My harbour."], title="Harbour of somebody else")

    def found(query: str, current: object = here.pk) -> list[str]:
        html = client.get("/palette/", {"q": query, "current": current}).content.decode()
        assert "somebody else" not in html
        return re.findall(r'href="/c/[^#"]+/(#message-\d+)?"', html)

    assert found("") == ["", ""]
    assert sorted(found("harbour")) == ["", "#message-1", "#message-1", "#message-2"]
    assert found("in:title harbour") == [""]
    assert found("harbour in:here") == ["#message-1", "#message-2"]
    assert found("harbour in:here", current="") == []
    assert found("harbour in:here", current=strange.pk) == []
    assert found("in:here") == []


def test_the_sidebar_says_what_to_do_where_nothing_is_found(client: Client) -> None:
    html = client.get("/sidebar/", {"q": "harbour"}).content.decode()
    assert "Try other or fewer words." in html
    assert "hit-title" not in html


@pytest.mark.parametrize("text", NAUGHTY)
def test_the_sidebar_takes_every_text(client: Client, user: User, text: str) -> None:
    make_conversation(owner=user, messages=[text, "ok"])
    sent = text.encode("utf-8", "replace").decode()
    assert client.get("/sidebar/", {"q": sent}).status_code == 200


def test_every_text_is_sound_in_the_sidebar(client: Client, user: User) -> None:
    add_messages(make_conversation(owner=user), [sanitise_text("before\0after")])
    assert client.get("/sidebar/", {"q": "before\0after"}).status_code == 200


@pytest.mark.parametrize("part", ["KV-2031-207", "KV-2031", "2031-207", "207", "kv 2031 207"])
def test_a_number_of_several_groups_is_found_by_its_parts(part: str, user: User) -> None:
    talk = make_conversation(owner=user, messages=["The contract is KV-2031-207.", "Noted."] * 1)
    add_messages(talk, ["And the weather?", "Dry."])
    assert numbers(talk, part)[0] == 1
