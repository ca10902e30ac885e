"""What bears a doubted statement out: the answers of a model, and the words of messages."""

import json
from dataclasses import replace

import pytest

from agent.audit.answers import Answer, read_answers
from agent.audit.audit import audit
from agent.audit.evidence import UNVERIFIED, Source
from agent.audit.quotes import Given, GivenQuotes, Quote, keep_quotes_in
from agent.audit.word_runs import LONGEST_PASSAGE
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.statements import edit_chapter
from agent.compaction.ladder import summarise
from agent.model.client import Client
from demo.api.server import DemoServer
from tests.agent.compaction.jobs import HISTORY, chapter, job, text_of
from tests.agent.conversations import assistant, result, user
from tests.agent.conversations import message as make_message

QUOTE = Given((12,), "we moved it to 8443")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ('2. #12: "we moved it to 8443"', Answer("", [QUOTE])),
        ("2. [#12] “we moved it to 8443”", Answer("", [QUOTE])),
        ("2) Message #12 says: «we moved it to 8443»", Answer("", [QUOTE])),
        ('2. "we moved it to 8443" [#12]', Answer("", [QUOTE])),
        ("**2.** „we moved it to 8443“ (#12).", Answer("", [QUOTE])),
        ('2. #12: "...we moved it to 8443…"', Answer("", [QUOTE])),
        ('2. #12:\n   "we moved it to 8443"', Answer("", [QUOTE])),
        ('2. "we moved it to 8443"', Answer("", [Given((), QUOTE.words)])),
        ("2. - The port is 8443 [#12 #15]", Answer("The port is 8443 [#12 #15]")),
        (
            '2. The port is 8443 [#12] "we moved it to 8443"',
            Answer("The port is 8443 [#12]", [QUOTE]),
        ),
        (
            '2. The port is 8443 [#12]\n   Quote: "we moved it to 8443" [#12]',
            Answer("The port is 8443 [#12]", [QUOTE]),
        ),
        ('2. The port is 8443 - #12: "we moved it to 8443"', Answer("The port is 8443", [QUOTE])),
        (
            '2. The file [#12] is called "a.txt" [#12]',
            Answer('The file [#12] is called "a.txt" [#12]'),
        ),
        (
            '2. #4: "from eighty" #7: "to a "round" hundred"',
            Answer("", [Given((4,), "from eighty"), Given((7,), 'to a "round" hundred')]),
        ),
        ("2. 「八千四百四十三」[#12]", Answer("", [Given((12,), "八千四百四十三")])),
    ],
)
def test_an_answer_is_read_in_whatever_form_it_comes(line: str, answer: Answer) -> None:
    answers = read_answers(f"Here they are:\n1. It is 5 [#1]\n{line}\n")
    assert answers[1] == Answer("It is 5 [#1]", [])
    found = answers[2]
    assert (found.statement, list(found.quotes)) == (answer.statement, list(answer.quotes))


def test_what_is_no_answer_changes_nothing() -> None:
    assert read_answers("I cannot tell.") == {}
    assert read_answers(f"1. {'x' * 5_000}")[1] == Answer("", [])


MESSAGES = [
    user(1, "Eighty people came in spring, 100 in autumn. The hall cost $1,250 and food $2,000."),
    user(2, "We moved the  *billing*\nservice to port 8443 — «for now», said Anna."),
    assistant(3, "Anna does not rent the hall to the club."),
    user(4, "我们把服务器搬到了二号机房。"),
    make_message(5, "user", [result("t1", "status: 8443 open, 17 clients")]),
    user(6, "She wrote:\n> please pay 300 EUR by Friday, the club\n\nWhat do we do?"),
]


def borne_out(bullet: str, *given: Given, heading: str = "Facts and values") -> str:
    text = f"## {heading}\n- {bullet}"
    quotes = GivenQuotes({f"- {bullet}": given}, MESSAGES)
    audited, findings = audit(text, Source(MESSAGES), quotes)
    assert bool(findings.quotes) == (UNVERIFIED not in audited)
    return audited.splitlines()[-1].removeprefix("- ")


@pytest.mark.parametrize(
    "words",
    [
        "We moved the billing service to port 8443",
        "we moved the “billing” service to port 8443",
        "moved the billing service to port 8443 - 'for now'",
        "port 8443",  # the value itself
    ],
)
def test_words_that_stand_there_whole_bear_a_statement_out(words: str) -> None:
    moved = "Port 8443 serves Carla’s billing"
    assert borne_out("Port 8443 serves billing [#3]", Given((2,), words)).endswith("[#3 #2]")
    assert UNVERIFIED in borne_out(f"{moved} [#3]", Given((2,), words)), "Carla stands nowhere"


@pytest.mark.parametrize(
    "given",
    [
        Given((2,), "We moved the billing to port 8443"),  # a word is missing
        Given((2,), "We moved the billing service … port 8443"),
        Given((2,), "the billing"),  # too short, and without the value
        Given((1,), "The hall cost $1,250"),  # says something else
        Given((2,), "8443 " * LONGEST_PASSAGE),
        Given((2,), ""),
        Given((99,), "port 8444"),
    ],
)
def test_other_words_bear_nothing_out(given: Given) -> None:
    marked = borne_out("Port 8443 serves billing [#3]", given)
    assert marked == f"Port 8443 serves billing [#3] {UNVERIFIED}"


def test_words_far_apart_are_no_quote() -> None:
    said = [user(1, f"We moved it {'- ' * LONGEST_PASSAGE} to port 8443 of the billing service")]
    bullet = "- Port 8443 serves billing [#2]"
    for words, found in (("We moved it to port 8443", 0), ("to port 8443 of the billing", 1)):
        quotes = GivenQuotes({bullet: [Given((1,), words)]}, said)
        _, findings = audit(f"## Decisions\n{bullet}", Source(said), quotes)
        assert len(findings.quotes) == found


def test_a_wrong_number_is_mended_where_one_message_has_the_words() -> None:
    bullet = "Port 8443 serves billing [#3]"
    assert borne_out(bullet, Given((1,), "the billing service to port 8443")).endswith("[#3 #2]")
    assert borne_out(bullet, Given((), "the billing service to port 8443")).endswith("[#3 #2]")
    several = Given((1,), "8443")
    assert UNVERIFIED in borne_out(bullet, several), "two messages have it"


def test_what_is_certain_wins_over_a_quote() -> None:
    hall = Given((3,), "Anna does not rent the hall to the club")
    assert UNVERIFIED in borne_out("Anna does rent the hall to the club [#3]", hall)
    after_not = Given((3,), "rent the hall to the club")
    assert UNVERIFIED in borne_out("Anna does rent the hall to the club [#3]", after_not)
    beside = Given((1,), "Eighty people came in spring")
    assert UNVERIFIED in borne_out("In autumn 100 people came [#2]", beside)
    assert UNVERIFIED in borne_out(
        "The hall cost 1,250 EUR [#1]", Given((1,), "The hall cost $1,250")
    )
    assert UNVERIFIED in borne_out("The hall cost €1,250 [#1]", Given((1,), "The hall cost €1,250"))
    assert UNVERIFIED in borne_out("The hall cost $1,300 [#1]", Given((1,), "The hall cost $1,250"))
    assert UNVERIFIED in borne_out("Port 84431 serves billing [#2]", Given((2,), "to port 8443"))


REWORDED = [
    user(1, "Le four a coûté 310 euros et la hotte 95 euros. Martin l'a posée sans aide."),
    user(2, "Повару запретили жарить на балконе. Мы сняли кухню."),
    user(3, "厨房在车站旁边。我们下个月搬过去。"),
    user(4, "Im Lager stehen viele Stühle. Mein Onkel Rolf zählt sie."),
    user(5, "Il y a 45 chaises dans la salle et 25 bancs dans la cave. On attend 12 personnes."),
]


def judge_reworded(bullet: str, number: int, words: str) -> bool:
    """Whether a quote bears a bullet out that is doubted without it."""
    text = f"## Facts and values\n- {bullet} [#{number}]"
    given = {f"- {bullet} [#{number}]": [Given((number,), words)]}
    assert UNVERIFIED in audit(text, Source(REWORDED))[0]
    return UNVERIFIED not in audit(text, Source(REWORDED), GivenQuotes(given, REWORDED))[0]


@pytest.mark.parametrize(
    ("bullet", "number", "words"),
    [
        # In another language, which has none of the words, and in another script the names.
        ("The hood was put up without help", 1, "Martin l'a posée sans aide"),
        ("The Kitchen is next to the Station", 3, "厨房在车站旁边"),
        # A word with which a sentence begins need be no name.
        (
            "Устраивать жарку на балконе повару больше не разрешают",
            2,
            "Повару запретили жарить на балконе",
        ),
        # What follows from the numbers that were quoted.
        ("La salle et la cave ont 70 sièges", 5, "Il y a 45 chaises dans la salle et 25 bancs"),
    ],
)
def test_a_quote_decides_what_rules_cannot_know(bullet: str, number: int, words: str) -> None:
    assert judge_reworded(bullet, number, words)


@pytest.mark.parametrize(
    ("bullet", "number", "words"),
    [
        ("Mein Onkel Anton zählt sie", 4, "Mein Onkel Rolf zählt sie"),
        ("厨房在银行旁边", 3, "厨房在车站旁边"),
        ("La salle et la cave ont 80 sièges", 5, "Il y a 45 chaises dans la salle et 25 bancs"),
        ("Le four a coûté 310 dollars", 1, "Le four a coûté 310 euros"),
    ],
)
def test_a_word_or_a_number_in_the_place_of_another_is_certain(
    bullet: str, number: int, words: str
) -> None:
    assert not judge_reworded(bullet, number, words)


def test_who_says_it_is_no_word_that_denies() -> None:
    said = [assistant(1, "Wasch den Topf gut aus und schrubbe ihn nicht mit Sand.")]
    bullet = "- Der Assistent empfahl, den Topf gut auszuwaschen und ihn mit Sand zu schrubben [#1]"
    quotes = GivenQuotes({bullet: [Given((1,), "schrubbe ihn nicht mit Sand")]}, said)
    assert UNVERIFIED in audit(f"## Decisions\n{bullet}", Source(said), quotes)[0]


def test_a_chinese_quote_needs_no_spaces() -> None:
    assert borne_out("主机放在二号机房 [#1]", Given((4,), "搬到了 二号机房")).endswith("[#1 #4]")


def test_a_goal_needs_words_that_the_user_typed() -> None:
    pay = "The club wants 300 EUR by Friday [#6]"
    quoted = Given((6,), "please pay 300 EUR by Friday, the club")
    goal = f"## Goal and constraints\n- {pay}"
    text, findings = audit(goal, Source(MESSAGES), GivenQuotes({f"- {pay}": [quoted]}, MESSAGES))
    assert text == f"## Goal and constraints\nNone.\n## Facts and values\n- {pay} {UNVERIFIED}"
    assert findings.quotes == []


def test_what_a_quote_is_given_for_is_never_dropped() -> None:
    gone = "See https://a.example for it [#3]"
    text, findings = audit(f"## Decisions\n- {gone}", Source(MESSAGES))
    assert (text, findings.dropped) == ("## Decisions\nNone.", [f"- {gone}"])
    assert borne_out(gone, Given((3,), "Anna does not rent")) == f"{gone} {UNVERIFIED}"


def test_a_sentence_of_a_paragraph_is_borne_out_too() -> None:
    said = "Attendance rose by a quarter, to 125 of 100."
    given = {said: [Given((1,), "Eighty people came in spring, 100 in autumn")]}
    text, findings = audit(
        f"## Overview\nHi. {said}", Source(MESSAGES), GivenQuotes(given, MESSAGES)
    )
    assert text.endswith(UNVERIFIED), "125 stands nowhere"
    assert findings.quotes == []


def test_quotes_go_with_the_statements_that_stand() -> None:
    quotes = (Quote("- A [#1]", 1, "a"), Quote("It is B.", 2, "b"), Quote("- C [#3]", 3, "c"))
    assert keep_quotes_in(quotes, "## X\nWell. It is B. So?\n  - A [#1]") == quotes[:2]
    assert keep_quotes_in(quotes, "- A [#1] and more", "- C [#3]") == quotes[2:]


def test_quotes_are_stored_with_the_chapter_and_end_with_an_edit() -> None:
    quotes = (Quote("- A [#1]", 1, "a"), Quote("- B [#2]", 2, "b"))
    written = Chapter("## Decisions\n- A [#1]\n- B [#2]", 1, 2, quotes=quotes)
    stored = json.loads(json.dumps(written.as_dict()))
    assert Chapter.from_dict(stored) == written
    del stored["quotes"]
    assert Chapter.from_dict(stored) == replace(written, quotes=()), "of earlier versions"
    edited = edit_chapter(written, "## Decisions\n- A at last [#1]\n- B [#2]")
    assert edited.quotes == quotes[1:]
    other = Chapter("- C [#3]", 3, 3, quotes=(Quote("- C [#3]", 3, "c"),))
    joined = Chapter.join([edited, other], "- B [#2]\n- C [#3]", depth=1, level=2)
    assert [quote.words for quote in joined.quotes] == ["b", "c"]


# --- In a compaction ------------------------------------------------------------------------------

DOUBTED = "- The fourth release went to the west, all 4.2.1 of it [#4]"
SAID = "Release 4.2.1 was deployed to eu-west-1"


async def test_a_quote_is_asked_for_once_and_stored_with_the_statement(
    client: Client, server: DemoServer
) -> None:
    server.script.reply(chapter(DOUBTED)).reply(f'1. #2: "{SAID}"')
    written = await summarise(job(client))
    asked = server.script.requests[1]
    assert f"1. {DOUBTED} (not in the messages that it cites: 4.2.1)" in text_of(asked)
    assert f"[#2 assistant]\n{SAID}" in text_of(asked), "it has what the cited message lacks"
    stands = DOUBTED.replace("[#4]", "[#4 #2]")
    assert stands in written.chapters[0].text.splitlines()
    assert written.chapters[0].quotes == (Quote(stands, 2, SAID),)
    assert written.audit["borne_out"] == [stands]
    assert (written.audit["unverified"], written.calls) == ([], 2)


async def test_a_lie_that_is_repeated_with_a_quote_is_marked(
    client: Client, server: DemoServer
) -> None:
    lie = "- Release 4.2.2 was deployed to eu-west-1 [#2]"
    server.script.reply(chapter(lie)).reply(f'1. {lie} "{SAID}"')
    written = await summarise(job(client))
    assert f"{lie} {UNVERIFIED}" in written.chapters[0].text
    assert written.chapters[0].quotes == ()


async def test_where_nothing_is_doubted_nothing_is_asked(
    client: Client, server: DemoServer
) -> None:
    server.script.reply(chapter(f"- {SAID} [#2]"))
    written = await summarise(job(client))
    assert (written.calls, written.chapters[0].quotes) == (1, ())


async def test_what_shares_no_word_with_its_message_is_given_back_too(
    client: Client, server: DemoServer
) -> None:
    other = "- Everything went smoothly for the newest version [#2]"
    server.script.reply(chapter(other)).reply("1. All checks passed [#2]")
    written = await summarise(job(client))
    assert "- All checks passed [#2]" in written.chapters[0].text
    assert other in written.audit["given_back"][0]


@pytest.mark.parametrize(
    "answer", ["That is right.", "That is right: #2: “checks”", "-", "(left out)"]
)
async def test_what_is_no_statement_takes_the_place_of_none(
    client: Client, server: DemoServer, answer: str
) -> None:
    lie = "- Release 4.2.2 was deployed to eu-west-1 [#2]"
    server.script.reply(chapter(lie)).reply(f"1. {answer}")
    written = await summarise(job(client))
    assert f"{lie} {UNVERIFIED}\n" in f"{written.chapters[0].text}\n"


async def test_a_statement_without_its_number_gets_that_of_the_quote(
    client: Client, server: DemoServer
) -> None:
    server.script.reply(chapter("- Release 4.2.2 went to eu-west-1 [#2]"))
    server.script.reply(f'1. Release 4.2.1 went to eu-west-1. #2: "{SAID}"')
    written = await summarise(job(client))
    assert "- Release 4.2.1 went to eu-west-1. [#2]\n" in f"{written.chapters[0].text}\n"


async def test_a_statement_that_cites_nothing_is_shown_the_messages_that_are_most_like_it(
    client: Client, server: DemoServer
) -> None:
    server.script.reply(chapter("- The notes were written and are complete"))
    server.script.reply('1. "The notes were written to docs/notes.md" [#4]')
    written = await summarise(job(client, HISTORY))
    assert "[#4 assistant]" in text_of(server.script.requests[1])
    assert "- The notes were written and are complete [#4]" in written.chapters[0].text
