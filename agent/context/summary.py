"""The summary as a request carries it and the page shows it."""

from dataclasses import dataclass

CURRENT_WORK = "## Current work and next step"
PINS_HEADING = "## Standing instructions and preferences (the user's words)"
INDEX_HEADING = "## Index of exact values (from the user's messages)"
# Between the parts of a stored summary: a line across in Markdown.
SEPARATOR = "\n\n* * *\n\n"


@dataclass(frozen=True, slots=True)
class Summary:
    """What is injected: one text a chapter, then the current work, pins and index, which change
    with every compaction and therefore come last."""

    chapters: tuple[str, ...] = ()
    appendix: str = ""

    @property
    def text(self) -> str:
        """The whole, as stored in `compressed_context` and shown."""
        return SEPARATOR.join(filter(None, [*self.chapters, self.appendix]))

    @classmethod
    def from_text(cls, text: str) -> "Summary":
        """The parts of a stored text; "" gives an empty summary."""
        if not text:
            return cls()
        *chapters, last = text.split(SEPARATOR)
        if last.startswith((CURRENT_WORK, PINS_HEADING, INDEX_HEADING)):
            return cls(tuple(chapters), last)
        return cls((*chapters, last))

    def __bool__(self) -> bool:
        return bool(self.chapters)
