"""The texts that ask for a summary, each a file beside this one: the full form and the short one.

Code knows a heading by its name, so one that both have means the same in both.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.compaction.policy import ChapterForm

INSTRUCTIONS = "Standing instructions"  # what it names is pinned, and no part of the chapter


@dataclass(frozen=True, slots=True)
class Skill:
    """Such a text, the headings that it demands, and its name and version, which every compaction
    stores."""

    text: str
    headings: Sequence[str]
    version: str

    @classmethod
    def read(cls, file: str) -> "Skill":
        """From a file with a front matter. A line that ends with a backslash goes on in the
        next."""
        content = (Path(__file__).parent / file).read_text("utf-8")
        _, front_matter, body = content.split("---\n", 2)
        about = dict(re.findall(r"^(\w+): (\S+)$", front_matter, re.M))
        text = body.replace("\\\n", "").strip()
        headings = tuple(re.findall(r"^## (.+)$", text, re.M))
        return cls(text, headings, f"{about['name']}-{about['version']}")

    @property
    def chapter_headings(self) -> Sequence[str]:
        """Those of the chapter that is stored."""
        return tuple(heading for heading in self.headings if heading != INSTRUCTIONS)


FULL = Skill.read("SKILL.md")
HEADINGS, CHAPTER_HEADINGS = FULL.headings, FULL.chapter_headings
SKILLS: Mapping[ChapterForm, Skill] = {
    ChapterForm.FULL: FULL,
    ChapterForm.SHORT: Skill.read("SHORT.md"),
}
