"""Labels that come late: order, files, refusals, alarms."""

import copy
import math
import subprocess
import sys

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq.monitoring.running_means import lower_ends

RNG = np.random.default_rng(0)
NAMES = ["a", "b", "c"]


def rows(n, accuracy, seed):
    """Return probabilities and labels that agree with them so often."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    top = np.where(rng.random(n) < accuracy, labels, (labels + 1) % 3)
    return np.where(np.eye(3)[top] == 1, 0.8, 0.1), labels


SOURCE = rows(600, 0.9, 1)
SAME, SAME_LABELS = rows(300, 0.9, 2)
WORSE, WORSE_LABELS = rows(600, 0.5, 3)


def assert_same(one, other):
    assert str(one) == str(other) and repr(one) == repr(other)
    assert one.to_frame().equals(other.to_frame())
    assert (one.total, one.spread, one.alarm_at) == (
        other.total,
        other.spread,
        other.alarm_at,
    )
    assert one.waiting.ids == other.waiting.ids


def test_losses_by_hand():
    probs = [[0.7, 0.3], [0.4, 0.6], [0.9, 0.1]]
    error = dfu.risk_monitor(probs, [0, 0, 1])
    assert error.source_risk == pytest.approx(2 / 3) and error.loss == "error"
    brier = dfu.risk_monitor(probs, [0, 0, 1], loss="brier")
    assert brier.source_risk == pytest.approx((0.09 + 0.36 + 0.81) / 3)
    one_column = dfu.risk_monitor([0.3, 0.6, 0.1], [0, 0, 1], loss="brier")
    assert one_column.source_risk == pytest.approx(brier.source_risk)
    sets = np.array([[True, False], [False, False], [True, True]])
    missed = dfu.risk_monitor(sets, [1, 0, 1])
    assert missed.source_risk == pytest.approx(2 / 3) and missed.loss == "miscoverage"
    own = dfu.risk_monitor(probs, [0, 0, 1], loss=lambda p, y: p[:, 0] * (y == 1))
    assert own.source_risk == pytest.approx(0.9 / 3)


def test_the_sources_bound_is_clopper_and_pearsons():
    monitor = dfu.risk_monitor([[0.9, 0.1]] * 20, [0] * 20, alpha=0.1)
    assert monitor.source_high == pytest.approx(1 - 0.05 ** (1 / 20))
    assert monitor.limit == monitor.source_high


def test_worse_predictions_raise_an_alarm_and_the_same_do_not():
    monitor = dfu.risk_monitor(*SOURCE, tolerance=0.05)
    assert monitor.update(SAME) is monitor
    assert monitor.update_labels(SAME_LABELS) is monitor
    assert not monitor.alarm and monitor.e_value < 1.0
    assert monitor.risk == pytest.approx((SAME.argmax(axis=1) != SAME_LABELS).mean())
    monitor.update(WORSE).update_labels(WORSE_LABELS)
    assert monitor.alarm and 300 < monitor.alarm_at < 700
    assert monitor.risk_low > monitor.limit
    low, high = monitor.confint(0.05)
    assert low < monitor.risk < high and low == pytest.approx(monitor.risk_low)
    frame = monitor.to_frame()
    assert frame["row"].iloc[-1] == 900 and len(frame) <= 513
    assert frame["alarm"].sum() == (frame["row"] >= monitor.alarm_at).sum()
    assert "at labelled row" in str(monitor)


@pytest.mark.parametrize("order", ["row", "arrival"])
def test_batches_of_any_size_give_the_same(order):
    def made():
        return dfu.risk_monitor(*SOURCE, loss="brier", order=order)

    whole = made().update(WORSE).update_labels(WORSE_LABELS)
    parts = made()
    for start, stop in ((0, 0), (0, 1), (1, 77), (77, 600)):
        parts.update(WORSE[start:stop]).update_labels(WORSE_LABELS[start:stop])
    assert_same(whole, parts)


def test_order_of_the_labels_is_irrelevant_where_rows_count_in_their_own():
    whole = dfu.risk_monitor(*SOURCE).update(WORSE).update_labels(WORSE_LABELS)
    other = dfu.risk_monitor(*SOURCE).update(WORSE)
    for part in np.array_split(RNG.permutation(600), 7):
        other.update_labels(WORSE_LABELS[part], ids=part)
    assert_same(whole, other)


def test_rows_wait_for_those_before_them():
    named = [NAMES[k] for k in SAME_LABELS]
    monitor = dfu.risk_monitor(SAME, named, classes=NAMES)
    monitor.update(SAME[:4], ids=["w", "x", "y", "z"])
    monitor.update_labels(named[1:3], ids=["x", "y"])
    assert monitor.n_labelled == 0 and "'w'" in str(monitor)
    assert math.isnan(monitor.risk) and "none" in str(monitor)
    monitor.update_labels(named[:1], ids=["w"])
    assert monitor.n_labelled == 3 and monitor.waiting.ids == ("z",)
    assert monitor.drop(["z"]).n_dropped == 1
    assert "without regard to their losses" in " ".join(str(monitor).split())


def test_dropping_lets_others_count():
    monitor = dfu.risk_monitor(*SOURCE).update(SAME[:3])
    monitor.update_labels(SAME_LABELS[1:3], ids=[1, 2])
    assert monitor.drop([0]).n_labelled == 2
    assert (monitor.n_rows, monitor.n_dropped, monitor.waiting.ids) == (3, 1, ())


def test_labels_count_as_they_come_if_asked_to():
    monitor = dfu.risk_monitor(*SOURCE, order="arrival").update(SAME[:3])
    monitor.update_labels(SAME_LABELS[2:3], ids=[2])
    assert monitor.n_labelled == 1 and monitor.waiting.ids == (0, 1)
    assert "does not depend on the loss" in " ".join(str(monitor).split())


def test_coverage_of_prediction_sets_against_a_limit():
    fit = dfu.split_conformal(*SOURCE, alpha=0.1, rng=0)
    fresh = rows(500, 0.9, 5)
    monitor = dfu.risk_monitor(fit.predict(fresh[0]), fresh[1], limit=0.1)
    assert monitor.limit == 0.1
    monitor.update(fit.predict(SAME)).update_labels(SAME_LABELS)
    assert not monitor.alarm
    monitor.update(fit.predict(WORSE)).update_labels(WORSE_LABELS)
    assert monitor.alarm
    statement = monitor.guarantee.statement
    assert "never exceeds 0.1;" in statement and monitor.guarantee.upper == 0.05


def test_another_process_goes_on_where_one_stopped(tmp_path):
    path, file = tmp_path / "risk.npz", tmp_path / "rows.npz"
    monitor = dfu.risk_monitor(*SOURCE, loss="brier").update(WORSE)
    monitor.update_labels(WORSE_LABELS[50:400], ids=range(50, 400))
    monitor.save(path)
    np.savez(file, labels=WORSE_LABELS[:50])
    code = (
        "import sys, numpy as np, distfreeuq as dfu\n"
        "labels = np.load(sys.argv[2])['labels']\n"
        "monitor = dfu.load(sys.argv[1]).update_labels(labels, ids=range(50))\n"
        "monitor.save(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", code, str(path), str(file)], check=True)
    assert_same(dfu.load(path), monitor.update_labels(WORSE_LABELS[:50]))
    assert monitor.n_labelled == 400


def test_copies_go_their_own_way():
    monitor = dfu.risk_monitor(*SOURCE).update(SAME)
    other, before = copy.deepcopy(monitor), str(monitor)
    other.update_labels(SAME_LABELS)
    assert str(monitor) == before and other.n_labelled == 300


def test_refused_labels_leave_the_monitor_as_it_was():
    monitor = dfu.risk_monitor(*SOURCE).update(SAME)
    before = str(monitor)
    for call in (
        lambda: monitor.update_labels([0, 7], ids=[0, 1]),
        lambda: monitor.update_labels([0, 1], ids=[0, 0]),
        lambda: monitor.update_labels([0, 1], ids=[0]),
        lambda: monitor.update_labels([0] * 301),
        lambda: monitor.update(SAME, ids=range(300)),
        lambda: monitor.update([[0.5, 0.6, 0.0]]),
        lambda: monitor.drop([900]),
    ):
        with pytest.raises(dfu.InputError, match=r"^The '\w+' parameter of "):
            call()
    assert str(monitor) == before


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"loss": "nll"}, "loss"),
        ({"loss": "miscoverage"}, "loss"),
        ({"loss": lambda p, y: p[:, 0] + 1.0}, "loss"),
        ({"loss": lambda p, y: 1 / 0}, "loss"),
        ({"loss": 3}, "loss"),
        ({"alpha": 0.0}, "alpha"),
        ({"tolerance": -0.1}, "tolerance"),
        ({"tolerance": None}, "tolerance"),
        ({"limit": 1.5}, "limit"),
        ({"limit": 0.1, "tolerance": 0.1}, "tolerance"),
        ({"order": "labels"}, "order"),
        ({"classes": ["a"]}, "classes"),
    ],
)
def test_arguments_that_are_refused(options, parameter):
    message = f"^The '{parameter}' parameter of risk_monitor must be "
    with pytest.raises(dfu.InputError, match=message):
        dfu.risk_monitor(*SOURCE, **options)


def test_sets_of_other_classes_and_mixed_kinds_are_refused():
    sets = dfu.split_conformal(*SOURCE, rng=0).predict(SAME)
    of_sets = dfu.risk_monitor(sets, SAME_LABELS)
    for bad in (SAME, np.ones((3, 2), dtype=bool), [[True, False, True]]):
        with pytest.raises(dfu.InputError, match=r"^The 'predictions' parameter"):
            of_sets.update(bad)
    with pytest.raises(dfu.InputError, match=r"^The 'predictions' parameter"):
        dfu.risk_monitor(*SOURCE).update(sets)
    with pytest.raises(dfu.InputError, match=r"^The 'loss' parameter"):
        dfu.risk_monitor(sets, SAME_LABELS, loss="error")
    with pytest.raises(dfu.InputError, match="at least one row"):
        dfu.risk_monitor(np.empty((0, 3)), [])


def test_a_limit_of_one_never_raises_an_alarm_and_says_so():
    monitor = dfu.risk_monitor([[0.9, 0.1]] * 2, [1, 1])
    assert monitor.limit == 1.0 and "will never" in " ".join(str(monitor).split())
    monitor.update([[0.9, 0.1]] * 50).update_labels([1] * 50)
    assert not monitor.alarm and monitor.confint()[1] == 1.0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"n_rows": 301}, "as many rows"),
        ({"total": 1e9}, "at most one"),
        ({"alarm_at": 400}, "an alarm at a row"),
        ({"source_high": 0.0}, "upper bound"),
        ({"n_labelled": 0, "n_dropped": 300}, "at most one"),
    ],
)
def test_what_no_monitor_can_be_is_no_file(tmp_path, change, why):
    monitor = dfu.risk_monitor(*SOURCE).update(SAME).update_labels(SAME_LABELS)
    for name, value in change.items():
        setattr(monitor, name, value)
    with pytest.raises(dfu.InputError, match=why):
        monitor.save(tmp_path / "risk.npz")


def test_a_loss_of_the_users_is_no_file(tmp_path):
    monitor = dfu.risk_monitor(*SOURCE, loss=lambda p, y: 1.0 - p[:, 0])
    with pytest.raises(dfu.InputError, match=r"^The 'loss' parameter of save"):
        monitor.save(tmp_path / "risk.npz")


def test_a_long_stream_keeps_a_bounded_record():
    monitor = dfu.risk_monitor(*SOURCE)
    probs, labels = rows(20_000, 0.9, 9)
    for start in range(0, 20_000, 4000):
        part = slice(start, start + 4000)
        monitor.update(probs[part]).update_labels(labels[part])
    assert monitor.record.rows.size <= 512 and monitor.waiting.ids == ()


def test_levels_whose_half_is_no_number_give_the_widest_interval():
    monitor = dfu.risk_monitor(np.array([[0.9, 0.1]] * 9), [0] * 9, alpha=5e-324)
    assert monitor.confint(5e-324).tolist() == [0.0, 1.0]
    assert "nan" not in str(monitor)


@pytest.mark.parametrize("labels", [[[0], [1, 2]], 1, "a", [[0, 1]]])
def test_labels_of_waiting_rows_are_refused_by_name(labels):
    probs = [[0.9, 0.1], [0.2, 0.8]]
    monitor = dfu.risk_monitor(probs, [0, 1]).update(probs)
    with pytest.raises(dfu.InputError, match=r"^The 'labels' parameter of update_l"):
        monitor.update_labels(labels)
    assert monitor.n_labelled == 0


@pytest.mark.parametrize(("loss", "binary"), [("error", True), ("brier", False)])
def test_only_losses_of_zero_and_one_have_the_bounds_of_such(loss, binary):
    """Clopper and Pearson's in the source and chords in the stream; else betting."""
    rng = np.random.default_rng(7)
    labels = rng.integers(2, size=80)
    probs = np.clip(0.5 + 0.3 * (labels - 0.5) + 0.3 * rng.normal(size=80), 0.01, 0.99)
    monitor = dfu.risk_monitor(probs, labels, loss=loss, alpha=0.1)
    wrong = ((probs > 0.5) != labels) * 1.0
    losses = wrong if binary else (labels - probs) ** 2
    if binary:
        high = dfu.bounds.clopper_pearson(losses.sum(), 80, 0.1)[1]
    else:
        high = dfu.bounds.betting_interval(losses, 0.05, side="upper")[1]
    assert monitor.source_risk == pytest.approx(losses.mean())
    assert monitor.source_high == pytest.approx(float(high))
    monitor.update(probs[:40]).update_labels(labels[:40])
    sums = monitor.total, monitor.spread, 40, 0.05, binary
    assert monitor.risk_low == float(lower_ends(*sums))
