"""A stand-in for a browser's push service over loopback, and for the browser behind it."""

import json
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def encode(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


@dataclass
class Pushed:
    """One push as the service got it; only its browser can read `body`."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class PushService:
    """Keeps what was pushed, and answers with `status`."""

    origin: str = ""
    status: int = 201
    headers: dict[str, str] = field(default_factory=dict)
    pushed: list[Pushed] = field(default_factory=list)


class PushBrowser:
    """A browser that subscribed at a service."""

    def __init__(self, service: PushService, name: str = "a") -> None:
        self.endpoint = f"{service.origin}/push/{name}"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._secret = b"sixteen bytes..."
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.subscription = {
            "endpoint": self.endpoint,
            "p256dh": encode(point),
            "auth": encode(self._secret),
        }

    def read(self, pushed: Pushed) -> dict[str, Any]:
        """What a push says."""
        plain = http_ece.decrypt(
            pushed.body, private_key=self._key, auth_secret=self._secret, version="aes128gcm"
        )
        told: dict[str, Any] = json.loads(plain)
        return told


@contextmanager
def run_push_service() -> Iterator[PushService]:
    service = PushService()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            service.pushed.append(Pushed(self.path, headers, body))
            self.send_response(service.status)
            for name, value in service.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.origin = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
