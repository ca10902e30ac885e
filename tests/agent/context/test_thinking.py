"""Which models keep the thinking of finished turns, by their names."""

import pytest

from agent.context.thinking import keeps_thinking
from agent.model.rules import KEEPS_THINKING

NAMES = {
    "claude-opus-4-5": True,
    "claude-opus-4-5-20251101": True,
    "claude-opus-4-1-20250805": False,
    "claude-opus-4-20250514": False,
    "claude-opus-5": True,
    "claude-sonnet-4-6": True,
    "claude-sonnet-4-5-20250929": False,
    "claude-sonnet-5-5": True,
    "claude-haiku-4-5": False,
    "claude-haiku-5-5": True,
    "claude-fable-5-2": True,
    "claude-opus-10": True,
    "claude-3-opus-20240229": False,
    "claude-test": False,
    "qwen3:8b": False,
}


@pytest.mark.parametrize(("name", "keeps"), NAMES.items())
def test_models_keep_thinking_by_family_and_version(name: str, keeps: bool) -> None:
    assert keeps_thinking(name) == keeps
    assert bool(KEEPS_THINKING.match(name)) == keeps, "the validator's own rule"
