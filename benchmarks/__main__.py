"""Run the benchmarks: ``python -m benchmarks [--quick] [--only NAME]``."""

import argparse
import importlib
import math
import os
import pkgutil
import time
from collections.abc import Iterator
from pathlib import Path

import benchmarks

from . import report
from .harness import Job, Outcome, measure, missing_peers
from .roofline import best_of, measure_roofline
from .units import describe_size

RESULTS = Path(__file__).parent / "results"
STANDARD_EFFORT = {"budget": 0.25, "fewest": 2}
SMALL = 200_000


def families() -> list[str]:
    """Return the names of the ``jobs_*`` modules, without the prefix."""
    modules = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return [name.removeprefix("jobs_") for name in modules if name.startswith("jobs_")]


def selected_jobs(family: str, only: str | None, small: bool) -> Iterator[Job]:
    """Yield the family's jobs one by one, so that only one job's arrays are alive."""
    if only != family and only in families():
        return
    module = importlib.import_module(f"benchmarks.jobs_{family}")
    if only is None and not getattr(module, "STANDARD", True):
        return
    for job in module.jobs():
        chosen = only is None or only == family or only in job.name
        entries = math.prod(job.size.get(axis, 1) for axis in ("n", "K"))
        if chosen and not (small and entries > SMALL):
            yield job


def main() -> int:
    """Run, print, and write the results folder for a full run, or that of a family."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats")
    parser.add_argument(
        "--only", metavar="NAME", help="a family, a job, or a part of a job's name"
    )
    parser.add_argument("--small", action="store_true", help="only small inputs")
    parser.add_argument(
        "--results", type=Path, metavar="FOLDER", help="write there, whatever was run"
    )
    arguments = parser.parse_args()
    effort = {"budget": 0.1, "fewest": 1} if arguments.quick else STANDARD_EFFORT

    start, processor_start = time.perf_counter(), time.process_time()
    load = [os.getloadavg()[0]]
    roofline = measure_roofline()
    outcomes: list[Outcome] = []
    for family in families():
        n_before = len(outcomes)
        for job in selected_jobs(family, arguments.only, arguments.small):
            size = describe_size(job.size)
            title = report.title_of(job)
            print(f"{family}: {title} {size} {job.dtype}", end="", flush=True)
            begun = time.perf_counter()
            outcomes.append(measure(job, family, **effort))
            print(f" ({time.perf_counter() - begun:.1f} s)", flush=True)
        if len(outcomes) > n_before:
            roofline = best_of(roofline, measure_roofline())
    if not outcomes:
        parser.error(f"no job matches {arguments.only!r}; families: {families()}")

    load.append(os.getloadavg()[0])
    text = report.table(outcomes, roofline) + "\n" + report.targets_table(outcomes)
    for module in missing_peers():
        text += f"{module}: not installed, skipped\n"
    taken, processor = time.perf_counter() - start, time.process_time()
    print(
        f"\n{text}\n{taken:.0f} s in all, {processor - processor_start:.0f} s of it "
        f"on a processor; load {load[0]:.1f} before and {load[1]:.1f} after"
    )
    of_family = arguments.only in families()
    whole = arguments.only is None or of_family
    if arguments.results or (whole and not (arguments.quick or arguments.small)):
        folder = arguments.results or RESULTS
        folder.mkdir(parents=True, exist_ok=True)
        if arguments.only is None:
            for family in {outcome.family for outcome in outcomes}:
                (folder / f"{family}.json").unlink(missing_ok=True)  # measured again
        stem = arguments.only if of_family else "standard"
        (folder / f"{stem}.json").write_text(
            report.as_json(outcomes, roofline, load, missing_peers())
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
