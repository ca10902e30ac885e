"""What users settle in their own words, in ten languages, and what they only speak of."""

import pytest

from agent.compaction.extraction.decisions import find_decisions
from agent.messages import AgentMessage
from agent.search.exact_values import IndexEntry, Weight
from tests.agent.conversations import user


def weights(*said: str) -> dict[str, Weight]:
    entries, _ = find_decisions([user(1, text) for text in said], [])
    return {entry.value: entry.weight for entry in entries}


def changes(*said: str) -> list[str]:
    messages: list[AgentMessage] = [user(number, text) for number, text in enumerate(said, 1)]
    return [each.render() for each in find_decisions(messages, [])[1]]


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("The greenhouse key is GH-2291.", "GH-2291"),
        ("Note: Deckel 7731.", "7731"),
        ("Das Aktenzeichen lautet 4412.", "4412"),
        ("La clave del taller es 9034.", "9034"),
        ("O código do armário é 5518.", "5518"),
        ("Le numéro du dossier est 6627.", "6627"),
        ("Номер заявки — 7718.", "7718"),
        ("仓库编号是 8825。", "8825"),
        ("倉庫番号は 3349 です。", "3349"),
        ("गोदाम का नंबर 4471 है।", "4471"),
        ("رقم المخزن هو 5583.", "5583"),
    ],
)
def test_a_short_sentence_that_states_a_value_settles_it(said: str, value: str) -> None:
    assert weights(said)[value] == Weight.STATED


@pytest.mark.parametrize(
    "said",
    [
        "We agreed on oak for the shelves.",
        "Wir haben uns für Eiche entschieden.",
        "Nos quedamos con el roble para las baldas.",
        "Ficamos com o carvalho para as prateleiras.",
        "Nous avons choisi le chêne pour les étagères.",
        "Мы решили взять дуб для полок.",
        "书架我们决定用橡木。",
        "棚はオーク材に決めました。",
        "अलमारी के लिए सागौन तय किया।",
        "اخترنا خشب البلوط للرفوف.",
    ],
)
def test_a_decision_without_a_value_is_kept_as_it_was_typed(said: str) -> None:
    assert weights(said) == {said: Weight.AGREED}


@pytest.mark.parametrize(
    "said",
    [
        "Is the greenhouse key GH-2291?",
        "If the key is 2291, the gate opens.",
        "Perhaps we should go with oak for 2500 euros.",
        "I walked past 2291 trees on my way to the greenhouse and thought about the beds.",
        "Let me know what you think of it.",
        "This is my current `beds.toml` file:",
        "So sieht meine Liste für den 4. März aus:",
        "这是我的 beds.toml 文件：",
        "I'll go with the second one:",
        "=> 12,N/A",
        "| 4 | 12 EUR |",
    ],
)
def test_what_is_asked_or_only_thought_of_settles_nothing(said: str) -> None:
    assert not any(weights(said).values())


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("The gate code is 4417.", "The gate code is 5528 instead of 4417.", "4417 → 5528"),
        ("The gate code is 4417.", "The gate code is no longer 4417. It is 5528.", "4417 → 5528"),
        ("The gate code is 4417.", "The gate code is 5528 now.", "4417 → 5528"),
        (
            "The gate code is 4417.",
            "Sorry, the gate code should have been 5528, not 4417.",
            "4417 → 5528",
        ),
        ("Der Torcode ist 4417.", "Der Torcode ist jetzt 5528.", "4417 → 5528"),
        ("Der Torcode ist 4417.", "Der Torcode ist nicht mehr 4417, sondern 5528.", "4417 → 5528"),
        ("El código es 4417.", "Cambia el código de 4417 a 5528.", "4417 → 5528"),
        ("O código é 4417.", "O código agora é 5528 em vez de 4417.", "4417 → 5528"),
        (
            "Le code du portail est 4417.",
            "Le code du portail est 5528 au lieu de 4417.",
            "4417 → 5528",
        ),
        ("Код ворот: 4417.", "Код ворот теперь 5528 вместо 4417.", "4417 → 5528"),
        ("大门密码是 4417。", "大门密码从 4417 改为 5528。", "4417 → 5528"),
        ("門の番号は 4417 です。", "門の番号は 4417 ではなく 5528 です。", "4417 → 5528"),
        ("फाटक का कोड 4417 है।", "फाटक का कोड अब 5528 है, 4417 नहीं।", "4417 → 5528"),
        ("رمز البوابة هو 4417.", "رمز البوابة هو 5528 بدلا من 4417.", "4417 → 5528"),
        ("The gate code is 4417.", "The new gate code 5528 replaces 4417.", "4417 → 5528"),
        ("The gate code is 4417.", "The gate code was 4417, now it's 5528.", "4417 → 5528"),
        ("Der Torcode ist 4417.", "Ändere bitte den Torcode von 4417 auf 5528.", "4417 → 5528"),
        ("O código é 4417.", "O código não é mais 4417, é 5528.", "4417 → 5528"),
        ("Le code est 4417.", "Le code n'est plus 4417 mais 5528.", "4417 → 5528"),
        ("Код ворот: 4417.", "Измени код ворот с 4417 на 5528.", "4417 → 5528"),
        ("大门密码是 4417。", "大门密码现在是 5528。", "4417 → 5528"),
        ("門の番号は 4417 です。", "門の番号は 4417 から 5528 に変更しました。", "4417 → 5528"),
        ("फाटक का कोड 4417 है।", "फाटक का कोड 4417 से बदलकर 5528 कर दो।", "4417 → 5528"),
        ("رمز البوابة هو 4417.", "غيّر رمز البوابة من 4417 إلى 5528.", "4417 → 5528"),
    ],
)
def test_a_value_that_replaces_a_known_one_is_written_as_the_form_asks(
    old: str, new: str, line: str
) -> None:
    (made,) = changes(old, "And how are you?", new)
    assert made.startswith("- Replaced: ")
    assert made.endswith(f"{line} [#1 #3]")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The gate code is 4417.", "There are two codes, 4417 and 5528."),
        ("The gate code is 4417.", "Should the gate code be 5528 instead of 4417?"),
        ("The gate code is 4417.", "We could change the gate code from 4417 to 5528."),
        ("The gate code is 4417.", "The shed code is 5528 now."),
        ("The gate code is 4417.", "I walked 5528 steps instead of 4417."),
        ("The gate code is 4417. The house code is 9917.", "It is 5528 now."),
        ("The port is 4417.", "The database port is 5528 now."),
        ("The winter gate code is 4417.", "The winter gate height is 5528 now."),
        # Said of the value itself, with another number beside it.
        ("The port is 8443.", "The port 8443 was blocked for 30 minutes."),
        ("The gate code is 4417.", "The gate code 4417 was changed on 2024-05-03."),
        ("The gate code is 4417.", "The gate code was 4417 in 2019."),
        ("The limit is 100 users.", "The limit of 100 users was not reached in 2023."),
        ("The host is web-01.", "The host web-01 now runs on port 8080."),
        ("The exam is on 2025-06-01.", "The exam on 2025-06-01 now begins at 9:30."),
        ("Der Torcode ist 4417.", "Mit dem Torcode 4417 waren wir um 10:15 drin."),
        ("El código es 4417.", "El código 4417 no funciona en la puerta 12."),
        ("Le code est 4417.", "Le code 4417 était donné à 12 personnes."),
        ("Код ворот: 4417.", "Код ворот 4417 не подходит к дому 12."),
        ("大门密码是 4417。", "大门密码 4417 不是给 12 号楼的。"),
        ("門の番号は 4417 です。", "門の番号 4417 は 12 号棟ではない。"),
        ("फाटक का कोड 4417 है।", "फाटक का कोड 4417 घर 12 के लिए नहीं है।"),
        ("رمز البوابة هو 4417.", "رمز البوابة 4417 كان مع 12 شخصا."),
        # It is the known value that holds.
        ("The gate code is 4417.", "No, the gate code is 4417, not 5528."),
        ("The gate code is 4417.", "The gate code was 5528, now it is 4417."),
        ("Der Torcode ist 4417.", "Der Torcode ist immer noch 4417, nicht 5528."),
        ("El código es 4417.", "El código es 4417, no 5528."),
        ("Le code est 4417.", "Le code est 4417, pas 5528."),
        ("O código é 4417.", "O código é 4417, não 5528."),
        ("Код ворот: 4417.", "Код ворот 4417, а не 5528."),
        ("大门密码是 4417。", "大门密码是 4417,不是 5528。"),
        ("門の番号は 4417 です。", "門の番号は 4417 で、5528 ではない。"),
        ("फाटक का कोड 4417 है।", "फाटक का कोड 4417 है, 5528 नहीं।"),
        ("رمز البوابة هو 4417.", "رمز البوابة هو 4417 وليس 5528."),
        # Somebody else's, another one's, or in somebody's words.
        ("The fee is 250.", "The student fee is 125 instead of 250."),
        ("The fee is 250.", "They told me the fee is 125 instead of 250."),
        ("The door code is 4417.", "The back door code is now 5528."),
        ("The meeting is at 10:00.", "The meeting after that is now at 11:00."),
        ("Chapter 13 is done.", "Chapter 14 is now done."),
        ("Die Gebühr ist 250.", "Bei Anna ist die Gebühr jetzt 125."),
        ("La cuota es 250.", "La cuota infantil ahora es 125."),
        ("Le tarif est 250.", "Chez Paul le tarif est 125 au lieu de 250."),
        ("Тариф: 250.", "У Анны тариф 125 вместо 250."),
        ("会费是 250。", "小王的会费是 125,不是 250。"),
        ("会費は 250 です。", "田中さんの会費は 250 ではなく 125 です。"),
        ("शुल्क 250 है।", "बच्चों का शुल्क अब 125 है।"),
        ("الرسم هو 250.", "رسم أحمد 125 بدلا من 250."),
        # It is to stay.
        ("The fee is 250.", "Don't change the fee from 250 to 125."),
        ("La cuota es 250.", "No cambies la cuota de 250 a 125."),
        ("Die Gebühr ist 250.", "Ändere die Gebühr nicht von 250 auf 125."),
        ("会費は 250 です。", "会費を 250 から 125 に変えないで。"),
        ("शुल्क 250 है।", "शुल्क 250 से बदलकर 125 मत करो।"),
        ("الرسم هو 250.", "لا تغير الرسم من 250 إلى 125."),
        ("We open at 10:15.", "We open from 10:15 to 11:45."),
        ("And here's my gate.py:", "Now I changed it and here's my shed.py: print"),
    ],
)
def test_what_may_be_of_something_else_replaces_nothing(old: str, new: str) -> None:
    assert changes(old, new) == []


def test_entries_of_earlier_versions_still_load_and_the_new_ones_survive_storage() -> None:
    old = IndexEntry.from_list(["8443", 1, "the port"])
    assert old == IndexEntry("8443", 1, "the port")
    assert old.as_list() == ["8443", 1, "the port"]
    (new,) = find_decisions([user(1, "The gate code is 4417.")], [])[0]
    assert IndexEntry.from_list(new.as_list()) == new
    assert new.render() == "- 4417 [#1] The gate code is"


def test_one_of_several_values_with_the_same_words_is_not_the_value() -> None:
    schedule = "The week:\n- **Start**: 8:30\n- **Start**: 10:15\n- **Room**: B12"
    assert weights(schedule) == {"8:30": 0, "10:15": 0, "B12": Weight.STATED}


def test_a_settled_sentence_is_shown_without_its_markdown() -> None:
    entries, _ = find_decisions([user(1, "- **Room**: B12.")], [])
    assert [entry.words for entry in entries] == ["Room: B12."]


def test_what_others_wrote_settles_nothing() -> None:
    assert not any(weights("> The gate code is 4417.\nWhat do they mean by that?").values())


@pytest.mark.parametrize(
    "second", ["The gate code is 5528 now.", "The gate code is 5528 instead of 4417."]
)
def test_what_was_changed_is_changed_again(second: str) -> None:
    said = ["The gate code is 4417.", second, "The gate code is now 6639."]
    found = changes(*said)
    assert [line.partition("→ ")[2] for line in found] == ["5528 [#1 #2]", "6639 [#2 #3]"]
    entries, _ = find_decisions([user(n, text) for n, text in enumerate(said[:2], 1)], [])
    (later,) = find_decisions([user(3, said[2])], entries)[1]  # in the next chapter
    assert (later.old, later.new) == ("5528", "6639")


def test_what_was_changed_back_holds_again() -> None:
    said = ["The gate code is 4417.", "The gate code is 5528 instead of 4417."]
    back = "The gate code is 4417 again, not 5528."
    assert changes(*said, back) == ["- Replaced: The gate code is 5528 → 4417 [#2 #3]"]
