"""Sentences by which users take an instruction back, found by their wording and their subject.

Such words are common (“again”, “no longer”), so they count only where the sentence is about what an
earlier instruction is about: a word in common, or the same subject, as two languages are. In the
ten languages of `agent.authorship.instruction_wordings`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from agent.audit.facts.words import find_content_words
from agent.authorship.reported_wordings import HEALTH
from agent.authorship.typed import read_typed_texts
from agent.compaction.instructions.pins import Pin, make_pin
from agent.messages import AgentMessage

LONGEST = 200  # characters of a sentence that takes something back
SHORT = 8  # words of an instruction that is about its subject and nothing else

_REVOKING = re.compile(
    r"(?:^|[.;:,!]\s*|\b(?:please|and|just|now|can|so|ok|okay|actually)\s)"
    r"(?:forget|never mind|nevermind|scratch|ignore|disregard|drop|cancel|undo|stop|skip|back to"
    r"|enough with)\b"
    r"|\b(?:no longer|any ?more|changed my mind|fine (?:too|now)|(?:is|are) (?:ok|okay|allowed"
    r"|fine)"
    r"|no need to|(?:take|taking) (?:\w+ ){0,4}back|go(?:ing)? back to|you don['’]t (?:have"
    r"|need) to)\b"
    r"|\b(?:olv[ií]da(?:te|lo)?|ya no|vuelve a|volvamos|dej[ae] de|no hace falta|cancela|basta de"
    r"|mejor en)\b"
    r"|\b(?:esque[cç][ae]|já não|não precisa|volt[ae] a|deix[ae] de|chega de)\b"
    r"|\bnão\b[^.]{1,60}\bmais\b"
    r"|\b(?:oublie[sz]?|plus besoin|reviens|revenons|arrête[sz]?|laisse tomber|annule[sz]?"
    r"|finalement)\b"
    r"|\b(?:n['’]|ne )\w{1,20}(?: \w{1,20})? plus\b"
    r"|\b(?:vergiss|vergessen sie|nicht mehr|zurück zu|hör(?:e|en sie)? auf|doch lieber|lass das"
    r"|(?:darfst|dürfen|kannst|können)(?: \w{1,20}){0,3} (?:doch|wieder)"
    r"|musst (?:du )?nicht|brauchst nicht|streich|ignoriere?|geht auch)\b"
    r"|\bkeine?\b[^.]{1,40}\bmehr\b"
    r"|\b(?:забудь(?:те)?|больше не|вернись|верн[её]мся|хватит|перестань(?:те)?|отмени(?:ть)?"
    r"|можно и|не нужно|не надо)\b"
    r"|忘[了掉记]|别管|不用再?|不必|不再|别再|不要再|又可以|可以[用说說写寫]?了|也可以|也行|改回|[换換]回|改用"
    r"|恢[复復]|取消|算了|[还還]是"
    r"|忘れて|なくて(?:も)?(?:いい|大丈夫|結構)|やめて|戻し|に戻|いらない|いりません|やっぱり|[てで]も(?:いい|大丈夫"
    r"|構いません|かまいません)"
    r"|必要は?(?:ない|ありません)|取り消"
    r"|भूल जा|अब नहीं|वापस|बंद कर|ज़रूरत नहीं|जरूरत नहीं|रद्द|छोड़ द"
    r"|(?<!\w)(?:[إا]?نس[َى]?|لا داعي|لم يعد|عد [إا]لى|توقف عن|[أا]لغ)(?!\w)",
    re.I,
)
# “Again” and “instead” take back only beside a word of wishing or allowing.
_AGAIN = re.compile(
    r"\b(?:again|instead|wieder|statt(?:dessen)?|de nuevo|otra vez|en (?:vez|lugar) de|de novo"
    r"|outra vez"
    r"|em vez de|à nouveau|de nouveau|au lieu de|снова|опять|вместо)\b|また|代わりに|फिर से"
    r"|दोबारा|के बजाय|की जगह"
    r"|مرة [أا]خرى|من جديد|مجددا|بدلا|بدلًا",
    re.I,
)
_ALLOWING = re.compile(
    r"\b(?:please|can|may|fine|ok|okay|let['’]s|bitte|kannst|können|darfst|dürfen|gut|por favor"
    r"|pued\w+"
    r"|bien|pode\w*|peux|pouvez|pla[iî]t|va|можно|пожалуйста|можешь|можете)\b"
    r"|いい|大丈夫|ください|ठीक|कृपया|सकते|يمكنك|جيدة?|فضلك|لا ب[أا]س",
    re.I,
)
# That a thing is, does or has something no longer, which says nothing to the assistant.
_OF_A_THING = re.compile(
    r"^(?:the|this|that|these|those|my|our|der|die|das|diese[rs]?|mein\w*|unser\w*|el|la|los|las"
    r"|est[eao]s?|esos?|mis?|nuestr[oa]s?|o|a|os|as|ess[ea]s?|meus?|minhas?|les?|l['’]|ces?"
    r"|cette|mes|nos|эт\w{1,2}|мо\w{1,2}|наш\w*)\W?\s*\w[^.,;:]*"
    r"\b(?:no longer|any ?more|nicht mehr|ya no|já não|mais|plus|больше не)\b"
    r"|^(?:这|這|那|我的|我们的)[^，。、]{1,20}不再"
    r"|^(?:この|その|あの|私の)[^、。]{1,20}もう|^(?:यह|वह|ये|वे|मेर[ाीे])\s[^।]{1,40}अब नहीं"
    r"|^(?:هذ[اه]|تلك|ذلك)\s[^.،]{1,40}لم يعد",
    re.I,
)
_TO_SOMEBODY = re.compile(
    r"\b(?:you|your|i|me|please|need\w*|apply|applies|holds?|valid|necessary|rule|du|dir|dich|ihr"
    r"|sie|ich|bitte|gilt|gelten|nötig|regel|tú|te|usted|yo|por favor|vale[n]?|aplica"
    r"|necesari[oa]s?|regla|você|eu|precisa|regra|tu|vous|je|j['’]|valables?|nécessaires?|règle|ты|вы|тебе|я|нужн\w*"
    r"|действу\w+|правило|пожалуйста)\b|你|您|我(?!的|们的)|需要|适用|適用|有效|规则|いらない|必要|ルール"
    r"|तुम|आप|मुझे|ज़रूरत|जरूरत|नियम|أنت|حاجة|قاعدة",
    re.I,
)
_QUESTION = re.compile(r"[?？؟]\s*$")

# Subjects whose values share no word: language, units, length, address, small pictures.
_SUBJECTS = [
    re.compile(pattern, re.I)
    for pattern in (
        r"\b(?:englis|german|deutsch|french|französ|spanis|portug|italian|russ|chines|japan|hindi"
        r"|arab"
        r"|dutch|polish|turkish|korean|anglais|allemand|français|espagnol|ingl[eé]s|inglês"
        r"|alem[aáã]|franc[eé]s"
        r"|francês|español|castellano|английск|немецк|французск|испанск|русск|китайск|язык)"
        r"|[英德法中日韩俄]文|[英德法日韩俄汉]语|西班牙语|語で|英語|日本語|ドイツ語|フランス語"
        r"|语言|語言|言語"
        r"|अंग्रेज|हिंदी|हिन्दी|जर्मन|फ़्रेंच|फ्रेंच|स्पेनिश|भाषा|[إا]نجليزي|عربي|فرنسي|[أا]لماني"
        r"|لغة"
        r"|\b(?:language|sprache|langue|idioma|língua)\b",
        r"\b(?:metric|imperial|kilomet|miles|celsius|fahrenheit|metrisch|meilen|métrique|impérial"
        r"|métric"
        r"|millas|milhas|метрич|мил[ия])|公制|英制|公里|英里|メートル|マイル|मीट्रिक|मील|متري|ميل",
        r"\b(?:short|brief|concise|long|detail|kurz|knapp|ausführlich|lang\b|court|bref|brève"
        r"|long|détaill"
        r"|breve|cort[oa]|larg[oa]|detallad|curt[oa]|detalhad|кратк|коротк|подробн|длинн)"
        r"|[简簡]短|[详詳][细細]|短く|長く|詳し|छोटे|लंबे|विस्तार|مختصر|اختصر|تفصيل|طويل",
        r"\b(?:duz|siez|tutoie|vouvoie|tut[eé]a|usted)|\bdu und sie\b",
        r"emoji|émoji|emoticon|smiley|эмодзи|смайл|表情|絵文字|顔文字|इमोजी|[إا]يموجي|تعبيرية",
    )
]
# Words of instructing, which are no subject.
_GENERIC = find_content_words(
    "answer answers answering reply replies respond response responses write writing written speak "
    "use using always never please again instead stop forget ignore keep make want from only "
    "anymore longer fine okay instruction instructions rule rules antworte antworten schreib "
    "schreibe schreiben verwende benutze immer niemals bitte wieder vergiss jetzt mehr nicht "
    "réponds répondez écris utilise toujours jamais plus oublie maintenant responde escribe usa "
    "siempre nunca olvida ahora escreve escreva sempre esqueça agora отвечай отвечайте пиши "
    "используй всегда никогда больше снова забудь теперь хватит हमेशा जवाब उत्तर लिखें दें करें कभी "
    "नहीं भूल जाओ دائما أجب اكتب استخدم أبدا انس الآن"
    "以后请用不要使用始终回答回复从现在起以後請用不用再可以了也可以还是取消忘了忘掉"
    "これからは今後は答えてください使わないでください書いてください必ず忘れてもういいやめてまた"
)


def revokes(sentence: str) -> bool:
    """Whether a sentence on one line is worded like one that takes something back."""
    if len(sentence) > LONGEST or _QUESTION.search(sentence):
        return False
    if _OF_A_THING.search(sentence) and not _TO_SOMEBODY.search(sentence):
        return False
    again = _AGAIN.search(sentence) and _ALLOWING.search(sentence)
    return bool(again or _REVOKING.search(sentence))


_find_content_words = lru_cache(maxsize=1 << 12)(find_content_words)


def shares_subject(sentence: str, instruction: str) -> bool:
    """Whether a sentence may be about what an instruction is about. What users say of their health
    is never taken back so."""
    if HEALTH.search(instruction):
        return False
    if _find_content_words(sentence) & _find_content_words(instruction) - _GENERIC:
        return True
    if len(instruction.split()) > SHORT:
        return False
    return any(each.search(sentence) and each.search(instruction) for each in _SUBJECTS)


def find_revocations(
    message: AgentMessage, standing: Sequence[Pin]
) -> Iterator[tuple[Pin, list[Pin]]]:
    """The sentences of a user's message that take some of the pins back that stood before it, and
    those."""
    if not standing:
        return
    for text in read_typed_texts(message):
        for sentence in text.sentences():
            said = text.read_said(sentence)
            if not revokes(said) or not text.is_typed(sentence):
                continue
            before = (pin for pin in standing if pin.number < message.number)
            if meant := [pin for pin in before if shares_subject(said, pin.text)]:
                yield make_pin(message.number, text, sentence), meant
