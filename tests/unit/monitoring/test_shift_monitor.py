"""A stream that is watched: batches, files, refusals, alarms."""

import copy
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq.monitoring.streams.score_cells import N_CELLS, _number_cells
from tests.fuzz.judge import difference

RNG = np.random.default_rng(0)
SOURCE = RNG.dirichlet([4, 1, 1], size=300)
LABELS = (SOURCE.cumsum(axis=1) < RNG.random((300, 1))).sum(axis=1)
QUIET = RNG.dirichlet([4, 1, 1], size=400)
MOVED = RNG.dirichlet([3, 3, 3], size=200)
STREAM = np.concatenate([QUIET, MOVED])
FIELDS = ("n_stream", "alarm_at", "change_at", "log_largest", "rng_state")


def assert_same(one, other):
    for name in FIELDS:
        assert getattr(one, name) == getattr(other, name), name
    for name in ("line", "class_counts"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.wealth.capital, other.wealth.capital)
    assert one.to_frame().equals(other.to_frame())
    assert str(one) == str(other)


@pytest.mark.parametrize("score", ["confidence", "class", "class-confidence", "aps"])
def test_batches_of_any_size_give_the_same(score):
    whole = dfu.shift_monitor(SOURCE, LABELS, score=score, rng=3).update(STREAM)
    parts = dfu.shift_monitor(SOURCE, LABELS, score=score, rng=3)
    for start, stop in ((0, 0), (0, 1), (1, 18), (18, 411), (411, 600)):
        parts.update(STREAM[start:stop])
    assert_same(whole, parts)


def test_single_rows_give_the_same():
    whole = dfu.shift_monitor(SOURCE, rng=3).update(STREAM[:40])
    parts = dfu.shift_monitor(SOURCE, rng=3)
    for row in STREAM[:40]:
        parts.update(row[None])
    assert_same(whole, parts)


def test_a_change_is_noticed_and_dated():
    monitor = dfu.shift_monitor(SOURCE, LABELS, rng=0).update(QUIET)
    assert not monitor.alarm and monitor.alarm_at is None and monitor.p_value > 0.01
    assert monitor.update(MOVED) is monitor
    assert monitor.alarm and 400 < monitor.alarm_at < 500
    assert 380 < monitor.change_at < monitor.alarm_at
    assert monitor.e_value > 100 and monitor.p_value < 0.01
    assert monitor.class_counts.sum() == 600 - monitor.alarm_at
    frame = monitor.to_frame()
    assert frame["row"].tolist() == list(range(1, 601))
    assert frame["row"][frame["alarm"]].iloc[0] == monitor.alarm_at
    assert "at row" in str(monitor) and "alarm_at" in repr(monitor)


def test_another_process_goes_on_where_one_stopped(tmp_path):
    path, rows = tmp_path / "monitor.npz", tmp_path / "rows.npy"
    monitor = dfu.shift_monitor(SOURCE, LABELS, score="aps", rng=5).update(STREAM[:450])
    monitor.save(path)
    np.save(rows, STREAM[450:])
    code = (
        "import sys, numpy as np, distfreeuq as dfu\n"
        "monitor = dfu.load(sys.argv[1]).update(np.load(sys.argv[2]))\n"
        "monitor.save(sys.argv[1])"
    )
    command = [sys.executable, "-c", code, str(path), str(rows)]
    subprocess.run(command, check=True)
    assert_same(dfu.load(path), monitor.update(STREAM[450:]))


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy])
def test_copies_go_their_own_way(copied):
    monitor = dfu.shift_monitor(SOURCE, rng=5).update(QUIET)
    other = copied(monitor)
    before = str(monitor)
    other.update(MOVED)
    assert str(monitor) == before and other.n_stream == 600
    assert_same(pickle.loads(pickle.dumps(monitor)).update(MOVED), other)


def test_refused_rows_leave_the_monitor_as_it_was():
    monitor = dfu.shift_monitor(SOURCE, rng=5).update(QUIET)
    state = monitor.rng_state
    with pytest.raises(dfu.InputError, match=r"^The 'probs' parameter of update"):
        monitor.update(np.vstack([MOVED, [[0.5, 0.5, 0.5]]]))
    assert monitor.n_stream == 400 and monitor.rng_state == state


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"n_stream": 401}, "as many rows in the line"),
        ({"alarm_at": 5}, "both of an alarm|a class for each row"),
        ({"log_largest": 10.0}, "an alarm if"),
        ({"rng_state": (3, 4)}, "odd increment"),
        ({"class_counts": np.zeros(3, dtype=np.int64)}, "a class for each row"),
    ],
)
def test_what_no_monitor_can_be_is_no_file(tmp_path, change, why):
    monitor = dfu.shift_monitor(SOURCE, rng=5).update(QUIET)
    for name, value in change.items():
        setattr(monitor, name, value)
    with pytest.raises(dfu.InputError, match=why):
        monitor.save(tmp_path / "monitor.npz")


def test_wealth_that_would_be_read_out_of_bounds_is_no_file(tmp_path):
    monitor = dfu.shift_monitor(SOURCE, rng=5)
    pieces = np.full_like(monitor.wealth.pieces, 65)
    monitor.wealth = replace(monitor.wealth, pieces=pieces)
    with pytest.raises(dfu.InputError, match="nothing above 64"):
        monitor.save(tmp_path / "monitor.npz")


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "monitor.npz"
    dfu.shift_monitor(SOURCE, rng=5).save(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(dfu.InputError, match=r"^The 'path' parameter of load"):
        dfu.load(path)


def test_columns_and_functions_of_features():
    features = RNG.normal(size=(300, 2))
    by_column = dfu.shift_monitor(SOURCE, score=1, features=features, rng=0)
    by_function = dfu.shift_monitor(
        SOURCE, score=lambda x: x[:, 1], features=features, rng=0
    )
    new = RNG.normal(3.0, 1.0, size=(400, 2))
    for monitor in (by_column, by_function):
        monitor.update(QUIET, features=new)
        assert monitor.alarm_at < 60
    assert by_column.alarm_at == by_function.alarm_at
    with pytest.raises(dfu.InputError, match=r"^The 'score' parameter of save"):
        by_function.save("nowhere.npz")
    with pytest.raises(dfu.InputError, match=r"^The 'features' parameter of update"):
        by_column.update(QUIET)
    with pytest.raises(dfu.InputError, match=r"^The 'features' parameter of update"):
        by_column.update(QUIET, features=new[:, :1])


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"score": "nothing"}, "score"),
        ({"score": None}, "score"),
        ({"score": 0}, "features"),
        ({"score": 5, "features": np.ones((300, 2))}, "score"),
        ({"features": np.ones((300, 2))}, "features"),
        ({"score": 0, "features": np.ones((4, 2))}, "features"),
        ({"score": 0, "features": np.full((300, 2), np.nan)}, "features"),
        ({"score": lambda probs: probs}, "score"),
        ({"score": lambda probs: np.full(len(probs), np.nan)}, "score"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 1.5}, "alpha"),
        ({"bets": "roulette"}, "bets"),
        ({"bets": []}, "bets"),
        ({"bets": 3}, "bets"),
        ({"labels": [0, 1]}, "labels"),
        ({"classes": ["a"]}, "classes"),
        ({"rng": -1}, "rng"),
    ],
)
def test_arguments_that_are_refused(options, parameter):
    message = f"^The '{parameter}' parameter of shift_monitor must be "
    with pytest.raises(dfu.InputError, match=message):
        dfu.shift_monitor(SOURCE, **options)


def test_a_source_without_rows_is_refused():
    with pytest.raises(dfu.InputError, match="'probs' parameter of shift_monitor"):
        dfu.shift_monitor(np.empty((0, 3)))


def test_constant_and_certain_predictions_are_watched_too():
    certain = np.tile([0.0, 1.0], (50, 1))
    for score in ("confidence", "class", "aps", "class-confidence"):
        monitor = dfu.shift_monitor(certain, score=score, rng=0).update(certain)
        assert not monitor.alarm and np.isfinite(monitor.e_value)


def test_cells_ascend_with_any_number():
    numbers = np.array([-1e300, -3.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 1.01, 3.0, 1e300])
    cells = _number_cells(numbers)
    assert (np.diff(cells) > 0).all() and cells[0] == 0 and cells[-1] == N_CELLS - 1
    np.testing.assert_array_equal(_number_cells(np.array([0.0, -0.0])), [32768, 32768])


# ------------------------------------------------------------------------- proportions


def test_proportions_of_a_stream_under_label_shift():
    rng = np.random.default_rng(1)

    def rows(n, prior):
        labels = rng.choice(2, size=n, p=prior)
        right = rng.random(n) < 0.9
        top = np.where(right, labels, 1 - labels)
        return np.where(np.eye(2)[top] == 1, 0.8, 0.2), labels

    monitor = dfu.shift_monitor(*rows(4000, [0.5, 0.5]), rng=0)
    with pytest.raises(dfu.InputError, match=r"^The 'self' parameter .* no rows"):
        print(monitor.target_prior)
    monitor.update(rows(3000, [0.2, 0.8])[0])
    assert monitor.target_prior[0] == pytest.approx(0.2, abs=0.05)
    low, high = monitor.confint(0.05).T
    assert ((low <= [0.2, 0.8]) & (high >= [0.2, 0.8])).all()
    assert (high - low).max() < 0.25
    assert (monitor.confint(0.5)[:, 0] >= low - 1e-12).all()


def test_predictions_of_no_mixture_have_no_proportions():
    source = np.tile([[0.9, 0.1], [0.1, 0.9]], (500, 1))
    labels = np.tile([0, 1, 1, 0], 250)
    monitor = dfu.shift_monitor(source, labels, rng=0).update(source[::2])
    assert np.isnan(monitor.confint()).all()
    assert "more than label shift" in " ".join(str(monitor).split())


def test_proportions_need_labels():
    monitor = dfu.shift_monitor(SOURCE, rng=0)
    for call in (lambda: monitor.target_prior, monitor.confint):
        with pytest.raises(dfu.InputError, match=r"^The 'self' parameter of .* labels"):
            call()
    with pytest.raises(dfu.InputError, match=r"^The 'alpha' parameter of confint"):
        dfu.shift_monitor(SOURCE, LABELS).confint(2.0)


def test_predictions_that_the_source_never_has_are_no_estimate():
    first, second = np.tile([0.9, 0.1], (20, 1)), np.tile([0.1, 0.9], (5, 1))
    monitor = dfu.shift_monitor(first, [0, 1] * 10, rng=0).update(second)
    with pytest.raises(dfu.InputError, match=r"^The 'self' .* Got 5 of other classes"):
        print(monitor.target_prior)
    assert "none" in str(monitor)
    assert monitor.confint().shape == (2, 2)


def test_many_classes_without_rows_have_one_interval():
    rng = np.random.default_rng(0)
    probs = np.full((15, 3000), 0.5 / 2999)
    probs[np.arange(15), rng.integers(0, 3, 15)] = 0.5
    monitor = dfu.shift_monitor(probs, rng.integers(0, 3, 15), rng=0).update(probs)
    low, high = monitor.confint().T
    assert (low[3:] == 0.0).all() and (high[3:] == high[3]).all() and high[3] <= 1.0


def test_blocks_of_a_long_update_change_nothing(monkeypatch):
    from distfreeuq.monitoring.streams import line_p_values

    whole = dfu.shift_monitor(SOURCE, LABELS, rng=0).update(SOURCE)
    monkeypatch.setattr(line_p_values, "BLOCK", 7)
    pieces = dfu.shift_monitor(SOURCE, LABELS, rng=0).update(SOURCE)
    assert difference(whole, pieces) is None


@pytest.mark.parametrize("score", ["class-confidence", "aps"])
def test_a_long_batch_is_that_of_its_parts(score, monkeypatch):
    from distfreeuq.monitoring.streams import results

    moved = np.vstack([SOURCE, SOURCE[:, ::-1], SOURCE])
    whole, parts = (dfu.shift_monitor(SOURCE, score=score, rng=0) for _ in range(2))
    whole.update(moved)
    assert whole.alarm == (score != "aps")
    monkeypatch.setattr(results, "_ROWS_AT_ONCE", 13)
    assert difference(whole, parts.update(moved)) is None


def test_an_update_that_is_interrupted_leaves_the_monitor_as_it_was(monkeypatch):
    from distfreeuq._kernels import _streams
    from distfreeuq.monitoring.streams import line_p_values, results, wealth

    monitor = dfu.shift_monitor(SOURCE, LABELS, rng=0).update(SOURCE[:50])
    before, calls = copy.deepcopy(monitor), []

    class Pressed:
        _rank_in_line = staticmethod(_streams._rank_in_line)

        @staticmethod
        def _bet(*arguments):
            calls.append(arguments)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return _streams._bet(*arguments)

    monkeypatch.setattr(line_p_values, "BLOCK", 7)
    monkeypatch.setattr(results, "_ROWS_AT_ONCE", 10)
    monkeypatch.setattr(wealth, "_streams", Pressed)
    with pytest.raises(KeyboardInterrupt):
        monitor.update(SOURCE)
    monkeypatch.undo()
    assert difference(before, monitor) is None
    assert difference(before.update(SOURCE), monitor.update(SOURCE)) is None


@pytest.mark.parametrize("n_classes", [2, 3, 7, 1000, 65_535])
def test_every_class_has_cells_of_its_own_within_the_line(n_classes):
    """Also where the number of classes does not divide that of the cells."""
    from distfreeuq.monitoring.streams.score_cells import N_CELLS, StreamScore, cells_of

    predicted = np.repeat([0, n_classes - 2, n_classes - 1], 2)
    confidence = np.tile([1.0 / n_classes, 1.0], 3)
    score, nothing = StreamScore("class-confidence"), np.empty((6, 1))
    cells = cells_of(score, predicted, confidence, n_classes, nothing, None)
    assert cells.min() >= 0 and cells.max() < N_CELLS
    assert cells[1] < cells[4] and (n_classes == 2 or cells[3] < cells[4])
