"""``python -m distfreeuq report``: from two files to a page and the target's sets."""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distfreeuq._base import layout
from distfreeuq.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

    from distfreeuq.reporting.files.table_files import FileTable
    from distfreeuq.reporting.results import Report

USAGE_ERROR = 2
_FORMATS = (".csv", ".parquet", ".npz")


def add_report_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> None:
    """Add the command ``report``, which `run_report` runs."""
    parser = commands.add_parser(
        "report",
        help="make a page on a classifier and its target from two files",
        description=(
            "Read a classifier's probabilities on labelled source rows and on target "
            "rows (CSV, Parquet or npz), and write one HTML page: what has moved, "
            "prediction sets, probabilities and expected performance, each with what "
            "is guaranteed. Exit code 0: written. 2: wrong usage or input, with a "
            "sentence that says what; no file is changed then."
        ),
    )
    parser.set_defaults(run=run_report)
    parser.add_argument("source", metavar="SOURCE", help="file of labelled rows")
    parser.add_argument("target", metavar="TARGET", help="file of the target's rows")
    files = parser.add_argument_group("columns")
    files.add_argument(
        "--probs",
        default="prob_",
        metavar="PREFIX",
        help="what names of probability columns begin with; the rest is the class "
        "(default prob_). Or these columns, one,two,three, called as the classes. The "
        "name of one column: of class 1. npz: of the array",
    )
    files.add_argument(
        "--label", default="label", metavar="COLUMN", help="labels (default label)"
    )
    files.add_argument(
        "--target-label",
        metavar="COLUMN",
        help="labels of target rows, empty where not known (default: none are read)",
    )
    files.add_argument(
        "--id", metavar="COLUMN", help="names of target rows, kept in what is written"
    )
    files.add_argument(
        "--positive", metavar="LABEL", help="the label a single column is of"
    )
    files.add_argument("--percent", action="store_true", help="numbers are percentages")
    files.add_argument("--logits", action="store_true", help="numbers are logits")
    files.add_argument(
        "--renormalize",
        action="store_true",
        help="divide rounded probabilities by their sums",
    )
    files.add_argument(
        "--encoding", default="utf-8", help="of CSV files (default utf-8)"
    )
    asked = parser.add_argument_group("what is asked for")
    asked.add_argument(
        "--alpha", type=float, default=0.1, help="miscoverage of sets (default 0.1)"
    )
    asked.add_argument(
        "--claim",
        default="finite-sample",
        choices=["finite-sample", "asymptotic", "combined"],
        help="what is to be promised (default finite-sample)",
    )
    asked.add_argument(
        "--confidence",
        type=float,
        help="coverage for the rows at hand, with this probability",
    )
    asked.add_argument("--score", default="aps", help="score of sets (default aps)")
    asked.add_argument(
        "--never-empty", action="store_true", help="no set without a label"
    )
    asked.add_argument("--seed", type=int, default=0, help="default 0")
    written = parser.add_argument_group("what is written")
    written.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="FILE",
        help="the page (default report.html)",
    )
    written.add_argument(
        "--predictions",
        metavar="FILE",
        help="sets and probabilities of target rows: .csv, .parquet or .npz (default: "
        "beside the page, -predictions.csv)",
    )
    written.add_argument(
        "--json", metavar="FILE", help="all of it for programs; - is standard output"
    )
    written.add_argument("--title", help="of the page")
    written.add_argument("--quiet", action="store_true", help="show no progress bar")


def run_report(options: argparse.Namespace) -> int:
    """Read, compute, write, and return the exit code."""
    try:
        written = _run(options)
    except InputError as error:
        print(error, file=sys.stderr)
        return USAGE_ERROR
    out = sys.stderr if options.json == "-" else sys.stdout
    for what, path in written:
        print(f"{what}: {path}", file=out)
    return 0


def _run(options: argparse.Namespace) -> list[tuple[str, Path]]:
    """Return what was written; nothing is before all of it is there."""
    from distfreeuq.reporting.files.written_together import write_together

    named = _outputs(options)
    made = _made(options)
    contents: dict[Path, bytes] = {}
    document = json.dumps(made.to_dict(), indent=1, allow_nan=False) + "\n"
    for what, path in named:
        if what == "report":
            contents[path] = made.html.encode("utf-8")
        elif what == "json":
            contents[path] = document.encode("utf-8")
        else:
            contents[path] = _as_file(made.to_frame(), path)
    try:
        write_together(contents)
    except OSError as error:
        raise InputError(
            "The '--output' parameter of distfreeuq report and its other files must be "
            f"writable; none was changed. Got: {error}."
        ) from None
    if options.json == "-":
        print(document, end="")
    else:
        print(layout.as_text(made.sections[0].pages[0]), end="\n\n")
    return named


def _outputs(options: argparse.Namespace) -> list[tuple[str, Path]]:
    """Return the files to write, each of them another and none of them an input."""
    from distfreeuq._base.files.replacement import target_of

    def checked(path: str, name: str) -> Path:
        return target_of(path, caller="distfreeuq report", parameter=f"--{name}")

    found = [("report", checked(options.output, "output"))]
    page = Path(options.output)
    rows = options.predictions or str(page.with_name(f"{page.stem}-predictions.csv"))
    found.append(("predictions", checked(rows, "predictions")))
    names = ["output", "predictions"]
    if options.json not in (None, "-"):
        names.append("json")
        found.append(("json", checked(options.json, "json")))
    suffix = found[1][1].suffix.lower()
    if suffix not in _FORMATS:
        raise InputError(
            "The '--predictions' parameter of distfreeuq report must end with "
            f"{', '.join(_FORMATS)}. Got {rows!r} instead."
        )
    if suffix == ".parquet":
        _need_pyarrow()
    paths = [path for _, path in found]
    taken = [Path(one).resolve() for one in (options.source, options.target)]
    for i, path in enumerate(paths):
        if path in taken or path in paths[:i]:
            raise InputError(
                f"The '--{names[i]}' parameter of distfreeuq report must be a file "
                f"that is neither read nor written besides. Got '{path}' instead."
            )
    return found


def _need_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise InputError(
            "The '--predictions' parameter of distfreeuq report must end with .csv, as "
            "Parquet is written by pyarrow, which is not installed: pip install "
            "pyarrow."
        ) from None


def _made(options: argparse.Namespace) -> Report:
    """Return the report on both files."""
    import pandas as pd

    from distfreeuq._base.arguments import Arguments
    from distfreeuq.reporting.data import read_report_data
    from distfreeuq.reporting.files.prediction_columns import (
        ColumnOptions,
        labels_of,
        source_predictions,
        target_predictions,
    )
    from distfreeuq.reporting.files.table_files import read_table
    from distfreeuq.reporting.written_report import TITLE, make_report

    columns = ColumnOptions(
        probs=options.probs,
        label=options.label,
        percent=options.percent,
        logits=options.logits,
        renormalize=options.renormalize,
        positive=options.positive,
    )
    texts = (options.label, options.target_label or options.label, options.id or "")
    how: dict[str, Any] = {"texts": texts, "encoding": options.encoding}
    source = read_table(Path(options.source), **how)
    target = read_table(Path(options.target), **how)
    own = source_predictions(source, columns)
    new = target_predictions(target, columns, own.classes)
    labels: Any = labels_of(source, options.label, own.classes, partly=False)
    some: Any = None
    if options.target_label is not None:
        some = labels_of(target, options.target_label, own.classes, partly=True)
    index = _row_names(target, options.id, len(new.matrix))
    frame = pd.DataFrame(new.matrix, columns=list(own.classes), index=index)
    data = read_report_data(
        Arguments("report"), own.matrix, labels, frame, some, list(own.classes)
    )
    facts = [("Source file", source.name), ("Target file", target.name)]
    change = max(own.largest_change, new.largest_change)
    if change:
        facts.append(("Sums of rows were off one by up to", f"{change:.2g}"))
    asked = {
        "alpha": options.alpha,
        "claim": options.claim,
        "confidence": options.confidence,
        "score": options.score,
        "never_empty": options.never_empty,
    }
    shown = not options.quiet and sys.stderr.isatty()
    title = options.title or TITLE
    return make_report(data, asked, options.seed, title, shown, facts)


def _row_names(table: FileTable, column: str | None, n: int) -> pd.Index[Any] | None:
    """Return the target rows' names."""
    import pandas as pd

    if column is None:
        return None
    if column not in table.columns or table.columns[column].shape != (n,):
        table.invalid(f"have the column {column!r}", f"columns {list(table.columns)}")
    index: pd.Index[Any] = pd.Index(table.columns[column], name=column)
    return index


def _as_file(frame: pd.DataFrame, path: Path) -> bytes:
    """Return a table as the file's format has it."""
    import numpy as np

    suffix = path.suffix.lower()
    if suffix == ".csv":
        return frame.to_csv().encode("utf-8")
    out = io.BytesIO()
    if suffix == ".parquet":
        frame.reset_index().to_parquet(out, engine="pyarrow", index=False)
        return out.getvalue()
    columns = frame.reset_index()
    probs = [name for name in columns if str(name).startswith("prob_")]
    arrays = {
        str(name): _texts_or_numbers(columns[name].to_numpy())
        for name in columns
        if name not in probs
    }
    arrays["probs"] = columns[probs].to_numpy()
    arrays["classes"] = np.array([str(name).removeprefix("prob_") for name in probs])
    np.savez(out, **arrays)
    return out.getvalue()


def _texts_or_numbers(values: Any) -> Any:
    """Return an array that needs no pickle."""
    return values.astype(str) if values.dtype == object else values
