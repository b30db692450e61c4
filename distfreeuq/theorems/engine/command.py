"""``python -m distfreeuq verify`` and ``search``: the checker on the command line."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from distfreeuq._base.arguments import Arguments
from distfreeuq._version import __version__
from distfreeuq.exceptions import InputError
from distfreeuq.theorems.engine import registry
from distfreeuq.theorems.engine.checking import verify
from distfreeuq.theorems.engine.results import TheoremResult
from distfreeuq.theorems.engine.search_results import SearchResult
from distfreeuq.theorems.engine.searching import search

USAGE_ERROR = 2
"""The exit code for wrong usage, which is argparse's own too."""


def add_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> None:
    """Add the command ``verify``, which `run` runs."""
    parser = commands.add_parser(
        "verify",
        help="check the theorems by simulation",
        description=(
            "Check theorems by simulation, and that broken variants are caught. Exit "
            "code 0: every theorem holds and every control was caught. 1: a theorem is "
            "violated, or a control was not caught. 2: wrong usage. 3: nothing is "
            "violated, but a theorem is undecided."
        ),
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="theorems to check (default: all)"
    )
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument(
        "--fast",
        dest="effort",
        action="store_const",
        const="fast",
        default="fast",
        help="minutes (the default)",
    )
    effort.add_argument(
        "--thorough",
        dest="effort",
        action="store_const",
        const="thorough",
        help="a third of the tolerances, nine times the draws",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes; -1: all cores"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
    parser.add_argument("--json", metavar="FILE", help="write every claim to a file")
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")
    parser.add_argument(
        "--list", action="store_true", help="list the theorems, check nothing"
    )


def add_search_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> None:
    """Add the command ``search``, which `run_search` runs."""
    parser = commands.add_parser(
        "search",
        help="search for counterexamples to theorems",
        description=(
            "Try random designs, and judge the worst afresh. Exit code 0: no "
            "counterexample was found, which proves nothing. 1: a design violates its "
            "theorem. 2: wrong usage."
        ),
    )
    parser.set_defaults(run=run_search)
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help="theorems, or families: 'label-shift' is all of its theorems with designs",
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="for all theorems together, in equal parts (default 60)",
    )
    parser.add_argument(
        "--designs",
        type=int,
        metavar="N",
        help="designs of each theorem to try, whatever the time",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes; -1: all cores"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
    parser.add_argument("--json", metavar="FILE", help="write the worst to a file")
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")


def run_search(options: argparse.Namespace) -> int:
    """Search, print the worst designs, and return the exit code."""
    try:
        chosen = searched(options.names)
        if options.json is not None:
            _writable(Path(options.json), "search")
        results = []
        for name in chosen:
            result = search(
                name,
                options.budget / len(chosen),
                n_designs=options.designs,
                rng=options.seed,
                n_jobs=options.jobs,
                progress=not options.quiet,
            )
            results.append(result)
            print(result.summary().as_text(), end="\n\n", flush=True)
    except InputError as error:
        print(error, file=sys.stderr)
        return USAGE_ERROR
    print("\n".join(repr(result) for result in results))
    if options.json is not None:
        text = json.dumps([as_search_document(result) for result in results], indent=1)
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    return int(any(result.violated for result in results))


def searched(names: list[str]) -> list[str]:
    """Return the theorems that are named, and those of named families with designs."""
    chosen: list[str] = []
    for name in names:
        if name in registry.names():
            chosen.append(name)
            continue
        several = registry.family(name)
        having = [one for one in several if registry.get(one).designs is not None]
        if not having:
            must = "of a family in which some theorem declares designs"
            Arguments("search").invalid("name", must, repr(name))
        chosen += having
    return list(dict.fromkeys(chosen))


def run(options: argparse.Namespace) -> int:
    """Check what was asked for, print the table, and return the exit code."""
    if options.list:
        print(listing())
        return 0
    try:
        chosen = [registry.get(name) for name in options.names or registry.names()]
        if options.json is not None:
            _writable(Path(options.json), "verify")
        start = time.perf_counter()
        result = verify(
            chosen,
            effort=options.effort,
            n_jobs=options.jobs,
            progress=not options.quiet,
            rng=options.seed,
        )
    except InputError as error:
        print(error, file=sys.stderr)
        return USAGE_ERROR
    seconds = time.perf_counter() - start
    print(result.summary(seconds=True).as_text())
    print(f"\n{result!r} in {seconds:.0f} seconds")
    if options.json is not None:
        text = json.dumps(as_document(result, seconds), indent=1)
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    return result.exit_code


def listing() -> str:
    """Return a line per theorem."""
    several = [registry.get(name) for name in registry.names()]
    width = max(len(theorem.name) for theorem in several)
    return "\n".join(f"{t.name:{width}}  {t.title} ({t.reference})" for t in several)


def as_document(result: TheoremResult, seconds: float) -> dict[str, Any]:
    """Return everything that was found, as JSON has it."""
    return {
        "distfreeuq": __version__,
        "seed": result.seed,
        "effort": result.effort,
        "error": result.error,
        "exit_code": result.exit_code,
        "seconds": seconds,
        "theorems": [
            {
                **asdict(theorem),
                "verdict": result.verdicts[theorem.name],
                "experiments": result.outcomes(theorem.name),
                "controls": result.outcomes(theorem.name, control=True),
            }
            for theorem in result.theorems
        ],
        "claims": result.to_frame().to_dict(orient="records"),
    }


def as_search_document(result: SearchResult) -> dict[str, Any]:
    """Return what a search found, as JSON has it."""
    return {
        "distfreeuq": __version__,
        "theorem": result.theorem.name,
        "family": result.theorem.family,
        "seed": result.seed,
        "violated": result.violated,
        "designs": result.n_designs,
        "exact": result.n_exact,
        "worst": result.to_frame().to_dict(orient="records"),
    }


def _writable(path: Path, command: str) -> None:
    """Raise, before minutes of simulation, if the file could not be written."""
    if path.is_dir() or not path.parent.is_dir():
        must = "a file name in an existing folder"
        Arguments(command).invalid("json", must, repr(str(path)))
