"""What a client is told whose request is not served."""

from http import HTTPStatus

# How long a refused client is listened to, so that it can read the answer: if the connection were
# closed while it still sends, the kernel would throw the answer away.
LINGER = 5.0


def make_refusal(status: int, words: str, *headers: tuple[str, str]) -> bytes:
    """A whole response, after which the connection is closed."""
    fields = {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Length": str(len(words.encode())),
        "Connection": "close",
        **dict(headers),
    }
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", words]).encode()
