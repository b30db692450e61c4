"""Files of arrays: npz archives, read with limits.

Members are stored and never compressed, so that reading a file takes no more memory
than the file is large. Nothing is pickled.
"""

import hashlib
import io
import math
import os
import re
import stat
import zipfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from distfreeuq._base.arrays import AnyArray, read_only
from distfreeuq._base.files.replacement import replace_file

PLAIN_KINDS = "biuf"
"""Kinds of dtype that files hold: bools, integers and floats."""

_SUFFIX = ".npy"
_ENCRYPTED = 0x1
_NAME = re.compile(r"(json|array(0|[1-9][0-9]*))\.npy")


def write_archive(target: Path, write: Callable[[zipfile.ZipFile], None]) -> None:
    """Have the members of an archive written, whole or not at all."""

    def write_file(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            write(archive)

    replace_file(target, write_file)


class _Hashed:
    """A file whose bytes are hashed as they are written."""

    def __init__(self, file: Any) -> None:
        self.file, self.sha256 = file, hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        return int(self.file.write(data))


def write_array(archive: zipfile.ZipFile, name: str, array: AnyArray) -> str:
    """Add an array to an archive and return the digest of what was written.

    The digest is that of the array's dtype, shape and order, which begin the member,
    and of its bytes. (np.savez would pickle what it cannot write otherwise.)
    """
    with archive.open(name + _SUFFIX, "w", force_zip64=True) as member:
        hashed = _Hashed(member)
        np.lib.format.write_array(hashed, array, allow_pickle=False)
    return hashed.sha256.hexdigest()


def member_of(array: AnyArray) -> bytes:
    """Return the bytes that `write_array` writes of an array."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def read_archive(path: str | PathLike[str]) -> dict[str, bytes]:
    """Return the members of an archive by name; ValueError if it is none of ours.

    Sizes are checked before anything is read: a member that expands is refused.
    """
    _require_regular(os.stat(path))
    with open(path, "rb", opener=_open_at_once) as file:
        size = _require_regular(os.fstat(file.fileno()))
        return _members(zipfile.ZipFile(file), size)


def _open_at_once(path: str, flags: int) -> int:
    """Open a file, and do not wait for the other end of what has become a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _require_regular(found: os.stat_result) -> int:
    if not stat.S_ISREG(found.st_mode):
        raise OSError("it is no regular file")
    return found.st_size


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    with archive:
        members = archive.infolist()
        for member in members:
            plain = member.compress_type == zipfile.ZIP_STORED
            if not plain or member.file_size != member.compress_size:
                raise ValueError("a member is compressed")
            if member.flag_bits & _ENCRYPTED or not _NAME.fullmatch(member.filename):
                raise ValueError("a member is no array of ours")
        if sum(member.file_size for member in members) > size:
            raise ValueError("the members are larger than the file")
        names = [member.filename.removesuffix(_SUFFIX) for member in members]
        if len(set(names)) < len(names):
            raise ValueError("two members have one name")
        pairs = zip(names, members, strict=True)
        return {name: archive.read(member) for name, member in pairs}


def digest_of(member: bytes) -> str:
    """Return the digest that `write_array` returned for the same bytes."""
    return hashlib.sha256(member).hexdigest()


def array_of(member: bytes) -> AnyArray:
    """Return the array that a member holds, read-only, without copying it.

    It is row by row in memory and of this machine's byte order, as kernels take for
    granted; one that is not is copied.
    """
    file = io.BytesIO(member)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array has another version")
    shape, column_major, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in PLAIN_KINDS:
        raise ValueError(f"an array has the dtype {dtype}")
    if file.tell() + dtype.itemsize * math.prod(shape) != len(member):
        raise ValueError("an array has another size than its shape says")
    array: AnyArray = np.ndarray(
        shape, dtype, member, file.tell(), order="F" if column_major else "C"
    )
    if dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        raise ValueError("an array of bools holds something else")
    if array.flags.c_contiguous and dtype.isnative:
        return array
    return read_only(np.array(array, dtype=dtype.newbyteorder("="), order="C"))
