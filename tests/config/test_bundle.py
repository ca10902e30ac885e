"""The page's modules in one script."""

import subprocess
import sys
from pathlib import Path

import pytest

from config.bundle import bundle

JS = Path(__file__).resolve().parents[2] / "static/js"
MODULES = {
    "main": (
        'import { double } from "./sums/double.js";\nimport { say } from "./say.js";\nsay(1);\n'
    ),
    "sums/double": (
        'import { TWO } from "./two.js";\n'
        "/**\n * Twice.\n */\nexport function double(n) {\n  return n * TWO;\n}\n"
    ),
    "sums/two": "// Sums.\nexport const TWO = 2;\n",
    "say": (
        'import {\n  TWO,\n} from "./sums/two.js";\n'
        "export async function say(n) {}\nexport class Word {}\n"
    ),
    "up/there": 'import { say } from "../say.js";\nsay(2);\n',
}


def shrunk(source: str) -> str:
    return bundle("main", {"main": source}.__getitem__)


def test_every_module_once_and_before_those_that_need_it() -> None:
    assert bundle("main", MODULES.__getitem__) == (
        "const TWO=2;function double(n){return n*TWO;}async function say(n){}class Word{}say(1);"
    )


def test_a_module_of_another_folder_is_found() -> None:
    assert bundle("up/there", MODULES.__getitem__).endswith("class Word{}say(2);")


@pytest.mark.parametrize(
    "text",
    [
        '"a  // b"',
        "'/* a */  b'",
        '"a \\" // b"',
        "`a // ${b(`c // d`)}  e`",
        '/^ *\\/ {2}[/ ]"/u',
    ],
)
def test_texts_and_patterns_stay_as_they_are(text: str) -> None:
    assert shrunk(f"const a = {text}; // after\nf(b, {text});\n") == f"const a={text};f(b,{text});"


def test_what_would_become_one_word_or_sign_stays_apart() -> None:
    source = "let a = b + +c - -d / e / f; // g\nif (a) delete b.c; else return;\n"
    assert shrunk(source) == "let a=b+ +c- -d/e/f;if(a)delete b.c;else return;"


@pytest.mark.parametrize(
    "source",
    [
        "export default 1;\n",
        'import x from "./math.js";\n',
        'import "./math.js";\n',
        'import { x as y } from "./math.js";\n',
        'const load = () => import("./math.js");\n',
        "const load = () => import(`./math.js`);\n",
    ],
)
def test_what_it_does_not_know_is_an_error(source: str) -> None:
    with pytest.raises(ValueError, match="does not know"):
        bundle("main", lambda name: source if name == "main" else "")


def test_modules_that_import_each_other_are_an_error() -> None:
    with pytest.raises(ValueError, match="a → b → a"):
        bundle("a", lambda name: f'import {{ x }} from "./{"b" if name == "a" else "a"}.js";\n')


def test_a_name_of_two_modules_is_an_error() -> None:
    modules = {"a": 'import { x } from "./b.js";\nlet y;\n', "b": "export const x = 1;\nlet y;\n"}
    with pytest.raises(ValueError, match=r"“y” is declared in b\.js and a\.js"):
        bundle("a", modules.__getitem__)


def test_the_script_of_the_page_means_what_its_modules_mean(tmp_path: Path) -> None:
    """The linter reads it, and finds no name that is unknown or declared twice."""
    script = tmp_path / "main.js"
    script.write_text(bundle("main", lambda name: (JS / f"{name}.js").read_text()))
    rules = tmp_path / "rules.json"
    rules.write_text('{"env": {"browser": true, "es2024": true}, "rules": {"no-undef": "error"}}')
    oxlint = Path(sys.executable).with_name("oxlint")
    told = subprocess.run(
        [oxlint, "--config", rules, "--allow=all", "--deny=no-undef", script],
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stdout[:2_000]
