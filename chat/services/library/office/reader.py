"""The text of an Office file, and why there is none."""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

import structlog
from django.utils.translation import gettext

from agent.messages import sanitise_text
from chat.errors import RefusalCode, Refused
from chat.services.library.fair_share import FairShare

log = structlog.get_logger(__name__)

PROGRAM = str(Path(__file__).with_name("program.py"))
SECONDS = 30  # that it may take; the program limits its own time on a processor
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # what files of Office began with until 2007
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # what such a file holds today
ZIP = b"PK\x03\x04"
TYPES = {
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
_reading = FairShare(2)  # each may take a processor and half a gigabyte


def read_office(name: str, data: bytes, most: int, *, owner_id: int) -> tuple[str, str] | None:
    """The text as Markdown and the media type of the file; None where it is none of Office's.

    Pictures and what is embedded are left out, macros never run, and nothing that it refers to is
    fetched.
    Refused where it is damaged, needs a password, is of an old format, has no text, or has more
    than `most` characters or than can be read here; and where it would wait too long. Blocks.
    """
    if data.startswith(OLD):
        raise _refuse("encrypted" if ENCRYPTED in data else "old", name, most)
    if not data.startswith(ZIP):
        return None
    with _reading.hold(owner_id, name):
        found = _run_program(data, most)
    reason = found.get("refused", "")
    if reason == "other":
        return None
    if reason:
        raise _refuse(reason, name, most)
    return sanitise_text(found["text"]), TYPES[found["kind"]]


def _run_program(data: bytes, most: int) -> dict[str, str]:
    """What the program says. It writes to files, for which it has a limit, and is given no
    environment, which has keys in it."""
    command = [sys.executable, "-I", PROGRAM, str(most)]
    with TemporaryFile() as file, TemporaryFile() as answer, TemporaryFile() as errors:
        file.write(data)
        file.seek(0)
        try:
            done = subprocess.run(
                command, stdin=file, stdout=answer, stderr=errors, env={}, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return {"refused": "large"}
        if done.returncode:
            errors.seek(0)
            last = errors.read().decode(errors="replace")[-300:]
            log.info("office file cannot be read", status=done.returncode, errors=last)
            # A signal: a limit ended it.
            return {"refused": "large" if done.returncode < 0 else "damaged"}
        answer.seek(0)
        found: dict[str, str] = json.load(answer)
        return found


def _refuse(reason: str, name: str, most: int) -> Refused:
    code, words = {
        "damaged": (
            RefusalCode.FILE_DAMAGED,
            gettext("{name} is damaged: it cannot be read to the end."),
        ),
        "empty": (
            RefusalCode.FILE_EMPTY,
            gettext("{name} has no text. Save it as PDF to send what its pages show."),
        ),
        "encrypted": (
            RefusalCode.FILE_ENCRYPTED,
            gettext("{name} is encrypted. Save it without a password, and attach that."),
        ),
        "large": (
            RefusalCode.FILE_TOO_LARGE,
            gettext("{name} unpacks to too much to be read. Attach a part of it, or a PDF."),
        ),
        "long": (
            RefusalCode.FILE_TOO_LARGE,
            gettext(
                "{name} has more than {most:,} characters of text, which is the most that can be "
                "sent. Attach a part of it."
            ),
        ),
        "old": (
            RefusalCode.FILE_TYPE,
            gettext(
                "{name} is in a format that cannot be read. Save it as DOCX, XLSX or PPTX, and "
                "attach that."
            ),
        ),
    }[reason]
    return Refused(code, words.format(name=name, most=most))
