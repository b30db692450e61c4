"""The form that all replications share, and the report that is made of them.

A replication is a module with a docstring, whose first line is its title, and

    def run(folder: Path, quick: bool = False) -> list[Section]

which writes its figures into `folder`, shows its progress, and returns what it found.
`quick` asks for few repetitions: enough to see that all works, not to believe numbers.
Real data is asked for by `data_folder(name)`, which raises `MissingData`: a section
that can do without says so itself, otherwise the report skips the whole replication and
gives the reason. The module ends with

    if __name__ == "__main__":
        report.main(__doc__, run)
"""

from __future__ import annotations

import argparse
import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]


class MissingData(Exception):
    """A data set is not on this machine; the message says where it was looked for."""


@dataclass(frozen=True)
class Section:
    """One table or figure of a paper, done again.

    Attributes
    ----------
    title : str
        Names the paper's table or figure.
    text : str
        What was done, what the paper has, and, where they differ, why: Markdown
        paragraphs. Lines within a paragraph are joined, so it may be a long literal.
    tables : mapping of caption to DataFrame
        Cells as they are to be read: rounded, or text such as from `mean_sd`. The
        paper's numbers stand in columns or rows of their own, named "paper".
    printed : mapping of caption to str
        Text to be shown as it is, such as a summary.
    figures : mapping of caption to Path
        PNG files in the folder.
    """

    title: str
    text: str = ""
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Path] = field(default_factory=dict)


Run = Callable[[Path, bool], list[Section]]


def skipped(title: str, reason: Exception | str) -> Section:
    """Return a section that says why there is none."""
    return Section(title, f"*Skipped: {reason}*")


def data_folder(name: str) -> Path:
    """Return the folder of a data set.

    It is looked for where DISTFREEUQ_DATA points, or else in ../shared/data beside the
    project.

    Raises
    ------
    MissingData
    """
    given = os.environ.get("DISTFREEUQ_DATA")
    folder = (Path(given) if given else ROOT.parent / "shared" / "data") / name
    if not folder.is_dir():
        where = "DISTFREEUQ_DATA" if given else "../shared/data; set DISTFREEUQ_DATA"
        raise MissingData(f"data set {name!r} is not in {where}.")
    return folder


def mean_sd(values: Any, digits: int = 3) -> str:
    """Return "mean ± sd" of repetitions, as tables show it.

    Examples
    --------
    >>> mean_sd([0.1, 0.2, 0.3])
    '0.200 ± 0.100'
    """
    array = np.asarray(values, dtype=float)
    if array.size < 2:
        return f"{array.mean():.{digits}f}"
    return f"{array.mean():.{digits}f} ± {array.std(ddof=1):.{digits}f}"


# ------------------------------------------------------------------------ output


def as_text(section: Section) -> str:
    """Return a section for the terminal."""
    parts = [f"{section.title}\n{'-' * len(section.title)}"]
    for paragraph in paragraphs(section.text).split("\n\n"):
        parts.append(textwrap.fill(paragraph, 88))
    for caption, table in section.tables.items():
        parts.append(f"{caption}\n\n{table.to_string(index=_has_index(table))}")
    parts += [f"{caption}\n\n{text}" for caption, text in section.printed.items()]
    parts += [f"figure: {path}" for path in section.figures.values()]
    return "\n\n".join(part for part in parts if part)


def as_markdown(section: Section, folder: Path) -> str:
    """Return a section for the report that stands in the folder."""
    parts = [f"### {section.title}", paragraphs(section.text)]
    for caption, table in section.tables.items():
        parts += [f"**{caption}**", markdown_table(table)]
    for caption, text in section.printed.items():
        parts += [f"**{caption}**", f"```text\n{text}\n```"]
    for caption, path in section.figures.items():
        parts.append(f"![{caption}]({os.path.relpath(path, folder)})")
        parts.append(f"*{caption}*")
    return "\n\n".join(part for part in parts if part)


def markdown_table(table: pd.DataFrame) -> str:
    """Return a table with columns as wide as they need to be, numbers to the right."""
    # an index without a name has no heading
    frame = table.reset_index() if _has_index(table) else table
    names = list(frame.columns)
    if _has_index(table):
        own = [name or "" for name in table.index.names]
        names[: len(own)] = own
    columns = []
    for j, name in enumerate(names):
        column = frame.iloc[:, j]
        cells = [_cell(value) for value in [name, *column]]
        width = max(3, *(len(cell) for cell in cells))
        right = pd.api.types.is_numeric_dtype(column)
        rule = "-" * (width - 1) + (":" if right else "-")
        padded = [cell.rjust(width) if right else cell.ljust(width) for cell in cells]
        columns.append([padded[0], rule, *padded[1:]])
    return "\n".join(f"| {' | '.join(line)} |" for line in zip(*columns, strict=True))


def _has_index(table: pd.DataFrame) -> bool:
    return not isinstance(table.index, pd.RangeIndex)


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value if str(part))
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.4g}"
    return str(value).replace("|", "\\|")


def paragraphs(text: str) -> str:
    """Join the lines of each paragraph."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n")).strip()


def title_of(doc: str | None) -> str:
    """Return the first line of a docstring, without its full stop."""
    return (doc or "").strip().partition("\n")[0].removesuffix(".")


def main(doc: str | None, run: Run, arguments: Sequence[str] | None = None) -> None:
    """Run one replication from the command line and print its sections."""
    title = title_of(doc)
    parser = argparse.ArgumentParser(description=title)
    add_options(parser)
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"{title}\n")
    try:
        for section in run(options.folder, options.quick):
            print(as_text(section) + "\n")
    except MissingData as reason:
        print(f"skipped: {reason}")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what every replication takes."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path("figures"),
        help="where figures are written",
    )
    parser.add_argument(
        "--quick", action="store_true", help="few repetitions: a try, not a result"
    )
