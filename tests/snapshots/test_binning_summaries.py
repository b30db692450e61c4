"""What tables of bins print, word for word."""

import numpy as np

import distfreeuq as dfu

from .snapshot import assert_matches

N = 240
NAMES = ["benign", "malignant", "unknown"]


def fractions(step: float) -> np.ndarray:
    """Return distinct numbers in (0, 1) without a random number generator."""
    return (np.arange(1, N + 1) * step) % 1.0


SCORES = fractions(0.6180339887)
HITS = (fractions(0.7548776662) < SCORES**2).astype(int)
FIRST, REST = fractions(0.5698402910), fractions(0.8191725134)
PROBS = np.column_stack([FIRST, (1 - FIRST) * REST, (1 - FIRST) * (1 - REST)])
LABELS = (fractions(0.6710436067)[:, None] > np.cumsum(PROBS, axis=1)).sum(axis=1)
NAMED = [NAMES[k] for k in LABELS]


def fit(**options):
    return dfu.histogram_binning(PROBS, NAMED, classes=NAMES, n_bins=4, **options)


def test_two_classes():
    table = dfu.histogram_binning(SCORES, HITS, n_bins=5)
    assert_matches("binning_two_classes", str(table))


def test_empty_bins():
    table = dfu.histogram_binning(
        0.5 * SCORES, HITS, n_bins=4, scheme="equal-width", bound="hoeffding"
    )
    assert_matches("binning_empty_bins", str(table))


def test_cells():
    assert_matches("binning_cells", str(fit()))


def test_classwise():
    assert_matches("binning_classwise", str(fit(mode="classwise", renormalize=True)))


def test_top_label_with_weights():
    table = fit(mode="top-label", sample_weight=0.5 + SCORES, weight_bound=1.5)
    assert_matches("binning_top_label_weighted", str(table))


def test_known_shift():
    assert_matches("binning_known_shift", str(fit().under_label_shift([0.5, 2.0, 1.0])))


def test_shift_within_a_region():
    region = dfu.Box([0.4, 1.8, 0.9], [0.6, 2.2, 1.1], True)
    shifted = fit(split=0.25, rng=0).under_label_shift([0.5, 2.0, 1.0], region=region)
    assert_matches("binning_shift_within_a_region", str(shifted))


def test_one_line_each():
    fits = [fit(), fit(mode="classwise"), fit().under_label_shift([1, 2, 3])]
    assert_matches("binning_one_line", "\n".join(repr(one) for one in fits))
