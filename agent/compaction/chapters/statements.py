"""The statements of a summary's text: what is kept, left out and edited as a whole."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agent.audit.grounding import BULLET
from agent.audit.quotes import keep_quotes_in
from agent.compaction.chapters.chapter import Chapter, WrittenPart
from agent.compaction.chapters.cutting import is_heading, split_blocks


@dataclass(frozen=True, slots=True)
class Statement:
    """A bullet, a paragraph or a block of code, as it was written, and its heading, "" for none."""

    heading: str
    text: str


def list_statements(text: str) -> list[Statement]:
    """Those of a text, in order. A section that says "None." has none."""
    found: list[Statement] = []
    heading = ""
    for block in split_blocks(text):
        if is_heading(block):
            heading = block.rstrip()
        elif said := block.lstrip("\n").rstrip():
            found.append(Statement(heading, said))
    return [each for each in found if each.text.strip().casefold() not in ("none", "none.")]


def find_wholes(statements: Sequence[Statement]) -> list[int | None]:
    """For each the place of the one that it is a part of: the last before it in its section that is
    indented less, as a bullet above others is. None where it stands by itself."""
    wholes: list[int | None] = []
    above: list[tuple[int, str, int]] = []  # indentation, heading and place
    for place, each in enumerate(statements):
        indent = len(each.text) - len(each.text.lstrip())
        while above and (above[-1][0] >= indent or above[-1][1] != each.heading):
            above.pop()
        wholes.append(above[-1][2] if above else None)
        above.append((indent, each.heading, place))
    return wholes


def join_statements(statements: Iterable[Statement]) -> str:
    """The reverse of `list_statements`: each heading once, where it comes first."""
    sections: dict[str, str] = {}
    for each in statements:
        before = sections.get(each.heading)
        if before is None:
            sections[each.heading] = "\n".join(filter(None, [each.heading, each.text]))
        else:
            # A paragraph begins after an empty line only.
            between = "\n" if BULLET.match(each.text) else "\n\n"
            sections[each.heading] = f"{before}{between}{each.text}"
    # What has no heading would belong to the section before it.
    first = sections.pop("", None)
    return "\n\n".join([*([first] if first else []), *sections.values()])


def add_statements(text: str, heading: str, said: Sequence[str]) -> str:
    """A text with more statements at the end of a section."""
    return join_statements([*list_statements(text), *(Statement(heading, each) for each in said)])


def list_missing(written: str, text: str) -> list[Statement]:
    """The statements of what was written that a text does not have word for word."""
    kept = {each.text for each in list_statements(text)}
    return [each for each in list_statements(written) if each.text not in kept]


def edit_chapter(chapter: Chapter, text: str) -> Chapter:
    """A chapter with a person's text. The statements that did not stand there word for word are
    their own from now on, and lose the quotes that bore out what stood there. What was written says
    the same, beside what the record had left."""
    before, after = list_statements(chapter.text), list_statements(text)
    stood = {each.text for each in before}
    own = [each.text for each in after if each.text not in stood or each.text in chapter.own]
    texts = carry_over([part.text for part in chapter.parts], before, after)
    parts = [part._replace(text=new) for part, new in zip(chapter.parts, texts, strict=True)]
    quotes = keep_quotes_in(chapter.quotes, text, *texts)
    changed = replace(chapter, text=text, gap=False, own=tuple(own), quotes=quotes)
    return replace(changed, parts=_close_up(parts))


def _close_up(parts: Sequence[WrittenPart]) -> tuple[WrittenPart, ...]:
    """The parts, of which one that says nothing any more belongs to the one before it."""
    said: list[WrittenPart] = []
    for part in parts:
        if said and not (part.text and said[-1].text):
            said[-1] = WrittenPart(said[-1].first, part.through, said[-1].text or part.text)
        else:
            said.append(part)
    return tuple(said)


def carry_over(
    written: Sequence[str], before: Sequence[Statement], after: Sequence[Statement]
) -> list[str]:
    """Texts that `before` was chosen from, with what somebody made of it: a changed statement
    stands where the old one did, a new one behind its neighbour, and what is gone is gone. What had
    not been chosen stays."""
    stood, stands = {each.text for each in before}, {each.text for each in after}
    gone: dict[str, list[str]] = defaultdict(list)  # by the neighbour before
    anchor = ""
    for each in before:
        if each.text in stands:
            anchor = each.text
        else:
            gone[anchor].append(each.text)
    added: dict[str, list[Statement]] = defaultdict(list)  # by what they replace or follow
    anchor = last = ""
    for each in after:
        if each.text in stood:
            anchor = last = each.text
        else:
            last = gone[anchor].pop(0) if gone[anchor] else last
            added[last].append(each)
    texts: list[list[Statement]] = []
    for text in written:
        texts.append([])
        for each in list_statements(text):
            if each.text in stands or each.text not in stood:
                texts[-1].append(each)
            texts[-1] += added.pop(each.text, [])
    if texts:
        texts[-1] += [each for rest in added.values() for each in rest]
    return [join_statements(text) for text in texts]
