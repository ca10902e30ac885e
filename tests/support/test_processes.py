"""That what the other tests stand on works: server, worker, PostgreSQL, Redis."""

import signal
from collections.abc import Callable

import pytest

from tests.support.server import CeleryProcess, EverlongProcess
from tests.support.services import PostgresServer, RedisServer

Everlong = Callable[..., EverlongProcess]
Worker = Callable[..., CeleryProcess]


@pytest.mark.services
def test_server_and_worker_run_on_postgresql_and_redis(
    start_everlong: Everlong,
    start_worker: Worker,
    postgres_server: PostgresServer,
    redis_server: RedisServer,
) -> None:
    server = start_everlong(
        "--no-worker",
        DATABASE_URL=postgres_server.fresh_database(),
        REDIS_URL=redis_server.fresh_database(),
    )
    worker = start_worker(server)
    assert server.setup_path
    assert server.healthy()
    assert worker.stop() == 0
    assert server.stop() == 0


@pytest.mark.services
def test_server_without_services_ends_cleanly_and_can_be_killed(start_everlong: Everlong) -> None:
    server = start_everlong(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="")
    assert "demo server" in server.log
    assert server.stop() == 0
    server.start()
    server.kill()
    assert server.process is not None
    assert server.process.returncode == -signal.SIGKILL
