"""The words that code puts around what it quotes, in the language that the user writes.

The headings stay English: code knows them by name.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.audit.facts.languages import OPENING, find_language
from agent.authorship.typed import read_typed_words
from agent.messages import AgentMessage, Block

MOST_MESSAGES = 60  # of the newest that are looked at


@dataclass(frozen=True, slots=True)
class Phrases:
    """What heads a quotation: of the user's words, of what others wrote, of the last answer; and of
    the last message of a part. `note` says that a rule wrote a chapter."""

    note: str
    wrote: str
    sent: str
    answered: str
    last_request: str
    last_sent: str


ENGLISH = Phrases(
    "Written by rule, because no model could summarise this part. Search has the details.",
    "The user wrote",
    "The user sent what others wrote",
    "The answer began",
    "The user's last request in this part, word for word",
    "In the last message of this part the user typed nothing; it is",
)
PHRASES = {
    "en": ENGLISH,
    "es": Phrases(
        "Escrito por regla, porque ningún modelo pudo resumir esta parte. La búsqueda tiene los "
        "detalles.",
        "El usuario escribió",
        "El usuario envió lo que escribieron otros",
        "La respuesta empezaba así",
        "La última petición del usuario en esta parte, palabra por palabra",
        "En el último mensaje de esta parte el usuario no escribió nada; es",
    ),
    "pt": Phrases(
        "Escrito por regra, porque nenhum modelo pôde resumir esta parte. A pesquisa tem os "
        "detalhes.",
        "O usuário escreveu",
        "O usuário enviou o que outros escreveram",
        "A resposta começava assim",
        "O último pedido do usuário nesta parte, palavra por palavra",
        "Na última mensagem desta parte o usuário não escreveu nada; ela é",
    ),
    "fr": Phrases(
        "Écrit par règle, car aucun modèle n’a pu résumer cette partie. La recherche a les "
        "détails.",
        "L’utilisateur a écrit",
        "L’utilisateur a envoyé ce que d’autres ont écrit",
        "La réponse commençait ainsi",
        "La dernière demande de l’utilisateur dans cette partie, mot pour mot",
        "Dans le dernier message de cette partie, l’utilisateur n’a rien écrit ; c’est",
    ),
    "de": Phrases(
        "Nach Regeln geschrieben, weil kein Modell diesen Teil zusammenfassen konnte. Die Suche "
        "hat die Einzelheiten.",
        "Der Nutzer schrieb",
        "Der Nutzer schickte, was andere schrieben",
        "Die Antwort begann",
        "Die letzte Bitte des Nutzers in diesem Teil, Wort für Wort",
        "In der letzten Nachricht dieses Teils schrieb der Nutzer selbst nichts; sie lautet",
    ),
    "ru": Phrases(
        "Составлено по правилам, потому что ни одна модель не смогла обобщить эту часть. "
        "Подробности есть в поиске.",
        "Пользователь написал",
        "Пользователь прислал то, что написали другие",
        "Ответ начинался так",
        "Последняя просьба пользователя в этой части, дословно",
        "В последнем сообщении этой части пользователь сам ничего не написал; вот оно",
    ),
    "zh": Phrases(
        "由规则写成，因为没有模型能总结这一部分。详情可以搜索。",
        "用户写道",
        "用户发来他人所写的内容",
        "回答的开头是",
        "用户在这一部分的最后请求，原文",
        "在这一部分的最后一条消息里，用户没有自己写什么；内容是",
    ),
    "ja": Phrases(
        "どのモデルもこの部分を要約できなかったため、規則によって書かれました。詳細は検索できます。",
        "ユーザーの発言",
        "ユーザーが送った他者の文章",
        "回答の冒頭",
        "この部分でのユーザーの最後の依頼（原文どおり）",
        "この部分の最後のメッセージでユーザー自身は何も書いていません。内容",
    ),
    "hi": Phrases(
        "नियम से लिखा गया, क्योंकि कोई मॉडल इस भाग का सार नहीं लिख सका। विवरण खोज में है।",
        "उपयोगकर्ता ने लिखा",
        "उपयोगकर्ता ने दूसरों का लिखा भेजा",
        "उत्तर इस तरह शुरू हुआ",
        "इस भाग में उपयोगकर्ता का आखिरी अनुरोध, शब्दशः",
        "इस भाग के आखिरी संदेश में उपयोगकर्ता ने स्वयं कुछ नहीं लिखा; वह है",
    ),
    "ar": Phrases(
        "كُتب وفق قاعدة، لأن أي نموذج لم يستطع تلخيص هذا الجزء. التفاصيل في البحث.",
        "كتب المستخدم",
        "أرسل المستخدم ما كتبه آخرون",
        "بدأ الجواب هكذا",
        "آخر طلب للمستخدم في هذا الجزء، حرفيًا",
        "في آخر رسالة من هذا الجزء لم يكتب المستخدم شيئًا بنفسه؛ وهي",
    ),
}
# The record of what came from elsewhere, which no model was asked to read.
RECORD_NOTE = (
    "The chapters up to here were taken by rule from messages that no model has read: openings and "
    "exact values. Search has all of them."
)
NOTES = (*(phrases.note for phrases in PHRASES.values()), RECORD_NOTE)
QUOTED = tuple(
    each for phrases in PHRASES.values() for each in (phrases.last_request, phrases.last_sent)
)


def choose_phrases(messages: Sequence[AgentMessage]) -> Phrases:
    """In the language of most of the user's messages, English where it is none of the ten."""
    prompts = [message for message in messages if message.is_prompt][-MOST_MESSAGES:]
    spoken = Counter(
        language for each in prompts if (language := find_language(_read_opening(each))) != ""
    )
    (language, _), *_ = spoken.most_common(1) or [("en", 0)]
    return PHRASES.get(language, ENGLISH)


def _read_opening(message: AgentMessage) -> str:
    texts = (block["text"] for block in message.blocks if block["type"] == "text")
    short: list[Block] = [{"type": "text", "text": text[: 2 * OPENING]} for text in texts]
    return read_typed_words(replace(message, blocks=short))
