"""What one statement is doubted for, and what it is not."""

import pytest

from agent.audit.evidence import Source
from agent.audit.grounding import Verdict, check_bullet
from agent.messages import AgentMessage
from tests.agent.conversations import assistant, message, result, user


def judge(statement: str, *messages: AgentMessage) -> Verdict:
    numbers = " ".join(f"#{each.number}" for each in messages)
    return check_bullet(f"- {statement} [{numbers}]", Source(messages), "facts and values")


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("Our florist in Bath is closed.", "The florist in Bath is closed"),
        ("Our florist in Bath is closed.", "This florist in Bath is closed"),
        ("Unser Florist in Bonn hat zu.", "Der Florist in Bonn hat zu"),
        ("Mein Zug nach Bonn fällt aus.", "Der Zug nach Bonn fällt aus"),
        ("Ma fleuriste à Nantes est fermée.", "La fleuriste à Nantes est fermée"),
        ("Notre atelier à Nantes est fermé.", "L’atelier à Nantes est fermé"),
        ("Nuestra florista de Cádiz cierra tarde.", "La florista de Cádiz cierra tarde"),
        ("O meu florista em Braga fecha tarde.", "Este florista em Braga fecha tarde"),
        ("Наш флорист в Туле закрыт.", "Этот флорист в Туле закрыт"),
        ("हमारा माली पुणे में बीमार है।", "वह माली पुणे में बीमार है"),
    ],
)
def test_an_article_in_the_place_of_our_is_no_name(said: str, statement: str) -> None:
    assert judge(statement, user(1, said)) == Verdict(True)


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("We want the tent back by Monday.", "Bertram wants the tent back by Monday"),
        ("Quero a tenda de volta na segunda.", "Anselmo quer a tenda de volta na segunda"),
        ("Rufus will paint the porch.", "Tobias will paint the porch"),
        ("Frau Kolb leitet den Kurs.", "Den Kurs leitet Frau Amsel"),
        ("Unser Bote Till kam um neun Uhr an.", "Der Bote Kuno kam um neun Uhr an"),
        ("हमारे माली मोहन पौधे लाए हैं।", "हमारे माली रमेश पौधे लाए हैं"),
        ("Queria a tenda de volta na segunda.", "Anselmo queria a tenda de volta na segunda"),
        ("Хочу забрать палатку в понедельник.", "Геннадий хочет забрать палатку в понедельник"),
        ("下周的演出安排在无锡", "下周的演出安排在常州"),
        ("钥匙由王敏在前台保管", "钥匙由王芳在前台保管"),
        ("الحفل القادم سيكون في مدينة حلب", "الحفل القادم سيكون في مدينة حمص"),
        ("अगला कार्यक्रम शहर कानपुर में होगा", "अगला कार्यक्रम शहर नागपुर में होगा"),
        ("次の公演は市民会館の奈良で行います", "次の公演は市民会館の津市で行います"),
    ],
)
def test_a_name_that_stands_nowhere_is_doubted_wherever_it_stands(
    said: str, statement: str
) -> None:
    verdict = judge(statement, user(1, said))
    assert verdict.wrong.startswith("not in the messages that it cites: ")


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("Der Preis ist ohne Mehrwertsteuer.", "Preis ohne MwSt"),
        ("Wir stellen die Kisten auf den Tisch.", "Ins Zelt kommen die Kisten auf den Tisch"),
        ("مضختنا تعطلت مرتين في الشتاء.", "تعطلت المضخة مرتين في الشتاء"),
        ("पुराने पौधे रसोई की छत पर रखें।", "पुराने पौधे रसोई की छत पर जमा करने चाहिए"),
        ("在北屋放了三十把椅子。", "在北屋一共放了三十把椅子"),
        ("The deployment failed again.", "Deploying failed again"),
        ("They want a bigger tent.", "Decided: a bigger tent is wanted"),
        ("Don't forget to water the plants.", "The plants are to be watered"),
        ("It is not only the price, the tent is too small too.", "The tent is too small"),
    ],
)
def test_other_words_for_the_same_are_not(said: str, statement: str) -> None:
    assert judge(statement, user(1, said)) == Verdict(True)


@pytest.mark.parametrize(
    ("said", "statement", "wrong"),
    [
        ("The leak may come from the roof.", "The leak comes from the roof", "with “may”"),
        ("On 3 May the leak came from the roof.", "On 3 May the leak came from the roof", ""),
        ("I think the leak is in the roof.", "The user thinks the leak is in the roof", ""),
        ("Almost all the seats are taken.", "All the seats are taken", "of “almost all”"),
        ("All the seats are taken.", "Most of the seats are taken", "of “all”"),
        ("The seats are taken.", "Only the seats are taken", "do not say “only”"),
        ("We bought some bread for the guests.", "Bread was bought for the guests", ""),
        ("I want to sell the canoe.", "The canoe was sold", "not done yet (“want”)"),
        ("I want to sell the canoe.", "The user wanted to sell the canoe", ""),
        ("I have sold the canoe, I will buy a kayak.", "The canoe was sold", ""),
        ("Ada lent Ben the trailer.", "Ben lent Ada the trailer", "ben lent ada"),
        ("Ada lent Ben the trailer.", "Ben was lent the trailer by Ada", ""),
        ("Ada lent her uncle the trailer.", "Her uncle lent Ada the trailer", "uncle lent ada"),
        (
            "Le voisin prête un vélo à Odile.",
            "Odile prête un vélo au voisin",
            "odile prête un vélo au voisin",
        ),
        ("Odile prête un vélo en mai.", "En mai Odile prête un vélo", ""),
        ("Дядя подарил Зое часы.", "Зоя подарила дяде часы", "зоя подарила дяде"),
        ("Вчера Зоя подарила часы.", "Зоя подарила часы вчера", ""),
        ("同事林悦借给我姐姐一辆车。", "用户的姐姐借给林悦一辆车", "姐姐借给"),
        ("Rolf misst am Montag die Wand.", "Am Montag misst Rolf die Wand", ""),
        # What was done to the user is not what the user did.
        ("Ada lent me a kayak.", "The user lent Ada a kayak", "user ada kayak lent"),
        ("Ada lent me a kayak.", "The user was lent a kayak by Ada", ""),
        ("I lent Ada a kayak, she lent me a tent.", "The user lent Ada a kayak", ""),
        ("Rolf hat mir ein Boot geliehen.", "Der Nutzer hat Rolf ein Boot geliehen", "nutzer"),
        ("Дядя подарил мне часы.", "Пользователь подарил дяде часы", "пользователь"),
        ("林悦借给我一条船。", "用户借给林悦一条船", "用户借给"),
        ("桜井さんは私に傘を貸してくれた。", "ユーザーは桜井さんに傘を貸した", "貸した"),
        ("桜井さんは私に傘を貸してくれた。", "ユーザーは桜井さんに傘を貸してもらった", ""),
        ("Il sèmera le trèfle en mars.", "Il a semé le trèfle en mars", "“Il sèmera”"),
        ("Paloma abrirá la tienda en mayo.", "Paloma abrió la tienda en mayo", "“abrirá”"),
        ("来月、窓口を増やす予定です。", "窓口を増やした。", "予定"),
        ("新しい箱を使うとよいでしょう。", "新しい箱を使うよう勧めた。", ""),
        ("See article 7 of the lease.", "It is in article 9 of the lease", "9"),
        ("Go to article 7 of the lease.", "The lease has 9 articles", ""),
        ("请把钢琴再调三次。", "建议把钢琴再调五次", "五"),
        ("Ada and Ben own the trailer.", "Ben and Ada own the trailer", ""),
        ("The capital is Vaduz.", "Vaduz is the capital", ""),
        ("The council agreed to the stall.", "The council refused the stall", "the opposite"),
        ("The council did not agree to the stall.", "The council refused the stall", ""),
    ],
)
def test_certainty_quantity_tense_and_roles_are_compared(
    said: str, statement: str, wrong: str
) -> None:
    verdict = judge(statement, user(1, said))
    assert (wrong in verdict.wrong, verdict.supported) == (True, not wrong), verdict


@pytest.mark.parametrize(("year", "supported"), [("2026", True), ("2038", False)])
def test_a_day_without_a_year_beside_one_with_it_is_of_that_year(
    year: str, supported: bool
) -> None:
    said = user(1, "Write dates as 2026-05-04 and not as May 4.")
    assert judge(f"Dates are written as {year}-05-04", said).supported == supported


@pytest.mark.parametrize(
    ("said", "statement", "wrong"),
    [
        ("Nobody looks after the choir archive.", "Who looks after the choir archive?", ""),
        ("Niemand pflegt das Archiv des Chors.", "Wer pflegt das Archiv des Chors?", ""),
        ("没有人管理合唱团的档案。", "谁管理合唱团的档案？", ""),
        ("Perhaps Ada tunes the piano.", "Does Ada tune the piano?", ""),
        ("Nobody looks after the choir archive.", "All look after the choir archive", "opposite"),
        ("Ada does not tune the piano.", "Ada tunes the piano. Since when?", "opposite"),
    ],
)
def test_an_open_question_contradicts_nothing(said: str, statement: str, wrong: str) -> None:
    assert wrong in judge(statement, user(1, said)).wrong
    assert judge(statement, user(1, said)).supported == (not wrong)


USER = user(1, "How should we store the photos of the choir?")
ASSISTANT = assistant(2, "I suggest storing the photos of the choir on a disk in the archive.")


def test_who_wrote_the_message_is_who_said_it() -> None:
    by_user = "The user suggested storing the photos of the choir on a disk in the archive"
    by_assistant = by_user.replace("user", "assistant")
    assert judge(by_assistant, ASSISTANT).supported
    assert "the assistant wrote" in judge(by_user, ASSISTANT).wrong
    assert "the assistant wrote" in judge(by_user, USER, ASSISTANT).wrong
    # Who owns the photos was never a question.
    assert judge("The user stores photos of the choir on a disk", ASSISTANT).supported


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("Quiero las facturas en PDF.", "El usuario quiere las facturas en PDF"),
        ("Хочу счета в PDF.", "Пользователь хочет счета в PDF"),
        ("मुझे बिल PDF में चाहिए।", "उपयोगकर्ता बिल PDF में चाहता है"),
        ("我希望发票是PDF格式。", "用户希望发票是PDF格式"),
    ],
)
def test_the_user_is_no_word_that_a_message_lacks(said: str, statement: str) -> None:
    assert judge(statement, user(1, said)).supported


def test_what_a_tool_returned_is_nobodys_word() -> None:
    returned = message(3, "user", [result("t", "The photos of the choir are on a disk.")])
    assert judge("The user said that photos of the choir are on a disk", returned).supported


def test_a_computed_value_of_other_words_is_marked_and_not_dropped() -> None:
    """A formula that the rules do not know may still be right."""
    verdict = judge("Custo no trimestre: R$ 5.000", user(1, "O aluguel é R$ 1.650 por mês."))
    assert (verdict.supported, verdict.held) == (False, True)


def test_two_who_change_places_in_a_short_sentence_are_noticed() -> None:
    said = user(1, "Kim owes Ida a cake.")
    assert "other way round" in judge("Ida owes Kim a cake", said).wrong
    assert judge("Kim owes Ida a cake", said) == Verdict(True)
