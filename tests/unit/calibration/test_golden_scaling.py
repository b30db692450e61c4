"""Golden cases of temperatures, class-wise temperatures and vector scaling."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._base.arguments import Arguments
from distfreeuq.calibration.data import read_rows
from distfreeuq.calibration.losses.vector_loss import vector_nll_sums
from distfreeuq.density_ratios.weight_pipeline import condition


def close(case):
    return {"rtol": case.get("tol", 1e-9), "atol": 1e-12}


absent_classes = pytest.mark.filterwarnings(
    "ignore::distfreeuq.exceptions.IdentificationWarning"
)


@absent_classes
@pytest.mark.golden("aps", "softmax")
def test_softmax_of_huge_logits(case):
    logits, expected = case["inputs"]["logits"], case["expected"]
    labels = range(len(logits))
    # rows weighted by the softmax are calibrated, so that the temperature is one
    fit = dfu.temperature_scaling(
        [logits] * len(logits), labels, sample_weight=expected["probs"]
    )
    np.testing.assert_allclose(
        fit.predict([logits])[0], expected["probs"], **close(case)
    )
    for label in labels:
        with pytest.warns(dfu.FitAtBoundWarning):  # no temperature fits a single row
            fit = dfu.temperature_scaling([logits], [label], bounds=(1e-3, 1e3))
        log_prob = expected["log_probs"][label]
        np.testing.assert_allclose(-fit.loss_before, log_prob, **close(case))


@absent_classes
@pytest.mark.golden("calibration", "fit_temperature")
def test_temperature(case):
    inputs, expected = case["inputs"], case["expected"]

    def fit():
        return dfu.temperature_scaling(
            inputs["logits"],
            inputs["labels"],
            sample_weight=inputs.get("weights"),
            loss=inputs.get("loss", "nll"),
        )

    if expected["at_bound"] is None:
        result = fit()
    else:
        with pytest.warns(dfu.FitAtBoundWarning, match="stands at its bound"):
            result = fit()
    np.testing.assert_allclose(
        [result.inverse_temperature, result.temperature, result.loss_after],
        [expected["alpha"], expected["T"], expected["loss"]],
        **close(case),
    )
    ends = {None: None, "lo": "low", "hi": "high"}
    assert result.at_bound == ends[expected["at_bound"]]


@absent_classes
@pytest.mark.golden("calibration", "fit_classwise_temperature")
def test_classwise_temperature(case):
    inputs, expected = case["inputs"], case["expected"]
    result = dfu.classwise_temperature_scaling(
        inputs["logits"],
        inputs["labels"],
        gamma=inputs["Gamma"],
        bounds=(inputs["alpha_lo"], inputs["alpha_hi"]),
    )
    assert len(result.classes) == inputs["K"]
    np.testing.assert_allclose(
        result.inverse_temperatures, expected["alphas"], **close(case)
    )
    if "loss" in expected:
        np.testing.assert_allclose(result.loss_after, expected["loss"], **close(case))
    if "pooled" in expected:
        np.testing.assert_allclose(
            1 / result.shared_temperature, expected["pooled"], **close(case)
        )
        assert result.to_frame()["note"].tolist() == ["", "", "shared"]


@pytest.mark.golden("calibration", "vector_scaling_objective")
def test_vector_scaling_objective(case):
    inputs, expected = case["inputs"], case["expected"]
    rows = read_rows(Arguments("test"), inputs["logits"], inputs["labels"], None, None)
    sums = vector_nll_sums(rows, np.array(inputs["a"]), np.array(inputs["b"]))
    loss, gradient = sums[0] / rows.total_weight, sums[1:] / rows.total_weight
    np.testing.assert_allclose(loss, expected["loss"], **close(case))
    np.testing.assert_allclose(
        gradient, expected["grad_a"] + expected["grad_b"], **close(case)
    )
    assert abs(gradient[3:].sum()) < 1e-15


@pytest.mark.golden("calibration", "transform_weights")
def test_weight_transform(case):
    inputs = case["inputs"]
    ratios = np.array(inputs["w"])
    many = 10**9  # target rows: ratios down to 1e-9 are left as they are
    conditioning = condition(
        ratios,
        many,
        flatten=inputs["flatten"],
        clip=(inputs["clip_lo"], inputs["clip_hi"]),
    )
    weights = conditioning.weights(ratios)
    np.testing.assert_allclose(weights, case["expected"]["w"], **close(case))
