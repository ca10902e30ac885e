"""What the user takes back is found by number and nearest words; what is not certain is asked."""

import pytest

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.standing_pins import list_pins, list_standing, retire_pins
from agent.compaction.instructions.named import Named
from agent.compaction.instructions.pins import Pin, PinState
from agent.compaction.instructions.revocations import revokes, shares_subject
from tests.agent.conversations import user

BACK = user(9, "Let's go back to Dutch.")


def retire(line: str, *pins: Pin) -> tuple[list[Chapter], Named]:
    """Chapters of which the first has some pins, after a line of the model's for message 9."""
    named = Named()
    named.add([line], [BACK])
    chapters = [Chapter("Text.", 1, 8, pins=pins), Chapter("Text.", 9, 9, pins=named.in_order)]
    return retire_pins(chapters, named), named


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("Please always write in Frisian.", "always write in Frisian"),
        ("Write in Frisian, always.", "Write in Frisian always."),
        ("from now on write in Frisian pls", "From now on, write in Frisian"),
        ("allways write in Frisian", "Always write in Frisian."),
        ("Write in Frisian.", "“Write in Frisian.”"),
        ("اكتبْ بالهولندية دائمًا.", "اكتب بالهولندية دائما"),
        ("请始终用荷兰语回答。", "始终用荷兰语回答"),
    ],
)
@pytest.mark.parametrize("by", ["Let's go back to Dutch. [#9]", "let’s go back, to Dutch! (#9)"])
def test_it_is_found_in_nearly_the_words(typed: str, named: str, by: str) -> None:
    (chapter, _), told = retire(
        f"Retired: {named} [#3] by: {by}", Pin(3, typed), Pin(3, "Be kind.")
    )
    assert chapter.pins == (Pin(3, typed, PinState.RETIRED, by=9), Pin(3, "Be kind."))
    assert told.not_pinned == []


def test_of_two_with_the_same_words_the_cited_one_is_meant() -> None:
    pins = Pin(3, "Use tabs in Python."), Pin(5, "Use tabs in Makefiles.")
    (chapter, _), _ = retire("Retired: use tabs [#5] by: Let's go back to Dutch. [#9]", *pins)
    assert [pin.state for pin in chapter.pins] == [PinState.STANDING, PinState.RETIRED]


def test_where_several_may_be_meant_they_stand_and_are_asked_about() -> None:
    pins = Pin(3, "Use tabs in Python."), Pin(5, "Use tabs in Makefiles.")
    (chapter, _), _ = retire("Retired: use tabs by: Let's go back to Dutch. [#9]", *pins)
    assert [(pin.state, pin.by) for pin in chapter.pins] == [(PinState.STANDING, 9)] * 2


def test_the_other_half_of_a_sentence_stands() -> None:
    said = Pin(3, "Write in Frisian, please, and put dates first.")
    chapters, _ = retire("Retired: write in Frisian [#3] by: Let's go back to Dutch. [#9]", said)
    assert [pin.text for pin in list_standing(chapters)] == ["put dates first."]
    assert list_pins(chapters)[0].state == PinState.RETIRED


@pytest.mark.parametrize(
    "line",
    [
        "Retired: write in Frisian [#3] by: Nobody likes Frisian. [#9]",
        "Retired: write in Frisian [#3] [#9]",
        "Retired: Frisian spelling [#3] by: Let's go back to Dutch. [#9]",
    ],
)
def test_what_is_not_certain_is_asked_about(line: str) -> None:
    (chapter, _), _ = retire(line, Pin(3, "Write in Frisian."))
    assert chapter.pins == (Pin(3, "Write in Frisian.", by=9),)


@pytest.mark.parametrize("old", ["never use emojis [#2]", "the language [#3]"])
def test_what_fits_nothing_is_told(old: str) -> None:
    line = f"Retired: {old} by: Let's go back to Dutch. [#9]"
    (chapter, _), told = retire(line, Pin(3, "Write in Frisian."))
    assert chapter.pins == (Pin(3, "Write in Frisian."),)
    assert told.not_pinned == [line]


def test_what_the_user_kept_on_the_page_stands_and_is_asked_about() -> None:
    kept = Pin(3, "Write in Frisian.", edited=True)
    line = "Retired: write in Frisian [#3] by: Let's go back to Dutch. [#9]"
    (chapter, _), _ = retire(line, kept)
    assert chapter.pins == (Pin(3, "Write in Frisian.", by=9, edited=True),)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Reply in Polish only.", "Drop Polish, Dutch will do."),
        ("Never use tables.", "Tables are okay, you can use them again."),
        ("Antworte nur auf Polnisch.", "Vergiss das Polnische, Deutsch geht auch."),
        ("Sieze mich.", "Du darfst mich wieder duzen."),
        ("Responde solo en polaco.", "Olvida el polaco, mejor en español."),
        ("Responda apenas em inglês.", "Esqueça o inglês, volte a escrever em português."),
        ("Réponds toujours en anglais.", "Laisse tomber l'anglais."),
        ("Всегда отвечай на английском.", "Хватит английского, можно по-русски."),
        ("请只用英语回答。", "英语就算了，中文也可以。"),
        ("必ず英語で答えてください。", "もう英語でなくていいです。"),
        ("हमेशा अंग्रेज़ी में जवाब दें।", "अंग्रेज़ी छोड़ दो।"),
        ("أجب دائمًا بالإنجليزية.", "لا داعي للإنجليزية."),
        ("Bitte duze mich nie.", "Du darfst mich jetzt doch duzen."),
        ("不要用表格。", "表格现在可以用了。"),
        ("必ず敬語で話してください。", "敬語はもういらないです。"),
        ("Never use tables.", "The rule about tables no longer applies."),
    ],
)
def test_by_rule_a_sentence_that_takes_back_is_known_in_ten_languages(old: str, new: str) -> None:
    assert revokes(new)
    assert shares_subject(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Reply in Polish only.", "Run it again, please."),
        ("Never use tables.", "I always forget where the tables are."),
        ("Always use British spelling.", "The British Museum is closed again."),
        ("I am allergic to nuts.", "Forget the nuts in this recipe."),
        ("Reply in Polish only.", "How do I say that in Polish again?"),
        ("Antworte immer auf Deutsch.", "Der Deutschkurs fällt wieder aus."),
        ("请始终用中文回答。", "这本中文书他没看。"),
        ("Never use tables.", "The tables are no longer in the database."),
        ("Antworte immer auf Deutsch.", "Der Text ist auf Deutsch nicht mehr lesbar."),
        ("Nunca uses tablas.", "Las tablas ya no cargan."),
        ("N'utilise jamais de listes.", "Les listes ne marchent plus."),
        ("不要用表格。", "这个表格不再更新。"),
    ],
)
def test_what_only_sounds_like_it_takes_nothing_back(old: str, new: str) -> None:
    assert not (revokes(new) and shares_subject(new, old))
