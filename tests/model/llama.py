"""llama.cpp's server with real weights, in a process of its own (`tests/model/serve.py`)."""

from pathlib import Path
from typing import Self

from tests.support.server import ROOT, LoggedProcess
from tests.support.services import free_port

PYTHON = ROOT / ".venv-model" / "bin" / "python"
PATIENCE = 900.0  # seconds for one reply; on a machine that does nothing else, a twentieth of it
WINDOW = 16_384  # tokens that the server keeps; Everlong offers no model with less than 16,000


class NotSetUp(Exception):
    """There is no server; the message names the next step."""


class LlamaServer(LoggedProcess):
    """`weights`: a name that `serve.py` knows. With a `grammar` every reply follows it."""

    name = "llama"

    def __init__(self, directory: Path, weights: str, grammar: str = "") -> None:
        if not PYTHON.exists():
            raise NotSetUp("There is no model server in .venv-model: run `make test-model`.")
        self.weights = weights
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        here = Path(__file__).parent
        values = [weights, str(self.port), str(WINDOW), *([str(here / grammar)] if grammar else [])]
        super().__init__([str(PYTHON), str(here / "serve.py"), *values], directory, {})

    def start(self) -> Self:
        """Returns when it answers. Raises ProcessFailed."""
        super().start()
        self.wait_for_log("listening on", PATIENCE)
        return self
