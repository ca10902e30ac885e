"""Exact values and standing instructions in text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.authorship.typed import TypedText
from agent.compaction.instructions.pins import find_pins
from agent.search.exact_values import find_identifiers, find_index_entries, keep_newest, normalise


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("see https://docs.example.org/a/b?c=1, please", "https://docs.example.org/a/b?c=1"),
        ("open /etc/nginx/nginx.conf now", "/etc/nginx/nginx.conf"),
        ("edit src/app/main.py", "src/app/main.py"),
        ("the file app.py", "app.py"),
        ("ask ada@example.org", "ada@example.org"),
        ("on March 15, 2024 at noon", "March 15, 2024"),
        ("on 2026-11-21", "2026-11-21"),
        ("Flask 2.3.1 is fine", "2.3.1"),
        ("it costs $1,250.50", "$1,250.50"),
        ("within 250 ms", "250 ms"),
        ("a 35% rise", "35%"),
        ("it costs € 12", "€ 12"),
        ("got a PaymentTimeoutError", "PaymentTimeoutError"),
        ("an IOError", "IOError"),
        ("ticket ABC-1234", "ABC-1234"),
        ("commit 9fceb02d0ae598e9", "9fceb02d0ae598e9"),
        ("call `make_user()` first", "make_user()"),
        ("the user_id column", "user_id"),
        ("set MAX_RETRIES", "MAX_RETRIES"),
        ("useState is a hook", "useState"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
    ],
)
def test_finds_exact_values(text: str, value: str) -> None:
    assert value in find_identifiers(text)


@pytest.mark.parametrize(
    "value",
    [
        "db-7.internal:5432",
        "db-7:5432",
        "localhost:8000",
        "10.0.0.1:6379",
        "10.0.0.0/8",
        "192.168.17.4",
        "[2001:db8::17]:8443",
        "2001:db8::17",
        "2001:db8::/32",
        "root@db-7:2222",
        "deploy@build.example.org:2222",
        "git@code.example.org:team/app.git",
        "00:1a:2b:3c:4d:5e",
        "aa:bb:cc:dd:ee:ff",
        "fe::a",
        "feedface-dead-beef-cafe-feedfacecafe",
        r"C:\Users\ada\notes.txt",
        r"\\files\share\plan.docx",
        "1.2.3-rc.1",
        "1.2.3rc1",
        "1.2.3-rc1+build.7",
        "DE89 3704 0044 0532 0130 00",
        "+49 30 1234567",
        "1.5e-3",
        "2026-11-21T10:15",
    ],
)
def test_a_value_of_several_parts_stays_one(value: str) -> None:
    assert find_identifiers(f"It is {value}, as I said.") == [value]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("From 10:15 to 12:30.", ["10:15", "12:30"]),
        ("See app.py:12 there.", ["app.py", "12"]),
        ("status:200 and port:8080", ["200", "8080"]),
        ("Use std::vector there", []),
    ],
)
def test_what_only_looks_like_a_value_of_several_parts_is_cut_as_before(
    text: str, values: list[str]
) -> None:
    assert find_identifiers(text) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("it took 12,and then 1,200,or so", ["12", "1,200"]),
        ("row 7,N/A", []),
        ("for $30,please", ["$30"]),
        ("from 15,min to max", ["15"]),
    ],
)
def test_a_comma_behind_a_number_is_no_part_of_it(text: str, values: list[str]) -> None:
    assert find_identifiers(text) == values


def test_does_not_take_provenance_or_single_digits_for_values() -> None:
    assert find_identifiers("- Two of 3 are done [#12 #15]") == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("A1B2C3D4E5F6", "a1b2c3d4e5f6"), ("1,000", "1000"), ("250 ms", "250ms"), ("/a/b/", "/a/b")],
)
def test_normalises_equal_values_to_one_form(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


def test_an_index_entry_names_the_message_and_the_words_before() -> None:
    (entry,) = find_index_entries(7, "Please use the port number 8443 for it.")
    assert entry.render() == "- 8443 [#7] Please use the port number"


def test_the_index_keeps_the_newest_mention() -> None:
    entries = [*find_index_entries(1, "port 8443"), *find_index_entries(5, "again port 8443")]
    assert [entry.number for entry in keep_newest(entries)] == [5]


@pytest.mark.parametrize(
    "text",
    [
        "Always include version numbers when I ask about libraries.",
        "Thanks! From now on answer in German.",
        "Please never use tabs.",
        "I prefer simple, minimal dependencies, how can I keep it so?",
        "Whenever I paste a log, look at its end first.",
    ],
)
def test_pins_standing_instructions_and_preferences(text: str) -> None:
    assert len(find_pins(1, TypedText(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "What is the capital of France?",
        "I have always been here.",
        "It never worked.\n```\nalways: true\n# Always restart the server\n```",
        "> Always be closing.\n\nWhat does this mean?",
    ],
)
def test_pins_neither_questions_nor_code_nor_quotes(text: str) -> None:
    assert find_pins(1, TypedText(text)) == []


def test_pins_the_sentence_and_not_the_message() -> None:
    (pin,) = find_pins(3, TypedText("Here is my draft. Always keep the title. What do you think?"))
    assert pin.render() == "- Always keep the title. [#3]"


@pytest.mark.parametrize("unit", ["日本語", "x", "0", "a.", "a-", "a/", "[#1 ", "1,", "https://"])
def test_text_without_spaces_takes_no_longer_than_its_length(unit: str) -> None:
    """A minute and more where every place was tried to the end."""
    text = f"The port is 8443. {unit * 30_000}"
    started = time.process_time()
    assert find_index_entries(1, text)[0].value == "8443"
    find_pins(1, TypedText(text))
    assert time.process_time() - started < 20


def test_a_value_is_told_by_the_words_before_its_first_mention() -> None:
    entries = find_index_entries(1, "Log in first.\nThe admin port is 8443, not 8080; again 8443.")
    assert [(e.value, e.words) for e in entries] == [
        ("8443", "The admin port is"),
        ("8080", "admin port is 8443 not"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        "KV-2031-207",
        "QX-31-8842-B",
        "GTX-1660-Super",
        "5CD-17-02",
        "5105-1051-0510-5100",
        "5105 1051 0510 5100",
        "REQ/2031/44",
        "ДК-2031/17",
        "978-0-13-468599-1",
        "issue-31-export",
        "2031-05-01-nightly",
        "PO_2031_118",
        "node-3.example.org",
        "sha256:9fceb02d0ae5",
        "7731-B",
        "2031-118",
        "555-0142",
        "030/1234567",
        "(030) 1234-567",
        "+49 (30) 1234-56",
        "v2.1-beta",
        "05/2031",
    ],
)
@pytest.mark.parametrize(
    "sentence", ["It is {}.", "Die Nummer ({}), bitte", "编号是{}，请", "«{}»"]
)
def test_a_run_of_letters_and_figures_is_one_value(value: str, sentence: str) -> None:
    assert find_identifiers(sentence.format(value)) == [value]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("10-12 people", ["10", "12"]),
        ("from 1990-2000", ["1990", "2000"]),
        ("100-200 ms", ["100", "200 ms"]),
        ("1.5-2.5 kg", ["1.5", "2.5 kg"]),
        ("a 27-inch screen", ["27"]),
        ("eine 30-Tage-Frist", ["30"]),
        ("20-й раз", ["20"]),
        ("mid-2024", ["2024"]),
        ("10-to-12", ["10", "12"]),
        ("16:9, 24/7", ["16", "24"]),
        ("GPT-4/GPT-5", ["GPT-4", "GPT-5"]),
    ],
)
def test_ranges_ratios_and_compounds_are_no_numbers_of_a_thing(
    text: str, values: list[str]
) -> None:
    assert find_identifiers(text) == values


_GROUP = st.text(alphabet="ABCXZ0123456789", min_size=1, max_size=5)


@given(
    st.lists(
        st.lists(_GROUP, min_size=2, max_size=5)
        .map("-".join)
        .filter(lambda run: len(run) > 5 and any(map(str.isdigit, run)) and not run.isdigit()),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([" ", ", ", "; ", " and ", "、", " («", "\n- "]),
)
def test_no_entry_of_the_index_is_a_part_of_a_longer_run(runs: list[str], between: str) -> None:
    letters = [run for run in runs if any(map(str.isalpha, run))]
    for entry in find_index_entries(1, between.join(letters)):
        assert entry.value in letters
