"""Files of arrays: npz archives, written whole or not at all, and read with limits.

Members are stored and never compressed, so that reading a file takes no more memory
than the file is large. Nothing is pickled.
"""

import contextlib
import hashlib
import io
import math
import os
import secrets
import stat
import zipfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from distfreeuq._base.arrays import AnyArray, describe
from distfreeuq.exceptions import InputError

PLAIN_KINDS = "biuf"
"""Kinds of dtype that files hold: bools, integers and floats."""

_SUFFIX = ".npy"
_ENCRYPTED = 0x1
_PRIVATE = 0o600


def target_of(path: Any) -> Path:
    """Return the file to write: the one that a symbolic link leads to."""
    must = "The 'path' parameter of save must be a file name in an existing folder. "
    if not isinstance(path, str | PathLike):
        raise InputError(f"{must}Got {describe(path)} instead.")
    given = os.fsdecode(path)
    if "\0" in given or Path(given).is_dir():
        raise InputError(f"{must}Got {given!r} instead.")
    target = Path(os.path.realpath(given))
    if not target.parent.is_dir():
        raise InputError(f"{must}Got {given!r} instead.")
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise InputError(f"{must}Got {given!r} instead, which is no regular file.")
    return target


def write_archive(target: Path, write: Callable[[zipfile.ZipFile], None]) -> None:
    """Write a temporary neighbour of the target, then rename it.

    The file keeps the permissions that it had; a new one gets the usual ones.
    """
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None

    def create(path: str, flags: int) -> int:
        return os.open(path, flags, 0o666 if mode is None else _PRIVATE)

    try:
        with open(temporary, "xb", opener=create) as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                write(archive)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


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


def read_archive(path: str | PathLike[str]) -> dict[str, bytes]:
    """Return the members of an archive by name; ValueError if it is none of ours.

    Sizes are checked before anything is read: a member that expands is refused.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError("it is no regular file")
    with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        for member in members:
            plain = member.compress_type == zipfile.ZIP_STORED
            if not plain or member.file_size != member.compress_size:
                raise ValueError(f"{member.filename} is compressed")
            if member.flag_bits & _ENCRYPTED or not member.filename.endswith(_SUFFIX):
                raise ValueError(f"{member.filename} is no array")
        if (
            sum(member.file_size for member in members)
            > os.fstat(file.fileno()).st_size
        ):
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
    """Return the array that a member holds, read-only, without copying it."""
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
    return array
