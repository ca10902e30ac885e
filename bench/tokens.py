"""How well token counts are estimated, against what the API reported.

`python -m bench.tokens --data DIRECTORY`, where the directory holds `tokens/`: texts with their
true counts, and one long session with the true size of every request.
"""

import argparse
import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.messages import Block, RawTokens
from agent.tokens import Factor, TokenCounter
from bench.report import Report, percentile

VOCABULARY = Path(__file__).resolve().parent.parent / "var" / "tiktoken"
# Fixed overhead dominates shorter texts, and no context fills up with them.
SHORTEST = 40
LEARNING_REPLIES = 20
BUDGET = 200_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One text: raw count and the API's."""

    raw: RawTokens
    true: int


def read_family(model: str) -> str:
    """A model's name without its date: `claude-haiku-4-5-20251001` to `claude-haiku-4-5`."""
    return re.sub(r"-(\d{8}|latest)$", "", model)


def read_samples(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def measure_errors(samples: Iterable[Sample], factor: Factor) -> list[float]:
    """Relative errors, negative for underestimates."""
    return [(sample.raw * factor.value - sample.true) / sample.true for sample in samples]


def read_replies(folder: Path, counter: TokenCounter) -> dict[str, list[Sample]]:
    """Texts that models wrote, with their reported output tokens, by family."""
    found: dict[str, list[Sample]] = defaultdict(list)
    for row in read_samples(folder / "output_text.jsonl"):
        raw = counter.count(row["output_text"])
        if raw >= SHORTEST:
            found[read_family(row["model"])].append(Sample(raw, row["output_tokens"]))
    return found


def learn_factor(samples: list[Sample], factor: Factor) -> Factor:
    for sample in samples:
        factor = factor.learn(sample.raw, sample.true)
    return factor


def report_texts(report: Report, folder: Path, counter: TokenCounter) -> None:
    """The estimate of single texts, with the start factor and after 20 replies."""
    for name, samples in sorted(read_replies(folder, counter).items()):
        start = Factor.start(name)
        write_errors(report, f"tokens.{name}.start", measure_errors(samples, start), goal=False)
        rest = samples[LEARNING_REPLIES:]
        if len(rest) >= LEARNING_REPLIES:
            after = learn_factor(samples[:LEARNING_REPLIES], start)
            write_errors(report, f"tokens.{name}", measure_errors(rest, after), goal=True)


def write_errors(report: Report, name: str, values: list[float], *, goal: bool) -> None:
    sizes = [abs(value) for value in values]
    report.add(f"{name}.median_error", statistics.median(sizes), "ratio", 0.03 if goal else None)
    report.add(f"{name}.p95_error", percentile(sizes, 0.95), "ratio", 0.12 if goal else None)
    report.add(f"{name}.underestimates", sum(v < 0 for v in values) / len(values), "ratio")
    report.add(f"{name}.samples", len(values), "texts")


def read_blocks(content: Any) -> list[Block]:
    """The session's content as blocks, thinking left out as in our requests."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    found: list[Block] = []
    for part in content or []:
        if part.get("type") == "toolCall":
            call = {"type": "tool_use", "id": "t", "name": part["name"], "input": part["arguments"]}
            found.append(call)
        elif part.get("text"):
            found.append({"type": "text", "text": part["text"]})
    return found


def report_session(report: Report, folder: Path, counter: TokenCounter) -> None:
    """The meter on a replayed conversation. Before every request its true size is predicted from
    the last reply's usage and an estimate of what is newer; and, as for a server that reports no
    usage, from estimates alone. The factor learns from each request as a turn does."""
    factor = Factor.start("claude-sonnet-4-5")
    meter: list[float] = []
    blind: list[float] = []
    late_meter = late_blind = 0.0
    base = last_total = 0
    raw_total = last_raw = RawTokens(0)
    for row in read_samples(folder / "session_usage.jsonl"):
        true = row["prompt_tokens_total"]
        newer = row.get("growth_messages")
        raw = RawTokens(sum(counter.count_blocks(read_blocks(m["content"])) for m in newer or []))
        if newer is None or true < last_total:
            # The session began, or dropped something: what is left has no texts to count.
            base, raw_total = true, RawTokens(0)
        else:
            raw_total = RawTokens(raw_total + last_raw + raw)
            for found, predicted in (
                (meter, last_total + factor.apply(raw)),
                (blind, base + factor.apply(raw_total)),
            ):
                found.append((predicted - true) / true)
            late_meter = max(late_meter, true - last_total - factor.apply(raw))
            late_blind = max(late_blind, true - base - factor.apply(raw_total))
            factor = factor.learn(raw_total, true - base)
        last_total = true + row["output_tokens"]
        last_raw = counter.count_blocks(read_blocks(row["output_content"]))
    rest = slice(LEARNING_REPLIES, None)
    write_errors(report, "tokens.session", meter[rest], goal=True)
    write_errors(report, "tokens.session_without_usage", blind[rest], goal=True)
    report.add("tokens.session.trigger_late", 100 * late_meter / BUDGET, "points", 5)
    report.add("tokens.session_without_usage.trigger_late", 100 * late_blind / BUDGET, "points", 5)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.tokens", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="holds tokens/")
    parser.add_argument("--vocabulary", type=Path, default=VOCABULARY)
    options = parser.parse_args()
    counter = TokenCounter(options.vocabulary)
    if counter.encoding is None:
        parser.error(f"no vocabulary in {options.vocabulary}: run `make setup`")
    report = Report("Token counts against the API's")
    report_texts(report, options.data / "tokens", counter)
    report_session(report, options.data / "tokens", counter)
    report.print_table()


if __name__ == "__main__":
    main()
