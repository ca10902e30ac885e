"""Tools as the model sees them. `chat.tools`, which has their data, runs them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool that a request declares. `timeout` is seconds for one call."""

    name: str
    description: str
    input_schema: dict[str, Any]
    timeout: float = 30.0
