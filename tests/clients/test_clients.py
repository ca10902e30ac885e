"""Programs against a running server: the examples of docs/api.md, a generated client, and a walk
through everything that the document allows."""

import asyncio
import importlib
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import processes
from tests.services.browsers import Person
from tests.support.patience import PATIENCE
from tests.support.programs import CLIENTS, require
from tests.support.server import EverlongProcess

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = re.compile(r"^```(sh|python)\n(.*?)^```", re.M | re.S)
EXAMPLES = EXAMPLE.findall((ROOT / "docs" / "api.md").read_text("utf-8"))


FILE = "application/octet-stream"


@dataclass
class Served:
    """A server with the demo model, and a token with all scopes."""

    process: EverlongProcess
    token: str

    @property
    def url(self) -> str:
        return self.process.url

    def ask(self, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and JSON of a request below the API's root."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/api/v1{path}", data, sent | headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, site: Path) -> Iterator[Served]:
    """One for all tests: to start it takes seconds."""
    limits = {"MESSAGES_PER_MINUTE": "100000", "TURNS_AT_ONCE": "100"}
    demo = {"DEMO_TOKENS_PER_SECOND": "0", **limits}
    demo |= {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "", "DEFAULT_MODEL": "everlong-demo"}
    process = EverlongProcess(tmp_path_factory.mktemp("api"), site, **demo).start()
    yield Served(process, asyncio.run(make_token(process)))
    process.kill()


@pytest.fixture
def served(running: Served, request: pytest.FixtureRequest) -> Served:
    request.node.stash.setdefault(processes, []).append(running.process)  # its log, on failure
    return running


async def make_token(process: EverlongProcess) -> str:
    """As a person makes one."""
    from accounts.tokens import SCOPES

    async with Person() as ada:
        await ada.set_up(process)
        return await ada.make_token(process, *SCOPES)


@pytest.mark.parametrize(("language", "code"), EXAMPLES)
def test_the_examples_of_the_document_work(served: Served, language: str, code: str) -> None:
    require(*CLIENTS)
    command = [sys.executable, "-c"] if language == "python" else ["bash", "-euo", "pipefail", "-c"]
    known = {"EVERLONG_URL": served.url, "EVERLONG_TOKEN": served.token}
    ran = subprocess.run(
        [*command, code],
        env={**os.environ, **known},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "demo" in ran.stdout, ran.stdout


def test_a_generated_client_holds_a_conversation(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, document = served.ask("/openapi.json")
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    # It formats nothing, and takes a zip for a file.
    settings = {"post_hooks": [], "content_type_overrides": {"application/zip": FILE}}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "openapi_python_client", "generate"]
    command += ["--path", "openapi.json", "--config", "config.json", "--meta", "none"]
    command += ["--output-path", str(tmp_path / "generated"), "--fail-on-warning"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert made.returncode == 0, made.stdout + made.stderr

    monkeypatch.syspath_prepend(str(tmp_path))
    client_module = importlib.import_module("generated")
    models = importlib.import_module("generated.models")
    client = client_module.AuthenticatedClient(base_url=served.url, token=served.token)

    def call(name: str, *path: Any, **named: Any) -> Any:
        tag, function = name.split(".")
        operation = importlib.import_module(f"generated.api.{tag}.{function}")
        answer = operation.sync_detailed(*path, client=client, **named)
        assert answer.status_code < 300, answer.content
        return answer.parsed

    body = models.ConversationIn(title="Generated")
    conversation = call("conversations.create_conversation", body=body)
    for text in ("Hello", "And now?"):
        turn = call("messages.send_message", conversation.id, body=models.SendIn(text=text))
        assert turn.status == "completed"
        assert turn.message.text
    page = call("messages.list_messages", conversation.id)
    assert [row.role for row in page.items] == ["user", "assistant"] * 2
    again = call("messages.regenerate_answer", conversation.id, 4, body=models.AgainIn())
    assert again.prompt == 3
    branches = call("conversations.list_branches", conversation.id)
    assert [branch.active for branch in branches.items] == [True, False]
    call("conversations.switch_branch", conversation.id, 4)
    hits = call("search.search", q="now")
    assert conversation.id in {hit.conversation for hit in hits.items}
    call("conversations.delete_conversation", conversation.id)
    client.get_httpx_client().close()


def test_nothing_that_the_document_allows_fails(served: Served) -> None:
    """A stateful walk: what one answer says goes into the next request."""
    script = Path(__file__).with_name("walk.py")
    known = {"EVERLONG_URL": served.url, "EVERLONG_TOKEN": served.token}
    ran = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, **known},
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE,
    )
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-5_000:]
    assert "Traceback" not in served.process.log
    answers = json.loads(ran.stdout.splitlines()[-1])
    done = [name for name, statuses in answers.items() if any(each < "300" for each in statuses)]
    assert len(done) > 10, answers


def test_a_good_token_may_send_more_than_a_stranger(served: Served) -> None:
    _, conversation = served.ask("/conversations", {})
    path = f"/conversations/{conversation['id']}/messages"
    long = {"text": "x" * 150_000, "wait": 0}
    status, turn = served.ask(path, long)
    assert status in (200, 202), turn
    stranger = Served(served.process, "")
    status, told = stranger.ask(path, long, Authorization="")
    assert (status, told["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize("token", ["", "ev_wrong"])
def test_a_large_file_is_not_read_of_a_stranger(served: Served, token: str) -> None:
    stranger = Served(served.process, token)
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    if not token:
        kind["Authorization"] = ""
    status, told = stranger.ask("/files", b"x" * 3_000_000, **kind)
    assert (status, told["error"]["code"]) == (401, "bad_token")
