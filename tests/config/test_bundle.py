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


def test_every_module_once_and_before_those_that_need_it() -> None:
    script = bundle("main", MODULES.__getitem__)
    assert [script.count(f"const ${name} = ") for name in MODULES] == [1, 1, 1]
    assert script.index("const $math") < script.index("const $words") < script.index("const $main")
    assert "const { double } = $math;" in script
    assert "return { TWO, double };" in script
    assert "return { say, Word };" in script
    assert "Sums" not in script
    assert "Twice" not in script
    assert "import " not in script
    assert "export " not in script


@pytest.mark.parametrize(
    "source", ["export default 1;\n", 'import x from "./math.js";\n', 'import "./math.js";\n']
)
def test_what_it_does_not_know_is_an_error(source: str) -> None:
    with pytest.raises(ValueError, match="does not know"):
        bundle("main", lambda name: source)


def test_modules_that_import_each_other_are_an_error() -> None:
    with pytest.raises(ValueError, match="a → b → a"):
        bundle("a", lambda name: f'import {{ x }} from "./{"b" if name == "a" else "a"}.js";\n')
