"""CSV, Parquet and npz files as columns of values."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from distfreeuq._base.arrays import AnyArray, listed, shortened
from distfreeuq.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

_TEXT = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
_DELIMITERS = ",;\t|"

KINDS = "CSV (.csv, .tsv, .txt, also .gz), Parquet (.parquet) or NumPy (.npz)"


@dataclass(frozen=True, slots=True, eq=False)
class FileTable:
    """What a file holds.

    Attributes
    ----------
    name : str
        The file's name, for messages.
    columns : dict of ndarray
        By name. Those of an npz file are its arrays, with one axis or two.
    decimal_comma : bool
        Whether numbers may be written 0,5: where columns are separated by semicolons.
    """

    name: str
    columns: dict[str, AnyArray]
    decimal_comma: bool = False

    def invalid(self, must: str, got: str) -> NoReturn:
        """Raise an InputError that names the file."""
        raise InputError(f"The file '{self.name}' must {must}. Got {got} instead.")


def read_table(path: Path, *, texts: tuple[str, ...], encoding: str) -> FileTable:
    """Read a file.

    Parameters
    ----------
    path : Path
    texts : tuple of str
        Columns whose values are names, not numbers: "01" stays "01".
    encoding : str
        Of a CSV file; a byte order mark, if there is one, decides.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    kind = "".join(suffixes[-2:-1] if zipped else suffixes[-1:])
    table = FileTable(shortened(str(path)), {})
    if not path.is_file():
        table.invalid("exist", "no file of that name")
    try:
        if kind in _TEXT:
            return _read_text(path, zipped, texts, encoding)
        if kind in _PARQUET and not zipped:
            return _read_parquet(path)
        if kind == ".npz" and not zipped:
            return _read_npz(path)
    except OSError as error:
        table.invalid("be readable", shortened(str(error)) or "an error")
    except MemoryError:
        table.invalid("fit into memory", "more than there is")
    table.invalid(f"be {KINDS}", repr(path.suffix))


def _read_text(
    path: Path, zipped: bool, texts: tuple[str, ...], encoding: str
) -> FileTable:
    content = path.read_bytes()
    table = FileTable(shortened(str(path)), {})
    if zipped:
        try:
            content = gzip.decompress(content)
        except (EOFError, zlib.error):
            table.invalid("be whole", "a damaged or cut archive")
    text = _decoded(table, content, encoding)
    # of Windows, of old Macintoshes and of Unix: one end of lines for all
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    first = text.split("\n", 1)[0]
    counts = {sign: first.count(sign) for sign in _DELIMITERS}
    delimiter = max(_DELIMITERS, key=lambda sign: counts[sign])
    names = _header(table, text, delimiter)
    _check_names(table, names)
    frame = _parsed(table, text, delimiter, names, texts)
    columns = {name: frame[name].to_numpy() for name in names}
    return FileTable(table.name, columns, delimiter == ";")


def _header(table: FileTable, text: str, delimiter: str) -> list[str]:
    must = "begin with a line of column names"
    try:
        header = next(csv.reader(io.StringIO(text), delimiter=delimiter), [])
    except csv.Error as error:  # such as a name that never ends
        table.invalid(must, shortened(str(error)))
    names = [name.strip() for name in header]
    if not any(names):
        table.invalid(must, "an empty line")
    return names


def _decoded(table: FileTable, content: bytes, encoding: str) -> str:
    for mark, known in _MARKS.items():
        if content.startswith(mark):
            encoding = known
    try:
        return content.decode(encoding)
    except LookupError:
        table.invalid("have an encoding that Python knows", repr(encoding))
    except UnicodeError as error:
        got = "other bytes"
        if isinstance(error, UnicodeDecodeError):
            line = content.count(b"\n", 0, error.start) + 1
            got = f"byte 0x{content[error.start]:02x} in line {line}"
        table.invalid(
            f"be {encoding} text, or --encoding say what it is (latin-1 and cp1252 are "
            "common)",
            got,
        )


def _parsed(
    table: FileTable,
    text: str,
    delimiter: str,
    names: list[str],
    texts: tuple[str, ...],
) -> pd.DataFrame:
    """Return the rows; one with too many or too few values is an error."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = pd.read_csv(
                io.StringIO(text),
                sep=delimiter,
                header=0,
                names=names,
                index_col=False,
                dtype={name: str for name in names if name in texts},
                keep_default_na=False,
                low_memory=False,
                **_exactly(pd),
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error) as error:
        told = " ".join(str(error).removeprefix("Error tokenizing data.").split())
        table.invalid(f"have {len(names)} values in every row", shortened(told))
    return frame


def _exactly(pd: Any) -> dict[str, Any]:
    """Return the option by which old versions read the number that was written."""
    old = int(pd.__version__.split(".")[0]) < 3
    return {"float_precision": "round_trip"} if old else {}


def _check_names(table: FileTable, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        table.invalid("have every column once", f"several columns {listed(twice)}")


def _read_parquet(path: Path) -> FileTable:
    table = FileTable(shortened(str(path)), {})
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InputError(
            f"The file '{table.name}' is Parquet, which is read by pyarrow: pip "
            "install pyarrow, or save the rows as CSV."
        ) from None
    try:
        read = parquet.read_table(path)
    except (ArrowException, OSError) as error:
        table.invalid("be a Parquet file", shortened(str(error)))
    _check_names(table, read.column_names)
    columns = {
        name: read.column(name).to_pandas().to_numpy() for name in read.column_names
    }
    return FileTable(table.name, columns)


def _read_npz(path: Path) -> FileTable:
    table = FileTable(shortened(str(path)), {})
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            columns: dict[str, Any] = {name: archive[name] for name in archive.files}
    except (ValueError, KeyError, EOFError, AttributeError, TypeError) as error:
        table.invalid("hold arrays of numbers or texts", shortened(str(error)))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError):
        table.invalid("be a NumPy archive", "a damaged file")
    rows = {name: array for name, array in columns.items() if array.ndim in (1, 2)}
    return FileTable(table.name, rows)
