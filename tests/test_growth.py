"""Every function that sees text of users, models, tools or files takes time in proportion to it.

The shapes are those that once took quadratic time somewhere, or would in a careless mend. Measured
is CPU time of this thread; what is compared are sizes, not a clock: a machine under load makes both
slow.
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from html import escape
from io import BytesIO
from time import thread_time

import pytest

from agent.audit import answers, audit, evidence
from agent.audit.facts import words
from agent.audit.quotes import Given, GivenQuotes, Quote
from agent.audit.word_runs import LONGEST_PASSAGE
from agent.authorship.reported import find_reported
from agent.authorship.typed import TypedText
from agent.compaction.chapters import chapter, outlook, superseding
from agent.compaction.chapters.cutting import cut_at_bullets, cut_to_tokens, drop_unfinished
from agent.compaction.chapters.merging import select_statements
from agent.compaction.chapters.statements import edit_chapter
from agent.compaction.extraction.extract import extract
from agent.compaction.instructions import pins
from agent.compaction.instructions.named import Named, split_instructions
from agent.compaction.reading.notation import Covered
from agent.compaction.reading.record import read_record, read_rest
from agent.compaction.skills import HEADINGS
from agent.compaction.topics import find_topic_start
from agent.compaction.writing.continuing import read_complete
from agent.compaction.writing.summary_requests import render_outline_line, serialise
from agent.context.assemble import DEFUSED, FENCE
from agent.context.shortening import text_previews
from agent.context.shortening.previews import _head_and_tail
from agent.context.summary import CURRENT_WORK, INDEX_HEADING, PINS_HEADING, SEPARATOR, Summary
from agent.messages import AgentMessage, plain_text, sanitise_text
from agent.model import api_errors, overflow
from agent.model.reply import Reply
from agent.model.sse import EventDecoder
from agent.search import exact_values, excerpts, lexical
from agent.wire.masking import mask
from chat.engine.model_server import get_counter
from chat.html import code_blocks, divider, formulas, markdown, tool_row
from chat.html.content_blocks import join_cut_texts, render_user_text
from chat.html.folded_quotes import mark_quotes, show_quotes
from chat.html.markdown_stream import MarkdownStream
from chat.importers import chatgpt_canvas, chatgpt_content, pi
from chat.importers.chatgpt_citations import read_cited
from chat.importers.errors import BrokenArchive
from chat.importers.json_bounds import Bounded
from chat.importers.zips import Limits
from chat.services.library.encodings import Unsure, decode
from chat.services.library.file_types import PDF_ENCRYPTED, PDF_PAGE
from chat.services.library.office import program
from chat.web.search_box import FILTER
from tests.support.office import document, paragraph, presentation, shape, workbook

SIZES = (2_500, 10_000, 200_000)  # characters; the largest where the others leave a doubt
LONG_SIZES = (10_000, 20_000, 200_000)  # of PARAGRAPHS: at least one of them
WARM_UP = 500  # characters: what is loaded or compiled at a first call is not measured
AUDITED = 0.2  # of each text: the audit takes as much time as everything else together
FLOOR = 0.05  # seconds: less than this is never too much
GENEROUS = 3  # times what proportion allows; quadratic time is 2 or 4, then 20 times and more


def repeated(unit: str) -> Callable[[int], str]:
    return lambda size: (unit * (size // len(unit) + 1))[:size]


def between(start: str, unit: str, end: str) -> Callable[[int], str]:
    return lambda size: start + repeated(unit)(size) + end


def paragraphs(unit: str) -> Callable[[int], str]:
    return repeated(repeated(unit)(markdown.MAX_INLINE - 100) + "\n\n")


def counting(unit: str) -> Callable[[int], str]:
    return lambda size: "".join(unit.format(n) for n in range(size // len(unit)))[:size]


def square_table(size: int) -> str:
    """Most of its cells are not written."""
    side = size // 8
    return "|" + "a|" * side + "\n|" + "-|" * side + "\n" + "|\n" * (2 * side)


# Each as long as inline rules are let see one.
PARAGRAPHS = {
    "brackets": "[",
    "links never closed": "[a](",
    "emphasis": "*a **b _c ",
    "backticks": "`a ``b ",
    "dollars": "$a ",
    "formulas never closed": "\\(",
    "prices": "$5 (or 4$) ",
    "emphasis beside CJK": "字**（",
    "angles": "<a ",
}
SHAPES: dict[str, Callable[[int], str]] = {
    "prose": repeated("The quick brown fox, 12 of them, jumped over a lazy dog. "),
    "one word": repeated("a"),
    "spaces": between("x", " ", "x"),
    "newlines": repeated("\n"),
    "vertical tabs": repeated("\v"),
    "headings between vertical tabs": repeated("## a\v"),
    "next lines": repeated("a\x85"),
    "fences never closed": repeated("```x\n"),
    "fences in items": repeated("- ```\n"),
    "fences in Markdown": repeated("```md\n```sh\n```\n"),
    "one line of fence": repeated("~"),
    "ever shorter fences": lambda size: "\n".join(
        "`" * n for n in range(int((2 * size) ** 0.5), 2, -1)
    ),
    "items": repeated("- a\n"),
    "tasks": repeated("- [ ] a\n"),
    "nested quotes and items": repeated("> - "),
    "a table": between("| a | b |\n|---|---|\n", "| 1 | 2 |\n", ""),
    "a table without cells": square_table,
    "many small tables": repeated("|a|b|c|d|e|f\n|-|-|-|-|-|-\nx\nx\nx\nx\n\n"),
    "headings": repeated("# a\n"),
    "underlined headings": repeated("a\n===\n"),
    "notes": counting("[^{0}]\n\n[^{0}]: x\n\n"),
    "formulas": counting("$x_{{{0}}}$ "),
    "displayed formulas never closed": repeated("\\[a\n\n"),
    "lines of dollars": repeated("$$a\n\n$$a\n"),
    "ampersands": repeated("&"),
    "ampersands in code": between("```\n", "&\xa0", "\n```\n"),
    "numbers with commas": repeated("1,"),
    "dotted": repeated("a.1-"),
    "dotted words": repeated("a." * 99 + " "),
    "dashed words": repeated("a-" * 99 + " "),
    "hosts in brackets": repeated("http://[::1 [a](http://a^b) https://c[d "),
    "addresses": repeated("https://a.b/c?d=e&f user@db-7.example.org:22 10.0.0.1:80 [::1]:8 "),
    "at signs": repeated("a@b."),
    "colons": repeated("a-b:"),
    "citations": repeated("[#1 #2, "),
    "citations in a bullet": between("- a [#1", ", #2", ""),
    "a log": repeated("2026-01-02 10:11:12,123 ERROR app.db [w-7] /var/x.log:12 IOError: 30 ms\n"),
    "other scripts": repeated("漢字 яα e\u0301😀 "),
    "what UTF-8 cannot carry": repeated("\ud800\0"),
    "instructions": repeated("and always please , "),
    "closing tags": repeated("</ conversation_record"),
    "quotes never closed": repeated("\"a 'b “c „d «e "),
    "apostrophes": repeated("'a'"),
    "mail that somebody wrote": repeated("On " + "x" * 90 + " wrote " + "y" * 90 + "\n"),
    "heads of mail": repeated("From: a\nx\n"),
    "pictures of office-oxide": repeated("[image-base64:"),
    "marks of ChatGPT": repeated("(sandbox:/\ue200\ue202【1†"),
    "slides": repeated("## Slide 1\n"),
    "tags of thinking": repeated("<think>\n</analysis>\n"),
    "leave-taking": repeated("None.\n\nLet me know.\n\n"),
    "retired": repeated("Retired: a by: b [#1 "),
    "filters": repeated(' in:"'),
    **{name: paragraphs(unit) for name, unit in PARAGRAPHS.items()},
}
SOURCE = evidence.Source([AgentMessage(1, "user", [{"type": "text", "text": "alpha 12 beta"}], 9)])


def message(text: str) -> AgentMessage:
    return AgentMessage(1, "user", [{"type": "text", "text": text}], len(text) // 4)


def stream(text: str) -> None:
    parts = MarkdownStream()
    for at in range(0, len(text), 400):
        parts.feed(text[at : at + 400])


def summarised(text: str) -> None:
    """What a summary goes through."""
    Summary.from_text(text)
    superseding.combine([text, "- Replaced: " + text, "- Replaced: a → b [#1]"])
    superseding.drop_empty_sections(text)
    evidence.find_citations(text)
    words.find_content_words(text)
    cut_to_tokens(text, len(text) // 10, get_counter())
    cut_at_bullets(text, len(text) // 10, get_counter())
    drop_unfinished(text)
    covered = Covered(1, 9)
    read_record(text, HEADINGS, covered)
    read_record("\n".join(f"## {heading}\n{text}" for heading in HEADINGS), HEADINGS, covered)
    read_rest(f"- It\n{text}", HEADINGS, covered, HEADINGS[0])
    read_complete(f"## {HEADINGS[0]}\n{text}", HEADINGS, covered)
    before = [chapter.Chapter(text, 1, 2), chapter.Chapter(f"{text}\n- More", 3, 4)]
    select_statements(before, len(text) // 10, get_counter())
    edit_chapter(replace(before[0], parts=before[0].written), f"- Less\n{text}")
    said = f"## Decisions\n{text}"
    outlook.read_outlook(Summary((said,), f"{CURRENT_WORK}\n{text}"))
    render_outline_line(message(text))
    FENCE.sub(DEFUSED, text)


def stored(text: str) -> None:
    """What is done with a text where it is stored, sent or found, beside the search index."""
    sanitise_text(text)
    mask(text)
    plain_text([{"type": "text", "text": part} for part in text.split("\n\n")])
    serialise(message(text))
    _head_and_tail(text, 5_000, 1, 0)
    text_previews.shorten_text(text, 400)
    extract([message(text)], 500, get_counter())
    overflow.is_too_long(text)
    overflow.read_share_taken(text)
    get_counter().count(text)
    find_topic_start([message(text)] * 3, [1, 2])
    with suppress(Unsure):
        decode(text.replace("a", "ä").encode("cp1252", "replace"))
    data = text.encode("utf-8", "replace")
    PDF_ENCRYPTED.search(b"/Encrypt" + data)
    PDF_PAGE.findall(data)
    pi.parse_session(
        [json.dumps({"type": "message", "message": {"role": "user", "content": text}}).encode()]
    )
    pi._shell({"command": text, "output": text})
    read_cited(text, {"citations": [{}]})
    chatgpt_content.SANDBOX_LINK.findall(text)
    chatgpt_canvas.SPECIAL.search(text)
    for source in (text, json.dumps([text])):
        with suppress(BrokenArchive):  # nested too deeply
            Bounded(BytesIO(source.encode(errors="replace")), Limits(), "a file").read(len(source))


NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def office(text: str) -> None:
    """As one paragraph, as one of each line, as a cell and on a slide."""
    text = escape(NOT_XML.sub(" ", text))
    lines = text.split("\n")
    cell = f'<row><c t="inlineStr"><is><t>{text}</t></is></c><c><f>{text}</f></c></row>'
    for data in (
        document(paragraph(text)),
        document("".join(map(paragraph, lines))),
        workbook({"Sheet": cell}),
        presentation({"Slide": shape("body", text)}),
    ):
        program.convert(data, 10 * len(text) + 100)


def typed(text: str) -> None:
    """What a user says, in which their own and what others said are looked for."""
    find_reported(text)
    said = [message(f"Write in Dutch, please. {text}")]
    lines = ["Write in Dutch, please, but not now", "Be kind", text[:200]]
    named = Named()
    named.add([f"{line} [#1]" for line in lines], said)
    named.add_unnamed(said, [pins.Pin(0, "Write in Danish.")])


def told(text: str) -> None:
    """What a model or its server says beside the text of an answer."""
    split_instructions(f"## Standing instructions\n{text}")
    named = [text, f"Retired: {text} by: x [#1]", f"Retired: x by: {text}", *text.split("\n")]
    Named().add(named, [message("Always answer in metric units, please.")])
    api_errors.stream_error({"error": {"message": text}})
    call = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    answer = Reply()
    answer.apply({"type": "content_block_start", "index": 0, "content_block": call})
    for at in range(0, len(text), 40):
        piece = {"type": "input_json_delta", "partial_json": text[at : at + 40]}
        answer.apply({"type": "content_block_delta", "index": 0, "delta": piece})
    answer.apply({"type": "content_block_stop", "index": 0})


def decoded(text: str) -> None:
    """A stream that brings it in small pieces, as one long line and as it is."""
    decoder = EventDecoder()
    sent = f"data: {json.dumps({'type': 'ping', 'text': text})}\n\n{text}".encode(errors="replace")
    for at in range(0, len(sent), 40):
        decoder.feed(sent[at : at + 40])
    decoder.close()


def rows(text: str) -> None:
    """A tool's call and result, folded and whole."""
    for most in (4_000, None):
        call = {"type": "tool_use", "id": "a", "name": "look", "input": {"where": text}}
        tool_row.build_call_part(call, {"text": text}, running=False, most=most)
        tool_row.build_result_part({"type": "tool_result", "content": text}, most=most)
    markdown.link_numbers(text)


def audited(text: str) -> None:
    """Once as the summary, and once as what it was written from."""
    text = text[: int(len(text) * AUDITED)]
    audit.audit("- " + text[:20_000].replace("\n", "\n- "), SOURCE)
    said = evidence.Source([AgentMessage(1, "user", [{"type": "text", "text": text}], 9)])
    audit.audit("- Ada paid 12 € to `beta_1` on 3 May, not for two weeks [#1]", said)


def answered(text: str) -> None:
    """Answers to statements that were given back."""
    answers.read_answers(text)
    answers.read_answers('1. #2: "' + text.replace("\n", '\n1. #2: "'))


def borne_out(text: str) -> None:
    """A quote of a long message, which has most of it, and a summary with a quote for each line."""
    text = text[: int(len(text) * AUDITED)]
    said = [AgentMessage(1, "user", [{"type": "text", "text": f"{text}. It is 5, after all"}], 9)]
    quotes = GivenQuotes(
        {"- It is 5 [#2]": [Given((2,), text[:LONGEST_PASSAGE]), Given((), "it is 5")]}, said
    )
    audit.audit("- It is 5 [#2]", evidence.Source(said), quotes)
    lines = [Quote(line, 1, line) for line in text.splitlines()]
    show_quotes(mark_quotes(text, lines), lines)


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "render": markdown.render_markdown,
    "stream": stream,
    "user_text": render_user_text,
    "summary_parts": divider.render_summary_parts,
    "pins and index": lambda text: divider.render_summary_parts(
        f"{INDEX_HEADING}\n{text}{SEPARATOR}{PINS_HEADING}\n{text}"
    ),
    "rows": rows,
    "pins": lambda text: pins.find_pins(1, TypedText(text)),
    "index_entries": lambda text: exact_values.find_index_entries(1, text),
    "summarised": summarised,
    "audit": audited,
    "answers": answered,
    "borne out": borne_out,
    "tokens": lexical.tokenise,
    "query": lambda text: lexical.parse_query(text, typing=True),
    "excerpt": lambda text: excerpts.make_excerpt(text, lexical.parse_query('a "1," 12'), 300),
    "filter": lambda text: FILTER.sub("", text),
    "stored": stored,
    "office": office,
    "told": told,
    "typed": typed,
    "decoded": decoded,
}


def cost(function: Callable[[str], object], text: str) -> float:
    """Seconds of CPU."""
    for cached in (code_blocks._highlight, formulas.render_formula, lexical.fold):
        cached.cache_clear()
    started = thread_time()
    function(text)
    return thread_time() - started


def blocks(text: str) -> None:
    """A reply of many small blocks: calls, and texts that are cut where citations begin."""
    reply = Reply()
    for index in range(len(text) // 20):
        part: dict[str, object] = {"type": "text", "text": "a", "citations": [{"url": f"u{index}"}]}
        if index % 3 == 0:
            part = {"type": "tool_use", "id": f"toolu_{index}", "name": "look", "input": {}}
        reply.apply({"type": "content_block_start", "index": index, "content_block": part})
        reply.apply({"type": "content_block_stop", "index": index})
    join_cut_texts(each for each in reply.blocks if each["type"] == "text")
    join_cut_texts(reply.blocks)
    plain_text([*reply.blocks, {"type": "text", "text": "b" * len(text)}])
    reply.partial_blocks()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_time_grows_with_the_text_and_not_with_its_square(function: str, shape: str) -> None:
    # In a short text an instruction is soon found, or is all of it.
    sizes = LONG_SIZES if shape in PARAGRAPHS or function == "typed" else SIZES
    compare(FUNCTIONS[function], SHAPES[shape], sizes)


def test_the_time_grows_with_the_blocks_of_a_reply_and_not_with_their_square() -> None:
    compare(blocks, SHAPES["spaces"], SIZES)


def compare(
    work: Callable[[str], object], text: Callable[[int], str], sizes: tuple[int, ...]
) -> None:
    work(text(WARM_UP))
    first = cost(work, text(sizes[0]))
    for size in sizes[1:]:
        proportion = first * size / sizes[0]
        taken = cost(work, text(size))
        if taken > max(FLOOR, GENEROUS * proportion):  # a neighbour's load, or the function
            taken = min(taken, *(cost(work, text(size)) for _ in range(2)))
        assert taken <= max(FLOOR, GENEROUS * proportion), (size, taken, proportion)
        if taken <= 1.5 * proportion or taken * (sizes[-1] / size) ** 2 < FLOOR:
            return  # plainly not quadratic, or not so that anybody would notice
