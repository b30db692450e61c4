"""Confidence intervals of fitted parameters: those of the tables, at any level."""

import numpy as np
import pytest

import distfreeuq as dfu

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(0.0, 2.0, (300, 3))
LABELS = (0.7 * LOGITS + RNG.gumbel(size=(300, 3))).argmax(axis=1)
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
FITS = {
    "temperature": lambda: dfu.temperature_scaling(LOGITS, LABELS),
    "classwise": lambda: dfu.classwise_temperature_scaling(LOGITS, LABELS),
    "vector": lambda: dfu.vector_scaling(LOGITS, LABELS),
    "platt": lambda: dfu.platt_scaling(LOGITS, LABELS),
    "dirichlet": lambda: dfu.dirichlet_scaling(LOGITS, LABELS),
    "beta": lambda: dfu.beta_calibration(PROBS, LABELS),
    "groupwise": lambda: dfu.groupwise_calibration("temperature", LOGITS, LABELS),
}


@pytest.mark.parametrize("name", FITS)
def test_at_five_percent_they_are_those_of_the_table(name):
    fit = FITS[name]()
    frame = fit.to_frame()
    found = fit.confint()
    np.testing.assert_allclose(found, frame[["low", "high"]].to_numpy(), rtol=1e-12)
    narrow, wide = fit.confint(0.5), fit.confint(1e-4)
    known = frame["std_err"].notna().to_numpy()
    assert (wide[known, 0] < narrow[known, 0]).all()
    assert (narrow[known, 1] < wide[known, 1]).all()


def test_by_hand():
    fit = dfu.temperature_scaling(LOGITS, LABELS)
    error = fit.std_err / fit.temperature
    low, high = fit.confint(2 * 0.15865525393145707)[0]  # one standard error
    np.testing.assert_allclose(low, fit.temperature * np.exp(-error))
    np.testing.assert_allclose(high, fit.temperature * np.exp(error))


def test_curves_have_none():
    for fit_it in (dfu.isotonic_calibration, dfu.venn_abers):
        with pytest.raises(dfu.InputError, match="standard errors"):
            fit_it(PROBS, LABELS).confint()


def test_a_level_is_checked():
    with pytest.raises(dfu.InputError, match="'alpha'"):
        dfu.temperature_scaling(LOGITS, LABELS).confint(1.0)
