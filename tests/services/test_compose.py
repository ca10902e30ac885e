"""docker-compose.yml as far as it can be run without Docker: its commands in its environment."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.support.patience import PATIENCE
from tests.support.server import ROOT, CeleryProcess, EverlongProcess

pytestmark = pytest.mark.services

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
OURS = ("migrate", "web", "worker")
# What somebody writes into .env beside docker-compose.yml.
DOTENV = {
    "SECRET_KEY": "a long random text",
    "POSTGRES_PASSWORD": "p@ss/word+=",
    "ANTHROPIC_API_KEY": "test-key",
    "PUBLIC_URL": "https://chat.example.org",
    "LANGUAGES": "en,de",
    "MCP_SECRET_WIKI": "Bearer x",
}


def substituted(value: object) -> str:
    """A value with its variables filled in from DOTENV, as compose does."""
    text = str(value)
    while found := re.search(r"\$\{(\w+)(?::([-?])([^${}]*))?\}", text):
        name, kind, other = found.groups()
        assert kind != "?" or name in DOTENV, f"{name} is missing"
        text = text.replace(found[0], DOTENV.get(name, other or ""))
    return text


def environment(service: str) -> dict[str, str]:
    """All that a service's container gets: its `.env`, and over it what compose sets."""
    assert SERVICES[service]["env_file"] == [{"path": ".env", "required": False}]
    own = {name: substituted(v) for name, v in SERVICES[service]["environment"].items()}
    return {**DOTENV, **own}


def test_every_variable_reaches_every_process() -> None:
    """From .env as it stands: there is no list that could lack one."""
    for service in OURS:
        assert DOTENV.items() <= environment(service).items()


def test_nothing_waits_for_web_and_all_wait_for_the_migrations() -> None:
    for service in ("web", "worker"):
        waits = SERVICES[service]["depends_on"]
        assert waits["migrate"] == {"condition": "service_completed_successfully"}
        assert "web" not in waits
    assert SERVICES["migrate"]["restart"] == "no"


def test_secrets_of_the_checkout_stay_out_of_git_and_of_the_image() -> None:
    for name in (".gitignore", ".dockerignore"):
        assert ".env" in (ROOT / name).read_text().split()


def test_the_image_has_all_that_the_site_can_use() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "-r requirements/mcp.txt" in dockerfile

    def names(file: str) -> set[str]:
        return set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements" / file).read_text(), re.M))

    assert names("base.txt") | {"mcp"} <= names("mcp.txt")


def test_the_commands_run_in_that_environment_and_end_in_order(
    start_everlong: Callable[..., EverlongProcess],
    start_worker: Callable[..., CeleryProcess],
    scaled_environment: dict[str, str],
) -> None:
    web = environment("web")
    assert substituted("${PUBLIC_URL:-http://localhost:${PORT:-8000}}") == web["PUBLIC_URL"]
    # The addresses of the containers, as they are here.
    here = scaled_environment | {"HOST": "127.0.0.1"}
    left_out = ("PORT", "DATA_DIR", "POSTGRES_PASSWORD", "PGPASSWORD")
    kept = {name: value for name, value in web.items() if name not in left_out}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ALLOWED_HOSTS")  # the tests' own
        server = start_everlong("--no-worker", **{**kept, **here})
        worker = start_worker(server)
    assert "https://chat.example.org/setup/" in server.log

    # The health check, as compose asks.
    _, program, *arguments = SERVICES["web"]["healthcheck"]["test"]
    assert program == "python"
    probe = [a.replace(":8000", f":{server.port}") for a in arguments]
    behind = {**os.environ, "http_proxy": "http://127.0.0.1:9", "no_proxy": "", "NO_PROXY": ""}
    for path in ("/healthz", "/readyz"):
        asked = [each.replace("/healthz", path) for each in probe]
        subprocess.run([sys.executable, *asked], env=behind, check=True, timeout=PATIENCE)
    assert worker.stop() == 0
    assert server.stop() == 0


def test_the_health_check_is_answered_whatever_hosts_are_allowed(
    start_everlong: Callable[..., EverlongProcess],
) -> None:
    assert start_everlong(ALLOWED_HOSTS="chat.example.org").healthy()
