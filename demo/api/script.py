"""What a scripted server answers, and the record of what it was asked.

A script is a list of entries. A request gets the first unused entry whose condition it meets;
only then an entry marked `always`. A request that no entry takes is unexpected: it is answered
with a 500 and `assert_done` reports it. All methods may be called from any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

from demo.api.answer import Answer, AnswerFault, Content, Gate, HttpError, as_reply, break_off
from demo.api.protocol import ScriptedReply, text
from demo.api.recording import BilledCall, Disconnect, Endpoint, RecordedRequest

Condition = Callable[[RecordedRequest], bool]
Scripted = Content | Callable[[RecordedRequest], Content]


def is_chat(request: RecordedRequest) -> bool:
    """Neither a summary nor a title is asked for."""
    return request.kind == "chat"


def is_summary(request: RecordedRequest) -> bool:
    """A summary of the conversation is asked for."""
    return request.kind == "summary"


def is_title(request: RecordedRequest) -> bool:
    """A title for the conversation is asked for."""
    return request.kind == "title"


@dataclass
class _Entry:
    make: Callable[[RecordedRequest], Answer]
    label: str
    when: Condition | None
    always: bool
    endpoint: Endpoint
    used: int = 0

    def takes(self, request: RecordedRequest) -> bool:
        return request.endpoint == self.endpoint and (self.when is None or self.when(request))


@dataclass
class Script:
    """Entries to answer with, and what happened. remember: requests kept, None = all."""

    remember: int | None = None
    requests: list[RecordedRequest] = field(default_factory=list)
    count_requests: list[RecordedRequest] = field(default_factory=list)
    unexpected: list[RecordedRequest] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    disconnects: list[Disconnect] = field(default_factory=list)
    bill: list[BilledCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._entries: list[_Entry] = []
        self._changed = threading.Condition()
        self._arrived = 0

    # --- entries -----------------------------------------------------------------------------

    def reply(
        self,
        content: Scripted,
        *,
        when: Condition | None = None,
        always: bool = False,
        delay_s: float = 0.0,
        interval_s: float = 0.0,
        stamp: bool = False,
    ) -> Self:
        """Answer with a text, block(s), a Reply, or what a function makes of the request."""

        def make(request: RecordedRequest) -> Answer:
            made = content(request) if callable(content) else content
            reply = as_reply(made)
            return Answer(reply, delay_s=delay_s, interval_s=interval_s, stamp=stamp)

        return self._add(make, f"reply {content!r:.60}", when, always)

    def error(
        self,
        status: int,
        *,
        message: str | None = None,
        error_type: str | None = None,
        retry_after: float | None = None,
        endpoint: Endpoint = "messages",
        when: Condition | None = None,
        always: bool = False,
    ) -> Self:
        """Answer with an HTTP error; the endpoint may also be count_tokens or models."""
        answer = Answer(error=HttpError(status, message, error_type, retry_after))
        return self._add(lambda _: answer, f"error {status}", when, always, endpoint)

    def error_event(
        self,
        error_type: str = "overloaded_error",
        *,
        after_text: Content = "",
        deltas: int | None = None,
        message: str | None = None,
        when: Condition | None = None,
        always: bool = False,
    ) -> Self:
        """Begin with 200, stream the content's deltas (or so many), then an `error` event."""
        answer = break_off("error_event", after_text, deltas, error_type, message)
        return self._add(lambda _: answer, f"error_event {error_type}", when, always)

    def cut(
        self,
        after: Content = "",
        *,
        deltas: int | None = None,
        when: Condition | None = None,
        always: bool = False,
    ) -> Self:
        """Stream the content's deltas (or so many), then end the body without message_stop."""
        answer = break_off("cut", after, deltas)
        return self._add(lambda _: answer, "cut", when, always)

    def drop(
        self,
        after: Content | None = None,
        *,
        deltas: int | None = None,
        when: Condition | None = None,
        always: bool = False,
    ) -> Self:
        """Stream the content's deltas (or so many), then reset the connection; None = before
        the headers."""
        answer = break_off("drop", after, deltas)
        return self._add(lambda _: answer, "drop", when, always)

    def stall(
        self,
        after: str | None = None,
        *,
        then: str = "",
        endpoint: Endpoint = "messages",
        when: Condition | None = None,
        always: bool = False,
    ) -> Gate:
        """Stop after the text (None = before the first byte) until the handle is released, then
        send `then` and finish properly. A stalled count_tokens then counts."""
        gate = Gate()
        pieces = tuple(piece for piece in (after, then) if piece)
        whole = "".join(pieces)
        reply = ScriptedReply((text(whole),) if whole else (), pieces=pieces)
        after_deltas = None if after is None else int(bool(after))
        answer = Answer(reply, fault=AnswerFault("stall", after_deltas, gate=gate))
        self._add(lambda _: answer, "stall", when, always, endpoint)
        return gate

    def pause(
        self,
        content: Content,
        deltas: int,
        *,
        interval_s: float = 0.0,
        when: Condition | None = None,
        always: bool = False,
    ) -> Gate:
        """Stop after so many deltas of the content until the handle is released, then send the
        rest and finish properly."""
        gate = Gate()
        fault = AnswerFault("stall", deltas, gate=gate)
        answer = Answer(as_reply(content), interval_s=interval_s, fault=fault)
        self._add(lambda _: answer, "pause", when, always)
        return gate

    def delay(
        self,
        seconds: float,
        content: Scripted = "Late.",
        *,
        when: Condition | None = None,
        always: bool = False,
    ) -> Self:
        """Reply after a pause before the first byte."""
        return self.reply(content, when=when, always=always, delay_s=seconds)

    def drip(
        self,
        texts: Sequence[str],
        interval_s: float,
        *,
        stamp: bool = False,
        when: Condition | None = None,
        always: bool = False,
    ) -> Self:
        """Send one text delta per interval, on a schedule counted from the first one."""
        reply = ScriptedReply((text("".join(texts)),), pieces=tuple(texts))
        return self.reply(reply, when=when, always=always, interval_s=interval_s, stamp=stamp)

    def _add(
        self,
        make: Callable[[RecordedRequest], Answer],
        label: str,
        when: Condition | None,
        always: bool,
        endpoint: Endpoint = "messages",
    ) -> Self:
        with self._changed:
            self._entries.append(_Entry(make, label, when, always, endpoint))
        return self

    def clear(self) -> None:
        """Forget all entries and everything recorded."""
        with self._changed:
            self._entries.clear()
            self._arrived = 0
            self._forget(0)

    # --- what the server reports ---------------------------------------------------------------

    def record(self, request: RecordedRequest) -> None:
        """Remember a request that arrived, and the rules it breaks."""
        with self._changed:
            if request.endpoint == "messages":
                self._arrived += 1
                self.requests.append(request)
            elif request.endpoint == "count_tokens":
                self.count_requests.append(request)
            where = f"{request.path} #{self._arrived}"
            self.violations.extend(f"{where}: {violation}" for violation in request.violations)
            self._forget()
            self._changed.notify_all()

    def take(self, request: RecordedRequest) -> Answer | None:
        """The answer for a request; None if no entry takes it (recorded as unexpected, unless it
        is a count or a listing, which the server can answer by itself)."""
        with self._changed:
            entry = self._match(request)
            if entry is not None:
                entry.used += 1
            elif request.endpoint == "messages":
                self.unexpected.append(request)
                self._forget()
        return entry.make(request) if entry is not None else None

    def _match(self, request: RecordedRequest) -> _Entry | None:
        once = (e for e in self._entries if not e.always and not e.used and e.takes(request))
        repeatable = (e for e in self._entries if e.always and e.takes(request))
        return next(once, None) or next(repeatable, None)

    def record_call(self, call: BilledCall) -> None:
        """Remember a call that is being answered."""
        with self._changed:
            self.bill.append(call)
            self._forget()

    def record_disconnect(self, disconnect: Disconnect) -> None:
        """Remember a client that went away early."""
        with self._changed:
            self.disconnects.append(disconnect)
            self._forget()
            self._changed.notify_all()

    # --- what a test asks ----------------------------------------------------------------------

    def wait_for_requests(self, number: int, timeout_s: float = 10.0) -> None:
        """Block until that many /v1/messages requests have arrived; TimeoutError."""
        self._wait(lambda: self._arrived >= number, f"{number} requests", timeout_s)

    def wait_for_disconnects(self, number: int, timeout_s: float = 10.0) -> None:
        """Block until that many clients have gone away early; TimeoutError."""
        self._wait(lambda: len(self.disconnects) >= number, f"{number} disconnects", timeout_s)

    def _wait(self, reached: Callable[[], bool], what: str, timeout_s: float) -> None:
        with self._changed:
            if not self._changed.wait_for(reached, timeout_s):
                raise TimeoutError(f"waited {timeout_s} s for {what}")

    def unused(self) -> list[str]:
        """Labels of the entries that should have been used and were not."""
        with self._changed:
            return [e.label for e in self._entries if not e.always and not e.used]

    def problems(self) -> list[str]:
        """Everything that `assert_done` complains about, one per line."""
        with self._changed:
            lines = [f"unused: {label}" for label in self.unused()]
            lines += [
                f"unexpected: {r.kind} request, last user text {r.last_user_text[:80]!r}"
                for r in self.unexpected
            ]
            return lines + [f"violation: {violation}" for violation in self.violations]

    def assert_done(self) -> None:
        """AssertionError on an unused reply, an unexpected request or a violated rule."""
        problems = self.problems()
        if problems:
            raise AssertionError("the script is not done:\n  " + "\n  ".join(problems))

    def _forget(self, keep: int | None = None) -> None:
        """Drop the oldest records, so that a server that runs for weeks does not grow."""
        limit = self.remember if keep is None else keep
        if limit is None:
            return
        for kept in (self.requests, self.count_requests, self.unexpected):
            del kept[: max(0, len(kept) - limit)]
        del self.violations[: max(0, len(self.violations) - limit)]
        del self.disconnects[: max(0, len(self.disconnects) - limit)]
        del self.bill[: max(0, len(self.bill) - limit)]
