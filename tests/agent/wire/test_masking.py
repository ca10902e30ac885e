"""Secrets in what others say: masked in every form; words and names of models stay."""

from urllib.parse import quote

import pytest

from agent.errors import AgentError, ErrorCode, ToolError
from agent.wire import masking
from agent.wire.masking import MASK, mask, remember_secret

KEY = 'pk/live "7"+3<ab>cdefghij'


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_known", frozenset())
    monkeypatch.setattr(masking, "_pattern", None)


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        KEY.upper(),
        quote(KEY),
        quote(KEY, safe="").lower(),
        'pk/live \\"7\\"+3<ab>cdefghij',
        "pk/live &quot;7&quot;+3&lt;ab&gt;cdefghij",
    ],
)
def test_a_known_secret_is_masked_as_it_travels(form: str) -> None:
    remember_secret(KEY)
    assert mask(f"No,{form}.") == f"No,{MASK}."
    assert mask(f"Authorization: Bearer {form}") == f"Authorization: Bearer {MASK}"


def test_a_short_secret_is_masked_where_it_stands_alone() -> None:
    remember_secret("k-12")
    assert mask("k-12, ask-123 and 'k-12'") == f"{MASK}, ask-123 and '{MASK}'"


@pytest.mark.parametrize("word", ["none", "ollama", "EMPTY", "lm-studio", "Anything", "x", ""])
def test_a_key_that_is_a_word_leaves_sentences_alone(word: str) -> None:
    remember_secret(word)
    said = f"Set it to {word or 'it'}: ollama knows none of lm-studio's, EMPTY or Anything x."
    assert mask(said) == said


def test_a_key_that_is_a_word_is_masked_where_a_text_speaks_of_keys() -> None:
    remember_secret("hunter-pass")
    remember_secret("none")
    assert mask("The key hunter-pass lacks a scope") == f"The key {MASK} lacks a scope"
    assert mask("Authorization: Bearer hunter-pass") == f"Authorization: Bearer {MASK}"
    assert mask("api_key='hunter-pass'") == f"api_key='{MASK}'"
    assert mask("none of the hunter-passes, and no tokens") == (
        "none of the hunter-passes, and no tokens"
    )


@pytest.mark.parametrize(
    "said",
    [
        "sk-ant-api03-abcdefg_hi",
        "sk-proj-T3BlbkFJabcdef",
        "sk-main-SECRETSECRET",
        "Bearer abc123def456",
        "Bearer%20abc123def456",
        "api_key=0a1b2c3d4e5f6g7h8i9j",
        'X-Api-Key: "AIzaSyD4x8abcdefghijk1234"',
        "Incorrect API key provided: AIzaSyD4x8abcdefghijk1234",
        "token%3D550e8400-e29b-41d4-a716-446655440000",
        "https://somebody:pass@proxy",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    ],
)
def test_what_looks_like_a_key_is_masked(said: str) -> None:
    assert MASK in mask(f"It said ({said}).")
    for part in ("SECRET", "abcdef", "abc123", "1b2c3d", "e29b", "somebody", "pass@", "eyJzdW"):
        assert part not in mask(said)


@pytest.mark.parametrize(
    "said",
    [
        "model claude-sonnet-5-5-20260101 not found",
        "key: claude-3-5-sonnet-20241022 is not one of the models",
        "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens",
        "Missing bearer token or basic authentication",
        "pip install sk-learn-extensions",
        "request req_011CQ8abcdefgh1234567890 failed at https://a.example:443/v1/messages",
        "prompt is too long: 203,112 tokens > 200000 maximum",
        "the conversation 550e8400-e29b-41d4-a716-446655440000 is gone",
        "mail a@b.example, or the password is wrong",
    ],
)
def test_ordinary_words_stay(said: str) -> None:
    assert mask(said) == said


def test_no_error_carries_a_secret() -> None:
    remember_secret(KEY)
    error = AgentError(ErrorCode.SERVER_ERROR, "It failed.", said=f"No scope for {KEY}")
    assert KEY not in f"{error}{error.as_dict()}"
    assert str(ToolError(f"refused {KEY}")) == f"refused {MASK}"
