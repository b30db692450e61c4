"""Instruction counts of the kernels against stored ones: ``make bench-guard``.

Times on a shared machine wobble by more than a regression costs; the instructions that
a fixed input takes do not. Valgrind's callgrind counts them, on the processor that it
emulates: with AVX2, without AVX-512, one thread. They depend on the compiler and on
NumPy, whose versions are stored with them.

``--update`` stores the counts of this build, after a change that is meant to cost or
to save. ``--plant 0.1`` gives every case a tenth more rows, a slowdown that the guard
has to catch: the exit status is then 0 if it did.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

STORED = Path(__file__).parent / "instructions.json"
ROWS = 300
TOLERANCE = 0.03
CALL_TOLERANCE = 0.15
"""Share by which calls on small inputs may grow: most of them is Python's own work."""

MARKS = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char *name)
{ CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""


def compiler() -> str:
    """Return the first line of what the C compiler says of itself."""
    command = os.environ.get("CC", "cc").split()
    said = subprocess.run([*command, "--version"], capture_output=True, text=True)
    return said.stdout.splitlines()[0] if said.returncode == 0 else "unknown"


def environment() -> dict[str, str]:
    """Return what the counts depend on."""
    return {
        "compiler": compiler(),
        "numpy": np.__version__,
        "python": ".".join(map(str, sys.version_info[:2])),
    }


def count_instructions(rows: int) -> dict[str, int]:
    """Return the instructions of every case, by running all of them in valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise SystemExit(
            "valgrind is not installed, and the guard counts instructions with it. "
            "On Debian or Ubuntu:  apt-get install valgrind"
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = build_marks(folder)
        command = [
            valgrind,
            "--tool=callgrind",
            "--instr-atstart=no",
            f"--callgrind-out-file={folder / 'counts'}",
            sys.executable,
            "-m",
            "benchmarks.guard_cases",
            str(library),
            str(rows),
        ]
        run = subprocess.run(
            command,
            env={
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "OPENBLAS_NUM_THREADS": "1",
                "PYTHONHASHSEED": "0",
            },
            capture_output=True,
            text=True,
        )
        if run.returncode:
            raise SystemExit(f"valgrind failed:\n{run.stderr[-3000:]}")
        return dict(
            found
            for path in sorted(folder.glob("counts.*"), key=_number)
            if (found := read_dump(path)) is not None
        )


def build_marks(folder: Path) -> Path:
    """Compile the two functions that tell callgrind where a case begins and ends."""
    source, library = folder / "marks.c", folder / "marks.so"
    source.write_text(MARKS)
    command = [*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", "-O1"]
    built = subprocess.run(
        [*command, str(source), "-o", str(library)], capture_output=True, text=True
    )
    if built.returncode:
        raise SystemExit(
            "The marks could not be compiled; they need valgrind's own header, which "
            f"its package brings:\n{built.stderr}"
        )
    return library


def _number(path: Path) -> int:
    return int(path.suffix[1:])


def read_dump(path: Path) -> tuple[str, int] | None:
    """Return a dump's case and count, None for the dump at the end of the run."""
    text = path.read_text()
    name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
    total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
    return (name[1], int(total[1])) if name and total else None


def judge(counts: dict[str, int], stored: dict[str, Any]) -> list[str]:
    """Return a line for every case that takes more than it may, or is missing."""
    failures = []
    for name, before in stored["counts"].items():
        now = counts.get(name)
        if now is None:
            failures.append(f"{name}: stored, but not counted")
        elif now > before * (1.0 + tolerance_of(name)):
            failures.append(f"{name}: {now / before - 1.0:+.1%}")
    failures += [f"{name}: not stored" for name in counts.keys() - stored["counts"]]
    return failures


def tolerance_of(name: str) -> float:
    """Return the share that a case may grow by."""
    return CALL_TOLERANCE if name.startswith("call: ") else TOLERANCE


def main() -> int:
    """Count, print, and compare or store."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard")
    parser.add_argument("--update", action="store_true", help="store these counts")
    parser.add_argument(
        "--plant", type=float, default=0.0, metavar="SHARE", help="so many more rows"
    )
    arguments = parser.parse_args()
    counts = count_instructions(round(ROWS * (1.0 + arguments.plant)))
    if arguments.update:
        whole = {"environment": environment(), "rows": ROWS, "counts": counts}
        STORED.write_text(json.dumps(whole, indent=1) + "\n")
        print(f"{len(counts)} counts stored in {STORED.name}")
        return 0
    stored = json.loads(STORED.read_text())
    if stored["environment"] != environment():
        print(
            f"Stored counts are of {stored['environment']}, these of {environment()}: "
            "small differences may come from there."
        )
    for name, now in counts.items():
        before = stored["counts"].get(name)
        change = f"{now / before - 1.0:+8.2%}" if before else "     new"
        print(f"{name:44}{now:16,}{change}")
    failures = judge(counts, stored)
    if arguments.plant:
        n_caught = len(failures)
        n_kernels = sum(not name.startswith("call: ") for name in counts)
        print(
            f"{n_caught} of {n_kernels} kernels caught with {arguments.plant:.0%} "
            "more rows"
        )
        return 0 if n_caught >= 0.9 * n_kernels else 1
    for line in failures:
        print(f"FAILED  {line}")
    print("instruction counts: " + ("FAILED" if failures else "within the tolerance"))
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
