"""Results on disk: arrays plus one JSON text, and never pickle.

As one JSON text (`to_text`, `from_text`) the same document has the arrays beside the
content, as numbers that people can read; its digest is that of the file.

The JSON document holds ``format``, ``version``, ``digest`` and ``content``. The digest
is that of the content and of every array. In the content, what JSON has no form for is
an object whose first key names its kind; an object of ours is its class's tag and its
fields.

A class that can be saved is a dataclass with the decorator `register` and a table
``_state`` of what its fields may hold (see `stored_state`). It may have four hooks,
all of them private methods:

- ``_check_savable(self)`` raises an InputError that says why an object cannot be saved;
- ``_validate_state(self)`` raises a ValueError if fields, each of them as the table
  says, do not fit together;
- ``_from_format1(fields)``, static, returns today's fields from those of format 1;
- ``_added(fields)``, static, returns the fields that early files of today's format
  lack. Each is taken where a file does not have it.
"""

import dataclasses
import hashlib
import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from importlib import import_module
from os import PathLike
from typing import Any, NoReturn, TypeVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import AnyArray, describe, listed, read_only, shortened
from distfreeuq._base.files import archive, format1, numbers
from distfreeuq._base.files.replacement import target_of
from distfreeuq._base.stored_state import check_state, state_of
from distfreeuq.exceptions import InputError

_FORMAT = "distfreeuq-result"
_FORMAT_VERSION = 2
_JSON = "json"
_LARGEST_RANGE = 2**31
_MAX_DEPTH = 50
"""Levels of objects and tuples inside one another."""
_MAX_TEXT = 1 << 26
"""Bytes of the JSON text, of which Python makes objects a hundred times as large."""
_NOT_FINITE = ("nan", "inf", "-inf")

_classes: dict[str, type[Any]] = {}
_tags: dict[type[Any], str] = {}
_late_modules: list[str] = []

_Class = TypeVar("_Class", bound=type)


def register(tag: str) -> Callable[[_Class], _Class]:
    """Let instances of a dataclass be saved and loaded, and copied as they are.

    Parameters
    ----------
    tag : str
        Stands for the class in files. It never changes, whatever the class is called.
    """

    def keep(cls: _Class) -> _Class:
        other = _classes.get(tag, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"{other!r} has the same tag as {cls!r}, {tag!r}")
        unlike = {f.name for f in dataclasses.fields(cls)} ^ state_of(cls).keys()
        if unlike:
            raise TypeError(f"the table of {cls!r} and its fields differ in {unlike}")
        _classes[tag], _tags[cls] = cls, tag
        cls.__reduce__ = _reduce  # type: ignore[method-assign, assignment]
        return cls

    return keep


def also_look_in(module: str) -> None:
    """Name a module that `load` imports if nothing else knows a tag."""
    _late_modules.append(module)


# ------------------------------------------------------------------ pickle and copy


def _reduce(self: Any) -> tuple[Any, ...]:
    """Take an object apart for pickle, copy and deepcopy, which put it together again.

    Every frozen dataclass with slots gets a `__setstate__` of its own (in Python 3.10
    even where it defines one), which would leave copied arrays writable. `__reduce__`
    is asked first.
    """
    names = [field.name for field in dataclasses.fields(self)]
    return _restore, (type(self), tuple(getattr(self, name) for name in names))


def _restore(cls: type[Any], values: tuple[Any, ...]) -> Any:
    """Return an object with these values, its arrays read-only."""
    found = object.__new__(cls)
    for field, value in zip(dataclasses.fields(cls), values, strict=True):
        object.__setattr__(found, field.name, _frozen(value))
    return found


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return read_only(value)
    return tuple(map(_frozen, value)) if type(value) is tuple else value


# ------------------------------------------------------------------------------ save


def save(result: Any, path: str | PathLike[str]) -> None:
    """Write a result to a file, whole or not at all."""
    target = target_of(path)
    arrays: dict[str, AnyArray] = {}
    content = _encode(result, arrays)

    def write(file: zipfile.ZipFile) -> None:
        digests = {
            name: archive.write_array(file, name, array)
            for name, array in arrays.items()
        }
        text = json.dumps(_document(content, digests), allow_nan=False).encode()
        if len(text) > _MAX_TEXT:
            must = f"a result whose names take at most {_MAX_TEXT} bytes as text"
            Arguments("save").invalid("self", must, f"{len(text)} bytes")
        archive.write_array(file, _JSON, np.frombuffer(text, dtype=np.uint8))

    archive.write_archive(target, write)


def _document(content: Any, digests: Mapping[str, str]) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "version": _FORMAT_VERSION,
        "digest": _digest(content, digests),
        "content": content,
    }


def to_text(result: Any) -> str:
    """Return a result as one JSON text, which `from_text` reads back exactly."""
    arrays: dict[str, AnyArray] = {}
    content = _encode(result, arrays)
    digests = {
        name: archive.digest_of(archive.member_of(array))
        for name, array in arrays.items()
    }
    document = _document(content, digests)
    document["arrays"] = {name: numbers.listed_of(x) for name, x in arrays.items()}
    return json.dumps(document, allow_nan=False)


def _digest(content: Any, digests: Mapping[str, str]) -> str:
    """Return one digest of the content and of the arrays, each given by its own."""
    return _checksum([content, sorted(digests.items())])


def _checksum(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _encode(value: Any, arrays: dict[str, AnyArray], depth: int = 0) -> Any:
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in archive.PLAIN_KINDS:
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if depth < _MAX_DEPTH and isinstance(value, tuple):
        return {"tuple": [_encode(item, arrays, depth + 1) for item in value]}
    if hasattr(value, "_check_savable"):
        value._check_savable()
    if depth < _MAX_DEPTH and type(value) in _tags:
        _check_loadable(value)
        fields = {
            field.name: _encode(getattr(value, field.name), arrays, depth + 1)
            for field in dataclasses.fields(value)
        }
        return {"object": _tags[type(value)], "fields": fields}
    must = "a result whose class names are strings, numbers, None or tuples of these"
    got = f"{describe(value)} of type {type(value).__name__}"
    Arguments("save").invalid("self", must, got)


def _check_loadable(value: Any) -> None:
    """Refuse now what `load` would refuse later."""
    try:
        check_state(value)
    except ValueError as error:
        reason = str(error)
    else:
        return
    got = f"a {type(value).__name__} that it would refuse: {reason}"
    Arguments("save").invalid("self", "a result that load can read", got)


# ------------------------------------------------------------------------------ load


def not_ours(path: Any, why: str) -> InputError:
    """Return the error for a file that cannot be read back."""
    got = repr(os.fspath(path)) if isinstance(path, str | PathLike) else describe(path)
    return InputError(
        "The 'path' parameter of load must be a file written by a result's save "
        f"method. Got {shortened(got)} instead: {shortened(why)}."
    )


class _NotOurs(Exception):
    """Says why something is no result that was saved."""


def load(path: str | PathLike[str]) -> Any:
    """Read what `save` wrote; anything else is an InputError."""
    if not isinstance(path, str | PathLike):
        raise not_ours(path, "it is no path")
    try:
        members = archive.read_archive(path)
        text = archive.array_of(members.pop(_JSON)).tobytes()
        if len(text) > _MAX_TEXT:
            raise not_ours(path, f"its text is longer than {_MAX_TEXT} bytes")
        document = json.loads(text, parse_constant=_no_number)
        version = _check_document(document, members)
    except InputError:
        raise
    except _NotOurs as error:
        raise not_ours(path, str(error)) from None
    except FileNotFoundError:
        raise not_ours(path, "there is no such file") from None
    except OSError as error:
        why = error.strerror or str(error)  # the whole message repeats the path
        raise not_ours(path, f"it cannot be read ({why})") from None
    except MemoryError:
        raise not_ours(path, "it is too large for the memory") from None
    except Exception:  # whatever the readers make of a foreign file
        raise not_ours(path, "it is damaged or has another format") from None
    try:
        return _Decoder(members, version).decode_all(document["content"])
    except Exception as error:
        why = str(error) or type(error).__name__
        raise not_ours(path, f"its content is not understood ({why})") from None


def from_text(text: Any, cls: type[Any], refuse: Callable[[str], NoReturn]) -> Any:
    """Read what `to_text` wrote of an object of this class.

    Anything else has `refuse` raise an error, which is told why.
    """
    if not isinstance(text, str):
        refuse("it is no text")
    try:
        document = json.loads(text, parse_constant=_no_number)
        listed_arrays = document.pop("arrays")
        members = {
            str(name): archive.member_of(numbers.array_of_list(one))
            for name, one in listed_arrays.items()
        }
        version = _check_document(document, members)
    except _NotOurs as error:
        refuse(str(error))
    except MemoryError:
        refuse("it is too large for the memory")
    except Exception:  # whatever the readers make of a foreign text
        refuse("it is damaged or has another format")
    try:
        found = _Decoder(members, version).decode_all(document["content"])
    except Exception as error:
        why = str(error) or type(error).__name__
        refuse(f"its content is not understood ({why})")
    if not isinstance(found, cls):
        refuse(f"it holds no {cls.__name__}")
    return found


def _check_document(document: Any, members: dict[str, bytes]) -> int:
    """Return the version of a document that is ours and as it was written."""
    version = document["version"]
    if document["format"] != _FORMAT or type(version) is not int or version < 1:
        raise ValueError("this is another format")
    if version > _FORMAT_VERSION:
        raise _NotOurs("it was written by a newer version of distfreeuq")
    if not _is_intact(document, members):
        raise _NotOurs("its content was changed after it was saved")
    return version


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _is_intact(document: dict[str, Any], members: dict[str, bytes]) -> bool:
    content = document.get("content")
    if document["version"] == 1:  # whose checksum leaves out the arrays
        return bool(document.get("checksum") == _checksum(content))
    digests = {name: archive.digest_of(member) for name, member in members.items()}
    return bool(document.get("digest") == _digest(content, digests))


class _Decoder:
    """Makes objects of the content of one file."""

    def __init__(self, members: dict[str, bytes], version: int) -> None:
        self.members, self.version = members, version
        self.arrays: dict[str, AnyArray] = {}

    def decode_all(self, content: Any) -> Any:
        """Return what the content describes; every array of the file is part of it."""
        found = self._decode(content, 0)
        if self.arrays.keys() != self.members.keys():
            raise ValueError("it holds arrays that belong to nothing")
        return found

    def _decode(self, value: Any, depth: int) -> Any:
        if value is None or isinstance(value, bool | str | int | float):
            return value
        kind = tuple(value) if isinstance(value, dict) else None
        if kind == ("float",) and value["float"] in _NOT_FINITE:
            return float(value["float"])
        if kind == ("array", "dtype", "shape"):
            return self._array(value)
        if kind == ("range",):
            return range(*map(_small, value["range"]))
        if depth >= _MAX_DEPTH:
            raise ValueError(f"more than {_MAX_DEPTH} levels")
        if kind == ("tuple",) and isinstance(value["tuple"], list):
            return tuple(self._decode(item, depth + 1) for item in value["tuple"])
        if kind == ("object", "fields"):
            items = value["fields"].items()
            fields = {name: self._decode(item, depth + 1) for name, item in items}
            return self._object(value["object"], fields)
        raise ValueError(f"nothing is written as {describe(value)}")

    def _array(self, value: dict[str, Any]) -> AnyArray:
        name = value["array"]
        if name not in self.arrays:
            self.arrays[name] = archive.array_of(self.members[name])
        array = self.arrays[name]
        # a machine of the other byte order may have written it
        kinds = (array.dtype.str, array.dtype.newbyteorder().str)
        if value["dtype"] not in kinds or list(array.shape) != value["shape"]:
            raise ValueError(f"{describe(name)} has another shape or dtype")
        return array

    def _object(self, tag: str, fields: dict[str, Any]) -> Any:
        if self.version == 1:
            tag = format1.TAGS[tag]
        cls = _class_of(tag)
        if self.version == 1 and hasattr(cls, "_from_format1"):
            fields = cls._from_format1(fields)
        if hasattr(cls, "_added"):
            fields = cls._added(fields) | fields
        names = {field.name for field in dataclasses.fields(cls)}
        if fields.keys() != names:
            odd = listed(sorted(fields.keys() ^ names))
            raise ValueError(f"{tag} has other fields: {odd}")
        found = cls(**fields)
        check_state(found)
        return found


def _small(value: Any) -> int:
    if type(value) is not int or abs(value) > _LARGEST_RANGE:
        raise ValueError("a range of small integers was expected")
    return value


def _class_of(tag: str) -> type[Any]:
    for module in _late_modules:
        if tag in _classes:
            break
        import_module(module)
    if tag not in _classes:
        raise ValueError(f"there is no result called {describe(tag)}")
    return _classes[tag]
