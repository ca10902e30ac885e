"""Days that are said by their distance, in the ten languages, from Monday, 4 May 2026 on."""

from datetime import UTC, date, datetime, timedelta

import pytest

from agent.audit.evidence import Source
from agent.audit.facts.relative import find_meant_days, is_meant
from agent.audit.facts.words import clean
from agent.audit.grounding import check_bullet
from agent.messages import AgentMessage, RawTokens

MONDAY = date(2026, 5, 4)

DAYS = [
    ("The inspector comes tomorrow", 5),
    ("Tomorrow’s call is fixed", 5),
    ("the day after tomorrow, then", 6),
    ("It was the day before yesterday", 2),
    ("die Prüfung ist übermorgen", 6),
    ("Gestern kam der Brief", 3),
    ("le plombier vient après-demain", 6),
    ("c'était avant-hier", 2),
    ("aujourd’hui à midi", 4),
    ("pasado mañana vuelvo", 6),
    ("lo mandé ayer", 3),
    ("amanhã de manhã", 5),
    ("depois de amanhã eu volto", 6),
    ("завтра в школе собрание", 5),
    ("это было позавчера", 2),
    ("وغدا نسافر", 5),
    ("الاجتماع بعد غد", 6),
    ("बैठक कल है", 5),
    ("बैठक कल थी", 3),
    ("परसों मिलते हैं", 6),
    ("明天开会", 5),
    ("大后天出发", 7),
    ("明後日に伺います", 6),
    ("一昨日届きました", 2),
    ("the rehearsal on Friday", 8),
    ("am Donnerstagabend", 7),
    ("jeudi prochain", 7),
    ("el miércoles que viene", 13),
    ("na sexta-feira", 8),
    ("в пятницу вечером", 8),
    ("يوم الجمعة", 8),
    ("गुरुवार को", 7),
    ("下周三", 13),
    ("金曜日の夜", 8),
    ("last Friday it rained", 1),
    ("in two weeks", 18),
    ("vor drei Tagen", 1),
    ("il y a 3 jours", 1),
    ("через 3 дня", 7),
    ("قبل 3 أيام", 1),
    ("3 दिन बाद", 7),
    ("三天后", 7),
    ("3日後", 7),
    ("on the 12th", 12),
    ("am 12. wird geliefert", 12),
    ("le 12 au soir", 12),
    ("12号", 12),
]


@pytest.mark.parametrize(("text", "day"), DAYS)
def test_a_day_is_reckoned_from_the_day_on_which_it_was_said(text: str, day: int) -> None:
    meant = find_meant_days(clean(text), MONDAY)
    assert is_meant((2026, 5, day), meant)
    assert is_meant((None, 5, day), meant)
    assert not is_meant((2026, 5, 21), meant)
    assert not is_meant((2025, 5, day), meant)


def test_the_day_after_tomorrow_is_not_tomorrow() -> None:
    for text in ("the day after tomorrow", "pasado mañana", "après-demain", "大后天", "一昨日"):
        assert len(find_meant_days(text, MONDAY)) == 1


def test_the_day_itself_is_meant_where_no_other_is_said() -> None:
    assert find_meant_days("the parcel has come", MONDAY) == {(2026, 5, 4)}
    assert not is_meant((2026, 5, 4), find_meant_days("the parcel comes tomorrow", MONDAY))


@pytest.mark.parametrize(
    ("text", "month"),
    [
        ("next month", 6),
        ("nächsten Monat", 6),
        ("el mes pasado", 4),
        ("mês que vem", 6),
        ("в прошлом месяце", 4),
        ("الشهر القادم", 6),
        ("अगले महीने", 6),
        ("下个月", 6),
        ("先月", 4),
    ],
)
def test_a_month_is_meant_without_a_day(text: str, month: int) -> None:
    meant = find_meant_days(clean(text), MONDAY)
    assert is_meant((2026, month, None), meant)
    assert not is_meant((2026, month, 5), meant)


@pytest.mark.parametrize("said_on", [date(2026, 12, 31), date(2024, 2, 29), date(2026, 3, 28)])
def test_tomorrow_and_in_a_month_over_the_ends_of_months_and_years(said_on: date) -> None:
    meant = find_meant_days("tomorrow, or in a month", said_on)
    tomorrow = said_on + timedelta(1)
    assert is_meant((tomorrow.year, tomorrow.month, tomorrow.day), meant)
    month = said_on.month % 12 + 1
    assert is_meant((None, month, min(said_on.day, 31)), meant)


# --- In the audit ---------------------------------------------------------------------------------


def judge(said: str, statement: str, zone: str = "Europe/Berlin") -> str:
    """What is wrong with a statement about a message of 4 May 2026, 23:30 in UTC."""
    at = datetime(2026, 5, 4, 23, 30, tzinfo=UTC).timestamp()
    blocks = [{"type": "text", "text": said}]
    source = Source([AgentMessage(1, "user", blocks, RawTokens(9), at=at, zone=zone)])
    return check_bullet(f"- {statement} [#1]", source, "facts").wrong


@pytest.mark.parametrize(
    ("said", "statement", "otherwise"),
    [
        (
            "My driving test is tomorrow, in Graz",
            "user's driving test in Graz: 6 May 2026",
            "user's driving test in Graz: 5 May 2026",
        ),
        (
            "Die Heizung wird am Freitag repariert",
            "Die Heizung wird am 8. Mai 2026 repariert",
            "Die Heizung wird am 9. Mai 2026 repariert",
        ),
        ("后天我去看牙医", "用户2026年5月7日去看牙医", "用户2026年5月8日去看牙医"),
        (
            "L'année dernière le loyer a augmenté",
            "loyer augmenté en 2025",
            "loyer augmenté en 2023",
        ),
    ],
)
def test_the_audit_bears_a_reckoned_date_out_and_no_other(
    said: str, statement: str, otherwise: str
) -> None:
    assert not judge(said, statement)
    assert "not in the messages" in judge(said, otherwise)


def test_the_day_is_the_one_where_the_message_was_written() -> None:
    said, sixth = "The parcel comes tomorrow", "parcel comes on 6 May 2026"
    assert not judge(said, sixth, "Europe/Berlin")
    assert not judge(said, "parcel comes on 5 May 2026", "America/Los_Angeles")
    assert judge(said, sixth, "America/Los_Angeles")


def test_of_a_message_whose_time_is_unknown_no_day_is_reckoned() -> None:
    blocks = [{"type": "text", "text": "The parcel comes tomorrow"}]
    source = Source([AgentMessage(1, "user", blocks, RawTokens(9))])
    assert check_bullet("- parcel comes on 6 May 2026 [#1]", source, "facts").wrong
