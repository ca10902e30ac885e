"""Scripting the server from another process, over HTTP.

    POST /control/script   [{"reply": "Hi."}, {"error": 429, "retry_after": 3}, ...]
    POST /control/release  opens every stalled answer
    POST /control/reset    forgets entries and records
    GET  /control/report   {"requests": [...], "problems": [...], "disconnects": n}

One object per entry: its first key is the method of `Script` (reply, error, error_event, cut, drop,
stall, delay, drip), the value its first argument, all other keys its keyword arguments. "kind":
"chat" | "summary" | "title" restricts the entry to such requests.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from demo.api.answer import Gate
from demo.api.recording import RecordedRequest
from demo.api.script import Script

METHODS = ("reply", "error", "error_event", "cut", "drop", "stall", "delay", "drip")


class Control:
    """The control routes' handlers over one script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._gates: list[Gate] = []

    async def add(self, http: web.Request) -> web.Response:
        """POST /control/script; 400 for an entry that `Script` would not take."""
        try:
            entries = await http.json()
            for entry in entries:
                self._add(dict(entry))
        except (TypeError, ValueError, KeyError) as problem:
            return web.json_response({"error": repr(problem)}, status=400)
        return web.json_response({"added": len(entries)})

    def _add(self, entry: dict[str, Any]) -> None:
        method = next(iter(entry), "")
        if method not in METHODS:
            raise ValueError(f"unknown entry: {method}")
        first = entry.pop(method)
        kind = entry.pop("kind", None)
        if kind is not None:
            entry["when"] = lambda request: request.kind == kind
        made = getattr(self._script, method)(first, **entry)
        if isinstance(made, Gate):
            self._gates.append(made)

    async def release(self, _: web.Request) -> web.Response:
        """POST /control/release"""
        gates, self._gates = self._gates, []
        for gate in gates:
            gate.release()
        return web.json_response({"released": len(gates)})

    async def reset(self, _: web.Request) -> web.Response:
        """POST /control/reset"""
        self._script.clear()
        return web.json_response({})

    async def report(self, _: web.Request) -> web.Response:
        """GET /control/report"""
        return web.json_response(
            {
                "requests": [_shown(request) for request in self._script.requests],
                "problems": self._script.problems(),
                "disconnects": len(self._script.disconnects),
            }
        )


def add_control_routes(application: web.Application, script: Script) -> None:
    """Put the control routes into the application."""
    control = Control(script)
    application.router.add_post("/control/script", control.add)
    application.router.add_post("/control/release", control.release)
    application.router.add_post("/control/reset", control.reset)
    application.router.add_get("/control/report", control.report)


def _shown(request: RecordedRequest) -> dict[str, Any]:
    return {
        "kind": request.kind,
        "path": request.path,
        "body": request.body,
        "violations": request.violations,
        "received_at": request.received_at,
    }
