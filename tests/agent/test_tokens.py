import json
from pathlib import Path

import pytest

from agent.tokens import (
    BYTES_PER_TOKEN,
    LEARNING_MINIMUM,
    LEARNING_WINDOW,
    PIECE,
    UNKNOWN_FACTOR,
    Factor,
    TokenCounter,
)
from tests.agent.conversations import COUNTER, call, image, result, text, thinking


@pytest.fixture(scope="module")
def counter(vocabulary_directory: Path) -> TokenCounter:
    """With the real vocabulary."""
    return TokenCounter(vocabulary_directory)


def test_count_is_that_of_the_vocabulary(counter: TokenCounter) -> None:
    assert counter.count("hello world") == 2
    assert counter.count("") == 0


def test_a_text_over_one_piece_counts_as_the_whole_does_but_for_a_token_each(
    counter: TokenCounter,
) -> None:
    assert counter.encoding
    long = "The quick brown fox. " * 12_000
    assert len(long) > 2 * PIECE
    whole = len(counter.encoding.encode_ordinary(long))
    assert whole <= counter.count(long) <= whole + 2


@pytest.mark.parametrize("filler", [" ", "\n", "a", "é", "🧪"])
def test_a_million_of_the_same_character_can_be_counted(counter: TokenCounter, filler: str) -> None:
    """As one piece, spaces make tiktoken panic with a BaseException."""
    assert counter.count(filler * 1_000_000 + "x") > 1_000


@pytest.mark.parametrize("special", ["<|endoftext|>", "<|fim_prefix|>", "\0", "\ud83e"])
def test_special_and_broken_texts_are_counted_as_text(counter: TokenCounter, special: str) -> None:
    assert counter.count(f"a {special} b") > 2
    assert COUNTER.count(special) > 0


def test_without_a_vocabulary_bytes_are_counted() -> None:
    assert COUNTER.encoding is None
    assert COUNTER.count("é" * 70) == 140 / BYTES_PER_TOKEN
    assert COUNTER.count("") == 0


def test_blocks_count_what_is_sent_back_of_them() -> None:
    nothing = COUNTER.count_blocks([])
    assert COUNTER.count_blocks([thinking("x" * 9_000)]) == nothing
    assert COUNTER.count_blocks([text("x" * 350)]) == nothing + 100
    assert COUNTER.count_blocks([image()]) > nothing + 1_000
    picture = COUNTER.count_blocks([result("t1", [text("seen"), image()])])
    assert picture > COUNTER.count_blocks([result("t1", [text("seen")])]) + 1_000
    arguments = COUNTER.count_blocks([call("t1", query="x" * 700)])
    assert arguments > nothing + 200


def test_a_document_counts_its_text_or_else_by_its_size() -> None:
    def document(**source: str) -> int:
        return COUNTER.count_blocks([{"type": "document", "source": source}])

    assert document(type="text", data="x" * 3_500) < document(type="text", data="x" * 7_000)
    assert document(type="base64", data="x" * 1_000_000) > 40_000
    assert document(type="url", url="https://example.org/a.pdf") > 1_000
    assert COUNTER.count_blocks([{"type": "document"}]) > 1_000


def test_an_unknown_block_counts_as_its_json() -> None:
    block = {"type": "of tomorrow", "data": "x" * 350}
    assert COUNTER.count_blocks([block]) >= COUNTER.count(json.dumps(block))


def test_factor_rounds_up() -> None:
    assert Factor(1.12, 0).apply(10) == 12
    assert Factor(1.0, 0).apply(0) == 0


def test_a_model_starts_with_the_factor_of_the_longest_prefix_that_fits() -> None:
    assert Factor.start("claude-opus-4-8-20260801").value > Factor.start("claude-opus-4-1").value
    assert Factor.start("qwen3:8b") == Factor(UNKNOWN_FACTOR, 0)


def test_learn_takes_the_first_reply_then_means_then_a_moving_average() -> None:
    factor = Factor(1.5, 0).learn(1_000, 1_200)
    assert factor == Factor(1.2, 1)
    factor = factor.learn(1_000, 1_400)
    assert factor.value == pytest.approx(1.3)
    settled = Factor(1.3, 500).learn(1_000, 1_500)
    assert settled.value == pytest.approx(1.3 + 0.2 / 20)
    assert settled.samples == 501


def test_learn_comes_to_the_true_factor_and_follows_a_change() -> None:
    factor = Factor(1.5, 0)
    for _ in range(50):
        factor = factor.learn(10_000, 11_200)
    assert factor.value == pytest.approx(1.12)
    for _ in range(100):
        factor = factor.learn(10_000, 14_200)
    assert factor.value == pytest.approx(1.42, abs=0.01)


@pytest.mark.parametrize(
    ("raw", "reported"),
    [(LEARNING_MINIMUM - 1, 130), (0, 0), (1_000, 499), (1_000, 4_001), (1_000, 0)],
)
def test_learn_ignores_short_requests_and_ratios_that_are_no_tokenizers(
    raw: int, reported: int
) -> None:
    assert Factor(1.3, 7).learn(raw, reported) == Factor(1.3, 7)


def test_only_a_learned_factor_is_a_reason_to_doubt_a_report() -> None:
    """The assumed one is high: some tokenizers need half as many tokens."""
    assert Factor(1.5, 0).learn(1_000, 600) == Factor(0.6, 1)
    assert Factor(1.5, 7).learn(1_000, 600) == Factor(1.5, 7)


def test_learn_ignores_a_report_under_half_of_the_estimate() -> None:
    factor = Factor(1.42, 7)
    assert factor.learn(10_000, 7_099) == factor
    assert factor.learn(10_000, 7_100) != factor


def test_a_settled_factor_stays_where_it_would_hardly_move() -> None:
    settled = Factor(1.3, LEARNING_WINDOW)
    assert settled.learn(100_000, 130_900) == settled
    assert settled.learn(100_000, 131_100) != settled
    assert Factor(1.3, LEARNING_WINDOW - 1).learn(100_000, 130_900).samples == LEARNING_WINDOW
