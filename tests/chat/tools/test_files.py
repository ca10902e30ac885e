"""Pictures and PDFs that a compaction took out of sight: `read_messages` shows them again, or says
why it cannot."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from agent.attachments import fill_in_files, limit_files
from agent.context.request import Request
from agent.loop import Content
from agent.messages import Block
from chat.db.threads import in_db
from chat.engine.model_server import build_request, get_counter
from chat.engine.recent_messages import to_agent_message
from chat.engine.state import load_state
from chat.models import Attachment, Conversation, Message, Turn
from chat.services.library import attachments
from chat.services.turns import branches
from chat.tools.files import MOST_FILES
from chat.tools.history import read_messages
from chat.tools.scope import Scope
from demo.api.protocol import tool_use
from demo.api.script import is_chat, is_summary
from tests.chat.factories import (
    add_messages,
    make_compaction,
    make_conversation,
    make_turn,
    make_user,
)
from tests.chat.sockets import SUMMARY, Chat, long_text
from tests.support.pictures import picture

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]

SEEING, UNKNOWN = "claude-test", "llama-test"


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"


def talk_with(*names: str, model: str = SEEING, answered_by: str = "") -> Conversation:
    """A conversation whose third message has files, and which was compacted up to the fifth."""
    talk = make_conversation(messages=["Good evening", "Hello."], model=model)
    files = [
        attachments.store_unsent(talk.owner, name, _data(name, n)) for n, name in enumerate(names)
    ]
    blocks: list[Block] = [
        *map(attachments.make_reference, files),
        {"type": "text", "text": "What is it?"},
    ]
    (asked,) = add_messages(talk, [("user", blocks)])
    for file in files:
        file.messages.add(asked)
    add_messages(talk, ["A ship."], model=answered_by or model)
    add_messages(talk, ["Thanks", "You're welcome.", "And now?", "Now nothing."])
    make_compaction(talk, "## Overview\n- A picture of a ship [#3]", through=5)
    talk.refresh_from_db()
    return talk


def _data(name: str, n: int) -> bytes:
    if name.endswith(".txt"):
        return b"The ship is blue."
    return picture((40 + n, 40), color=(n, 90, 90))


def read(talk: Conversation, first: int = 3, last: int = 3, room: int = 20_000) -> Content:
    scope = Scope(talk.pk, talk.owner_id, room)
    content: Content = async_to_sync(read_messages)(scope, {"from": first, "to": last})
    return content


def kinds(content: Content) -> list[str]:
    assert not isinstance(content, str)
    return [block["type"] for block in content]


def test_a_picture_comes_back_behind_the_text_of_its_message() -> None:
    talk = talk_with("ship.png")
    content = read(talk, 3, 4)
    assert kinds(content) == ["text", "image", "text"]
    said, shown, after = content
    assert isinstance(shown, dict)
    assert "What is it?" in said["text"]  # type: ignore[index]
    assert after["text"].startswith("[#4] assistant")  # type: ignore[index]
    assert shown["source"]["type"] == "attachment"
    assert "base64" not in json.dumps(content)


def test_what_holds_no_picture_is_read_as_one_text() -> None:
    talk = talk_with("note.txt")
    assert "The ship is blue." in str(read(talk))
    assert isinstance(read(talk), str)


def test_a_model_that_nobody_saw_read_a_picture_is_told_to_have_it_attached_again() -> None:
    talk = talk_with("ship.png", model=UNKNOWN, answered_by="another")
    told = read(talk)
    assert isinstance(told, str)
    assert "[ship.png cannot be shown" in told
    assert "the user must attach it again" in told


def test_a_model_that_has_answered_a_picture_before_reads_it_again() -> None:
    talk = talk_with("ship.png", model=UNKNOWN)
    assert kinds(read(talk)) == ["text", "image"]


def test_the_turns_own_model_counts_and_not_that_of_the_conversation() -> None:
    talk = talk_with("ship.png", answered_by=UNKNOWN)
    make_turn(talk, model="another")
    assert "cannot be shown" in str(read(talk))


def test_a_file_that_is_gone_must_be_attached_again() -> None:
    talk = talk_with("ship.png")
    file = Attachment.objects.get()
    file.file.storage.delete(file.file.name)
    assert "[ship.png is not kept any more. To look at it again" in str(read(talk))


def test_a_file_of_another_person_is_not_shown() -> None:
    talk = talk_with("ship.png")
    Attachment.objects.update(owner=make_user())
    assert "is not kept any more" in str(read(talk))


def test_an_invented_reference_is_told_and_breaks_nothing() -> None:
    talk = talk_with()
    source = {"type": "attachment", "id": "x", "media_type": "image/png", "bytes": 1, "tokens": 1}
    blocks = [{"type": "image", "title": "odd.png", "source": source}]
    Message.objects.filter(conversation=talk, number=3).update(blocks=blocks)
    assert "[odd.png is not kept any more" in str(read(talk))


def test_what_the_user_left_out_is_not_shown() -> None:
    talk = talk_with("ship.png")
    Message.objects.filter(conversation=talk, number=3).update(left_out=True)
    assert isinstance(read(talk), str)


def test_files_share_the_room_of_a_result_and_the_rest_is_named() -> None:
    talk = talk_with("one.png", "two.png", "three.png")
    Attachment.objects.update(tokens=900)
    content = read(talk, room=1_020)
    assert kinds(content) == ["text", "image", "text"]
    assert "[two.png has no room in this result: read #3 alone.]" in str(content)
    assert "[one.png is too large for the result of a tool." in str(read(talk, room=60))


def test_a_result_holds_so_many_files_at_most() -> None:
    talk = talk_with(*(f"{n}.png" for n in range(MOST_FILES + 1)))
    assert kinds(read(talk)).count("image") == MOST_FILES


def with_result(talk: Conversation, content: Content, turn: Turn | None = None) -> Message:
    call = tool_use("read_messages", {"from": 3, "to": 3}, "toolu_1")
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": content}
    rows = add_messages(
        talk, [("user", "Look"), ("assistant", [call]), ("user", [result])], turn=turn
    )
    return rows[-1]


def test_what_stands_in_the_turn_already_is_not_sent_twice() -> None:
    talk = talk_with("ship.png")
    turn = make_turn(talk)
    with_result(talk, read(talk), turn)
    assert "[ship.png stands in this turn already.]" in str(read(talk))
    Turn.objects.update(status=Turn.Status.COMPLETED)
    assert kinds(read(talk)) == ["text", "image"]


def test_a_result_can_be_read_again_with_its_picture() -> None:
    talk = talk_with("ship.png")
    row = with_result(talk, read(talk))
    assert kinds(read(talk, row.number, row.number)) == ["text", "image"]


def test_the_picture_is_counted_and_takes_its_part_of_a_request() -> None:
    talk = talk_with("ship.png")
    content = read(talk)
    row = with_result(talk, content)
    (block,) = row.blocks
    texts = [part for part in content if part["type"] == "text"]  # type: ignore[index]
    without = get_counter().count_blocks([block | {"content": texts}])
    tokens = Attachment.objects.get().tokens
    assert get_counter().count_blocks([block]) - without >= tokens
    limited, _ = limit_files([to_agent_message(row)] * 2, limit=10)
    assert [part["type"] for part in limited.blocks[0]["content"]] == ["text", "text"]


def request_of(talk: Conversation) -> Request:
    return build_request(load_state(talk.pk).context)


def test_deleting_the_pictures_message_deletes_the_picture() -> None:
    talk = talk_with("ship.png")
    with_result(talk, read(talk))
    assert '"type": "image"' in json.dumps(request_of(talk).messages)
    branches.delete_message(talk.owner, talk.pk, talk.messages.get(number=3).pk)
    assert not Attachment.objects.exists()
    messages = fill_in_files(request_of(talk).body(), {})["messages"]
    told = {"type": "text", "text": "[The file ship.png is gone.]"}
    assert messages[-1]["content"][0]["content"][-1] == told


@pytest.mark.usefixtures("worker")
async def test_after_a_compaction_the_model_looks_at_a_picture_again(chat: Chat) -> None:
    await chat.start(["Lorem ipsum?", "Lorem ipsum."])  # of which the summary tells
    data = picture((60, 40), color="navy")
    file = await in_db(attachments.store_unsent, chat.user, "ship.png", data)
    chat.script.reply("A ship.", when=is_chat).reply(SUMMARY, when=is_summary)
    tab = await chat.open()
    tab.say("What is in this picture?", attachments=[str(file.pk)])
    await tab.next("turn.finished", status="completed")
    await in_db(add_messages, chat.conversation, [long_text(n) for n in range(1, 5)])
    tab.send("compact")
    await tab.next("turn.finished", status="completed")

    chat.script.reply([tool_use("read_messages", {"from": 3, "to": 3}, "toolu_1")])
    chat.script.reply("It is dark blue.")
    tab.say("Which colour has the background of ship.png?")
    await tab.next("turn.finished", status="completed")
    before, after = chat.script.requests[-2:]
    assert "image" not in json.dumps(before.messages)
    (result,) = after.messages[-1]["content"]
    assert [part["type"] for part in result["content"]] == ["text", "image"]
    sent = await in_db(Path(file.file.path).read_bytes)
    assert result["content"][1]["source"]["data"] == b64encode(sent).decode()

    rows = await in_db(lambda: list(chat.conversation.messages.order_by("-number")[:3]))
    stored = json.dumps([row.blocks for row in rows])
    assert str(file.pk) in stored
    assert "base64" not in stored
    page = (await chat.http.get(chat.conversation.get_absolute_url())).content.decode()
    row = page[page.index('data-call="toolu_1"') :]
    assert f'<img src="/attachments/{file.pk}/" alt="ship.png" loading="lazy"' in row
