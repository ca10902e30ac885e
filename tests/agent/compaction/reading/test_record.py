"""A summary is recognised by what it says, however a model writes it."""

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.compaction.ladder import summarise
from agent.compaction.policy import ChapterForm
from agent.compaction.reading.headings import _OTHER_NAMES, fold_title
from agent.compaction.reading.notation import Covered
from agent.compaction.reading.record import read_record, read_rest
from agent.compaction.reading.replies import read_valid_record
from agent.compaction.skills import HEADINGS, INSTRUCTIONS, SKILLS
from agent.compaction.writing.continuing import read_complete
from agent.model.client import Client
from agent.model.reply import Reply
from demo.api.server import DemoServer
from tests.agent.compaction.jobs import HISTORY, chapter, job
from tests.agent.conversations import text, user

COVERED = Covered(5, 40)
SHORT = SKILLS[ChapterForm.SHORT].headings
RECORD = "\n".join(
    f"## {heading}\n- The ferry to {heading.split()[0]} leaves at {number}:30 [#{number}]"
    for number, heading in enumerate(HEADINGS, 5)
)


def read(written: str) -> str:
    return read_record(written, HEADINGS, COVERED).text


def with_headings(write: Callable[[int, str], str]) -> str:
    numbers = {heading: number for number, heading in enumerate(HEADINGS, 1)}
    return re.sub(r"^## (.+)$", lambda m: write(numbers[m[1]], m[1]), RECORD, flags=re.M)


ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
FORMS: dict[str, Callable[[int, str], str]] = {
    "three signs": lambda _, heading: f"### {heading}",
    "one sign": lambda _, heading: f"# {heading}",
    "no space": lambda _, heading: f"##{heading}",
    "closed": lambda _, heading: f"## {heading} ##",
    "bold": lambda _, heading: f"**{heading}**",
    "bold with underscores": lambda _, heading: f"__{heading}__",
    "bold with a colon": lambda _, heading: f"**{heading}:**",
    "bold before a colon": lambda _, heading: f"**{heading}**:",
    "italic": lambda _, heading: f"*{heading}*",
    "bold in a heading": lambda _, heading: f"## **{heading}**",
    "a colon": lambda _, heading: f"## {heading}:",
    "a wide colon": lambda _, heading: f"## {heading}：",
    "a number": lambda number, heading: f"## {number}. {heading}",
    "a roman number": lambda number, heading: f"### {ROMAN[number - 1]}. {heading}",
    "a letter": lambda number, heading: f"## {'ABCDEFGHIJ'[number - 1]}) {heading}",
    "a keycap": lambda number, heading: f"## {number % 10}\ufe0f\u20e3 {heading}",
    "an emoji": lambda _, heading: f"## 🎯 {heading}",
    "lower case": lambda _, heading: f"## {heading.lower()}",
    "upper case": lambda _, heading: f"## {heading.upper()}",
    "an ampersand": lambda _, heading: f"## {heading.replace(' and ', ' & ')}",
    "something in brackets": lambda _, heading: f"## {heading} (as of message 40)",
    "underlined": lambda _, heading: f"{heading}\n{'-' * len(heading)}",
    "underlined twice": lambda _, heading: f"{heading}\n===",
    "nothing": lambda _, heading: heading,
    "nothing but a colon": lambda _, heading: f"{heading}:",
    "HTML": lambda _, heading: f"<h2>{heading}</h2>",
    "a numbered list": lambda number, heading: f"{number}. **{heading}**",
    "a plain numbered list": lambda number, heading: f"{number}) {heading}:",
    "a bullet": lambda _, heading: f"- **{heading}:**",
    "lines on both sides": lambda _, heading: f"{'=' * len(heading)}\n{heading}\n{'=' * 20}",
    "bold above a line": lambda _, heading: f"**{heading}**\n----",
    "HTML with an attribute": lambda _, heading: f'<h3 id="x">{heading}</h3>',
    "HTML in bold": lambda _, heading: f"<p><strong>{heading}</strong></p>",
    "a quotation": lambda _, heading: f"> ## {heading}",
}


@pytest.mark.parametrize("form", FORMS)
def test_headings_of_any_form_are_read(form: str) -> None:
    assert read(with_headings(FORMS[form])) == RECORD


def test_what_stands_behind_a_heading_in_its_line_is_under_it() -> None:
    written = with_headings(FORMS["bold with a colon"]).replace(":**\n- ", ":** ")
    assert read(written) == RECORD.replace("\n- ", "\n")
    assert read(RECORD.replace("## Overview\n- ", "## Overview: ")) == RECORD.replace("- ", "", 1)


SECTIONS = [
    (heading, said)
    for part in RECORD.removeprefix("## ").split("\n## ")
    for heading, _, said in [part.partition("\n")]
]


def _name(heading: str, sign: str = "_") -> str:
    return heading.lower().replace(" ", sign)


LAYOUTS = {
    "JSON": json.dumps({heading: [said[2:]] for heading, said in SECTIONS}, indent=1),
    "JSON of strings": json.dumps(dict(SECTIONS)),
    "JSON in a fence": "```json\n"
    + json.dumps({"record": {_name(heading): [said] for heading, said in SECTIONS}})
    + "\n```",
    "tags": "\n".join(f"<{_name(h)}>\n{said}\n</{_name(h)}>" for h, said in SECTIONS),
    "tags in a fence": "```xml\n<record>\n"
    + "\n".join(f"<{_name(h, '-')}>\n{said}\n</{_name(h, '-')}>" for h, said in SECTIONS)
    + "\n</record>\n```",
    "named tags": "\n".join(f'<part name="{h}">\n{said}\n</part>' for h, said in SECTIONS).replace(
        "part", "section"
    ),
    "a page": "".join(f"<h2>{h}</h2><ul><li>{said[2:]}</li></ul>" for h, said in SECTIONS),
    "a table": "| Part | Record |\n|---|---|\n"
    + "\n".join(f"| **{heading}** | {said[2:]} |" for heading, said in SECTIONS),
    "a quotation": "\n".join(f"> {line}" for line in RECORD.splitlines()),
    "a fence each": "\n\n".join(f"```\n## {h}\n{said}\n```" for h, said in SECTIONS),
    "a channel": "<|channel|>analysis<|message|>Well.<|end|><|channel|>final<|message|>" + RECORD,
    "a draft before": f"Draft:\n{RECORD.replace(':30', ':31')}\n\nFinal version:\n{RECORD}",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_record_in_any_layout_is_read(layout: str) -> None:
    assert read(LAYOUTS[layout]) == RECORD


def test_a_record_in_two_parts_keeps_both() -> None:
    other = re.sub(r"- .*", lambda _: "- Cabins and bicycles are sold out [#30]", RECORD)
    assert read(f"{RECORD}\n{other}").count("sold out") == len(HEADINGS)
    assert "The ferry to Files" in read(f"{RECORD}\n{other}")


@pytest.mark.parametrize("layout", ["JSON", "tags", "a quotation", "a table", "a channel"])
def test_of_a_cut_reply_in_any_layout_only_whole_statements_are_read(layout: str) -> None:
    written = LAYOUTS[layout]
    for end in range(0, len(written), 7):
        record, left = read_complete(written[:end], HEADINGS, COVERED)
        said = [line for line in record.text.splitlines() if not line.startswith("## ")]
        assert set(said) <= set(RECORD.splitlines()), end
        assert left, end


def test_tags_in_code_stay_when_a_record_in_tags_is_read() -> None:
    code = "```html\n<ul>\n<li>One</li>\n</ul>\n```"
    written = LAYOUTS["tags"].replace("</decisions>", f"{code}\n</decisions>")
    assert code in read(written)


def test_every_name_belongs_to_one_heading_of_a_form() -> None:
    for headings in (HEADINGS, SHORT):
        found: dict[str, str] = {}
        for heading in headings:
            for name in [heading, *_OTHER_NAMES[heading].split("|")]:
                assert found.setdefault(fold_title(name), heading) == heading, name
                assert fold_title(name)


TRANSLATED = {
    "Spanish": "Visión general|Objetivo y restricciones|Instrucciones permanentes|Decisiones"
    "|Hechos y valores|Progreso|Archivos y artefactos|Errores y correcciones|Preguntas abiertas"
    "|Trabajo actual y próximo paso",
    "French": "Aperçu|Objectif et contraintes|Instructions permanentes|Décisions"
    "|Faits et valeurs|Progrès|Fichiers et artefacts|Erreurs et corrections|Questions ouvertes"
    "|Travail en cours et prochaine étape",
    "Chinese": "概述|目标与约束|长期指示|决定|事实与数值|进展|文件与产物|错误与修复"
    "|未解决的问题|当前工作与下一步",
    "Japanese": "概要|目標と制約|継続的な指示|決定事項|事実と値|進捗|ファイルと成果物"
    "|エラーと修正|未解決の質問|現在の作業と次のステップ",
    "Arabic": "نظرة عامة|الهدف والقيود|التعليمات الدائمة|القرارات|الحقائق والقيم|التقدم"
    "|الملفات والمخرجات|الأخطاء والإصلاحات|الأسئلة المفتوحة|العمل الحالي والخطوة التالية",
    # Not one that is known: their number and order tell.
    "Polish": "Przegląd|Cel i ograniczenia|Stałe polecenia|Decyzje|Fakty i wartości|Postęp"
    "|Pliki i artefakty|Błędy i poprawki|Otwarte pytania|Bieżąca praca i następny krok",
    "Turkish": "Genel bakış|Amaç|Kalıcı talimatlar|Kararlar|Bilgiler|İlerleme|Dosyalar|Hatalar"
    "|Açık sorular|Güncel iş",
}


@pytest.mark.parametrize("language", TRANSLATED)
@pytest.mark.parametrize("form", ["three signs", "bold", "a number"])
def test_translated_headings_are_read(language: str, form: str) -> None:
    names = TRANSLATED[language].split("|")
    assert read(with_headings(lambda n, _: FORMS[form](n, names[n - 1]))) == RECORD
    titled = f"# Zapis\n\n{with_headings(lambda n, _: f'## {names[n - 1]}')}"
    assert read(titled) == RECORD


@pytest.mark.parametrize("unknown", range(1, len(HEADINGS) + 1))
def test_a_name_that_nobody_knows_is_told_by_its_place(unknown: int) -> None:
    """Where the others are not English; in an English record it may be a section of its own."""
    names = TRANSLATED["Spanish"].split("|")
    names[unknown - 1] = "Lo que sea"
    assert read(with_headings(lambda n, _: f"### {names[n - 1]}")) == RECORD


def test_a_heading_of_the_models_own_stands_under_one_of_the_forms() -> None:
    own = "## Ferry companies\n- Two [#9]"
    record = RECORD.replace(f"## {INSTRUCTIONS}\n", "").replace(
        "## Progress", f"{own}\n## Progress"
    )
    meant = record.replace("## Ferry", "### Ferry")
    assert read(record) == meant


AROUND = {
    "a fence": "```markdown\n{}\n```",
    "a fence without a language": "```\n{}\n```",
    "tildes": "~~~\n{}\n~~~",
    "a fence and sentences": "Here you are:\n\n```md\n{}\n```\n\nTell me if that will do.",
    "an open fence": "```markdown\n{}",
    "a sentence before": "Sure! Here is the record that you asked for:\n\n{}",
    "a title": "# Record of messages #5 to #14\n\n{}",
    "a sentence behind": "{}\n\nLet me know if anything is missing.",
    "several sentences behind": "{}\n\nI left out the small talk.\n\nAll the best!",
    "a line across": "---\n{}\n---",
    "an end": "{}\n\n---\n*End of the record*",
    "a tag": "<summary>\n{}\n</summary>",
    "a tag in the same line": "<record>{}</record>\nThat is all.",
    "indentation": "    {}",
    "thinking": "<think>\nWell. ## Overview comes first.\n\n## Overview\n- No.\n</think>\n\n{}",
    "an analysis": "<analysis>\n1. They.\n```\nx\n```\n</analysis>\n<summary>\n{}\n</summary>",
    "reasoning in one line": "<reasoning>Short.</reasoning>\n{}",
    "a scratchpad with an attribute": '<scratchpad lang="en">\nWell.\n</scratchpad>{}',
    "only the end of thinking": "Well, ferries.\n## Overview\n- A draft.\n</think>\n{}",
    "only the beginning of thinking": "<thinking>\nWell, ferries.\n\n{}",
    "thinking behind": "{}\n<thinking>\nDid I forget a ferry?",
    "all in thinking": "<analysis>\n{}\n</analysis>",
}


@pytest.mark.parametrize("around", AROUND)
def test_nothing_but_the_record_is_kept(around: str) -> None:
    record = RECORD.replace("\n", "\n    ") if around == "indentation" else RECORD
    assert read(AROUND[around].replace("{}", record)) == RECORD


CITATIONS = [
    *("[{}]", "(#{})", "({})", "【#{}】", "［#{}］", "[^{}]", "[№ {}]", "(see #{})", "[msg #{}]"),
    *("(message {})", "[message #{}]", "(Nachricht {})", "[消息 {}]", "[#{} user]"),
    "[#{} assistant · Tue 24 Nov 2026 14:05]",
    *("**[#{}]**", "`[#{}]`", "[[#{}]]", "[#{}](#m{})", "<sup>#{}</sup>", "{#{}}", "\\[#{}\\]"),
    *("#{}", "— #{}", "(from #{})", "[user #{}]"),
]


@pytest.mark.parametrize("citation", CITATIONS)
def test_citations_of_any_form_are_read(citation: str) -> None:
    written = re.sub(r"\[#(\d+)\]", lambda m: citation.replace("{}", m[1]), RECORD)
    assert read(written) == RECORD


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("The ferry leaves. [7, 8]", "The ferry leaves. [#7 #8]"),
        ("The ferry leaves [#7, #8].", "The ferry leaves [#7 #8]."),
        ("The ferry leaves [#7-#9]", "The ferry leaves [#7–#9]"),
        ("The ferry leaves [#7 and #9]", "The ferry leaves [#7 #9]"),
        ("渡轮七点出发【7】。", "渡轮七点出发 [#7]。"),
        ("It leaves at 7 [#7] and at 8 (#8)", "It leaves at 7 [#7] and at 8 (#8)"),
        ("It leaves at 7 [7] and at 8 [8]", "It leaves at 7 [#7] and at 8 [#8]"),
        ("Replaced: 7:30 (#7) → 8:30 (#8)", "Replaced: 7:30 [#7] → 8:30 [#8]"),
        # These are no citations.
        ("Read `seats[7]` again", "Read `seats[7]` again"),
        ("The last seat is seats[7]", "The last seat is seats[7]"),
        ("The year was a good one [2026]", "The year was a good one [2026]"),
        ("They pay in two steps (7)", "They pay in two steps (7)"),
        ("Merged the change (#7) [#9]", "Merged the change (#7) [#9]"),
        ("The seats [7] are free", "The seats [7] are free"),
        ("See [7](https://ferry.example)", "See [7](https://ferry.example)"),
        ("The first message said so [#2]", "The first message said so [#2]"),
    ],
)
def test_a_citation_ends_a_statement_and_names_a_message(written: str, meant: str) -> None:
    start = RECORD.partition("\n- ")[0]
    read_back = read(RECORD.replace(start, f"{start}\n- {written}"))
    assert read_back == RECORD.replace(start, f"{start}\n- {meant}")


@pytest.mark.parametrize(
    "bullet", ["* ", "+ ", "• ", "•", "– ", "— ", "1. ", "2) ", "● ", "▪ ", "・"]
)
def test_bullets_of_any_form_are_read(bullet: str) -> None:
    assert read(RECORD.replace("\n- ", f"\n{bullet}")) == RECORD


@pytest.mark.parametrize(
    "none", ["None", "- None.", "*None.*", "N/A", "(none)", "Keine.", "无", "なし", "-"]
)
def test_a_section_that_says_that_it_has_nothing_says_none(none: str) -> None:
    body = "- The ferry to Decisions leaves at 8:30 [#8]"
    assert read(RECORD.replace(body, none)) == RECORD.replace(body, "None.")


def test_real_lines_of_the_record_stay() -> None:
    said = (
        "- Overview of all ferries: four a day [#9]\n"
        "- **Open questions** were asked by the harbour too [#9]\n"
        "**The night ferry is cancelled.**\n"
        "1. First buy the ticket [#9]\n"
        "```md\n## Overview\n# A comment (7)\n• a bullet\n<think>\n</think>\n```\n"
        "- What the model thinks ends with </think>\n"
        "- The template has <|message|> before the text and <|end|> behind it [#9]\n"
        "| # | ferry |\n|---|---|\n| 1 | Night [7] |\n"
        "<details>\n#12 is late."
    )
    record = RECORD.replace("## Progress", f"{said}\n## Progress")
    assert read(record) == record.replace("1. First", "- First")


def test_headings_within_a_section_are_no_sections() -> None:
    said = "### Files\n- Two [#9]\n### Decisions\n- One [#9]\n**Progress:** half of it [#9]"
    record = RECORD.replace("## Open questions", f"{said}\n## Open questions")
    assert read(record) == record


def test_the_last_section_keeps_prose_code_and_what_goes_on_behind_it() -> None:
    for said in (
        "They wait at the pier [#9].\n\nThe ticket comes next.",
        "They wait at the pier.",
        "- Run it [#9]:\n\n```sh\nmake\n```",
        "- They wait at the pier,\n  in the rain [#9]\n\nThe ticket comes next [#9].",
    ):
        record = "\n".join([*RECORD.splitlines()[:-1], said])
        assert read(record) == record


def test_what_is_too_long_to_be_a_leave_taking_stays_to_be_judged() -> None:
    assert read(f"{RECORD}\n\n{'They talk and talk. ' * 100}").startswith(f"{RECORD}\n\nThey")


def test_a_fence_that_is_never_closed_hides_no_heading() -> None:
    broken = RECORD.replace("## Progress", "```sh\nmake ferry\n## Progress")
    assert read(broken) == RECORD.replace("## Progress", "make ferry\n## Progress")


def test_the_rest_of_a_record_begins_where_it_stopped() -> None:
    lead = "Of course.\n- The ferry to Files is late [#9]\n"
    rest = read_rest(f"{lead}**Open questions**\nNone.", HEADINGS, COVERED, "Files and artifacts")
    assert rest.text == (
        "## Files and artifacts\n- The ferry to Files is late [#9]\n## Open questions\nNone."
    )


MARKS = """\
## |### |# |**|__|- |• |1. |    |---|===|```|```md|~~~|None.|They met| |。|→|by:|[#7]|[#7, #8]|(7)
[9]|(#6)|<think>|</think>|<summary>|</summary>|<analysis>|\u2028|<h2>|[|]"""
PIECES = st.sampled_from(
    [
        *(f"## {heading}" for heading in HEADINGS),
        *(f"**{heading}:** they met" for heading in HEADINGS),
        *(*HEADINGS, *HEADINGS, "\n", "\n", "\n", "\n\n", "|"),
        *re.split(r"[|\n]", MARKS),
    ]
)


@given(st.lists(PIECES, max_size=60).map("".join) | st.text())
def test_reading_never_fails_and_a_record_that_was_read_stays_as_it_is(written: str) -> None:
    for headings in (HEADINGS, SHORT):
        once = read_record(written, headings, COVERED).text
        assert read_record(once, headings, COVERED).text == once
        read_rest(written, headings, COVERED, headings[3])


# --- What becomes of it ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", ChapterForm)
@pytest.mark.parametrize(
    "write",
    [
        lambda text: text.replace("## ", "### "),
        lambda text: re.sub(r"^## (.+)$", r"**\1:**", text, flags=re.M),
        lambda text: f"Here it is:\n```markdown\n{text}\n```\nAnything else?",
        lambda text: f"<think>\nPort 8443? No.\n</think>\n{text}",
        lambda text: text.replace("[#2]", "(message 2)").replace("- ", "• "),
        lambda text: text.replace(f"## {INSTRUCTIONS}\nNone.\n", ""),
        lambda text: re.sub(r"## (?!Goal|Open)[^\n]+\nNone\.\n", "", text),
    ],
)
async def test_a_good_summary_costs_one_request_and_is_stored_alone(
    client: Client, server: DemoServer, write: Callable[[str], str], form: ChapterForm
) -> None:
    skill = SKILLS[form]
    facts = "- Release 4.2.1 was deployed to eu-west-1 [#2]"
    good = chapter(facts, skill=skill, sections={skill.headings[-1]: "- Write the notes [#3]"})
    server.script.reply(write(good))
    plain = job(client)
    written = await summarise(
        job(client, policy=type(plain.policy)(summary_form=form), messages=HISTORY)
    )
    (made,) = written.chapters
    assert (written.calls, written.failures) == (1, [])
    lines = [line for line in made.text.splitlines() if line and "word for word" not in line]
    overview = ["## Overview", "They went on."] if form == ChapterForm.FULL else []
    assert lines == [
        *overview,
        "## Facts and values",
        facts,
        "## Current work and next step",
        "- Write the notes [#3]",
    ]


def test_what_is_verified_is_the_record_alone() -> None:
    reply = Reply([text(f"Here:\n\n{RECORD}\n\nBye, and take care!")], "end_turn", complete=True)
    assert read_valid_record(reply, [user(5, "x" * 3_000), user(40)]) == RECORD


@pytest.mark.parametrize("depth", [800, 5_000])
def test_json_that_is_nested_too_deep_is_no_record_and_no_error(depth: int) -> None:
    text = '{"a": ' * depth + "1" + "}" * depth
    assert read_record(text, HEADINGS, Covered(1, 9)).sections == ()
