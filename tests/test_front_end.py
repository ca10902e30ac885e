"""What holds of all templates and scripts, where no linter has a rule for it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LONGEST_LINE = 140  # of a template
SHAPE = re.compile(r"\bd='([^']+)'|\bd=\"([^\"]+)\"")  # what an SVG path draws

templates = sorted((ROOT / "templates").rglob("*.html"))
shown = [path for room in ("templates", "static") for path in (ROOT / room).rglob("*.*")]


@pytest.mark.parametrize("template", templates, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_line_of_a_template_can_be_read_without_scrolling(template: Path) -> None:
    lines = template.read_text().splitlines()
    assert [line for line in lines if len(line) > LONGEST_LINE] == []


def test_each_icon_is_drawn_in_one_place() -> None:
    drawn = [found for path in shown for found in SHAPE.findall(path.read_text())]
    assert len(drawn) > 10
    assert sorted(drawn) == sorted(set(drawn))


def test_icons_are_used_by_a_name_that_exists_and_shown_from_where_they_are_drawn() -> None:
    style = (ROOT / "static/css/base.css").read_text()
    named = dict(re.findall(r"^\.icon-([a-z]+) \{\n  --place: (\d+);", style, re.M))
    picture = (ROOT / "static/icons/icons.svg").read_text()
    drawn = re.findall(r'<g id="([a-z]+)"[^>]* transform="translate\(0 (\d+)\)">', picture)
    assert {name: int(place) * 32 for name, place in named.items()} == {
        name: int(top) for name, top in drawn
    }
    assert f'viewBox="0 0 24 {32 * (len(drawn) - 1) + 24}"' in picture
    assert f"calc(var(--place) * 100% / {len(drawn) - 1})" in style
    used = {
        name
        for path in shown
        if path.suffix in {".html", ".js"}
        for name in re.findall(r'"icon icon-([a-z]+)"', path.read_text())
    }
    assert used == set(named)
