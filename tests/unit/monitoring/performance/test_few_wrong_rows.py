"""Classifiers that are hardly ever wrong: most samples show no wrong row, or one."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq.monitoring.performance.target_means import RowWeights

WRONG, PRIOR, NEW_PRIOR = 0.005, np.full(3, 1 / 3), np.array([0.2, 0.6, 0.2])
METRICS = ("balanced_accuracy", "precision", "brier", "nll", "ece")


def rows(rng, prior, n):
    """Draw rows of which one in 200 is wrong, whatever its confidence."""
    labels = rng.choice(3, p=prior, size=n)
    said = np.where(rng.random(n) < WRONG, (labels + 1) % 3, labels)
    confidence = 0.99 + 0.005 * rng.random(n)
    probs = np.repeat((1.0 - confidence)[:, None] / 2.0, 3, axis=1)
    probs[np.arange(n), said] = confidence
    return probs, labels


def losses(probs, labels):
    own = probs[np.arange(labels.size), labels]
    return (probs**2).sum(axis=1) - 2.0 * own + 1.0, -np.log(own)


def test_intervals_hold_wrong_rows_that_samples_do_not_show():
    # they were intervals of what is seen, and held in .30 to .68 of draws
    rng = np.random.default_rng(3)
    brier, nll = (x.mean() for x in losses(*rows(rng, NEW_PRIOR, 400_000)))
    said = NEW_PRIOR * (1 - WRONG) + np.roll(NEW_PRIOR, 1) * WRONG
    truth = {
        "balanced_accuracy": 1.0 - WRONG,
        "brier": brier,
        "nll": nll,
        "ece": abs(1.0 - WRONG - 0.9925),
    }
    held, n_draws = {}, 80
    for _ in range(n_draws):
        source, (target, _) = rows(rng, PRIOR, 200), rows(rng, NEW_PRIOR, 200)
        frame = dfu.target_performance(*source, target, metrics=METRICS).to_frame()
        for row in frame[frame.kind == "asymptotic"].itertuples():
            true = truth.get(row.metric)
            key = row.metric
            if true is None:
                k = int(row[2])
                key, true = (key, k), NEW_PRIOR[k] * (1.0 - WRONG) / said[k]
            held[key] = held.get(key, 0) + (row.low <= true <= row.high)
    assert len(held) == 7
    for key, times in held.items():
        # .95 at nominal; fewer than 68 of 80 has a probability of 4e-4 there
        assert times >= 68, (key, times)


def test_losses_without_bounds_have_no_interval_of_what_is_not_seen():
    rng = np.random.default_rng(0)
    source, (target, _) = rows(rng, PRIOR, 200), rows(rng, NEW_PRIOR, 200)

    def cost(probs, labels):
        return losses(probs, labels)[1]

    none = dfu.target_performance(*source, target, metrics=[cost])
    assert np.isnan(none.low).all() and np.isfinite(none.estimates).all()
    bounded = dfu.target_performance(
        *source, target, metrics=[cost], loss_bounds=(0.0, 7.0)
    )
    assert np.isfinite(bounded.low).all()
    # one row in four is wrong
    guess = source[0].copy()
    guess[::4] = np.roll(guess[::4], 1, axis=1)
    many = dfu.target_performance(guess, source[1], target, metrics=[cost])
    assert np.isfinite(many.low).all()


def test_wrong_rows_count_as_they_do_for_the_target():
    # forty wrong rows, all of a class that the target hardly has
    labels = np.repeat([0, 1, 2], 200)
    said = labels.copy()
    said[:40] = 1
    probs = 0.97 * np.eye(3)[said] + 0.01
    probs += (
        1e-3 * np.random.default_rng(0).random((600, 1)) * (np.eye(3)[said] - 1 / 3)
    )
    target = probs[np.repeat([250, 450], 300)]

    def ends(weight):
        fit = dfu.target_performance(
            probs, labels, target, shift=weight, metrics="brier"
        )
        return fit.low[0], fit.high[0]

    # of 400 rows of two classes none is wrong, and three in 400 may be
    assert ends([0.01, 1.5, 1.49])[1] > 2.0 * 3.0 / 400
    low, high = ends([0.6, 1.8, 0.6])
    assert high - low < 0.06


@pytest.mark.parametrize("given", ["priors", "weights"])
def test_precisions_near_one_are_as_noisy_where_the_shift_is_given(given):
    # the shares of the predictions in the target owe nothing to the source rows: the
    # noise of their ratio is not less near one. Held in .71 to .88 of draws once
    p, q, right = np.array([0.45, 0.45, 0.1]), np.array([0.2, 0.4, 0.4]), 0.98
    shift = dfu.label_weights(list(p), list(q)) if given == "priors" else list(q / p)
    rng = np.random.default_rng(2)

    def draw(prior):
        labels = rng.choice(3, p=prior, size=300)
        said = np.where(rng.random(300) < right, labels, (labels + 1) % 3)
        return 0.97 * np.eye(3)[said] + 0.01, labels

    truth = np.append(
        q * right / (q * right + np.roll(q, 1) * (1.0 - right)), q.sum() * right
    )
    held, n_draws = np.zeros(4), 100
    for _ in range(n_draws):
        source, (target, _) = draw(p), draw(q)
        fit = dfu.target_performance(
            *source, target, shift=shift, metrics=("precision", "accuracy")
        )
        held += (fit.low <= truth) & (truth <= fit.high)
    # fewer than 87 of 100 has a probability of 4e-4 at .95
    assert (held >= 87).all(), held


def test_half_a_row_of_weighted_rows_is_a_heavy_one():
    # shares of 1/10: a tenth squared, halved
    assert RowWeights(np.full(10, 3.0)).of_half_a_row() == pytest.approx(0.005)
    # shares 1/4, 1/4 and 1/2: (1/64 + 1/64 + 1/8) / (1/16 + 1/16 + 1/4) = 5/12
    found = RowWeights(np.array([1.0, 1.0, 2.0])).of_half_a_row()
    assert found == pytest.approx((5 / 12) ** 2 / 2)
