"""Replicates on file: a line each, written at once, so that a killed run continues."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NoReturn

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import describe
from distfreeuq.exceptions import InputError
from distfreeuq.simulation.replicates import text_of

_FORMAT = "distfreeuq-simulation-1"
_OPENING = f'{{"format": "{_FORMAT}"'.encode()


class Journal:
    """A file of one simulation: a header, and a line of JSON for each replicate.

    Every line is handed to the operating system as soon as its replicate is done. A
    last line that was not written to its end, because the run was killed meanwhile, is
    dropped. One run at a time holds the file.

    Attributes
    ----------
    header : dict or None
        What the file says it is about; None for a new file.
    done : dict of int to dict
        The quantities of each replicate that is there.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = _checked(path)
        self.header: dict[str, Any] | None = None
        self.done: dict[int, dict[str, float]] = {}
        self._file: BinaryIO = open(self.path, "a+b")  # noqa: SIM115
        try:
            self._lock()
            self._read()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        """Return the open journal."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self._file.close()

    def begin(self, header: Mapping[str, Any]) -> None:
        """Write the header of a new file; raise for a file of another simulation."""
        header = json.loads(_line(header))  # as it reads back
        if self.header is None:
            self._write({"format": _FORMAT, **header})
            return
        for key, value in header.items():
            if self.header.get(key) != value:
                told = f"{key} {self.header.get(key)!r} where this one has {value!r}"
                self._invalid("a file of the same simulation, or a new one", told)

    def append(self, replicate: int, quantities: Mapping[str, float]) -> None:
        """Write a replicate."""
        self._write({"replicate": replicate, "quantities": dict(quantities)})
        self.done[replicate] = dict(quantities)

    def _write(self, document: Mapping[str, Any]) -> None:
        self._file.write(_line(document) + b"\n")
        self._file.flush()

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # pragma: no cover - not on this system
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._invalid("a file that no other run writes to", "one in use")
        except OSError:  # pragma: no cover - a file system without locks
            return

    def _read(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        opening = content[: len(_OPENING)]
        if not _OPENING.startswith(opening):
            self._invalid("a file that simulate has written, or a new one", "another")
        # what follows the last newline was being written when the run was killed
        self._file.truncate(whole)
        lines = content[:whole].splitlines()
        if not lines:
            return
        self.header = self._parsed(lines[0], 1)
        for number, line in enumerate(lines[1:], start=2):
            row = self._parsed(line, number)
            try:
                replicate = int(row["replicate"])
                found = {str(k): float(v) for k, v in row["quantities"].items()}
            except (KeyError, TypeError, ValueError, AttributeError):
                self._invalid("made of lines of replicates", f"line {number}")
            if _line(self.done.get(replicate, found)) != _line(found):  # NaN is NaN
                self._invalid("one with each replicate once", f"line {number}")
            self.done[replicate] = found

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            document = json.loads(line)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            self._invalid("made of lines of JSON", f"{line[:40]!r} in line {number}")
        return document

    def _invalid(self, must: str, got: str) -> NoReturn:
        raise InputError(
            f"The 'file' parameter of simulate must be {must}. "
            f"Got {got} instead ({str(self.path)!r})."
        )


def _checked(path: Any) -> Path:
    args, must = Arguments("simulate"), "a file name in an existing folder"
    if not isinstance(path, str | PathLike):
        args.invalid("file", must, describe(path))
    target = Path(os.fsdecode(path))
    if "\0" in str(target) or target.is_dir() or not target.parent.is_dir():
        args.invalid("file", must, repr(str(target)))
    return target


def _line(document: Mapping[str, Any]) -> bytes:
    """Return one line of JSON; floats read back exactly."""
    return json.dumps(document, default=_plain).encode()


def _plain(value: Any) -> Any:
    """Return what JSON has a form for."""
    return value.tolist() if hasattr(value, "tolist") else text_of(value)
