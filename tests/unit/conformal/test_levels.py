"""Other levels of the same fit: what a fit at that level would have given."""

import itertools

import numpy as np
import pytest

import distfreeuq as dfu

RNG = np.random.default_rng(9)
N = 400
PROBS = RNG.dirichlet([2.0, 1.0, 1.0], N)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])
WEIGHTS = RNG.uniform(0.5, 2.0, N)
SITES = RNG.choice(["north", "south"], N)
BBSE = dfu.bbse(PROBS, LABELS, PROBS[:200])
FITS = {
    "split": lambda a: dfu.split_conformal(PROBS, LABELS, alpha=a, rng=0),
    "split, confidence": lambda a: dfu.split_conformal(
        PROBS, LABELS, alpha=a, confidence=0.9, rng=0
    ),
    "label-conditional": lambda a: dfu.label_conditional_conformal(
        PROBS, LABELS, alpha=a, rng=0
    ),
    "known weights": lambda a: dfu.label_shift_conformal(
        PROBS, LABELS, [1.0, 2.0, 3.0], alpha=a, rng=0
    ),
    "estimated weights": lambda a: dfu.label_shift_conformal(
        PROBS, LABELS, BBSE, alpha=a, rng=0
    ),
    "covariate shift": lambda a: dfu.covariate_shift_conformal(
        PROBS, LABELS, WEIGHTS, alpha=a, rng=0
    ),
    "by group": lambda a: dfu.split_conformal(
        PROBS, LABELS, alpha=a, groups=SITES, confidence=0.8, rng=0
    ),
    "classes by group": lambda a: dfu.label_conditional_conformal(
        PROBS, LABELS, alpha=a, groups=SITES, rng=0
    ),
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("alpha", [0.07, 0.3])
def test_it_is_the_fit_at_that_level(name, alpha):
    there, here = FITS[name](0.15).at(alpha), FITS[name](alpha)
    assert str(there) == str(here)
    np.testing.assert_array_equal(there.thresholds, here.thresholds)
    assert there.guarantee == here.guarantee


def test_sets_are_nested():
    fit = dfu.split_conformal(PROBS, LABELS, rng=0)
    masks = [fit.at(a).predict(PROBS).mask for a in (0.02, 0.1, 0.3, 0.6)]
    for larger, smaller in itertools.pairwise(masks):
        assert (larger >= smaller).all()


def test_a_level_for_each_class():
    fit = dfu.label_conditional_conformal(PROBS, LABELS, rng=0)
    other = dfu.label_conditional_conformal(PROBS, LABELS, alpha=[0.1, 0.2, 0.3], rng=0)
    assert str(fit.at([0.1, 0.2, 0.3])) == str(other)


def test_levels_that_need_a_fit_of_their_own():
    robust = dfu.label_shift_conformal(PROBS, LABELS, BBSE, robust=True, rng=0)
    thinned = dfu.covariate_shift_conformal(
        PROBS, LABELS, WEIGHTS, confidence=0.9, weight_bound=2.0, rng=0
    )
    independent = dfu.label_shift_conformal(
        PROBS, LABELS, BBSE, independent=True, rng=0
    )
    for fit in (robust, thinned, independent):
        with pytest.raises(dfu.InputError, match="a fit of its own"):
            fit.at(0.2)
    with pytest.raises(dfu.InputError, match="'alpha' parameter of SplitConformal"):
        dfu.split_conformal(PROBS, LABELS).at(1.5)
