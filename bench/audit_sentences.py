"""What `bench.audit` says in nine languages: sentences of a conversation, and bullets about them.

English comes from the data. A language's `SAID` are four messages; `TRUE` restates each in another
form, `DENIED` says the opposite of it. The slots are filled by `bench.audit`.
"""

from dataclasses import dataclass
from typing import NamedTuple


class Four(NamedTuple):
    """A sentence for each of the four subjects: a person, a price, a number in words, a span."""

    person: str
    price: str
    need: str
    span: str


@dataclass(frozen=True, slots=True)
class Language:
    """`months` are March, November and December; `words` the numbers from two to seven; `date` and
    `money` are as a message has them, `digits` the numerals."""

    said: Four
    true: Four
    denied: Four
    names: tuple[str, ...]
    cities: tuple[str, ...]
    months: tuple[str, str, str]
    words: tuple[str, ...]
    date: str
    money: str
    code: str
    days: tuple[str, str]  # weeks in `true.span`, and days
    thousands: str = "."
    digits: str = "0123456789"


LANGUAGES = {
    "de": Language(
        Four(
            "{name} übernimmt am {date} die Einführung des neuen Lagers.",
            "Das Budget für die Halle am Hafen beträgt {money}.",
            "Wir brauchen {word} Wochen für die Prüfung in {city}.",
            "Der Kurs für die Fahrer läuft vom {date} bis {end}.",
        ),
        Four(
            "Die Einführung des neuen Lagers übernimmt {name} am {iso}",
            "Budget für die Halle am Hafen: {amount} {code}",
            "Für die Prüfung in {city} werden {number} Wochen gebraucht",
            "Der Kurs für die Fahrer dauert {number} Wochen",
        ),
        Four(
            "{name} übernimmt die Einführung des neuen Lagers am {iso} nicht",
            "Das Budget für die Halle am Hafen beträgt nicht {amount} {code}",
            "Für die Prüfung in {city} werden keine {number} Wochen gebraucht",
            "Der Kurs für die Fahrer läuft nie vom {iso} an",
        ),
        ("Anna", "Thomas", "Jürgen", "Sabine", "Lukas", "Petra", "Heinz", "Katrin"),
        ("Graz", "Kassel", "Bremen", "Zürich", "Dresden", "Linz"),
        ("März", "November", "Dezember"),
        ("zwei", "drei", "vier", "fünf", "sechs", "sieben"),
        "{day}. {month} {year}",
        "{amount} €",
        "EUR",
        ("Wochen", "Tage"),
    ),
    "fr": Language(
        Four(
            "{name} prend en charge le lancement du nouvel entrepôt le {date}.",
            "Le budget pour la salle du port est de {money}.",
            "Il nous faut {word} semaines pour les essais à {city}.",
            "La formation des chauffeurs dure du {date} au {end}.",
        ),
        Four(
            "Le lancement du nouvel entrepôt est pris en charge par {name} le {iso}",
            "Budget pour la salle du port : {amount} {code}",
            "Les essais à {city} demandent {number} semaines",
            "La formation des chauffeurs dure {number} semaines",
        ),
        Four(
            "{name} ne prend pas en charge le lancement du nouvel entrepôt le {iso}",
            "Le budget pour la salle du port n'est pas de {amount} {code}",
            "Les essais à {city} ne demandent jamais {number} semaines",
            "La formation des chauffeurs ne dure pas à partir du {iso}",
        ),
        ("Camille", "Julien", "Hélène", "Mathieu", "Sophie", "Olivier", "Chloé", "Rémi"),
        ("Lyon", "Nantes", "Bordeaux", "Lille", "Rennes", "Dijon"),
        ("mars", "novembre", "décembre"),
        ("deux", "trois", "quatre", "cinq", "six", "sept"),
        "{day} {month} {year}",
        "{amount} €",
        "EUR",
        ("semaines", "jours"),
        "\u202f",
    ),
    "es": Language(
        Four(
            "{name} se encarga del lanzamiento del nuevo almacén el {date}.",
            "El presupuesto para la sala del puerto es de {money}.",
            "Necesitamos {word} semanas para las pruebas en {city}.",
            "El curso de los conductores va del {date} al {end}.",
        ),
        Four(
            "Del lanzamiento del nuevo almacén se encarga {name} el {iso}",
            "Presupuesto para la sala del puerto: {amount} {code}",
            "Las pruebas en {city} necesitan {number} semanas",
            "El curso de los conductores dura {number} semanas",
        ),
        Four(
            "{name} no se encarga del lanzamiento del nuevo almacén el {iso}",
            "El presupuesto para la sala del puerto no es de {amount} {code}",
            "Las pruebas en {city} nunca necesitan {number} semanas",
            "El curso de los conductores no va del {iso}",
        ),
        ("Lucía", "Javier", "Marta", "Diego", "Carmen", "Pablo", "Elena", "Sergio"),
        ("Sevilla", "Bilbao", "Valencia", "Málaga", "Zaragoza", "Vigo"),
        ("marzo", "noviembre", "diciembre"),
        ("dos", "tres", "cuatro", "cinco", "seis", "siete"),
        "{day} de {month} de {year}",
        "{amount} €",
        "EUR",
        ("semanas", "días"),
    ),
    "pt": Language(
        Four(
            "{name} assume o lançamento do novo armazém em {date}.",
            "O orçamento para o salão do porto é de {money}.",
            "Precisamos de {word} semanas para os testes em {city}.",
            "O curso dos motoristas vai de {date} a {end}.",
        ),
        Four(
            "O lançamento do novo armazém é assumido por {name} em {iso}",
            "Orçamento para o salão do porto: {amount} {code}",
            "Os testes em {city} precisam de {number} semanas",
            "O curso dos motoristas dura {number} semanas",
        ),
        Four(
            "{name} não assume o lançamento do novo armazém em {iso}",
            "O orçamento para o salão do porto não é de {amount} {code}",
            "Os testes em {city} nunca precisam de {number} semanas",
            "O curso dos motoristas não vai de {iso}",
        ),
        ("Beatriz", "João", "Mariana", "Tiago", "Inês", "Rafael", "Larissa", "Caio"),
        ("Porto", "Recife", "Curitiba", "Braga", "Santos", "Manaus"),
        ("março", "novembro", "dezembro"),
        ("duas", "três", "quatro", "cinco", "seis", "sete"),
        "{day} de {month} de {year}",
        "R$ {amount},00",
        "BRL",
        ("semanas", "dias"),
    ),
    "ru": Language(
        Four(
            "{name} отвечает за запуск нового склада {date} г.",
            "Бюджет на зал в порту составляет {money}.",
            "Нам нужно {word} недель на проверку в городе {city}.",
            "Курс для водителей идёт с {date} по {end}.",
        ),
        Four(
            "За запуск нового склада {iso} отвечает {name}",
            "Бюджет на зал в порту: {amount} {code}",
            "На проверку в городе {city} нужно {number} недель",
            "Курс для водителей длится {number} недели",
        ),
        Four(
            "{name} не отвечает за запуск нового склада {iso}",
            "Бюджет на зал в порту не составляет {amount} {code}",
            "На проверку в городе {city} не нужно {number} недель",
            "Курс для водителей никогда не идёт с {iso}",
        ),
        ("Анна", "Дмитрий", "Ольга", "Сергей", "Наталья", "Игорь", "Мария", "Павел"),
        ("Тверь", "Казань", "Омск", "Псков", "Пермь", "Сочи"),
        ("марта", "ноября", "декабря"),
        ("две", "три", "четыре", "пять", "шесть", "семь"),
        "{day} {month} {year}",
        "{amount} ₽",
        "RUB",
        ("недели", "дней"),
        "\u00a0",
    ),
    "ar": Language(
        Four(
            "يتولى {name} إطلاق المستودع الجديد في {date}.",
            "ميزانية القاعة في الميناء هي {money}.",
            "نحتاج إلى {word} أسابيع للاختبارات في {city}.",
            "تمتد دورة السائقين من {date} إلى {end}.",
        ),
        Four(
            "إطلاق المستودع الجديد يتولى أمره {name} في {iso}",
            "ميزانية القاعة في الميناء: {amount} {code}",
            "الاختبارات في {city} نحتاج لها إلى {number} أسابيع",
            "مدة دورة السائقين {number} أسابيع",
        ),
        Four(
            "لا يتولى {name} إطلاق المستودع الجديد في {iso}",
            "ميزانية القاعة في الميناء ليست {amount} {code}",
            "لن نحتاج إلى {number} أسابيع للاختبارات في {city}",
            "لم تمتد دورة السائقين من {iso}",
        ),
        ("أحمد", "خالد", "ياسمين", "سامي", "ليلى", "كريم", "نادية", "طارق"),
        ("القاهرة", "عمان", "دبي", "تونس", "الرباط", "بيروت"),
        ("مارس", "نوفمبر", "ديسمبر"),
        ("اثنان", "ثلاثة", "أربعة", "خمسة", "ستة", "سبعة"),
        "{day} {month} {year}",
        "{amount} دولار",
        "USD",
        ("أسابيع", "يومًا"),
        "",
        "٠١٢٣٤٥٦٧٨٩",
    ),
    "hi": Language(
        Four(
            "{name} {date} को नए गोदाम की शुरुआत संभालेंगे।",
            "बंदरगाह के हॉल का बजट {money} है।",
            "{city} में जाँच के लिए हमें {word} हफ़्ते चाहिए।",
            "चालकों का प्रशिक्षण {date} से {end} तक चलेगा।",
        ),
        Four(
            "नए गोदाम की शुरुआत {iso} को {name} संभालेंगे",
            "बंदरगाह के हॉल का बजट: {amount} {code}",
            "{city} में जाँच के लिए {number} हफ़्ते चाहिए",
            "चालकों का प्रशिक्षण {number} सप्ताह चलेगा",
        ),
        Four(
            "{name} {iso} को नए गोदाम की शुरुआत नहीं संभालेंगे",
            "बंदरगाह के हॉल का बजट {amount} {code} नहीं है",
            "{city} में जाँच के लिए {number} हफ़्ते नहीं चाहिए",
            "चालकों का प्रशिक्षण {iso} से नहीं चलेगा",
        ),
        ("अमित", "प्रिया", "राहुल", "सुनीता", "विकास", "नेहा", "रोहन", "कविता"),
        ("पुणे", "जयपुर", "लखनऊ", "इंदौर", "पटना", "सूरत"),
        ("मार्च", "नवंबर", "दिसंबर"),
        ("दो", "तीन", "चार", "पाँच", "छह", "सात"),
        "{day} {month} {year}",
        "₹{amount}",
        "INR",
        ("सप्ताह", "दिन"),
        ",",
    ),
    "zh": Language(
        Four(
            "{name}在{date}负责新仓库的上线工作。",
            "港口大厅的预算是{money}。",
            "我们在{city}测试需要{word}周时间。",
            "司机培训从{date}到{end}进行。",
        ),
        Four(
            "新仓库的上线工作由{name}负责，日期为{iso}",
            "港口大厅的预算：{amount} {code}",
            "在{city}测试需要{number}周",
            "司机培训为期{number}周",
        ),
        Four(
            "{name}在{iso}不负责新仓库的上线工作",
            "港口大厅的预算不是{amount} {code}",
            "在{city}测试不需要{number}周",
            "司机培训没有从{iso}进行",
        ),
        ("王伟", "李娜", "张敏", "刘洋", "陈静", "赵磊", "周婷", "孙浩"),
        ("杭州", "成都", "武汉", "青岛", "西安", "厦门"),
        ("3月", "11月", "12月"),
        ("两", "三", "四", "五", "六", "七"),
        "{year}年{month}{day}日",
        "{amount}元",
        "CNY",
        ("周", "天"),
        "",
    ),
    "ja": Language(
        Four(
            "{name}さんが{date}に新しい倉庫の立ち上げを担当します。",
            "港のホールの予算は{money}です。",
            "{city}での試験には{word}週間が必要です。",
            "運転手の研修は{date}から{end}まで行います。",
        ),
        Four(
            "新しい倉庫の立ち上げは{name}さんが{iso}に担当する",
            "港のホールの予算：{amount} {code}",
            "{city}での試験に必要な期間は{number}週間",
            "運転手の研修の期間は{number}週間",
        ),
        Four(
            "{name}さんは{iso}に新しい倉庫の立ち上げを担当しません",
            "港のホールの予算は{amount} {code}ではない",
            "{city}での試験には{number}週間は必要ない",
            "運転手の研修は{iso}から行わない",
        ),
        ("田中", "佐藤", "鈴木", "高橋", "伊藤", "山本", "中村", "小林"),
        ("大阪", "京都", "神戸", "札幌", "仙台", "福岡"),
        ("3月", "11月", "12月"),
        ("二", "三", "四", "五", "六", "七"),
        "{year}年{month}{day}日",
        "{amount}円",
        "JPY",
        ("週間", "日間"),
        ",",
    ),
}
