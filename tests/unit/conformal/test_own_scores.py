"""Scores of one's own, ties at random, and class proportions, derived by hand."""

import numpy as np
import pytest

import distfreeuq as dfu

RNG = np.random.default_rng(8)
N = 300
PROBS = RNG.dirichlet([2.0, 1.0, 1.0], N)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])
WEIGHTS = RNG.uniform(0.5, 2.0, N)


def lac(probs):
    return 1.0 - probs


class RandomizedAPS:
    name = "APS by hand"
    uses_uniforms = True

    def of_all_labels(self, probs, uniforms):
        above = (probs[:, None, :] > probs[:, :, None]) * probs[:, None, :]
        return above.sum(axis=2) + uniforms[:, None] * probs

    def of_labels(self, probs, labels, uniforms):
        return self.of_all_labels(probs, uniforms)[np.arange(len(labels)), labels]


PROCEDURES = {
    "split": (dfu.split_conformal, (), {}),
    "label-conditional": (dfu.label_conditional_conformal, (), {}),
    "label-shift": (dfu.label_shift_conformal, ([1.0, 2.0, 3.0],), {}),
    "robust": (
        dfu.label_shift_conformal,
        (dfu.bbse(PROBS, LABELS, PROBS[:200]),),
        {"robust": True},
    ),
    "covariate-shift": (dfu.covariate_shift_conformal, (WEIGHTS,), {}),
}


@pytest.mark.parametrize("name", PROCEDURES)
@pytest.mark.parametrize(("own", "known"), [(lac, "lac"), (RandomizedAPS(), "aps")])
def test_ones_own_score_gives_the_sets_of_the_same_score(name, own, known):
    function, more, options = PROCEDURES[name]
    mine = function(PROBS, LABELS, *more, score=own, rng=1, **options)
    theirs = function(PROBS, LABELS, *more, score=known, rng=1, **options)
    weights = [WEIGHTS] if name == "covariate-shift" else []
    np.testing.assert_allclose(mine.thresholds, theirs.thresholds, rtol=1e-12)
    a, b = (fit.predict(PROBS[::-1], *weights) for fit in (mine, theirs))
    assert (a.mask == b.mask).mean() > 0.99  # sums are rounded differently
    assert mine.guarantee.lower == theirs.guarantee.lower
    assert "(given)" in str(mine)
    needs = "the score given is a fixed function of a row, its label and its uniform"
    assert needs in mine.guarantee.assumptions
    if name == "robust":  # which has no p-values
        return
    few = [w[:5] for w in weights]
    p, q = (fit.p_values(PROBS[:5], *few) for fit in (mine, theirs))
    np.testing.assert_allclose(p, q, atol=0.02)


def test_never_empty_holds_for_ones_own_score():
    fit = dfu.split_conformal(PROBS, LABELS, score=lac, alpha=0.5, never_empty=True)
    assert (fit.predict(PROBS).sizes >= 1).all()


def test_it_cannot_be_saved(tmp_path):
    fit = dfu.split_conformal(PROBS, LABELS, score=lac)
    with pytest.raises(dfu.InputError, match="a file holds no code"):
        fit.save(tmp_path / "fit.npz")


class Inconsistent(RandomizedAPS):
    def of_labels(self, probs, labels, uniforms):
        return np.zeros(len(labels))


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda probs: probs[:, 0], r"numbers of shape \(300, 3\), without NaN"),
        (lambda probs: np.where(probs > 0.5, np.nan, 1.0), "Got NaN at row"),
        (lambda probs: "no", "score"),
        (Inconsistent(), "two methods give a label the same score"),
        (3, "one of 'lac'"),
        (dfu.APS, "one of 'lac'"),
    ],
)
def test_what_is_no_score(score, message):
    with pytest.raises(dfu.InputError, match=message):
        dfu.split_conformal(PROBS, LABELS, score=score, rng=0)


# -------------------------------------------------------------------- ties at random


def test_ten_equal_classes_give_nine_labels():
    probs, rng = np.full((3000, 10), 0.1), np.random.default_rng(1)
    labels = rng.integers(10, size=3000)
    at_random = dfu.split_conformal(
        probs, labels, score=dfu.APS(ties="random"), rng=rng
    ).predict(probs, rng=rng)
    assert set(at_random.sizes) <= {8, 9, 10}
    assert at_random.sizes.mean() == pytest.approx(9.0, abs=0.2)
    together = dfu.split_conformal(probs, labels, rng=rng).predict(probs, rng=rng)
    assert set(together.sizes) == {0, 10}


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (dfu.APS(ties="random"), [0.2, 0.6, 0.9]),
        (dfu.Rank(ties="random"), [0.5, 1.5, 2.5]),
        (dfu.RAPS(0.5, 1, ties="random"), [0.2, 1.1, 1.9]),
        (dfu.SAPS(0.25, ties="random"), [0.2, 0.525, 0.775]),
    ],
)
def test_ties_by_hand(score, expected):
    """Two labels of 0.4 and one of 0.2, u = 1/2."""
    every = dfu.nested_scores([[0.4, 0.4, 0.2]], score=score, uniforms=[0.5])
    assert sorted(every[0].tolist()) == pytest.approx(expected)
    assert every[0, 2] == pytest.approx(expected[2])
    own = [
        dfu.nested_scores([[0.4, 0.4, 0.2]], [k], score=score, uniforms=[0.5])[0]
        for k in range(3)
    ]
    assert own == every[0].tolist()


def test_either_of_two_tied_labels_comes_first_as_often():
    u = np.random.default_rng(0).random(4000)
    scores = dfu.nested_scores(
        np.full((4000, 2), 0.5), score=dfu.Rank(ties="random"), uniforms=u
    )
    assert (scores[:, 0] < scores[:, 1]).mean() == pytest.approx(0.5, abs=0.03)


def test_scores_with_ties_are_saved(tmp_path):
    fit = dfu.split_conformal(PROBS, LABELS, score=dfu.RAPS(ties="random"), rng=0)
    fit.save(tmp_path / "fit.npz")
    assert dfu.load(tmp_path / "fit.npz").score == fit.score
    with pytest.raises(dfu.InputError, match="'ties' parameter of APS"):
        dfu.APS(ties="first")


# --------------------------------------------------------------- class proportions


def test_prevalence_adjusted_scores_by_hand(tmp_path):
    score = dfu.PAS([2.0, 1.0, 1.0])
    scores = dfu.nested_scores([[0.5, 0.3, 0.2]], score=score)
    np.testing.assert_allclose(scores, [[-1.0, -1.2, -0.8]])
    fit = dfu.split_conformal(PROBS, LABELS, score=score)
    assert "the class proportions of the score were chosen without these rows" in (
        fit.guarantee.assumptions
    )
    fit.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(again.predict(PROBS).mask, fit.predict(PROBS).mask)


def test_class_proportions_counted_from_the_labels():
    fit = dfu.split_conformal(PROBS, LABELS, score=dfu.PAS())
    counts = np.bincount(LABELS) + 1.0
    np.testing.assert_allclose(fit.score.class_prior, counts / counts.sum())
    given = dfu.split_conformal(PROBS, LABELS, score=dfu.PAS(counts))
    np.testing.assert_array_equal(fit.predict(PROBS).mask, given.predict(PROBS).mask)
    assert fit.guarantee.lower == 0.9 and fit.guarantee.upper is None
    assert fit.guarantee.reference.endswith("from the labels (theory page, 1.7)")
    assert not fit.further and given.further
    assert str(fit.at(0.2)) == str(
        dfu.split_conformal(PROBS, LABELS, score=dfu.PAS(), alpha=0.2)
    )
    for function in (dfu.split_conformal, dfu.label_conditional_conformal):
        with pytest.raises(dfu.InputError, match="no law of coverage given"):
            function(PROBS, LABELS, score=dfu.PAS(), confidence=0.9)
    with pytest.raises(dfu.InputError, match="no calibration labels to count"):
        dfu.nested_scores(PROBS, score=dfu.PAS())


@pytest.mark.parametrize("prior", [[1.0, 0.0, 1.0], [1.0], [[1.0, 2.0]], [1.0, -1.0]])
def test_class_proportions_are_positive(prior):
    with pytest.raises(dfu.InputError, match="'class_prior' parameter of PAS"):
        dfu.PAS(prior)


def test_class_proportions_are_those_of_all_classes():
    with pytest.raises(dfu.InputError, match="each of the 3 classes"):
        dfu.split_conformal(PROBS, LABELS, score=dfu.PAS([0.5, 0.5]))
