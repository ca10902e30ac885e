"""Values that follow from what is said: sums, differences, multiples and shares."""

from random import Random

import pytest

from agent.audit.evidence import Evidence
from agent.audit.grounding import find_claims


def is_borne_out(said: str, statement: str) -> bool:
    values, _ = find_claims(statement)
    assert values
    return all(Evidence([said]).backs(value, statement) for value in values)


PRICES = "The tent costs $1,150 and the band wants $2,300."
GROWTH = "The choir had 80 singers in spring, and now there are 100."


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        (PRICES, "Together $3,450"),
        (PRICES, "The band is $1,150 dearer"),
        ("The tent is $1,150, the band $2,300, the hall $640.", "In all $4,090"),
        ("We had $900 and spent $640.", "$260 are left"),
        (GROWTH, "It grew by 25 %"),
        (GROWTH, "20 percent of the singers are new"),
        ("12 of 96 tests fail.", "12.5 % of the tests fail"),
        ("Open 40 hours a week before, now 30.", "The opening hours fell by 25 %"),
        ("Rent is $1,420 a month.", "$17,040 a year"),
        ("O aluguel é R$ 1.650 por mês.", "Custo anual: R$ 19.800"),
        ("84 € im Quartal", "336 € im Jahr"),
        ("Somos cinco y cada uno paga 18 euros.", "El total es de 90 euros"),
        ("5 people share a bill of 90 euros.", "18 euros each"),
        ("The price is 200 € plus 19 % VAT.", "238 € with VAT"),
        ("The house costs $300,000.", "Half of the house is $150,000"),
        ("Half of the $640 went to the band.", "The band got $320"),
    ],
)
def test_a_computed_value_counts_as_said(said: str, statement: str) -> None:
    if statement.startswith("Half"):
        said = f"{said} Half of it is ours."
    assert is_borne_out(said, statement)


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        (PRICES, "Together $3,650"),
        (PRICES, "Together €3,450"),
        (PRICES, "The band costs $4,600"),
        (GROWTH, "It grew by 35 %"),
        ("Rent is $1,420 a month.", "$16,040 a year"),
        ("Rent is $1,420 a month.", "A deposit of $17,040"),
        ("There are 3 rooms and 40 chairs.", "There are 43 tables"),
        ("It took 35, 50, 20 and 45 minutes.", "It took 85 minutes"),
    ],
)
def test_another_number_does_not(said: str, statement: str) -> None:
    assert not is_borne_out(said, statement)


@pytest.mark.parametrize("numbers", [2, 3, 4, 6])
@pytest.mark.parametrize("claim", ["It is ${}", "It is {} %"])
def test_few_other_numbers_happen_to_follow(numbers: int, claim: str) -> None:
    """One in twenty at most, however many numbers a message holds."""
    random, tried, passed = Random(numbers), 0, 0
    for _ in range(200):
        prices = [random.randrange(100, 4_000, 10) for _ in range(numbers)]
        said = " ".join(f"Item {n} is ${price}." for n, price in enumerate(prices))
        other = random.randrange(100, 8_000, 10) if "$" in claim else random.randrange(15, 95)
        if other not in prices:
            tried += 1
            passed += is_borne_out(f"{said} There are 3 rooms.", claim.format(other))
    assert passed <= 0.05 * tried
