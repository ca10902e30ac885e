"""What a statement affirms that a clause denies."""

import pytest

from agent.audit.facts.clauses import Clause, split_sentences
from agent.audit.facts.denial import contradicts, find_denied, is_denied
from agent.audit.facts.words import clean


def is_contradicted(statement: str, said: str) -> bool:
    return contradicts(Clause(clean(statement)), split_sentences(clean(said)))


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("The pass covers trams but not ferries.", "The pass covers trams and ferries"),
        ("Der Pass gilt für Busse, aber nicht für Fähren.", "Der Pass gilt für Fähren"),
        ("La carte couvre le bus mais pas le bac.", "La carte couvre le bus et le bac"),
        ("التذكرة تشمل الحافلة ولا تشمل العبارة.", "التذكرة تشمل العبارة"),
        ("月票包括公交，不包括渡轮。", "月票包括渡轮"),
        ("切符はバスを含みますが、渡船は含みません。", "切符は渡船を含みます"),
        ("The crate is here. It doesn't fit the lift.", "The crate fits the lift"),
        ("I talked to Mrs Quill. She has no spare key.", "Mrs Quill has a spare key"),
        ("A mala não cabe no carro.", "A mala cabe no carro"),
        ("Parken ist im Hof verboten.", "Parken ist im Hof erlaubt"),
        # What has not come about yet is not done, also where a pronoun says who.
        ("Cataloguing is up to Noor. She has not begun it yet.", "Noor has already begun it"),
        (
            "La voisine lit le bail. Elle ne l'a pas encore signé.",
            "La voisine a déjà signé le bail",
        ),
        ("老周还没有交房租。", "老周已经交了房租"),
        ("Spült die Form nicht, bevor sie kalt ist.", "Die Form wird gespült, bevor sie kalt ist"),
        ("护士说不用打针，多休息。", "护士说需要打针"),
        ("Without a deposit the hall is not kept.", "Without a deposit the hall is kept"),
        ("Ohne Anzahlung wird der Saal nicht frei.", "Ohne Anzahlung wird der Saal frei"),
        # A denial of what is affirmed.
        ("Rolf verzichtet auf den Rabatt.", "Rolf verzichtet nicht auf den Rabatt"),
        ("合宿は叔父が反対しました。", "叔父は合宿に反対しなかった"),
        (
            "Mein Nachbar zahlt nicht, deshalb habe ich ihn verklagt.",
            "Der Nachbar ist nicht verklagt",
        ),
        ("Ma nièce Odile dort là. Elle a une allergie.", "Odile n'a pas d'allergie"),
    ],
)
def test_a_denied_clause_is_not_affirmed(said: str, statement: str) -> None:
    assert is_contradicted(statement, said)


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("The pass covers trams but not ferries.", "The pass covers trams"),
        ("The pass covers trams but not ferries.", "Ferries are excluded from the pass"),
        ("Cats may not come in. Dogs may come in.", "Dogs may come in"),
        ("The tyres have not been checked yet.", "The tyres must be checked"),
        ("Everyone except Ursula has a ticket.", "Ursula has no ticket"),
        ("Das Rad passt nicht in den Aufzug.", "Das Rad ist zu groß für den Aufzug"),
        ("La tarte a plus de sucre que la recette ne le dit.", "La tarte a plus de sucre"),
        ("Cruzar el río exige botas.", "Sin botas no se cruza el río"),
        ("The ferry needs a permit.", "The ferry does not sail without a permit"),
        ("Der Ofen ist seit Mai defekt.", "Der Ofen funktioniert seit Mai nicht"),
        # The word that denies stands in the clause beside.
        (
            "Плакат запретили, потому что стена новая.",
            "Плакат не разрешили, потому что стена новая",
        ),
        ("Em casa temos dois fogões no total.", "Há dois fogões no total"),
        ("Odile has an allergy. She is not at home.", "Odile is not at home"),
    ],
)
def test_what_agrees_with_a_denial_is_no_contradiction(said: str, statement: str) -> None:
    assert not is_contradicted(statement, said)


def test_the_words_that_are_denied_are_those_that_no_other_clause_has() -> None:
    said = split_sentences("The pass covers trams but not ferries.")
    assert set(find_denied(Clause("The pass covers ferries"), said)) == {"ferrie"}
    assert not find_denied(Clause("The pass covers trams"), said)


def test_not_only_is_no_denial() -> None:
    assert not is_denied("The pass is not only for trams")
    assert is_denied("The pass is not for trams")
