"""Which of the user's values the index has where there is no room for all."""

from agent.compaction.chapters.index import MORE, list_index_lines
from agent.messages import RawTokens
from agent.search.exact_values import IndexEntry, Weight
from tests.agent.conversations import COUNTER

GATE = IndexEntry("4417", 3, "The gate code is 4417.", Weight.STATED)
OAK = IndexEntry("We agreed on oak.", 5, "We agreed on oak.", Weight.AGREED)
PLAIN = [IndexEntry(f"page-{n}.txt", 10 + n, "I read") for n in range(200)]


def lines(*entries: IndexEntry, record: str = "", tokens: int = 300, said: str = "") -> list[str]:
    return list_index_lines(entries, [said] if said else [], record, RawTokens(tokens), COUNTER)


def test_where_there_is_room_all_are_there_with_their_words() -> None:
    assert lines(GATE, *PLAIN[:2]) == [
        "- 4417 [#3] The gate code is",
        "- page-0.txt [#10] I read",
        "- page-1.txt [#11] I read",
    ]


def test_what_was_settled_long_ago_stays_with_its_sentence_before_what_only_came_up() -> None:
    made = lines(GATE, OAK, *PLAIN)
    assert made[:2] == ["- “The gate code is 4417.” [#3]", "- “We agreed on oak.” [#5]"]
    assert "page-199.txt" in made[-2]
    listed = sum("page-" in line for line in made)
    assert made[-1] == MORE.format(count=len(PLAIN) - listed)
    assert sum(COUNTER.count(line) + 1 for line in made) <= 320


def test_what_the_record_says_of_its_message_needs_no_second_place() -> None:
    made = lines(GATE, OAK, *PLAIN, record="- The code of the gate is 4417 [#3]")
    assert made[0] == "- “We agreed on oak.” [#5]"
    elsewhere = lines(GATE, OAK, *PLAIN, record="- It costs 4417 € [#8]")
    assert "4417" in elsewhere[0]


def test_of_the_same_weight_each_age_has_its_share() -> None:
    rooms = [
        IndexEntry(f"R-{n}", n, f"The code of room {n} is R-{n}.", Weight.STATED)
        for n in range(1, 400)
    ]
    numbers = [int(line.rpartition("#")[2].rstrip("]")) for line in lines(*rooms) if "“" in line]
    assert numbers[0] < 40
    assert numbers[-1] > 360


def test_what_was_replaced_is_not_there_unless_it_is_said_of_something_else() -> None:
    said = "- Replaced: the gate code 4417 → 5528 [#3 #9]"
    assert "4417" not in "\n".join(lines(GATE, said=said))
    assert "4417" in "\n".join(lines(IndexEntry("4417", 20, "I have sold"), said=said))
    other = IndexEntry("4417", 3, "This winter we sold 4417.", Weight.STATED)
    assert "4417" in "\n".join(lines(other, said=said))
