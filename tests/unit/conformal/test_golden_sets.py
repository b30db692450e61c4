"""Golden cases of scores, thresholds, p-values and union thresholds."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq.conformal.p_values import weighted_p_values
from distfreeuq.conformal.thresholds import union_thresholds
from distfreeuq.label_shift.inference.regions import Box
from tests.conftest import read_golden

METHODS = {
    "exchangeable": "exchangeable",
    "label_shift": "label-shift",
    "label_conditional": "label-conditional",
}


def close_to(expected):
    """Match relatively to 1e-9, absolutely to 1e-12, and infinities exactly."""
    return pytest.approx(np.array(expected, dtype=np.float64), rel=1e-9, abs=1e-12)


@pytest.mark.golden("aps", "aps_scores_all_labels")
def test_aps_scores(case):
    inputs = case["inputs"]
    scores = dfu.nested_scores([inputs["probs"]], uniforms=[inputs["u"]])[0]
    expected = np.array(case["expected"]["scores"])
    if inputs["ties"] == "index":
        # This package scores tied labels alike; by their places they would ascend.
        assert np.unique(inputs["probs"]).size == np.unique(scores).size == 1
        assert scores[0] == close_to(expected[0])
    else:
        assert scores == close_to(expected)


@pytest.mark.filterwarnings("ignore:alpha=:distfreeuq.LikelyMistakeWarning")
@pytest.mark.golden("conformal", "conformal_thresholds")
def test_conformal_thresholds(case):
    inputs = case["inputs"]
    thresholds = dfu.conformal_thresholds(
        inputs["scores"],
        inputs["labels"],
        alpha=inputs.get("alphas", inputs["alpha"]),
        n_classes=inputs["K"],
        method=METHODS[inputs["mode"]],
        label_weight=inputs.get("weights"),
    )
    # a threshold is one of the scores or +inf, so that nothing is rounded
    assert thresholds.tolist() == case["expected"]["thresholds"]


@pytest.mark.golden("conformal", "conformal_pvalue")
def test_conformal_p_value(case):
    inputs = case["inputs"]
    order = np.argsort(inputs["cal_scores"])
    p_values = weighted_p_values(
        np.array([[inputs["score"]]]),
        np.array(inputs["cal_scores"])[order],
        np.array(inputs["cal_weights"], dtype=np.float64)[order],
        inputs["own_weight"],
    )
    assert p_values[0, 0] == close_to(case["expected"]["pvalue"])


@pytest.mark.golden("conformal", "union_thresholds_box")
def test_union_thresholds(case):
    inputs = case["inputs"]
    thresholds = union_thresholds(
        np.array(inputs["scores"]),
        np.array(inputs["labels"]),
        Box(inputs["lo"], inputs["hi"], finite_sample=True),
        inputs["alpha"],
    )
    assert thresholds.tolist() == case["expected"]["thresholds"]


def test_no_golden_case_is_left_out():
    functions = {case["function"] for case in read_golden("aps")}
    assert functions == {"aps_scores_all_labels", "softmax"}
    functions = {case["function"] for case in read_golden("conformal")}
    assert functions == {
        "conformal_thresholds",
        "conformal_pvalue",
        "union_thresholds_box",
    }
