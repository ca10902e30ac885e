"""What holds of all templates and scripts, where no linter has a rule for it."""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Page

from config.bundle import DECLARED, IMPORT
from config.templates import INDENT

ROOT = Path(__file__).resolve().parent.parent
LONGEST_LINE = 140  # of a template
SHAPE = re.compile(r"\bd='([^']+)'|\bd=\"([^\"]+)\"")  # what an SVG path draws

templates = sorted((ROOT / "templates").rglob("*.html"))
scripts = sorted((ROOT / "static/js").rglob("*.js"))
shown = [
    path
    for room in ("templates", "static")
    for path in (ROOT / room).rglob("*.*")
    if path.suffix != ".png"
]


@pytest.mark.parametrize("template", templates, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_line_of_a_template_can_be_read_without_scrolling(template: Path) -> None:
    lines = template.read_text().splitlines()
    assert [line for line in lines if len(line) > LONGEST_LINE] == []


@pytest.mark.parametrize("template", templates, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_template_means_the_same_without_its_indentation(template: Path) -> None:
    """As `config.templates.Loader` loads it."""
    kept = re.findall(r"<(pre|textarea)\b[^>]*>(.*?)</\1>", template.read_text(), re.S)
    assert [text for _, text in kept if INDENT.search(text)] == []


def test_a_page_is_sent_without_indentation() -> None:
    page = render_to_string("403_csrf.html")
    assert INDENT.search(page) is None
    assert "</html>" in page


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


def test_folders_of_scripts_do_not_import_each_other_in_a_circle() -> None:
    folders: dict[str, set[str]] = {}
    for script in scripts:
        folder = script.parent.name
        imported = {
            (script.parent / path).parent.name for path in IMPORT.findall(script.read_text())
        }
        folders.setdefault(folder, set()).update(imported - {folder})
    assert len(folders) > 5
    TopologicalSorter(folders).prepare()  # or CycleError


@pytest.mark.e2e
def test_no_name_of_a_module_is_one_of_the_browsers(page: Page) -> None:
    """In the script that all modules become, it would stand for that in each of them."""
    names = {name for script in scripts for name in DECLARED.findall(script.read_text())}
    assert len(names) > 100
    assert page.evaluate("(names) => names.filter((name) => name in window)", sorted(names)) == []
