"""Reading a large export: how long it takes, and how much memory at the most.

    python -m bench.imports make export.zip --json 1000 --files 200
    python -m bench.imports read export.zip

`make` writes a zip as ChatGPT's of 2026: conversations in files of 100, with branches and calls,
and pictures beside them. `read` reads all of it without storing anything.
"""

import argparse
import json
import os
import random
import resource
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django

Json = dict[str, Any]

MB = 1_000_000
PER_FILE = 100  # conversations
TURNS = (1, 60)
LARGE_TURNS = 4_000  # of one conversation in 500: about 9 MB
PICTURE = 400_000  # bytes
BEGUN = 1_700_000_000
SYLLABLES = [start + end for start in "bklmnrst" for end in "aeiou"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.imports", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("path", type=Path)
    making.add_argument("--json", type=int, default=1_000, help="MB of conversations, unpacked")
    making.add_argument("--files", type=int, default=0, help="MB of pictures")
    making.add_argument("--seed", type=int, default=31)
    reading = commands.add_parser("read")
    reading.add_argument("path", type=Path)
    options = parser.parse_args()
    if options.command == "make":
        write_export(options.path, options.json * MB, options.files * MB, options.seed)
    else:
        print(read_export(options.path))
    return 0


def write_export(path: Path, json_bytes: int, file_bytes: int, seed: int = 31) -> None:
    """A zip with about as many bytes, unpacked, of conversations and of pictures."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(20_000)]
    pictures = [f"file_{number:016x}" for number in range(file_bytes // PICTURE)]
    unused = iter(pictures)
    written = number = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as opened:
        for shard in range(sys.maxsize):
            if written >= json_bytes:
                break
            with opened.open(f"conversations-{shard:03}.json", "w", force_zip64=True) as target:
                target.write(b"[")
                for place in range(PER_FILE):
                    data = json.dumps(_make_talk(chance, words, number, unused)).encode()
                    target.write((b"," if place else b"") + data)
                    number += 1
                    written += len(data)
                    if written >= json_bytes:
                        break
                target.write(b"]")
        names = {f"{identity}.dat": f"picture {i}.png" for i, identity in enumerate(pictures)}
        opened.writestr("conversation_asset_file_names.json", json.dumps(names))
        for name in names:
            opened.writestr(name, chance.randbytes(PICTURE), zipfile.ZIP_STORED)


def _make_talk(
    chance: random.Random, words: list[str], number: int, pictures: Iterator[str]
) -> Json:
    turns = LARGE_TURNS if number % 500 == 499 else chance.randint(*TURNS)
    at = BEGUN + number * 10_000.0
    mapping: Json = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    last = "root"

    def add(parent: str, role: str, content: Json, **fields: Any) -> str:
        identity = f"{chance.getrandbits(128):032x}"
        mapping[identity] = {
            "id": identity,
            "parent": parent,
            "children": [],
            "message": {
                "id": identity,
                "author": {"role": role, "name": fields.pop("name", None), "metadata": {}},
                "create_time": at + len(mapping),
                "content": content,
                "status": "finished_successfully",
                "weight": 1.0,
                "recipient": fields.pop("recipient", "all"),
                "metadata": {"model_slug": "gpt-5"} | fields,
            },
        }
        return identity

    def text(length: int) -> Json:
        return {"content_type": "text", "parts": [" ".join(chance.choices(words, k=length))]}

    for _ in range(turns):
        prompt: Json = text(chance.randint(5, 120))
        picture = next(pictures, None) if chance.random() < 0.1 else None
        if picture:
            pointer = {
                "content_type": "image_asset_pointer",
                "asset_pointer": f"sediment://{picture}",
            }
            prompt = {"content_type": "multimodal_text", "parts": [pointer, *prompt["parts"]]}
        asked = add(last, "user", prompt)
        if chance.random() < 0.05:
            add(asked, "assistant", text(100))  # a variant that is not shown
        if chance.random() < 0.2:
            code = {"content_type": "code", "language": "python", "text": "print(6 * 7)"}
            asked = add(asked, "assistant", code, recipient="python")
            output = {"content_type": "execution_output", "text": "42"}
            asked = add(asked, "tool", output, name="python")
        last = add(asked, "assistant", text(chance.randint(20, 400)))
    return {
        "id": f"talk-{number}",
        "title": " ".join(chance.choices(words, k=4)),
        "create_time": at,
        "update_time": at + len(mapping),
        "current_node": last,
        "mapping": mapping,
    }


def read_export(path: Path) -> str:
    """Read all of it: what was in it, how long it took, and with how much memory."""
    from chat.importers.archive import Archive
    from chat.importers.formats import find_format
    from chat.importers.records import ImportedConversation, Tally

    before = _peak_mb()
    begun = time.monotonic()
    kinds: Counter[str] = Counter()
    tally = Tally()
    messages = files = 0
    with Archive([(path.name, path)]) as archive:
        for found in find_format(archive).read(archive):
            kinds[type(found).__name__] += 1
            if not isinstance(found, ImportedConversation):
                continue
            tally.add(found.tally)
            messages += len(found.messages)
            for file in (file for message in found.messages for file in message.files):
                with file.open() as stream:
                    files += len(stream.read())
        size, unpacked = archive.size, sum(member.size for member in archive.members)
    seconds = time.monotonic() - begun
    return (
        f"{size / MB:.0f} MB, unpacked {unpacked / MB:.0f} MB: {dict(kinds)}, {messages} messages "
        f"of {tally.kept} nodes, {files / MB:.0f} MB of files, {len(tally.missing)} missing; "
        f"{seconds:.0f} s; {_peak_mb():.0f} MB of memory at the most, {before:.0f} MB before"
    )


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    sys.exit(main())
