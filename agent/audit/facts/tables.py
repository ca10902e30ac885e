"""Words for numbers, units, currencies, months and denial in the ten most written languages.

English, German, French, Spanish, Portuguese, Russian, Arabic, Hindi, Chinese and Japanese. Other
languages have what needs no words: figures, symbols, codes. All words are in lower case.
"""

import re

from agent.audit.facts.words import clean


def _split(words: str) -> list[str]:
    return words.split()


def _read(table: str) -> dict[str, str]:
    """Lines of a name and the words for it, as a name for each word."""
    rows = (line.split() for line in clean(table).strip().splitlines())
    return {word: name for name, *words in rows for word in [name.lower(), *words]}


# An underscore stands for a space. ¥ may be yen or yuan; both are read.
CURRENCIES = _read("""
USD $ us$ dollar dollars dólares dólar us_dollar us_dollars доллар доллара
USD долларов دولار دولارا دولارًا دولارات डॉलर 美元 美金 ドル 米ドル
EUR € euro euros евро يورو यूरो 欧元 歐元 ユーロ
GBP £ pound pounds sterling libra libras livre livres фунт фунта фунтов पाउंड 英镑 英鎊 ポンド
CNY 元 块 块钱 人民币 rmb yuan 元人民币 人民元
JPY 円 日元 日圓 yen
INR ₹ rs rupee rupees रुपये रुपए रुपया रु
RUB ₽ руб рубль рубля рублей rouble roubles ruble rubles rubel roubles rublos
BRL r$ real reais
CHF fr franken francs francs_suisses francos франков 瑞士法郎
KRW ₩ 원 won 韩元 ウォン
PLN zł złoty złotych zloty zlotys злотый злотых
TRY ₺ lira liras лир ليرة
AED درهم درهما درهمًا دراهم dirham dirhams dírhams дирхам дирхамов
SAR ريال ريالا ريالًا ريالات riyal riyals риалов
EGP جنيه جنيها جنيهًا جنيهات
DINAR دينار دينارا دينارًا دنانير dinar dinars динаров
KR kr krone kronen kroner krona kronor couronnes coronas coroas крон sek nok dkk
CZK kč korun
UAH ₴ гривна гривны гривен
KZT ₸ tenge тенге
RON lei leu лей
HUF forint forints форинтов
MXN peso pesos
HKD 港元 港币 港幣 香港ドル
TWD 台币 新台币 台幣
CAD ca$
AUD a$
THB ฿ baht 泰铢 バーツ
VND ₫
ILS ₪ shekel shekels шекелей شيكل
NGN ₦ naira
ZAR rand
""")

# A unit of time in seconds or months, one of length in metres, and so on; what it is multiplied by.
_UNITS = """
s 1 s sec secs second seconds sekunde sekunden seconde secondes segundo segundos секунда секунды
s 1 секунд ثانية ثوان ثواني सेकंड 秒 秒間 秒钟
s 0.001 ms millisecond milliseconds millisekunden millisecondes
s 0.001 milisegundos мс миллисекунд 毫秒 ミリ秒
s 60 min mins minute minutes minuten minuto minutos минута
s 60 минуты минут мин دقيقة دقائق मिनट 分钟 分鐘 分間 分
s 3600 h hr hrs hour hours std stunde stunden heure heures hora horas час часа часов ساعة ساعات
s 3600 घंटे घंटा घंटों 小时 小時 个小时 個小時 个钟头 時間 时间
s 86400 сутки суток day days tag tage tagen jour jours día días dia
s 86400 dias день дня дней يوم يوما يومًا أيام ايام दिन
s 86400 दिनों 天 日間 日
s 604800 week weeks woche wochen semaine semaines semana semanas неделя недели недель неделю أسبوع
s 604800 أسبوعا أسبوعًا أسابيع हफ़्ते हफ़्ता हफ्ते हफ्ता हफ़्तों सप्ताह 周 星期 个星期 週 週間 周间
s 1209600 fortnight fortnights
month 1 month months monat monate monaten mois mes meses
month 1 mês месяц месяца месяцев شهر شهرا شهرًا أشهر شهور
month 1 महीने महीना महीनों माह 个月 個月 か月 ヶ月 カ月 ヵ月
month 12 year years jahr jahre jahren an ans année années
month 12 año años ano anos год года лет سنة سنوات عام
month 12 أعوام عاما عامًا साल वर्ष वर्षों 年 年间 年間
% 1 % percent prozent pourcent процент процента
% 1 процентов प्रतिशत パーセント بالمئة بالمائة في_المئة per_cent
% 1 pour_cent por_ciento por_cento
m 0.001 mm millimeter millimetres millimeters millimètres milímetros мм
m 0.001 миллиметр миллиметра миллиметров ملم مليمتر مليمترا मिमी मिलीमीटर 毫米 ミリメートル
m 0.01 cm zentimeter centimetres centimeters centimètres centímetros см
m 0.01 сантиметр сантиметра сантиметров سم سنتيمتر سنتيمترا سنتيمترات सेमी सेंटीमीटर
m 0.01 厘米 公分 センチ センチメートル
m 1 m meter metre meters metres mètres metros метров метра м متر مترا أمتار मीटर 米 メートル
m 1000 km kilometer kilometers kilometre kilometres kilomètres kilómetros quilômetros км километров
m 1000 كم كلم كيلومتر كيلومترا كيلومترات किलोमीटर किमी 公里 千米 キロメートル
mile 1 mi mile miles meile meilen mille milles milla millas milha milhas миля мили миль ميل
mile 1 أميال मील 英里 マイル
g 0.000001 µg μg mcg microgram micrograms mikrogramm microgramme microgrammes microgramos
g 0.000001 microgramas мкг микрограмм микрограммов ميكروغرام माइक्रोग्राम 微克 マイクログラム
g 0.001 mg milligram milligrams milligramm milligrammes miligramos miligramas мг ملغ ملغم ملليغرام
g 0.001 मिलीग्राम 毫克 ミリグラム
g 1 g gram grams gramm gramme grammes gramo gramos grama gramas г грамм грамма граммов 克 グラム
g 1 غ غم غرام غراما غرامًا غرامات جرام جراما جرامات ग्राम
g 1000 كغ كغم كلغ كجم كيلو كيلوغراما كيلوغرامات كيلوجرام किग्रा किलोग्राम килограмма килограммов
g 1000 kg kilo kilos kilogram kilograms kilogramm kilogrammes
g 1000 kilogramos кг килограмм كيلوغرام किलो 公斤 千克 キロ
g 1000000 t ton tons tonne tonnes tonnen toneladas тонн 吨 トン
m 0.3048 ft foot feet fuß pied pieds pie pies фут фута футов قدم फ़ुट फुट 英尺 フィート
m 0.0254 inch inches zoll pouce pouces pulgadas polegadas дюйм дюйма дюймов بوصة इंच 英寸 インチ
m 0.9144 yard yards yarda yardas jarda jardas ярдов 码 ヤード
m2 1 m2 qm sqm square_metre square_metres square_meter square_meters quadratmeter quadratmetern
m2 1 mètre_carré mètres_carrés metro_cuadrado metros_cuadrados metro_quadrado metros_quadrados
m2 1 квадратный_метр квадратных_метра квадратных_метров кв_м متر_مربع مترا_مربعا مترًا_مربعًا
m2 1 أمتار_مربعة वर्ग_मीटर 平方米 平方公尺 平米 平方メートル
m2 1000000 km2 square_kilometre square_kilometres square_kilometer square_kilometers
m2 1000000 quadratkilometer kilomètres_carrés kilómetros_cuadrados quilômetros_quadrados
m2 1000000 квадратных_километра квадратных_километров كيلومتر_مربع वर्ग_किलोमीटर 平方公里 平方千米
m2 1000000 平方キロメートル 平方キロ
m2 10000 ha hectare hectares hektar hectárea hectáreas гектар гектара гектаров هكتار هكتارا
m2 10000 هكتارًا हेक्टेयर 公顷 公頃 ヘクタール
m2 4046.86 acre acres акр акра акров एकड़ 英亩 エーカー
m2 0.092903 sqft square_foot square_feet वर्ग_फुट वर्ग_फ़ुट 平方英尺 平方フィート
m3 1 m3 cubic_metre cubic_metres cubic_meters kubikmeter mètres_cubes metros_cúbicos 立方米
g 453.592 lb lbs pound pounds livre livres libra libras фунт фунта фунтов رطل पाउंड 磅 ポンド
g 500 pfund 斤
g 28.3495 oz ounce ounces unze unzen once onces onza onzas унция унции унций 盎司 オンス
l 3.78541 gallon gallons gallone gallonen galón galones galão galões галлон галлона галлонов
l 3.78541 غالون गैलन 加仑 ガロン
l 1 l liter litre liters litres litros литров 升 リットル
l 0.1 dl
l 0.01 cl
l 0.001 ml milliliter millilitre millilitres millilitros мл مل मिली मिलीलीटर 毫升 ミリリットル
l 1 لتر لترا لترًا लीटर 公升 литра
w 0.001 mw milliwatt
w 1 w watt watts vatios ватт واط वाट 瓦 瓦特 ワット
w 1000 kw kilowatt kilowatts kilovatios квт киловатт كيلوواط किलोवाट 千瓦 キロワット
w 1000000 megawatt megawatts мвт
wh 1 wh
wh 1000 kwh квтч
amp 1 amp amps ampere amperes amperios ampères ампер أمبير एम्पियर 安培 アンペア
bar 0.001 mbar millibar
bar 1 bar bars бар
hz 1 hz hertz гц
hz 1000 khz кгц
hz 1000000 mhz мгц
hz 1000000000 ghz ггц
v 1 v volt volts voltios вольт
v 1000 kv
kcal 1 kcal kilocalories ккал
kcal 0.239 kj
b 1 bytes byte
b 1000 kb ko кб
b 1000000 mb mo мб
b 1000000000 gb go гб
b 1000000000000 tb to тб
b 1024 kib
b 1048576 mib
b 1073741824 gib
°c 1 °c 摄氏度
°f 1 °f
px 1 px pixel pixels
mph 1 mph
kmh 1 km/h kmh км/ч
token 1 token tokens
"""
UNITS: dict[str, tuple[str, float]] = {}
for _line in clean(_UNITS).strip().splitlines():
    _unit, _factor, *_words = _line.split()
    UNITS.update({word.replace("_", " "): (_unit, float(_factor)) for word in _words})
CURRENCIES = {word.replace("_", " "): code for word, code in CURRENCIES.items()}
# Before a unit, in Latin, Cyrillic and Arabic letters.
PREFIXES = {
    prefix: factor
    for factor, words in {
        1e-6: "micro mikro микро",
        1e-3: "milli mili милли ملي مللي ميلي",
        1e-2: "centi centí zenti санти سنتي",
        1e-1: "deci decí dezi déci деци",
        1e2: "hecto hectó hekto гекто",
        1e3: "kilo kiló quilo quiló кило كيلو",
        1e6: "mega méga мега",
        1e9: "giga гига",
    }.items()
    for prefix in words.split()
}
# A unit in a form that says "two of it".
DUALS = dict.fromkeys(_split("أسبوعين أسبوعان"), "أسبوع") | {
    "يومين": "يوم", "يومان": "يوم", "شهرين": "شهر", "شهران": "شهر", "سنتين": "سنة",
    "سنتان": "سنة", "عامين": "عام", "عامان": "عام", "ساعتين": "ساعة", "ساعتان": "ساعة",
}  # fmt: skip

SCALES = {
    word: scale
    for scale, words in {
        100.0: "hundred hundert cent cents cien ciento cem cento сто مئة مائة सौ",
        1e3: "k thousand tausend mille mil тысяча тысячи тысяч тыс ألف آلاف हज़ार हजार 千",
        1e4: "万 萬",
        1e5: "lakh lakhs लाख",
        1e6: "million millions millionen mio mln millón millones milhão milhões миллион миллиона "
        "миллионов млн مليون ملايين 百万",
        1e7: "crore crores करोड़",
        1e8: "億 亿",
        1e9: "billion billions bn milliarden milliarde mrd milliard milliards миллиард миллиарда "
        "миллиардов млрд مليار",
    }.items()
    for word in clean(words).split()
}

# From 2 on: the word for one is often an article, and means a number before a unit only.
_FROM_TWO = """
two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen \
seventeen eighteen nineteen twenty
zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn \
siebzehn achtzehn neunzehn zwanzig
deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept \
dix-huit dix-neuf vingt
dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis \
diecisiete dieciocho diecinueve veinte
dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete \
dezoito dezenove vinte
два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать \
четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать двадцать
اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة
اثنين ثلاث أربع خمس ست سبع ثماني تسع عشر
दो तीन चार पाँच छह सात आठ नौ दस ग्यारह बारह तेरह चौदह पंद्रह सोलह सत्रह अठारह उन्नीस बीस
"""
_TENS = """
thirty forty fifty sixty seventy eighty ninety
dreißig vierzig fünfzig sechzig siebzig achtzig neunzig
trente quarante cinquante soixante septante quatre-vingt nonante
treinta cuarenta cincuenta sesenta setenta ochenta noventa
trinta quarenta cinquenta sessenta setenta oitenta noventa
тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто
ثلاثون أربعون خمسون ستون سبعون ثمانون تسعون
ثلاثين أربعين خمسين ستين سبعين ثمانين تسعين
तीस चालीस पचास साठ सत्तर अस्सी नब्बे
"""
NUMBERS: dict[str, float] = {}
for _line in clean(_FROM_TWO).strip().splitlines():
    NUMBERS.update({word: n for n, word in enumerate(_line.split(), 2)})
for _line in clean(_TENS).strip().splitlines():
    NUMBERS.update({word: 10 * n for n, word in enumerate(_line.split(), 3)})
for _line in ("двое трое четверо пятеро шестеро семеро", "двух трёх четырёх пяти шести семи"):
    NUMBERS.update({word: n for n, word in enumerate(_line.split(), 2)})
NUMBERS |= {"duas": 2, "две": 2, "पांच": 5, "छः": 6, "عشرون": 20, "عشرين": 20}
NUMBERS |= {"двести": 200, "триста": 300, "doscientos": 200, "trescientos": 300, "quinientos": 500}
NUMBERS |= {"duzentos": 200, "trezentos": 300, "quinhentos": 500, "पच्चीस": 25, "пятьсот": 500}
NUMBERS |= {"anderthalb": 1.5, "eineinhalb": 1.5, "zweieinhalb": 2.5, "dreieinhalb": 3.5}
NUMBERS |= {"полтора": 1.5, "полторы": 1.5, clean("डेढ़"): 1.5, "ढाई": 2.5}
NUMBERS |= {clean("साढ़े"): 0.5, "सवा": 0.25, "पौने": -0.25}  # before another number
# Nouns for a number of things, of which there may be half.
COLLECTIVE = {
    word: amount
    for amount, words in {
        10.0: "dizaine decena dezena десяток десятка",
        12.0: "dozen douzaine dutzend docena dúzia дюжина дюжину дюжины दर्जन",
        15.0: "quinzaine quincena",
        20.0: "vingtaine veintena",
        30.0: "trentaine treintena",
        40.0: "quarantaine",
        50.0: "cinquantaine",
        100.0: "centaine centenar centena сотня сотню",
    }.items()
    for word in words.split()
}
NUMBERS |= COLLECTIVE
_ONES = _split("ein zwei drei vier fünf sechs sieben acht neun")
_GERMAN_TENS = _split("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
for _n, _word in enumerate(_ONES, 1):
    NUMBERS |= {f"{_word}und{tens}": _n + NUMBERS[tens] for tens in _GERMAN_TENS}
    NUMBERS |= {f"{_word}hundert": 100 * _n, f"{_word}tausend": 1_000 * _n}
NUMBERS |= {f"veinti{_word}": 20 + _n for _n, _word in enumerate(_split("uno dós trés cuatro"), 1)}
ARTICLES = frozenset(
    _split("one a an ein eine einen einem einer un une uno una um uma один одна одну одного एक")
)
CONNECTORS = frozenset(_split("and und et y e и و"))
CJK_DIGITS = {c: n for n, c in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
CJK_SCALES = {
    "十": 10,
    "百": 100,
    "千": 1_000,
    "万": 10_000,
    "萬": 10_000,
    "億": 10**8,
    "亿": 10**8,
}
# Of Chinese and Japanese, between a number and what it counts.
MEASURES = frozenset("个個遍次件条條张張名位台只隻家份种種项項页頁行块塊杯瓶人回冊枚匹章层層套段颗")

_MONTHS = """
january february march april may june july august september october november december
jan feb mar apr may jun jul aug sep oct nov dec
januar februar märz april mai juni juli august september oktober november dezember
jänner feb mrz apr mai jun jul aug sept okt nov dez
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
janv févr mars avr mai juin juil août sept oct nov déc
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
ene feb mar abr may jun jul ago set oct nov dic
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
jan fev mar abr mai jun jul ago set out nov dez
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
янв фев мар апр мая июн июл авг сен окт ноя дек
يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر
जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर
जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितम्बर अक्तूबर नवम्बर दिसम्बर
"""
MONTHS = {
    word: n
    for line in clean(_MONTHS).strip().splitlines()
    for n, word in enumerate(line.split(), 1)
}

# Portuguese has "no" for "in the", and "dos" for "of the".
PORTUGUESE = re.compile(r"[ãõçêâô]|\b(?:em|do|da|das|para o|é)\b", re.I)
_DENIALS = """
not never none no without cannot neither nor nobody nothing
nicht kein keine keinen keinem keiner keines nie niemals ohne weder niemand nichts
ne pas jamais aucun aucune sans rien ni
nunca jamás sin ningún ninguna ninguno nadie nada tampoco
não jamais sem nenhum nenhuma ninguém nem
не нет никогда без ни нельзя никто ничего
لا لم لن ليس ليست ليسوا بدون بلا ولا ولم ولن وليس وليست فلا
नहीं मत बिना न
"""
DENIALS = frozenset(_DENIALS.split())
# Which deny, but for a “not” beside them.
DENYING_VERBS = re.compile(
    r"\b(?:deci\w+|chose|opted|voted) against\b|\bgegen\b[^.]{0,60}\bentschied\w*|\bentschied\w*"
    r"[^.]{0,30}\bgegen\b|\bverzicht\w+|\brenonc\w+|\brenunci\w+|反対し"
)
DENYING = re.compile(
    r"n['’]t\b|不(?!过|過|仅|僅|同(?!意)|但|断|斷)|没|沒|未(?!来|來)|无(?!论)|勿|别(?!的|人)"
    r"|ない(?!し)|なく(?:て|な|、)|なかっ|ません|ずに"
)
# What is not without something has it.
_WITHOUT = "without|ohne|sans|sin|sem|без"
# "no" as the Spanish say it: the Portuguese have it for "in the".
_NOT = (
    r"\b(?:not|cannot|never|\w+n['’]t|nicht|kein\w*|nie|pas|jamais|nunca|não|не|нельзя"
    r"|no(?= (?:se|l[aeo]s?|hay|es|está|ha|han|pued\w+)\b))"
)
# "Must" in Japanese is a double negative, and "perhaps" is one only in form. "Not only" affirms,
# and so does "do not forget to".
NOT_DENYING = re.compile(
    r"なければな(?:らない|りません)|かもしれ(?:ない|ません)|しかない|だけで(?:は)?なく|忘れ(?:ないで|ずに)"
    r"|不[仅僅只光]|(?:别|不要)忘"
    r"|\bnot (?:just|only|merely|(?:too |so )?long ago|to mention)\b"
    r"|\bno (?:doubt|problem|worries)\b"
    r"|\b(?:don['’]t|do not) forget\b|\bnicht (?:nur|zuletzt|vergessen)\b|\bvergiss nicht\b"
    r"|\b(?:plus|moins|mieux)\b[^.]{0,60}?\bqu(?:e|['’]\w+) (?:\w+ ){0,3}n(?:e\b|['’])"
    rf"|\b(?:{_WITHOUT})\b[^.,;:]{{1,60}}?(?:{_NOT})\b|(?:{_NOT})\b[^.,;:]{{1,60}}?\b(?:{_WITHOUT})\b"
    r"|\bnon seulement\b|\bpas seulement\b|\bn['’]oubli\w+ pas\b"
    r"|\bno (?:solo|sólo|solamente|olvid\w+)\b|\bnão (?:só|apenas|somente|esque\w+)\b"
    r"|\bне (?:только|забу\w+)\b|ليس فقط|لا تنس|न (?:केवल|सिर्फ़|सिर्फ)|मत भूल",
    re.I,
)
