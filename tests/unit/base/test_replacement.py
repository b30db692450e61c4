"""A file is replaced whole or not at all, and nothing is left beside it."""

import multiprocessing
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import distfreeuq as dfu
from distfreeuq import InputError
from distfreeuq._base.files import replacement
from distfreeuq._base.files.replacement import replace_file
from tests.unit.argument_data import PLAIN

resource = pytest.importorskip("resource", reason="limits, kills and locks of POSIX")
ROOT = Path(__file__).parents[3]


def write(content: bytes):
    return lambda file: file.write(content)


def neighbors(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


def left_behind(path: Path) -> Path:
    """Have a process killed in the middle of writing; return what it left."""
    script = (
        "import os, signal\n"
        "from pathlib import Path\n"
        "from distfreeuq._base.files.replacement import replace_file\n"
        "def write(file):\n"
        "    file.write(b'half')\n"
        "    file.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        f"replace_file(Path({str(path)!r}), write)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT)
    assert ran.returncode == -signal.SIGKILL
    (name,) = neighbors(path.parent)
    return path.with_name(name)


def test_what_a_killed_process_left_is_removed_by_the_next_save(tmp_path):
    path, other = tmp_path / "fit", tmp_path / "other"
    path.write_bytes(b"old")
    stale = left_behind(path)
    assert path.read_bytes() == b"old" and stale.read_bytes() == b"half"
    replace_file(other, write(b"another file's own are left alone"))
    assert stale.exists()
    replace_file(path, write(b"new"))
    assert path.read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["fit", "other"]


def test_what_another_process_is_writing_is_left_alone(tmp_path):
    path = tmp_path / "fit"

    def write_meanwhile(file):
        file.write(b"first")
        (mine,) = neighbors(tmp_path)
        replace_file(path, write(b"second"))
        assert neighbors(tmp_path) == [mine]

    replace_file(path, write_meanwhile)
    assert path.read_bytes() == b"first"  # the last one to finish
    assert os.listdir(tmp_path) == ["fit"]


def test_a_name_that_only_looks_stale_is_left_alone(tmp_path):
    path = tmp_path / "fit"
    replace_file(path, write(b"1"))
    mark = left_behind(path).name.partition("-")[0]
    (tmp_path / f"{mark}-folder.tmp").mkdir()
    (tmp_path / f"{mark}-link.tmp").symlink_to(path)
    os.mkfifo(tmp_path / f"{mark}-pipe.tmp")
    replace_file(path, write(b"2"))
    assert len(os.listdir(tmp_path)) == 4
    assert path.read_bytes() == b"2"


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "fit"
    PLAIN.save(path)
    before = path.read_bytes()
    assert len(before) > 2000
    script = (
        "import distfreeuq as dfu\n"
        f"fit = dfu.load({str(path)!r})\n"
        "try:\n"
        f"    fit.save({str(path)!r})\n"
        "except OSError as error:\n"
        "    print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        preexec_fn=limited,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "too large" in ran.stdout
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["fit"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path):
    PLAIN.save(tmp_path / "fit")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            PLAIN.save(tmp_path / "fit")
    finally:
        tmp_path.chmod(0o700)
    assert os.listdir(tmp_path) == ["fit"]


def test_group_and_owner_are_kept_or_the_group_may_do_nothing(tmp_path, monkeypatch):
    path = tmp_path / "fit"
    path.touch()
    path.chmod(0o664)
    replace_file(path, write(b"kept"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o664

    def refuse(*given: object) -> None:
        raise PermissionError

    monkeypatch.setattr(replacement.os, "chown", refuse)
    replace_file(path, write(b"without the group"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@pytest.mark.parametrize("name", ["x" * 300, "x" * 5000, "folder/" * 1000 + "x"])
def test_a_name_that_is_too_long_is_not_repeated(name, tmp_path):
    for read_or_write in (PLAIN.save, dfu.load):
        with pytest.raises(InputError) as refused:
            read_or_write(tmp_path / name)
        assert len(str(refused.value)) < 600


def save_often(path: Path, alpha: float) -> None:
    fit = dfu.split_conformal([[0.8, 0.2]] * 30, [0] * 30, alpha=alpha, rng=0)
    for _ in range(40):
        fit.save(path)


@pytest.mark.slow
def test_two_writers_and_a_reader(tmp_path):
    path = tmp_path / "fit"
    save_often(path, 0.1)
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=save_often, args=(path, a)) for a in (0.1, 0.2)]
    for writer in writers:
        writer.start()
    reads = 0
    while any(writer.is_alive() for writer in writers):
        assert dfu.load(path).alpha in (0.1, 0.2)
        reads += 1
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert reads > 0
    assert os.listdir(tmp_path) == ["fit"]
