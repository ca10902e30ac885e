"""Frames straight to a socket: what our server offers beside ASGI's `send`.

`send` is a coroutine with four layers below it, 40 µs a frame; an answer has hundreds of them.
"""

import struct

# The extension's name in a websocket's scope. It takes the text of a frame in UTF-8 and writes it
# at once, also behind what a slow reader has not taken yet. It returns False where the socket is
# not open any more: `send` knows what to do then.
WRITE = "everlong.write"


def make_text_frame(payload: bytes) -> bytes:
    """A whole text message of a server, not masked and not compressed (RFC 6455, 5.2)."""
    size = len(payload)
    if size < 126:
        return bytes((0x81, size)) + payload
    if size < 1 << 16:
        return struct.pack("!BBH", 0x81, 126, size) + payload
    return struct.pack("!BBQ", 0x81, 127, size) + payload
