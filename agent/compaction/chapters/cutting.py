"""A summary within a size: at whole statements under a hard limit, else at lines."""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heapreplace

from agent.audit.evidence import FENCE
from agent.audit.grounding import BULLET
from agent.messages import RawTokens
from agent.tokens import TokenCounter


def cut_at_bullets(text: str, tokens: RawTokens, counter: TokenCounter) -> tuple[str, list[str]]:
    """A summary of at most so many tokens, and what was left out of it, in the order of the text:
    whole bullets, paragraphs and blocks of code. The longest section gives way first, with its last
    one, and a heading goes with the last of its section."""
    sections = list(_split_sections(text))
    sizes = [[counter.count(block) + 1 for block in section] for section in sections]
    excess = sum(map(sum, sizes)) - tokens
    longest = [(-sum(size), index) for index, size in enumerate(sizes)]
    heapify(longest)
    left_out: list[tuple[int, int]] = []  # section and block
    while excess > 0:
        total, index = longest[0]
        size = sizes[index]
        gone = size.pop()
        left_out.append((index, len(size)))
        if len(size) == 1 and is_heading(sections[index][0]):
            gone += size.pop()
        excess -= gone
        heapreplace(longest, (total + gone, index))
    kept = [
        block
        for section, size in zip(sections, sizes, strict=True)
        for block in section[: len(size)]
    ]
    return "\n".join(kept).strip(), [sections[i][j].strip() for i, j in sorted(left_out)]


def cut_to_tokens(text: str, tokens: RawTokens, counter: TokenCounter) -> str:
    """At most so many tokens, cut between lines: a summary that is too long is never summarised
    again. The longest sections give way first, with their last lines."""
    sections: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("## "):
            sections.append([])
        sections[-1].append(line)
    excess = sum(counter.count(line) + 1 for section in sections for line in section) - tokens
    longest = [(-len(section), index) for index, section in enumerate(sections) if section]
    heapify(longest)
    while excess > 0 and longest:
        size, index = longest[0]
        excess -= counter.count(sections[index].pop()) + 1
        if sections[index]:
            heapreplace(longest, (size + 1, index))
        else:
            heappop(longest)
    return "\n".join(line for section in sections for line in section)


def drop_unfinished(text: str) -> str:
    """The text of a reply that was cut at its limit, without the bullet or paragraph that it broke
    off in."""
    blocks = list(split_blocks(text))
    return "\n".join(blocks[:-1]) if blocks and not is_heading(blocks[-1]) else text


def _split_sections(text: str) -> Iterator[Sequence[str]]:
    """The blocks of each section, its heading first."""
    section: list[str] = []
    for block in split_blocks(text):
        if is_heading(block) and section:
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def split_blocks(text: str) -> Iterator[str]:
    """Headings, bullets and paragraphs with the lines that belong to them: what is indented, a
    table, a fence and the blank lines after it."""
    block: list[str] = []
    fence = False
    for line in text.splitlines():
        if block and not fence and _begins_block(line, block[-1]):
            yield "\n".join(block)
            block = []
        fence ^= FENCE.match(line) is not None
        block.append(line)
    if block:
        yield "\n".join(block)


def _begins_block(line: str, before: str) -> bool:
    after_break = not before.strip() or is_heading(before)
    paragraph = bool(line.strip()) and not line[0].isspace()
    return is_heading(line) or bool(BULLET.match(line)) or (after_break and paragraph)


def is_heading(block: str) -> bool:
    """Whether a block is the heading of a section."""
    return block.startswith("## ")
