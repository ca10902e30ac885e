"""`/healthz` and `/readyz`, for whoever watches over the processes.

They are answered first of all, so that a process counts as alive whatever the probe's Host header,
and also while the database is away.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import redis
import structlog
from asgiref.sync import iscoroutinefunction, sync_to_async
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.utils.decorators import sync_and_async_middleware

from chat.live.runner import runner
from chat.models import SlackConnection
from chat.queries import schema

log = structlog.get_logger(__name__)

ALIVE, READY = (f"{settings.BASE_PATH}{name}" for name in ("healthz", "readyz"))
REDIS_SECONDS = 2.0


class ComponentState(StrEnum):
    """Of one component."""

    OK = "ok"
    NOT_USED = "not used"
    NOT_KNOWN = "not known"
    DRAINING = "draining"
    DATABASE_AWAY = "database away"
    REDIS_AWAY = "redis away"
    SLACK_AWAY = "slack away"
    SCHEMA_OLDER = "schema older"
    SCHEMA_NEWER = "schema newer"
    SCHEMA_CHANGED = "schema changed"


# Shown to everyone: the log says what is wrong, with its address.
WORDS = {
    ComponentState.DRAINING: "It is stopping: running answers finish, new messages are refused.",
    ComponentState.DATABASE_AWAY: (
        "It does not answer: nothing can be read or written. The log has the details."
    ),
    ComponentState.REDIS_AWAY: (
        "It does not answer: the site goes on without compactions, titles and news between "
        "processes. The log has the details."
    ),
    ComponentState.SLACK_AWAY: (
        "It is not reached, or refuses the tokens: its threads hear of what is written later. The "
        "log has the details."
    ),
    ComponentState.SCHEMA_OLDER: (
        "The database is not migrated: run `python manage.py migrate`. The log has the details."
    ),
    ComponentState.SCHEMA_NEWER: (
        "A newer release has changed the database: start that one. The log has the details."
    ),
    ComponentState.SCHEMA_CHANGED: (
        "The tables are not those of this release. The log says which, and what can be done."
    ),
}
SCHEMA = {
    schema.MisfitKind.OLDER: ComponentState.SCHEMA_OLDER,
    schema.MisfitKind.NEWER: ComponentState.SCHEMA_NEWER,
    schema.MisfitKind.CHANGED: ComponentState.SCHEMA_CHANGED,
}
# With one of these, nobody can be served; with one of those, everybody with something less.
NOT_READY = {ComponentState.DRAINING, ComponentState.DATABASE_AWAY, *SCHEMA.values()}
DEGRADED = {ComponentState.REDIS_AWAY, ComponentState.SLACK_AWAY}

GetResponse = Callable[[HttpRequest], Any]


@sync_and_async_middleware
def answer_probes(get_response: GetResponse) -> GetResponse:
    """Middleware, the first of all."""
    if not iscoroutinefunction(get_response):
        return lambda request: _answer(request) or get_response(request)

    async def respond(request: HttpRequest) -> Any:
        if request.path not in (ALIVE, READY):
            return await get_response(request)
        return await sync_to_async(_answer)(request)

    return respond


def _answer(request: HttpRequest) -> JsonResponse | None:
    if request.path == ALIVE:
        return JsonResponse({"status": "ok", "draining": runner.draining})
    return check_readiness() if request.path == READY else None


def check_readiness() -> JsonResponse:
    """200 if this process can serve people: each component with its state, in words. 503 where
    its database is away or does not fit, or where it is being stopped; without Redis or Slack it
    goes on."""
    database = _database()
    fit = _schema() if database == ComponentState.OK else ComponentState.NOT_KNOWN
    components = {
        "process": ComponentState.DRAINING if runner.draining else ComponentState.OK,
        "database": database,
        "schema": fit,
        "redis": _redis() if settings.SCALED else ComponentState.NOT_USED,
        "slack": _slack(fit) if settings.SLACK else ComponentState.NOT_USED,
    }
    states = set(components.values())
    ready = not states & NOT_READY
    status = "degraded" if states & DEGRADED else "ready"
    body = {
        "status": status if ready else "not ready",
        "components": {name: WORDS.get(state, state) for name, state in components.items()},
    }
    return JsonResponse(body, status=200 if ready else 503)


def _database() -> ComponentState:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        log.warning("database not ready", reason=str(error))
        return ComponentState.DATABASE_AWAY
    return ComponentState.OK


def _schema() -> ComponentState:
    try:
        misfit = schema.watch.look()
    except DatabaseError as error:
        log.warning("schema not read", reason=str(error))
        return ComponentState.NOT_KNOWN
    return SCHEMA[misfit.kind] if misfit else ComponentState.OK


def _slack(fit: ComponentState) -> ComponentState:
    """As the process says that is connected, whichever it is."""
    if fit != ComponentState.OK:
        return ComponentState.NOT_KNOWN
    try:
        away = SlackConnection.objects.exclude(problem="").exists()
    except DatabaseError as error:
        log.warning("state of slack not read", reason=str(error))
        return ComponentState.NOT_KNOWN
    return ComponentState.SLACK_AWAY if away else ComponentState.OK


def _redis() -> ComponentState:
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=REDIS_SECONDS,
        socket_connect_timeout=REDIS_SECONDS,
    )
    try:
        with client:
            client.ping()
    except redis.RedisError as error:
        log.warning("redis not ready", reason=str(error))
        return ComponentState.REDIS_AWAY
    return ComponentState.OK
