"""A browser profile that notices whatever runs, breaks a policy or leaves the site."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page, Request

from tests.support.server import ROOT, EverlongProcess

# Before any script of a page: what an injected script would call, and what the browser refuses.
WATCH = """
window.__xss = "untouched";
window.__noticed = [];
for (const name of ["alert", "confirm", "prompt", "print", "open"]) {
  window[name] = (...said) => void window.__noticed.push(`${name} ${said}`);
}
addEventListener("securitypolicyviolation", (event) => {
  window.__noticed.push(`policy ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
addEventListener("error", (event) => window.__noticed.push(`error ${event.message}`), true);
"""

OVERFLOW = (Path(__file__).parent / "overflow.js").read_text("utf-8")


@dataclass
class Watched:
    """What a profile's pages did that they should not."""

    context: BrowserContext
    site: str
    noticed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context.add_init_script(WATCH)
        self.context.on("dialog", self._dialog)
        self.context.on("console", self._console)
        self.context.on("request", self._request)
        self.context.on("weberror", lambda error: self.noticed.append(f"page error {error.error}"))

    def _dialog(self, dialog: Dialog) -> None:
        self.noticed.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.noticed.append(f"console {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.site, "ws", "data:")):
            self.noticed.append(f"request {request.url}")

    def problems(self, page: Page) -> list[str]:
        """Everything noticed so far, of this page and of the profile."""
        found: list[str] = page.evaluate("() => window.__noticed")
        touched = page.evaluate("() => window.__xss")
        return [*self.noticed, *found, *([] if touched == "untouched" else [f"__xss {touched}"])]


def sign_in(context: BrowserContext, server: EverlongProcess, session: str) -> None:
    context.add_cookies([{"name": server.cookie("session"), "value": session, "url": server.url}])


def seed(server: EverlongProcess, data: Path, *kinds: str) -> dict[str, Any]:
    """Run tests/data/seed.py on a server's database."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.data.seed", str(data), *kinds],
        cwd=ROOT,
        env=server.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    made: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return made
