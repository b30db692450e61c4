"""The demonstration and the command line."""

import subprocess
import sys

import pytest

from distfreeuq import __version__
from distfreeuq.__main__ import main


def test_demo_prints_tables_and_writes_figures(tmp_path, capsys):
    assert main(["demo", "--figures", str(tmp_path / "figures")]) == 0
    printed = capsys.readouterr().out
    assert "Split conformal prediction sets" in printed
    assert "Guarantee:" in printed
    lines = printed[printed.index("Coverage under label shift") :].splitlines()
    for name, claim in (
        ("uncorrected", "none"),
        ("true weights", "finite sample"),
        ("estimated weights", "asymptotic"),
        ("label-conditional", "finite, by class"),
    ):
        line = next(line for line in lines if line.startswith(name))
        assert line.endswith(f" {claim}")
    figures = sorted((tmp_path / "figures").glob("*.png"))
    assert figures and all(path.stat().st_size > 5000 for path in figures)
    for path in figures:
        assert str(path) in printed


def test_version():
    run = subprocess.run(
        [sys.executable, "-m", "distfreeuq", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == __version__


def test_unknown_command_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["dance"])
    assert "dance" in capsys.readouterr().err
