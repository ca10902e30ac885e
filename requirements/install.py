"""`python requirements/install.py FILE` installs a lock file into the environment that runs it.

With uv, which is installed from the same registry first and takes a tenth of pip's processor time.
uv does not read pip's settings, so a mirror, a proxy or certificates named there are passed on to
it. Where uv cannot be had, or fails, pip installs, and a line says so. Needs only Python.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

UV_FILE = Path(__file__).with_name("uv.txt")
UV = str(Path(sys.executable).with_name("uv"))
# There while packages are being installed: uv that is killed leaves packages that look complete and
# are not.
UNFINISHED = Path(sys.prefix, ".unfinished")
# --no-compile: byte-compiling every module of every package takes longer than all the rest. Python
# compiles a module when it is first imported.
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
PIP_INSTALL = [*PIP, "install", "-qq", "--no-compile", "--require-hashes", "-r"]
# pip's settings and what uv calls them. What is not here, uv does not have or reads by itself.
NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
    "proxy": "ALL_PROXY",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
}
LISTS = {"UV_INDEX": " ", "UV_FIND_LINKS": ",", "UV_INSECURE_HOST": " "}
# Of one setting, the later wins: files' [global], their [install], the environment.
SECTIONS = ("global", "install", ":env:")


class Failed(Exception):
    """A command failed; the message is the last line that it wrote."""


def run(command: list[str], environment: Mapping[str, str] | None = None) -> str:
    """What a command prints. Raises Failed."""
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        raise Failed(said(error.stderr)) from error
    except OSError as error:
        raise Failed(str(error)) from error
    return done.stdout


def said(stderr: str) -> str:
    """The last line of what a command complained of."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason was given"


def read_pip_settings(listed: str) -> dict[str, str]:
    """The settings in force, out of `pip config list`: lines like `global.index-url='https://…'`."""
    found: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in found:
            found[section][name] = str(ast.literal_eval(value))
    return {name: value for section in SECTIONS for name, value in found[section].items()}


def environment_for_uv(settings: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The environment `own` with pip's settings in uv's words. What is set for uv itself, stays."""
    passed_on = {NAMES[name]: value for name, value in settings.items() if name in NAMES and value}
    for name, separator in LISTS.items():
        if name in passed_on:
            passed_on[name] = separator.join(passed_on[name].split())
    if bundle := own.get("REQUESTS_CA_BUNDLE") or own.get("CURL_CA_BUNDLE"):
        passed_on.setdefault("SSL_CERT_FILE", bundle)  # pip reads these
    ours = {
        # As pip does: from all indexes together. Hashes say which file is meant.
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_SYSTEM_CERTS": "1",
    }
    return {**ours, **passed_on, **own}


def require_uv() -> None:
    """Install the locked uv if it is not there. Raises Failed."""
    if not is_locked_uv():
        run([*PIP_INSTALL, str(UV_FILE), "--only-binary", ":all:", "--force-reinstall"])


def is_locked_uv() -> bool:
    try:
        return f"uv=={run([UV, '--version']).split()[1]}" in UV_FILE.read_text().split()
    except Failed:
        return False


def install(file: str) -> None:
    """Raises subprocess.CalledProcessError if pip fails too; it has said why."""
    again = UNFINISHED.exists()
    UNFINISHED.touch()
    try:
        require_uv()
        install_with_uv(file, again=again)
    except Failed as error:
        print(
            f"Without uv ({error}): pip installs, which takes a minute or two longer.", flush=True
        )
        again = again or is_locked_uv()  # which may have begun
        subprocess.run([*PIP_INSTALL, file, *(["--force-reinstall"] if again else [])], check=True)
    UNFINISHED.unlink()


def install_with_uv(file: str, *, again: bool) -> None:
    """`again`: also what seems to be there already. Raises Failed."""
    environment = environment_for_uv(read_pip_settings(run([*PIP, "config", "list"])), os.environ)
    command = [UV, "pip", "install", "-q", "--python", sys.executable, "--require-hashes"]
    run([*command, *(["--reinstall"] if again else []), "-r", file], environment)


if __name__ == "__main__":
    try:
        install(sys.argv[1])
    except subprocess.CalledProcessError as failed:
        sys.exit(failed.returncode)
    except KeyboardInterrupt:
        sys.exit("Interrupted. Start it again.")
