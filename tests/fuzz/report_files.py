"""Files for ``python -m distfreeuq report``: whole, odd, damaged, and what it says."""

import contextlib
import gzip
import io
import sys
import unittest.mock
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

import distfreeuq as dfu
from tests.fuzz.fitted import damaged, folder
from tests.fuzz.kinds import Argument, Kind, in_its_own_way, same
from tests.fuzz.samples import HOSTILE, Sample

Array = np.ndarray[Any, Any]

# What people and programs put where a number or a label should be.
CELLS = (
    "", " ", "NaN", "NA", "inf", "-inf", "1e400", "-0.0", "5e-324", "0x1p-1", "1_0",
    "٣", "50%", "0,5", '"', "'", '"a,b"', "a\nb", "\0", "\ud800", "=1+1", "x" * 5000,
    "1" * 5000, "9" * 400, "True", "None", "<b>", "$x$", "\ufeff", "\x85", "\r",
)  # fmt: skip
OPTIONS = (
    ("--percent",), ("--logits",), ("--renormalize",), ("--probs", "p"),
    ("--probs", ""), ("--probs", "prob_0"), ("--label", "id"), ("--label", ""),
    ("--label", "prob_0"), ("--target-label", "label"), ("--target-label", "no"),
    ("--id", "id"), ("--id", "label"), ("--id", "prob_0"), ("--positive", "1"),
    ("--positive", ""), ("--encoding", "latin-1"), ("--encoding", "utf-16"),
    ("--encoding", "no such"), ("--encoding", "base64"), ("--encoding", ""),
    ("--encoding", "idna"), ("--encoding", "punycode"), ("--encoding", "utf-7"),
    ("--alpha", "0.5"), ("--alpha", "nan"), ("--alpha", "0"), ("--alpha", "1e-320"),
    ("--confidence", "0.9"), ("--confidence", "inf"), ("--score", "lac"),
    ("--score", ""), ("--never-empty",), ("--seed", "-1"), ("--seed", "9" * 40),
    ("--claim", "asymptotic"), ("--claim", "combined"), ("--claim", "no"),
    ("--title", "<script>"), ("--title", ""), ("--title", "\ud800"), ("--json", "-"),
    ("--json", "all.json"), ("--json", "."), ("--json", ""), ("--output", "."),
    ("--output", ""), ("--output", "no/such/page.html"), ("--output", "source.csv"),
    ("--predictions", "rows.npz"), ("--predictions", "rows.parquet"),
    ("--predictions", "rows.txt"), ("--predictions", "report.html"),
)  # fmt: skip
_SOUND = (
    (), (), ("--never-empty",), ("--score", "lac"), ("--alpha", "0.2"),
    ("--id", "id"), ("--target-label", "label"), ("--json", "all.json"),
    ("--predictions", "rows.npz"), ("--title", "A <page>"),
)  # fmt: skip


def report_file(role: str) -> Kind:
    """Return a kind: the path of a file of labelled or of target rows."""

    @in_its_own_way
    def kind(s: Sample) -> Argument:
        return same(_written(s, role))

    return kind


@in_its_own_way
def report_words(s: Sample) -> Argument:
    """Return what stands after the files on the command line."""
    pool = OPTIONS if s.spirit == HOSTILE else _SOUND
    chosen = [s.r.choice(pool) for _ in range(s.r.choice((0, 1, 1, 2)))]
    return same([word for option in chosen for word in option])


def report_command(source: Any, target: Any, words: Any) -> int:
    """Run the command: it writes all or nothing, and says why in a sentence."""
    from distfreeuq.__main__ import main

    line = [source, target, *words]
    before = _contents()
    out, err = _text_stream(), _text_stream()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(["report", *line, "--quiet"])
        except SystemExit as stop:  # argparse ends usage errors so
            code = int(stop.code or 0)
    said = _said(err)
    if code not in (0, 2):
        raise AssertionError(f"exit code {code}: {said[:200]}")
    if code == 2:
        if not said.strip() or "Traceback" in said:
            raise AssertionError(f"no sentence: {said[:200]!r}")
        if _contents() != before:
            raise AssertionError("files changed though the command was refused")
    return code


def reading_command(source: Any, target: Any, words: Any) -> int:
    """Run the command up to the point where both files have been read."""
    written = "distfreeuq.reporting.written_report.make_report"
    with unittest.mock.patch(written, side_effect=dfu.InputError("All was read.")):
        return report_command(source, target, words)


def _text_stream() -> io.TextIOWrapper:
    """Return what stands for a terminal that knows UTF-8, and is as strict."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=sys.stderr.errors)


def _said(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]


def _contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


# ------------------------------------------------------------------------------- files


def _written(s: Sample, role: str) -> str:
    """Write a file and return its name."""
    frame = _frame(s, 40 if role == "source" else 12)
    spoil = s.spirit == HOSTILE and s.r.random() < 0.7
    if spoil and s.r.random() < 0.5:
        frame = _odd_cells(frame, s.r)
    form = s.r.choice(("csv", "csv", "tsv", "semicolons", "gz", "utf-16", "npz", "pq"))
    content, suffix = _encoded(s, frame, form)
    if spoil and s.r.random() < 0.6:
        content = damaged(content, s.r)
    if spoil and s.r.random() < 0.1:
        suffix = s.r.choice((".csv", ".csv.gz", ".npz", ".parquet", ".txt", "", ".gz"))
    path = folder() / f"{role}{suffix}"
    path.write_bytes(content)
    return str(path)


def _frame(s: Sample, n: int) -> pd.DataFrame:
    names = [str(name) for name in s.classes or range(s.K)]
    if s.spirit != HOSTILE:
        names = [str(k) for k in range(s.K)]
    n = n if s.spirit != HOSTILE else s.r.choice((0, 1, 2, n))
    probs = s.probs(n).astype(s.r.choice((np.float64, np.float64, np.float32)))
    labels = [names[k % s.K] for k in range(n)]
    columns: dict[str, Any] = {"id": [f"row {i}" for i in range(n)], "label": labels}
    columns |= {f"prob_{name}": probs[:, k] for k, name in enumerate(names)}
    return pd.DataFrame(columns)


def _odd_cells(frame: pd.DataFrame, r: Random) -> pd.DataFrame:
    frame = frame.astype(object)
    for _ in range(r.choice((1, 1, 3))):
        if frame.size:
            row, column = r.randrange(len(frame)), r.randrange(frame.shape[1])
            frame = frame.astype(object)  # Arrow's texts are no place for every cell
            frame.iat[row, column] = r.choice(CELLS)
    if r.random() < 0.3:
        names = list(frame.columns)
        names[r.randrange(len(names))] = r.choice((*CELLS, "label", "prob_0", "prob_"))
        frame.columns = pd.Index(names, dtype=object)
    return frame


def _encoded(s: Sample, frame: pd.DataFrame, form: str) -> tuple[bytes, str]:
    if form == "npz":
        return _npz(s, frame), ".npz"
    if form == "pq":
        try:
            import pyarrow  # noqa: F401

            out = io.BytesIO()
            frame.to_parquet(out, index=False)
        except Exception:  # no pyarrow, or cells that Parquet cannot hold
            form = "csv"
        else:
            return out.getvalue(), ".parquet"
    sign = {"tsv": "\t", "semicolons": ";"}.get(form, ",")
    rows = [list(frame.columns), *frame.to_numpy(dtype=object).tolist()]
    quoted = s.r.random() < 0.2
    cells = [[f'"{cell}"' if quoted else str(cell) for cell in row] for row in rows]
    end = s.r.choice(("\n", "\n", "\r\n", "\r"))
    text = end.join(sign.join(row) for row in cells) + end
    encoding = "utf-16" if form == "utf-16" else "utf-8"
    content = text.encode(encoding, "surrogatepass")
    if form == "gz":
        return gzip.compress(content), ".csv.gz"
    return content, ".tsv" if form == "tsv" else ".csv"


def _npz(s: Sample, frame: pd.DataFrame) -> bytes:
    arrays: dict[str, Any] = {}
    for name, column in frame.items():
        key = str(name).translate({0: None, 0xD800: None}) or "nameless"
        arrays[key] = np.array(column.tolist())
    if s.r.random() < 0.5:
        kept = [name for name in arrays if name.startswith("prob_")]
        if kept and len({arrays[name].dtype for name in kept}) == 1:
            arrays["prob_"] = np.column_stack([arrays.pop(name) for name in kept])
            if s.r.random() < 0.5:
                arrays["classes"] = np.array([name[5:] for name in kept])
    if s.spirit == HOSTILE and arrays and s.r.random() < 0.5:
        odd: tuple[Any, ...] = (
            np.array(0.5), np.zeros((2, 2, 2)), np.zeros((0, 3)), np.array(["x"]),
            np.zeros(3, "M8[s]"), np.zeros(3, complex), np.zeros(40, "S3"),
            np.zeros(40, [("a", "f8")]), np.zeros((40, 3), bool), np.zeros((40, 0)),
            np.full((40, 3), np.nan), np.full(40, np.inf), np.zeros((40, 3), "f2"),
            np.full((40, 2), 2**63, "u8"), np.full((40, 2), -(2**63), "i8"),
        )  # fmt: skip
        name = s.r.choice((*arrays, "classes", "prob_", "label"))
        arrays[name] = s.r.choice(odd)
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()
