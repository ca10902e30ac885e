"""Finds Chromium, or installs it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

INSTALL_TIMEOUT = 300  # seconds
APT_PACKAGE = "chromium-headless-shell"  # the whole browser takes a fifth more of processor time

LAUNCH_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # Fewer processes and threads: a sixth less of processor time.
    "--renderer-process-limit=1",
    "--js-flags=--single-threaded",
]


class ChromiumUnavailable(Exception):
    """There is no Chromium, and none could be installed; the message says why."""


def find_chromium() -> Path:
    """CHROMIUM_PATH, PATH, Playwright's cache, Playwright's download, apt as root: the first that
    there is. Raises ChromiumUnavailable."""
    if given := os.environ.get("CHROMIUM_PATH"):
        if not os.access(given, os.X_OK):
            raise ChromiumUnavailable(f"CHROMIUM_PATH is {given}, which is not a program.")
        return Path(given)
    if found := installed():
        return found
    reasons = [
        run("Playwright's download", [sys.executable, "-m", "playwright", "install", "chromium"])
    ]
    if found := installed():
        return found
    if os.geteuid() == 0 and shutil.which("apt-get"):
        install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", APT_PACKAGE]
        reasons.append(run("apt-get update", ["apt-get", "update", "-q"]))
        reasons.append(run("apt-get install", install))
    if found := installed():
        return found
    raise ChromiumUnavailable(
        "Chromium is missing and could not be installed ("
        + "; ".join(reason for reason in reasons if reason)
        + "). Install it, or set CHROMIUM_PATH to a Chromium or Chrome."
    )


def installed() -> Path | None:
    """In PATH or in Playwright's cache; the lightest first."""
    for name in (APT_PACKAGE, "chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return Path(path)
    cache = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright"
    # The newest first; the folder inside was renamed once ("chrome-linux", "chrome-linux64").
    found = sorted(Path(cache).glob("chromium-*/chrome-linux*/chrome"), reverse=True)
    return found[0] if found else None


def run(what: str, command: list[str]) -> str:
    """Run an installer. Returns why it failed, or an empty string."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT,
            check=False,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{what}: {error}"
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() or line.startswith("E:")] or lines
    return f"{what}: {telling[0][:200] if telling else f'exit code {done.returncode}'}"
