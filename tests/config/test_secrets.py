"""Keys from the environment: without the white space that files leave around them, and never in the
log."""

import json
import os
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.variables import Variables, strip_secrets

KEYS = {
    "ANTHROPIC_API_KEY": "the-api-key-7-x",
    "SUMMARY_API_KEY": "the-summary-key-8-x",
    "METRICS_TOKEN": "the-metrics-token-9-x",
    "MCP_SECRET_LIBRARY": "Bearer the-library-key-1-x",
    "SECRET_KEY": "the-secret-key-2-x" * 3,
}
READ = """
import json, structlog, logging
from django.conf import settings as s
names = ["ANTHROPIC_API_KEY", "SUMMARY_API_KEY", "METRICS_TOKEN", "SECRET_KEY"]
print(json.dumps([*(getattr(s, n) for n in names), s.MCP_SECRETS, s.SECRET_KEY_FALLBACKS]))
keys = [*(getattr(s, n) for n in names), *s.MCP_SECRETS.values()]
said = ", ".join(each.split()[-1] for each in keys)
structlog.get_logger("chat.x").warning("it said", reason=said, nested={"a": [said]})
try:
    raise ValueError(said)
except ValueError as error:
    logging.getLogger("django.request").exception("failed: %s", said)
    structlog.get_logger("chat.x").exception("failed", reason=error)
"""


def test_two_keys_that_belong_together_are_both_set_or_neither(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_TOKEN", "the-a-token-1-x")
    with pytest.raises(ImproperlyConfigured, match="both A_TOKEN and B_TOKEN") as refused:
        Variables().pair("A_TOKEN", "B_TOKEN")
    assert "the-a-token" not in str(refused.value)
    monkeypatch.setenv("B_TOKEN", "the-b-token-2-x")
    assert Variables().pair("A_TOKEN", "B_TOKEN") == ("the-a-token-1-x", "the-b-token-2-x")
    assert Variables().pair("C_TOKEN", "D_TOKEN") == ("", "")


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    environment = os.environ | {"LOG_JSON": "true"} | variables
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_white_space_around_a_key_is_taken_away_and_no_key_is_logged() -> None:
    padded = {name: f" {key}\r\n" for name, key in KEYS.items()}
    done = run(READ, SUMMARY_MODEL="x", **padded)
    assert done.returncode == 0, done.stderr
    *keys, mcp, fallbacks = json.loads(done.stdout)
    names = ["ANTHROPIC_API_KEY", "SUMMARY_API_KEY", "METRICS_TOKEN", "SECRET_KEY"]
    assert keys == [KEYS[name] for name in names]
    assert mcp["MCP_SECRET_LIBRARY"] == KEYS["MCP_SECRET_LIBRARY"]
    assert padded["SECRET_KEY"] in fallbacks, "what was signed before is still read"
    assert done.stderr.count("[masked]") >= 5 * len(KEYS)
    for key in KEYS.values():
        assert key.split()[-1] not in done.stderr


def test_a_key_that_cannot_be_sent_is_refused_at_the_start() -> None:
    done = run(
        "from django.conf import settings; settings.DEBUG", ANTHROPIC_API_KEY="sk-one\nsk-two"
    )
    assert done.returncode != 0
    assert "ANTHROPIC_API_KEY has a line end" in done.stderr
    assert "sk-one" not in done.stderr


@pytest.mark.parametrize("value", ["a\nb", "a\tb", "käse", "a\x7f"])
def test_a_key_is_plain_letters_and_signs(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("MCP_SECRET_X", value)
    with pytest.raises(ImproperlyConfigured, match="MCP_SECRET_X has a line end"):
        Variables().secret("MCP_SECRET_X")


def test_a_secret_that_was_used_with_its_line_end_still_reads() -> None:
    assert strip_secrets(["new\n", "old"]) == ["new", "old", "new\n"]
    assert strip_secrets(["new"]) == ["new"]
