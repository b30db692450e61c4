"""Replicates on file: a line each, written at once, so that a killed run continues."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NoReturn

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import describe, shortened
from distfreeuq.exceptions import InputError
from distfreeuq.simulation import journal_lines as lines
from distfreeuq.simulation.journal_lines import Damaged


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
        self._salt = ""  # the header's digest, once there is one
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
        header = lines.read_object(lines.encode(header))  # as it reads back
        if self.header is None:
            self._salt = self._write({"format": lines.FORMATS[-1], **header})
            return
        for key, value in header.items():
            kept = self.header.get(key)
            if lines.encode({key: kept}) != lines.encode({key: value}):  # NaN is NaN
                told = f"{key} {describe(kept)} where this one has {describe(value)}"
                self._invalid("a file of the same simulation, or a new one", told)

    def append(self, replicate: int, quantities: Mapping[str, float]) -> None:
        """Write a replicate."""
        self._write({"replicate": replicate, "quantities": dict(quantities)})
        self.done[replicate] = dict(quantities)

    def _write(self, document: Mapping[str, Any]) -> str:
        line, digest = lines.sealed(lines.encode(document), self._salt)
        self._file.write(line)
        self._file.flush()
        return digest

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
        if not any(
            content.startswith(opening) or opening.startswith(content)
            for opening in lines.OPENINGS
        ):
            self._invalid("a file that simulate has written, or a new one", "another")
        # what follows the last newline was being written when the run was killed
        whole = content.rfind(b"\n") + 1
        if whole:
            self._read_lines(content[: whole - 1].split(b"\n"))
        self._file.truncate(whole)

    def _read_lines(self, found: list[bytes]) -> None:
        """Read a header and replicates, each of which may stand there twice."""
        for number, line in enumerate(found, start=1):
            is_header = number == 1
            try:
                (self._read_header if is_header else self._read_replicate)(line)
            except Damaged as error:
                self._invalid(
                    "a file with the lines that simulate wrote",
                    f"line {number} {error}",
                    "" if is_header else "; without that line its replicate runs again",
                )

    def _read_header(self, line: bytes) -> None:
        if not line.startswith(lines.OPENINGS[0]):
            line, self._salt = lines.unsealed(line, "")
        self.header = lines.read_object(line)
        if type(self.header.get("seed")) is not int or self.header["seed"] < 0:
            raise Damaged("without a seed")

    def _read_replicate(self, line: bytes) -> None:
        if self._salt or lines.has_digest(line):
            line, _ = lines.unsealed(line, self._salt)
        replicate, quantities = lines.read_replicate(line)
        others = next(iter(self.done.values()), quantities)
        if others.keys() != quantities.keys():
            raise Damaged("with other quantities than the lines before it")
        known = self.done.setdefault(replicate, quantities)
        if lines.encode(known) != lines.encode(quantities):  # NaN is NaN
            raise Damaged("with another result of a replicate before it")

    def _invalid(self, must: str, got: str, more: str = "") -> NoReturn:
        raise InputError(
            f"The 'file' parameter of simulate must be {must}. "
            f"Got {got} instead ({shortened(repr(str(self.path)))}{more})."
        )


def _checked(path: Any) -> Path:
    args, must = Arguments("simulate"), "a file name in an existing folder"
    if not isinstance(path, str | PathLike):
        args.invalid("file", must, describe(path))
    target = Path(os.fsdecode(path))
    got = shortened(repr(str(target)))
    try:
        fits = "\0" not in str(target) and target.parent.is_dir()
        if not fits or (target.exists() and not target.is_file()):
            args.invalid("file", must, got)
    except OSError as error:  # such as a name that is too long
        args.invalid("file", must, f"{got} ({error.strerror})")
    return target
