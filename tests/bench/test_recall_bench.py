"""The benchmark of recall, on an authored dialogue of each form."""

import json
import os
import subprocess
import sys
from pathlib import Path

from bench.processes import ROOT

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
            {"question": "Where did the sister move?", "evidence": ["D1:1"]},
            {"question": "How many parrots?", "evidence": ["D1:3; D9:9"]},
            {"question": "Unanswerable?", "evidence": []},
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
}


def test_recall_is_measured_on_every_data_set(tmp_path: Path) -> None:
    for name, content in {
        "locomo/locomo.json": LOCOMO,
        "beam/100K_1.chat.json": BEAM,
        "beam/100K_1.questions.json": QUESTIONS,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    command = [sys.executable, "-m", "bench.recall", "--data", str(tmp_path), "--without-long"]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    figures = {
        line["metric"]: line["value"]
        for line in map(json.loads, filter(lambda text: text[:1] == "{", done.stdout.splitlines()))
    }
    for name in ("locomo", "beam_100k"):
        assert {figures[f"{name}.{measure}"] for measure in ("r5", "r20", "in_2k")} == {1}
        assert figures[f"{name}.empty"] == 0
        assert figures[f"{name}.p95_ms"] > 0
