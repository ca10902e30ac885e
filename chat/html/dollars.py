"""Which dollar signs enclose a formula: the same stand before prices, and before names in shell,
PHP, Perl and awk, and models write all of these without marks of code."""

import re

# To the next dollar that no backslash stands before.
_SPAN = re.compile(r"(\$\$?)((?:[^$\\]|\\.)+)(\$\$?)", re.S)
# Behind one of these no formula begins: US$5, 5$, f$x, (a)$.
_NOT_BEFORE = re.compile(r"[A-Za-z0-9_)\]}]")
# Before one of these none ends: $a+$b, ${A}:${B}, $_A.$_B, $5-$6.
_NOT_AFTER = re.compile(r"[A-Za-z0-9_{]")
# A formula ends in none of these, but for one that is raised, lowered, escaped or alone: $x^*$, $+$
_OPERATOR = re.compile(r"(?:[^\\^_{]|^)[-+*/=<>&(\[:]\Z(?<!^.)", re.S)
_PRICE = re.compile(r"\d[\d.,]*\s*(?:[kKmM]|bn|mo|mio|million|billion)?(?![\w^\\{])")
_TEXT = re.compile(r"\\[A-Za-z]+\s*(?:\{[^{}]*\})?|\{[^{}]*\}")
_WORD = re.compile(r"(?<![A-Za-z])[A-Za-z]{2,}(?![A-Za-z(])")
_CALL = re.compile(r"\([^()]*\)\Z")  # $(a), of shell and make
# $$ and $$; $$; kill $$
_PROSE = re.compile(r" +[A-Za-z]{2,}[A-Za-z ]* +|[;,)&'\"].*", re.S)
_ENDS_OUTSIDE = re.compile(r"[^(\[\]\\]*\)")  # ($a)$


def find_formula(text: str, start: int) -> tuple[str, str, int] | None:
    """The formula that begins with the dollars at `start`: these, its source, and where it ends.
    The rules are pandoc's and GitHub's, and some more. Time goes by the length of the formula."""
    if start and _NOT_BEFORE.match(text[start - 1]):
        return None
    span = _SPAN.match(text, start)
    if not span:
        return None
    mark, source, closing = span.groups()
    end = span.end() - len(closing) + len(mark)
    if len(closing) < len(mark) or _NOT_AFTER.match(text, end):
        return None
    if mark == "$" and not _may_be_formula(source, text[end : end + 1]):
        return None
    if mark == "$$" and is_prose(source):
        return None
    return mark, source, end


def is_prose(source: str) -> bool:
    """Whether what stands between two `$$` is between two names of a process of the shell."""
    return _PROSE.fullmatch(source) is not None


def _may_be_formula(source: str, after: str) -> bool:
    if source[0].isspace() or source[-1].isspace() or _OPERATOR.search(source):
        return False
    if after == "(" and _CALL.match(source):
        return False
    if source.count("`") % 2 or (len(source) > 1 and _ENDS_OUTSIDE.match(source)):
        return False  # its end is within code, its beginning within brackets
    return not (_PRICE.match(source) and _WORD.search(_TEXT.sub("", source)))
