"""The quotes that bear statements of a summary out, folded behind each: they open by a click, a tap
or a key, without a script."""

import re
from collections.abc import Iterator, Sequence

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from agent.audit.evidence import FENCE, UNVERIFIED
from agent.audit.quotes import SENTENCE_END, Quote
from agent.compaction.chapters.superseding import REPLACED_BY

# Stand in the Markdown where quotes are shown: no renderer makes anything of them.
_BEGIN, _END = "\ue100", "\ue101"
_PLACES = rf"((?:{_BEGIN}\d+{_END})+)"
# A paragraph cannot hold what is folded, which comes behind it.
_PLACE = re.compile(rf"<p[^>]*>{_PLACES}</p>|{_PLACES}(\s*</p>)|{_PLACES}")
_NUMBER = re.compile(rf"{_BEGIN}(\d+){_END}")


def mark_quotes(text: str, quotes: Sequence[Quote]) -> str:
    """A summary's Markdown with a mark behind each statement that has quotes, where it stands
    first, for `show_quotes`. Behind code and tables, where it stands in one."""
    places: dict[str, str] = {}
    for index, quote in enumerate(quotes):
        places[quote.said] = f"{places.get(quote.said, '')}{_BEGIN}{index}{_END}"
    text = text.replace(_BEGIN, "").replace(_END, "")
    return "\n".join(_mark_lines(text.splitlines(), places)) if places else text


def _mark_lines(lines: Sequence[str], places: dict[str, str]) -> Iterator[str]:
    code, waiting = False, ""
    for line in lines:
        fence = FENCE.match(line) is not None
        if code or fence or line.lstrip().startswith("|"):
            waiting += places.pop(line.strip(), "")
            code ^= fence
            yield line
            continue
        if waiting:
            yield f"\n{waiting}\n"
            waiting = ""
        yield line + _find_places(line.strip(), places)
    if waiting:
        yield f"\n{waiting}"


def _find_places(line: str, places: dict[str, str]) -> str:
    """Those of a line as a whole, or of its sentences; each is found once."""
    for said in (line, line.rpartition(REPLACED_BY)[0]):
        if said in places:
            return places.pop(said)
    sentences = SENTENCE_END.split(line.removesuffix(UNVERIFIED).strip())
    found = "".join(places.pop(each, "") for each in sentences)
    return f" {found}" if found else ""


def show_quotes(html: str, quotes: Sequence[Quote]) -> SafeString:
    """The HTML of a marked text with its quotes."""

    def show(place: re.Match[str]) -> str:
        alone, closing, end, inside = place.groups()
        numbers = _NUMBER.findall(alone or closing or inside)
        return f"{end or ''}{_fold([quotes[int(n)] for n in numbers])}"

    return mark_safe(_PLACE.sub(show, html))


def _fold(quotes: Sequence[Quote]) -> str:
    words = "".join(
        format_html(
            '<blockquote dir="auto">{} [<a href="#message-{}">#{}</a>]</blockquote>',
            quote.words,
            quote.number,
            quote.number,
        )
        for quote in quotes
    )
    name = gettext("Borne out by a quote")
    return f'<details class="quote"><summary class="quiet">{name}</summary>{words}</details>'
