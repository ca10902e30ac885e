"""The benchmarks that need nothing but this package, one after another: `python -m bench`. With a
directory of data (`--data DIRECTORY`) those that measure what is found and kept in it, too. The
others are commands of their own: docs/performance.md lists them."""

import argparse
import subprocess
import sys
from pathlib import Path

from bench.processes import ROOT

SPEED = ("turn", "length", "pages", "streaming", "search", "audit")
QUALITY = ("tokens", "recall", "compaction")  # of DIRECTORY


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--data", type=Path, help="holds tokens/, locomo/, beam/")
    options = parser.parse_args()
    commands = [[f"bench.{name}"] for name in SPEED]
    if options.data:
        data = str(options.data.resolve())
        commands += [[f"bench.{name}", "--data", data] for name in QUALITY]
    # One process each: Django reads its settings once.
    codes = [
        subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode
        for command in commands
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
