"""Archives that nobody saved: bombs, odd members, odd arrays."""

import io
import json
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._base import persistence
from distfreeuq._base.files import archive
from tests.reliability.forging import Document, signed
from tests.unit.argument_data import PLAIN


@pytest.fixture
def path(tmp_path: Path) -> Path:
    PLAIN.save(tmp_path / "fit")
    return tmp_path / "fit"


def refused(path: Path, why: str) -> None:
    with pytest.raises(dfu.InputError, match=why) as error:
        dfu.load(path)
    assert len(str(error.value)) < 800
    assert str(error.value).isprintable()


def rewritten(
    path: Path, *, compression: int = zipfile.ZIP_STORED, **names: str
) -> None:
    """Write the members again, under other names where some are given."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", compression) as new:
        for name, content in members.items():
            new.writestr(names.get(name.removesuffix(".npy"), name), content)


def test_the_rewriting_itself_is_harmless(path):
    rewritten(path)
    assert dfu.load(path).alpha == PLAIN.alpha


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_compressed_members_are_refused(path, compression):
    rewritten(path, compression=compression)
    refused(path, "it is damaged or has another format")


@pytest.mark.parametrize(
    "name",
    [
        "../array0.npy",
        "/etc/array0.npy",
        "array0",
        "array00.npy",
        "ARRAY0.npy",
        "a.npy",
    ],
)
def test_members_of_other_names_are_refused(path, name):
    rewritten(path, array0=name)
    refused(path, "it is damaged or has another format")


def test_two_members_of_one_name_are_refused(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile's own
        with zipfile.ZipFile(path, "a") as file:
            file.writestr("array0.npy", file.read("array0.npy"))
    refused(path, "it is damaged or has another format")


def test_a_member_that_says_it_is_encrypted_is_refused(path):
    content = bytearray(path.read_bytes())
    for start in (b"PK\x01\x02", b"PK\x03\x04"):  # flags of the first member
        place = content.index(start) + (8 if start[2] == 1 else 6)
        content[place] |= 1
    path.write_bytes(content)
    refused(path, "it is damaged or has another format")


def test_members_that_overlap_are_refused(tmp_path):
    """Many entries of one large member would be read as often as they stand there."""
    path = tmp_path / "bomb"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("json.npy", bytes(10**6))
        one = file.infolist()[0]
        for number in range(200):
            entry = zipfile.ZipInfo(f"array{number}.npy")
            entry.header_offset, entry.CRC = one.header_offset, one.CRC
            entry.file_size = entry.compress_size = one.file_size
            file.filelist.append(entry)
            file.NameToInfo[entry.filename] = entry
    tracemalloc.start()
    refused(path, "it is damaged or has another format")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**6


def test_a_text_beyond_the_limit_is_neither_read_nor_written(
    path, monkeypatch, tmp_path
):
    monkeypatch.setattr(persistence, "_MAX_TEXT", 1000)
    refused(path, "its text is longer than 1000 bytes")
    with pytest.raises(dfu.InputError, match="at most 1000 bytes"):
        PLAIN.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "tag", ["x" * 10**5, "\x1b[31m\n\r\x00", "\ud800", ["a"], None]
)
def test_what_a_file_says_is_not_repeated_at_length(path, tag):
    document = Document.of(path)
    path.write_bytes(signed({**document.content, "object": tag}, document.arrays))
    refused(path, "its content is not understood")
    fields = {**document.content["fields"], str(tag): 1}
    content = {**document.content, "fields": fields}
    path.write_bytes(signed(content, document.arrays))
    refused(path, "its content is not understood")


def member(array: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def test_arrays_of_another_order_are_read_as_kernels_expect_them():
    array = np.arange(6.0).reshape(2, 3)
    for written in (array, np.asfortranarray(array), array.astype(">f8")):
        found = archive.array_of(member(written))
        np.testing.assert_array_equal(found, array)
        assert found.flags.c_contiguous and found.dtype == np.float64
        assert found.dtype.isnative and not found.flags.writeable


def test_an_array_of_another_machine_is_converted_once(path):
    document = Document.of(path)
    scores = document.arrays["array1"].astype(">f8")
    content = json.loads(json.dumps(document.content).replace("<f8", ">f8"))
    arrays = {**document.arrays, "array1": scores}
    arrays["array0"] = arrays["array0"].astype(">f8")
    path.write_bytes(signed(content, arrays))
    np.testing.assert_array_equal(dfu.load(path).scores, PLAIN.scores)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (10**9, 10**9)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,)}",
        "{'descr': ('<f8', (2,)), 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "__import__('os').getpid()",
        "-" * 5000 + "1",
        "(" * 5000 + ")" * 5000,
    ],
    ids=range(11),
)
def test_odd_headers_are_refused(header):
    text = header.encode().ljust(117) + b"\n"
    start = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little")
    with pytest.raises((ValueError, TypeError, RecursionError, MemoryError)):
        archive.array_of(start + text + bytes(16))
