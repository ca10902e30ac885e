"""How people word what is to hold from now on, in the ten languages that most is written in:
English, Spanish, Portuguese, French, German, Russian, Chinese, Japanese, Hindi, Arabic.

The extract pins by them. A model that writes a summary names the instructions itself, and what it
does not name of these is offered. They also tell a wish in quotation marks from a name, and the
user's own instruction from what they report. Each rule asks for an imperative or the first person.
"""

import re

# Where a clause begins: at the sentence's start, or after a mark or a polite word.
_C = r"""(?:^|[.!?;,:，、；：،؛]\s*|\b(?:please|and|but|so|also|then|remember|note|por\ favor|y|e
  |et
|und|aber|и|но|s['’]il\ (?:te|vous)\ pla[iî]t|пожалуйста|bitte)\s*,?\s+|من\ فضلك،?\s*|رجاء\s*
|कृपया\s*|请|請)"""
_END = r"""\s*(?:[,，]?\s*(?:please|por\ favor|bitte|пожалуйста|s['’]il\ (?:te|vous)\ pla[iî]t))?
[.!。！।]*$"""

_ENGLISH = rf"""
{_C}(?:you\ (?:must|should|need\ to)\ )?(?:always|never)\ (?!been\b|had\b|have\b|seen\b|mind\b)
| {_C}(?:do\ not|don['’]t)\ ever\ | \bfrom\ (?:now|here)\ on\b | \bhenceforth\b
  | {_C}going\ forward\b
| {_C}in\ (?:the\ )?future\b(?!.*\bwill\b)
| {_C}(?:whenever|every\ time|each\ time)\ (?:you|I\ (?:ask|say|mention|send|paste|post|write))\b
| \bI(?:['’]d|\ would)?\ (?:want|need|like)\ you\ to\ (?:always|never)\b
| {_C}make\ sure\ (?:to|that|you)\ (?:always|never)\b
| {_C}by\ default,?\ (?:use|write|answer|reply|give|show|do|don['’]t|include|keep|make)\b
| {_C}keep\ in\ mind\ that\b | {_C}remember\ (?:that|to)\b | {_C}(?:when|if)\ I\ (?:ask|say
  |mention)\b
| {_C}(?:speak|use|write)\ only\b
| {_C}(?:only\ )?(?:answer|reply|respond|write|speak|talk)
  (?:\ (?:to\ )?me|\ only|\ (?:all\ )?your\ \w+|\ everything)*
  \ in\ (?:(?:British|American|plain|simple)\ )?[A-Z][a-z]+(?:\ only)?{_END}
| {_C}(?:keep|make)\ your\ (?:answers|replies|responses|explanations)\b
| {_C}(?:be|stay)\ (?:brief|concise|terse|formal|informal|direct|polite){_END}
| {_C}use\ (?:British|American|metric|imperial|plain|simple|Celsius|Fahrenheit|kilomet\w+|miles)\b
| {_C}(?:(?:do\ not|don['’]t)\ (?:use|add|write|include|put|give|show)|stop|avoid|skip
  |no)\ (?:\w+\ ){{0,2}}
  (?:emojis?|tables|bullet\ points|bullets|lists|headings|jargon|introductions|disclaimers
  |apologi\w+)\b
| \bI(?:['’]m|\ am)\ (?:an?\ )?(?:\w+\ )?(?:allergic|intolerant|vegan|vegetarian|diabetic|dyslexic
  |colou?r-?blind|left-handed|beginner|novice)\b
| \bI\ (?:can['’]t|cannot|don['’]t|do\ not|never)\ (?:eat|drink)\b
| \bmy\ name(?:['’]s|\ is)\b | {_C}call\ me\ (?-i:[A-Z]) | \bI\ (?:work\ as|live\ in)\b
"""

# People say this within questions too.
_ENGLISH_PREFERENCE = re.compile(
    r"""
    \bI(?:['’]d|\ would)?(?:\ really|\ strongly|\ always|\ generally|\ usually)?\ prefer\b
    | \bmy\ (?:preference|rule|policy|style\ guide)\b | \bI\ (?:hate|can['’]t\ stand|insist)\b
    | \bI\ (?:like|want)\ (?:my|all|every)\b
    """,
    re.I | re.X,
)

_SPANISH_TO_DO = r"""(?:respond[ea]|contest[ea]|escrib[ea]|us[ae]|utili[zc][ea]|habl[ae]
  |expli(?:ca|que)|d[aé]
|pon(?:ga)?|incluy[ea]|evit[ae]|ha(?:z|ga)|muestr[ae]|cit[ae]|sé|sea|mant[eé]n(?:ga)?|resum[ea]
  |tr[aá]t[ae])(?:me)?"""
_SPANISH = rf"""
(?:^|[,;:]\s*)(?:(?:de|desde|a\ partir\ de)\ (?:ahora|aquí|hoy)(?:\ en\ adelante)?|en\ (?:adelante
  |lo\ sucesivo))\b
| {_C}(?:{_SPANISH_TO_DO}|resp[oó]ndeme|cont[eé]stame|escr[ií]beme|h[aá]blame
  |expl[ií]came)\b[^.]*\bsiempre\b
| {_C}siempre\ (?:me\ )?{_SPANISH_TO_DO}\b
| {_C}(?:nunca|jamás)\ (?:me\ )?(?:us|utilic|escrib|respond|pong|incluy|hag|d|dig|empiec|termin
  |añad|muestr|trat|habl|llam|pid)(?:as|es|a|e)\b
| {_C}no\ (?:us|utilic|pong|añad|incluy)(?:as|es|a|e)\ (?:emojis|emoticonos|tablas|listas|viñetas
  |tecnicismos)\b
| {_C}(?:respond[ea]|contest[ea]|escrib[ea]|habl[ae]|resp[oó]ndeme|cont[eé]stame
  |h[aá]blame)\ (?:s[oó]lo\ |únicamente\ )?en\ [a-zñé]+{_END}
| {_C}(?:sé|sea)\ (?:breve|concis[oa]|formal|direct[oa])\b
| \bsoy\ (?:muy\ )?(?:al[eé]rgic[oa]|vegetarian[oa]|vegan[oa]|cel[ií]ac[oa]|diab[eé]tic[oa]
  |intolerante|dalt[oó]nic[oa]|principiante|zurd[oa])\b
| \btengo\ (?:alergia|intolerancia)\b | \bme\ llamo\b | \bmi\ nombre\ es\b | {_C}ll[aá]mame\b
  | {_C}tut[eé]ame\b
| \b(?:prefiero|detesto|odio)\b | \bno\ puedo\ comer\b | \bno\ como\ (?:carne|pescado|cerdo|gluten
  |l[aá]cteos)\b
"""

_PORTUGUESE_TO_DO = r"""(?:respond[ae]|escrev[ae]|us[ae]|utiliz[ae]|fal[ae]|expli(?:ca|que)|d[êá]
  |inclu[ai]|evit[ae]
|faça|faz|mostr[ae]|cit[ae]|seja|sê|mantenha|mantém|resum[ae]|trat[ae]|cham[ae])(?:-me)?"""
_PORTUGUESE = rf"""
(?:^|[,;:]\s*)(?:a\ partir\ de\ (?:agora|hoje)|de\ agora\ em\ diante|daqui\ (?:em|para)\ (?:diante
  |a\ frente)|doravante)\b
| {_C}(?:me\ )?{_PORTUGUESE_TO_DO}\b[^.]*\bsempre\b | {_C}sempre\ (?:me\ )?{_PORTUGUESE_TO_DO}\b
| {_C}(?:nunca|jamais)\ (?:me\ )?{_PORTUGUESE_TO_DO}\b
| {_C}não\ (?:us[ae]|utiliz[ae]|inclu[ai]|coloque|adicione)\ (?:emojis|tabelas|listas|jargão)\b
| {_C}(?:respond[ae]|escrev[ae]|fal[ae])(?:-me)?\ (?:s[oó]\ |apenas\ )?em\ [a-zãêéç]+{_END}
| {_C}(?:seja|sê)\ (?:breve|conciso|concisa|formal|diret[oa])\b
| \bsou\ (?:muito\ )?(?:al[eé]rgic[oa]|vegetarian[oa]|vegan[oa]|cel[ií]ac[oa]|diab[eé]tic[oa]
  |intolerante|dalt[ôo]nic[oa]|iniciante|canhot[oa])\b
| \btenho\ (?:alergia|intolerância)\b | \bme\ chamo\b | \bchamo-me\b | \bmeu\ nome\ é\b
  | {_C}(?:me\ chame|chame-me)\b
| \b(?:prefiro|detesto|odeio)\b | \bnão\ (?:como|posso\ comer)\ (?:carne|peixe|porco|gl[uú]ten
  |latic[ií]nios)\b
"""

_FRENCH_TO_DO = r"""(?:répond(?:s|ez)|écri(?:s|vez)|utilise[sz]?|emplo(?:ie|yez)|parle[sz]?
  |explique[sz]?|donne[sz]?
|commence[sz]?|évite[sz]?|reste[sz]?|sois|soyez|met(?:s|tez)|cite[sz]?|fai(?:s|tes)|montre[sz]?
  |ajoute[sz]?|excuse[sz]?)"""
_FRENCH = rf"""
(?:^|[,;:]\s*)(?:désormais|dorénavant|à\ partir\ (?:de\ maintenant|d['’]aujourd['’]hui)
  |à\ l['’]avenir|dès\ maintenant)\b
| {_C}{_FRENCH_TO_DO}\b[^.]*\b(?:toujours|désormais|dorénavant)\b
| {_C}(?:n['’]|ne\ )(?:m['’]|me\ |t['’])?{_FRENCH_TO_DO}\ (?:\w+\ )?(?:jamais|plus)\b
| {_C}(?:n['’]|ne\ ){_FRENCH_TO_DO}\ pas\ (?:d['’]|de\ )(?:emojis?|émojis?|tableaux|listes
  |jargon)\b
| {_C}(?:répond(?:s|ez)|écri(?:s|vez)|parle[sz]?)(?:-moi)?
  \ (?:seulement\ |uniquement\ )?en\ [a-zçé]+{_END}
| {_C}(?:sois|soyez)\ (?:bref|brève|brefs|concise?|formel\w*|direct\w*)\b
| {_C}(?:tutoie|vouvoie|tutoyez|vouvoyez|appelle|appelez)-moi\b
| \bje\ suis\ (?:\w+\ )?(?:allergique|végétari\w+|végan\w*|végétalien\w*|intolérante?|cœliaque
  |diabétique|daltonien\w*|débutante?|gauch[eè]re?)\b
| \bje\ m['’]appelle\b | \bmon\ (?:pré)?nom\ est\b | \bje\ (?:préfère|préférerais|déteste)\b
| \bje\ ne\ (?:mange|bois|peux\ pas\ manger)\b
"""

_GERMAN_TO_DO = r"""(?:antworte[nt]?|schreib(?:e|en)?|verwende[nt]?|benutze?n?|nutze?n?|nenne?n?
  |sprich|sprechen
|erklär(?:e|en)?|gib|geben|zeige?n?|mache?n?|halte?n?|bleibe?n?|sei|seien|vermeide[nt]?|lass(?:e
  |en)?|füge?n?
|formuliere?n?|begründe?n?|prüfe?n?|teste?n?|frage?n?|sage?n?)(?:\ Sie)?"""
_GERMAN = rf"""
{_C}(?:ab\ (?:jetzt|sofort|heute)|von\ (?:jetzt|nun)\ an|künftig|zukünftig|fortan)\b
| {_C}in\ Zukunft\b(?!.*\bwird\b)
| {_C}{_GERMAN_TO_DO}\b[^.]*\b(?:immer|stets|nie|niemals|grundsätzlich|künftig)\b
| \bich\ (?:will|möchte|wünsche\ mir),?\ dass\ (?:du|Sie)\ [^.]*
  (?:immer|stets|nie|niemals|ab\ jetzt|künftig)\b
| \bbitte\ (?:immer|stets|nie|niemals|grundsätzlich)\b
| {_C}(?:immer|stets|nie|niemals)\ (?!.*\b(?:ich|wir|er|sie|es|man)\b)[^.]*en{_END}
| {_C}(?:verwende|benutze?|nutze?)?\s*keine\ (?:Emojis|Tabellen|Listen|Aufzählungen|Fachwörter
  |Überschriften)\b
| {_C}(?:benutze?|verwende|nutze?|sprich|schreibe?)\ (?:bitte\ )?nur\ (?:noch\ )?[A-ZÄÖÜ]
| {_C}(?:antworte|schreibe?|sprich)\ (?:mir\ |bitte\ |nur\ |noch\ )*auf\ [A-ZÄÖÜ][a-zäöüß]+{_END}
| {_C}(?:fasse?\ dich\ kurz|sei\ (?:kurz|knapp|förmlich|direkt))\b | {_C}(?:duze?|sieze?
  |nenne?)\ mich\b
| \bich\ bin\ (?:\w+\ )?(?:allergisch|Vegetarier\w*|Veganer\w*|vegan|Diabetiker\w*|Linkshänder\w*
  |Anfänger\w*|farbenblind|laktoseintolerant)\b
| \bich\ habe\ eine\ \w*(?:allergie|unverträglichkeit)\b | \bich\ hei(?:ß|ss)e\b
  | \bmein\ Name\ ist\b
| \bich\ (?:bevorzuge|hasse|hätte\ (?:gern|lieber)|mag\ (?:keine?n?|lieber)|esse\ keine?n?)\b
"""

_RUSSIAN_TO_DO = r"""(?:отвечай|пиши|используй|говори|объясняй|называй|зови|обращайся|делай
  |указывай|добавляй
|начинай|извиняйся|будь|приводи|показывай|избегай|ставь|применяй)(?:те)?(?:сь)?"""
_RUSSIAN = rf"""
(?:^|[,;:]\s*)(?:отныне|впредь|с\ этого\ момента|с\ сегодняшнего\ дня|в\ дальнейшем)\b
| {_C}(?:всегда|никогда|больше|теперь)\ (?:не\ )?{_RUSSIAN_TO_DO}\b
  | {_C}{_RUSSIAN_TO_DO}\b[^.]*\bвсегда\b
| {_C}не\ {_RUSSIAN_TO_DO}\ (?:эмодзи|смайл\w+|таблиц\w*|списк\w+)\b
| {_C}(?:отвечай|пиши|говори)(?:те)?\ (?:мне\ )?(?:только\ )?(?:на\ \w+(?:ом|\ языке)|по-\w+и
  |кратко){_END}
| {_C}(?:зови|называй)(?:те)?\ меня\b | \bменя\ зовут\b | \bмоё?е?\ имя\b
| \bу\ меня\ (?:\w+\ )?(?:аллергия|непереносимость|диабет)\b
| \bя\ (?:\w+\ )?(?:вегетариан\w+|веган\w*|аллергик\w*|диабетик\w*|новичок|левша|дальтоник\w*)\b
| \bя\ (?:предпочитаю|ненавижу|не\ ем|не\ пью)\b
"""

_CHINESE_TO_DO = r"""(?:用|使用|以|不要|不用|不许|别|別|勿|保持|先|给|給|回答|回复|回覆|写|寫|称呼
  |叫|只|把|请|請)"""
_CHINESE = rf"""
{_C}(?:从现在(?:起|开始)|從現在(?:起|開始)|从今(?:以后|往后|天起)|今后|今後|以后|以後
  |往后)[，,、]?(?:都|要|你|您|一律)*{_CHINESE_TO_DO}
| (?:{_C}|你|您)(?:以后|今后)?(?:始终|始終|总是|總是|永远|永遠|务必|務必|一律|每次|千万|千萬)(?:都
  |要)?{_CHINESE_TO_DO}
| (?:不要|别|別|勿)再?(?:使用|用|发|發|加|添加|写|寫)[^，。]{{0,4}}(?:表情|表格|列表|术语)
| {_C}(?:都|只)?(?:用|使用|以)(?:简体|繁体|簡體|繁體)?(?:中文|英文|[英法德日俄韩]语|西班牙语
  |阿拉伯语)(?:来)?(?:回答|回复|回覆|答复|交流)(?:我)?{_END}
| 我[对對][^，。]{{1,12}}[过過]敏 | 我是?(?:一[个名位]|个)?[^，。]{{0,4}}(?:素食者|素食主[义義]者
  |糖尿病|初学者|新手)
| 我(?:不吃|不喝|不能吃|吃素) | 我(?:叫(?!他|她|你|它)|的名字[是叫])
  | {_C}(?:以后|以後|今后|就|都|你|您|可以)*(?:叫我|称呼我|稱呼我)
  | 我(?:更喜[欢歡]|偏好|宁愿)
"""

_JAPANESE_PLEASE = r"""(?:ください|下さい|てくれ|ないで|すること|しないこと|てね|てほしい
  |お願いします?)[。！!]*$"""
_JAPANESE = rf"""
(?:これから|今後|以後|今から)(?:は|も|、)[^。]*(?:{_JAPANESE_PLEASE}|[てで][。！!]*$)
| (?:必ず|常に|いつも|毎回|絶対に?|決して|二度と|一切)[^。]*{_JAPANESE_PLEASE}
| (?:絵文字|顔文字|表|箇条書き|敬語|専門用語)(?:は|を)[^。]{{0,6}}(?:使わない|やめて
  |避けて)[^。]{{0,8}}[。]*$
| ^(?:日本語|英語|[^、。]{{1,6}}語)(?:だけ|のみ)?で(?:答え|回答し|返事し|返信し)て(?:ください|下さい
  |ね)?[。！!]*$
| (?:私|僕|俺|わたし)は[^。]{{0,15}}(?:アレルギー|ベジタリアン|ヴィーガン|菜食|糖尿病|初心者
  |左利き)
| アレルギーが(?:あり|ある) | (?:私|僕|俺|わたし)の名前は | と(?:申します|呼んでください) | (?:方
  |ほう)が好き(?:です|だ)?[。]*$
"""

_HINDI_PLEASE = r"""(?:दें|दो|दीजिए|दीजिये|करें|करो|कीजिए|कीजिये|रखें|रखो|लिखें|लिखो|बोलें|बोलो|बताएं|बताएँ|बताओ
  |करना|देना|लिखना|रखना|बोलना)[।.!\s]*$"""
_HINDI = rf"""
(?:^|\s)(?:अब\ से|आगे\ से|आज\ से|अब\ आगे)\s[^।]*{_HINDI_PLEASE} | (?:^|\s)(?:हमेशा|सदैव|सदा
  |हर\ बार)\s[^।]*{_HINDI_PLEASE}
| (?:^|\s)कभी(?:\ भी)?\s(?:[^।]*\s)?(?:न|ना|मत)\s[^।]*{_HINDI_PLEASE}
| ^(?:मुझे\ |कृपया\ |सिर्फ़\ |सिर्फ\ |केवल\ )*(?:हिंदी|हिन्दी|अंग्रेज़ी|अंग्रेजी|फ़्रेंच|फ्रेंच|जर्मन
  |स्पेनिश|रूसी|चीनी|जापानी|अरबी|उर्दू|बंगाली|मराठी)\ में\ (?:ही\ )?(?:जवाब|उत्तर)\ {_HINDI_PLEASE}
| मुझे\s[^।]*(?:एलर्जी|मधुमेह)\ है | (?:^|\s)मेरा\ नाम\s | मैं\ (?:एक\ )?(?:शाकाहारी|वीगन|शुरुआती)
| मैं\s[^।]*\ नहीं\ (?:खात[ाी]|पीत[ाी]) | मुझे\s[^।]*(?:ज़्यादा|ज्यादा|अधिक)\ पसंद
"""

# Without their short vowels and with one form of alef, see `_fold`.
_ARABIC_TO_DO = r"""(?:اجب|اجيبي|اكتب|استخدم|استعمل|رد|تحدث|تكلم|خاطبني|نادني|اشرح|اذكر|اجعل|اختصر
  |احرص|قدم|ابدا|كن|تجنب)"""
_ARABIC = rf"""
(?:^|[:،؛]\s*)(?:من\ الان(?:\ فصاعدا)?|ابتداء\ من\ الان|من\ اليوم\ فصاعدا|منذ\ الان|مستقبلا)
| {_C}{_ARABIC_TO_DO}\b[^.]*\bدائما\b | {_C}دائما\ {_ARABIC_TO_DO}\b
| {_C}لا\ ت\w+\ [^.]*(?:ابدا|مطلقا|بعد\ الان|بعد\ اليوم)\b
| {_C}لا\ (?:تستخدم|تستعمل|تضف|تكتب)\ (?:ال)?(?:رموز|ايموجي|جداول|قوائم)
| {_C}(?:اجب|رد|اكتب|تحدث)(?:ني)?\ (?:فقط\ )?(?:ب|باللغة\ )ال\w+(?:\ فقط)?{_END}
| \bانا\ (?:شخص\ )?(?:نباتي|نباتية|مبتدئ|مبتدئة|مصاب|مصابة|اعسر) | \b(?:لدي|عندي
  |اعاني\ من)\ حساسية\b
| (?:^|[:،؛]\s*)اسمي\b | {_C}نادني\b | \bلا\ (?:اكل|اشرب)\b | فضّل
"""


_SYNTAX = re.compile(r"\\.|\[(?:\\.|[^\]])+\]|[()|]", re.S)  # what is escaped, a class, a mark


def _compile(*rules: str) -> list[re.Pattern[str]]:
    """One pattern a language, in which a clause's beginning is looked for once and not by each
    alternative: four times as fast."""
    patterns = []
    for rule in rules:
        ways = _split_alternatives(rule)
        others = [way for way in ways if not way.startswith(_C)]
        if at_start := [way.removeprefix(_C) for way in ways if way.startswith(_C)]:
            others.append(f"{_C}(?:{'|'.join(at_start)})")
        patterns.append(re.compile(f"(?:{'|'.join(others)})", re.I | re.X | re.M))
    return patterns


def _split_alternatives(rule: str) -> list[str]:
    """The alternatives of a rule, those within groups and classes apart."""
    ways, depth, start = [], 0, 0
    for mark in _SYNTAX.finditer(rule):
        if mark[0] == "|" and not depth:
            ways.append(rule[start : mark.start()].strip())
            start = mark.end()
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
    return [*ways, rule[start:].strip()]


_LATIN_RULES = _compile(_ENGLISH, _SPANISH, _PORTUGUESE, _FRENCH, _GERMAN)
# Each way of wording it has a character that is not ASCII.
_OTHER_RULES = _compile(_RUSSIAN, _CHINESE, _JAPANESE, _HINDI, _ARABIC)
_QUESTION = re.compile(r"[?？؟]\s*$")
_POLITE = re.compile(r"^(?:can|could|would|will) you\b", re.I)  # an order in a question's form
_LAST_CLAUSE = re.compile(r"(?:^|[,;:，；：،؛–—])[^,;:，；：،؛–—]*$")
_ALEF = re.compile("[أإآٱ]")
_VOWELS = re.compile("[\u064b-\u0650\u0652\u0640]")  # not the doubling: it tells “I prefer” apart


def instructs(sentence: str) -> bool:
    """Whether a sentence on one line is worded like something that holds from then on."""
    if _ENGLISH_PREFERENCE.search(sentence):
        return True
    if _QUESTION.search(sentence) and not _POLITE.search(sentence):
        sentence = _LAST_CLAUSE.sub("", sentence)
    if sentence.isascii():
        return any(rule.search(sentence) for rule in _LATIN_RULES)
    sentence = _fold(sentence)
    return any(rule.search(sentence) for rule in (*_LATIN_RULES, *_OTHER_RULES))


def _fold(sentence: str) -> str:
    return _VOWELS.sub("", _ALEF.sub("ا", sentence))
