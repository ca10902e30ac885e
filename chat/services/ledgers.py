"""The books of those who post: of an answer, and of a job in a worker (`agent.model.ledger`)."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from agent.context.request import Request
from agent.messages import RealTokens
from agent.model.reply import Reply
from chat.db.threads import finish_despite_cancel, in_db, in_db_with_retries
from chat.services import calls
from chat.services.calls import BookedCall
from chat.services.people.budgets import WAIT_SECONDS, make_failure
from spending.budgets import BudgetExhausted, BudgetUsed
from spending.calls import CallDetails, CallEnd
from spending.models import ModelCall

T = TypeVar("T")

LOOK_SECONDS = 0.5  # between two tries to hold what other calls may give back


class AnswerLedger:
    """The calls of an answer, one after the other. The row of a request's first post was opened
    with the request (`chat.services.turns.requests.open_request`), and the last one is ended
    where the answer is stored."""

    def __init__(self) -> None:
        self.count = 0  # calls that were posted
        self._call: BookedCall | None = None  # the last one
        self._is_open = self._is_posted = False
        self.error: BaseException | None = None  # what ended the last one early

    @property
    def open_id(self) -> int | None:
        """The id of the row that is open."""
        return self._call.opened.pk if self._call and self._is_open else None

    @property
    def is_shortened(self) -> bool:
        """Whether the last call may write less than it asked for: little is left of a budget."""
        return bool(self._call and self._call.max_tokens < self._call.bound.max_tokens)

    def take(self, call: BookedCall) -> None:
        """Use the row that was opened with a request."""
        self._call, self._is_open, self._is_posted, self.error = call, True, False, None

    async def open(self, request: Request, reply: Reply) -> int:
        assert self._call is not None
        if not self._is_open:
            await open_in_time(partial(self._book_again, self._call))
        self._is_posted = True
        self.count += 1
        return self._call.max_tokens

    async def _book_again(self, call: BookedCall) -> None:
        self.take(await in_db_with_retries(calls.book_again, call))

    async def end(self, reply: Reply, error: BaseException | None) -> None:
        self.error = error
        if end := await asyncio.to_thread(self.describe_end, reply):
            await in_db_with_retries(calls.end_booked, end)
            self._is_open = False

    def describe_end(self, reply: Reply) -> CallEnd | None:
        """How the call that is open ends; None where none is. For a thread, unless the server has
        reported it."""
        if self._call is None or not self._is_open:
            return None
        if not self._is_posted:
            return calls.describe_unposted(self._call)
        return calls.describe_end(self._call, reply, self.error)

    def note_stored(self) -> None:
        """The end of the call is stored."""
        self._is_open = False

    def expect(self, tokens: RealTokens) -> None:
        """The request goes out again, with so many tokens."""
        assert self._call is not None
        self._call = calls.resize(self._call, tokens)


async def open_in_time(open_call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Open a call, and wait for what other calls hold of a budget. Raises AgentError where it does
    not come back soon, or is used up."""
    until = asyncio.get_running_loop().time() + WAIT_SECONDS
    while True:
        try:
            return await finish_despite_cancel(open_call())
        except BudgetExhausted as error:
            late = asyncio.get_running_loop().time() >= until
            if late or isinstance(error, BudgetUsed):
                raise await in_db_with_retries(make_failure, error) from error
        await asyncio.sleep(LOOK_SECONDS)


@dataclass(eq=False)
class _Post:
    booked: BookedCall
    reply: Reply
    is_posted: bool = False


class JobLedger:
    """The calls of a compaction or a title, some of them at the same time. `details`: who pays; the
    model is that of each request."""

    def __init__(self, details: CallDetails) -> None:
        self._details = details
        self._posts: dict[int, _Post] = {}  # those that are open, by their replies

    def of_kind(self, kind: ModelCall.Kind) -> "JobLedger":
        """The same books, for calls of another kind."""
        other = JobLedger(replace(self._details, kind=kind))
        other._posts = self._posts
        return other

    async def open(self, request: Request, reply: Reply) -> int:
        async def book() -> _Post:
            post = _Post(await in_db(self._book, request), reply)
            self._posts[id(reply)] = post
            return post

        post = await open_in_time(book)
        post.is_posted = True
        return post.booked.max_tokens

    def _book(self, request: Request) -> BookedCall:
        kind = ModelCall.Kind.CORRECTION if request.corrects else self._details.kind
        return calls.book_request(replace(self._details, kind=kind, model=request.model), request)

    async def end(self, reply: Reply, error: BaseException | None) -> None:
        if post := self._posts.get(id(reply)):
            await finish_despite_cancel(in_db_with_retries(self._end, post, error))

    def _end(self, post: _Post, error: BaseException | None) -> None:
        if post.is_posted:
            calls.end_booked(calls.describe_end(post.booked, post.reply, error))
        else:
            calls.end_booked(calls.describe_unposted(post.booked))
        del self._posts[id(post.reply)]

    def keep_progress(self) -> None:
        """Keep what the calls that are out have used so far: if this process dies, a sweep ends
        them with that. Counts tokens: for a thread."""
        for post in list(self._posts.values()):
            calls.keep_progress(post.booked, post.reply)
