"""What a run leaves behind: a table to read, and a JSON with everything in it."""

import json
import platform
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import distfreeuq as dfu

from .harness import Job, Outcome, Timing
from .roofline import Roofline
from .targets import judge
from .units import bytes_text, describe_size, seconds_text

_PACKAGES = (
    "distfreeuq",
    "numpy",
    "scipy",
    "scikit-learn",
    "mapie",
    "netcal",
    "torch",
    "abstention",
    "quapy",
    "uncertainty-calibration",
    "densratio",
    "venn-abers",
    "betacal",
    "dirichletcal",
    "relplot",
)


def environment() -> dict[str, Any]:
    """Return the processor and the versions: what a ratio depends on, and no more."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "cpu": _cpu_name(),
        "threads": dfu.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions,
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2] for line in lines if line.startswith("model name"))
    return next(names, platform.processor()).strip()


# ------------------------------------------------------------------------ table


def table(outcomes: Sequence[Outcome], roofline: Roofline) -> str:
    """Return all timings: times, ratios to ours, memory, fraction of the roofline."""
    lines = [
        "Ratio: time over ours on 1 and on 2 threads; above 1 we are faster.",
        "Peak: largest memory of NumPy and Python, results included.",
        "Limit: share of the time that one read of the input at full speed would take,",
        "or, with an e, that the exponentials alone would take.",
        f"Read bandwidth {roofline.read[1] / 1e9:.1f} GB/s on one thread, "
        f"{roofline.read[2] / 1e9:.1f} GB/s on two; "
        f"{roofline.exponentials[1] / 1e6:.0f} million exponentials/s on one, "
        f"{roofline.exponentials[2] / 1e6:.0f} on two.",
        "",
        *_busy_lines(outcomes),
    ]
    header = [
        "job",
        "size",
        "dtype",
        "implementation",
        "time",
        "ratio",
        "",
        "peak",
        "limit",
    ]
    cells = [header]
    for outcome in outcomes:
        cells.extend(_job_rows(outcome, roofline))
        cells.append([""] * len(header))
    return "\n".join(lines + _aligned(cells, text_columns=4)) + "\n"


BUSY = 0.1
"""Share of waiting from which on a time is marked."""


def _busy_lines(outcomes: Sequence[Outcome]) -> list[str]:
    timings = [timing for outcome in outcomes for timing in outcome.timings]
    n_waited = sum(timing.waited > BUSY for timing in timings)
    if not n_waited:
        return []
    return [
        f"The machine was busy: {n_waited} of {len(timings)} times, marked by *, were",
        "spent waiting for a processor for more than a tenth.",
        "",
    ]


def _job_rows(outcome: Outcome, roofline: Roofline) -> Iterable[list[str]]:
    job = outcome.job
    first = [title_of(job), describe_size(job.size), job.dtype]
    for timing in outcome.timings:
        ratios = [f"{outcome.ratio(timing, t):.2f}" for t in job.threads]
        yield [
            *first,
            implementation_name(timing.name, timing.threads),
            seconds_text(timing.seconds) + ("*" if timing.waited > BUSY else ""),
            *[*ratios, ""][:2],
            bytes_text(timing.peak_bytes),
            _limit_text(outcome, timing, roofline),
        ]
        first = ["", "", ""]


def _limit_text(outcome: Outcome, timing: Timing, roofline: Roofline) -> str:
    kind, fraction = limit_fraction(outcome, timing, roofline)
    return f"{fraction:.2f}{kind}" if fraction else ""


def limit_fraction(
    outcome: Outcome, timing: Timing, roofline: Roofline
) -> tuple[str, float]:
    """Return which limit binds ("" for memory, "e" for exp), and how close we are."""
    job, threads = outcome.job, max(timing.threads, 1)
    reading = job.reads / roofline.read[threads]
    taking_exponentials = job.exponentials / roofline.exponentials[threads]
    kind = "e" if taking_exponentials > reading else ""
    return kind, max(reading, taking_exponentials) / timing.seconds


def targets_table(outcomes: Sequence[Outcome]) -> str:
    """Return which targets are met."""
    cells = [["target", "size", "wanted", "1 thread", "2 threads", "verdict"]]
    for outcome in outcomes:
        title, size = title_of(outcome.job), describe_size(outcome.job.size)
        for target in outcome.job.targets:
            found = judge(outcome, target)
            row = [title, f"{size} {outcome.job.dtype}", found.wanted]
            cells.append([*row, *found.got, found.verdict])
    return "\n".join(_aligned(cells, text_columns=3)) + "\n" if len(cells) > 1 else ""


def _aligned(cells: list[list[str]], text_columns: int) -> list[str]:
    widths = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
    return [
        "  ".join(
            cell.ljust(width) if j < text_columns else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def implementation_name(name: str, threads: int) -> str:
    """Return the name as printed, ours with its threads (peers have 0)."""
    return f"{name}, {threads} thread{'s' if threads > 1 else ''}" if threads else name


def title_of(job: Job) -> str:
    """Return the name with its variant."""
    return f"{job.name}, {job.variant}" if job.variant else job.name


# ------------------------------------------------------------------------- JSON


def as_json(
    outcomes: Sequence[Outcome],
    roofline: Roofline,
    load: Sequence[float],
    missing: Sequence[str],
) -> str:
    """Return the whole run: no host names, no paths, no dates."""
    jobs = [
        {
            "family": outcome.family,
            "name": outcome.job.name,
            "variant": outcome.job.variant,
            "size": dict(outcome.job.size),
            "dtype": outcome.job.dtype,
            "reads": outcome.job.reads,
            "exponentials": outcome.job.exponentials,
            "timings": [
                {
                    "implementation": timing.name,
                    "threads": timing.threads,
                    "yardstick": timing.name in outcome.job.yardsticks,
                    "seconds": timing.seconds,
                    "median": timing.median,
                    "processor": timing.processor,
                    "waited": timing.waited,
                    "runs": timing.runs,
                    "peak_bytes": timing.peak_bytes,
                    "ratios": _ratios(outcome, timing),
                    "limit": limit_fraction(outcome, timing, roofline)[1],
                    "limit_kind": limit_fraction(outcome, timing, roofline)[0],
                }
                for timing in outcome.timings
            ],
            "targets": [
                judge(outcome, target).as_dict() for target in outcome.job.targets
            ],
        }
        for outcome in outcomes
    ]
    whole = {
        "environment": environment(),
        "load": [round(number, 2) for number in load],
        "missing": list(missing),
        "roofline": {
            "read_bytes_per_second": roofline.read,
            "exponentials_per_second": roofline.exponentials,
        },
        "jobs": jobs,
    }
    return json.dumps(whole, indent=1) + "\n"


def _ratios(outcome: Outcome, timing: Timing) -> dict[int, float]:
    return {threads: outcome.ratio(timing, threads) for threads in outcome.job.threads}
