"""Every benchmark: `python -m bench [--data DIRECTORY]`, about five minutes. The counting of
tokens, recall and the audit of summaries need a directory of data."""

import argparse
import subprocess
import sys
from pathlib import Path

from bench.processes import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--data", type=Path, help="holds tokens/, locomo/, beam/")
    options = parser.parse_args()
    commands = [["bench.turn"], ["bench.length"], ["bench.pages"], ["bench.streaming"]]
    commands += [["bench.search"]]
    if options.data:
        data = str(options.data.resolve())
        commands += [["bench.tokens", "--data", data], ["bench.recall", "--data", data]]
        commands += [["bench.audit", "--data", data]]
    # One process each: Django reads its settings once.
    codes = [
        subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode
        for command in commands
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
