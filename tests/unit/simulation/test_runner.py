"""simulate: seeded by replicate, the same in parallel, and nothing lost on file."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import InputError, scenarios
from distfreeuq.simulation.replicates import replicate_generator
from tests.unit.simulation_study import N_REP, some_numbers, study


def uniform(rng):
    return rng.random()


def echo(draw, rng):
    return {"u": draw, "v": rng.random()}


def changing(draw, rng):
    return {"large" if draw > 0.2 else "small": draw}


def test_by_hand():
    values = iter([1.0, 2.0, 4.0, 5.0])
    result = dfu.simulate(
        lambda rng: None, lambda _, rng: {"x": next(values)}, 4, rng=0
    )
    row = result.describe(quantiles=[0.0, 0.5, 1.0]).iloc[0]
    # mean 3, squares 4 + 1 + 1 + 4 = 10 over 3
    assert row["mean"] == 3.0
    assert row["sd"] == pytest.approx(np.sqrt(10.0 / 3.0))
    assert row["std_err"] == pytest.approx(np.sqrt(10.0 / 12.0))
    assert row[["q0", "q0.5", "q1"]].tolist() == [1.0, 3.0, 5.0]
    assert row["n"] == 4


def test_each_replicate_has_a_stream_of_its_own():
    result = dfu.simulate(uniform, echo, 50, rng=3)
    assert np.unique(result.values).size == 100
    generator = replicate_generator(3, 17)
    assert result.values[17].tolist() == [generator.random(), generator.random()]
    assert result.seed == 3


def test_more_replicates_leave_the_first_as_they_were():
    short, long = (dfu.simulate(uniform, echo, n, rng=3) for n in (20, 50))
    np.testing.assert_array_equal(short.values, long.values[:20])


def test_without_a_seed_runs_differ_and_can_be_repeated():
    once, twice = (dfu.simulate(uniform, echo, 5) for _ in range(2))
    assert not np.array_equal(once.values, twice.values)
    again = dfu.simulate(uniform, echo, 5, rng=once.seed)
    np.testing.assert_array_equal(again.values, once.values)


@pytest.mark.parametrize("rng", [np.random.default_rng, np.random.SeedSequence])
def test_generators_and_seed_sequences_are_seeds_too(rng):
    once, twice = (dfu.simulate(uniform, echo, 5, rng=rng(4)) for _ in range(2))
    np.testing.assert_array_equal(once.values, twice.values)
    other = dfu.simulate(uniform, echo, 5, rng=rng(5))
    assert not np.array_equal(once.values, other.values)


def test_the_table_does_not_depend_on_the_number_of_workers(tmp_path):
    alone, together = study(tmp_path / "a"), study(tmp_path / "b", n_jobs=2)
    np.testing.assert_array_equal(alone.values, together.values)
    assert alone.quantities == together.quantities == ("mean", "first", "undefined")
    np.testing.assert_array_equal(alone.values, study().values)


def test_a_backend_that_returns_all_at_once_gives_the_same_table(tmp_path):
    with joblib.parallel_config(backend="multiprocessing"):
        together = study(tmp_path / "study.jsonl", n_jobs=2)
    np.testing.assert_array_equal(together.values, study().values)


@pytest.mark.slow
def test_theorems_are_verified_on_such_a_backend_too():
    from distfreeuq import theorems

    run = partial(theorems.verify, "split-coverage-exact", n_sim=300)
    with joblib.parallel_config(backend="multiprocessing"):
        together = run(n_jobs=2)
    assert str(together) == str(run())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_the_middle_ends_quietly(n_jobs):
    with pytest.raises(InputError, match="same quantities"):
        dfu.simulate(uniform, changing, 200, rng=0, n_jobs=n_jobs)


def test_names_scenarios_and_draws_are_taken():
    by_name = dfu.simulate("three-gaussians", some_numbers, 5, rng=1)
    by_object = dfu.simulate(scenarios.three_gaussians(), some_numbers, 5, rng=1)
    np.testing.assert_array_equal(by_name.values, by_object.values)
    assert by_name.scenario == scenarios.three_gaussians().description


def test_frames_and_summary():
    result = study(n_rep=6)
    tidy, wide = result.to_frame(), result.to_frame(wide=True)
    assert tidy.columns.tolist() == ["replicate", "quantity", "value"]
    assert wide.columns.tolist() == ["replicate", "mean", "first", "undefined"]
    pivoted = tidy.pivot(index="replicate", columns="quantity", values="value")
    np.testing.assert_array_equal(pivoted["mean"], wide["mean"])
    assert result.describe().set_index("quantity")["n"].to_dict() == {
        "mean": 6,
        "first": 6,
        "undefined": 0,
    }
    text = str(result)
    assert "some_numbers" in text
    assert "Monte Carlo errors" in text
    assert repr(result) == "<SimulationResult some_numbers R=6: mean, first, undefined>"
    with pytest.raises(ValueError, match="read-only"):
        result.values[0, 0] = 1.0


def test_infinite_values_have_a_median_and_no_deviation():
    values = iter([1.0, np.inf, 3.0])
    result = dfu.simulate(lambda rng: None, lambda _, rng: {"x": next(values)}, 3)
    row = result.describe().iloc[0]
    assert row["mean"] == np.inf
    assert np.isnan(row["sd"])
    assert row["q0.5"] == 3.0


@pytest.mark.parametrize("n", [1, 2, 7, 10])
def test_quantiles_are_numpys(n):
    values = np.random.default_rng(n).normal(size=n)
    each = iter(values)
    result = dfu.simulate(lambda rng: None, lambda _, rng: {"x": next(each)}, n)
    levels = [0.0, 0.05, 0.5, 0.731, 1.0]
    row = result.describe(levels).iloc[0]
    found = [row[f"q{level:g}"] for level in levels]
    np.testing.assert_allclose(found, np.quantile(values, levels), atol=1e-14)


def test_an_indicator_that_is_always_true_has_a_monte_carlo_error():
    result = dfu.simulate(
        lambda rng: None, lambda _, rng: {"yes": True, "no": False, "two": 2.0}, 200
    )
    errors = result.describe().set_index("quantity")["std_err"]
    # P(all 200 hits) = a / 2 at the interval's end, a being 31.73%
    assert errors["yes"] == pytest.approx(1 - (0.3173 / 2) ** (1 / 200))
    assert errors["no"] == pytest.approx(errors["yes"])
    assert errors["two"] == 0.0
    assert "0.0092" in str(result)


def test_a_result_is_saved_and_loaded(tmp_path):
    result = study(n_rep=5)
    result.save(tmp_path / "study.npz")
    again = dfu.load(tmp_path / "study.npz")
    np.testing.assert_array_equal(again.values, result.values)
    assert str(again) == str(result)


@pytest.mark.parametrize("quantity", [None, "first", "undefined"])
def test_the_plot_draws(quantity):
    ax = study(n_rep=40).plot(quantity=quantity)
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == (quantity or "mean")


# ----------------------------------------------------------------------------- the file


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_the_file_holds_each_replicate_once(tmp_path):
    file = tmp_path / "study.jsonl"
    study(file, n_jobs=2)
    header, *rows = lines(file)
    assert header["seed"] == 7
    assert header["procedure"] == "some_numbers"
    assert header["parameters"] == {"n": 20, "pause": 0.0}
    assert sorted(row["replicate"] for row in rows) == list(range(N_REP))


def test_a_finished_file_is_read_and_made_longer(tmp_path):
    file = tmp_path / "study.jsonl"
    study(file, n_rep=10)
    before = file.read_bytes()
    ran = []

    def forbidden(toy, rng, **_):
        ran.append(1)
        return some_numbers(toy, rng)

    forbidden.__qualname__ = "some_numbers"
    again = dfu.simulate(
        "three-gaussians",
        forbidden,
        10,
        parameters={"n": 20, "pause": 0.0},
        rng=7,
        file=file,
    )
    assert not ran
    assert file.read_bytes() == before
    np.testing.assert_array_equal(again.values, study(n_rep=10).values)
    np.testing.assert_array_equal(study(file, n_rep=25).values, study(n_rep=25).values)
    assert file.read_bytes().startswith(before)
    np.testing.assert_array_equal(study(file, n_rep=4).values, study(n_rep=4).values)


def test_without_a_seed_the_file_s_is_used(tmp_path):
    file = tmp_path / "study.jsonl"
    once = study(file, rng=None, n_rep=5)
    again = study(file, rng=None, n_rep=9)
    assert again.seed == once.seed
    np.testing.assert_array_equal(again.values[:5], once.values)


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_torn_last_line_is_dropped_and_run_again(tmp_path, cut):
    file = tmp_path / "study.jsonl"
    whole = study(file, n_rep=12)
    content = file.read_bytes()
    file.write_bytes(content[:-cut])
    again = study(file, n_rep=12)
    np.testing.assert_array_equal(again.values, whole.values)
    assert file.read_bytes() == content


@pytest.mark.parametrize("length", [0, 1, 20, 100])
def test_a_torn_header_is_written_again(tmp_path, length):
    file = tmp_path / "study.jsonl"
    study(file, n_rep=3)
    content = file.read_bytes()
    file.write_bytes(content[:length])
    study(file, n_rep=3)
    assert file.read_bytes() == content


OTHERS = {
    "seed": partial(study, rng=8),
    "parameters": partial(study, pause=1e-9),
    "procedure": lambda file: dfu.simulate(
        "three-gaussians", echo, 3, parameters={"n": 20, "pause": 0.0}, rng=7, file=file
    ),
    "scenario": lambda file: dfu.simulate(
        "atoms", some_numbers, 3, parameters={"n": 20, "pause": 0.0}, rng=7, file=file
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_file_of_something_else_is_refused_and_kept(tmp_path, what):
    file = tmp_path / "study.jsonl"
    study(file, n_rep=3)
    before = file.read_bytes()
    with pytest.raises(InputError, match=f"same simulation.*Got {what}"):
        OTHERS[what](file)
    assert file.read_bytes() == before


def test_scenarios_of_one_description_are_told_apart(tmp_path):
    run = partial(dfu.simulate, procedure=some_numbers, n_rep=3, rng=0)
    file = tmp_path / "study.jsonl"
    run(scenarios.covariance_shift_gaussians(), file=file)
    with pytest.raises(InputError, match="Got rows"):
        run(scenarios.covariance_shift_gaussians(slope=3.0), file=file)


@pytest.mark.parametrize("content", [b"my thesis\n", b"my thesis", b"{}\n"])
def test_a_file_that_is_not_ours_is_refused_and_kept(tmp_path, content):
    file = tmp_path / "thesis.txt"
    file.write_bytes(content)
    with pytest.raises(InputError, match="a file that simulate has written"):
        study(file)
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"nonsense\n", "whose digest is another"),
        (b"\n", "whose digest is another"),
        (b'{"replicate": 1, "quantities": {"mean": 0.0}}\n', "whose digest is another"),
    ],
)
def test_damaged_lines_are_refused(tmp_path, line, message):
    file = tmp_path / "study.jsonl"
    study(file, n_rep=3)
    with open(file, "ab") as open_file:
        open_file.write(line)
    before = file.read_bytes()
    with pytest.raises(InputError, match=f"line 5 {message}.+'.+study.jsonl'"):
        study(file, n_rep=3)
    assert file.read_bytes() == before


def test_two_runs_cannot_write_to_one_file(tmp_path):
    file = tmp_path / "study.jsonl"

    def inner(toy, rng):
        study(file, n_rep=2)
        return {"x": 1}

    with pytest.raises(InputError, match="no other run"):
        dfu.simulate("three-gaussians", inner, 2, rng=0, file=file)


def wait_for_lines(file: Path, n: int) -> None:
    deadline = time.monotonic() + 120.0
    while not file.exists() or file.read_bytes().count(b"\n") < n:
        assert time.monotonic() < deadline, "the study has not begun"
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_run_killed_in_the_middle_continues(tmp_path, n_jobs):
    file = tmp_path / "study.jsonl"
    command = [sys.executable, "-m", "tests.unit.simulation_study"]
    root = Path(__file__).parents[3]
    pause = "0.02"
    for at_least in (15, 40):  # killed, continued, and killed again
        with subprocess.Popen(
            [*command, str(file), str(n_jobs), pause],
            cwd=root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            wait_for_lines(file, at_least)
            os.killpg(process.pid, signal.SIGKILL)
    kept = file.read_bytes()
    kept = kept[: kept.rfind(b"\n") + 1]
    assert 40 <= kept.count(b"\n") < N_REP  # in the middle
    continued = study(file, pause=float(pause), n_jobs=n_jobs)
    np.testing.assert_array_equal(continued.values, study().values)
    assert file.read_bytes().startswith(kept)  # nothing that was done is lost
    rows = [row["replicate"] for row in lines(file)[1:]]
    assert sorted(rows) == list(range(N_REP))


def test_a_failed_replicate_is_named_and_the_others_are_kept(tmp_path):
    file = tmp_path / "study.jsonl"

    def fails(draw, rng):
        if draw < 0.2:
            raise RuntimeError("too small")
        return {"u": draw}

    with pytest.raises(RuntimeError, match="too small") as caught:
        dfu.simulate(uniform, fails, 100, rng=0, file=file)
    first = next(i for i in range(100) if replicate_generator(0, i).random() < 0.2)
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == [f"in replicate {first} of simulate, seed 0"]
    assert [row["replicate"] for row in lines(file)[1:]] == list(range(first))


REFUSALS = [
    (partial(dfu.simulate, "nowhere", echo, 3), "'scenario' parameter"),
    (partial(dfu.simulate, 3, echo, 3), "'scenario' parameter"),
    (partial(dfu.simulate, uniform, 3, 3), "'procedure' parameter"),
    (partial(dfu.simulate, uniform, echo, 0), "'n_rep' parameter"),
    (partial(dfu.simulate, uniform, echo, 3, n_jobs=0), "'n_jobs' parameter"),
    (partial(dfu.simulate, uniform, echo, 3, rng=-1), "'rng' parameter of simulate"),
    (partial(dfu.simulate, uniform, echo, 3, parameters=[1]), "'parameters' param"),
    (partial(dfu.simulate, uniform, echo, 3, parameters={1: 2}), "'parameters' param"),
    (partial(dfu.simulate, uniform, echo, 3, progress=2), "'progress' parameter"),
    (partial(dfu.simulate, uniform, echo, 3, file=5), "'file' parameter"),
    (partial(dfu.simulate, uniform, echo, 3, file="no/where/x"), "'file' parameter"),
    (partial(dfu.simulate, uniform, lambda u, rng: u, 3), "a dict of numbers"),
    (partial(dfu.simulate, uniform, lambda u, rng: {}, 3), "a dict of numbers"),
    (partial(dfu.simulate, uniform, lambda u, rng: {"x": "y"}, 3), "a dict of numbers"),
    (partial(dfu.simulate, uniform, lambda u, rng: {1: u}, 3), "keys are texts"),
    (
        partial(dfu.simulate, uniform, lambda u, rng: {f"{u:.1f}": u}, 30, rng=0),
        "same quantities in every replicate",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSALS)
def test_bad_input_is_told_so(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_partials_are_named_by_their_arguments():
    def run(n):
        return dfu.simulate(
            "three-gaussians", partial(some_numbers, n=n), 2, rng=0
        ).procedure

    assert run(5) == "some_numbers(n=5)"


def test_what_has_no_name_of_its_own_is_told_by_its_kind_in_every_process(tmp_path):
    file = tmp_path / "study.jsonl"
    for _ in range(2):  # objects at other places in memory
        run = partial(lambda toy, rng, how, more: {"x": 1.0}, how=object())
        dfu.simulate("atoms", run, 2, parameters={"more": object()}, rng=0, file=file)
    assert " at 0x" not in file.read_text()


def test_a_bad_seed_leaves_no_file_behind(tmp_path):
    with pytest.raises(InputError):
        dfu.simulate(uniform, echo, 3, rng=-1, file=tmp_path / "study.jsonl")
    assert not list(tmp_path.iterdir())


def test_the_bar_begins_where_the_file_ends(tmp_path, capsys):
    file = tmp_path / "study.jsonl"
    dfu.simulate(uniform, echo, 3, rng=0, file=file)
    dfu.simulate(uniform, echo, 4, rng=0, file=file, progress=True)
    shown = capsys.readouterr().err
    assert "3/4" in shown
    assert "4/4" in shown
