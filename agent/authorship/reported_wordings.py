"""How people report what others said, in the ten languages of `instruction_wordings`.

Words of languages that write spaces are looked up one by one; Chinese, Japanese, Hindi and Arabic,
whose verbs stand elsewhere, have patterns. All are in lower case.
"""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Verbs of saying, as they stand beside a quotation.
SAYING = _words(
    """
said says saying wrote writes written texted texts told tells replied replies answered answers
asked asks insisted insists demanded demands ordered orders shouted shouts sagt sagte sagten
gesagt meint meinte meinten schreibt schrieb schrieben geschrieben antwortet antwortete
antworteten fragt fragte fragten verlangt verlangte verlangten fordert forderte forderten dit
disait écrit écrivait répond répondu répondait demande affirme dice dijo escribe escribió responde
respondió pide pidió contesta contestó diz disse escreve escreveu respondeu pede pediu сказал
сказала сказали говорит писал писала писали написал написала написали пишет ответил ответила
ответили просил просила просили попросил попросила попросили просит
"""
)
# Finite verbs of saying and wanting. With a colon or a “that” they begin what their subject said.
VERBS = SAYING | _words(
    """
mailed mails emailed emails messaged messages posted posts announced announces stated states
claimed claims wants wanted requested requests instructed instructs warned warns reminded reminds
advised advises recommended recommends suggested suggests decided decides responded responds
whispered explained explains sent sends noted notes declared declares commented comments tweeted
thinks reads telling gemeint wollte möchte bittet gebeten teilt teilte mitgeteilt erklärt erklärte
geantwortet befahl befiehlt behauptet behauptete simst mailte mailt gemailt postete heißt kündigte
beschloss beschlossen warnte warnt rät riet besteht steht demandé demandait exige exigé exigeait
annonce annoncé affirmé ordonne ordonné veut voulait conseille conseillé explique expliqué envoyé
dicho dicen dijeron escrito pedido exigió quiere quería manda mandó ordena ordenó avisa avisó
insiste insistió anuncia anunció dito dizem disseram quer queria mandou ordenou avisou falou
exigiu insistiu anunciou говорят говорил говорила говорили пишут велел велела велели требует
требуют потребовал потребовала просят заявил заявила заявили хочет хотят приказал приказала
сообщил сообщила сообщили сказано написано говорится
"""
)
# Of these the form says that another than the user speaks, also without a subject.
OTHERS = _words(
    """
dice dijo dicen dijeron escribió pidió exigió mandó ordenó respondió insistió avisó disseram dizem
говорят пишут сказали велели просят требуют хотят
"""
)
# With these nothing need stand between them and what was said: “she told me always to knock”.
BARE = _words(
    """
said says told tells texted messaged wrote insists insisted demanded demands ordered announced
announces claims claimed wants wanted asked asks sagt sagte meint meinte bittet wollte
schrieb schreibt dit dice dijo diz disse сказал сказала сказали говорит говорят велел велела пишет
"""
)
# These are nouns too: “keep your answers short: …”.
NOUNS = _words(
    """
texts mails emails messages posts states claims demands orders requests reminds replies answers
notes comments tweets reads
"""
)
PRONOUNS = _words("he she it they who somebody someone everybody everyone")
# Before a noun.
DETERMINERS = _words(
    """
the a an my your our his her their its this that these those all any some no every
der die das den dem ein eine einen mein meine meinen dein deine unser unsere sein seine
mon ma mes ton ta tes notre nos votre vos son sa ses un une des
el los las una unos mi mis tu tus su sus nuestro nuestra
os as um uma meu minha teu tua seu sua nosso nossa
мой моя моё мое мои твой твоя наш наша
"""
)
# These only with the subject of a third person, which they share with the user's.
PLURAL_VERBS = _words("say tell write want insist require ask expect demand sagen schreiben wollen")
PLURAL = _words("they people parents doctors teachers experts everyone sie alle leute ärzte eltern")

# Who speaks where it is the user: then what follows is theirs.
USER = _words("i ive id im we weve wed ich wir je j nous yo nosotros nosotras eu nós я мы")
# What stands between a subject and its verb.
BETWEEN = _words(
    """
have has had ve d just already also always again now then today yesterday really clearly once often
still only even simply recently explicitly keep keeps kept
habe hab hat haben hatte hatten hast schon bereits auch immer wieder noch gerade heute gestern nicht
nur doch mir dir uns ihm ihnen euch mich dich eben ja einmal mal ausdrücklich es das
ai a as avons avez ont avait avais déjà aussi toujours hier encore bien me m te t lui vous le l
han ha había ya también siempre ayer hoy se lo les
já também sempre ontem hoje tenho tem lhe
уже тоже всегда снова вчера сегодня мне тебе вам ему ей нам же ведь
"""
)
# Before a verb without a subject: the user tells what they said.
NO_SUBJECT = _words("as like what when wie was comme como cómo qué как что let hiermit")
# Behind a verb that has no subject before it.
SUBJECT_BEHIND = _words(
    "mein meine unser unsere der die er sie man sein seine dein deine mon ma mes il elle mi el "
    "ella meu minha ele ela мой моя наш он она они"
)
TO_USER = _words("me m us mir uns mich nous nos мне нам")
TOLD = _words(
    "told asked instructed ordered advised warned reminded gesagt gebeten dit dicho dito demandé"
)
PASSIVE = _words("was were been am being got wurde wurden worden été")
# After the user's “he” in Spanish: “te he dicho”.
PARTICIPLES = _words("dicho escrito pedido")

# What may stand between a verb and its “that”, as a number of words.
THAT = re.compile(
    r"\W{0,3}(?:[\w'’-]+\W{1,2}){0,4}?"
    r"(?:that|to|dass|daß|soll\w*|que|qu['’]|de|d['’]|para|что|чтобы)(?!\w)",
    re.I,
)
# From here on the user speaks again: “…, so always be formal”.
BACK = re.compile(
    r"[,;，；、]\s*(?:so|but|therefore|thus|hence|deshalb|daher|also|aber|donc|mais|así que|pero"
    r"|por eso|então|por isso|mas|поэтому|но|所以|但|因此|इसलिए|लेकिन|لذلك|لكن)(?!\w)",
    re.I,
)
# Between a verb and a colon: what was said stands there already, “she says it is too long: …”.
TOLD_ALREADY = re.compile(
    r"\b(?:it['’]?s|is|are|was|were|ist|sind|war|est|sont|está|é|são|это)\b", re.I
)
# What is said of the user's health is the user's, whoever said it.
HEALTH = re.compile(
    r"all?erg|аллерг|過敏|过敏|アレルギー|एलर्जी|حساسي|diab[eé]t|диабет|糖尿|मधुमेह|سكري|intoler"
    r"|unverträg|непереносим|cel[ií]a[ck]|c[oœ]e?lia|zöliak|целиак",
    re.I,
)

_NOT_ME = r"(?!me\b|mine\b|us\b|mir\b|uns\b|moi\b|nous\b|mí\b|mim\b)"
_NOT_WO = (
    r"(?<!我)(?<!我们)(?<!我刚才)(?<!我已经)(?<!我之前)(?<!我早就)(?<!我再)(?<!我也)(?<!我都)"
    r"(?<!我跟你)(?<!我对你)"
)
# Sayings of which the words follow, in languages with letters beyond ASCII and in the others.
FOLLOWED_OTHERS = [
    re.compile(pattern, re.I)
    for pattern in (
        # Chinese: somebody, and a verb.
        rf"(?:^|(?<=[，。！？；、\s]))(?:(?!我)[^，。！？；：:、\s]){{1,12}}{_NOT_WO}"
        r"(?:[说說](?![明法])|讲道|[写寫][道着著]|发来|發來|发消息|发短信|留言|告[诉訴]|通知|表示"
        r"|要求|[规規]定|吩咐"
        r"|命令|[让讓]|叫(?!做)|要(?=我)|提醒|建[议議])(?:我[们們]?|大家)?了?",
        r"我[们們]?的?(?:老板|老闆|妈|媽|爸|母|父|老师|老師|同事|同学|同學|朋友|男友|女友|房东|房東|医生|醫生|经理|經理"
        r"|上司|领导|領導|主管|客户|客戶|老婆|老公|妻子|丈夫|女儿|女兒|儿子|兒子|哥|姐|弟|妹|邻居|鄰居|导师|導師|教练|教練"
        r"|律师|律師|室友|奶奶|爷爷|爺爺)[^，。！？；：:、\s我]{0,8}(?:[说說写寫]|发来|發來|发消息|發消息|要求|让|讓)",
        r"[据據听聽][^，。\n]{0,8}[说說称]",
        r"[^，。！？\n我]{1,10}的(?:消息|[邮郵]件|短信|来信|原[话話]|要求|通知"
        r"|便条)[^，。\n：:]{0,4}(?=[：:])",
        # Japanese: what somebody sent or said, as a noun.
        r"[^、。\n私僕俺]{1,12}(?:からの|の)(?:メール|伝言|指示|発言|メッセージ|手紙|言葉"
        r"|連絡)[^。\n：:]{0,6}(?=[：:])",
        r"[^、。\n私僕俺]{1,12}(?:曰く|いわく|によると|によれば)",
        # Hindi: who did it, with its ending, and a verb.
        r"(?:^|(?<=[\s।,]))(?!मैंने|हमने)\S{1,20}(?:\s\S{1,20}){0,3}(?:\sने"
        r"|(?<=स)ने)\s(?:\S{1,20}\s){0,3}?"
        r"(?:कहा|बोला|बोली|लिखा|बताया|भेजा)",
        r"(?:^|(?<=[\s।,]))(?!मैं\s|हम\s)\S{1,20}(?:\s\S{1,20}){0,4}?\s"
        r"(?:कहत|लिखत|चाहत)[ेीा]\s(?:हैं|है|थे|था|थी)",
        r"\sपर\s(?:यह\s|ये\s)?लिखा\s(?:है|था|हुआ\sहै)(?=:)",
        r"(?:मुझे|मुझसे|हमें)\s(?:बताया|कहा)\sगया",
        r"[^\s।]{1,20}\s(?:का|की)\s(?:संदेश|मैसेज|ईमेल|पत्र|मेल)[^:।\n]{0,20}(?=:)",
        r"[^\s।]{1,20}(?:\s[^\s।]{1,20}){0,3}\sके\s(?:अनुसार|मुताबिक)",
        # Arabic: the verb comes first and shows who speaks.
        r"(?<!\w)[وف]?(?:قال|قالت|قالوا|يقول|تقول|يقولون|كتب|كتبوا|يكتب|[أا]خبرني|[أا]خبرتني"
        r"|[أا]خبرنا"
        r"|[أا]رسل|[أا]رسلت|طلب|طلبت|يطلب|[أا]مرني|[أا]مرنا|يريد|تريد|[أا]بلغني|[أا]بلغنا"
        r"|قيل)(?!\w)(?!\s(?:منك|لك|إليك|اليك))",
        r"(?<!\w)(?:رسالة|بريد|إشعار|ملاحظة)\sمن\s(?!ني)[^:.؟!\n]{1,60}(?=:)",
        r"(?<!\w)(?:وفق[اً]{0,2}|حسب)\s\S{1,20}(?:\s\S{1,20}){0,3}?(?=،)",
    )
]
FOLLOWED = [
    re.compile(pattern, re.I)
    for pattern in (
        # German: what somebody wants.
        r"(?<!\w)(?!ich\b|wir\b)\w{1,30}\swill,?\s(?=dass\b)",
        r"(?<!\w)bat(?:en)?\s(?:mich|uns)(?!\w)",
        # A thing that says it.
        r"(?<!\w)(?:e-?mails?|mails?|texts?|sms|messages?|letters?|memos?|notices?|signs?|posters?"
        rf"|posts?|tweets?|voicemails?|quotes?|excerpts?|slack|whatsapp|telegram|dms?|notes?|rules?|polic(?:y|ies))\s(?:from|by|of|on|at"
        rf"|in)\s{_NOT_ME}[^:.!?\n]{{1,60}}(?=:)",
        r"(?<!\w)(?:got|received|saw|found|read)\s(?:\w{1,20}\s){0,3}?"
        r"(?:e-?mail|mail|text|sms|message|letter|memo|notice|sign|note)(?!\w)[^:.!?\n]{0,60}(?=:)",
        r"(?<!\w)(?:he|she|they)(?:['’]s|\s(?:was|were|is|are))?\s(?:all\s|just\s)?(?:like|goes"
        r"|went)(?:\slike)?(?=,|:)",
        r"(?<!\w)(?!ich\b|wir\b)\w{1,30}\sso(?=:)",
        # A conversation that is copied: somebody, and then the user.
        r"(?:^|(?<=\n))(?!(?:me|ich|yo|eu|moi|я|我|私|मैं|أنا|user|human)\b)[^\W\d_]{2,20}(?=[:：]"
        r"[^\n]{1,400}(?:\s|。)(?:me|ich|yo|eu|moi|я|我|私|मैं|أنا)[:：])",
        r"(?<!\w)(?:his|her|their|my\s\w{1,20}['’]s)\s(?:\w{1,20}\s)?(?:e-?mail|text|message|answer"
        r"|reply|letter|note|words|request|instructions?|rules?)[^:.!?\n]{0,40}(?=:)",
        rf"(?<!\w)(?:e-?mail|mail|slack|whatsapp|zitat|nachricht|brief|sms|zettel|schild|aushang|ansage"
        rf"|anweisung)\s{_NOT_ME}"
        r"(?:von|vom|meiner|meines|des|der|am|an|im)\s[^:.!?\n]{1,60}(?=:)",
        r"(?<!\w)(?:von|vom)\s[^:.!?\n]{1,40}\skam\s[^:.!?\n]{1,40}(?=:)",
        r"(?<!\w)(?:message|mail|courriel|sms|whatsapp|slack|citation|mot|lettre|note|panneau|consigne)\s(?:de|du|d['’])\s?"
        rf"{_NOT_ME}[^:.!?\n]{{1,60}}(?=:)",
        r"(?<!\w)(?:mensaje|correo|whatsapp|slack|cita|citação|nota|carta|cartel|mensagem|e-?mail|bilhete|recado)\s"
        rf"(?:de|del|do|da)\s{_NOT_ME}[^:.!?\n]{{1,60}}(?=:)",
        r"(?<!\w)(?:сообщение|письмо|смс|записка"
        r"|объявление)\s(?:от\s)?(?!меня)[^:.!?\n]{1,60}(?=:)",
        # According to somebody.
        r"(?<!\w)(?:according to|laut|selon|d['’]après|según|segundo|de acordo com|по словам"
        rf"|согласно)\s{_NOT_ME}[^,.:!?\n]{{1,40}}",
    )
]
# Sayings behind what was said, to the sentence's end.
PRECEDED = [
    re.compile(pattern, re.I)
    for pattern in (
        r"(?:と|って)、?(?:[^、。！？\n]{1,8}[がはに])?(?:言(?:っ(?!た[と通よ])|い|わ)|話し"
        r"|書(?:い|か)|伝え|命じ|指示|頼(?:ん|ま)"
        r"|要求|主張|連絡|おっしゃ|仰|怒)",
        r"よう(?:に)?(?:言われ|指示され|頼まれ|命じられ)",
        r",\s(?:(?:my|our|his|her|their|the)\s\w{1,20}(?:\s\w{1,20})?|he|she|they"
        r"|(?-i:[A-Z])\w{1,20})\s"
        r"(?:just\s|always\s)?(?:says|said|told\s(?:me|us)|writes|wrote|texted|insists|claims)\b",
        r",\s(?:says|said|writes|wrote)\s(?!I\b)\w",
        r",\s(?:sagt|sagte|meint|meinte|schreibt|schrieb)\s(?!ich\b|wir\b)\w",
        r",\s(?:m['’]a\sdit|dit|a\sdit|écrit)\s(?:mon|ma|mes|le|la|il|elle)\b",
        r",\s(?:me\s)?(?:dice|dijo|diz|disse)\s(?:mi|el|la|meu|minha|o|a)\b",
        r",\s(?:сказал|сказала|говорит|пишет)\s(?!я\b)\w",
        r",\s(?:ऐसा\s)?(?!मैंने)[^\s।]{1,20}(?:\s[^\s।]{1,20}){0,3}(?:\sने|(?<=स)ने)\s(?:कहा|लिखा)",
    )
]
# Somebody's words between “quote” and “unquote”, as they are dictated.
DICTATED = re.compile(
    r"\b(?:quote|zitat|je cite|cito|abro comillas|abr[eo] aspas|цитирую|начало цитаты)\b[:,]?"
    r"((?:(?!\n\n).){1,2000}?)"
    r"\b(?:unquote|end (?:of )?quote|close quote|zitat ?ende|ende (?:des )?zitats?"
    r"|fin de (?:la )?cita(?:tion)?|cierro comillas|fech[ao] aspas|fim d[ae] citação"
    r"|конец цитаты)\b"
    r"|(?:引述|引用|原[话話])[:：，,]?([^\n]{1,2000}?)(?:引述完|引用完|引用[结結]束|完[毕畢]"
    r"|引用終わり|引用ここまで)"
    r"|उद्धरण[:,]?([^\n]{1,2000}?)उद्धरण समाप्त"
    r"|اقتباس[:،]?([^\n]{1,2000}?)(?:انتهى الاقتباس|نهاية الاقتباس)",
    re.I | re.S,
)
