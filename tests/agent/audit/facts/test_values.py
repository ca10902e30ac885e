"""Values are equal in whatever form and language they are written."""

import pytest

from agent.audit.evidence import Evidence
from agent.audit.facts.values import find_values
from agent.audit.facts.words import clean


def backs(said: str, claimed: str) -> bool:
    """Whether a text bears out every value of another one, which has some."""
    values = find_values(clean(claimed))
    assert values
    return all(map(Evidence([said]).backs, values))


@pytest.mark.parametrize(
    ("said", "claimed"),
    [
        # Money
        ("It costs $12,500.", "12500 USD"),
        ("It costs 12.5k dollars.", "$12,500"),
        ("Es kostet 1.900 €.", "1900 EUR"),
        ("Cela coûte 1\u202f900 €.", "EUR 1900"),
        ("Cuesta 1.900,50 euros.", "€1,900.50"),
        ("Custa R$ 1.900,00.", "1900 reais"),
        ("Это стоит 1 900 рублей.", "1900 ₽"),
        ("السعر ١٩٠٠ دولار", "$1900"),
        ("कीमत ₹1,90,000 है", "190000 INR"),
        ("价格是1900元。", "1900 CNY"),
        ("価格は3万円です。", "30,000 JPY"),
        ("Das Budget: 2 Mio. €", "2,000,000 EUR"),
        ("会費は20万5000円です。", "205,000 JPY"),
        ("Переход стоит 300 тенге", "300 KZT"),
        # Dates
        ("December 3rd, 2026", "2026-12-03"),
        ("am 03.12.2026.", "2026-12-03"),
        ("am 3. Dezember", "2026-12-03"),
        ("le 3 décembre 2026", "03/12/2026"),
        ("el 3 de diciembre de 2026", "2026-12-03"),
        ("em 3 de dezembro de 2026", "December 3, 2026"),
        ("3 декабря 2026 г.", "2026-12-03"),
        ("في ٣ ديسمبر ٢٠٢٦", "2026-12-03"),
        ("3 दिसंबर 2026 को", "2026-12-03"),
        ("定于2026年12月3日上线", "2026-12-03"),
        ("2026年12月3日に", "3 December 2026"),
        # Times
        ("at 2:30 pm", "14:30"),
        ("à 14h30", "14:30"),
        ("um 9 Uhr", "9 am"),
        # Numbers in words, and units
        ("two weeks", "14 days"),
        ("twenty-five users", "25 users"),
        ("vierzehn Tage", "2 Wochen"),
        ("zweihundertfünfzig Stück", "250"),
        ("quatre-vingt-dix jours", "90 jours"),
        ("tres semanas", "3 semanas"),
        ("duas semanas", "2 semanas"),
        ("двадцать пять дней", "25 дней"),
        ("خمسة وعشرون يوما", "25 days"),
        ("أسبوعين", "2 weeks"),
        ("चार हफ़्ते", "4 weeks"),
        ("需要三十五天时间", "35 days"),
        ("三週間かかる", "21 days"),
        ("a limit of 250 ms", "0.25 s"),
        ("20 percent", "20 %"),
        ("1,5 км", "1500 m"),
        # Dates without a year, and in characters
        ("am 7. November", "07.11."),
        ("le 9 août", "09/08"),
        ("3 de março", "03.03"),
        ("Вылет 9 августа", "09.08"),
        ("定在八月九日", "8月9日"),
        ("二〇二六年十二月三日", "2026-12-03"),
        ("costs 12.10", "12.10"),
        # Hours and minutes
        ("105 minutes", "1 h 45 min"),
        ("1 Std. 30 Min.", "anderthalb Stunden"),
        ("1h45", "105 minutes"),
        ("two and a half hours", "150 minutes"),
        ("an hour and a half", "90 min"),
        ("half an hour", "30 minutes"),
        ("trois quarts d'heure", "45 minutes"),
        ("deux heures et demie", "2 h 30"),
        ("dos horas y media", "150 minutos"),
        ("uma hora e meia", "90 minutos"),
        ("полтора часа", "90 минут"),
        ("два с половиной часа", "150 минут"),
        ("ساعتين ونصف", "150 دقيقة"),
        ("ساعة ونصف", "90 دقيقة"),
        ("ढाई घंटे", "150 मिनट"),
        ("साढ़े तीन घंटे", "210 मिनट"),
        ("两个半小时", "150分钟"),
        ("1時間半", "90分"),
        # Times of day in words
        ("Doors open at half past seven.", "19:30"),
        ("quarter to nine", "8:45"),
        ("Treffen um halb acht", "7:30 Uhr"),
        ("Wir schließen um sechs", "18:00"),
        ("à 14h", "14:00"),
        ("abre às nove", "9:00"),
        ("下午三点半集合", "15:30"),
        ("午後3時に", "15:00"),
        ("सात अगस्त को", "07.08."),
        ("le sept août", "07/08"),
        # With a prefix, an article or a measure word
        ("3 hectolitres", "300 litres"),
        ("5 миллиграммов", "5 мг"),
        ("10 ملغ", "10 مليغرامات"),
        ("18 كم", "18 كيلومترا"),
        ("في اليومين", "يومين"),
        ("36个小时", "36 小时"),
        ("50 µg", "50 microgrammes"),
        # Units and currencies that look alike
        ("14 pounds", "14 lb"),
        ("£14", "14 pounds"),
        ("48平方米", "48 m²"),
        ("40 mètres carrés", "40 m2"),
        ("300 درهم", "300 dirhams"),
    ],
)
def test_the_same_value_in_another_form(said: str, claimed: str) -> None:
    assert backs(said, claimed)


@pytest.mark.parametrize(
    ("said", "claimed"),
    [
        ("1.900 €", "1.900 USD"),
        ("1.900 €", "19000 EUR"),
        ("am 03.12.2026", "2026-12-04"),
        ("December 3, 2026", "2027-12-03"),
        ("two weeks", "three weeks"),
        ("250 ms", "250 s"),
        ("12 hours", "2 hours"),
        ("at 2:30 pm", "15:30"),
        ("version 4.2.1", "4.2.2"),
        ("3 children", "4 children"),
        ("价格是1900元。", "1800元"),
        ("ثلاثة أسابيع", "4 weeks"),
        ("am 7. November", "08.11."),
        ("八月九日", "8月19日"),
        ("105 minutes", "1 h 35 min"),
        ("two and a half hours", "half an hour"),
        ("at 9:00, then 45 min", "9 h 45 min"),
        ("下午三点半集合", "14:30"),
        ("um halb acht", "8:30"),
        ("by 6 people", "18:00"),
        ("23 кг", "23 фунта"),
        ("14 kg", "14 pounds"),
        ("36平方米", "36平方公里"),
        ("90 feet", "90 metres"),
        ("3 hectolitres", "3 litres"),
        ("5 миллиграммов", "5 граммов"),
        ("100 microgrammes", "100 milligrammes"),
        ("15 киловатт", "15 ампер"),
        ("300 درهم", "300 ريال"),
        ("300 pesos", "300 euros"),
        ("300港元", "300日元"),
    ],
)
def test_another_value_is_not_borne_out(said: str, claimed: str) -> None:
    assert not backs(said, claimed)


@pytest.mark.parametrize("said", ["The clients are Ada, Ben and Carl.", "ok"])
def test_a_small_number_may_be_what_the_model_has_counted(said: str) -> None:
    assert backs(said, "There are 3 clients")
