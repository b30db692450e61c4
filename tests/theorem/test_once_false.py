"""Sentences that were printed once and were false: what is printed in their place.

A test for each, on the design that refuted it. What needs many draws is elsewhere: the
choice between two thresholds in ``tests/exact/test_pac.py``, single rows with one seed
in ``test_single_row_calls.py``, intervals of label weights on real classifiers in
``tests/replication/test_weight_intervals.py``, the weighted test of calibration and
bootstrap intervals in the registry.
"""

import numpy as np
import pytest
from scipy import stats

import distfreeuq as dfu
from distfreeuq import references as r

ALARM = 1e-4
"""Error of each judgement below."""


def needs_of(result):
    return set(result.guarantee.assumptions)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    labels, new = rng.integers(3, size=600), rng.choice(3, p=[0.2, 0.2, 0.6], size=600)

    def classify(y):
        logits = 1.5 * np.eye(3)[y] + rng.normal(size=(y.size, 3))
        odds = np.exp(logits)
        return odds / odds.sum(axis=1, keepdims=True)

    return classify(labels), labels, classify(new)


def test_sets_with_likelihood_weights_need_what_these_need(rows):
    """Coverage .863 where .89 was printed, with all listed needs satisfied."""
    probs, labels, target = rows
    estimate = dfu.mlls(probs, labels, target)
    plug_in = dfu.label_shift_conformal(probs, labels, estimate, rng=0)
    assert {r.CALIBRATED, r.LABEL_SHIFT} <= {
        need.replace(" after BCTS", "") for need in needs_of(plug_in)
    } or any("calibrated" in need for need in needs_of(plug_in))
    # by caps of the proportions, which need no calibration: at every sample size
    robust = dfu.label_shift_conformal(probs, labels, estimate, robust=True, rng=0)
    assert robust.guarantee.finite_sample
    assert not any("calibrated" in need for need in needs_of(robust))


def test_a_region_of_the_user_s_is_said_to_be_theirs(rows):
    """Coverage .72 where .89 was printed "in finite samples" for any region."""
    probs, labels, _ = rows
    region = dfu.Box(np.full(3, 0.99), np.full(3, 1.01), True)
    fit = dfu.label_shift_conformal(probs, labels, region, robust=True, rng=0)
    assert any("region" in need for need in needs_of(fit))


@pytest.mark.slow
def test_the_weighted_test_of_calibration_names_its_null():
    """Level .495 at .05 for a classifier that was calibrated on the target."""
    rng = np.random.default_rng(1)
    n_draws, rejected = 60, 0
    for _ in range(n_draws):
        cell = rng.integers(2, size=400)
        heavy = rng.random(400) < 0.5
        # right more often where the weight is 3, less where it is 1: .8 on the target
        right = rng.random(400) < np.where(heavy, 0.85, 0.65)
        confidence = np.full(400, (3.0 * 0.85 + 0.65) / 4.0)
        labels = np.where(right, cell, 1 - cell)
        probs = np.where(cell == 1, confidence, 1.0 - confidence)
        found = dfu.assess(
            probs,
            labels,
            sample_weight=np.where(heavy, 3.0, 1.0),
            n_boot=0,
            n_sim=99,
            rng=rng,
        )
        rejected += found.test.p_value <= 0.05
    assert stats.binom.sf(rejected - 1, n_draws, 0.09) > ALARM
    assert not found.guarantee.finite_sample


@pytest.mark.slow
def test_the_test_of_equal_proportions_has_its_level_with_many_rare_classes():
    """Level .30 at .05: a hundred classes, 20 rows of the source, 20,000 others."""
    rng = np.random.default_rng(2)
    k, n, m, n_draws, rejected = 101, 20, 20_000, 40, 0
    prior = np.append(0.9, np.full(k - 1, 0.1 / (k - 1)))
    for _ in range(n_draws):
        labels, new = rng.choice(k, p=prior, size=n), rng.choice(k, p=prior, size=m)
        with pytest.warns(dfu.DistFreeWarning):
            found = dfu.bbse(np.eye(k)[labels], labels, np.eye(k)[new])
        rejected += found.test().p_value <= 0.05
    assert stats.binom.sf(rejected - 1, n_draws, 0.05) > ALARM


@pytest.mark.slow
def test_no_interval_of_losses_where_few_rows_are_wrong():
    """Nominal 95 % intervals of the Brier score covered .64 at accuracy .995."""
    labels = np.zeros(200, dtype=int)
    labels[:1] = 1
    one, other = np.full(200, 0.01), np.full(200, 0.02)
    text = str(dfu.compare({"a": one, "b": other}, labels, n_boot=50, rng=0))
    assert "can be trusted" not in text and "take the bias out" not in text
    found = dfu.assess(one, labels, n_boot=50, rng=0)
    frame = found.to_frame().set_index("metric")
    assert np.isnan(frame.loc["max_ece", ["low", "high"]].to_numpy(dtype=float)).all()


def test_radii_are_printed_upwards():
    """58 of 100 printed radii were below the true ones."""
    rng = np.random.default_rng(3)
    score = rng.random(2000)
    labels = (rng.random(2000) < score).astype(int)
    fit = dfu.histogram_binning(score, labels, n_bins=50, rng=0)
    page = fit.summary().page
    column = list(page.tables[0].headers).index("radius")
    printed = [float(row[column]) for row in page.tables[0].rows]
    assert (np.array(printed) >= fit.to_frame()["radius"].to_numpy() - 1e-15).all()


def test_the_share_of_an_event_is_not_called_accuracy():
    rng = np.random.default_rng(4)
    labels = (rng.random(300) < 0.4).astype(int)
    found = dfu.assess(rng.random(300), labels, event="class-1", rng=0)
    assert "accuracy" not in found.metrics and found["frequency"] == labels.mean()


def test_drift_that_predictions_hide_is_seen_by_the_test_of_label_shift(rows):
    """Noise on the inputs left the class proportions, and "no shift", as they were."""
    probs, labels, _ = rows
    rng = np.random.default_rng(5)
    target = np.exp(rng.normal(0.0, 4.0, (600, 3)))
    target /= target.sum(axis=1, keepdims=True)
    found = dfu.bbse(probs, labels, target)
    assert found.goodness_of_fit().p_value < 1e-3
    assert "label shift is refuted" in " ".join(str(found).split())


def test_a_median_is_one():
    values = iter([-0.45, -0.43, 0.09, 0.83])
    found = dfu.simulate(
        dfu.scenarios.three_gaussians(),
        lambda draw, generator: {"x": next(values)},
        4,
        rng=0,
    )
    assert found.describe()["q0.5"][0] == pytest.approx(-0.17)


def test_no_class_is_certain_for_want_of_errors():
    """143 rows had p = 1 exactly, 11 of them wrong: the loss was infinite."""
    rng = np.random.default_rng(6)
    logits = rng.normal(size=(400, 3))
    labels = logits.argmax(axis=1)
    labels[labels == 0] = np.where(rng.random((labels == 0).sum()) < 0.3, 1, 0)
    fit = dfu.classwise_temperature_scaling(logits, labels)
    assert fit.predict(3.0 * logits).max() < 1.0
