"""Words, queries, ranking and excerpts, without a database."""

from itertools import pairwise
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.search.excerpts import make_excerpt
from agent.search.lexical import (
    LONGEST_TOKEN,
    MOST_TERMS,
    NEIGHBOURS,
    Documents,
    matches_title,
    parse_query,
    rank,
    score_verbatim,
    tokenise,
)
from tests.search_texts import EXACT, NAUGHTY


def documents(texts: list[str], *, length: int = 0) -> Documents:
    lengths = [length or max(1, len(tokenise(text))) for text in texts]
    return Documents(lengths, [index % 2 == 0 for index in range(len(texts))])


def order(query: str, texts: list[str], limit: int = 10) -> list[int]:
    """The ranking of an index that holds exactly these texts."""
    found = {
        term: {index for index, text in enumerate(texts) if stands(term, tokenise(text))}
        for term in parse_query(query).terms
    }
    return [index for index, _ in rank(documents(texts), found, limit)]


def stands(term: tuple[str, ...], text: list[str]) -> bool:
    return any(tuple(text[at : at + len(term)]) == term for at in range(len(text)))


@given(st.text())
def test_every_token_is_safe_for_every_full_text_engine(text: str) -> None:
    for token in tokenise(text):
        assert token.isascii()
        assert token.isalnum()
        assert 0 < len(token) <= LONGEST_TOKEN


@given(st.text(), st.text())
def test_tokens_do_not_depend_on_what_stands_beside_them(before: str, after: str) -> None:
    assert tokenise(f"{before} \n {after}") == tokenise(before) + tokenise(after)


@given(st.text())
def test_every_text_is_a_query_and_finds_itself(text: str) -> None:
    query = parse_query(text)
    assert len(query.terms) <= MOST_TERMS
    assert bool(query.terms) == bool(tokenise(text))
    assert all(stands(term, tokenise(text)) for term in query.terms)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Running", "runs"),
        ("CAFÉ", "cafe"),
        ("cafe\u0301", "café"),
        ("Straße", "STRASSE"),
        ("ﬁle", "file"),
        ("Ünïcödé", "unicode"),
    ],
)
def test_case_accents_and_endings_make_no_difference(one: str, other: str) -> None:
    assert tokenise(one) == tokenise(other)


def test_scripts_without_spaces_are_found_by_any_part() -> None:
    assert stands(parse_query("会议").terms[0], tokenise("明天的会议取消了"))
    assert tokenise("สวัสดี")


def test_stop_words_go_but_where_there_is_nothing_else() -> None:
    assert parse_query("What is the port of the server?").terms == (("port",), ("server",))
    assert parse_query("who is it").terms == (("who",), ("is",), ("it",))


def test_paths_codes_and_quotes_are_phrases_too() -> None:
    query = parse_query('src/app.py raised ERR-1042: "to be or not"')
    assert ("src", "app", "py") in query.terms
    assert ("err", "1042") in query.terms
    assert ("to", "be", "or", "not") in query.terms
    assert set(query.verbatim) == {"src/app.py", "err-1042", "to be or not"}
    assert (
        parse_query("Caroline's dog doesn't bark").terms == parse_query("Caroline dog bark").terms
    )


def test_the_rarer_word_and_the_fuller_match_count_more() -> None:
    texts = ["the budget grew"] * 5 + ["nothing"] * 3 + ["the budget of Lisbon"] + ["nothing"] * 3
    assert order("Lisbon budget", texts)[0] == 8


def test_an_answer_is_found_by_its_question() -> None:
    texts = ["filler one", "filler", "Where do we meet in Lisbon?", "At nine, by the tower."]
    assert set(order("Lisbon", texts)) >= {2, 3}


def test_neighbours_end_with_the_conversation() -> None:
    lengths = [3, 3, *[0] * NEIGHBOURS, 3, 3]
    found = rank(Documents(lengths, [False] * len(lengths)), {("a",): {1}}, 10)
    assert [index for index, _ in found] == [1, 0]


def test_what_people_type_counts_more_where_answers_are_long() -> None:
    apart = [0] * NEIGHBOURS
    lengths = [10, *apart, 10, *apart, 400]
    typed = [False, False, False, True, False, False, False]
    found = rank(Documents(lengths, typed), {("a",): {0, 3}}, 2)
    assert [index for index, _ in found] == [3, 0]
    alike = rank(Documents(lengths[:4], typed[:4]), {("a",): {0, 3}}, 2)
    assert [index for index, _ in alike] == [0, 3]


@given(
    st.lists(st.tuples(st.integers(1, 500), st.booleans()), min_size=1, max_size=40),
    st.data(),
)
def test_the_ranking_is_sorted_complete_and_finite(
    columns: list[tuple[int, bool]], data: st.DataObject
) -> None:
    lengths, typed = map(list, zip(*columns, strict=True))
    places = st.sets(st.integers(0, len(lengths) - 1))
    holders = {(name,): data.draw(places) for name in "abc"}
    found = rank(Documents(lengths, typed), holders, len(lengths))
    assert all(before[1] >= after[1] for before, after in pairwise(found))
    assert {index for index, _ in found} >= set.union(*holders.values())
    assert len({index for index, _ in found}) == len(found)


def test_an_exact_value_is_not_a_part_of_a_longer_one() -> None:
    query = parse_query("ERR-1042")
    assert score_verbatim(query, "it raised err-1042.") > 1
    assert score_verbatim(query, "it raised ERR-10425.") == 1


@pytest.mark.parametrize("value", EXACT)
def test_the_message_with_the_exact_value_is_best(value: str) -> None:
    texts = [f"Something like {value[:-2]} and {value[::-1]}, number {n}." for n in range(20)]
    texts[13] = f"It was {value}, as I said."
    ranked = order(value, texts)
    query = parse_query(value)
    ranked.sort(key=lambda index: -score_verbatim(query, texts[index]))
    assert ranked[0] == 13


# --- Excerpts -------------------------------------------------------------------------------------


@given(st.text(), st.text(max_size=30), st.integers(20, 200))
def test_an_excerpt_is_a_part_of_the_text_within_its_length(
    text: str, query: str, length: int
) -> None:
    text = normalize("NFC", text)
    cut = make_excerpt(text, parse_query(query), length)
    shown = "".join(piece for piece, _ in cut.pieces)
    assert shown in text
    assert len(shown) <= length
    assert cut.cut_before or text.startswith(shown)
    assert cut.cut_after or text.endswith(shown)


def test_an_excerpt_stands_where_most_words_are_and_marks_them() -> None:
    text = "filler Lisbon " + "word " * 200 + "the budget for Lisbon is 900 euros " + "word " * 200
    cut = make_excerpt(text, parse_query("budget Lisbon"), 80)
    assert [piece for piece, hit in cut.pieces if hit] == ["budget", "Lisbon"]
    assert cut.cut_before
    assert cut.cut_after
    assert str(cut).startswith("…")


@pytest.mark.parametrize("text", NAUGHTY)
def test_naughty_strings_are_texts_queries_and_excerpts(text: str) -> None:
    query = parse_query(text)
    assert str(make_excerpt(f"before {text} after", query, 4_000))
    assert all(stands(term, tokenise(f"before {text} after")) for term in query.terms)


# --- While somebody types -------------------------------------------------------------------------


def test_the_last_word_may_be_begun_only_where_it_is_typed() -> None:
    assert ("harb*",) in parse_query("trip harb", typing=True).terms
    assert not any(term[-1].endswith("*") for term in parse_query("trip harb").terms)
    assert parse_query("a h", typing=True).terms == parse_query("a h").terms
    assert parse_query("?!", typing=True).terms == ()


def test_what_is_begun_is_marked_in_an_excerpt() -> None:
    found = make_excerpt("To the Harbour of Lisbon", parse_query("lisbon harb", typing=True), 100)
    assert [piece for piece, hit in found.pieces if hit] == ["Harbour", "Lisbon"]


@pytest.mark.parametrize(
    ("title", "text", "found"),
    [
        ("Trip to the harbour", "harbour trip", True),
        ("Trip to the harbour", "a trip harb", True),
        ("Trip to the harbours", "harbour tr", True),
        ("Trip to the harbour", "harbours", True),
        ("Trip to the harbour", "harb trip", False),
        ("Trip to the harbour", "trip airport", False),
        ("Trip to the harbour", "bour", True),
        ("Über den Wolken", "über", True),
        ("Über den Wolken", "wolken uber", True),
        ("日本の旅", "旅 日本", True),
        ("What?!", "?!", True),
        ("What", "?", False),
        ("", "x", False),
    ],
)
def test_titles_are_found_by_their_words(title: str, text: str, found: bool) -> None:
    assert matches_title(title, text) is found


@given(st.text(), st.text())
def test_any_title_and_any_text_can_be_compared(title: str, text: str) -> None:
    assert matches_title(title + text, text)
    assert matches_title(title, text) in (True, False)


@pytest.mark.parametrize(("query", "text"), [("die", "dying"), ("sky", "Skies"), ("aing", "aing")])
def test_stems_that_differ_from_their_word_are_marked(query: str, text: str) -> None:
    assert (text, True) in make_excerpt(f"It is {text}.", parse_query(query), 100).pieces
