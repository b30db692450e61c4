"""Results on disk: an npz archive of arrays plus one JSON text, and never pickle."""

import dataclasses
import json
import math
import os
import secrets
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from distfreeuq.exceptions import InputError

_FORMAT = "distfreeuq-result"
_FORMAT_VERSION = 1
_JSON = "json"
_known: dict[str, type[Any]] = {}
_Class = TypeVar("_Class", bound=type)


def register(cls: _Class) -> _Class:
    """Let instances of a dataclass be saved and loaded under the class's name."""
    _known[cls.__name__] = cls
    return cls


def not_ours(path: str | PathLike[str], why: str) -> InputError:
    """Return the error for a file that cannot be read back."""
    return InputError(
        f"The 'path' parameter of load must be a file written by a result's save method. "
        f"Got {os.fspath(path)!r} instead: {why}."
    )


def save(result: Any, path: str | PathLike[str]) -> None:
    """Write atomically: to a temporary neighbour, then rename."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    document = {
        "format": _FORMAT,
        "version": _FORMAT_VERSION,
        "content": _encode(result, arrays),
    }
    text = np.frombuffer(json.dumps(document, allow_nan=False).encode(), dtype=np.uint8)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            np.savez(file, **{_JSON: text}, **arrays)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: str | PathLike[str]) -> Any:
    """Read what `save` wrote; anything else is an InputError."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile) or _JSON not in archive:
                raise not_ours(path, "it has another format")
            document = json.loads(archive[_JSON].tobytes())
            arrays = {name: archive[name] for name in archive.files if name != _JSON}
    except FileNotFoundError:
        raise not_ours(path, "there is no such file") from None
    except (zipfile.BadZipFile, ValueError, EOFError, KeyError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise not_ours(path, f"it is damaged or has another format ({error})") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise not_ours(path, "it has another format")
    if document["version"] > _FORMAT_VERSION:
        raise not_ours(path, "it was written by a newer version of distfreeuq")
    try:
        return _decode(document["content"], arrays)
    except (KeyError, TypeError, AttributeError) as error:
        raise not_ours(path, f"its content is not understood ({error})") from error


def _encode(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """Return JSON; what JSON has no form for becomes a one-key object naming its kind."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, tuple):
        return {"tuple": [_encode(item, arrays) for item in value]}
    if isinstance(value, range):
        return {"range": len(value)}
    if dataclasses.is_dataclass(value) and type(value).__name__ in _known:
        fields = {
            field.name: _encode(getattr(value, field.name), arrays)
            for field in dataclasses.fields(value)
        }
        return {"object": type(value).__name__, "fields": fields}
    raise InputError(
        f"Only results whose class names are strings, numbers or None can be saved. "
        f"Got {value!r} of type {type(value).__name__} instead."
    )


def _decode(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "array" in value:
        array = arrays[value["array"]]
        array.flags.writeable = False
        return array
    if "tuple" in value:
        return tuple(_decode(item, arrays) for item in value["tuple"])
    if "range" in value:
        return range(value["range"])
    fields = {name: _decode(item, arrays) for name, item in value["fields"].items()}
    return _known[value["object"]](**fields)
