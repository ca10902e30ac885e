"""Set-up installs with uv and pip's settings, or with pip alone, and then says so."""

import hashlib
import os
import runpy
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pip
import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "requirements" / "install.py"
UV = Path(sys.executable).with_name("uv")
LOCKED = (SCRIPT.with_name("uv.txt")).read_text()
NOT_TO_BE_HAD = "uv==0.0.0 --hash=sha256:" + 64 * "0"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture
def listed(script: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`listed(text, **environment)`: what is read where pip.conf holds the text."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)

    def listed(text: str, **environment: str) -> dict[str, str]:
        (tmp_path / "pip.conf").write_text(text)
        monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        found: dict[str, str] = script["read_pip_settings"](
            script["run"]([*script["PIP"], "config", "list"])
        )
        return found

    return listed


def test_the_environment_wins_over_a_section_and_that_over_the_global_one(listed: Any) -> None:
    text = "[global]\nindex-url=https://a\ntimeout=1\nproxy=p\n[install]\nindex-url=https://b\ntimeout=2"
    found = listed(text, PIP_INDEX_URL="https://c")
    assert (found["index-url"], found["timeout"], found["proxy"]) == ("https://c", "2", "p")


def test_a_mirror_of_pip_is_the_only_registry_that_uv_asks(
    script: dict[str, Any], listed: Any
) -> None:
    text = "[global]\nindex-url=https://me:a=b@mirror/simple\ncert=/ca.pem\n"
    text += "extra-index-url=https://x\n https://y"
    environment = script["environment_for_uv"](listed(text), {})
    assert environment["UV_DEFAULT_INDEX"] == "https://me:a=b@mirror/simple"
    assert environment["UV_INDEX"] == "https://x https://y"
    assert environment["SSL_CERT_FILE"] == "/ca.pem"


def test_what_is_set_for_uv_itself_stays(script: dict[str, Any]) -> None:
    own = {"UV_DEFAULT_INDEX": "https://uv", "REQUESTS_CA_BUNDLE": "/requests.pem"}
    environment = script["environment_for_uv"]({"index-url": "https://pip", "proxy": ""}, own)
    assert environment["UV_DEFAULT_INDEX"] == "https://uv"
    assert environment["SSL_CERT_FILE"] == "/requests.pem"
    assert "ALL_PROXY" not in environment


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment as set-up makes it, beside a folder of wheels that pip.conf names. pip is
    copied from ours, which was made so too: to unpack it takes seconds."""
    directory = tmp_path_factory.mktemp("fresh")
    venv.create(directory / ".venv", symlinks=True)
    (packages,) = directory.glob(".venv/lib/*/site-packages")
    shutil.copytree(Path(pip.__file__).parent, packages / "pip")
    wheels = directory / "wheels"
    wheels.mkdir()
    for name in ("first", "second"):
        wheel = wheels / f"{name}-1-py3-none-any.whl"
        about = f"{name}-1.dist-info"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(f"{name}.py", "")
            archive.writestr(
                f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
            )
            archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            archive.writestr(f"{about}/RECORD", f"{name}.py,,\n{about}/RECORD,,\n")
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        (directory / f"{name}.txt").write_text(f"{name}==1 --hash=sha256:{digest}\n")
    (directory / "pip.conf").write_text(f"[global]\nno-index = true\nfind-links = {wheels}\n")
    shutil.copy(SCRIPT, directory)
    return directory


def installs(fresh: Path, file: str, *, uv: str) -> subprocess.CompletedProcess[str]:
    """Run the script in the fresh environment, with `uv` as the locked one."""
    (fresh / "uv.txt").write_text(uv)
    kept: Mapping[str, str] = {
        name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))
    }
    return subprocess.run(
        [str(fresh / ".venv/bin/python"), str(fresh / "install.py"), str(fresh / file)],
        env={
            **kept,
            "PIP_CONFIG_FILE": str(fresh / "pip.conf"),
            "UV_CACHE_DIR": str(fresh / "cache"),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def has(fresh: Path, module: str) -> bool:
    done = subprocess.run([str(fresh / ".venv/bin/python"), "-c", f"import {module}"], check=False)
    return done.returncode == 0


def test_pip_installs_where_uv_cannot_be_had_and_says_so(fresh: Path) -> None:
    done = installs(fresh, "first.txt", uv=NOT_TO_BE_HAD)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Without uv (ERROR: No matching distribution found for uv==0.0.0")
    assert has(fresh, "first")


def test_uv_installs_from_where_pip_is_told_to(fresh: Path) -> None:
    shutil.copy(UV, fresh / ".venv/bin/uv")
    done = installs(fresh, "second.txt", uv=LOCKED)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert has(fresh, "second")


@pytest.mark.parametrize("uv", [LOCKED, NOT_TO_BE_HAD], ids=["uv", "pip"])
def test_what_was_interrupted_is_installed_anew(fresh: Path, uv: str) -> None:
    """A package that looks complete and is not."""
    shutil.copy(UV, fresh / ".venv/bin/uv")
    if not has(fresh, "second"):
        installs(fresh, "second.txt", uv=uv)
    (module,) = fresh.glob(".venv/lib/*/site-packages/second.py")
    module.unlink()
    (fresh / ".venv/.unfinished").touch()
    assert installs(fresh, "second.txt", uv=uv).returncode == 0
    assert has(fresh, "second")
    assert not (fresh / ".venv/.unfinished").exists()


def test_a_file_that_is_not_the_locked_one_is_refused_by_both(fresh: Path) -> None:
    shutil.copy(UV, fresh / ".venv/bin/uv")
    (fresh / "changed.txt").write_text("first==1 --hash=sha256:" + 64 * "1" + "\n")
    for part in fresh.glob(".venv/lib/*/site-packages/first*"):
        part.unlink() if part.is_file() else shutil.rmtree(part)
    done = installs(fresh, "changed.txt", uv=LOCKED)
    assert done.returncode == 1
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert not has(fresh, "first")
