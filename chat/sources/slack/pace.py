"""How fast the bot posts: Slack allows a message a second in a channel, and about 50 changes a
minute in all (https://docs.slack.dev/apis/web-api/rate-limits)."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Pace:
    """`between` seconds between two posts or changes in a channel; `updates` between two changes of
    answers that are being written, in a channel, and with several channels in all of them together.
    Belongs to one event loop."""

    between: float = 1.0
    updates: float = 2.0
    after_fault: float = 5.0
    after_refusal: float = 60.0
    _next: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _updated: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    async def wait_for(self, channel: str) -> None:
        """Until it is a channel's turn."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._next[channel])
        self._next[channel] = at + self.between
        if at > now:
            await asyncio.sleep(at - now)

    def may_update(self, channel: str) -> bool:
        """Whether an answer that is being written in a channel may be shown as it is now."""
        now = asyncio.get_running_loop().time()
        active = sum(at > now - 60 for at in self._updated.values())
        if now - self._updated[channel] < self.updates * max(1, active):
            return False
        self._updated[channel] = now
        return True
