"""Several files written together: none is replaced before all are whole."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from distfreeuq._base.files.replacement import replace_file


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write each content beside its file, then rename all, the last one first.

    Parameters
    ----------
    contents : mapping of Path to bytes
        Files that `target_of` has checked.
    """
    _write(list(contents.items()))


def _write(rest: list[tuple[Path, bytes]]) -> None:
    if not rest:
        return
    (target, content), *others = rest

    def write(file: BinaryIO) -> None:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        _write(others)  # which may fail while this one has its old content

    replace_file(target, write)
