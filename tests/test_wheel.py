"""What is handed out: a wheel that works without the checkout, a source distribution, an image."""

import os
import subprocess
import sys
import tarfile
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest

from config.version import VERSION

ROOT = Path(__file__).resolve().parent.parent
# What everybody who gets the software must get with it.
PAPERS = ("LICENSE", "SECURITY.md", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")
CACHES = {"__pycache__", ".ruff_cache", ".mypy_cache"}
# Every module of it, and nothing of the site.
AGENT_ALONE = """
import agent, importlib, pkgutil
for found in pkgutil.walk_packages(agent.__path__, "agent."):
    module = importlib.import_module(found.name)
    assert module.__file__.startswith(sys.path[0]), module.__file__
left = {name.split(".")[0] for name in sys.modules}
assert not left & {"django", "celery", "channels", "chat", "config"}, left
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as pip does, with the backend of the tests' own environment: needs no network."""
    directory = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--disable-pip-version-check", "-w", str(directory), str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = directory.glob(f"everlong-{VERSION}-*.whl")
    return made


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    return directory


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files of a source distribution, by their paths in it."""
    directory = tmp_path_factory.mktemp("sdist")
    build = "import sys; from hatchling.build import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(directory)], cwd=ROOT, check=True)
    (made,) = directory.glob("everlong-*.tar.gz")
    with tarfile.open(made) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def files(directory: Path) -> set[str]:
    """All of a directory but what tools leave there, by their paths in it."""
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(p.relative_to(directory)) for p in found if not CACHES & set(p.parts)}


def test_it_holds_every_file_of_the_rooms_and_nothing_else(unpacked: Path) -> None:
    """Also those of tomorrow: nothing is listed by name."""
    there = {name for name in files(unpacked) if not name.startswith("everlong-")}
    rooms = ("accounts", "agent", "chat", "config", "demo", "server", "spending")
    expected = {f"{room}/{name}" for room in rooms for name in files(ROOT / room)}
    for folder in ("templates", "static", "locale"):
        expected |= {f"config/{folder}/{name}" for name in files(ROOT / folder)}
    assert there == {name for name in expected if not name.endswith((".po", "ruff.toml"))}
    assert "agent/py.typed" in there
    assert any(name.endswith("SKILL.md") for name in there)
    assert "chat/migrations/0001_initial.py" in there


def test_the_wheel_names_and_holds_its_license(unpacked: Path) -> None:
    (about,) = unpacked.glob("everlong-*.dist-info")
    assert (about / "licenses" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert "License-Expression: MIT" in (about / "METADATA").read_text().splitlines()


def test_the_source_distribution_holds_what_is_committed_and_no_data(sdist: set[str]) -> None:
    assert sdist >= set(PAPERS)
    assert sdist >= {"Makefile", "requirements/base.txt", "docs/operations.md", "tests/run.py"}
    assert not [name for name in sdist if name.startswith(("var/", ".env", ".venv", ".git/"))]


def test_the_image_holds_the_license_and_says_which() -> None:
    """The Dockerfile copies all of the checkout but what .dockerignore names."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "\nCOPY . .\n" in dockerfile
    assert 'org.opencontainers.image.licenses="MIT"' in dockerfile
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    left_out = [line for line in lines if line and not line.startswith("#")]
    for paper in PAPERS:
        assert not any(fnmatch(paper, pattern) for pattern in left_out), paper


def python(code: str, path: Path, directory: Path, **environment: str) -> str:
    """Run code that imports from `path` first, far from the checkout."""
    names = {"PATH", "HOME", "LANG"}
    kept = {name: value for name, value in os.environ.items() if name in names}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(path)!r})\n{code}"],
        cwd=directory,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_agent_works_alone(unpacked: Path, tmp_path: Path) -> None:
    python(AGENT_ALONE, unpacked, tmp_path)


def test_a_site_starts_from_it(unpacked: Path, tmp_path: Path) -> None:
    code = """
import django
django.setup()
from django.conf import settings
from django.core.management import call_command
from django.template.loader import get_template
call_command("check")
call_command("migrate", verbosity=0)
from config import typeface
# For time: what is Django's own, and what test_typeface.py looks at.
settings.WHITENOISE_SKIP_COMPRESS_EXTENSIONS = ("js", "css", "svg", "txt", "json")
assert typeface.FONT.is_file()
typeface._cut = lambda font, characters: font[:100]
call_command("collectstatic", "--noinput", "--ignore=admin", verbosity=0)
get_template("chat/transcript/message.html")
print(settings.STATIC_ROOT)
"""
    said = python(code, unpacked, tmp_path, DJANGO_SETTINGS_MODULE="config.settings")
    assert str(tmp_path / "var" / "static") in said
    assert (tmp_path / "var" / "static" / "staticfiles.json").is_file()
