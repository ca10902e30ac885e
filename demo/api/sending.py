"""Writing one answer: plain or streamed, paced, and with the fault the script asks for."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from collections.abc import Callable, Iterable

from aiohttp import web

from demo.api.answer import Answer, AnswerFault
from demo.api.protocol import (
    ERROR_TYPES,
    Envelope,
    PromptUsage,
    ScriptedReply,
    encode_event,
    error_body,
    error_event,
    message_body,
    stream_events,
)
from demo.api.recording import BilledCall, Disconnect, RecordedRequest
from demo.api.script import Script
from demo.api.stream import Chunk, encode_chunks, split_after


class AnswerWriter:
    """One request and the answer that is being written to it."""

    def __init__(
        self,
        http: web.Request,
        request: RecordedRequest,
        answer: Answer,
        prompt: PromptUsage,
        *,
        number: int,
        ollama: bool,
        script: Script,
        is_closing: Callable[[], bool],
    ) -> None:
        self._http = http
        self._request = request
        self._answer = answer
        self._reply = answer.reply if answer.reply is not None else ScriptedReply(())
        self._prompt = prompt
        self._number = number
        self._ollama = ollama
        self._script = script
        self._is_closing = is_closing
        self._deltas_sent = 0
        self._first_due: float | None = None
        # Whoever leaves after the last byte, or is thrown out, has not left early.
        self._over = False
        usage = message_body(self._reply, self._envelope())["usage"]
        self._billed = BilledCall(request, self._request_id, usage)

    @property
    def _request_id(self) -> str:
        return f"req_demo_{self._number:06d}"

    async def run(self) -> web.StreamResponse:
        """Write the whole answer, which is billed; a client that leaves before its end is
        recorded."""
        self._script.record_call(self._billed)
        try:
            if self._answer.delay_s:
                await asyncio.sleep(self._answer.delay_s)
            if self._request.stream:
                return await self._stream()
            return await self._plain()
        except (asyncio.CancelledError, ConnectionResetError):
            if not self._is_closing() and not self._over:
                self._script.record_disconnect(
                    Disconnect(self._request, self._deltas_sent, time.time())
                )
            raise

    async def _stream(self) -> web.StreamResponse:
        fault = self._answer.fault
        events = stream_events(self._reply, self._envelope())
        chunks = encode_chunks(events, ping=not self._ollama, stamp=self._answer.stamp)
        if fault is None:
            response = await self._open()
            await self._write(response, chunks)
            self._over = self._billed.is_whole = True
            await response.write_eof()
            return response

        first, rest = split_after(chunks, fault.after_deltas)
        if fault.after_deltas is None and not await self._pass(fault):
            return web.Response()
        response = await self._open()
        await self._write(response, first)
        if fault.after_deltas is None or await self._pass(fault):
            await self._write(response, rest)
            self._billed.is_whole = True
        elif fault.kind == "error_event" and not self._ollama:
            event = error_event(fault.error_type, fault.message, request_id=self._request_id)
            await response.write(encode_event(event))
        self._over = True
        if fault.kind != "drop":
            await response.write_eof()
        return response

    async def _plain(self) -> web.StreamResponse:
        """A plain answer has no parts: each fault hits it as a whole."""
        fault = self._answer.fault
        headers = {"request-id": self._request_id}
        if fault is not None and fault.kind == "error_event":
            status = next((s for s, kind in ERROR_TYPES.items() if kind == fault.error_type), 500)
            error = error_body(status, fault.message, request_id=self._request_id)
            return web.json_response(error, status=status, headers=headers)
        body = json.dumps(message_body(self._reply, self._envelope())).encode("ascii")
        if fault is not None and fault.kind == "cut":
            body = body[: len(body) // 2]
        elif fault is not None:
            await self._pass(fault)
        self._billed.is_whole = fault is None or fault.kind == "stall"
        return web.Response(body=body, headers=headers, content_type="application/json")

    async def _pass(self, fault: AnswerFault) -> bool:
        """Let the fault happen; True if the answer goes on after it."""
        if fault.kind == "stall" and fault.gate is not None:
            await fault.gate.wait_released()
            return True
        if fault.kind == "drop":
            self._reset_connection()
        return False

    def _reset_connection(self) -> None:
        self._over = True
        transport = self._http.transport
        if transport is None:
            return
        sock = transport.get_extra_info("socket")
        if sock is not None:
            # Lingering for zero seconds makes closing a reset instead of a proper end.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()

    async def _open(self) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={
                "content-type": "text/event-stream; charset=utf-8",
                "cache-control": "no-cache",
                "request-id": self._request_id,
            }
        )
        await response.prepare(self._http)
        return response

    async def _write(self, response: web.StreamResponse, chunks: Iterable[Chunk]) -> None:
        if not self._answer.interval_s:
            whole = list(chunks)
            payload = b"".join(chunk.payload() for chunk in whole)
            if payload:
                await response.write(payload)
            self._deltas_sent += sum(chunk.paced for chunk in whole)
            return
        # Everything is encoded before the first delta is due.
        for chunk in list(chunks):
            if chunk.paced:
                await self._wait_until_due()
                self._deltas_sent += 1
            await response.write(chunk.payload())

    async def _wait_until_due(self) -> None:
        """Delta n is due n intervals after the first: a late one does not delay the others."""
        loop_time = asyncio.get_running_loop().time()
        if self._first_due is None:
            self._first_due = loop_time
        wait = self._first_due + self._deltas_sent * self._answer.interval_s - loop_time
        if wait > 0:
            await asyncio.sleep(wait)

    def _envelope(self) -> Envelope:
        return Envelope(
            message_id=f"msg_demo_{self._number:06d}",
            model=str(self._request.body.get("model")),
            prompt=self._prompt,
            cache=not self._ollama,
        )
