"""Run the benchmarks: ``python -m benchmarks [--quick] [--only NAME]``."""

import argparse
import importlib
import pkgutil
import time
from collections.abc import Iterator
from pathlib import Path

import benchmarks

from . import report
from .figure import draw_growth
from .harness import Job, Outcome, measure, missing_peers
from .roofline import best_of, measure_roofline

RESULTS = Path(__file__).parent / "results"
STANDARD_EFFORT = {"budget": 0.5, "fewest": 3}


def families() -> list[str]:
    """Return the names of the ``jobs_*`` modules, without the prefix."""
    modules = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return [name.removeprefix("jobs_") for name in modules if name.startswith("jobs_")]


def selected_jobs(family: str, only: str | None) -> Iterator[Job]:
    """Yield the family's jobs one by one, so that only one job's arrays are alive."""
    if only != family and only in families():
        return
    for job in importlib.import_module(f"benchmarks.jobs_{family}").jobs():
        if only is None or only == family or only in job.name:
            yield job


def main() -> int:
    """Run, print, and for a full run write the results folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats")
    parser.add_argument(
        "--only", metavar="NAME", help="a family, a job, or a part of a job's name"
    )
    arguments = parser.parse_args()
    effort = {"budget": 0.1, "fewest": 1} if arguments.quick else STANDARD_EFFORT

    start = time.perf_counter()
    roofline = measure_roofline()
    outcomes: list[Outcome] = []
    for family in families():
        for job in selected_jobs(family, arguments.only):
            size = report.describe_size(job.size)
            print(f"{family}: {job.name} {job.variant} {size} {job.dtype}", flush=True)
            outcomes.append(measure(job, family, **effort))
        roofline = best_of(roofline, measure_roofline())
    if not outcomes:
        parser.error(f"no job matches {arguments.only!r}; families: {families()}")

    text = report.table(outcomes, roofline) + "\n" + report.targets_table(outcomes)
    for module in missing_peers():
        text += f"{module}: not installed, skipped\n"
    print(f"\n{text}\n{time.perf_counter() - start:.0f} s in all")
    if arguments.only is None and not arguments.quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "standard.txt").write_text(text)
        (RESULTS / "standard.json").write_text(report.as_json(outcomes, roofline))
        draw_growth(outcomes, roofline, RESULTS)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
