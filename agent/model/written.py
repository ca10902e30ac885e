"""How many tokens a call has written so far."""

from dataclasses import dataclass, field

from agent.messages import RawTokens
from agent.tokens import TokenCounter


@dataclass
class Written:
    """What a call writes, word for word: text, thinking, the input of tools. It is counted a part
    at a time, so that a count each second does not grow with the reply. It may be added to in one
    thread and counted in another."""

    pieces: list[str] = field(default_factory=list)
    _counted: tuple[int, int] = (0, 0)  # pieces, and their raw tokens

    def add(self, piece: str) -> None:
        self.pieces.append(piece)

    def count(self, counter: TokenCounter) -> RawTokens:
        before, tokens = self._counted
        after = len(self.pieces)
        tokens += counter.count("".join(self.pieces[before:after]))
        self._counted = after, tokens
        return RawTokens(tokens)
