"""The page's modules in one file."""

import pytest

from config.bundle import bundle

MODULES = {
    "main": 'import { double } from "./math.js";\nimport { say } from "./words.js";\nsay(1);\n',
    "math": (
        "// Sums.\n/**\n * Twice.\n */\nexport const TWO = 2;\n"
        "export function double(n) {\n  return n * TWO;\n}\n"
    ),
    "words": (
        'import {\n  TWO,\n} from "./math.js";\n'
        "export async function say(n) {}\nexport class Word {}\n"
    ),
}


# What `main` and these load on demand; `menu` and `list` need one more module.
ON_DEMAND = {
    "main": (
        'import { double } from "./math.js";\n'
        'const open = () => import("./menu.js").then(({ draw }) => draw(double(1)));\n'
    ),
    "math": MODULES["math"],
    "menu": (
        'import { TWO } from "./math.js";\nimport { row } from "./rows.js";\n'
        'export const draw = (n) => row(n + TWO);\nexport const list = () => import("./list.js");\n'
    ),
    "list": 'import { row } from "./rows.js";\nexport const fill = row;\n',
    "rows": "export const row = (n) => n;\n",
}


def test_every_module_once_and_before_those_that_need_it() -> None:
    scripts = bundle("main", MODULES.__getitem__)
    assert list(scripts) == ["main"]
    script = scripts["main"]
    places = [script.index(f"$modules.{name} ??= ") for name in ("math", "words", "main")]
    assert places == sorted(places)
    assert script.count("??=") == len(MODULES)
    assert "const { double } = $modules.math;" in script
    assert "return { TWO, double };" in script
    assert "return { say, Word };" in script
    assert "Sums" not in script
    assert "Twice" not in script
    assert "import " not in script
    assert "export " not in script


def test_comments_after_code_are_left_out_and_texts_stay_whole() -> None:
    source = (
        "const WAIT = 500; // ms\n"
        'const site = "http://a"; // a text\n'
        "const path = /^a \\// // b/.exec(site);\n"
        "const note = `a // b`;\n"
    )
    script = bundle("main", {"main": source}.__getitem__)["main"]
    assert "const WAIT = 500;\n" in script
    assert source.partition("\n")[2] in script


def test_what_is_loaded_on_demand_brings_only_what_is_not_there_from_the_start() -> None:
    scripts = bundle("main", ON_DEMAND.__getitem__)
    assert set(scripts) == {"main", "menu", "list"}
    assert "menu ??=" not in scripts["main"]
    assert 'import("./menu.js").then((script) => script.default($modules))' in scripts["main"]
    assert scripts["menu"].startswith("export default ($modules) => {\n$modules.rows ??= ")
    assert scripts["menu"].endswith("return $modules.menu;\n};\n")
    assert "const { TWO } = $modules.math;" in scripts["menu"]
    assert "math ??=" not in scripts["menu"]
    assert "rows ??=" in scripts["list"]


def test_what_is_loaded_on_demand_is_not_there_from_the_start() -> None:
    modules = ON_DEMAND | {"math": 'import { row } from "./rows.js";\n', "list": ""}
    modules["menu"] = 'const all = () => import("./rows.js");\n'
    with pytest.raises(ValueError, match=r"rows\.js is loaded on demand, and imported"):
        bundle("main", modules.__getitem__)


@pytest.mark.parametrize(
    "source",
    [
        "export default 1;\n",
        'import x from "./math.js";\n',
        'import "./math.js";\n',
        "const load = () => import(`./math.js`);\n",
    ],
)
def test_what_it_does_not_know_is_an_error(source: str) -> None:
    with pytest.raises(ValueError, match="does not know"):
        bundle("main", lambda name: source)


def test_modules_that_import_each_other_are_an_error() -> None:
    with pytest.raises(ValueError, match="a → b → a"):
        bundle("a", lambda name: f'import {{ x }} from "./{"b" if name == "a" else "a"}.js";\n')
