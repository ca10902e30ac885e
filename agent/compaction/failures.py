"""Why a summary was not written, or not in the first way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from agent.compaction.policy import REASON_WORDS, Reason
from agent.errors import AgentError

REJECTED = "rejected"  # the code of a `Failure` whose text could not be used


class SummaryRejected(Exception):
    """What the model wrote cannot be used, or it cannot be asked: the text says why, as a clause.
    `failures`: of all ways that were tried, where none is left; `missing`: the headings that a text
    lacks."""

    def __init__(
        self, why: str, failures: "Sequence[Failure]" = (), *, missing: Sequence[str] = ()
    ) -> None:
        super().__init__(why)
        self.failures = failures
        self.missing = missing


class Declined(SummaryRejected):
    """The model refused or wrote nothing: the same request would bring the same again."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What was tried before: the `step`, a method's name, and why it failed. `cause`: a
    sentence for logs; `code`: an ErrorCode, the Reason why it was not tried, or `REJECTED`; `said`:
    what the server said about it, or what is wrong with a rejected text, as a clause."""

    step: str
    cause: str
    code: str = ""
    said: str = ""

    @classmethod
    def of(cls, step: str, error: AgentError | SummaryRejected) -> Self:
        if isinstance(error, AgentError):
            return cls(step, str(error), error.code, error.said)
        return cls(step, f"The summary was rejected: {error}.", REJECTED, str(error))

    @classmethod
    def skipped(cls, step: str, why: Reason) -> Self:
        return cls(step, REASON_WORDS[why], why)


def list_failures(error: AgentError | SummaryRejected) -> Sequence[Failure]:
    """All that led to an error which ended a compaction, at least itself."""
    return getattr(error, "failures", ()) or [Failure.of("", error)]
