"""What summaries print, word for word."""

from typing import Any

import numpy as np
import pytest

import distfreeuq as dfu

from .snapshot import assert_matches

N, K = 60, 3


def rows(n: int, n_classes: int) -> np.ndarray:
    """Return probabilities that do not depend on a random number generator."""
    i, k = np.indices((n, n_classes))
    scores = 1.0 + (7 * i + 11 * k * k) % 13
    return scores / scores.sum(axis=1, keepdims=True)


PROBS = rows(N, K)
LABELS = (np.arange(N) ** 2 + np.arange(N) // 7) % K
NAMES = ["benign", "malignant", "unknown"]
NAMED = [NAMES[k] for k in LABELS]


def fit(**options: Any) -> dfu.ConformalResult:
    options = {"score": "aps", "randomized": False, "classes": NAMES} | options
    return dfu.split_conformal(PROBS, NAMED, **options)


def test_split_conformal():
    assert_matches("split_conformal", str(fit()))


def test_split_conformal_randomised():
    uniforms_are_hashed = fit(randomized=True, rng=0)
    assert_matches("split_conformal_randomised", str(uniforms_are_hashed))
    with_ids = fit(randomized=True, rng=0, ids=range(N))
    assert_matches("split_conformal_with_ids", str(with_ids))


def test_split_conformal_with_confidence_and_never_empty():
    result = fit(score=dfu.RAPS(0.05, 1), alpha=0.2, confidence=0.9, never_empty=True)
    assert_matches("split_conformal_with_confidence", str(result))


def test_split_conformal_with_too_few_rows():
    with pytest.warns(dfu.SmallCalibrationWarning):
        result = dfu.split_conformal(PROBS[:5], LABELS[:5], score="lac")
    assert_matches("split_conformal_too_few_rows", str(result))


def test_split_conformal_by_group():
    sites = np.resize(["north", "south", "south"], N)
    result = fit(groups=sites)
    assert_matches("split_conformal_by_group", str(result))
    evaluated = result.predict(PROBS, sites).evaluate(NAMED, groups=sites)
    assert_matches("coverage_by_group", str(evaluated))


def test_label_shift_sets_with_estimated_weights():
    sharp = rows(400, K) + 2.0 * np.eye(K)[np.arange(400) % K]
    sharp /= sharp.sum(axis=1, keepdims=True)
    labels = (np.arange(400) + (np.arange(400) % 7 == 0)) % K
    estimate = dfu.bbse(sharp, labels, sharp[np.arange(400) % 5 > 0])
    for name, options in {
        "robust": {"robust": True},
        "directional": {"robust": "directional"},
        "with_confidence": {"confidence": 0.9},
    }.items():
        result = dfu.label_shift_conformal(
            sharp, labels, estimate, score="lac", **options
        )
        assert_matches(f"label_shift_conformal_{name}", str(result))
    for claim in ("finite-sample", "combined"):
        chosen = dfu.prediction_sets(sharp, labels, estimate, score="lac", claim=claim)
        assert_matches(f"chosen_sets_{claim.replace('-', '_')}", str(chosen))


def test_prediction_sets():
    assert_matches("prediction_sets", str(fit().predict(PROBS)))


def test_prediction_sets_of_no_rows():
    assert_matches("prediction_sets_of_no_rows", str(fit().predict(np.empty((0, K)))))


def test_coverage():
    assert_matches("coverage", str(fit(alpha=0.3).predict(PROBS).evaluate(NAMED)))


def test_coverage_in_blocks():
    sets = fit(alpha=0.3).predict(PROBS)
    blocks = np.arange(len(NAMED)) // 4
    assert_matches("coverage_in_blocks", str(sets.evaluate(NAMED, blocks=blocks)))


def test_coverage_of_several_methods():
    sets = {
        "split": fit(alpha=0.3).predict(PROBS),
        "smaller": fit(alpha=0.5).predict(PROBS),
    }
    assert_matches("coverage_table", str(dfu.coverage_table(sets, NAMED)))


def test_coverage_of_no_rows():
    result = fit().predict(np.empty((0, K))).evaluate([])
    assert_matches("coverage_of_no_rows", str(result))


def test_a_thousand_classes():
    many = dfu.split_conformal(
        rows(40, 1000), np.arange(40) * 24 % 1000, score="rank", randomized=False
    )
    assert_matches("thousand_classes", str(many))


def test_names_that_are_hard_to_print():
    names = [
        "日本語のラベル",
        "e\u0301te\u0301 🎲",
        r"<b>50% & \$5_{x}~^#</b>",
        "a very long name that would push all numbers off the page",
        "two\nlines\tand \x1b[31mred",
        "",
        None,
    ]
    result = dfu.split_conformal(
        rows(40, 7), [names[k] for k in np.arange(40) % 7], score="lac", classes=names
    )
    assert_matches("hard_names", str(result))
    assert_matches("hard_names_html", result.summary().as_html())
    assert_matches("hard_names_latex", result.summary().as_latex())
    assert_matches("hard_names_csv", result.summary().as_csv())


def test_one_line_representations():
    result = fit()
    sets = result.predict(PROBS)
    lines = [repr(result), repr(sets), repr(sets[:0]), repr(sets.evaluate(NAMED))]
    assert_matches("one_line", "\n".join(lines))
