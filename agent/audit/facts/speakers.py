"""Who is said to have said, wanted or decided something."""

import re

from agent.audit.facts.lexicon import Lexicon
from agent.audit.facts.words import TOKEN, find_words, strip_elision

USER = "user"
ASSISTANT = "assistant"
# What a summary calls the two who talk.
_USER = Lexicon.parse("""
user users user's nutzer nutzers nutzerin benutzer benutzerin anwender anwenderin utilisateur
utilisatrice usuario usuaria usuário usuária пользователь пользователя пользователю
пользовательница المستخدم المستخدمة उपयोगकर्ता यूज़र 用户 用戶 使用者 ユーザー 利用者
""")
_ASSISTANT = Lexicon.parse("""
assistant assistant's assistent assistenten assistentin assistante asistente assistente ассистент
ассистента ассистенту помощник المساعد المساعدة सहायक असिस्टेंट 助手 助理 アシスタント
""")
SPEAKERS = _USER.words | _ASSISTANT.words | frozenset(_USER.parts + _ASSISTANT.parts)
_FIRST_TOKENS = 6  # of a statement, among which its subject is
_SAYING = Lexicon.parse("""
said say* ask* want* wish* propos* suggest* recommend* advis* decid* prefer* agree* chose choose*
offer* suspect* assum* expect* doubt*
request* thinks thought believe* plan* intend* told mention* explain* confirm* insist* reject*
refus*
vermut* sagt* sagte möchte will wollte bat bittet fragt* schlug schlägt vorgeschlagen empf*
riet rät entschied
entschieden bevorzug* meint* plant bot erklär* bestätig* wünscht* beschloss*
soupçonn* dit demand* veut voulait propos* sugg* recommand* conseill* décid* préfèr* préfér*
pense confirm* expliqu* choisi* souhait*
sospech* dijo dice pide pidió quiere quería propone propuso sugir* sugier* recomend* aconsej* decid*
prefier*
prefir* piensa confirm* explic* eligió
disse diz pede pediu quer queria propõe propôs suger* recomend* aconselh* prefer* acha escolheu
сказал* говорит прос* попрос* хочет хотел* предлага* предлож* совет* посовет* рекоменд* реш*
предпоч*
думает считает выбра* объясн* подтвер*
قال قالت يقول طلب طلبت يطلب يريد تريد اقترح اقترحت يقترح نصح أوصى قرر قررت يفضل اختار أكد شرح
कहा बताया पूछा माँगा मांगा चाहता चाहती सुझाया सुझाव दिया प्रस्ताव सिफ़ारिश निर्णय फ़ैसला तय पसंद
说 說 问 問 要求 想 希望 建议 建議 提议 提議 提出 推荐 推薦 决定 決定 选择 倾向 认为
言 述べ 尋ね 頼 希望 提案 勧め 推奨 決め 決定 選 望 求め 伝え
""")
_SUBJECT = re.compile(
    r"\W*(?:the |der |die |l['’]|el |la |o |a )?"
    r"((?:user|(?:be)?nutzer(?:in)?|utilisat(?:eur|rice)|usu[aá]ri[oa]|пользователь"
    r"|(?:उपयोगकर्ता|यूज़र|यूज़र) ने)(?![\w'’])|用[户戶](?!的)|ユーザー(?=[はがも]))"
)
_PARTS = re.compile("|".join((*_USER.parts, *_ASSISTANT.parts, *_SAYING.parts)))


def says(word: str) -> bool:
    """Whether a word in lower case is one of saying, wanting or deciding."""
    return _SAYING.has(word)


def remove_speakers(text: str) -> str:
    """A text without the Chinese and Japanese words for who said something, and that they did."""
    return _PARTS.sub(" ", text)


def find_speaker(statement: str) -> str:
    """`USER` or `ASSISTANT`, whichever a statement begins with as its subject and says to have
    said, wanted or decided something; "" for neither."""
    words = [strip_elision(word) for word in find_words(statement)]
    if not _SAYING.find(words, statement):
        return ""
    begin = _read_beginning(statement)
    first = words[:_FIRST_TOKENS]
    is_user, is_assistant = _USER.find(first, begin), _ASSISTANT.find(first, begin)
    if bool(is_user) == bool(is_assistant):
        return ""
    return USER if is_user else ASSISTANT


def find_user_as_subject(statement: str) -> str:
    """The word for the user with which a statement begins as its subject, "" where it does not."""
    match = _SUBJECT.match(statement.lower())
    return match[1] if match else ""


def _read_beginning(statement: str) -> str:
    tokens = [*TOKEN.finditer(statement)][: 2 * _FIRST_TOKENS]
    return statement[: tokens[-1].end()] if tokens else ""
