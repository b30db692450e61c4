"""Label-shift estimates equal the golden cases."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._numerics.mixture_likelihood import maximize_likelihood
from distfreeuq.label_shift.posterior import reweight
from distfreeuq.label_shift.regularized_solution import minimize_regularized


def rows_of(joint, predicted):
    """Return one-hot predictions, labels and target predictions of these counts."""
    joint, k = np.asarray(joint), len(predicted)
    guesses, labels = np.divmod(np.repeat(np.arange(k * k), joint.ravel()), k)
    one_hot = np.eye(k)
    return one_hot[guesses], labels, one_hot[np.repeat(np.arange(k), predicted)]


@pytest.mark.golden("label_shift", "bbse (hard)")
def test_hard_bbse(case):
    counts, expected = case["inputs"], case["expected"]
    data = rows_of(
        counts["confusion_counts_rows_predicted_columns_true"],
        counts["target_prediction_counts"],
    )
    if expected["singular"]:
        with pytest.warns(dfu.IdentificationWarning, match="class 2"):
            fit = dfu.bbse(*data)
        assert fit.raw is None
        with pytest.raises(dfu.InputError, match="rlls and mlls"):
            _ = fit.label_weight
    else:
        fit = dfu.bbse(*data)
        np.testing.assert_allclose(fit.raw, expected["raw"], rtol=1e-9, atol=1e-12)
        w = np.array(expected["w"])
        scaled = w / (expected["p"] @ w)
        np.testing.assert_allclose(fit.label_weight, scaled, rtol=1e-9, atol=1e-12)
    assert fit.singular is expected["singular"]
    np.testing.assert_allclose(fit.confusion.matrix, expected["C"], rtol=1e-12)
    np.testing.assert_allclose(fit.confusion.frequencies, expected["mu"], rtol=1e-12)
    np.testing.assert_allclose(fit.source_prior, expected["p"], rtol=1e-12)


@pytest.mark.golden("label_shift", "bbse (soft)")
def test_soft_bbse(case):
    given, expected = case["inputs"], case["expected"]
    fit = dfu.bbse(
        given["probs_source"], given["y_source"], given["probs_target"], soft=True
    )
    np.testing.assert_allclose(fit.confusion.matrix, expected["C"], rtol=1e-12)
    np.testing.assert_allclose(fit.confusion.frequencies, expected["mu"], rtol=1e-12)
    np.testing.assert_allclose(fit.raw, expected["raw"], rtol=1e-9)
    w = np.array(expected["w"])
    np.testing.assert_allclose(fit.label_weight, w / (expected["p"] @ w), rtol=1e-9)


@pytest.mark.golden("label_shift", "rlls")
def test_rlls(case):
    c, mu = np.array(case["inputs"]["C"]), np.array(case["inputs"]["mu"])
    delta, expected = case["inputs"]["delta"], case["expected"]
    b = mu - c.sum(axis=1)
    theta = minimize_regularized(c, b, delta)
    np.testing.assert_allclose(theta, expected["theta"], rtol=case["tol"], atol=1e-12)
    np.testing.assert_allclose(1 + theta, expected["w"], rtol=case["tol"])
    objective = np.linalg.norm(c @ theta - b) + delta * np.linalg.norm(theta)
    assert objective == pytest.approx(expected["objective"], rel=1e-9, abs=1e-12)


@pytest.mark.golden("label_shift", "mlls_em")
def test_mlls(case):
    probs = np.array(case["inputs"]["probs_target"])
    prior, expected = np.array(case["inputs"]["p_source"]), case["expected"]
    fit = maximize_likelihood(probs, prior)
    tolerance = {"rtol": case.get("tol", 1e-9), "atol": 1e-12}
    np.testing.assert_allclose(fit.prior, expected["q"], **tolerance)
    if "w" in expected:
        np.testing.assert_allclose(fit.prior / prior, expected["w"], **tolerance)
    if "loglik" in expected:
        assert fit.log_likelihood == pytest.approx(expected["loglik"], abs=1e-12)
    assert fit.violation <= 1e-9
    np.testing.assert_array_equal(fit.prior == 0, np.array(expected["q"]) == 0)


@pytest.mark.golden("label_shift", "posterior_shift")
def test_posterior_shift(case):
    probs, w = np.array([case["inputs"]["probs"]]), np.array(case["inputs"]["w"])
    got = reweight(probs, w.astype(float), np.full(w.size, 1 / w.size))
    np.testing.assert_allclose(got[0], case["expected"]["probs"], rtol=1e-12)
    known = dfu.label_weights([0.25, 0.25, 0.5], [0.5, 0.0, 0.5])
    np.testing.assert_allclose(known.label_weight, w)
    np.testing.assert_allclose(known.adapt(probs)[0], case["expected"]["probs"])
