"""Alive and ready are two things, and neither asks for an account or a host name."""

from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from chat.live.runner import runner
from chat.services.slack.connection import note_problem, take_lease

pytestmark = pytest.mark.on_both

OK = {"process": "ok", "database": "ok", "schema": "ok", "slack": "not used"}


@pytest.fixture
def client() -> Client:
    return Client(headers={"host": "10.0.0.7"})  # as a probe inside a cluster names it


def test_a_process_is_alive_without_its_database(client: Client) -> None:
    """This test may not touch the database at all: pytest-django would raise."""
    assert client.get("/healthz").json() == {"status": "ok", "draining": False}


def test_a_page_still_needs_a_host_that_is_ours(client: Client, transactional_db: None) -> None:
    assert client.get("/account/login/").status_code == 400


def test_ready_tells_each_component(client: Client, transactional_db: None, settings: Any) -> None:
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (200, "ready")
    redis = "ok" if settings.SCALED else "not used"
    assert response.json()["components"] == OK | {"redis": redis}


def test_not_ready_without_the_database(
    client: Client, transactional_db: None, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("connection to db.internal failed")

    with connection.execute_wrapper(refuse):
        response = client.get("/readyz")
    told = response.json()
    assert (response.status_code, told["status"]) == (503, "not ready")
    assert told["components"]["database"].startswith("It does not answer")
    assert told["components"]["schema"] == "not known"
    assert "db.internal" not in response.content.decode()
    assert "db.internal" in caplog.text


def test_degraded_without_redis(client: Client, transactional_db: None, settings: Any) -> None:
    settings.SCALED, settings.REDIS_URL = True, "redis://127.0.0.1:9/0"
    response = client.get("/readyz")
    told = response.json()
    assert (response.status_code, told["status"]) == (200, "degraded")
    assert told["components"]["redis"].startswith("It does not answer")
    assert client.get("/healthz").status_code == 200


def test_degraded_without_slack(client: Client, transactional_db: None, settings: Any) -> None:
    settings.SLACK = True
    take_lease("somebody")
    note_problem("Slack refuses the tokens: token_revoked.")
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (200, "degraded")
    assert "token_revoked" not in response.content.decode()
    note_problem("")
    assert client.get("/readyz").json()["components"]["slack"] == "ok"


def test_not_ready_while_it_is_being_stopped(
    client: Client, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "draining", True)
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (503, "not ready")
    assert "is stopping" in response.json()["components"]["process"]
    assert client.get("/healthz").json() == {"status": "ok", "draining": True}
