"""How servers say that a request is too long, and by how much.

Their words are not under our control: only the beginning is read, by patterns that cannot backtrack
far.
"""

import re

MOST_READ = 4_000  # characters of an error

_TOO_LONG = re.compile(
    "|".join(
        [
            "prompt is too long",  # Anthropic, Bedrock
            "exceed context limit",  # Anthropic, where the reply does not fit beside the request
            "input is too long for requested model",  # Bedrock
            "exceeds the maximum number of tokens allowed",  # Gemini, Vertex AI
            "ContextWindowExceededError",  # LiteLLM, whatever its backend said
            "available context size|exceed_context_size_error",  # llama.cpp
            "maximum context length|context_length_exceeded",  # OpenAI, OpenRouter, vLLM
            "context length is only|longer than the maximum model length",  # vLLM
            "exceeds the context (?:window|length)",  # OpenAI, Ollama
            "greater than the context length",  # LM Studio
        ]
    ),
    re.I,
)


def _sizes(pattern: str) -> re.Pattern[str]:
    """A pattern in which P stands for the request's tokens, R for the reply's, L for the limit."""
    for letter, name in (("P", "request"), ("R", "reply"), ("L", "limit")):
        pattern = pattern.replace(f"<{letter}>", rf"(?<!\d)(?P<{name}>[1-9]\d{{0,8}})(?!\d)")
    return re.compile(pattern, re.I)


_SIZES = [
    _sizes(r"<P> tokens > <L>"),
    _sizes(r"<P> \+ <R> > <L>"),
    _sizes(r"token count \(<P>\) exceeds the maximum number of tokens allowed \(<L>\)"),
    _sizes(r"request \(<P> tokens\) exceeds the available context size \(<L> tokens\)"),
    _sizes(r"n_prompt_tokens\W{1,5}<P>\W{1,5}n_ctx\W{1,5}<L>"),
    _sizes(r"<P> input tokens and requested <R> output tokens\D{1,80}<L>"),
    _sizes(r"prompt \(length <P>\) is longer than the maximum model length of <L>"),
    _sizes(r"context length is <L> tokens\D{1,80}<R> output tokens\D{1,80}<P> input tokens"),
    _sizes(r"context length is <L> tokens\D{1,80}<P>"),
]


def is_too_long(said: str) -> bool:
    """Whether an error's words say that the request is too long for the model."""
    return _TOO_LONG.search(said[:MOST_READ]) is not None


def read_share_taken(said: str) -> float | None:
    """How much of the request the server would take, 0 to 1; None where it does not say."""
    for pattern in _SIZES:
        if named := pattern.search(said[:MOST_READ]):
            sizes = {name: int(number) for name, number in named.groupdict().items()}
            share = (sizes["limit"] - sizes.get("reply", 0)) / sizes["request"]
            return max(0.0, share) if share < 1 else None
    return None
