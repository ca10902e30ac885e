"""What a person types is found where it stands, and nowhere else: on both databases."""

import pytest
from django.test import Client

from accounts.models import User
from agent.search.lexical import list_asked
from chat.models import Conversation, Message
from chat.queries.typed_search import find_typed
from chat.services.library import conversations
from tests.chat.factories import change_messages, make_conversation

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]


def found(user: User, text: str, **where: object) -> list[tuple[int, bool]]:
    """Numbers, and whether all of the words are there."""
    hits = find_typed(user.pk, text, limit=20, **where)  # type: ignore[arg-type]
    return [(hit.number, hit.whole) for hit in hits]


@pytest.fixture
def talk(user: User) -> Conversation:
    return make_conversation(
        owner=user,
        messages=[
            "Which pump was it?",
            "The pump PX-4711 of the north hall.",
            "Thanks.",
            "Order 4711 is for the valve, and PX is a supplier.",
            "The north wind is cold; the hall was full.",
        ],
    )


@pytest.mark.parametrize("here", [True, False])
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("PX-4711", [(2, True)]),
        ("px-471", [(2, True)]),  # it is being typed
        ("4711", [(2, True), (4, True)]),
        ("4711 px", [(2, True), (4, True)]),
        ("north hall", [(2, True), (5, True)]),
        ('"north hall"', [(2, True)]),
        ("pumps", [(1, True), (2, True)]),
        ("the valve", [(4, True)]),
        ("pump PX-4711", [(2, True), (1, False)]),
        ("valve thanks", [(3, False), (4, False)]),
        ("PX-4712", []),
        ("the", [(2, True), (4, True), (5, True)]),
        ("-4711", [(2, True), (4, True)]),
        (";", [(5, True)]),
        ("", []),
    ],
)
def test_only_messages_that_hold_it_are_found_those_with_all_words_first(
    user: User, talk: Conversation, text: str, numbers: list[tuple[int, bool]], here: bool
) -> None:
    where = {"conversation_id": talk.pk} if here else {}
    hits = found(user, text, **where)
    assert sorted(hits, key=lambda hit: (not hit[1], hit[0])) == numbers
    assert [whole for _, whole in hits] == sorted((whole for _, whole in hits), reverse=True)


def test_words_without_spaces_have_to_stand_together(user: User) -> None:
    make_conversation(owner=user, messages=["会议在北京开", "京北的会", "北京"])
    assert sorted(found(user, "北京")) == [(1, True), (3, True)]


def test_the_last_word_is_begun_and_none_before_a_quote() -> None:
    assert list_asked("PX-471") == ((("px", "471"), ("px", "471*")),)
    assert list_asked('pump "north hall"') == ((("north", "hall"),), (("pump",),))
    assert list_asked("the pump in") == ((("pump",),),)


def test_nothing_of_others_of_temporary_or_of_deleted_conversations_is_found(user: User) -> None:
    make_conversation(messages=["The pump"])
    passing, gone = (make_conversation(owner=user, messages=["The pump"]) for _ in range(2))
    Conversation.objects.filter(pk=passing.pk).update(temporary=True)
    conversations.delete_conversation(gone)
    assert found(user, "pump") == []
    assert found(user, "pump", conversation_id=passing.pk) == [(1, True)]


def test_a_project_is_searched_alone(user: User, talk: Conversation) -> None:
    assert found(user, "pump", project_ids=[]) == []


def test_what_stands_on_another_branch_is_marked_and_comes_last(user: User) -> None:
    conversation = make_conversation(owner=user, messages=["The pump", "A pump, yes", "Old pump"])
    change_messages(Message.objects.filter(conversation=conversation, number=3), active=False)
    hits = find_typed(user.pk, "pump", limit=20)
    assert [hit.active for hit in hits] == [True, True, False]
    client = Client()
    client.force_login(user)
    for page in ("/sidebar/", "/palette/"):
        html = client.get(page, {"q": "pump"}).content.decode()
        assert html.count("on another branch") == 1
    assert find_typed(user.pk, "->", limit=20) == []


@pytest.mark.parametrize("page", ["/sidebar/", "/palette/"])
def test_the_page_says_which_messages_have_only_some_of_the_words(
    user: User, talk: Conversation, page: str
) -> None:
    client = Client()
    client.force_login(user)

    def shown(query: str) -> str:
        return client.get(page, {"q": query}).content.decode()

    assert "With some of these words:" in shown("pump PX-4711")
    assert "No message has all of these words. These have some:" in shown("valve thanks")
    assert "of these words" not in shown("PX-4711")
