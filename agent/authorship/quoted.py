"""Which parts of a user's message others wrote, as far as its text shows it: quotes, code, mail.

Where the page knows what was pasted, that counts too. Both err on the side of the others: what is
wrongly taken for a quote is not pinned, and the user can say it again.
"""

import re
from collections.abc import Iterator, Sequence

from agent.authorship.fences import find_fences
from agent.authorship.instruction_wordings import instructs
from agent.authorship.reported_wordings import SAYING

Range = tuple[int, int]  # characters of a text: start and end

_MARGIN = re.compile(r"(?:[>|]| {4}|\t).*")  # quoted lines, indented code
_IN_SINGLE = r"(?:[^'’\n]|(?<=\w)['’](?=\w))*['’](?!\w)"
_QUOTES = re.compile(
    r"“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|»[^«»\n]*«|‹[^‹›]*›|「[^「」]*」|『[^『』]*』"
    r'|"(?:[^"\n]|\n(?!\n))*"'
    # All of them begin with a character, so that a search skips what does not.
    rf"|'(?<!\w'){_IN_SINGLE}|‘(?<!\w‘){_IN_SINGLE}"
)
# A quotation of a few words is a name, unless it is what somebody said, or is to be done.
NAME_WORDS, TITLE_WORDS, NAME_CHARACTERS = 4, 8, 12  # the last: where words have no spaces
_NO_SPACES = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff]")
_SENTENCE = re.compile(r"\s\S*\w{4,}[.!?]$|[。！？।]$|[.!?;]\s+\w+\s|[,:，：]")
_SAYS = rf"(?:{'|'.join(sorted(SAYING))}|قال|قالت|كتب|كتبت|يقول|تقول|طلب|कहा|बोला|बोली|लिखा)"
_WHOM = (
    r"(?:me|us|him|her|you|them|that|mir|uns|ihm|ihr|mich|dass|moi|nous|lui|que|nos|мне|нам|ему|ей"
    r"|что|لي|لنا|أن|कि)"
)
_SAID_BEFORE = re.compile(
    rf"(?:(?<!\w){_SAYS}(?!\w)(?: {_WHOM})?|[说說]|写道|寫道|要求)[\s:：,，]*$", re.I
)
_SAID_AFTER = re.compile(
    rf"[\s,，]*(?:(?:\w{{1,12}} ){{0,2}}{_SAYS}(?!\w)"
    r"|と(?:言|書|述|い[うっわ])|って言|[他她][说說])",
    re.I,
)
_SAID_WITHIN = 30  # characters before and after a quotation
# As the common mail programs write them in the ten languages of `instruction_wordings`.
_NAMES = (
    "From|To|Cc|Bcc|Reply-To|Date|Sent|Subject"
    "|Von|An|Kopie|Datum|Gesendet|Betreff"
    "|De|À|Envoyé|Objet|Desde|Para|Enviado|Fecha|Asunto|Enviada em|Assunto|Data"
    "|От|Кому|Отправлено|Тема|Дата|发件人|收件人|发送时间|主题|日期|差出人|宛先|送信日時|件名|日時"
    "|من|إلى|الموضوع|تاريخ الإرسال|التاريخ|प्रेषक|प्रति|विषय|दिनांक"
)
_FIELD = rf"^[*_ \t]*(?:{_NAMES})[*_ \t]*[:：][^\n]*\n"
_MAIL = re.compile(
    rf"(?:{_FIELD}){{2}}"
    r"|^-{2,}[ \t]*(?:Original Message|Forwarded message"
    r"|Ursprüngliche Nachricht|Originalnachricht|Weitergeleitete Nachricht"
    r"|Message d['’]origine|Message (?:transféré|original)"
    r"|Mensaje (?:original|reenviado)|Mensagem (?:original|encaminhada)"
    r"|(?:Исходное|Пересылаемое) сообщение|原始邮件|转发的邮件|元のメッセージ|الرسالة الأصلية"
    r"|मूल संदेश)[ \t]*-*[ \t]*$"
    r"|^(?:Begin forwarded message|Anfang der weitergeleiteten (?:Nachricht|E-Mail)"
    r"|Début du message (?:réexpédié|transféré)|Inicio del mensaje reenviado)[ \t]*:"
    r"|^(?:On|Am|Le|El|Em)\b[^\n]{1,200}(?:\n[^\n]{0,200})?"
    r"\b(?:wrote|schrieb|écrit|escribió|escreveu)\b[^\n]{0,200}:[ \t]*$",
    re.M | re.I,
)
_INTRODUCTION = re.compile(
    r"\b(?:e-?mails?|mail|messages?|logs?|letter|texts?|transcript|article|output|traceback|ticket"
    r"|post|page|document|chat|note)\b[^.!?:\n]{0,80}:[ \t]*$",
    re.M | re.I,
)
_COLON = re.compile(r":[ \t]*$", re.M)  # the end of an introduction, and found sooner


def find_foreign(text: str, pasted: Sequence[Range] | None, *, names: bool = True) -> list[Range]:
    """The parts of a message's text that its author did not type. `pasted`: what the page saw being
    pasted; None where that is unknown. A mail goes on to the end of its paste; where that is not
    known, to the end of the text, and so does what a line like “Here is the log:” introduces.
    `names`: whether what is in quotation marks counts where it is a name of a few words."""
    found = [(start, end) for start, end in pasted or ()]
    found += [(fence.start, fence.end) for fence in find_fences(text, tildes=True, unclosed=True)]
    found += [match.span() for match in _at_lines(_MARGIN, text)]
    quotes = _QUOTES.finditer(text)
    found += [match.span() for match in quotes if names or not _is_name(text, match)]
    found += _mails(text, pasted or ())
    if pasted is None and _COLON.search(text) and (introduced := _INTRODUCTION.search(text)):
        found.append((introduced.end(), len(text)))
    return found


def _is_name(text: str, quote: re.Match[str]) -> bool:
    """Whether a quotation only names something: it is short, tells of no wish, and nobody is said
    to have said it."""
    said = quote[0][1:-1].strip()
    words = said.split()
    if not said or "\n" in said or _SENTENCE.search(said):
        return False
    letters = [word for word in words if any(map(str.isalnum, word))]
    title = len(letters) > 1 and all(not w[0].islower() or len(w) < 4 for w in letters)
    title = title and said[0].isupper() and letters[-1][0].isupper()
    most = TITLE_WORDS if title else NAME_WORDS
    if len(letters) > most or len(_NO_SPACES.findall(said)) > NAME_CHARACTERS or instructs(said):
        return False
    start, end = quote.span()
    before = text[max(0, start - _SAID_WITHIN) : start]
    after = text[end : end + _SAID_WITHIN]
    return title or not (_SAID_BEFORE.search(before) or _SAID_AFTER.match(after))


def _at_lines(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Where a pattern matches from the beginning of a line on. A search for `^` looks at each
    character."""
    start = 0
    while True:
        match = pattern.match(text, start)
        if match:
            yield match
        # After what has matched, which may have taken the end of a line.
        start = text.find("\n", match.end() - 1 if match else start) + 1
        if not start:
            return


def blank_out(text: str, ranges: Sequence[Range], filler: str) -> str:
    """The text with one character `filler` for each in the ranges, line ends apart: as long as
    before."""
    kept, end = [], 0
    for start, stop in sorted(ranges):
        kept.append(text[end:start])
        kept.append(re.sub(r"[^\n]", filler, text[max(start, end) : stop]))
        end = max(end, stop)
    return "".join([*kept, text[end:]])


def _mails(text: str, pasted: Sequence[Range]) -> Iterator[Range]:
    for match in _at_lines(_MAIL, text):
        start = match.start()
        end = next((stop for first, stop in pasted if first <= start < stop), len(text))
        yield start, end
        if end == len(text):
            return
