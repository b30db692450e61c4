"""Theorem 1 of Park et al. (2020): golden cases, and its counterexample as printed."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import bounds


@pytest.mark.golden("bounds", "park bounds")
def test_golden(case):
    inputs, expected = case["inputs"], case["expected"]

    def value(t, form):
        terms = bounds.covariate_shift_terms(
            inputs["p"], inputs["q"], inputs["loss"], inputs["ghat"], t=t
        )
        assert terms.upper == pytest.approx(inputs["U"])
        return bounds.covariate_shift_bound(
            terms.weighted_error,
            terms.discriminator_error,
            terms.best_discriminator_error,
            upper=inputs["U"],
            t=t,
            form=form,
        )

    found = {
        "paper_lambda": value(0.5, "printed"),
        "corrected_t_0.5": value(0.5, "simple"),
        "corrected_t_1": value(1.0, "simple"),
        "star_t_0.5": value(0.5, "sharp"),
        "lambda_star_U1": bounds.covariate_shift_factor(1.0),
    }
    assert found.keys() == expected.keys()
    for name, number in expected.items():
        assert found[name] == pytest.approx(number, rel=case["tol"], abs=1e-12), name


def test_printed_theorem_is_false():
    # at the first point certain of class 0 and wrong, at the second certain and right;
    # forecasts differ, so that c(x) is the label itself: E_q ||f - c||^2 = 2 q_1
    p, q = np.array([0.75, 0.25]), np.array([0.3, 0.7])
    forecast, label = np.eye(3)[[0, 2]], np.eye(3)[[1, 2]]
    calibration_error = q @ ((forecast - label) ** 2).sum(axis=1)
    terms = bounds.covariate_shift_terms(p, q, [2.0, 0.0], p / (p + q))
    assert calibration_error == pytest.approx(0.6)
    assert terms.discriminator_error == pytest.approx(terms.best_discriminator_error)
    assert bounds.covariate_shift_bound_printed(terms) == pytest.approx(0.54)
    repaired = bounds.covariate_shift_bound(*terms[0:1], *terms[2:4], upper=terms.upper)
    assert repaired == pytest.approx(1.35)


@pytest.mark.parametrize("upper", [0.6, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("t", [0.1, 0.5, 1.0])
def test_sharp_factor_is_the_supremum(upper, t):
    g = np.geomspace(1 / (1 + upper), 1.0, 201)[:, None]
    guess = (1 + np.geomspace(1e-4, upper, 801)[None, :]) / (1 + upper)
    excess = np.maximum(1 / g - 1 / guess - t, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(excess > 0.0, 4 * g * excess / (guess - g) ** 2, 0.0)
    sharp = bounds.covariate_shift_factor(upper, t=t)
    assert ratio.max() <= sharp * (1 + 1e-12)
    assert ratio.max() == pytest.approx(sharp, rel=1e-2)


def test_factors_are_in_order():
    for upper in (1.0, 3.0, 10.0):
        sharp, simple, printed = (
            bounds.covariate_shift_factor(upper, form=form)
            for form in ("sharp", "simple", "printed")
        )
        assert sharp < simple <= printed
    assert bounds.covariate_shift_factor(0.4) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.covariate_shift_factor(-1.0), "'upper'"),
        (lambda: bounds.covariate_shift_factor(1.0, t=0.0), "'t'"),
        (lambda: bounds.covariate_shift_factor(1.0, t=1.0, form="printed"), "'t'"),
        (lambda: bounds.covariate_shift_factor(1.0, form="best"), "'form'"),
        (lambda: bounds.covariate_shift_bound(1.0, 0.1, 0.2, upper=1.0), "'best_"),
        (
            lambda: bounds.covariate_shift_terms(
                [0.5, 0.6], [0.5, 0.5], [1, 1], [1, 1]
            ),
            "'p'.*sum one",
        ),
        (
            lambda: bounds.covariate_shift_terms([1.0], [1.0], [3.0], [0.5]),
            "'loss'.*0 to 2",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(dfu.InputError, match=message):
        call()
