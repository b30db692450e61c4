"""``python -m distfreeuq verify``: what it prints, writes, and returns."""

import json
import subprocess
import sys

import pytest

from distfreeuq import theorems
from distfreeuq.__main__ import main
from tests.unit.theorems.test_checking import biased, coin, theorem


@pytest.fixture
def registered():
    """Register theorems, and forget them after the test."""
    names = []

    def register(one):
        names.append(theorems.register(one).name)
        return one.name

    yield register
    for name in names:
        theorems.unregister(name)


def test_a_theorem_that_holds(registered, capsys):
    assert main(["verify", registered(theorem())]) == 0
    printed = capsys.readouterr()
    assert "A coin is fair" in printed.out
    assert "controls caught" in printed.out
    assert "2/2" in printed.err


def test_a_false_theorem_ends_with_1(registered, capsys):
    name = registered(theorem(draw=biased, control=None))
    assert main(["verify", name, "--quiet"]) == 1
    printed = capsys.readouterr()
    assert "violated" in printed.out
    assert printed.err == ""


def test_a_control_not_caught_ends_with_1(registered, capsys):
    assert main(["verify", registered(theorem(control=coin)), "--quiet"]) == 1
    assert "controls not caught" in capsys.readouterr().out


def test_what_is_wrong_is_said_in_words_among_many(registered, capsys):
    names = [
        registered(theorem(name="true-one")),
        registered(theorem(name="false-one", draw=biased)),
        registered(theorem(name="toothless-one", control=coin)),
    ]
    assert main(["verify", *names, "--quiet"]) == 1
    printed = capsys.readouterr().out
    assert "Violated:    false-one, coin: P(heads) = 0.5, estimate 0.6" in printed
    assert "Not caught:  toothless-one, control 'bent coin'." in printed
    assert "true-one" in printed


def test_undecided_ends_with_3(registered, capsys, monkeypatch):
    from distfreeuq.theorems.engine import command

    def few(*arguments, **options):
        return theorems.verify(*arguments, **options, n_sim=10)

    monkeypatch.setattr(command, "verify", few)
    assert main(["verify", registered(theorem(control=None)), "--quiet"]) == 3
    assert "undecided" in capsys.readouterr().out


def test_unknown_names_end_with_2_and_list_the_known_ones(capsys):
    assert main(["verify", "nonsense"]) == 2
    error = capsys.readouterr().err
    assert "Got 'nonsense' instead" in error
    assert all(name in error for name in theorems.names())


def test_options_that_exclude_each_other(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["verify", "--fast", "--thorough"])
    assert ended.value.code == 2


def test_everything_found_is_written(registered, tmp_path, capsys):
    file = tmp_path / "found.json"
    name = registered(theorem())
    assert main(["verify", name, "--quiet", "--seed", "3", "--json", str(file)]) == 0
    found = json.loads(file.read_text())
    assert found["seed"] == 3 and found["effort"] == "fast"
    assert found["exit_code"] == 0 and found["seconds"] >= 0
    (one,) = found["theorems"]
    assert one["verdict"] == "holds"
    assert one["experiments"] == {"coin": "holds"}
    assert one["controls"] == {"bent coin": "caught"}
    result = theorems.verify(name, rng=3)
    for claim, row in zip(found["claims"], result.claims, strict=True):
        assert claim["estimate"] == row.estimate
        assert claim["verdict"] == row.verdict


def test_a_file_that_cannot_be_written_is_refused_at_once(tmp_path, capsys):
    assert main(["verify", "--json", str(tmp_path / "no" / "where.json")]) == 2
    assert "'json' parameter of verify" in capsys.readouterr().err


def test_thorough_is_passed_on(registered, tmp_path, capsys):
    file = tmp_path / "found.json"
    name = registered(theorem(control=None))
    assert main(["verify", name, "--thorough", "--quiet", "--json", str(file)]) == 0
    found = json.loads(file.read_text())
    assert found["effort"] == "thorough"
    assert found["claims"][0]["tolerance"] == pytest.approx(0.05 / 3)


def test_the_list_names_every_theorem(capsys):
    assert main(["verify", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(theorems.names())


@pytest.mark.slow
def test_as_a_program_with_workers():
    run = subprocess.run(
        [sys.executable, "-m", "distfreeuq", "verify", "aps-uniform", "--jobs", "2"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "<TheoremResult aps-uniform: holds, controls caught>" in run.stdout


def test_the_package_imports_the_theorems_only_when_asked():
    code = (
        "import sys, distfreeuq as dfu\n"
        "assert 'distfreeuq.theorems' not in sys.modules\n"
        "assert 'joblib' not in sys.modules\n"
        "print(len(dfu.theorems.names()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) == len(theorems.names())
