"""``python -m tests.fuzz run`` makes random calls; ``one`` makes those of one seed."""

import argparse
import os
import sys
import time
from pathlib import Path

from tests.fuzz.runner import Tally, run
from tests.fuzz.worker import import_first


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    commands = parser.add_subparsers(required=True)
    many = commands.add_parser("run", help="random calls of everything public")
    many.add_argument("--calls", type=int, default=100_000)
    many.add_argument("--seed", type=int, default=0)
    many.add_argument("--jobs", type=int, default=2)
    many.add_argument("--journal", type=Path, help="file to continue, or to begin")
    many.set_defaults(command=_run)
    one = commands.add_parser("one", help="the calls of one finding again")
    one.add_argument("function")
    one.add_argument("seed", type=int)
    one.set_defaults(command=_one)
    options = parser.parse_args()
    code: int = options.command(options)
    return code


def _run(options: argparse.Namespace) -> int:
    tally, began, told = Tally(), time.monotonic(), 0.0
    for tally in run(options.calls, options.seed, options.jobs, options.journal):
        if time.monotonic() - told > 10.0:
            told = time.monotonic()
            found = sum(tally.findings.values())
            print(f"{tally.calls} calls, {found} findings", file=sys.stderr)
    print(report(tally))
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if tally.findings else 0


def report(tally: Tally) -> str:
    """Return counts, and every finding with the command that makes it again."""
    lines = [
        f"calls {tally.calls}, returned {tally.returned}, refused with an InputError "
        f"{tally.refused}, findings {sum(tally.findings.values())}"
    ]
    lines += [f"  {kind}: {count}" for kind, count in sorted(tally.by_kind().items())]
    for key, count in sorted(tally.findings.items()):
        text, name, seed = tally.examples[key]
        lines.append(f"{count:6d}  {key[0]}: {text}")
        lines.append(f"        python -m tests.fuzz one {name} {seed}")
    return "\n".join(lines)


def _one(options: argparse.Namespace) -> int:
    import_first()
    from tests.fuzz import fitted
    from tests.fuzz.case import calls_of

    bad = 0
    os.chdir(fitted.folder())  # a hostile file name may be a good one
    try:
        for call in calls_of(options.function, options.seed):
            print(call.name)
            for name, value in call.arguments.items():
                try:
                    print(f"    {name} = {value!r}")
                except Exception as error:
                    print(f"    {name} has no text: {error}")
            outcome = call.outcome
            said = "returned" if outcome.returned else "refused" * outcome.refused
            print(f"  {said or 'raised'}")
            for kind, text in outcome.findings:
                bad += 1
                print(f"  {kind}: {text}")
            if outcome.trace:
                print(outcome.trace)
    finally:
        fitted.remove_folder()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
