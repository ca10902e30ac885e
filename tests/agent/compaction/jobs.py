"""Compactions to test with: one conversation, and a model's chapter of it in the demanded form."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.compaction.plan import Plan
from agent.compaction.policy import Policy
from agent.compaction.skills import FULL, INSTRUCTIONS, Skill
from agent.compaction.writing.job import Job
from agent.context.assemble import Context
from agent.messages import AgentMessage
from agent.model.client import Client
from agent.tokens import Factor, Limits, Model, Prices
from demo.api.recording import RecordedRequest
from tests.agent.conversations import COUNTER, assistant, user

LIMITS = Limits(window=200_000, max_output=64_000, budget=200_000, factor=Factor(1.0, 0))
HISTORY = [
    user(1, "Always answer in German. Deploy release 4.2.1 to eu-west-1, please."),
    assistant(2, "Release 4.2.1 was deployed to eu-west-1. " + "All checks passed. " * 100),
    user(3, "Now write the notes to docs/notes.md."),
    assistant(4, "The notes were written to docs/notes.md. " + "They are complete. " * 100),
    user(5, "What is next?"),
    assistant(6, "Nothing is left."),
]


def chapter(
    *bullets: str,
    missing: Sequence[str] = (),
    standing: str = "None.",
    skill: Skill = FULL,
    sections: Mapping[str, str] | None = None,
) -> str:
    """A summary in the demanded form. `bullets`: its facts; `standing`: what it says of the user's
    instructions; `sections`: what it says under other headings."""
    texts = {heading: "None." for heading in skill.headings if heading not in missing}
    texts["Facts and values"] = "\n".join(bullets) or "None."
    texts[INSTRUCTIONS] = standing
    if "Overview" in texts:
        texts["Overview"] = "They went on."
    texts |= sections or {}
    return "\n".join(f"## {heading}\n{text}" for heading, text in texts.items())


GOOD = chapter("- Release 4.2.1 was deployed to eu-west-1 [#2]")


def job(
    client: Client, messages: Sequence[AgentMessage] = HISTORY, cut: int = 4, **values: Any
) -> Job:
    limits = values.pop("limits", LIMITS)
    context = Context(
        model="claude-test", limits=limits, messages=list(messages), **values.pop("context", {})
    )
    writer = Model("claude-test", limits, Prices.of(input=2.0, cache_read=0.1))
    defaults: dict[str, Any] = {
        "chapters": [],
        "used": 5_000,
        "policy": Policy(),
        "counter": COUNTER,
        "own": writer,
        "writer": writer,
        "ask": client.complete,
        "ask_own": client.complete,
    }
    return Job(context=context, plan=Plan(messages[:cut], messages[cut:]), **(defaults | values))


def text_of(request: RecordedRequest) -> str:
    text: str = request.body["messages"][-1]["content"][-1]["text"]
    return text
