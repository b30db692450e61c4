"""Damage and forge a file of every kind, kill processes that write; print counts.

Each file is dealt with by a process of its own, so that one that crashes is counted.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.reliability import damage, kills
from tests.reliability.forging import FILES, ONE_OF_EACH_KIND

Counts = collections.Counter[str]
GOOD = {
    "lines": ("refused", "same result"),
    "bytes": ("refused", "same result"),
    "text": ("refused", "same result"),
    "forged": ("refused", "taken, harmless"),
    "save": ("killed", "killed in mid-write", "whole file"),
    "journal": ("killed", "last line torn", "file right", "studies", "table right"),
}
HOW = {
    "bytes": "files with one byte changed, or cut short",
    "text": "tallies as JSON with one character changed, or cut short",
    "lines": "journals with one byte changed, or cut short",
    "forged": "files with something changed and a good digest",
    "save": "processes killed while they saved",
    "journal": "runs of simulate killed while they wrote",
}


def main() -> int:
    """Run what was asked for; return 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability")
    parser.add_argument("what", nargs="*", default=list(HOW), help=", ".join(HOW))
    parser.add_argument("--every", type=int, default=1, help="take one in so many")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        print(json.dumps(_one_file(options.what[0], Path(options.file), options.every)))
        return 0
    found = 0
    for what in options.what:
        counts = _counts(what, options)
        print(f"{HOW[what]}: {_told(counts)}", flush=True)
        found += sum(counts[key] for key in counts.keys() - set(GOOD[what]))
    return int(found > 0)


def _one_file(what: str, path: Path, every: int) -> Counts:
    run = damage.damage_bytes if what == "bytes" else damage.forge_file
    return run(path, every=every)


def _counts(what: str, options: argparse.Namespace) -> Counts:
    if what == "lines":
        return damage.damage_journal(every=options.every)
    if what == "text":
        tallies = [path for path in FILES if path.stem.startswith("tally")]
        every = options.every
        return sum(
            (damage.damage_text(path, every=every) for path in tallies), Counts()
        )
    if what == "save":
        return kills.kill_while_saving(options.kills)
    if what == "journal":
        return kills.kill_while_simulating(options.kills)
    with ThreadPoolExecutor(options.jobs) as pool:
        files = ONE_OF_EACH_KIND if what == "bytes" else FILES
        each = pool.map(lambda path: _in_process(what, path, options.every), files)
        return sum(each, Counts())


def _in_process(what: str, path: Path, every: int) -> Counts:
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.reliability", what]
    ran = subprocess.run(
        [*command, "--every", str(every), "--file", str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "agg"},
    )
    if ran.returncode:
        print(ran.stderr[-3000:], file=sys.stderr)
        return Counts({f"crash or hang ({path.stem}, {ran.returncode})": 1})
    return Counts(json.loads(ran.stdout.splitlines()[-1]))  # solvers may print too


def _told(counts: Counts) -> str:
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    told = ", ".join(f"{n} {key}" for key, n in ordered)
    return told if "killed" in counts else f"{counts.total()} in all; {told}"


if __name__ == "__main__":
    sys.exit(main())
