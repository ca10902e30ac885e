"""Firefox and WebKitGTK by the commands of WebDriver, which both know by the same names.

Firefox takes them as Marionette, over a socket of its own; WebKitGTK from the driver that Debian
packages with it, over HTTP. So neither geckodriver nor Selenium is needed.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.support.patience import PATIENCE
from tests.support.services import free_port

Process = subprocess.Popen[bytes]
T = TypeVar("T")
INSTALL = "On Debian or Ubuntu: apt install firefox-esr webkit2gtk-driver xvfb"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # what WebDriver calls a reference to an element
CONTROL, ENTER, ESCAPE = "\ue009", "\ue007", "\ue00c"
# By name, which both know: where WebKitWebDriver takes it.
PATHS = {
    "Navigate": "url",
    "Refresh": "refresh",
    "ElementClick": "element/{id}/click",
    "ElementSendKeys": "element/{id}/value",
    "PerformActions": "actions",
    "ExecuteScript": "execute/sync",
    "SetWindowRect": "window/rect",
}
PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.disable_open_during_load": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}


class DriverError(Exception):
    """A command was refused; the message is the browser's."""


class Firefox:
    """Marionette: `[0, id, name, parameters]`, answered by `[1, id, error, result]`, each after its
    length."""

    def __init__(self, directory: Path) -> None:
        self._port = free_port()
        profile = directory / "firefox"
        profile.mkdir()
        chosen = PREFERENCES | {"marionette.port": self._port}
        lines = [f'user_pref("{name}", {json.dumps(value)});' for name, value in chosen.items()]
        (profile / "user.js").write_text("\n".join(lines))
        command = [program("firefox-esr", "firefox"), "--headless", "--marionette"]
        self._process = start([*command, "--profile", str(profile)], HOME=str(directory))
        self._number = 0
        self._socket = wait_for(self._connect)
        self._read()  # it says who it is
        self.send("NewSession", {"capabilities": {"alwaysMatch": {}}})

    def _connect(self) -> socket.socket | None:
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE)
        return None

    def send(self, name: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        message = json.dumps([0, self._number, f"WebDriver:{name}", parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._read()
        if error:
            raise DriverError(f"{name}: {error['error']}: {error['message']}")
        return result["value"] if isinstance(result, dict) and "value" in result else result

    def _read(self) -> Any:
        size = b""
        while not size.endswith(b":"):
            size += self._receive(1)
        return json.loads(self._receive(int(size[:-1])))

    def _receive(self, size: int) -> bytes:
        parts = b""
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise DriverError("Firefox has ended.")
            parts += part
        return parts

    def close(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()


class WebKit:
    """WebKitWebDriver over HTTP, on a screen that nobody sees."""

    def __init__(self, directory: Path) -> None:
        port = free_port()
        readable, writable = os.pipe()
        screen = [program("Xvfb"), "-displayfd", str(writable), "-screen", "0", "1440x1000x24"]
        self._processes = [start(screen, pass_fds=(writable,))]
        os.close(writable)
        with os.fdopen(readable) as told:
            display = f":{told.readline().strip()}"
        driver = [program("WebKitWebDriver"), f"--port={port}"]
        self._processes.append(start(driver, DISPLAY=display, HOME=str(directory)))
        self._url = f"http://127.0.0.1:{port}/session"
        options = {"binary": mini_browser(), "args": ["--automation"]}
        wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        wait_for(lambda: self._listens(port))
        session = self._request("POST", "", {"capabilities": wanted})
        self._url += f"/{session['sessionId']}"

    def _listens(self, port: int) -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        return False

    def send(self, name: str, parameters: dict[str, Any]) -> Any:
        path = PATHS[name].format(**parameters)
        return self._request("POST", f"/{path}", parameters)

    def _request(self, method: str, path: str, parameters: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            self._url + path, json.dumps(parameters).encode(), method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            told = json.load(error)["value"]
            raise DriverError(f"{path}: {told['error']}: {told['message']}") from None

    def close(self) -> None:
        with contextlib.suppress(DriverError, OSError):
            self._request("DELETE", "", {})
        for process in reversed(self._processes):
            process.kill()
            process.wait()


class Window:
    """What a person does in a browser's window. What is not there yet is waited for."""

    def __init__(self, browser: Firefox | WebKit) -> None:
        self.browser = browser

    def open(self, url: str) -> None:
        self.browser.send("Navigate", {"url": url})

    def reload(self) -> None:
        self.browser.send("Refresh", {})

    def size(self, width: int, height: int) -> None:
        self.browser.send("SetWindowRect", {"width": width, "height": height})

    def run(self, script: str, *arguments: object) -> Any:
        """What `return` gives in the page."""
        parameters = {"script": script, "args": list(arguments)}
        return self.browser.send("ExecuteScript", parameters)

    def until(self, condition: str, *arguments: object) -> Any:
        """Wait until an expression is true in the page; its value. Raises AssertionError."""
        found = wait_for(lambda: self.run(f"return {condition}", *arguments))
        assert found, f"It did not become true: {condition}"
        return found

    def see(self, text: str, where: str = "body") -> None:
        """Wait until a text is shown."""
        script = "document.querySelector(arguments[0])?.innerText.includes(arguments[1])"
        self.until(script, where, text)

    def find(self, selector: str) -> str:
        """The reference of the first element that is shown."""

        def shown() -> str | None:
            found = self.run(
                "return [...document.querySelectorAll(arguments[0])].find("
                "(node) => node.checkVisibility() || node.type === 'file') ?? null",
                selector,
            )
            return found[ELEMENT] if found else None

        found = wait_for(shown)
        assert found, f"It is not shown: {selector}"
        return found

    def click(self, selector: str) -> None:
        """Press what a selector finds, once it stands still: what unfolds moves what it holds."""
        place = None

        def stands_still() -> str | None:
            nonlocal place
            found, before = self.find(selector), place
            try:
                place = self.run(
                    "return JSON.stringify(arguments[0].getBoundingClientRect())", {ELEMENT: found}
                )
            except DriverError as error:
                if "stale element" not in str(error):
                    raise
                return None  # drawn anew meanwhile
            return found if place == before else None

        found = wait_for(stands_still)
        assert found, f"It keeps moving: {selector}"
        self.browser.send("ElementClick", {"id": found})

    def type(self, selector: str, text: str) -> None:
        self.browser.send("ElementSendKeys", {"id": self.find(selector), "text": text})

    def press(self, *keys: str) -> None:
        """Keys at once, wherever the focus is."""
        pressed = [{"type": "keyDown", "value": key} for key in keys]
        let_go = [{"type": "keyUp", "value": key} for key in reversed(keys)]
        keyboard = {"type": "key", "id": "keyboard", "actions": pressed + let_go}
        self.browser.send("PerformActions", {"actions": [keyboard]})


def program(*names: str) -> str:
    """The path of the first of these programs. Raises DriverError."""
    for name in names:
        if found := shutil.which(name):
            return found
    raise DriverError(f"{names[0]} is not installed. {INSTALL}")


def mini_browser() -> str:
    found = sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))
    if not found:
        raise DriverError(f"WebKitGTK's MiniBrowser is not installed. {INSTALL}")
    return str(found[-1])


def start(command: list[str], pass_fds: tuple[int, ...] = (), **environment: str) -> Process:
    return subprocess.Popen(
        command,
        env={**os.environ, **environment},
        pass_fds=pass_fds,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for(look: Callable[[], T]) -> T:
    """What `look` gives as soon as it is true; its last word where time is over."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found
