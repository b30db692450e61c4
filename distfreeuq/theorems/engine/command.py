"""``python -m distfreeuq verify``: the checker on the command line."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from distfreeuq._version import __version__
from distfreeuq.exceptions import InputError
from distfreeuq.theorems.engine import registry
from distfreeuq.theorems.engine.checking import verify
from distfreeuq.theorems.engine.results import TheoremResult

USAGE_ERROR = 2
"""As argparse's own."""


def run(options: Namespace) -> int:
    """Check what was asked for, print the table, and return the exit code."""
    if options.list:
        print(listing())
        return 0
    try:
        chosen = [registry.get(name) for name in options.names or registry.names()]
        if options.json is not None:
            _writable(Path(options.json))
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


def _writable(path: Path) -> None:
    """Refuse before minutes of simulation what could not be written after them."""
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(
            "The 'json' option of verify must be a file name in an existing folder. "
            f"Got {str(path)!r} instead."
        )
