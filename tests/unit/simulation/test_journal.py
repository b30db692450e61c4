"""Of a file of replicates every line is as it was written, or the file is refused."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from distfreeuq import InputError
from distfreeuq.simulation import journal_lines
from distfreeuq.simulation.journal import Journal
from tests.unit.simulation_study import study

FORMAT_1 = Path(__file__).parents[2] / "files" / "format1" / "journal.jsonl"
HEADER = {"seed": 7, "scenario": "a coin"}


def write(path: Path, rows: dict[int, dict[str, float]]) -> bytes:
    with Journal(path) as journal:
        journal.begin(HEADER)
        for replicate, quantities in rows.items():
            journal.append(replicate, quantities)
    return path.read_bytes()


def read(path: Path) -> dict[int, dict[str, float]]:
    with Journal(path) as journal:
        journal.begin(HEADER)
        return journal.done


ROWS = {0: {"hit": 1.0}, 2: {"hit": 0.0}, 1: {"hit": float("inf")}}


def test_what_is_written_is_read(tmp_path):
    rows = {3: {"a": 0.1 + 0.2, "b": float("-inf")}, 0: {"a": 5e-324, "b": 1e308}}
    write(tmp_path / "file", rows)
    assert read(tmp_path / "file") == rows


def test_every_line_is_json_with_a_digest(tmp_path):
    content = write(tmp_path / "file", ROWS)
    header, *rows = [json.loads(line) for line in content.splitlines()]
    assert header.keys() == {"format", "seed", "scenario", "digest"}
    assert header["format"] == "distfreeuq-simulation-2"
    for row in rows:
        assert row.keys() == {"replicate", "quantities", "digest"}
        assert len(row["digest"]) == 16


def test_no_changed_bit_changes_a_number(tmp_path):
    path = tmp_path / "file"
    content = write(path, ROWS)
    refused = 0
    for position in range(len(content)):
        for bit in range(8):
            changed = bytearray(content)
            changed[position] ^= 1 << bit
            path.write_bytes(changed)
            try:
                found = read(path)
            except InputError:
                refused += 1
                assert path.read_bytes() == changed
                continue
            # the last line is torn, where its newline is no newline any more
            assert position == len(content) - 1
            assert found == {0: ROWS[0], 2: ROWS[2]}
    assert refused == 8 * (len(content) - 1)


def test_a_line_of_another_file_is_refused(tmp_path):
    lines = write(tmp_path / "one", ROWS).splitlines(keepends=True)
    with Journal(tmp_path / "other") as journal:
        journal.begin({**HEADER, "seed": 8})
        journal.append(5, {"hit": 1.0})
    line = (tmp_path / "other").read_bytes().splitlines(keepends=True)[1]
    (tmp_path / "one").write_bytes(b"".join([*lines, line]))
    with pytest.raises(InputError, match=r"Got line 5 whose digest is another .+one'"):
        read(tmp_path / "one")


def test_a_line_that_stands_twice_counts_once(tmp_path):
    lines = write(tmp_path / "file", ROWS).splitlines(keepends=True)
    (tmp_path / "file").write_bytes(b"".join([*lines, lines[1]]))
    assert read(tmp_path / "file") == ROWS


def test_a_line_that_is_removed_is_a_replicate_to_run(tmp_path):
    lines = write(tmp_path / "file", ROWS).splitlines(keepends=True)
    (tmp_path / "file").write_bytes(b"".join([*lines[:2], *lines[3:]]))
    assert read(tmp_path / "file") == {0: ROWS[0], 1: ROWS[1]}


def with_digest(body: bytes, salt: str) -> bytes:
    return journal_lines.sealed(body, salt)[0]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"[]", "is no JSON object"),
        (b"[" * 10**5 + b"]" * 10**5, "is no JSON object"),
        (b"{}", "is no replicate"),
        (b'{"replicate": 3}', "is no replicate"),
        (b'{"replicate": 3, "quantities": {"hit": 1}, "more": 1}', "is no replicate"),
        (b'{"replicate": 299.7, "quantities": {"hit": 1}}', "is no number of one"),
        (b'{"replicate": true, "quantities": {"hit": 1}}', "is no number of one"),
        (b'{"replicate": "3", "quantities": {"hit": 1}}', "is no number of one"),
        (b'{"replicate": -1, "quantities": {"hit": 1}}', "is no number of one"),
        (b'{"replicate": Infinity, "quantities": {"hit": 1}}', "is no number of one"),
        (b'{"replicate": 3, "quantities": {}}', "without quantities"),
        (b'{"replicate": 3, "quantities": [1]}', "without quantities"),
        (b'{"replicate": 3, "quantities": {"hit": true}}', "are no numbers"),
        (b'{"replicate": 3, "quantities": {"hit": "1"}}', "are no numbers"),
        (b'{"replicate": 3, "quantities": {"hit": null}}', "are no numbers"),
        (b'{"replicate": 3, "quantities": {"hit": 1%s}}' % (b"0" * 400), "too large"),
        (b'{"replicate": 3, "quantities": {"hiu": 1}}', "other quantities"),
        (b'{"replicate": 0, "quantities": {"hit": 2}}', "another result"),
    ],
)
def test_wrong_types_are_refused_whatever_the_digest(tmp_path, body, what, version):
    path = tmp_path / "file"
    content = write(path, ROWS)
    if version == 2:
        header = content.splitlines()[0]
        _, salt = journal_lines.unsealed(header, "")
        path.write_bytes(content + with_digest(body, salt))
        if body[:1] == b"[":  # a digest ends an object
            what = "digest is another"
    else:
        start = json.dumps({"format": journal_lines.FORMATS[0], **HEADER}).encode()
        first = b'{"replicate": 0, "quantities": {"hit": 1.0}}'
        path.write_bytes(b"\n".join([start, first, first, first, body, b""]))
    with pytest.raises(InputError, match=f"Got line 5 .*{what}.+'.+file'; without"):
        read(path)


@pytest.mark.parametrize("seed", [None, -1, 1.5, True, "7"])
def test_a_header_without_a_seed_is_refused(tmp_path, seed):
    with Journal(tmp_path / "file") as journal:
        journal.begin({"seed": seed})
    with pytest.raises(InputError, match="Got line 1 without a seed"):
        Journal(tmp_path / "file")


def test_a_parameter_that_is_nan_is_the_same_again(tmp_path):
    header = {**HEADER, "parameters": {"start": float("nan")}}
    for _ in range(2):
        with Journal(tmp_path / "file") as journal:
            journal.begin(header)


def test_a_file_of_format_1_is_read_and_made_longer(tmp_path):
    path = tmp_path / "study.jsonl"
    shutil.copy(FORMAT_1, path)
    old = path.read_bytes()
    found = study(path, n_rep=5)
    assert path.read_bytes() == old
    assert found.column("mean")[1] == 1.3114249580174548
    longer = study(path, n_rep=8)
    assert path.read_bytes().startswith(old)
    np.testing.assert_array_equal(longer.values[:5], found.values)
    np.testing.assert_array_equal(study(path, n_rep=8).values, longer.values)
    added = bytearray(path.read_bytes())
    added[added.rindex(b'"mean": ') + 10] ^= 1  # of a line with a digest
    path.write_bytes(added)
    with pytest.raises(InputError, match="line 9 whose digest is another"):
        study(path, n_rep=8)


@pytest.mark.parametrize(
    "name", ["/dev/null", "pipe", "folder", "x" * 5000, "a\0b", ""]
)
def test_what_is_no_regular_file_is_refused_without_waiting(
    tmp_path, monkeypatch, name
):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    os.mkdir("folder")
    with pytest.raises(InputError, match="must be a file name in an exist") as refused:
        study(name, n_rep=1)
    assert len(str(refused.value)) < 500
    assert sorted(os.listdir()) == ["folder", "pipe"]
