import re

from agent.patterns import _all, compile_later


def test_a_pattern_is_compiled_when_it_is_used_and_is_then_as_any_other() -> None:
    later = compile_later(r"(\w)\d+", re.I)
    assert later.pattern == r"(\w)\d+"
    assert "compiled" not in vars(later)
    for _ in range(2):
        assert [match[1] for match in later.finditer("A1 b22")] == ["A", "b"]
    assert later.sub("x", "a1 b") == "x b"
    assert later.flags & re.I
    assert _all.pop() is later
