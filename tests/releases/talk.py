"""What real answers leave: the site in this process, with a scripted model."""

import asyncio

from django.test import AsyncClient

from accounts.models import User
from chat.db.threads import in_db
from chat.engine import model_server
from demo.api.protocol import ScriptedReply, text, thinking, tool_use
from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.chat.factories import make_conversation
from tests.chat.sockets import PLAIN, Chat, sign_in


def talk(ada: User, model: DemoServer) -> None:
    """A conversation with calls of tools, an edited question and an answer that was given again."""
    values = {"title": "Real answers", "title_edited": True, "compaction_settings": PLAIN}
    conversation = make_conversation(ada, messages=2, **values)
    asyncio.run(_talk(Chat(ada, conversation, model, sign_in(ada))))
    model.script.assert_done()


async def _talk(chat: Chat) -> None:
    calls = [
        thinking("They talked of it."),
        text("I look."),
        tool_use("search_history", {"query": "Garden"}, "toolu_search"),
        tool_use("read_messages", {"from": 99, "to": 99}, "toolu_read"),
    ]
    chat.script.reply(ScriptedReply((*calls,)), when=is_chat)
    for answer in ("Four beds.", "Five beds.", "Six beds."):
        chat.script.reply(answer, when=is_chat)
    tab = await chat.open(cookie=f"{chat.cookie}; zone=Europe/Berlin; everlong_zone=Europe/Berlin")
    tab.say("What did we say of the garden?", client_id="said-0")
    await tab.next("turn.finished", status="completed")
    question = await in_db(chat.conversation.messages.get, number=3)
    page = f"/c/{chat.conversation.pk}/messages/"
    await _post(chat.http, f"{page}{question.pk}/edit/", text="What of the beds?")
    await tab.next("turn.finished", status="completed")
    answer = await chat.last()
    await _post(chat.http, f"{page}{answer.pk}/regenerate/")
    await tab.next("turn.finished", status="completed")
    await tab.close()
    await model_server.close_clients()


async def _post(client: AsyncClient, path: str, **form: str) -> None:
    response = await client.post(path, form)
    assert response.status_code in (200, 204), response.content
