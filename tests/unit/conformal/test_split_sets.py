"""Split conformal prediction on four rows, worked out by hand; and what it must not do.

Probabilities are in sixteenths, so that every number below is exact in binary. With
n = 4 and alpha = 0.4 the threshold is the third smallest score: ceil(0.6 * 5) = 3.
"""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._numerics.quantiles import SLACK

ROWS = np.array([[8, 5, 3], [8, 5, 3], [2, 12, 2], [4, 4, 8]]) / 16
LABELS = np.array([0, 1, 1, 0])
NEW = np.array([[10, 4, 2], [6, 6, 4], [3, 13, 0]]) / 16

# score, calibration scores of ROWS and LABELS in sixteenths, the sets of NEW
BY_HAND = {
    "lac": ("lac", [8, 11, 4, 12], [{0}, {0, 1}, {1}]),
    "aps": ("aps", [8, 13, 12, 12], [{0}, {0, 1}, set()]),
    "raps": (dfu.RAPS(penalty=2 / 16, k_reg=1), [8, 15, 12, 14], [{0}, {0, 1}, {1}]),
    "saps": (dfu.SAPS(weight=4 / 16), [8, 12, 12, 12], [{0}, {0, 1}, set()]),
    "rank": ("rank", [16, 32, 16, 32], [{0, 1}, {0, 1}, {0, 1}]),
    "margin": ("margin", [-3, 3, -10, 4], [{0}, {0, 1, 2}, {1}]),
}
# the scores of NEW's labels, in sixteenths
NEW_SCORES = {
    "lac": [[6, 12, 14], [10, 10, 12], [13, 3, 16]],
    "aps": [[10, 14, 16], [6, 6, 16], [16, 13, 16]],
    "raps": [[10, 16, 20], [6, 6, 20], [18, 13, 20]],
    "saps": [[10, 14, 18], [6, 6, 14], [17, 13, 21]],
    "rank": [[16, 32, 48], [16, 16, 48], [32, 16, 48]],
    "margin": [[-6, 6, 8], [0, 0, 2], [10, -10, 13]],
}
by_hand = pytest.mark.parametrize("name", BY_HAND)


def fit_by_hand(name, **options):
    options = {"alpha": 0.4, "randomized": False, **options}
    return dfu.split_conformal(ROWS, LABELS, score=BY_HAND[name][0], **options)


@by_hand
def test_calibration_scores_and_threshold(name):
    fit = fit_by_hand(name)
    scores = np.array(BY_HAND[name][1]) / 16
    assert fit.scores.tolist() == sorted(scores)
    assert (fit.rank, fit.n, fit.alpha) == (3, 4, 0.4)
    assert fit.thresholds.tolist() == [sorted(scores)[2]] * 3
    assert fit.class_counts.tolist() == [2, 2, 0]


@by_hand
def test_sets(name):
    sets = fit_by_hand(name).predict(NEW)
    want = BY_HAND[name][2]
    assert [set(labels.tolist()) for labels in sets.labels()] == want
    assert sets.sizes.tolist() == [len(labels) for labels in want]
    assert len(sets) == 3
    assert set(sets[1].tolist()) == want[1]


@by_hand
def test_scores_of_new_rows(name):
    scores = dfu.nested_scores(NEW, score=BY_HAND[name][0])
    assert (16 * scores).tolist() == NEW_SCORES[name]


@by_hand
def test_p_values(name):
    calibration = np.array(BY_HAND[name][1])
    at_least = [
        [int((calibration >= s).sum()) for s in row] for row in NEW_SCORES[name]
    ]
    p_values = fit_by_hand(name).p_values(NEW)
    assert p_values.tolist() == ((1 + np.array(at_least)) / 5).tolist()


def test_p_values_of_one_row_written_out():
    # LAC scores 4, 8, 11, 12 in sixteenths; the new labels' are 6, 12 and 14
    assert fit_by_hand("lac").p_values(NEW[:1]).tolist() == [[4 / 5, 2 / 5, 1 / 5]]


@pytest.mark.filterwarnings("ignore:alpha=:distfreeuq.LikelyMistakeWarning")
@by_hand
@pytest.mark.parametrize("alpha", [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.99, 1 - 0.6])
def test_a_label_is_in_the_set_if_its_p_value_exceeds_alpha(name, alpha):
    fit = fit_by_hand(name, alpha=alpha)
    exceeds = fit.p_values(NEW) > alpha + SLACK
    assert fit.predict(NEW).mask.tolist() == exceeds.tolist()


# ------------------------------------------------------------------- with randomisation

# mass of the more likely labels, own probability, rank - 1, top probability of each row
RHO, OWN = np.array([0, 8, 0, 8]) / 16, np.array([8, 5, 12, 4]) / 16
ABOVE, TOP = np.array([0, 1, 0, 1]), np.array([8, 8, 12, 8]) / 16


def test_randomised_calibration_scores():
    u = np.random.default_rng(3).random(4)
    want = {
        "aps": RHO + u * OWN,
        "raps": RHO + u * OWN + 2 / 16 * ABOVE,
        "saps": np.where(ABOVE == 0, u * TOP, TOP + u * 4 / 16),
        "rank": ABOVE + u,
    }
    for name, scores in want.items():
        fit = fit_by_hand(name, randomized=True, rng=np.random.default_rng(3))
        assert fit.randomized
        np.testing.assert_array_equal(fit.scores, np.sort(scores))
        assert fit.thresholds[0] == np.sort(scores)[2]


def test_randomised_sets():
    fit = fit_by_hand("aps", randomized=True, rng=np.random.default_rng(3))
    t = float(fit.thresholds[0])
    # row 0: the labels score u 10/16, 10/16 + u 4/16 and 14/16 + u 2/16
    for u in (0.0, 0.25, 0.5, 0.75, 1.0):
        scores = np.array([10 * u, 10 + 4 * u, 14 + 2 * u]) / 16
        got = fit.predict(NEW[:1], uniforms=[u]).mask[0]
        assert got.tolist() == (scores <= t).tolist()


@pytest.mark.parametrize("name", ["lac", "margin"])
def test_scores_without_randomised_form_ignore_the_uniforms(name):
    fit = fit_by_hand(name, randomized=True, rng=1)
    assert not fit.randomized
    assert fit.thresholds.tolist() == fit_by_hand(name).thresholds.tolist()
    first, second = fit.predict(NEW, rng=1), fit.predict(NEW, rng=2)
    assert first.mask.tolist() == second.mask.tolist()


def test_rows_that_repeat_have_one_uniform_under_a_seed():
    n = 40
    certain, labels = np.tile([1.0, 0.0], (n, 1)), np.zeros(n, dtype=int)
    fit = dfu.split_conformal(certain, labels, score="rank", rng=7)
    assert np.unique(fit.scores).size == 1  # rank - 1 + u = u
    # the new row ties with all of them, and is never ruled out
    assert (fit.p_values(certain)[:, 0] == 1.0).all()
    assert fit.guarantee.upper is None
    assert "40 calibration rows share their scores with others" in " ".join(
        str(fit.summary()).split()
    )


def test_ids_tell_repeated_rows_apart():
    n = 40
    certain, labels = np.tile([1.0, 0.0], (n, 1)), np.zeros(n, dtype=int)
    ids = [f"patient {i}" for i in range(n)]
    fit = dfu.split_conformal(certain, labels, score="rank", rng=7, ids=ids)
    assert np.unique(fit.scores).size == n
    again = fit.p_values(certain, ids=ids)[:, 0]
    # each finds its own uniform among the calibration's, the new row's mass besides
    assert sorted(again) == (np.arange(2, n + 2) / (n + 1)).tolist()
    assert "share" not in str(fit.summary())


def test_the_same_seed_gives_the_same_fit_and_a_generator_moves_on():
    fits = [fit_by_hand("aps", randomized=True, rng=5) for _ in range(2)]
    assert fits[0].scores.tolist() == fits[1].scores.tolist()
    generator = np.random.default_rng(5)
    fits = [fit_by_hand("aps", randomized=True, rng=generator) for _ in range(2)]
    assert fits[0].scores.tolist() != fits[1].scores.tolist()


# -------------------------------------------------------------------------- the options


@by_hand
def test_never_empty_adds_the_most_likely_labels_only(name):
    plain, filled = fit_by_hand(name), fit_by_hand(name, never_empty=True)
    assert filled.thresholds.tolist() == plain.thresholds.tolist()
    want = plain.predict(NEW).mask | (NEW.max(axis=1, keepdims=True) == NEW)
    assert filled.predict(NEW).mask.tolist() == want.tolist()
    assert (filled.predict(NEW).sizes >= 1).all()


def test_class_names():
    names = ["cat", "dog", "eel"]
    fit = dfu.split_conformal(
        ROWS,
        ["cat", "dog", "dog", "cat"],
        alpha=0.4,
        randomized=False,
        classes=names,
    )
    assert fit.thresholds.tolist() == fit_by_hand("aps").thresholds.tolist()
    sets = fit.predict(NEW)
    assert [labels.tolist() for labels in sets.labels()] == [
        ["cat"],
        ["cat", "dog"],
        [],
    ]
    assert sets.evaluate(["cat", "eel", "dog"]).n_covered == 1
    with pytest.raises(dfu.InputError, match="among the classes 'cat', 'dog', 'eel'"):
        sets.evaluate(["cat", "eel", "cow"])


def test_confidence_takes_a_higher_rank():
    n = 22  # 0.9^22 < 0.1 < 0.9^21: the largest of 22 scores has confidence 0.9
    p = np.arange(1, n + 1) / 32
    probs, labels = np.column_stack([p, 1 - p]), [0] * n
    fit = dfu.split_conformal(probs, labels, alpha=0.1, score="lac", confidence=0.9)
    assert (fit.rank, fit.thresholds[0]) == (22, 31 / 32)
    assert fit.guarantee.kind == "training-conditional"
    assert (fit.guarantee.lower, fit.guarantee.confidence) == (0.9, 0.9)
    plain = dfu.split_conformal(probs, labels, alpha=0.1, score="lac")
    assert (plain.rank, plain.thresholds[0]) == (21, 30 / 32)
    assert plain.guarantee.kind == "marginal"


def test_guarantee_has_an_upper_side_only_without_ties():
    tied, untied = fit_by_hand("aps"), fit_by_hand("lac")
    assert (tied.guarantee.lower, tied.guarantee.upper) == (0.6, None)
    assert untied.guarantee.lower == 0.6
    assert untied.guarantee.upper == pytest.approx(0.6 + 1 / 5)
    assert fit_by_hand("lac", never_empty=True).guarantee.upper is None


def test_evaluate():
    result = fit_by_hand("aps").predict(NEW).evaluate([0, 2, 1])  # {0}, {0, 1}, {}
    assert (result.n, result.n_covered, result.coverage) == (3, 1, 1 / 3)
    assert (result.mean_size, result.n_empty) == (1.0, 1)
    assert result.size_counts.tolist() == [1, 1, 1, 0]
    assert result.size_covered.tolist() == [0, 1, 0, 0]
    assert result.class_counts.tolist() == [1, 1, 1]
    assert result.class_covered.tolist() == [1, 0, 0]
    assert result.nominal == pytest.approx(0.6)
    low, high = result.interval
    # Clopper-Pearson: P(Bin(3, low) >= 1) = P(Bin(3, high) <= 1) = 0.025
    assert 1 - (1 - low) ** 3 == pytest.approx(0.025)
    assert (1 - high) ** 3 + 3 * high * (1 - high) ** 2 == pytest.approx(0.025)


# ----------------------------------------------------------------- what must not happen


def naive_fit(probs, labels, alpha):
    """Return APS's threshold, its scores summed in the order of the columns."""
    own = probs[np.arange(len(labels)), labels]
    scores = [row[row > p].sum() + p for row, p in zip(probs, own, strict=True)]
    return np.sort(scores)[int(np.ceil((1 - alpha) * (len(labels) + 1))) - 1]


def naive_predict(probs, threshold):
    """Return APS sets, the scores summed from the most likely label on."""
    order = np.argsort(-probs, axis=1)
    cumulative = np.cumsum(np.take_along_axis(probs, order, axis=1), axis=1)
    mask = np.empty(probs.shape, dtype=bool)
    np.put_along_axis(mask, order, cumulative <= threshold, axis=1)
    return mask


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_repeated_rows_keep_their_coverage(dtype):
    # Eleven distinct rows, twenty times each: the threshold is the tenth row's score,
    # and ten rows in eleven are covered. Where sums differ in the last digit between
    # calibration and prediction, the tenth row falls out of its own set.
    rng = np.random.default_rng(8)
    ours, naive = [], []
    for _ in range(300):
        distinct = rng.dirichlet(np.ones(100), size=11).astype(dtype)
        probs = np.repeat(distinct, 20, axis=0)
        labels = np.repeat([rng.choice(100, p=row / row.sum()) for row in distinct], 20)
        rows = np.arange(len(labels))
        fit = dfu.split_conformal(probs, labels, alpha=0.1, randomized=False)
        ours.append(fit.predict(probs).mask[rows, labels].mean())
        mask = naive_predict(probs, naive_fit(probs, labels, 0.1))
        naive.append(mask[rows, labels].mean())
    assert min(ours) >= 10 / 11
    assert min(naive) < 0.85
    assert np.mean(naive) < 0.88


def every_call(probs, labels, uniforms, label_weight):
    fit = dfu.split_conformal(probs, labels, alpha=0.4, rng=1)
    sets = fit.predict(probs, uniforms=uniforms)
    fit.p_values(probs, uniforms=uniforms)
    sets.evaluate(labels)
    scores = dfu.nested_scores(probs, labels, uniforms=uniforms)
    dfu.nested_scores(probs, uniforms=uniforms)
    dfu.conformal_thresholds(
        scores,
        labels,
        alpha=0.4,
        n_classes=3,
        method="label-shift",
        label_weight=label_weight,
    )
    dfu.weighted_quantile(uniforms, uniforms, 0.5, atom=0.1)
    return fit, sets


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_no_input_is_changed_and_read_only_inputs_work(dtype, layout):
    probs = np.array(ROWS, dtype=dtype, order="F" if layout == "F" else "C")
    if layout == "strided":
        probs = np.repeat(probs, 2, axis=0)[::2]
    arrays = [
        probs,
        LABELS.copy(),
        np.array([0.9, 0.1, 0.5, 0.2]),
        np.array([1.0, 2, 0]),
    ]
    before = [array.copy() for array in arrays]
    first, first_sets = every_call(*arrays)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
        array.flags.writeable = False
    second, second_sets = every_call(*arrays)
    np.testing.assert_array_equal(first.scores, second.scores)
    np.testing.assert_array_equal(first_sets.mask, second_sets.mask)


def test_changing_the_input_afterwards_changes_no_result():
    probs, labels, new = ROWS.copy(), LABELS.copy(), NEW.copy()
    fit = dfu.split_conformal(probs, labels, alpha=0.4, randomized=False)
    sets = fit.predict(new)
    scores, mask = fit.scores.copy(), sets.mask.copy()
    probs[:], labels[:], new[:] = 1 / 3, 2, 1 / 3
    np.testing.assert_array_equal(fit.scores, scores)
    np.testing.assert_array_equal(sets.mask, mask)


def test_results_are_read_only():
    fit = fit_by_hand("aps")
    sets = fit.predict(NEW)
    for array in (fit.scores, fit.thresholds, fit.class_counts, sets.mask, sets.sizes):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        fit.alpha = 0.2
