"""Events as frames."""

import json

import pytest

from chat.protocol.events import TurnDelta, encode_frame


@pytest.mark.parametrize("text", ["Grüße 🧪", "half a pair: \ud83d", "\u2028 <&> \x00"])
def test_any_text_survives_its_frame(text: str) -> None:
    frame = json.loads(encode_frame(TurnDelta(1, 2, 3, offset=0, text=text)))
    assert frame == {
        "type": "turn.delta",
        "turn_id": 1,
        "message_id": 2,
        "seq": 3,
        "offset": 0,
        "text": text,
    }
