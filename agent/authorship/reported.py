"""What somebody else said, as a user's sentence reports it: “My landlord writes: pay in cash”.

After a verb of saying or wanting, a colon or a “that” begins what its subject said; some languages
put the verb behind it. The nearest word before the verb tells who speaks: “I said: always answer in
German” is the user's own. Where it is not certain, it is another's: that is offered and not sent.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

from agent.authorship import reported_wordings as wordings
from agent.authorship.quoted import Range

MOST_BEFORE = 120  # characters before a verb in which its subject stands
MOST_BEHIND = 80  # characters between a verb and its colon
MOST_AFTER_YOU = 3  # words between “you said” and the colon: more are all that was said

_WORD = re.compile(r"[^\W\d_]+")
_STOP = re.compile(r"[.!?؟]+(?=\s|$)|[。！？।]|\n")
_SENTENCE_END = re.compile(rf"{_STOP.pattern}|[;；؛]")
_CLAUSE = re.compile(r"[.!?;:…]\s|[。！？；：؛।\n\"“”«»]")
_COLON = re.compile(rf"([^\n:：.!?。！？।]{{0,{MOST_BEHIND}}})[:：](?=\s|$|[^\x00-\x7f])[^\S\n]*")
_OPENING = re.compile(r"\s*[\"“„«‹「『‘]")


def find_reported(text: str) -> list[Range]:
    """The parts of a text that tell what others said, without the words that say so."""
    found = [m.span(m.lastindex or 0) for m in wordings.DICTATED.finditer(text)]
    found += [part for end in _find_sayings(text) if (part := _follow(text, end))]
    others = [] if text.isascii() else wordings.FOLLOWED_OTHERS
    for pattern in (*wordings.FOLLOWED, *others):
        ends = (match.end() for match in pattern.finditer(text))
        found += [part for end in ends if (part := _follow(text, end, bare=True))]
    ends_of_said = [m.start() for each in wordings.PRECEDED for m in each.finditer(text)]
    starts = [0, *(match.end() for match in _STOP.finditer(text))] if ends_of_said else []
    for end in ends_of_said:
        start = starts[bisect_right(starts, end) - 1]
        if not _names_user(text[start:end]):
            found.append((start, end))
    return found


def _find_sayings(text: str) -> Iterator[int]:
    """Where verbs end whose subject is not the user."""
    for match in _WORD.finditer(text):
        word = match[0].lower()
        known = word in wordings.VERBS or word in wordings.PLURAL_VERBS
        if known and not _is_users(text, match, word):
            yield match.end()


def _is_users(text: str, verb: re.Match[str], word: str) -> bool:
    """Whether the user is the subject of a verb, or nobody is."""
    start = max(0, verb.start() - MOST_BEFORE)
    clause = _CLAUSE.split(text[start : verb.start()])[-1]
    before = _WORD.findall(clause.lower())
    after = _WORD.findall(text[verb.end() : verb.end() + MOST_BEHIND].lower())
    if next((each for each in after if each not in wordings.BETWEEN), "") in wordings.USER:
        return True
    skipped = set()
    while before and before[-1] in wordings.BETWEEN:
        skipped.add(before.pop())
    subject = before[-1] if before else ""
    if word in wordings.PLURAL_VERBS:
        return subject not in wordings.PLURAL
    if subject == "you" and (colon := _COLON.match(text, verb.end())):
        return len(_WORD.findall(colon[1])) > MOST_AFTER_YOU
    if subject in wordings.PASSIVE:
        return word not in wordings.TOLD
    if subject in wordings.DETERMINERS:  # the word is a noun
        return True
    if word in wordings.NOUNS and subject not in wordings.PRONOUNS:
        return before[-2:-1] == [] or before[-2] not in wordings.DETERMINERS
    if subject == "he" and word in wordings.PARTICIPLES:  # Spanish
        return True
    if not subject and wordings.SUBJECT_BEHIND.intersection(after[:1]):
        return False
    if not subject:
        to_user = skipped | set(after[:1])
        return word not in wordings.OTHERS and to_user.isdisjoint(wordings.TO_USER)
    return subject in wordings.USER or subject in wordings.NO_SUBJECT


def _follow(text: str, end: int, *, bare: bool = False) -> Range | None:
    """What is reported after a verb: behind a colon to the line's end or, where the line ends with
    it, the next paragraph; else to the sentence's end, or to a colon behind all that was said.
    `bare`: also without a “that”. What stands in quotes is found as such."""
    colon = _COLON.match(text, end)
    told = colon and (wordings.TOLD_ALREADY.search(colon[1]) or wordings.BACK.search(colon[1]))
    if colon and not told:
        start = colon.end()
        if _OPENING.match(text, start):
            return None
        if text[start : start + 1] in ("", "\n"):
            stop = text.find("\n\n", start + 1)
        else:
            stop = text.find("\n", start)
        return start, stop if stop >= 0 else len(text)
    sentence = _SENTENCE_END.search(text, end)
    stop = colon.end(1) if colon else sentence.start() if sentence else len(text)
    word = _WORD.findall(text[max(0, end - 20) : end].lower())[-1:]
    bare = bare or (bool(word) and word[0] in wordings.BARE)
    if not bare and not wordings.THAT.match(text, end, stop):
        return None
    if back := wordings.BACK.search(text, end, stop):
        stop = back.start()
    said = text[end:stop]
    return None if wordings.HEALTH.search(said) else (end, stop)


def _names_user(said: str) -> bool:
    """Whether the speaker that stands before a verb in Japanese is the user."""
    return bool(re.search(r"(?:私|僕|俺|わたし)[がは][^、。]{0,80}$", said[-MOST_BEFORE:]))
