"""The headings of a record, however a model writes them: which lines of a reply are which.

A heading is known by its name, in English or in the other nine most written languages, whatever
marks, numbers and emoji stand around it. Where the names are of another language, their number and
order tell.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from agent.compaction.skills import INSTRUCTIONS

# By the heading, how else it may be called; case, plurals, accents, marks and "and" do not matter.
_OTHER_NAMES = {
    "Overview": "summary|resumen|visión general|panorama|visão geral|resumo|aperçu|résumé"
    "|vue d'ensemble|überblick|übersicht|zusammenfassung|обзор|краткий обзор|сводка|概述|概览|概覽"
    "|概要|总览|摘要|अवलोकन|सारांश|संक्षिप्त विवरण|نظرة عامة|ملخص|لمحة عامة",
    "Goal and constraints": "goal|constraints|goals and requirements|requirements and constraints"
    "|objetivo y restricciones|objetivos y limitaciones|meta y restricciones|objetivo y límites"
    "|objetivo e restrições|objetivo e limitações|meta e restrições|objectif et contraintes"
    "|but et contraintes|objectifs et limites|ziel und vorgaben|ziel und rahmenbedingungen"
    "|ziel und einschränkungen|ziel und randbedingungen|ziele und bedingungen"
    "|цель и ограничения|цели и требования|目标和约束|目標和限制|目标和限制|目标和约束条件"
    "|目標と制約"
    "|目的と制約|目標と条件|目標と制約条件|目的と制約条件|लक्ष्य और सीमाएँ|लक्ष्य और बाधाएँ"
    "|लक्ष्य और शर्तें"
    "|उद्देश्य और सीमाएँ|الهدف والقيود|الأهداف والقيود|الهدف والشروط",
    INSTRUCTIONS: "user instructions|user preferences|preferences|instructions"
    "|standing instructions and preferences|instrucciones permanentes|instrucciones vigentes"
    "|instrucciones fijas|instruções permanentes|instruções fixas|instructions permanentes"
    "|consignes permanentes|ständige anweisungen|dauerhafte anweisungen|feste anweisungen"
    "|dauerhafte vorgaben|постоянные указания|постоянные инструкции|действующие указания|长期指示"
    "|长期指令|持续指令|固定指示|常规指示|長期指示|常设指令|継続的な指示|恒常的な指示|継続指示"
    "|常時の指示"
    "|स्थायी निर्देश|التعليمات الدائمة|تعليمات دائمة|تعليمات ثابتة",
    "Decisions": "key decisions|decisions made|decisiones|decisiones tomadas|decisões"
    "|decisões tomadas|décisions|décisions prises|entscheidungen|beschlüsse|решения"
    "|принятые решения|决定|决策|決定|決策|決定事項|निर्णय|फ़ैसले|القرارات|قرارات",
    "Facts and values": "facts|key facts|facts and figures|hechos y valores|datos y valores"
    "|fatos e valores|factos e valores|dados e valores|faits et valeurs|données et valeurs"
    "|fakten und werte|tatsachen und werte|факты и значения|факты и данные|事实和数值|事实和值"
    "|事实和数据|事實和數值|事実と値|事実と数値|तथ्य और मान|तथ्य और मूल्य|तथ्य और आँकड़े"
    "|الحقائق والقيم|حقائق وقيم",
    "Progress": "status|progreso|avances|progresso|andamento|progrès|avancement|progression"
    "|fortschritt|stand|прогресс|ход работы|进展|进度|進展|進度|進捗|進捗状況|प्रगति|التقدم"
    "|سير العمل",
    "Open tasks": "progress|pending|pending tasks|to do|tareas pendientes|tareas abiertas"
    "|tarefas pendentes|tarefas abertas|tâches en cours|tâches ouvertes|tâches restantes"
    "|offene aufgaben|открытые задачи|незавершённые задачи|待办事项|未完成任务|待办任务|待辦事項"
    "|未完了のタスク|未完了タスク|残りのタスク|लंबित कार्य|शेष कार्य|المهام المفتوحة"
    "|المهام المعلقة",
    "Files and artifacts": "files|artifacts|files and artefacts|archivos y artefactos"
    "|ficheros y artefactos|arquivos e artefatos|ficheiros e artefactos|fichiers et artefacts"
    "|fichiers et documents|dateien und artefakte|dateien und dokumente|файлы и артефакты"
    "|файлы и документы|文件和产物|文件和成果|文件和工件|檔案和產物|ファイルと成果物"
    "|फ़ाइलें और सामग्री"
    "|फ़ाइलें और दस्तावेज़|फ़ाइलें और आर्टिफैक्ट|الملفات والمخرجات|الملفات والوثائق"
    "|الملفات والمواد",
    "Errors and fixes": "errors|problems and fixes|errors and solutions|errores y soluciones"
    "|errores y correcciones|erros e soluções|erros e correções|erreurs et corrections"
    "|erreurs et solutions|fehler und behebungen|fehler und lösungen|fehler und korrekturen"
    "|ошибки и исправления|ошибки и решения|错误和修复|错误和解决|错误和修正|錯誤和修復"
    "|エラーと修正"
    "|エラーと解決策|エラーと対処|त्रुटियाँ और समाधान|त्रुटियाँ और सुधार|الأخطاء والإصلاحات"
    "|الأخطاء والحلول",
    "Open questions": "questions|unresolved questions|preguntas abiertas|preguntas pendientes"
    "|cuestiones abiertas|perguntas em aberto|questões em aberto|perguntas abertas"
    "|questions ouvertes|questions en suspens|offene fragen|открытые вопросы|нерешённые вопросы"
    "|未解决的问题|待解决问题|未决问题|开放问题|未解決問題|未解決の質問|未解決の問題"
    "|未解決事項|खुले प्रश्न"
    "|खुले सवाल|अनुत्तरित प्रश्न|الأسئلة المفتوحة|أسئلة مفتوحة|أسئلة معلقة",
    "Current work and next step": "current work|next step|current work and next steps"
    "|current state and next step|trabajo actual y próximo paso|trabajo en curso y próximo paso"
    "|trabajo actual y siguiente paso|trabalho atual e próximo passo"
    "|trabalho em curso e próximo passo|travail en cours et prochaine étape"
    "|travail actuel et prochaine étape|aktuelle arbeit und nächster schritt"
    "|laufende arbeit und nächster schritt|aktueller stand und nächster schritt"
    "|текущая работа и следующий шаг|当前工作和下一步|目前工作和下一步|當前工作和下一步"
    "|現在の作業と次のステップ|現在の作業と次の手順|現在の作業と次の一歩|वर्तमान कार्य और अगला कदम"
    "|मौजूदा काम और अगला कदम|العمل الحالي والخطوة التالية|العمل الجاري والخطوة التالية",
}
_AND = frozenset({"and", "y", "e", "et", "und", "и", "और"})
_AND_WITHIN = re.compile("[和与與及跟と・]")
_ORDINAL = re.compile(r"\d{1,2}|[ivx]{1,5}|[a-k]|[一二三四五六七八九十]{1,3}")
_BRACKETED = re.compile(r"\s*[(（\[][^()（）\[\]]{0,80}[)）\]]\s*$")
LONGEST = 160  # characters of a heading

# How a line may look that is a heading, from what can hardly be anything else to what may.
_ATX = re.compile(r"[ \t]*(#{1,6})(?P<gap>[ \t]*)(?P<title>[^#\s].*)")
_HTML = re.compile(r"[ \t]*<(h[1-6])>(?P<title>[^<>]+)</\1>\s*", re.I)
_BOLD = re.compile(
    r"[ \t]*(?P<item>(?:\d{1,2}[.)]|[-*+•])[ \t]+)?(?P<marks>\*{1,3}|_{1,3})(?P<title>[^*_]+)"
    r"(?P=marks)(?P<rest>.*)"
)
_PLAIN = re.compile(r"(?:(?:\d{1,2}[.)]|[-*+•])[ \t]+)?(?P<title>[^|<>]+)")
_UNDERLINE = re.compile(r" {0,3}(?:={2,}|-{2,})\s*")
_COLON = re.compile(r"[:：]")
_TAG_BEFORE = re.compile(r"[ \t]*<[a-z_]{1,30}>[ \t]*(?=\S)", re.I)
_TAG_AFTER = re.compile(r"</[a-z_]{1,30}>[ \t]*$", re.I)


class Mark(NamedTuple):
    """A line that looks like a heading: its place, how many lines it takes, its shape, how weak a
    sign that is (0 to 2), its title, and what stands behind that in the line."""

    line: int
    lines: int
    shape: str
    weakness: int
    title: str
    rest: str = ""


class HeadingPlace(NamedTuple):
    """Where a heading of the form stands."""

    heading: str
    mark: Mark


def fold_title(title: str) -> str:
    """A title as it is compared: without case, accents, marks, emoji, plurals and "and"."""
    words = split_words(title)
    while len(words) > 1 and _ORDINAL.fullmatch(words[0]):
        words = words[1:]
    kept = (word for word in words if word not in _AND)
    return "".join(_AND_WITHIN.sub("", word.rstrip("s")) for word in kept)


def split_words(text: str) -> list[str]:
    """Words of letters and digits, in lower case, without accents and vowel signs."""
    plain = (
        c if (kind := unicodedata.category(c)[0]) in "LN" else " " if kind != "M" else ""
        for c in unicodedata.normalize("NFKD", text.replace("・", "").casefold())
    )
    return "".join(plain).split()


@lru_cache(maxsize=8)
def _list_names(headings: Sequence[str]) -> Mapping[str, str]:
    """The headings of a form by all their names."""
    names = {fold_title(heading): heading for heading in headings}
    for heading in headings:
        for other in _OTHER_NAMES.get(heading, "").split("|"):
            names.setdefault(fold_title(other), heading)
    return {name: heading for name, heading in names.items() if name}


def find_headings(
    lines: Sequence[str], code: Sequence[bool], headings: Sequence[str], *, by_place: bool = True
) -> list[HeadingPlace]:
    """The form's headings in a text, in the order in which they stand there, those whose names
    nobody knows too where they are told `by_place`. `code`: which lines are none."""
    marks = [mark for mark in _find_marks(lines) if not code[mark.line]]
    found: dict[int, HeadingPlace] = {}
    ranked = _rank(marks, headings)
    for rank in sorted(ranked):
        # What only may be a heading is none where one stands that is more likely to be.
        known = {place.heading for place in found.values()}
        for place in ranked[rank]:
            if place.heading not in known:
                found.setdefault(place.mark.line, place)
            if place.mark.weakness:
                known.add(place.heading)
    places = [found[line] for line in sorted(found)]
    return _fill_gaps(places, marks, headings) if by_place else places


def _rank(
    marks: Sequence[Mark], headings: Sequence[str]
) -> Mapping[tuple[int, bool, bool], Sequence[HeadingPlace]]:
    """The marks with names that are known, the likeliest headings first: by their weakness, by
    whether the name is the form's own, and whether it stands where most of these do."""
    names = _list_names(tuple(headings))
    named = [
        HeadingPlace(heading, mark)
        for mark in marks
        if (heading := _name(mark, names))
        and fold_title(_COLON.split(mark.rest, 1)[0]) not in names
    ]
    own = {heading: fold_title(heading) for heading in headings}
    shapes = Counter(p.mark.shape for p in named if fold_title(p.mark.title) == own[p.heading])
    usual = max(shapes, key=shapes.__getitem__, default="")
    ranked: dict[tuple[int, bool, bool], list[HeadingPlace]] = defaultdict(list)
    for place in named:
        other = fold_title(place.mark.title) != own[place.heading]
        ranked[place.mark.weakness, other, place.mark.shape != usual].append(place)
    return ranked


def _name(mark: Mark, names: Mapping[str, str]) -> str | None:
    return names.get(fold_title(mark.title)) or names.get(
        fold_title(_BRACKETED.sub("", mark.title))
    )


def _find_marks(lines: Sequence[str]) -> Iterator[Mark]:
    for index, line in enumerate(lines):
        if not line.strip() or len(line) > LONGEST + 4_000:
            continue
        below = lines[index + 1] if index + 1 < len(lines) else ""
        line = _TAG_AFTER.sub("", _TAG_BEFORE.sub("", line, count=1), count=1)
        for mark in _read_marks(index, line, below):
            if len(mark.title) <= LONGEST:
                yield mark


def _read_marks(index: int, line: str, below: str) -> Iterator[Mark]:
    """What a line may be a heading as, from the strongest sign on."""
    if atx := _ATX.fullmatch(line):
        whole = atx["title"].rstrip(" \t#")
        title, rest = _split_at_colon(whole)
        shape = atx[1] if atx["gap"] else ""  # without a space, only a known one is a heading
        if rest:
            yield Mark(index, 1, "", 0, title, rest)
        yield Mark(index, 1, shape, 0, whole)
    elif html := _HTML.fullmatch(line):
        yield Mark(index, 1, html[1].lower(), 0, html["title"])
    elif bold := _BOLD.fullmatch(line):
        title, rest = bold["title"].strip(), bold["rest"].strip()
        colon = title.endswith((":", "：")) or rest.startswith((":", "：", "– ", "— ", "- "))
        rest = rest.lstrip(":：–—- \t") if colon else rest
        item = bool(bold["item"])
        if not rest:
            yield Mark(index, 1, "" if item else "bold", 2 if item else 1, title)
        elif colon and not item:
            yield Mark(index, 1, "", 1, title, rest)
    elif len(line) <= LONGEST and (plain := _PLAIN.fullmatch(line)):
        if _UNDERLINE.fullmatch(below):
            yield Mark(index, 2, "underlined", 1, line.strip())
        yield Mark(index, 1, "", 2, plain["title"])
    elif (plain := _PLAIN.match(line)) and line[0].isalpha():
        title, rest = _split_at_colon(line)
        if rest:
            yield Mark(index, 1, "", 2, title, rest)


def _split_at_colon(title: str) -> tuple[str, str]:
    """A title, and what stands behind its colon."""
    bare = title.strip("*_ ")
    before, *after = _COLON.split(bare, maxsplit=1)
    return before, after[0].strip("*_ ") if after else ""


def _fill_gaps(
    places: Sequence[HeadingPlace], marks: Sequence[Mark], headings: Sequence[str]
) -> list[HeadingPlace]:
    """The places; and between two of them the headings of the same shape whose names nobody knows,
    where exactly as many stand there as are missing. They are of another language."""
    order = [headings.index(place.heading) for place in places]
    if order != sorted(set(order)) or len(order) == len(headings):
        return list(places)
    lines = {place.mark.line for place in places}
    shapes = Counter(mark.shape for mark in marks if mark.shape and mark.line in lines)
    tried = [max(shapes, key=shapes.__getitem__)] if shapes else []
    if not places:
        tried = [*dict.fromkeys(mark.shape for mark in marks if mark.shape)]
    english = any(fold_title(place.mark.title) == fold_title(place.heading) for place in places)
    ends = [(-1, -1), *((p.mark.line, o) for p, o in zip(places, order, strict=True))]
    ends.append((max((mark.line for mark in marks), default=0) + 1, len(headings)))
    for shape in tried:
        unknown = [mark for mark in marks if mark.shape == shape and mark.line not in lines]
        filled: list[HeadingPlace] = []
        for (line, at), (next_line, next_at) in zip(ends, ends[1:], strict=False):
            missing = headings[at + 1 : next_at]
            between = [mark for mark in unknown if line < mark.line < next_line]
            if places and len(between) < len(missing):  # nobody had to give instructions
                missing = [heading for heading in missing if heading != INSTRUCTIONS]
            if len(between) == len(missing) and not (english and [*missing] == [INSTRUCTIONS]):
                filled += map(HeadingPlace, missing, between)
        if filled:
            return sorted([*places, *filled], key=lambda place: place.mark.line)
    return list(places)
