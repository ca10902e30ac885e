"""A call of a server's tool waits here until the user allows it, in any tab."""

import asyncio

from django.conf import settings

from agent.errors import ToolError
from agent.messages import Block
from chat.db.threads import in_db
from chat.html.questions import render_call_question
from chat.live.live_turn import LiveTurn, Question
from chat.protocol.broadcast import conversation_group, send
from chat.protocol.events import QuestionAsked, QuestionClosed
from chat.services.site import mcp_servers

DECLINED = (
    "The user declined this call; it was not made. Do not call the tool again unless they ask for "
    "it: go on without it, or ask them how to go on."
)
NOT_ANSWERED = (
    "The user did not answer in time whether this call may be made; it was not made. Go on without "
    "it, and say what is missing."
)


async def ask_consent(live: LiveTurn, server: str, call: Block) -> None:
    """Wait until the user allows a call, in every tab that shows the conversation. Nothing but the
    turn is held up. Raises ToolError where they decline, or do not answer."""
    call_id = call["id"]
    html = render_call_question(live.turn_id, server, call)
    question = Question(server, html, asyncio.get_running_loop().create_future())
    live.questions[call_id] = question
    group, name = conversation_group(live.conversation_id), f"call-{call_id}"
    try:
        await send(group, QuestionAsked(name, html))
        async with asyncio.timeout(settings.MCP_ASK_SECONDS):
            decision = await question.decision
    except TimeoutError as error:
        raise ToolError(NOT_ANSWERED) from error
    finally:
        live.questions.pop(call_id, None)
        await send(group, QuestionClosed(name))
    if decision == "deny":
        raise ToolError(DECLINED)
    if decision == "always":
        await in_db(mcp_servers.always_allow, live.conversation_id, server)


def answer_question(live: LiveTurn, call_id: str, decision: str) -> bool:
    """Answer a question of a turn that this process runs; “always” answers those of the same server
    too. False: it is not open."""
    asked = live.questions.get(call_id)
    if asked is None:
        return False
    for question in live.questions.values():
        same = decision == "always" and question.server == asked.server
        if (question is asked or same) and not question.decision.done():
            question.decision.set_result(decision)
    return True
