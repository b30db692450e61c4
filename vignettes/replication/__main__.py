"""Run all replications, and write one report.

    python -m vignettes.replication [folder] [--quick] [--only NAME ...]

The report is replication.md in the folder, beside its figures. A replication whose data
is not there is skipped, with the reason; one that fails is told of at the end, and the
others still run.
"""

from __future__ import annotations

import argparse
import importlib
import time
import traceback
from pathlib import Path

import distfreeuq as dfu
from vignettes.replication import report
from vignettes.replication.report import MissingData, Section

REPLICATIONS = sorted(path.stem for path in Path(__file__).parent.glob("paper_*.py"))

FOREWORD = """
The papers' tables and figures, done again with distfreeuq {version}; the papers'
numbers stand beside ours, and where they differ, the text says why. A: Podkopaev and
Ramdas (2021). B: Pampari and Ermon (2020). C: Park, Bastani, Weimer and Lee (2020). D:
Zhao, Chen and Oymak (2020).
"""

QUICK = """
**This is a quick run with few repetitions: it shows that all works, and its numbers
mean little.**
"""


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; return 1 if something failed."""
    parser = argparse.ArgumentParser(prog="python -m vignettes.replication")
    report.add_options(parser)
    parser.add_argument("--only", nargs="+", choices=REPLICATIONS, metavar="NAME")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    names = options.only or REPLICATIONS
    parts = [
        "# The papers, replicated",
        report.paragraphs(FOREWORD.format(version=dfu.__version__)),
        *([report.paragraphs(QUICK)] if options.quick else []),
    ]
    failed = []
    path = options.folder / "replication.md"
    for i, name in enumerate(names, start=1):
        print(f"[{i}/{len(names)}] {name}", flush=True)
        began, spent = time.perf_counter(), time.process_time()
        try:
            title, sections = replicate(name, options.folder, options.quick)
        except Exception as error:
            traceback.print_exc()
            failed.append(name)
            title, sections = name, [report.skipped(name, f"failed: {error!r}")]
        taken = f"{time.perf_counter() - began:.0f} s"
        print(
            f"      {taken}, {time.process_time() - spent:.0f} s of processor",
            flush=True,
        )
        parts.append(f"## {title}")
        parts += [report.as_markdown(part, options.folder) for part in sections]
        # after every part: what is done stays if the run is stopped
        path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"report: {path}")
    if failed:
        print("failed: " + ", ".join(failed))
    return int(bool(failed))


def replicate(name: str, folder: Path, quick: bool) -> tuple[str, list[Section]]:
    """Return the title and the sections of one replication."""
    module = importlib.import_module(f"vignettes.replication.{name}")
    title = report.title_of(module.__doc__)
    try:
        return title, module.run(folder, quick)
    except MissingData as reason:
        print(f"      skipped: {reason}", flush=True)
        return title, [report.skipped(title, reason)]


if __name__ == "__main__":
    raise SystemExit(main())
