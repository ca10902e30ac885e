import os
import subprocess
import sys
from pathlib import Path

from agent.context.assemble import SUMMARY_HEADING
from demo.api.server import DemoServer
from demo.mind.playing import demo_script
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]
QUESTIONS = ["We call the project Kestrel.", *(f"Tell me more, part {n}." for n in range(2, 13))]
# Django cannot even be imported.
PROGRAM = """
import runpy, sys
sys.modules["django"] = None
runpy.run_module("examples.chat_without_django", run_name="__main__")
"""


def test_the_example_chats_and_compacts_itself_without_django(tmp_path: Path) -> None:
    with DemoServer(demo_script(tokens_per_s=0, remember=None)) as server:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PROGRAM],
            input="\n".join(QUESTIONS),
            env=os.environ
            | {
                "ANTHROPIC_API_KEY": "test",
                "ANTHROPIC_BASE_URL": server.base_url,
                "PYTHONPATH": str(ROOT),
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("messages compacted: ") >= 2
        assert "compacted: extract" not in done.stdout
        assert done.stdout.count("You wrote") == len(QUESTIONS)
        assert server.script.problems() == []
        chats = [r for r in server.script.requests if r.kind == "chat"]
        assert len(chats) == len(QUESTIONS)
        assert SUMMARY_HEADING in chats[-1].system_text
        assert "Kestrel" in chats[-1].messages[0]["content"][0]["text"]
        # What was said early is in the summary only.
        assert not any("part 2." in str(message) for message in chats[-1].messages)
