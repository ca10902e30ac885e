"""A summary by rule: which words of a message it keeps, and in which language it speaks."""

from collections.abc import Sequence

import pytest

from agent.audit.facts.languages import find_language
from agent.authorship.typed import TypedText, read_typed_words
from agent.compaction.extraction.extract import extract
from agent.compaction.extraction.phrases import ENGLISH, PHRASES, choose_phrases
from agent.compaction.instructions.pins import find_pins
from agent.messages import AgentMessage, RawTokens
from tests.agent.conversations import COUNTER, assistant, user


def typed(text: str, pasted: Sequence[tuple[int, int]] = ()) -> AgentMessage:
    return AgentMessage(1, "user", [{"type": "text", "text": text}], RawTokens(9), pasted)


@pytest.mark.parametrize(
    "text",
    [
        'The ship is called "Silver Heron".',
        "The client is “Lund & Daughters”, the branch 'fix-rounding'.",
        'Please write "silver heron" on the bow, and she asked for "oat milk".',
        'The book is "A Night in the Long Garden", the shop “Wow!”, the firm "Oak Ltd."',
        "Das Boot heißt „Silberner Reiher“, der Laden «Ecke 7», der Zweig ‹konto-neu›.",
        "Le bateau s’appelle « Héron d’argent ».",
        'El barco se llama «Garza de plata» y el cliente es "Ríos e Hijos".',
        "O barco chama-se “Garça de prata”.",
        "Корабль называется «Серебряная цапля».",
        "这条船叫“银鹭”，客户是「伦德」。",
        "船の名前は「銀のサギ」で、顧客は『ルンド商会』です。",
        "배 이름은 “은빛 왜가리”입니다.",
        "नाव का नाम “चाँदी का बगुला” है।",
        "اسم المركب «البلشون الفضي».",
    ],
)
def test_names_in_quotation_marks_that_a_person_typed_stay(text: str) -> None:
    assert read_typed_words(typed(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        'He wrote "always take the stairs".',
        'My neighbour texted me: "no music".',
        '"no music", she said.',
        "Der Nachbar schreibt: „nur leise Musik“",
        "Мой сосед написал: «только тихо»",
        "他说“不要音乐”。",
        "彼は「静かに」と言った。",
        'The sign is "never use the lift".',
        'She thinks "we could all of us do with a little less noise here".',
    ],
)
def test_what_others_said_or_want_becomes_a_gap(text: str) -> None:
    assert "[…]" in read_typed_words(typed(text))
    assert find_pins(1, TypedText(text, ())) == []


def test_a_name_in_what_was_pasted_goes_with_it() -> None:
    pasted = 'The ship is called "Silver Heron".'
    assert read_typed_words(typed(f"{pasted} Why?", ((0, len(pasted)),))) == "[…] Why?"


SAID = {
    "en": ["Where is the invoice for the boat?", "Please send it to my office, not to the house."],
    "es": ["¿Dónde está la factura del barco?", "Mándala a la oficina, por favor, no a la casa."],
    "pt": ["Onde está a fatura do barco?", "Não a mande para a casa, mas para o meu escritório."],
    "fr": ["Où est la facture du bateau ?", "Envoie-la dans mon bureau, pas à la maison."],
    "de": ["Wo ist die Rechnung für das Boot?", "Schick sie bitte ins Büro und nicht zu mir."],
    "ru": ["Где счёт за лодку?", "Отправь его в офис, пожалуйста."],
    "zh": ["这条船的发票在哪里？", "请寄到办公室。"],
    "ja": ["船の請求書はどこですか？", "事務所に送ってください。"],
    "hi": ["नाव का बिल कहाँ है?", "उसे दफ़्तर भेज दो।"],
    "ar": ["أين فاتورة المركب؟", "أرسلها إلى المكتب من فضلك."],
}


@pytest.mark.parametrize("language", SAID)
def test_the_frame_speaks_the_users_language(language: str) -> None:
    first, second = SAID[language]
    phrases = PHRASES[language]
    messages = [user(1, first), assistant(2, "Here: 42."), user(3, second), assistant(4, "Done.")]
    text = extract(messages, RawTokens(800), COUNTER)
    assert phrases.note in text
    assert f"- {phrases.wrote}: “{first}” [#1]" in text
    assert f"- {phrases.answered}: “Done.” [#4]" in text
    assert (ENGLISH.wrote in text) == (language == "en")


@pytest.mark.parametrize(
    "said",
    [
        "Dov’è la fattura per la barca che non è della ditta?",
        "Waar is de factuur van het schip dat niet voor mij is?",
        "فاکتور قایق کجاست؟ لطفاً آن را به دفتر بفرستید چون من نیستم",
        "Де рахунок за човен? Надішли його в офіс.",
        "배의 청구서가 어디에 있나요?",
        "👍",
        "ok",
    ],
)
def test_for_any_other_language_the_frame_is_english(said: str) -> None:
    assert choose_phrases([user(1, said)]) == ENGLISH


def test_most_of_the_messages_decide_and_words_of_others_do_not() -> None:
    quoted = "\n".join(f"> The invoice of the boat is for you, line {n}." for n in range(9))
    messages = [user(1, "ok"), user(3, f"Wo ist die Rechnung?\n\n{quoted}"), user(5, "danke")]
    assert choose_phrases(messages) == PHRASES["de"]
    assert find_language("12345 !!") == ""
