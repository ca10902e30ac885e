"""The benchmark of recall, on an authored dialogue of each form."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.server import start_process

LOCOMO = [
    {
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "My sister moved to Lisbon."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "How nice for her!"},
                {"speaker": "Ada", "dia_id": "D1:3", "text": "She keeps two parrots."},
            ],
        },
        "qa": [
            {"question": "Where did the sister move?", "evidence": ["D1:1"], "category": 4},
            {"question": "How many parrots?", "evidence": ["D1:3; D9:9"], "category": 1},
            {"question": "Unanswerable?", "evidence": [], "category": 4},
        ],
    }
]
BEAM = [
    {
        "turns": [
            [
                {
                    "role": "user",
                    "id": 10,
                    "time_anchor": "March-15-2024",
                    "content": "The deadline is 4 June. ->-> 1,1",
                },
                {"role": "assistant", "id": 11, "content": "Noted."},
            ]
        ]
    }
]
QUESTIONS = {
    "contradiction_resolution": [],
    "information_extraction": [
        {"question": "When is the deadline?", "source_chat_ids": {"first": [10]}}
    ],
    "knowledge_update": [],
    "multi_session_reasoning": [],
    "temporal_reasoning": [],
    "abstention": [{"question": "Who is Karen?"}],
    "instruction_following": [{"question": "Who comes on Monday?", "source_chat_ids": [11]}],
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a dialogue of each form."""
    directory = tmp_path_factory.mktemp("recall")
    for name, content in {
        "locomo/locomo.json": LOCOMO,
        "beam/100K_1.chat.json": BEAM,
        "beam/100K_1.questions.json": QUESTIONS,
    }.items():
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    return directory


@pytest.fixture(scope="module")
def figures(data: Path) -> dict[str, float]:
    """What the benchmark prints, run once in a process of its own."""
    command = [sys.executable, "-m", "bench.recall", "--data", str(data), "--without-long"]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    said = data.with_name("said")
    with said.open("wb") as output:
        status = start_process(command, environment, output).wait()
    assert status == 0, said.read_text()
    lines = filter(lambda text: text[:1] == "{", said.read_text().splitlines())
    return {line["metric"]: line["value"] for line in map(json.loads, lines)}


def test_recall_is_measured_on_every_data_set(figures: dict[str, float]) -> None:
    for name in ("locomo", "beam_100k"):
        assert {figures[f"{name}.{measure}"] for measure in ("r5", "r20", "in_2k")} == {1}
        assert figures[f"{name}.p95_ms"] > 0
    assert figures["locomo.empty"] == 0
    assert figures["beam_100k.empty"] == 1


def test_every_category_is_reported_and_counts_where_words_can_lead_to_it(
    figures: dict[str, float],
) -> None:
    assert {figures[f"locomo.{name}.r10"] for name in ("single_hop", "multi_hop")} == {1}
    assert figures["beam.instruction_following.r10"] == 0
    assert figures["beam_100k.r10"] == 1
