"""Performance on the target: hand-derived numbers, edge cases, and what is refused."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq.exceptions import IdentificationWarning, InputError

P, Q = np.array([0.1, 0.6, 0.3]), np.array([0.3, 0.2, 0.5])


def outputs(rng, labels, sharpness=2.0):
    x = np.eye(3)[labels] * 2.0 + rng.normal(size=(labels.size, 3))
    tilted = P * np.exp(sharpness * x)
    return tilted / tilted.sum(axis=1, keepdims=True)


def samples(seed=0, n=600, q=Q):
    rng = np.random.default_rng(seed)
    labels, new = rng.choice(3, p=P, size=n), rng.choice(3, p=q, size=n)
    return outputs(rng, labels), labels, outputs(rng, new), new


def test_bbse_by_hand():
    # class 0: 3 of 4 right; class 1: 2 of 4 right; the target is predicted 0 in 5 of 8
    said = np.array([0, 0, 0, 1, 1, 1, 0, 0])
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    new = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    probs, target = np.eye(2)[said], np.eye(2)[new]
    shift = dfu.bbse(probs, labels, target)
    result = dfu.target_performance(
        probs, labels, target, shift=shift, metrics=["accuracy", "recall", "precision"]
    )
    # 5/8 = q 3/4 + (1 - q) 1/2, so q = 1/2; accuracy 1/2 3/4 + 1/2 1/2
    np.testing.assert_allclose(result.target_prior, [0.5, 0.5])
    np.testing.assert_allclose(result.estimates[:3], [0.625, 0.75, 0.5])
    # P(predicted 0, class 0) / P(predicted 0)
    np.testing.assert_allclose(result.estimates[3:], [0.375 / 0.625, 0.25 / 0.375])


def test_known_priors_and_equal_weights_by_hand():
    probs = np.eye(2)[[0, 0, 0, 1, 1, 1, 0, 0]]
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    known = dfu.label_weights([0.5, 0.5], [0.2, 0.8])
    result = dfu.target_performance(
        probs, labels, probs, shift=known, metrics="accuracy"
    )
    assert result["accuracy"] == pytest.approx(0.2 * 0.75 + 0.8 * 0.5)
    same = dfu.target_performance(
        probs, labels, probs, shift=np.ones(2), metrics="accuracy"
    )
    assert same["accuracy"] == 0.625
    low, high = dfu.bounds.clopper_pearson(5, 8, 0.05)
    assert (same.certified_low[0], same.certified_high[0]) == (low, high)
    assert same.shift == "none"


@pytest.mark.parametrize("estimate", [dfu.bbse, dfu.rlls, dfu.mlls, None])
def test_the_accuracy_is_found(estimate):
    probs, labels, target, truth = samples(n=4000)
    shift = None if estimate is None else estimate(probs, labels, target)
    result = dfu.target_performance(
        probs, labels, target, shift=shift, metrics=("accuracy", "brier")
    )
    accuracy = (target.argmax(axis=1) == truth).mean()
    assert abs(result["accuracy"] - accuracy) < 0.03
    assert abs((probs.argmax(axis=1) == labels).mean() - accuracy) > 0.03
    assert result.low[0] < accuracy < result.high[0]
    assert result.certified_low[0] < result.low[0]
    assert result.high[0] < result.certified_high[0]


def test_a_class_absent_from_the_target():
    probs, labels, target, truth = samples(1, 3000, np.array([0.0, 0.4, 0.6]))
    result = dfu.target_performance(probs, labels, target, metrics="accuracy")
    accuracy = (target.argmax(axis=1) == truth).mean()
    assert result.low[0] < accuracy < result.high[0]
    assert result.certified_low[0] < accuracy < result.certified_high[0]


def test_a_class_that_the_source_lacks():
    probs, labels, target, _ = samples(2, 2000)
    here = labels > 0
    with pytest.warns(IdentificationWarning, match="lacks class 0"):
        result = dfu.target_performance(
            probs[here], labels[here], target, metrics=("accuracy", "recall")
        )
    assert "no rows of class 0" in result.notes[0]
    # nothing bounds that class's share: whatever the accuracy is, it is inside
    assert result.certified_low[0] == 0.0 and result.certified_high[0] == 1.0
    assert np.isnan(result.estimates[1])
    known = dfu.label_weights([0.0, 0.6, 0.4], [0.5, 0.3, 0.2])
    given = dfu.target_performance(
        probs[here], labels[here], target, shift=known, metrics="accuracy"
    )
    assert np.isnan(given.estimates[0])
    assert given.certified_high[0] - given.certified_low[0] > 0.5


def test_a_useless_classifier_has_wide_intervals():
    rng = np.random.default_rng(3)
    labels = rng.choice(3, p=P, size=2000)
    constant = np.tile(P, (2000, 1))
    with pytest.warns(IdentificationWarning):
        result = dfu.target_performance(constant, labels, constant, metrics="accuracy")
    assert np.isnan(result.low[0])
    assert (result.certified_low[0], result.certified_high[0]) == (0.0, 1.0)
    assert not result.guarantee
    assert "do not tell all classes apart" in str(result)
    noise = rng.dirichlet(np.ones(3), size=4000)
    vague = dfu.target_performance(
        noise[:2000], labels, noise[2000:], metrics="accuracy"
    )
    # a third of every class is right by chance, whatever the proportions are
    assert vague.certified_low[0] < 1 / 3 < vague.certified_high[0]


@pytest.mark.filterwarnings("ignore::distfreeuq.DistFreeWarning")
@pytest.mark.parametrize("n", [1, 2, 5])
def test_tiny_samples(n):
    probs, labels, target, _ = samples(4, n)
    result = dfu.target_performance(probs, labels, target)
    there = ~np.isnan(result.certified_low)
    assert (result.certified_low[there] <= result.certified_high[there]).all()
    accuracy = list(result.metrics).index("accuracy")
    assert result.certified_high[accuracy] - result.certified_low[accuracy] == 1.0
    str(result)


@pytest.mark.parametrize(
    "shift",
    [None, np.ones(3), np.array([1.0, 2.0, 0.5]), dfu.label_weights(P, Q)],
    ids=["estimated", "none", "weights", "priors"],
)
def test_the_smallest_delta_says_nothing_and_does_not_fail(shift):
    # parts of it round to zero, and nothing but the range of a metric is left
    result = dfu.target_performance(
        *samples(4, 40)[:3], shift=shift, metrics=["accuracy", "brier"], delta=5e-324
    )
    np.testing.assert_array_equal(result.certified_low, 0.0)
    np.testing.assert_array_equal(result.certified_high, [1.0, 2.0])


def test_sets_and_a_loss_of_ones_own():
    probs, labels, target, truth = samples(5, 3000)
    fit = dfu.label_conditional_conformal(*samples(6, 3000)[:2], rng=0)

    def missed(p, y):
        return 1.0 - (p.argmax(axis=1) == y)

    result = dfu.target_performance(
        probs,
        labels,
        target,
        conformal=fit,
        metrics=["accuracy", missed],
        loss_bounds=(0, 1),
    )
    assert result.metrics == ("accuracy", "missed", "coverage", "size")
    assert result["missed"] == pytest.approx(1.0 - result["accuracy"])
    sets = fit.predict(target)
    assert result["size"] == sets.sizes.mean()
    coverage = sets.evaluate(truth).coverage
    assert result.low[2] < coverage < result.high[2]
    again = dfu.target_performance(
        probs, labels, target, conformal=(fit.predict(probs), sets), metrics="accuracy"
    )
    assert again["coverage"] == result["coverage"]


def test_a_loss_without_bounds_has_no_finite_sample_interval():
    probs, labels, target, _ = samples()
    result = dfu.target_performance(
        probs, labels, target, metrics=[lambda p, y: 7.0 * p[:, 0]]
    )
    assert np.isnan(result.certified_low[0]) and np.isfinite(result.low[0])


def test_groups_are_estimated_from_their_own_rows():
    probs, labels, target, _ = samples(n=1000)
    site = np.arange(1000) % 2
    result = dfu.target_performance(
        probs, labels, target, groups=site, groups_target=site, metrics="accuracy"
    )
    alone = dfu.target_performance(
        probs[::2], labels[::2], target[::2], metrics="accuracy"
    )
    assert result.row_group.tolist() == [-1, 0, 1]
    assert result.estimates[1] == alone["accuracy"]
    assert list(result.to_frame()["group"]) == [None, None, 0, 0, 1, 1]


def test_given_ratios_and_estimated_ones():
    probs, labels, target, _ = samples()
    weight = 0.5 + probs[:, 0]
    given = dfu.target_performance(
        probs, labels, target, sample_weight=weight, weight_bound=1.5
    )
    hits = probs.argmax(axis=1) == labels
    assert given["accuracy"] == pytest.approx(np.average(hits, weights=weight))
    assert all(given.guarantees)
    without = dfu.target_performance(probs, labels, target, sample_weight=weight)
    assert not without.guarantees[1] and np.isnan(without.certified_low[0])
    ratio = dfu.density_ratio(probs[:, :2], target[:, :2], rng=0)
    learnt = dfu.target_performance(probs, labels, target, shift=ratio)
    assert not any(learnt.guarantees) and np.isnan(learnt.low).all()
    assert set(learnt.to_frame()["kind"]) == {"none"}
    site = np.arange(600) % 2
    by_site = dfu.target_performance(
        probs,
        labels,
        target,
        shift=ratio,
        metrics="accuracy",
        groups=site,
        groups_target=site,
    )
    own = ratio.source_weight[::2]
    assert by_site.estimates[1] == pytest.approx(np.average(hits[::2], weights=own))


def test_save_load_print_and_draw(tmp_path):
    probs, labels, target, _ = samples()
    classes = ["a", "b", "c"]
    names = np.array(classes)[labels]
    result = dfu.target_performance(probs, names, target, classes=classes)
    result.save(tmp_path / "performance.npz")
    again = dfu.load(tmp_path / "performance.npz")
    assert str(again) == str(result)
    assert again.to_frame().equals(result.to_frame())
    assert "recall of a" in result._repr_html_()
    assert repr(result).startswith("<PerformanceResult accuracy=0.")
    assert [t.get_text() for t in result.plot().get_yticklabels()][1] == "recall of a"
    columns = ["metric", "class", "predicted", "group", "source", "estimate"]
    assert list(result.to_frame()) == [*columns, "low", "high", "kind"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "speed"}, "The 'metrics' parameter of target_performance"),
        ({"metrics": ()}, "'metrics' parameter"),
        ({"metrics": ["accuracy", "accuracy"]}, "different names"),
        ({"metrics": [lambda p, y: p[:1, 0]]}, "length 600"),
        ({"metrics": [lambda p, y: 1 / 0]}, "ZeroDivisionError"),
        ({"loss_bounds": (1, 0)}, "'loss_bounds' parameter"),
        ({"weight_bound": 2.0}, "'weight_bound' parameter"),
        ({"sample_weight": np.ones(600), "weight_bound": 0.5}, "'weight_bound'"),
        ({"sample_weight": np.ones(600), "shift": np.ones(3)}, "'sample_weight'"),
        ({"shift": np.ones(4)}, "'shift' parameter"),
        ({"shift": "label"}, "'shift' parameter"),
        ({"conformal": "sets"}, "'conformal' parameter"),
        ({"groups": np.zeros(600)}, "'groups_target' parameter"),
        ({"alpha": 1.5}, "'alpha' parameter"),
        ({"delta": 0.0}, "'delta' parameter"),
    ],
)
def test_what_is_refused(options, message):
    probs, labels, target, _ = samples()
    with pytest.raises(InputError, match=message):
        dfu.target_performance(probs, labels, target, **options)


def test_a_shift_of_other_rows_is_refused():
    probs, labels, target, _ = samples()
    other = dfu.bbse(probs[:300], labels[:300], target)
    with pytest.raises(InputError, match="estimated from these rows"):
        dfu.target_performance(probs, labels, target, shift=other)
