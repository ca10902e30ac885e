"""What users settle in their own words: a value that a short sentence states, a decision, a change.

A writer may leave it out of a summary, so code takes it from the originals: into the index, before
values that only come up, and where a known value is replaced, as the bullet that the form asks for.
Decisions and changes are found by their wording, in the ten languages of `wordings.py`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from agent.compaction.facts.words import find_content_words, is_cjk
from agent.compaction.pins import TypedText, read_texts, read_typed_text
from agent.messages import Message
from agent.search.values import IndexEntry, Weight, find_identifiers, find_index_entries, normalise

LONGEST = 160  # characters of a sentence that is kept whole
# Words beside its value of a sentence that is there to state it; characters where a script writes
# no spaces.
STATING_WORDS, STATING_CHARACTERS = 12, 30
MOST_VALUES = 2  # of a sentence that states or replaces one

# What was decided, whether it names a value or not; and what only counts with one.
_DECIDED = re.compile(
    r"""
    \b(?:decided|decision\ is|decision:|agreed\ (?:on|to|that)|settled\ (?:on|for)|(?:go|went|going)\ with
      |stick(?:ing)?\ with|opted\ for|finali[sz]ed|(?:we|i)\ (?:chose|picked|selected))\b
    | \b(?:entschieden|beschlossen|festgelegt|geeinigt|Entscheidung:|(?:wir|ich)\ bleiben?\ bei
      |(?:habe|haben)\b.{1,60}\b(?:gewählt|ausgesucht))
    | \b(?:decidi(?:mos|do|ó)|decidí|decisión:|(?:nos|me)\ (?:quedamos|quedo)\ con|acord(?:amos|ado)
      |optamos|elegi(?:mos|do)|elegí)
    | \b(?:decidi|decisão:|ficamos\ com|combin(?:ado|amos)|optamos|escolh(?:emos|ido|i)\b)
    | \b(?:décidé|décision\ ?:|on\ (?:part|reste)\ sur|convenu|opté|choisi)
    | \b(?:реши(?:л|ли|ла)\b|решено|договорил|выбра(?:л|н)|остановил\w+\ на\b)
    | 决定|決定|定为|定為|选定|選定|敲定|商定|说好|說好
    | 決め(?:た|まし)|ことにし(?:た|まし)|採用し
    | तय\ (?:किया|हुआ|हो)|(?:फ़ैसला|फैसला|निर्णय)(?:\ किया|\ लिया|:)|चुना
    | قررنا|قررت|القرار|اتفقنا|اخترنا|اخترت|اعتمدنا
    """,
    re.I | re.X,
)
_CHOSEN = re.compile(
    r"""
    \b(?:let['’]?s\ (?:use|take|keep|make|call|set)|(?:we|i)(?:['’]ll|\ will)?\ (?:use|take|choose|pick|keep))\b
    | \b(?:(?:wir|ich)\ (?:nehmen?|verwenden?|benutzen?|wählen?)|nehmen\ wir)\b
    | \b(?:(?:usamos|usaremos|tomamos|ponemos)|vamos\ con)\b | \b(?:vamos\ (?:usar|com)|usaremos)\b
    | \b(?:(?:nous|on)\ (?:prenons|gardons|prend|garde|utilise|utilisons))\b
    | \b(?:бер[её]м|возьм[её]м|используем|оставляем)\b
    | 就用|采用|採用|にします|にしましょう | रखें?गे|रखते\ हैं | سنستخدم|نستخدم|سنعتمد
    """,
    re.I | re.X,
)
# What links a value to what it is the value of.
_LINKED = re.compile(
    r"""
    [:：=] | \b(?:is|are|equals?)\b|(?<!here)(?<!that)(?<!let)['’]s\ | \b(?:ist|sind|gilt|lautet|beträgt|heißt|liegt\ bei)\b
    | \b(?:es|son|está|queda|vale)\b | \b(?:é|são|fica)\b | \b(?:est|sont|s['’]appelle)\b
    | [—–]|\b(?:это|равен|равна|составляет|называется)\b | 是|为|為|叫|定|は|が|です | है|हैं | هو|هي
    """,
    re.I | re.X,
)
LINK_WORDS = 3  # between the link and the value
_CHANGED = re.compile(
    r"""
    →|->|=>
    | \b(?:instead\ of|no\ longer|any\ ?more|rather\ than|not\b.{1,60}\bbut|chang\w*|switch\w*
      |replac\w*|correct\w*|moved?\b|now\b|from\b.{1,60}\bto\b)
    | \b(?:statt|anstatt|anstelle|nicht\ mehr|sondern|jetzt|nunmehr|geändert|umgestellt|verschoben
      |von\b.{1,60}\b(?:auf|zu)\b|ersetz\w*)
    | \b(?:en\ (?:lugar|vez)\ de\b|ya\ no\b|ahora\b|sustitu\w*|reempla\w*|sino\b
      |de\b.{1,60}\ba\b)
    | \b(?:em\ (?:lugar|vez)\ de\b|já\ não\b|não\b.{1,60}\bmais\b|agora\b|substitu\w*
      |de\b.{1,60}\b(?:para|por)\b)
    | \b(?:au\ lieu\ d|plutôt\ qu|ne?\b.{1,60}\bplus\b|n['’]est\ plus|désormais|maintenant|remplac\w*
      |de\b.{1,60}\bà\b)
    | \b(?:вместо|больше\ не|уже\ не|теперь|а\ не\b|измен\w*|смен\w*|замен\w*
      |перен[её]с\w*|с\b.{1,60}\bна\b)
    | 改为|改為|改成|改用|改到|换成|換成|换到|不再|而不是|而是|现在|現在|代替|取代|更新为|调整为|推迟到
    | ではなく|じゃなくて|代わりに|変更|変え|変わ|今は|もう
    | के\ बजाय|की\ जगह|(?:^|\s)अब\s|बदल|बल्कि
    | بدل|لم\ يعد|ال[آا]ن|غير|تغي|استبدل|[أا]صبح
    """,
    re.I | re.X,
)
_QUESTION = re.compile(r"[?？؟]")
# What is only thought of settles nothing.
_UNSURE = re.compile(
    r"""
    \b(?:if|might|may|maybe|perhaps|could|should|would|consider\w*|wonder\w*|deciding)\b
    | \b(?:wenn|falls|vielleicht|könnten?|sollten?|würden?|überleg\w*)\b
    | \b(?:si|quizás?|tal\ vez|podr[ií]a\w*|deber[ií]a\w*)\b
    | \b(?:talvez|poder[ií]a\w*|dever[ií]a\w*)\b | \b(?:peut-être|pourrai\w*|devrai\w*)\b
    | \b(?:если|может|возможно|бы|ли)\b
    | 如果|也许|也許|可能|要不要|是否|考虑|考慮 | もし|かも|でしょうか|検討 | अगर|यदि|शायद | [إا]ذا|ربما|\bلو\b
    """,
    re.I | re.X,
)
_CITED = re.compile(r"\[#[^\]]*\]")
_CONTRACTION = re.compile(r"\w+['’]\w+")
_SHAPE = ((re.compile(r"\d+"), "0"), (re.compile(r"[^\W\d_]+"), "a"))


@dataclass(frozen=True, slots=True)
class Change:
    """That a value holds in place of another, with what both are said of, and the messages that say
    so: the old one's, and the new one's."""

    subject: str
    old: str
    new: str
    numbers: tuple[int, int]

    def render(self) -> str:
        """As a bullet of the form. It names the subject on the old side only."""
        old = f"{self.subject} {self.old}".strip()
        return f"- Replaced: {old} → {self.new} [#{self.numbers[0]} #{self.numbers[1]}]"


# --- The index ------------------------------------------------------------------------------------


def find_settled(
    messages: Iterable[Message], known: Iterable[IndexEntry]
) -> tuple[list[IndexEntry], list[Change]]:
    """The index entries of the user's messages, and the values that they replace, of those that are
    `known` from earlier ones or are stated in them. Entries are values, those that are settled with
    their whole sentence, and decisions that name none."""
    before: dict[str, IndexEntry] = {normalise(each.value): each for each in known}
    entries: list[IndexEntry] = []
    changes: dict[tuple[str, str], Change] = {}
    for message in messages:
        said = list(_list_sentences(message))
        found = {normalise(e.value): e for e in _find_entries(message, said)}
        for sentence in [*said, *map(" ".join, zip(said, said[1:], strict=False))]:
            if change := _find_change(sentence, message.number, before):
                changes.setdefault((change.old, change.new), change)
                value = normalise(change.new)
                found[value] = IndexEntry(change.new, message.number, sentence, Weight.CHANGED)
                found.pop(normalise(change.old), None)
        before |= found
        entries += found.values()
    return entries, list(changes.values())


def _find_entries(message: Message, said: Sequence[str]) -> Iterator[IndexEntry]:
    """Those of one message whose sentences are `said` by the user themselves."""
    entries = find_index_entries(message.number, read_typed_text(message))
    settled: dict[str, tuple[Weight, str]] = {}
    for sentence in said:
        weight = _weigh(sentence) if len(sentence) <= LONGEST else Weight.NONE
        if weight == Weight.NONE:
            continue
        values = find_identifiers(sentence)
        settled |= {normalise(value): (weight, sentence) for value in values}
        if not values:
            yield IndexEntry(sentence, message.number, sentence, weight)
    for entry in entries:
        weight, words = settled.get(normalise(entry.value), (Weight.NONE, entry.words))
        yield replace(entry, words=words, weight=weight)


def _list_sentences(message: Message) -> Iterator[str]:
    """What the user typed themselves, a sentence each on one line."""
    for text in read_texts(message):
        for part in text.sentences():
            if text.is_typed(part) and (said := _read(text, part)):
                yield said


def _read(text: TypedText, part: tuple[int, int]) -> str:
    return " ".join(_CITED.sub(" ", text.text[slice(*part)]).split())


def _weigh(sentence: str) -> Weight:
    """How much a sentence settles."""
    if _QUESTION.search(sentence) or _UNSURE.search(sentence):
        return Weight.NONE
    values = find_identifiers(sentence)
    if len(values) > MOST_VALUES:
        return Weight.NONE
    if _DECIDED.search(sentence) or (values and _CHOSEN.search(sentence)):
        return Weight.DECIDED if values else Weight.AGREED
    linked = values and any(_is_linked(sentence, value) for value in values)
    return Weight.STATED if linked and _is_short(sentence, values) else Weight.NONE


def _is_linked(sentence: str, value: str) -> bool:
    """Whether a sentence says that something is the value."""
    before, _, after = sentence.partition(value)
    near = before if any(map(is_cjk, before)) else " ".join(before.split()[-LINK_WORDS - 1 :])
    # In Hindi the verb comes last.
    return bool(_LINKED.search(near)) or after.strip().startswith(("है", "हैं", "です", "だ"))


def _is_short(sentence: str, values: Sequence[str]) -> bool:
    for value in values:
        sentence = sentence.replace(value, " ")
    words = sentence.split()
    if any(map(is_cjk, sentence)):
        return len("".join(words)) <= STATING_CHARACTERS
    return len(words) <= STATING_WORDS


# --- Changes --------------------------------------------------------------------------------------


def _find_change(sentence: str, number: int, before: Mapping[str, IndexEntry]) -> Change | None:
    if len(sentence) > LONGEST or _QUESTION.search(sentence) or _UNSURE.search(sentence):
        return None
    values = {normalise(value): value for value in find_identifiers(sentence)}
    new = [key for key in values if key not in before]
    if len(new) != 1 or len(values) > MOST_VALUES:
        return None
    if not _is_changed(sentence, list(values.values())):
        return None
    words = find_content_words(sentence)
    if len(values) == 2:
        (known,) = (before[key] for key in values if key in before)
        if known.weight == Weight.NONE:
            return None
    else:
        same = [each for each in before.values() if _is_of_same(each, values[new[0]], words)]
        if len(same) != 1:
            return None
        known = same[0]
    subject = _find_common(known.words, sentence, (known.value, *values.values()))
    if not find_content_words(_CONTRACTION.sub("", subject)):
        return None
    return Change(subject, known.value, values[new[0]], (known.number, number))


def _is_changed(sentence: str, values: Sequence[str]) -> bool:
    """Whether the words for a change stand beside a value, or around two of them."""
    places = [(at, at + len(value)) for value in values if (at := sentence.find(value)) >= 0]
    for match in _CHANGED.finditer(sentence):
        for start, end in places:
            between = sentence[match.end() : start] or sentence[end : match.start()]
            if len(between.split()) <= LINK_WORDS and len(between) <= STATING_CHARACTERS:
                return True
    return False


def _is_of_same(entry: IndexEntry, value: str, words: set[str]) -> bool:
    """Whether an entry states another value of the same kind of what the words speak of."""
    if entry.weight == Weight.NONE or _find_shape(entry.value) != _find_shape(value):
        return False
    own = find_content_words(entry.words.replace(entry.value, " "))
    return len(own) > 1 and own <= words


def _find_shape(value: str) -> str:
    for pattern, sign in _SHAPE:
        value = pattern.sub(sign, value)
    return value


def _find_common(old: str, new: str, values: Sequence[str]) -> str:
    """The longest part that two sentences share, values aside."""
    for value in values:
        old, new = old.replace(value, "\n"), new.replace(value, "\r")
    joint = "" if any(map(is_cjk, old)) else " "
    before, after = (list(text) if not joint else text.split(" ") for text in (old, new))
    match = SequenceMatcher(None, _fold(before), _fold(after), autojunk=False).find_longest_match()
    return joint.join(before[match.a : match.a + match.size]).strip(" \n\r.,:;，。：")


def _fold(words: Sequence[str]) -> list[str]:
    return [word.casefold().strip(".,:;") for word in words]
