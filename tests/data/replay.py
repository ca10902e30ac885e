"""A loopback server that answers with recordings, and what becomes of each in our client."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from agent.context.assemble import Context, assemble
from agent.context.request import Request
from agent.errors import AgentError
from agent.messages import AgentMessage, Block
from agent.model.client import Client, require_end
from agent.model.reply import Outcome, Reply, read_outcome
from agent.model.rules import find_violations
from agent.tokens import Factor, Limits

# Small and odd, so that lines and characters arrive in pieces.
CHUNK = 997
NOT_TO_COPY = {"content-encoding", "content-length", "transfer-encoding", "connection"}


@dataclass(frozen=True)
class Canned:
    """What the server answers: exactly these bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@asynccontextmanager
async def replay_server(answers: Mapping[str, Canned | list[Canned]]) -> AsyncIterator[str]:
    """Serve `answers` by the name of the requested model, a list one after the other; gives the
    base URL."""

    async def answer(request: web.Request) -> web.StreamResponse:
        canned = answers[(await request.json())["model"]]
        if isinstance(canned, list):
            canned = canned.pop(0)
        headers = {k: v for k, v in canned.headers.items() if k not in NOT_TO_COPY}
        response = web.StreamResponse(status=canned.status, headers=headers)
        await response.prepare(request)
        with suppress(ConnectionResetError):  # the client may have read enough
            for at in range(0, len(canned.body), CHUNK):
                await response.write(canned.body[at : at + CHUNK])
            await response.write_eof()
        return response

    application = web.Application(client_max_size=64 * 1024 * 1024)
    application.router.add_post("/v1/messages", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@dataclass
class Played:
    """How one exchange ended: with an outcome, or with an error that the page can show."""

    reply: Reply
    outcome: Outcome | None = None
    error: AgentError | None = None
    visible: str = ""

    @property
    def end(self) -> str:
        """One word for the table."""
        if self.outcome:
            return self.outcome.value
        assert self.error
        return f"error: {self.error.code}"

    @property
    def blocks(self) -> list[Block]:
        """What is stored."""
        return list(self.reply.blocks) if self.outcome else self.reply.partial_blocks()


async def play(client: Client, name: str) -> Played:
    """Stream one answer as a turn does; anything but an AgentError is a bug and is raised."""
    request = Request(
        model=name,
        max_tokens=100,
        system=[],
        messages=[{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
    )
    played = Played(Reply())
    try:
        async for events in client.stream(request):
            played.visible += "".join([played.reply.apply(event) for event in events])
        require_end(played.reply)
        played.outcome = read_outcome(played.reply)
    except AgentError as error:
        played.error = error
    return played


LIMITS = Limits(window=1_000_000, max_output=8_192, budget=1_000_000, factor=Factor(1.0, 0))


def sendable(
    history: Sequence[dict[str, Any]], blocks: Sequence[Block], tools: Sequence[dict[str, Any]]
) -> list[str]:
    """The rules that the next requests after an answer break: with its tools' results, with the
    next prompt of the user, and both again where the tools are not declared any more."""
    answer = {"role": "assistant", "content": list(blocks)}
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "Done."}
        for block in blocks
        if block["type"] == "tool_use"
    ]
    prompt = {"role": "user", "content": [{"type": "text", "text": "Go on."}]}
    asked = history or [prompt]
    said = [*asked, answer]
    follow_ups = {
        "next prompt": [*said, prompt],
        "tool results": [*said, {"role": "user", "content": results}] if results else said,
        "results, then prompt": [*said, {"role": "user", "content": results}, prompt],
        "interrupted tool": [*said, prompt, answer, prompt],
    }
    declared = declared_tools([*asked, answer], tools)
    broken = []
    for name, messages in follow_ups.items():
        for given in (declared, []):
            body = assemble(replace(_context(messages), tools=given)).body()
            broken += [
                f"{name}, {len(given)} tools: {rule}"
                for rule in find_violations(body, window=1_000_000)
            ]
    return broken


def declared_tools(
    messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The recorded tools, and a plain one for each further name that is called."""
    declared = {tool["name"]: tool for tool in tools if "name" in tool}
    for message in messages:
        for block in message["content"]:
            if block["type"] == "tool_use" and block["name"] not in declared:
                schema = {"type": "object"}
                declared[block["name"]] = {"name": block["name"], "input_schema": schema}
    return list(declared.values())


def _context(messages: Sequence[dict[str, Any]]) -> Context:
    # Instructions in the middle of the messages ("system") are no rows of ours.
    rows = [m for m in messages if m["role"] in ("user", "assistant")]
    return Context(
        model="claude-test",
        system_prompt="",
        summary="",
        summary_through=0,
        first=None,
        messages=[
            AgentMessage(number, message["role"], message["content"], 10)
            for number, message in enumerate(rows, 1)
        ],
        limits=LIMITS,
    )


@dataclass
class Table:
    """How often what ended how, for the terminal."""

    rows: dict[str, Counter[str]] = field(default_factory=dict)

    def count(self, labels: Sequence[str], end: str) -> None:
        for label in ("all", *labels):
            self.rows.setdefault(label, Counter())[end] += 1

    def lines(self) -> list[str]:
        ends = sorted(self.rows.get("all", {}), key=lambda end: (end.startswith("error"), end))
        heads = [end.removeprefix("error: ") for end in ends]
        widths = [max(5, len(head)) for head in heads]
        lines = [f"{'':34}" + " ".join(map(str.rjust, heads, widths))]
        for label in sorted(self.rows, key=lambda label: (label != "all", label)):
            cells = [str(self.rows[label][end] or "·") for end in ends]
            lines.append(f"{label[:33]:34}" + " ".join(map(str.rjust, cells, widths)))
        return lines
