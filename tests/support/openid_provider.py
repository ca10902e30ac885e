"""A provider of identities in a process of its own: oidc-provider-mock."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from tests.support.patience import PATIENCE
from tests.support.server import LoggedProcess


class OpenIdProviderProcess(LoggedProcess):
    """Answers at `http://localhost:{port}`. `people`: the claims of each, with "sub"; a browser
    signs in as one of them by the button of that name."""

    name = "openid-provider"

    def __init__(self, directory: Path, port: int, people: Sequence[dict[str, Any]]) -> None:
        arguments = ["-m", "oidc_provider_mock", "--port", str(port)]
        for person in people:
            arguments += ["--user-claims", json.dumps(person)]
        super().__init__([sys.executable, *arguments], directory, {})

    def start(self) -> Self:
        """Returns when it answers. Raises ProcessFailed."""
        super().start()
        self.wait_for_log("Uvicorn running", PATIENCE)
        return self
