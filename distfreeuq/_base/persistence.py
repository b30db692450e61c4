"""Results on disk: an npz archive of arrays plus one JSON text, and never pickle.

The JSON document holds ``format``, ``version``, ``checksum`` and ``content``. In the
content, what JSON has no form for is an object whose first key names its kind.
"""

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import secrets
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from distfreeuq._base.arrays import AnyArray, describe
from distfreeuq.exceptions import InputError

_FORMAT = "distfreeuq-result"
_FORMAT_VERSION = 1
_JSON = "json"
_known: dict[str, type[Any]] = {}
_Class = TypeVar("_Class", bound=type)


def register(cls: _Class) -> _Class:
    """Let instances of a dataclass be saved and loaded under the class's name."""
    namesake = _known.get(cls.__name__, cls)
    if namesake.__module__ != cls.__module__:
        raise TypeError(f"{namesake!r} is saved under the same name as {cls!r}")
    _known[cls.__name__] = cls
    return cls


def not_ours(path: Any, why: str) -> InputError:
    """Return the error for a file that cannot be read back."""
    got = repr(os.fspath(path)) if isinstance(path, str | PathLike) else describe(path)
    return InputError(
        "The 'path' parameter of load must be a file written by a result's save "
        f"method. Got {got} instead: {why}."
    )


def save(result: Any, path: str | PathLike[str]) -> None:
    """Write atomically: to a temporary neighbour, then rename."""
    target = _target(path)
    arrays: dict[str, AnyArray] = {}
    content = _encode(result, arrays)
    document = {
        "format": _FORMAT,
        "version": _FORMAT_VERSION,
        "checksum": _checksum(content),
        "content": content,
    }
    text = np.frombuffer(json.dumps(document, allow_nan=False).encode(), dtype=np.uint8)
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            _write(file, {_JSON: text, **arrays})
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def _target(path: Any) -> Path:
    must = "The 'path' parameter of save must be a file name in an existing folder. "
    if not isinstance(path, str | PathLike):
        raise InputError(f"{must}Got {describe(path)} instead.")
    target = Path(os.fsdecode(path))
    if "\0" in str(target) or target.is_dir() or not target.parent.is_dir():
        raise InputError(f"{must}Got {str(target)!r} instead.")
    return target


def _write(file: Any, arrays: dict[str, AnyArray]) -> None:
    """Write an npz archive; np.savez would pickle what it cannot write otherwise."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def load(path: str | PathLike[str]) -> Any:
    """Read what `save` wrote; anything else is an InputError."""
    if not isinstance(path, str | PathLike):
        raise not_ours(path, "it is no path")
    try:
        # opened here, because np.load would leave a damaged file open
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        document = json.loads(arrays.pop(_JSON).tobytes())
        if document["format"] != _FORMAT or document["version"] < 1:
            raise ValueError("this is another format")
    except FileNotFoundError:
        raise not_ours(path, "there is no such file") from None
    except (OSError, MemoryError) as error:
        raise not_ours(path, f"it cannot be read ({error})") from None
    except Exception:  # whatever the readers make of a foreign file
        raise not_ours(path, "it is damaged or has another format") from None
    if document["version"] > _FORMAT_VERSION:
        raise not_ours(path, "it was written by a newer version of distfreeuq")
    content = document.get("content")
    if document.get("checksum") != _checksum(content):
        raise not_ours(path, "its content was changed after it was saved")
    try:
        return _decode(content, arrays)
    except Exception as error:
        raise not_ours(path, f"its content is not understood ({error})") from None


def _checksum(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _encode(value: Any, arrays: dict[str, AnyArray]) -> Any:
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, tuple):
        return {"tuple": [_encode(item, arrays) for item in value]}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if _known.get(type(value).__name__) is type(value):
        fields = {
            field.name: _encode(getattr(value, field.name), arrays)
            for field in dataclasses.fields(value)
        }
        return {"object": type(value).__name__, "fields": fields}
    raise InputError(
        "Only results whose class names are strings, numbers, None or tuples of these "
        f"can be saved. Got {describe(value)} of type {type(value).__name__} instead."
    )


def _decode(value: Any, arrays: dict[str, AnyArray]) -> Any:
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "array" in value:
        array = arrays[value["array"]]
        if array.dtype.str != value["dtype"] or list(array.shape) != value["shape"]:
            raise ValueError(f"{value['array']} has another shape or dtype")
        array.flags.writeable = False
        return array
    if "tuple" in value:
        return tuple(_decode(item, arrays) for item in value["tuple"])
    if "range" in value:
        return range(*value["range"])
    if value["object"] not in _known:
        raise ValueError(f"there is no result called {value['object']!r}")
    fields = {name: _decode(item, arrays) for name, item in value["fields"].items()}
    return _known[value["object"]](**fields)
