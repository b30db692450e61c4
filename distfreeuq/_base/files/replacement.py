"""A file written whole or not at all: to a neighbour of it, which is then renamed."""

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from distfreeuq._base.arrays import describe, shortened
from distfreeuq.exceptions import InputError

try:
    import fcntl
except ImportError:  # pragma: no cover - where open files cannot be removed or renamed
    _LOCKS = False
else:
    _LOCKS = True

_PRIVATE = 0o600
_OF_GROUP = 0o070


def target_of(path: Any, *, caller: str = "save", parameter: str = "path") -> Path:
    """Return the file to write: the one that a symbolic link leads to."""
    must = (
        f"The '{parameter}' parameter of {caller} must be a file name in an existing "
        "folder. "
    )
    if not isinstance(path, str | PathLike):
        raise InputError(f"{must}Got {describe(path)} instead.")
    given = os.fsdecode(path)
    got = f"Got {shortened(repr(given))} instead"
    try:
        if "\0" in given or Path(given).is_dir():
            raise InputError(f"{must}{got}.")
        target = Path(os.path.realpath(given))
        if not target.parent.is_dir():
            raise InputError(f"{must}{got}.")
        if target.is_symlink() or (target.exists() and not target.is_file()):
            raise InputError(f"{must}{got}, which is no regular file.")
    except OSError as error:  # such as a name that is too long
        raise InputError(f"{must}{got} ({error.strerror}).") from None
    return target


def replace_file(target: Path, write: Callable[[BinaryIO], None]) -> None:
    """Have a temporary neighbour of the target written, then rename it.

    The file keeps the permissions that it had; a new one gets the usual ones. While it
    is written the neighbour is locked: one without a lock is of a process that was
    killed, and is removed.
    """
    mark = "." + hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12] + "-"
    _remove_stale(target.parent, mark)
    before = target.stat() if target.exists() else None
    temporary, file = _new_neighbor(target, mark, before)
    try:
        with file:
            write(file)
            file.flush()
            if before is not None:
                _keep_permissions(temporary, before)
            os.fsync(file.fileno())
            if _LOCKS:
                os.replace(temporary, target)
        if not _LOCKS:  # pragma: no cover
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def _new_neighbor(
    target: Path, mark: str, before: os.stat_result | None
) -> tuple[Path, BinaryIO]:
    """Return a new file beside the target, open and locked."""

    def create(path: str, flags: int) -> int:
        return os.open(path, flags, 0o666 if before is None else _PRIVATE)

    while True:
        temporary = target.with_name(f"{mark}{secrets.token_hex(8)}.tmp")
        file = open(temporary, "x+b", opener=create)  # noqa: SIM115
        # another process may take it for a stale one until it is locked
        if not _LOCKS or (_locked(file) and os.fstat(file.fileno()).st_nlink):
            return temporary, file
        file.close()  # pragma: no cover - this takes two processes within microseconds


def _remove_stale(folder: Path, mark: str) -> None:
    """Remove the neighbours that processes left behind which were killed."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(mark) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    if not _LOCKS:  # pragma: no cover
        os.unlink(path)  # which fails for a file in use
        return
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(path, flags), "rb") as file:
        # what was renamed meanwhile has another name now
        if _locked(file) and os.path.samestat(os.fstat(file.fileno()), os.lstat(path)):
            os.unlink(path)


def _locked(file: Any) -> bool:
    """Lock a file, and say whether it was free; True where there are no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # pragma: no cover - a file system without locks
        return True
    return True


def _keep_permissions(path: Path, before: os.stat_result) -> None:
    """Give a file the permissions of another, and its owner where that is allowed."""
    mode = stat.S_IMODE(before.st_mode)
    if hasattr(os, "chown"):
        try:
            os.chown(path, -1, before.st_gid)
        except OSError:  # nobody of another group may read it for that
            mode &= ~_OF_GROUP
        with contextlib.suppress(OSError):
            os.chown(path, before.st_uid, -1)
    os.chmod(path, mode)
