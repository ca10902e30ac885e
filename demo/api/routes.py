"""The routes: checks a request, asks the script, writes the answer."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import web

from agent.model.rules import MAX_BODY_BYTES, find_violations
from demo.api.answer import Answer, HttpError
from demo.api.control import add_control_routes
from demo.api.prompt_cache import PromptCache
from demo.api.protocol import PromptUsage, error_body, prompt_too_long
from demo.api.recording import Endpoint, RecordedRequest
from demo.api.script import Script
from demo.api.sending import AnswerWriter
from demo.api.thinking import ThinkingLedger
from demo.api.tokens import count_request_tokens
from demo.mind.models import ListedModel, list_models
from demo.mind.recognition import recognise_kind

log = logging.getLogger(__name__)

COUNT_PATH = "/v1/messages/count_tokens"


class Api:
    """The Messages API over a script. One event loop uses it; the script is thread-safe."""

    def __init__(
        self,
        script: Script,
        *,
        ollama: bool,
        models: Sequence[ListedModel],
        strict: bool,
        sampling: bool,
        api_key: str | None,
        cache_minimum_tokens: int,
        clock: Callable[[], float],
    ) -> None:
        self.script = script
        self.ollama = ollama
        self.models = models
        self.closing = False
        self._strict = strict
        self._sampling = sampling
        self._api_key = api_key
        self._cache = PromptCache(minimum_tokens=cache_minimum_tokens, clock=clock)
        self._ledger = ThinkingLedger()
        self._numbers = itertools.count(1)

    async def create_message(self, http: web.Request) -> web.StreamResponse:
        """POST /v1/messages"""
        request = await self._receive(http, "messages")
        tokens = count_request_tokens(request.body)
        refused = self._refusal(request, tokens)
        if refused is not None:
            return self._error(refused)
        try:
            answer = self.script.take(request)
        except Exception as problem:
            # A condition or a reply function of the script failed: the test must hear of it.
            log.exception("the script failed")
            self.script.violations.append(f"the script failed: {problem!r}")
            return self._error(HttpError(500, f"the script failed: {problem!r}"))
        if answer is None:
            message = f"the script expects no such request ({request.kind})"
            return self._error(HttpError(500, message))
        if answer.error is not None:
            return self._error(answer.error)
        return await self._send(http, request, answer)

    async def count_tokens(self, http: web.Request) -> web.StreamResponse:
        """POST /v1/messages/count_tokens"""
        request = await self._receive(http, "count_tokens")
        if self.ollama:
            return web.Response(status=404, text="404 page not found")
        refused = self._refusal(request, 0)
        if refused is not None:
            return self._error(refused)
        answer = self.script.take(request)
        if answer is not None and answer.error is not None:
            return self._error(answer.error)
        if answer is not None and answer.fault is not None and answer.fault.gate is not None:
            await answer.fault.gate.wait_released()
        return web.json_response({"input_tokens": count_request_tokens(request.body)})

    async def list_models(self, http: web.Request) -> web.StreamResponse:
        """GET /v1/models"""
        failed = self._models_error(http)
        return failed or web.json_response(list_models(self.models, ollama=self.ollama))

    async def show_model(self, http: web.Request) -> web.StreamResponse:
        """GET /v1/models/{id}"""
        failed = self._models_error(http)
        if failed is not None:
            return failed
        wanted = http.match_info["model_id"]
        for model in self.models:
            if model.id == wanted:
                return web.json_response(model.openai_info() if self.ollama else model.info())
        return self._error(HttpError(404, f"model: {wanted}"))

    def _models_error(self, http: web.Request) -> web.Response | None:
        request = RecordedRequest("models", http.path, _headers(http), b"", {})
        answer = self.script.take(request)
        if answer is not None and answer.error is not None:
            return self._error(answer.error)
        return None if self._has_key(request) else self._error(HttpError(401))

    async def _receive(self, http: web.Request, endpoint: Endpoint) -> RecordedRequest:
        raw = await http.read()
        broken: list[str] = []
        try:
            body = json.loads(raw)
        except ValueError:
            body, broken = {}, ["the body is not JSON"]
        if not isinstance(body, dict):
            body, broken = {}, ["the body is not a JSON object"]
        request = RecordedRequest(endpoint, http.path, _headers(http), raw, body)
        request.kind = recognise_kind(body)
        request.violations = broken or self._violations(request)
        self.script.record(request)
        return request

    def _violations(self, request: RecordedRequest) -> list[str]:
        body, is_count = request.body, request.endpoint == "count_tokens"
        model = self._model(body)
        found = find_violations(
            body,
            headers=request.headers,
            window=None if model is None or is_count else model.window,
            request_tokens=count_request_tokens(body),
            body_bytes=len(request.raw),
            counting=is_count,
            sampling=self._sampling,
        )
        return found + self._ledger.violations(body)

    def _refusal(self, request: RecordedRequest, tokens: int) -> HttpError | None:
        """The error by which the API itself would turn the request down."""
        if not self._has_key(request):
            return HttpError(401)
        if len(request.raw) > MAX_BODY_BYTES:
            return HttpError(413)
        model = self._model(request.body)
        if model is not None and tokens > model.window:
            return HttpError(400, prompt_too_long(tokens, model.window))
        if request.violations and (self._strict or not request.body):
            return HttpError(400, "; ".join(request.violations))
        return None

    def _has_key(self, request: RecordedRequest) -> bool:
        headers = request.headers
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        key = headers.get("x-api-key") or (bearer.strip() if scheme.lower() == "bearer" else "")
        return bool(key) and self._api_key in (None, key)

    def _model(self, body: dict[str, Any]) -> ListedModel | None:
        return next((model for model in self.models if model.id == body.get("model")), None)

    async def _send(
        self, http: web.Request, request: RecordedRequest, answer: Answer
    ) -> web.StreamResponse:
        if self.ollama:
            prompt = PromptUsage(count_request_tokens(request.body))
        else:
            prompt = self._cache.account(request.body)
        if answer.reply is not None:
            self._ledger.issue(request.body, answer.reply)
        number = next(self._numbers)
        exchange = AnswerWriter(
            http,
            request,
            answer,
            prompt,
            number=number,
            ollama=self.ollama,
            script=self.script,
            is_closing=lambda: self.closing,
        )
        return await exchange.run()

    def _error(self, error: HttpError) -> web.Response:
        request_id = f"req_demo_{next(self._numbers):06d}"
        headers = {"request-id": request_id}
        if error.retry_after is not None:
            headers["retry-after"] = f"{error.retry_after:g}"
        body = error_body(
            error.status, error.message, error_type=error.error_type, request_id=request_id
        )
        return web.json_response(body, status=error.status, headers=headers)


def add_routes(application: web.Application, api: Api, *, control: bool) -> None:
    """Put the API's routes, and if asked the control routes, into the application."""
    application.router.add_post("/v1/messages", api.create_message)
    application.router.add_post(COUNT_PATH, api.count_tokens)
    application.router.add_get("/v1/models", api.list_models)
    application.router.add_get("/v1/models/{model_id}", api.show_model)
    if control:
        add_control_routes(application, api.script)


def _headers(http: web.Request) -> dict[str, str]:
    return {name.lower(): value for name, value in http.headers.items()}
