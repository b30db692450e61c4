"""Labels of some target rows, combined with what the source carries."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq.exceptions import InputError
from distfreeuq.monitoring.performance.labelled_rows import combine
from tests.unit.monitoring.performance.test_unlabelled_target import samples


def some(labels, known, seed=0):
    out = np.full(labels.size, np.nan)
    chosen = np.random.default_rng(seed).choice(labels.size, known, replace=False)
    out[chosen] = labels[chosen]
    return out


def test_weights_of_least_variance_by_hand():
    losses, h = np.array([0.0, 1.0, 1.0, 1.0]), np.zeros(100)
    found = combine(0.02, losses, h, h[:4], width=1.0)
    # (3/4 + 1/4) / 3 rows, / 4
    own = 1.0 / 12.0
    assert found.own == 0.75
    assert found.share == pytest.approx(0.02 / (0.02 + own))
    assert found.variance == pytest.approx(1.0 / (1.0 / 0.02 + 1.0 / own))
    assert found.of(0.5) == pytest.approx(0.5 + 0.25 * found.share)
    alone = combine(np.inf, losses, h, h[:4], width=1.0)
    assert (alone.share, alone.of(np.nan)) == (1.0, 0.75)


def test_the_variance_is_that_of_simulations_and_no_larger_than_either():
    rng = np.random.default_rng(0)
    m, r, noise = 400, 80, 0.03
    values, claimed = [], []
    for _ in range(2000):
        h = rng.normal(size=m)
        losses = 0.6 * h[:r] + 0.5 * rng.normal(size=r)
        carried = 0.6 * h.mean() + noise * rng.normal()
        variance = 0.36 / m + noise**2
        found = combine(variance, losses, 0.6 * h, 0.6 * h[:r], width=0.0)
        values.append(found.of(carried))
        claimed.append(found.variance)
        assert found.variance <= variance
    assert np.mean(claimed) == pytest.approx(np.var(values), rel=0.15)


@pytest.mark.parametrize("known", [1, 60, 600])
def test_labels_narrow_the_intervals_and_all_labels_give_the_mean(known):
    probs, labels, target, truth = samples(n=600)
    metrics = ["accuracy", "brier", "nll", "confusion"]
    plain = dfu.target_performance(probs, labels, target, metrics=metrics)
    result = dfu.target_performance(
        probs, labels, target, metrics=metrics, labels_target=some(truth, known)
    )
    assert (result.low <= result.estimates).all()
    assert (result.certified_low <= result.certified_high).all()
    assert f"Labels of {known} target rows" in result.summary().as_text()
    assert "chosen at random" in " ".join(result.summary().as_text().split())
    if known == 600:
        hits = float((target.argmax(axis=1) == truth).mean())
        assert result["accuracy"] == pytest.approx(hits, abs=0.02)
        width = result.high[0] - result.low[0]
        assert width < plain.high[0] - plain.low[0]


def test_a_useless_classifier_has_the_labelled_rows_alone():
    rng = np.random.default_rng(0)
    labels, truth = rng.integers(2, size=(2, 200))
    probs = np.tile([0.6, 0.4], (200, 1))
    with pytest.warns(dfu.IdentificationWarning):
        result = dfu.target_performance(
            probs, labels, probs, metrics="accuracy", labels_target=some(truth, 50)
        )
    given = some(truth, 50)
    own = float((given[~np.isnan(given)] == 0).mean())
    assert result["accuracy"] == pytest.approx(own)
    assert result.low[0] < own < result.high[0]


def test_groups_sets_and_own_losses_use_the_labels_of_their_rows():
    probs, labels, target, truth = samples(n=300)
    sets = dfu.split_conformal(probs[:100], labels[:100], score="lac")

    def wrong(rows, of):
        return (rows.argmax(axis=1) != of) * 1.0

    groups = np.arange(300) % 2
    result = dfu.target_performance(
        probs,
        labels,
        target,
        metrics=["accuracy", wrong],
        loss_bounds=(0, 1),
        conformal=sets,
        groups=groups,
        groups_target=groups,
        labels_target=some(truth, 100),
    )
    frame = result.to_frame()
    both = frame[frame.kind == "asymptotic"]
    total = both[both.metric == "accuracy"].estimate.to_numpy()
    np.testing.assert_allclose(
        total + both[both.metric == "wrong"].estimate.to_numpy(), 1.0, atol=1e-9
    )


def test_what_is_refused():
    probs, labels, target, truth = samples(n=60)
    with pytest.raises(InputError, match="a label, or None, for each of the 60"):
        dfu.target_performance(probs, labels, target, labels_target=truth[:5])
    for odd in (1.5, "owl", np.zeros((60, 2))):
        with pytest.raises(InputError, match="labels_target"):
            dfu.target_performance(probs, labels, target, labels_target=odd)
    with pytest.raises(InputError, match="labels_target"):
        dfu.target_performance(probs, labels, target, labels_target=truth - 1)
    x = np.random.default_rng(0).normal(size=(60, 2))
    ratio = dfu.density_ratio(x, x + 0.1, rng=0)
    with pytest.raises(InputError, match="estimated density ratio"):
        dfu.target_performance(probs, labels, target, shift=ratio, labels_target=truth)
    nothing = dfu.target_performance(
        probs, labels, target, metrics="accuracy", labels_target=[None] * 60
    )
    plain = dfu.target_performance(probs, labels, target, metrics="accuracy")
    assert nothing["accuracy"] == plain["accuracy"]
