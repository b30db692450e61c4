"""Files with a good digest and something in them that no fit gives.

Every array and every scalar of a file is replaced in turn by what someone might put
there who knows the format: too short, too long, of another type, not a number, out of
range, in another order.
"""

import copy
import dataclasses
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import distfreeuq as dfu
from distfreeuq._base import persistence
from distfreeuq._base.files import archive

FOLDER = Path(__file__).parents[1] / "files" / "format2"
FILES = sorted(path for path in FOLDER.glob("*.npz") if path.stem != "recorded")
ONE_OF_EACH_KIND = sorted(
    {type(dfu.load(path)): path for path in FILES}.values(), key=lambda path: path.stem
)
JSON = "json"
HUGE = 2**62
WORDS = ("guarantee", "further", "no-guarantee")
"""Parts of nearly every file, which are forged in one file alone."""
WITH_WORDS = "split-hashed"


@dataclasses.dataclass(frozen=True)
class Document:
    """A file taken apart: its JSON content and its arrays by name."""

    content: Any
    arrays: dict[str, Any]

    @classmethod
    def of(cls, path: Path) -> "Document":
        """Take a file apart."""
        members = archive.read_archive(path)
        text = archive.array_of(members.pop(JSON)).tobytes()
        arrays = {name: archive.array_of(m) for name, m in members.items()}
        return cls(json.loads(text)["content"], arrays)

    def places(self) -> list[tuple[Any, ...]]:
        """Return the way to every value in the content, the whole one included."""
        return list(_places(self.content))

    def at(self, place: tuple[Any, ...]) -> Any:
        """Return the value at a place."""
        value = self.content
        for step in place:
            value = value[step]
        return value

    def replaced(self, place: tuple[Any, ...], value: Any) -> "Document":
        """Return the document with another value at a place."""
        if not place:
            return Document(value, self.arrays)
        content = copy.deepcopy(self.content)
        inside = content
        for step in place[:-1]:
            inside = inside[step]
        inside[place[-1]] = value
        return Document(content, self.arrays)

    def with_value(self, place: tuple[Any, ...], value: Any) -> bytes:
        """Return the file with another value at a place, signed again."""
        return signed(self.replaced(place, value).content, self.arrays)

    def with_array(self, place: tuple[Any, ...], array: Any) -> bytes:
        """Return the file with another array at a place, signed again."""
        old = self.at(place)
        new = {**old, "dtype": array.dtype.str, "shape": list(array.shape)}
        content = self.replaced(place, new).content
        return signed(content, {**self.arrays, old["array"]: array})


def signed(content: Any, arrays: dict[str, Any]) -> bytes:
    """Return a file of these, with a digest that is right."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        digests = {n: archive.write_array(file, n, a) for n, a in arrays.items()}
        document = {
            "format": "distfreeuq-result",
            "version": 2,
            "digest": persistence._digest(content, digests),
            "content": content,
        }
        text = json.dumps(document).encode()
        archive.write_array(file, JSON, np.frombuffer(text, dtype=np.uint8))
    return whole.getvalue()


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    if isinstance(value, dict):
        if "fields" in value:
            for name, item in value["fields"].items():
                yield from _places(item, (*place, "fields", name))
        elif "tuple" in value:
            for i, item in enumerate(value["tuple"]):
                yield from _places(item, (*place, "tuple", i))


# ---------------------------------------------------------------------------- changes


def _put(value: Any, where: Any = 0) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array.flat[where] = value
        return array

    return change


OF_ALL_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "shorter": lambda a: a[:-1],
    "longer": lambda a: np.concatenate([a, a[-1:]]),
    "empty": lambda a: a[:0],
    "ravelled": np.ravel,
    "transposed": lambda a: np.ascontiguousarray(a.T),
    "column-major": lambda a: np.asfortranarray(a),
    "one more dimension": lambda a: a[None],
    "no dimension": lambda a: a.ravel()[0] if a.size else np.zeros((), a.dtype),
    "huge and empty": lambda a: np.empty((0, 10**15), a.dtype),
    "backwards": lambda a: a[::-1],
    "as float32": lambda a: a.astype(np.float32),
    "as half": lambda a: a.astype(np.float16),
    "as int64": lambda a: np.nan_to_num(a.astype(np.float64)).astype(np.int64),
    "as int32": lambda a: np.nan_to_num(a.astype(np.float64)).astype(np.int32),
    "as bool": lambda a: a.astype(np.bool_),
    "as float64": lambda a: a.astype(np.float64),
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "zeros": np.zeros_like,
    "all the last": lambda a: np.full_like(a, a.flat[-1]),
}
OF_FLOATS = {
    f"{value} {place}": _put(value, where)
    for value in (np.nan, np.inf, -np.inf, -1.0, 2.0, 1e308, -1e308, 5e-324, 1e16)
    for place, where in (("first", 0), ("last", -1), ("everywhere", slice(None)))
}
OF_INTEGERS = {
    f"{value} {place}": _put(value, where)
    for value in (-1, -2, 1, 3, 99, 2**31, HUGE, -HUGE, -(2**63), 2**63 - 1)
    for place, where in (("first", 0), ("last", -1), ("everywhere", slice(None)))
}
OF_BOOLS = {
    "not": np.logical_not,
    "two": lambda a: np.full(a.shape, 2, np.uint8).view(np.bool_),
}
OTHER_NUMBERS = [
    *(-1, 0, 1, 2, 7, 2**31, 2**53 + 1, HUGE, 2**64, 10**400, -(10**400)),
    *(-1.0, 0.0, 0.5, 1.0, 1.5, 1e-300, 5e-324, 1e308, -1e308),
    *({"float": "nan"}, {"float": "inf"}, {"float": "-inf"}),
]
OTHER_VALUES = [
    None,
    True,
    False,
    "",
    "x",
    "x" * 10**4,
    "\x1b[31m\n\0\ud800",
    {"tuple": []},
    {"tuple": ["a", "a"]},
    {"tuple": [None, 1.5, "a"]},
    {"tuple": [{"float": "nan"}]},
    {"range": [0, 0, 1]},
    {"range": [0, 3, 1]},
    {"range": [0, 10**6, 1]},
    {"range": [0, 2**31, 1]},
    {"range": [0, 10**18, 1]},
    {"range": [2, -1, -1]},
    {"range": [0, 3, 0]},
    {"range": [0.5, 1, 1]},
    {"array": "array0", "dtype": "<f8", "shape": []},
    {"object": "no-guarantee", "fields": {"reason": "none"}},
    {"object": "aps", "fields": {}},
    {},
    [],
    [[]],
]


def forgeries(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what was done to a file, and the file."""
    document = Document.of(path)
    for place in document.places():
        in_words = any(step in WORDS for step in place[:-1])
        if in_words and path.stem != WITH_WORDS:
            continue
        value, told = document.at(place), ".".join(map(str, place[1::2])) or "all"
        if isinstance(value, dict) and "array" in value:
            array = document.arrays[value["array"]]
            for how, other in _arrays(array):
                yield f"{told}: {how}", document.with_array(place, other)
        for other in OTHER_NUMBERS + OTHER_VALUES:
            if other != value or type(other) is not type(value):
                got = json.dumps(other)[:40]
                yield f"{told}: {got}", document.with_value(place, other)
        yield from _of_containers(document, place, value, told)


def _arrays(array: Any) -> Iterator[tuple[str, Any]]:
    by_kind = {"f": OF_FLOATS, "i": OF_INTEGERS, "b": OF_BOOLS}[array.dtype.kind]
    for how, change in (OF_ALL_ARRAYS | by_kind).items():
        try:
            with np.errstate(all="ignore"):
                other = np.asarray(change(array.copy()))
        except (ValueError, IndexError):  # this change needs entries, or dimensions
            continue
        yield how, other


def _of_containers(
    document: Document, place: tuple[Any, ...], value: Any, told: str
) -> Iterator[tuple[str, bytes]]:
    if not isinstance(value, dict):
        return
    if "tuple" in value:
        items = value["tuple"]
        for how, other in {
            "without the last": items[:-1],
            "the first twice": [*items[:1], *items],
            "backwards": items[::-1],
        }.items():
            yield f"{told}: {how}", document.with_value(place, {"tuple": other})
    if "fields" in value:
        for name, item in value["fields"].items():
            for spot, given in value["fields"].items():  # one in the place of another
                if spot != name and item != given:
                    swapped = document.with_value((*place, "fields", name), given)
                    yield f"{told}.{name}: {spot} in its place", swapped
