"""Markdown as Slack shows it, in posts that are no longer than one may be.

The texts are Slack's own `mrkdwn` and not its newer Markdown, because there `&`, `<` and `>` can be
escaped: nothing that a model writes rings everybody of a channel.
"""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

# Slack's chat.update takes 4,000 characters.
LONGEST = 3_800
FENCE = "```"
MOST_DEPTH = 20  # of lists and quotes in each other

_parser = MarkdownIt("commonmark", {"maxNesting": MOST_DEPTH}).enable(["table", "strikethrough"])
_MARKS = {"strong": "*", "em": "_", "s": "~"}
_BULLETS = "•◦▪"


def draw_posts(markdown: str, longest: int = LONGEST) -> list[str]:
    """A text as one post or several, none longer than `longest` characters; [] for no text."""
    posts: list[str] = []
    for block in _draw_blocks(markdown):
        for piece in _split(block, longest):
            if posts and len(posts[-1]) + 2 + len(piece) <= longest:
                posts[-1] += f"\n\n{piece}"
            else:
                posts.append(piece)
    return posts


def escape(text: str) -> str:
    """Plain text, in which nothing means anything to Slack but marks of emphasis."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def link(address: str, text: str) -> str:
    """A link with its text, or the text alone where the address is none of the web."""
    try:
        scheme = urlsplit(address).scheme
    except ValueError:  # brackets around what is no IPv6 address
        scheme = ""
    if scheme not in ("http", "https", "mailto"):
        return escape(text)
    safe = quote(address, safe="%/:=&?~#+!$,;'@()*[]")
    return f"<{escape(safe)}|{escape(text).replace('|', '¦').strip() or escape(safe)}>"


def _draw_blocks(markdown: str) -> Iterator[str]:
    tree = SyntaxTreeNode(_parser.parse(markdown.replace("\x00", "")))
    for node in tree.children:
        if drawn := _draw_block(node, 0):
            yield drawn


def _draw_block(node: SyntaxTreeNode, depth: int) -> str:
    match node.type:
        case "heading":
            words = _draw_inline(node).replace("*", "")
            return f"*{words}*" if words else ""
        case "paragraph":
            return _draw_inline(node)
        case "fence" | "code_block":
            return _fence(node.content)
        case "bullet_list" | "ordered_list":
            return _draw_list(node, depth)
        case "blockquote":
            inside = "\n\n".join(_draw_block(each, depth) for each in node.children)
            return "\n".join(f"> {line}" for line in inside.split("\n"))
        case "table":
            return _draw_table(node)
        case "hr":
            return "———"
    return escape(node.content.strip())


def _draw_list(node: SyntaxTreeNode, depth: int) -> str:
    number = int(node.attrs.get("start", 1))
    lines = []
    for place, item in enumerate(node.children):
        mark = _BULLETS[min(depth, 2)] if node.type == "bullet_list" else f"{number + place}."
        inside = "\n".join(_draw_block(each, depth + 1) for each in item.children)
        first, *others = inside.split("\n")
        lines.append("\n".join([f"{mark} {first}", *(f"    {each}" for each in others)]))
    return "\n".join(lines)


def _draw_table(node: SyntaxTreeNode) -> str:
    """Slack has no tables: columns of code."""
    rows = [
        [_plain(cell).replace("\n", " ") for cell in row.children]
        for part in node.children
        for row in part.children
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return _fence("\n".join(lines))


def _fence(code: str) -> str:
    inside = escape(code.strip("\n")).replace(FENCE, "'''")
    return f"{FENCE}\n{inside}\n{FENCE}"


def _draw_inline(node: SyntaxTreeNode) -> str:
    match node.type:
        case "text" | "html_inline":
            return escape(node.content)
        case "softbreak" | "hardbreak":
            return "\n"
        case "code_inline":
            return f"`{escape(node.content).replace('`', chr(39))}`"
        case "link":
            return link(str(node.attrs["href"]), _plain(node))
        case "image":
            return link(str(node.attrs["src"]), node.content or _plain(node))
    inside = "".join(map(_draw_inline, node.children))
    mark = _MARKS.get(node.type, "")
    return f"{mark}{inside}{mark}" if inside.strip() else inside


def _plain(node: SyntaxTreeNode) -> str:
    """The words alone."""
    if node.type in ("softbreak", "hardbreak"):
        return "\n"
    if not node.children:
        return node.content if node.type != "inline" else ""
    return "".join(map(_plain, node.children))


def _split(block: str, longest: int) -> Iterator[str]:
    """A block in pieces; code stays code in each."""
    is_code = block.startswith(FENCE)
    if len(block) <= longest:
        yield block
        return
    frame = f"{FENCE}\n", f"\n{FENCE}"
    text = block.removeprefix(frame[0]).removesuffix(frame[1]) if is_code else block
    room = longest - len("".join(frame)) if is_code else longest
    for piece in _cut(text, room):
        yield f"{frame[0]}{piece}{frame[1]}" if is_code else piece


def _cut(text: str, room: int) -> Iterator[str]:
    while len(text) > room:
        end = _find_end(text, room)
        if piece := text[:end].rstrip("\n"):
            yield piece
        text = text[end:].lstrip("\n")
    if text:
        yield text


def _find_end(text: str, room: int) -> int:
    """Where to cut: after a line, or else a word, but in no reference and in no entity."""
    for between in ("\n", " "):
        end = text.rfind(between, room // 2, room) + 1
        if end and not _is_inside(text, end):
            return end
    end = room
    while end > room - 200 and _is_inside(text, end):
        end -= 1
    return end


def _is_inside(text: str, end: int) -> bool:
    before = text[max(0, end - 2_000) : end]
    return before.rfind("<") > before.rfind(">") or bool(re.search(r"&\w{0,3}$", before))


def join_posts(parts: Sequence[str], ending: str) -> list[str]:
    """Posts with a last line, in a post of its own where there is no room for it."""
    if not parts or len(parts[-1]) + 2 + len(ending) > LONGEST:
        return [*parts, ending]
    return [*parts[:-1], f"{parts[-1]}\n\n{ending}"]
