"""What people write in Slack, as Markdown.

Slack's own markup (`mrkdwn`) has `*bold*`, `~gone~`, `<url|text>`, `<@U1>` for people and the
entities `&amp;`, `&lt;` and `&gt;`: https://docs.slack.dev/messaging/formatting-message-text.
"""

import re
from collections.abc import Callable, Mapping

_CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.S)
_REFERENCE = re.compile(r"<([^<>\n]+)>")
_PERSON = re.compile(r"<@(\w+)(?:\|[^>]*)?>")
_BOLD = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]*[^\s*])\*(?![\w*])")
_GONE = re.compile(r"(?<![\w~])~(?=[^\s~])([^~\n]*[^\s~])~(?![\w~])")
_BULLET = re.compile(r"^(\s*)[•◦▪]\s+", re.M)


def list_people(text: str) -> set[str]:
    """Slack's ids of the people that a text mentions."""
    return set(_PERSON.findall(text))


def read_mrkdwn(text: str, names: Mapping[str, str]) -> str:
    """A text of Slack's as Markdown. `names`: of people by id; "" leaves the mention out, as that
    of the bot itself."""
    parts = _CODE.split(text)
    parts[::2] = [_read_prose(each, names) for each in parts[::2]]
    parts[1::2] = [_read_code(each, names) for each in parts[1::2]]
    return _unescape("".join(parts)).strip()


def _read_prose(text: str, names: Mapping[str, str]) -> str:
    text = _outside_references(text, _read_marks)
    return _BULLET.sub(r"\1- ", _REFERENCE.sub(lambda found: _name(found[1], names), text))


def _read_marks(text: str) -> str:
    return _GONE.sub(r"~~\1~~", _BOLD.sub(r"**\1**", text))


def _outside_references(text: str, change: Callable[[str], str]) -> str:
    """Change a text, but not the addresses in it: they stand aside meanwhile."""
    kept: list[str] = []

    def put_aside(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\x00{len(kept) - 1}\x00"

    changed = change(_REFERENCE.sub(put_aside, text.replace("\x00", "")))
    return re.sub(r"\x00(\d+)\x00", lambda found: kept[int(found[1])], changed)


def _read_code(text: str, names: Mapping[str, str]) -> str:
    """Slack makes references inside code too, where Markdown would show them."""
    code = _REFERENCE.sub(lambda found: _name(found[1], names, as_link=False), text)
    if code.startswith("```"):
        return "\n```\n" + code[3:-3].strip("\n") + "\n```\n"
    return code


def _name(reference: str, names: Mapping[str, str], *, as_link: bool = True) -> str:
    target, _, label = reference.partition("|")
    match target[:1]:
        case "":
            return label
        case "@":
            name = names.get(target[1:], label.lstrip("@") or target[1:])
            return f"@{name}" if name else ""
        case "#":
            return f"#{label or target[1:]}"
        case "!":
            return label or f"@{target[1:].partition('^')[0]}"
    shown = target.removeprefix("mailto:").removeprefix("tel:")
    if not as_link or label in ("", shown, target) or shown != target:
        return label or shown
    return f"[{label}]({target})"


def _unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
