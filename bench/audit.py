"""What does the audit of a summary make of true statements and of lies, in ten languages?

`python -m bench.audit [--data DIRECTORY]`: the bullets of `bench.restatements`, at once and after a
model has answered for what was doubted; with messages of LoCoMo and BEAM, the processor time of a
chapter about 160,000 tokens of them.
"""

import argparse
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from random import Random

from agent.audit.audit import audit
from agent.audit.evidence import Source
from agent.messages import AgentMessage, RawTokens, plain_text
from bench.dialogues import read_dialogues
from bench.replay.summariser import split_sentences
from bench.report import Report, Times, median
from bench.restatements import (
    CERTAIN,
    FILE,
    LESS_CERTAIN,
    LONGER,
    MOST_CERTAIN,
    MOST_LESS_CERTAIN,
    MOST_MARKED,
    Restatement,
    judge,
    judge_answered,
    read_restatements,
)

LONG = 640_000  # characters of messages: about 160,000 tokens
CHAPTER = 45  # bullets of about 2,000 tokens
MOST_MS = 100


def report_rates(report: Report, name: str, cases: Sequence[Restatement]) -> None:
    """Of true ones what is doubted, and what an honest model rescues; of each kind of lie what
    passes, at once and with a careless model's quote."""
    true = [each for each in cases if each.true]
    doubted = sum(judge(each) != "passed" for each in true)
    report.add(f"{name}.true.doubted", doubted / len(true), "share")
    answered = list(map(judge_answered, true))
    for outcome, most in (("marked", MOST_MARKED), ("dropped", 0.0)):
        share = answered.count(outcome) / len(true)
        report.add(f"{name}.true.{outcome}.honest", share, "share", most)
    for kinds, most in ((CERTAIN, MOST_CERTAIN), (LESS_CERTAIN, MOST_LESS_CERTAIN)):
        for kind in kinds:
            lies = [each for each in cases if each.kind == kind]
            at_once = [judge(each) for each in lies].count("passed") / len(lies)
            answered = list(map(judge_answered, lies))
            report.add(f"{name}.lie.{kind}.at_once", at_once, "share")
            share = answered.count("passed") / len(lies)
            report.add(f"{name}.lie.{kind}.careless", share, "share", most)


def measure_time(report: Report, folder: Path) -> None:
    """Of a chapter about as many messages as a compaction reads."""
    texts = [text for each in read_dialogues(folder) for _, text, _ in each.messages]
    sizes = accumulate(map(len, texts))
    messages = [
        AgentMessage(number, "user", [{"type": "text", "text": text}], RawTokens(0))
        for number, (text, size) in enumerate(zip(texts, sizes, strict=True), 1)
        if size <= LONG
    ]
    said = [(split_sentences(plain_text(m.blocks)), m.number) for m in messages]
    chosen = Random(0).sample([(each[0], number) for each, number in said if each], CHAPTER)
    bullets = "\n".join(f"- {sentence} [#{number}]" for sentence, number in chosen)
    times = Times()
    for _ in range(5):
        times.measure(lambda: audit(f"## Facts and values\n{bullets}", Source(messages)))
    report.add("chapter_of_160k.cpu_ms", median(times.processor), "ms", MOST_MS)


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.audit", description=__doc__)
    parser.add_argument("--data", type=Path, help="holds locomo/ and beam/")
    parser.add_argument("--show", default="", help="print the bullets of this kind that go wrong")
    options = parser.parse_args()
    short, longer = read_restatements(FILE), read_restatements(LONGER)
    for case in [*short, *longer] if options.show else ():
        outcome = judge_answered(case)
        if case.kind == options.show and case.true != (outcome == "passed"):
            print(outcome, case.language, case.bullet)
    report = Report(f"The audit, {len(short) + len(longer)} bullets in ten languages")
    report_rates(report, "short", short)
    report_rates(report, "longer", longer)
    if options.data:
        measure_time(report, options.data)
    report.print_table()
    return report


if __name__ == "__main__":
    main()
