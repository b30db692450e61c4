"""Docs page, README's table and figure, from the stored results of the last full run.

``python -m benchmarks.pages`` draws the README's figure, and writes
``docs/benchmarks.md`` and what stands between the two marks in ``README.md``. It
measures nothing. ``--print FOLDER`` prints page and table instead, of the results in
that folder. The figures of the docs page are drawn when the site is built.
"""

import csv
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .figure import draw_headlines, panels_by_family
from .harness import OURS
from .report import BUSY
from .targets import MISSED
from .units import bytes_text, describe_size, seconds_text

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
START, END = "<!-- speed table: begin -->", "<!-- speed table: end -->"

FAMILIES = {
    "sets": "Prediction sets",
    "scores": "Scores and validation",
    "quantile": "Quantiles and thresholds",
    "metrics": "Metrics and assessment",
    "scaling": "Calibration by scaling",
    "calibrators": "Other calibrators, and predict",
    "probability_maps": "Maps of probabilities, and errors without bins",
    "binning": "Bins of scores",
    "more_bins": "Bins of matrices, evaluation of sets",
    "label_shift": "Label shift, large",
    "shift_sizes": "Label shift, three sizes",
    "covariate_shift": "Covariate shift, three sizes",
    "density_ratio": "Density ratios, large",
    "feature_learning": "Feature learning",
    "overhead": "Small inputs",
    "large": "Up to a hundred million rows",
}

ON_BUSY = """
The machine was too busy for a clock: times and ratios of this table are those of the
processor, summed over threads, of ours on one thread.
"""

Job = dict[str, Any]


def main() -> None:
    """Write both."""
    printing = sys.argv[1:2] == ["--print"]
    folder = Path(sys.argv[2]) if printing else RESULTS
    stems = dict.fromkeys(("standard", "large", *FAMILIES))
    paths = [folder / f"{stem}.json" for stem in stems]
    runs = [json.loads(path.read_text()) for path in paths if path.exists()]
    runs = without_older(runs)
    if not runs:
        raise SystemExit("no results yet: run  python -m benchmarks  first")
    if printing:
        print(page(runs), *headline(runs[0]), sep="\n")
        return
    draw_headlines(runs[0], RESULTS / "growth.svg")
    (ROOT / "docs" / "benchmarks.md").write_text(page(runs))
    index = ROOT / "docs" / "index.md"
    contents = index.read_text()
    if "\nbenchmarks\n" not in contents:
        index.write_text(contents.replace("\ntheory\n", "\ntheory\nbenchmarks\n"))
    readme = ROOT / "README.md"
    text = readme.read_text()
    if START in text and END in text:
        before, _, rest = text.partition(START)
        _, _, after = rest.partition(END)
        table = "\n".join(headline(runs[0]))
        readme.write_text(f"{before}{START}\n{table}\n{END}{after}")
    print("docs/benchmarks.md and README.md written")


def of_processor(run: dict[str, Any]) -> dict[str, Any]:
    """Return a run with processor times in place of the clock's, ours on one thread."""
    jobs = []
    for job in run["jobs"]:
        kept = [t for t in job["timings"] if t["threads"] < 2]
        ours = next(t["processor"] for t in kept if t["implementation"] == OURS)
        timings = [
            {
                **timing,
                "seconds": timing["processor"],
                "ratios": {"1": timing["processor"] / ours},
                "limit": 0.0,
            }
            for timing in kept
        ]
        jobs.append({**job, "timings": timings})
    return {**run, "jobs": jobs}


def is_busy(run: dict[str, Any]) -> bool:
    """Return whether more than a tenth of the times had to wait for a processor."""
    timings = [timing for job in run["jobs"] for timing in job["timings"]]
    return sum(timing["waited"] > BUSY for timing in timings) > BUSY * len(timings)


def without_older(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out jobs of the first run whose family has been run by itself."""
    own = {run["jobs"][0]["family"] for run in runs[1:]}
    kept = [
        {**run, "jobs": [job for job in run["jobs"] if job["family"] not in own]}
        for run in runs[:1]
    ]
    return [*kept, *runs[1:]]


def page(runs: list[dict[str, Any]]) -> str:
    """Return the docs page."""
    first = runs[0]
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench` (`python -m benchmarks.pages`) from",
        "`benchmarks/results/`; do not edit. Every implementation is given the same",
        "arrays, results are checked to be equal before anything is timed, and a time",
        "is the best of several interleaved runs. A ratio is another's time over ours:",
        "above 1 we are faster. Memory is the peak of NumPy and Python, results",
        "included. The limit is the share of our time that one read of the input at",
        "full bandwidth, or the exponentials alone (e), would take. The figures are",
        "drawn with the site, by `make docs`.",
        "",
        *environment_lines(first),
        "",
        "## Targets",
        "",
        *targets(runs),
        "",
    ]
    drawn = panels_by_family(first)
    measured = [job["family"] for run in runs for job in run["jobs"]]
    for family in dict.fromkeys((*FAMILIES, *measured)):
        jobs = [j for run in runs for j in run["jobs"] if j["family"] == family]
        if not jobs:
            continue
        title = FAMILIES.get(family, family.replace("_", " ").capitalize())
        lines += [f"## {title}", ""]
        for run in runs[1:]:
            if run["jobs"][0]["family"] == family:
                lines += ["Measured in a run of its own:", ""]
                lines += [*environment_lines(run), ""]
                if is_busy(run):
                    lines += [*textwrap.wrap(ON_BUSY.strip(), 78), ""]
                    jobs = of_processor(run)["jobs"]
        if family in drawn:
            place = f"growth/growth-{family}.svg"
            lines += [f"![Growth of times: {title.lower()}]({place})", ""]
        lines += [*family_table(jobs), ""]
    lines += ["## Thousands of classes", "", *many_classes(), ""]
    lines += ["## Rows beyond memory", "", *many_rows(), ""]
    return "\n".join(lines)


def many_classes() -> Iterator[str]:
    """Yield the table of sets where classes are many, and how it was made."""
    yield (
        "`python -m benchmarks.many_classes` runs each method in a process of its own, "
        "on drawn rows: n of each sample, source classes in equal proportions (at "
        "n = 30,000 three rows of each), the target's in proportion to an exponential "
        "variable each. Times are the processor's on one thread of an otherwise idle "
        "machine; much of what ten thousand classes take is the system's, for fresh "
        "memory, and differs by a factor of two from run to run. Memory is the peak "
        "beyond the rows and what was in use to draw them. The fit includes the "
        "weights."
    )
    yield ""
    with (RESULTS / "many-classes.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    yield "| " + " | ".join(header) + " |"
    yield "|---:|---:|---|" + "---:|" * (len(header) - 3)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def many_rows() -> Iterator[str]:
    """Yield the tables of fits to rows on disk and of growing rows, and the targets."""
    yield (
        "`python -m benchmarks.many_rows 1e8` writes a hundred million rows of ten "
        "classes in single precision, 4 GB, and fits to them in blocks of 100,000 "
        "rows. Each case is a process of its own, on one thread but where two workers "
        "are named. Times are the processor's, the least of several runs in turns, on "
        "two threads that some twenty other processes shared (`load`): they are longer "
        "than on a quiet machine, differ by a third from run to run, and say nothing "
        "of what a second worker gains. Memory is what is allocated beyond the start "
        "at most, without pages of the files. Pieces are the calls in memory on each "
        "block by itself, one after another."
    )
    yield ""
    with (RESULTS / "many-rows.csv").open(newline="") as file:
        found = {row["case"]: row for row in csv.DictReader(file)}
    columns = ("CPU s", "times pieces", "memory, MB", "passes", "load")
    yield f"| case | {' | '.join(columns)} |"
    yield "|---|" + "---:|" * len(columns)
    for case, row in found.items():
        yield f"| {case} | " + " | ".join(row[name] for name in columns) + " |"
    yield ""
    yield "| wanted | got | |"
    yield "|---|---:|---|"
    for wanted, number, limit, unit in _targets_of_many_rows(found):
        verdict = "met" if number <= limit else MISSED
        yield f"| {wanted} | {number:.3g}{unit} | {verdict} |"
    yield ""
    yield (
        "What lies between a fit to all rows and the pieces is fresh memory for what "
        "is gathered, and the sort of all scores where each piece sorts its own in the "
        "cache; under label shift labels are sorted along, and 17 bytes a row pass "
        "through a memory that others use as well. Selection gathers nothing, and "
        "reads the rows three times. Rows are scored and sorted by two workers at "
        "once; what that gains was not measured, since no processor was idle."
    )
    growing = RESULTS / "growing-rows.csv"
    if not growing.exists():
        return
    yield ""
    yield (
        "`python -m benchmarks.many_rows grow 1e9` fits to blocks of a million rows "
        "that are made as they are read, none of which is stored: tallies on a grid of "
        "1000 scores, and sets, which keep a score of each row."
    )
    yield ""
    yield "![Growth with the number of rows](growth/growing-rows.svg)"
    yield ""
    with growing.open(newline="") as file:
        header, *rows = csv.reader(file)
    yield "| " + " | ".join(header) + " |"
    yield "|---:|---|" + "---:|" * (len(header) - 2)
    for cells in rows:
        yield "| " + " | ".join(cells) + " |"


def _targets_of_many_rows(
    found: dict[str, dict[str, str]],
) -> Iterator[tuple[str, float, float, str]]:
    """Yield what was wanted, the number that was had, its limit, and the unit."""

    def number(case: str, column: str) -> float:
        return float(found[case][column])

    largest = max(number(case, "memory, MB") for case in found)
    yield "every fit under 3 GB beyond the files", largest, 3000.0, " MB"
    tallies = [case for case in found if "tally" in case]
    most = max(number(case, "memory, MB") for case in tallies)
    yield "tallies on a grid under 200 MB", most, 200.0, " MB"
    for what in ("split", "label shift"):
        ratio = number(f"blocks, {what}", "times pieces")
        yield f"{what} in blocks within 1.5 times the pieces", ratio, 1.5, "x"
    for what in ("split", "label shift", "tally on a grid"):
        dask = number(f"Dask 1 worker, {what}", "CPU s")
        ratio = dask / number(f"blocks, {what}", "CPU s")
        yield f"{what} of Dask within 1.1 times the same blocks", ratio, 1.1, "x"
    passes = number("blocks, thresholds by selection", "passes")
    yield "exact selection in four passes at most", passes, 4.0, ""


def environment_lines(run: dict[str, Any]) -> Iterator[str]:
    """Yield processor, versions, rates, and how busy the machine was."""
    there = run["environment"]
    versions = ", ".join(f"{name} {v}" for name, v in there["versions"].items())
    read = run["roofline"]["read_bytes_per_second"]
    exp = run["roofline"]["exponentials_per_second"]
    threads = f"{there['threads']} thread{'s' if there['threads'] > 1 else ''}"
    yield f"- Processor: {there['cpu']}, {threads}, {there['system']}."
    yield f"- Versions: {versions}."
    yield (
        f"- Read bandwidth: {read['1'] / 1e9:.1f} GB/s on one thread, "
        f"{read['2'] / 1e9:.1f} on two ({read['2'] / read['1']:.2f}x). Exponentials in "
        f"the cache: {exp['1'] / 1e6:.0f} million/s on one, {exp['2'] / 1e6:.0f} on "
        f"two ({exp['2'] / exp['1']:.2f}x)."
    )
    timings = [timing for job in run["jobs"] for timing in job["timings"]]
    busy = sum(timing["waited"] > BUSY for timing in timings)
    before, after = run["load"]
    yield (
        f"- Load of the machine: {before:.1f} before, {after:.1f} after; {busy} of "
        f"{len(timings)} times waited for a processor for more than a tenth."
    )
    if run["missing"]:
        yield f"- Not installed, and skipped: {', '.join(run['missing'])}."


def targets(runs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of all targets, and why some are missed."""
    yield "| job | size | wanted | 1 thread | 2 threads | |"
    yield "|---|---|---|---:|---:|---|"
    asked = [(j, t) for run in runs for j in run["jobs"] for t in j["targets"]]
    for job, target in asked:
        cells = [*job_cells(job), target["wanted"], *target["got"], target["verdict"]]
        yield "| " + " | ".join(cells) + " |"
    missed = [(job, target) for job, target in asked if target["verdict"] == MISSED]
    if missed:
        yield ""
        yield "Missed, and why:"
        yield ""
    for job, target in missed:
        name, size = job_cells(job)
        reason = target["if_missed"] or "not known yet"
        yield f"- {name}, {size}, {target['wanted']}: {reason}."


def job_cells(job: Job) -> list[str]:
    """Return name with its variant, and size with the precision."""
    name = f"{job['name']}, {job['variant']}" if job["variant"] else job["name"]
    size = describe_size(job["size"])
    return [name, size if job["dtype"] == "float64" else f"{size} {job['dtype']}"]


def our_timings(job: Job) -> list[dict[str, Any]]:
    """Return ours, on one thread and on two."""
    return [t for t in job["timings"] if t["implementation"] == OURS]


def others(job: Job) -> list[dict[str, Any]]:
    """Return the other implementations."""
    return [t for t in job["timings"] if t["implementation"] != OURS]


def family_table(jobs: list[Job]) -> Iterator[str]:
    """Yield a row per job: our times, and every other's ratio."""
    yield "| job | size | 1 thread | 2 threads | peak | limit | others: times slower |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for job in jobs:
        ours = our_timings(job)
        times = [seconds_text(t["seconds"]) for t in ours]
        ratios = [f"{t['implementation']} {t['ratios']['1']:.2f}" for t in others(job)]
        limit = ours[0]["limit"]
        cells = [
            *job_cells(job),
            *[*times, ""][:2],
            bytes_text(ours[0]["peak_bytes"]),
            f"{limit:.2f}{ours[0]['limit_kind']}" if limit else "",
            "; ".join(ratios),
        ]
        yield "| " + " | ".join(cells) + " |"


def headline(run: dict[str, Any]) -> Iterator[str]:
    """Yield the README's table: the jobs that have a target against another."""
    cpu = run["environment"]["cpu"]
    yield f"Times of others over ours, measured side by side in one run ({cpu}):"
    yield ""
    yield "| job | size | others | 1 thread | 2 threads |"
    yield "|---|---|---|---:|---:|"
    for job in run["jobs"]:
        asked = {target.get("against") for target in job["targets"]}
        for timing in others(job):
            if timing["implementation"] not in asked or job["dtype"] != "float64":
                continue
            if timing["yardstick"]:
                continue
            ratios = [f"{ratio:.1f}x" for ratio in timing["ratios"].values()]
            cells = [*job_cells(job), timing["implementation"], *[*ratios, ""][:2]]
            yield "| " + " | ".join(cells) + " |"
    yield ""
    yield "![Times against rows and classes](benchmarks/results/growth.svg)"
    yield ""
    yield "All jobs, growth, memory and targets: [Benchmarks](docs/benchmarks.md)."


if __name__ == "__main__":
    main()
