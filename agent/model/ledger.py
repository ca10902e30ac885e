"""The books of those who ask a server of models. A client is shared by many, so who pays is said
with each request."""

from typing import Protocol

from agent.context.request import Request
from agent.model.reply import Reply


class Ledger(Protocol):
    """Books each time that a request is posted, which is a call of its own: it is opened before it
    goes out, and ended once, whatever became of it. A call is known by the reply that it is
    folded into."""

    async def open(self, request: Request, reply: Reply) -> int:
        """A request is about to be posted. The most tokens that its reply may have: what it asks
        for, or less. Raises AgentError where it must not go out."""

    async def end(self, reply: Reply, error: BaseException | None) -> None:
        """The call of a reply is over. `error`: what ended it early."""


class Unbooked:
    """For requests that nobody pays for: those of tests and measurements."""

    async def open(self, request: Request, reply: Reply) -> int:
        return request.max_tokens

    async def end(self, reply: Reply, error: BaseException | None) -> None:
        """Nothing was opened."""


UNBOOKED = Unbooked()
