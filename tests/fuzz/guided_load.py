"""Coverage-guided fuzzing of `load` and of the journal's reader, with atheris.

atheris is not among the development dependencies (``pip install atheris``, Linux and
macOS, Python 3.11 to 3.13). A run of ten minutes, whose finds are kept in a folder:

    python -m tests.fuzz.guided_load FOLDER -max_total_time=600

Anything but a result or an InputError ends the run, with the input on file; give that
file's name as an argument to see it again. What is loaded is then printed and asked for
predictions, which must not end the interpreter.

An input begins with a byte that says what is fuzzed: the bytes of a file, its content
(edits of a real file, signed again, so that they get past the digest), the bytes of one
array, the bytes of a journal, or the lines of a journal, which get good digests.
"""

import atexit
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["distfreeuq", "zipfile", "json.decoder"]):
    import distfreeuq as dfu
    from distfreeuq._base.files import archive
    from distfreeuq.simulation import journal_lines
    from distfreeuq.simulation.journal import Journal

import numpy as np

from tests.reliability.exercises import exercises
from tests.reliability.forging import FILES, Document, signed

KINDS = ("file", "content", "array", "journal", "lines")
DOCUMENTS = [Document.of(path) for path in FILES]
PLACES = [document.places() for document in DOCUMENTS]
DTYPES = ("<f8", "<i8", "|b1", "<f4", "<i4", ">f8", "<f2", "|u1", "<u8")
SLOW = ("plot", "bootstrap", "html")
HEADER = {"seed": 7, "scenario": "a coin"}
_folder = tempfile.TemporaryDirectory()
atexit.register(_folder.cleanup)
SCRATCH = Path(_folder.name, "scratch")


def test_one_input(data: bytes) -> None:
    """Read one input; any error but an InputError is a find."""
    if len(data) < 2:
        return
    kind, rest = KINDS[data[0] % len(KINDS)], data[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "file":
            _load(rest)
        elif kind == "content":
            _load(_edited(atheris.FuzzedDataProvider(rest)))
        elif kind == "array":
            _array(rest)
        elif kind == "journal":
            _journal(rest)
        else:
            _journal(_with_digests(rest))


def _load(content: bytes) -> None:
    SCRATCH.write_bytes(content)
    try:
        fit = dfu.load(SCRATCH)
    except dfu.InputError:
        return
    for name, call in exercises(fit):
        if name not in SLOW:
            try:
                call()
            except Exception:  # a wrong number in a file may be no number for pandas
                continue


def _array(content: bytes) -> None:
    try:
        array = archive.array_of(content)
    except Exception as error:  # which `load` turns into an InputError
        assert not isinstance(error, SystemError), error
        return
    assert array.flags.c_contiguous and array.dtype.isnative
    assert array.nbytes <= len(content)
    array.sum(dtype=np.float64)


def _journal(content: bytes) -> None:
    SCRATCH.write_bytes(content)
    try:
        with Journal(SCRATCH) as journal:
            journal.begin(HEADER)
            for replicate, quantities in journal.done.items():
                assert type(replicate) is int and replicate >= 0
                assert all(type(value) is float for value in quantities.values())
    except dfu.InputError:
        assert SCRATCH.read_bytes() == content
        return
    kept = SCRATCH.read_bytes()
    assert kept.startswith(content[: content.rfind(b"\n") + 1])


def _with_digests(content: bytes) -> bytes:
    body = journal_lines.encode({"format": journal_lines.FORMATS[-1], **HEADER})
    line, salt = journal_lines.sealed(body, "")
    lines = [journal_lines.sealed(part, salt)[0] for part in content.split(b"\n")]
    return b"".join([line, *lines])


# ------------------------------------------------------------- edits of a real content


def _edited(provider: Any) -> bytes:
    """Return a file with a few values replaced by others made of the input."""
    number = provider.ConsumeIntInRange(0, len(DOCUMENTS) - 1)
    document, places = DOCUMENTS[number], PLACES[number]
    arrays = dict(document.arrays)
    edited = document
    for _ in range(provider.ConsumeIntInRange(1, 3)):
        place = places[provider.ConsumeIntInRange(0, len(places) - 1)]
        try:
            value = edited.at(place)
        except (KeyError, IndexError, TypeError):  # an earlier edit took it away
            continue
        edited = edited.replaced(place, _value(provider, value, arrays, 0))
    return signed(edited.content, arrays)


def _value(provider: Any, old: Any, arrays: dict[str, Any], depth: int) -> Any:
    """Return something of the input's making that a document may hold."""
    which = provider.ConsumeIntInRange(0, 9)
    if which == 0:
        return provider.ConsumeInt(8)
    if which == 1:
        return _float(provider.ConsumeFloat())
    if which == 2:
        return provider.ConsumeUnicode(20)
    if which == 3:
        return (None, True, False)[provider.ConsumeIntInRange(0, 2)]
    if which == 4 and depth < 4:
        n_items = provider.ConsumeIntInRange(0, 4)
        items = [_value(provider, old, arrays, depth + 1) for _ in range(n_items)]
        return {"tuple": items}
    if which == 5:
        return {"range": [provider.ConsumeInt(5) for _ in range(3)]}
    if which == 6:
        other = DOCUMENTS[provider.ConsumeIntInRange(0, len(DOCUMENTS) - 1)].content
        return other if not _has_arrays(other) else old
    return _array_value(provider, old, arrays)


def _array_value(provider: Any, old: Any, arrays: dict[str, Any]) -> Any:
    """Return an array in place of an array: other entries, or another shape."""
    if not isinstance(old, dict) or "array" not in old:
        return old
    before = arrays[old["array"]]
    if provider.ConsumeBool() and before.size:
        array = before.copy()
        for _ in range(provider.ConsumeIntInRange(1, 4)):
            place = provider.ConsumeIntInRange(0, array.size - 1)
            raw = provider.ConsumeBytes(array.itemsize).ljust(array.itemsize, b"\0")
            if array.dtype.kind == "b":
                raw = bytes([raw[0] & 1])
            array.reshape(-1)[place] = np.frombuffer(raw, array.dtype)[0]
    else:
        dtype = np.dtype(DTYPES[provider.ConsumeIntInRange(0, len(DTYPES) - 1)])
        shape = [
            provider.ConsumeIntInRange(0, 4)
            for _ in range(provider.ConsumeIntInRange(0, 3))
        ]
        n_bytes = int(np.prod(shape)) * dtype.itemsize
        raw = provider.ConsumeBytes(n_bytes).ljust(n_bytes, b"\0")
        array = np.frombuffer(raw, dtype).reshape(shape)
    arrays[old["array"]] = array
    return {**old, "dtype": array.dtype.str, "shape": list(array.shape)}


def _float(value: float) -> Any:
    return value if np.isfinite(value) else {"float": repr(value)}


def _has_arrays(content: Any) -> bool:
    return '"array"' in repr(content).replace("'", '"')


def _seeds(folder: Path) -> None:
    """Begin with real files, arrays and journals."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in FILES:
        Path(folder, f"seed-{path.stem}").write_bytes(b"\0" + path.read_bytes())
        member = next(iter(archive.read_archive(path).values()))
        Path(folder, f"seed-array-{path.stem}").write_bytes(b"\2" + member)
    for number in range(40):
        generator = np.random.default_rng(number)
        Path(folder, f"seed-edit{number}").write_bytes(b"\1" + generator.bytes(60))
    row = b'{"replicate": 3, "quantities": {"hit": 1.0}}'
    Path(folder, "seed-lines").write_bytes(b"\4" + row)
    Path(folder, "seed-journal").write_bytes(b"\3" + _with_digests(row))
    old = (FILES[0].parents[1] / "format1" / "journal.jsonl").read_bytes()
    Path(folder, "seed-old-journal").write_bytes(b"\3" + old)


if __name__ == "__main__":
    if len(sys.argv) > 1 and not Path(sys.argv[1]).is_file():
        _seeds(Path(sys.argv[1]))
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
