"""Frames that are written past the server's library."""

import pytest
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from server.writing import make_text_frame


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536])
def test_a_client_reads_a_frame_of_any_length(size: int) -> None:
    payload = b"a" * size
    reader = StreamReader()
    reader.feed_data(make_text_frame(payload))
    parsing = Frame.parse(reader.read_exact, mask=False)
    with pytest.raises(StopIteration) as read:
        next(parsing)
    frame = read.value.value
    assert (frame.opcode, frame.fin, bytes(frame.data)) == (Opcode.TEXT, True, payload)
    assert reader.buffer == b"", "and nothing is left over"
