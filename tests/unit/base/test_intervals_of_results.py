"""Whatever has standard errors has intervals at any level, or a reason not to."""

import inspect

import numpy as np
import pytest
from scipy import special, stats

import distfreeuq as dfu
from distfreeuq.covariate_shift import CalibrationChoiceResult
from distfreeuq.results import Result

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(0.0, 2.0, (300, 3))
LABELS = (0.7 * LOGITS + RNG.gumbel(size=(300, 3))).argmax(axis=1)

WITHOUT = {
    CalibrationChoiceResult: (
        "the standard errors of cross-validated scores count the folds' fits as fixed; "
        "these share rows, and no interval of such a score is known to hold"
    ),
}
"""Results that have standard errors and no `confint`, and why."""


def below(cls):
    return [each for sub in cls.__subclasses__() for each in (sub, *below(sub))]


def has_standard_errors(cls):
    """Return whether the code of the class, or of what it derives from, names them."""
    bases = [base for base in cls.__mro__ if base.__module__.startswith("distfreeuq")]
    code = "".join(map(inspect.getsource, bases))
    return any(word in code for word in ("std_err", "standard errors"))


for name in dfu.__all__:  # rooms are imported when they are asked for
    getattr(dfu, name)
# dataclasses with slots leave the class behind that they are made from
KINDS = {cls.__qualname__: cls for cls in below(Result) if not inspect.isabstract(cls)}


@pytest.mark.parametrize("name", sorted(KINDS))
def test_standard_errors_come_with_intervals(name):
    cls = KINDS[name]
    if not has_standard_errors(cls):
        return
    excused = {one.__qualname__ for one in WITHOUT}
    assert hasattr(cls, "confint") != (name in excused)


def test_the_walk_sees_them():
    names = {name for name, cls in KINDS.items() if has_standard_errors(cls)}
    assert {
        "TemperatureResult",
        "VectorResult",
        "LabelShiftResult",
        "DensityRatioResult",
        "DecisionCalibrationResult",
        "SimulationResult",
        "CalibrationChoiceResult",
    } <= names
    assert len(names) < len(KINDS)


def test_decisions():
    fit = dfu.decision_calibration(LOGITS, LABELS, LOGITS.argmax(axis=1))
    frame = fit.to_frame()
    np.testing.assert_allclose(fit.confint(), frame[["low", "high"]])
    low, high = fit.confint(0.2)[0]
    reach = stats.norm.ppf(0.9) * fit.std_err / fit.temperature
    np.testing.assert_allclose(
        np.log(np.array([low, high]) / fit.temperature), [-reach, reach]
    )


def test_density_ratios():
    """The log ratio of normal samples is linear: the coefficient is the difference."""
    source, target = RNG.normal(size=(900, 2)), RNG.normal([0.5, 0.0], 1.0, (900, 2))
    fit = dfu.density_ratio(source, target, rng=0)
    own = fit.model.discriminator
    found = fit.confint(0.01)
    assert found.shape == (2, 2)
    truth = np.array([0.5, 0.0]) * own.scale
    assert (found[:, 0] < truth).all() and (truth < found[:, 1]).all()
    np.testing.assert_allclose(found.mean(axis=1), own.glm_coef)
    width = 2.0 * -special.ndtri(0.005) * own.glm_std_err
    np.testing.assert_allclose(np.diff(found)[:, 0], width)
    for method in ("knn", "kmm"):
        other = dfu.density_ratio(source[:50], target[:50], method=method, rng=0)
        with pytest.raises(dfu.InputError, match=r"'self' .* logistic regression"):
            other.confint()


def test_simulations():
    def quantities(scenario, rng):
        x = rng.random()
        return {"x": x, "below": float(x < 0.2), "never": 0.0}

    result = dfu.simulate("three-gaussians", quantities, 60, rng=0)
    found = result.confint(0.1)
    frame = result.describe()
    reach = stats.norm.ppf(0.95) * frame["std_err"][0]
    np.testing.assert_allclose(found[0], frame["mean"][0] + np.array([-reach, reach]))
    hits = int(result.column("below").sum())
    exact = stats.binomtest(hits, 60).proportion_ci(0.9, method="exact")
    np.testing.assert_allclose(found[1], [exact.low, exact.high])
    np.testing.assert_allclose(found[2], [0.0, 1.0 - 0.05 ** (1 / 60)])
    one = dfu.simulate("three-gaussians", quantities, 1, rng=0)
    assert np.isnan(one.confint()[0]).all()


@pytest.mark.parametrize("alpha", [0.0, 1.0, "5%"])
def test_levels_are_checked(alpha):
    fits = (
        dfu.decision_calibration(LOGITS, LABELS, LABELS),
        dfu.simulate("three-gaussians", lambda scenario, rng: {"x": 1.0}, 2, rng=0),
    )
    for fit in fits:
        with pytest.raises(dfu.InputError, match="'alpha'"):
            fit.confint(alpha)
