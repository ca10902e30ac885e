"""The oracle finds what it is for."""

from tests.model.oracle import find_invented

SAID = ["The budget is 12,500 euros, the port 8443."]


def test_a_number_that_nobody_said_is_found_unless_it_is_marked() -> None:
    kept = ["## Facts", "- The budget is 12500 euros [#100]", "- Port 9000 [#1] (unverified)"]
    assert find_invented("\n".join([*kept, "### Port 9001"]), SAID) == ["### Port 9001"]


def test_the_mark_of_code_stands_behind_its_fence() -> None:
    code = ["```", "port = 9000", "```"]
    assert find_invented("\n".join([*code, "(unverified)", "- Port 8443"]), SAID) == []
    assert find_invented("\n".join([*code, "- Port 8443"]), SAID) == ["port = 9000"]
    assert find_invented("\n".join(code), SAID) == ["port = 9000"]
