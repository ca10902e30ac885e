"""The summary as a request carries it and the page shows it."""

from dataclasses import dataclass

# Headings of a chapter that code knows by name, and all that a prompt demands of one.
DECISIONS = "## Decisions"
FACTS = "## Facts and values"
FILES = "## Files and artifacts"
CURRENT_WORK = "## Current work and next step"
KNOWN_HEADINGS = {
    "## Overview",
    "## Goal and constraints",
    "## Standing instructions",
    DECISIONS,
    FACTS,
    "## Progress",
    "## Open tasks",
    FILES,
    "## Errors and fixes",
    "## Open questions",
    CURRENT_WORK,
}
PINS_HEADING = "# Standing instructions of the user"
PINS_LEFT_OUT = "- ({count} earlier ones are left out here for lack of room.)"
INDEX_HEADING = "## Index of exact values (from the user's messages)"
# Between the parts of a stored summary: a line across in Markdown.
SEPARATOR = "\n\n* * *\n\n"


@dataclass(frozen=True, slots=True)
class Summary:
    """What is injected: one text a chapter, then what changes with every compaction and therefore
    comes last: an appendix, of the current work and the index, and the user's standing
    instructions, a line each."""

    chapters: tuple[str, ...] = ()
    appendix: str = ""
    instructions: str = ""

    @property
    def text(self) -> str:
        """The whole, as stored in `compressed_context` and shown."""
        pins = f"{PINS_HEADING}\n{self.instructions}" if self.instructions else ""
        return SEPARATOR.join(filter(None, [*self.chapters, self.appendix, pins]))

    @classmethod
    def from_text(cls, text: str) -> "Summary":
        """The parts of a stored text; "" gives an empty summary."""
        parts = text.split(SEPARATOR) if text else []
        instructions = appendix = ""
        if parts and parts[-1].startswith(f"{PINS_HEADING}\n"):
            instructions = parts.pop().removeprefix(f"{PINS_HEADING}\n")
        if parts and parts[-1].startswith((CURRENT_WORK, INDEX_HEADING)):
            appendix = parts.pop()
        return cls(tuple(parts), appendix, instructions)

    def __bool__(self) -> bool:
        return bool(self.chapters)
