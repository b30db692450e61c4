"""Numbers at the ends of float64: an answer without NaN, or an error with a name.

NumPy's warnings are errors here as everywhere in the tests.
"""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq.exceptions import DistFreeWarning

TINY = (5e-324, 1e-310, 1e-300, 1e-160)
LEVELS = (5e-324, 1e-300, 1e-17, 0.1, 0.5, float(np.nextafter(1.0, 0.0)))
SCALES = (1e-300, 1e-160, 1e-30, 1.0, 1e4, 1e29, 1e160, 1e307)

seeds = st.integers(0, 2**32 - 1)
extreme = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


class Draw:
    """Rows of every awkward kind from one seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.n = int(self.rng.choice([1, 2, 3, 5, 12, 30]))
        self.n_classes = int(self.rng.choice([2, 3, 5]))

    def one_of(self, values):
        return values[self.rng.integers(len(values))]

    def probs(self, n=None):
        n = self.n if n is None else n
        certain = np.eye(self.n_classes)[self.rng.integers(0, self.n_classes, n)]
        spread = self.rng.dirichlet(np.full(self.n_classes, 0.3), n)
        nearly = np.maximum(certain, self.one_of(TINY))
        return (certain, spread, nearly)[self.rng.integers(3)]

    def logits(self):
        shape = (self.n, self.n_classes)
        return np.clip(self.rng.normal(size=shape), -5, 5) * self.one_of(SCALES)

    def labels(self, n=None):
        n = self.n if n is None else n
        labels = self.rng.integers(0, self.n_classes, n)
        return labels * 0 if self.rng.random() < 0.2 else labels

    def weights(self, n):
        exponents = self.one_of(
            ((-300, 300), (-320, -300), (150, 307), (-1, 1), (0, 0))
        )
        weights = 10.0 ** self.rng.uniform(*exponents, n)
        return (
            weights * (self.rng.random(n) < 0.5) if self.rng.random() < 0.2 else weights
        )

    def options(self, **possible):
        return {k: make() for k, make in possible.items() if self.rng.random() < 0.4}


def works_or_names_a_parameter(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DistFreeWarning)
        try:
            answer = call()
        except dfu.InputError as error:
            assert str(error).startswith("The '"), error
            return
    assert not np.isnan(np.asarray(answer, dtype=float)).any()


CALIBRATORS = (
    dfu.temperature_scaling,
    dfu.classwise_temperature_scaling,
    dfu.vector_scaling,
    dfu.platt_scaling,
    dfu.isotonic_calibration,
)


@pytest.mark.parametrize("calibrator", CALIBRATORS)
@given(seed=seeds)
@extreme
def test_calibrators(calibrator, seed):
    draw = Draw(seed)
    rows = draw.probs() if calibrator is dfu.isotonic_calibration else draw.logits()
    options = draw.options(sample_weight=lambda: draw.weights(draw.n))
    if calibrator in CALIBRATORS[:2]:
        options |= draw.options(
            logit_range=lambda: draw.one_of((np.inf, 1e308, 1e30)),
            loss=lambda: draw.one_of(("nll", "brier")),
            delta=lambda: draw.one_of(LEVELS),
        )

    def call():
        fit = calibrator(rows, draw.labels(), **options)
        assert str(fit)
        loss = getattr(fit, "loss_after", 0.0)
        return [*fit.predict(rows).ravel(), loss]

    works_or_names_a_parameter(call)


@pytest.mark.slow
@pytest.mark.parametrize("estimate", [dfu.bbse, dfu.rlls, dfu.mlls])
@given(seed=seeds)
@extreme
def test_label_shift(estimate, seed):
    draw = Draw(seed)
    options = {}
    if estimate is not dfu.mlls:
        options |= draw.options(soft=lambda: True)
    if estimate is dfu.rlls:
        options |= draw.options(
            regularization=lambda: draw.one_of((0.0, 1e-300, 0.1, 1e300))
        )
    target, alpha = draw.probs(8), draw.one_of(LEVELS)
    methods = (
        lambda fit: fit.adapt(target),
        lambda fit: fit.confint(alpha),
        lambda fit: fit.confint(alpha, "anderson-rubin"),
        lambda fit: fit.region(alpha).delta,
        lambda fit: fit.test(n_draws=19, rng=0).p_value,
    )

    def call():
        fit = estimate(draw.probs(), draw.labels(), target, **options)
        assert str(fit)
        return draw.one_of(methods)(fit)

    works_or_names_a_parameter(call)


@given(seed=seeds)
@extreme
def test_adapted_rows_of_subnormal_mass(seed):
    draw = Draw(seed)
    priors = draw.rng.dirichlet(np.full(draw.n_classes, 0.01), 2)
    priors[0, 0], priors[0] = 0.0, priors[0] / max(priors[0, 1:].sum(), 1e-300)
    priors[0, 0] = 0.0

    def call():
        return dfu.label_weights(*priors).adapt(draw.probs())

    works_or_names_a_parameter(call)


def test_a_row_whose_weighted_mass_has_no_inverse():
    # w = (1e-7, 7, inf) by these priors: the last class's 5e-324 is all that counts
    known = dfu.label_weights([1 - 1e-9, 1e-9, 0.0], [1e-7, 1e-8, 1 - 1.1e-7])
    adapted = known.adapt([[5e-324, 1.0, 5e-324]])
    np.testing.assert_array_equal(adapted, [[0.0, 0.0, 1.0]])


@given(seed=seeds)
@extreme
def test_prediction_sets(seed):
    draw = Draw(seed)
    alpha, n, k = draw.one_of(LEVELS), draw.n, draw.n_classes

    def by_label():
        return dfu.label_shift_conformal(
            draw.probs(), draw.labels(), draw.weights(k), alpha=alpha, rng=0
        ), ()

    def by_row():
        return dfu.covariate_shift_conformal(
            draw.probs(), draw.labels(), draw.weights(n), alpha=alpha, rng=0
        ), (draw.weights(4),)

    def call():
        fit, more = draw.one_of((by_label, by_row))()
        assert str(fit)
        return fit.predict(draw.probs(4), *more).sizes

    works_or_names_a_parameter(call)


@given(seed=seeds)
@extreme
def test_bins(seed):
    draw = Draw(seed)
    options = draw.options(
        alpha=lambda: draw.one_of(LEVELS),
        n_bins=lambda: draw.one_of((1, 2, 10, 1000)),
        mode=lambda: draw.one_of(("canonical", "classwise", "top-label")),
        sample_weight=lambda: draw.weights(draw.n),
        weight_bound=lambda: draw.one_of((1.0, 1e160, 1e308)),
    )

    def call():
        fit = dfu.histogram_binning(draw.probs(), draw.labels(), rng=0, **options)
        assert str(fit)
        if "sample_weight" not in options:
            assert str(fit.under_label_shift(draw.weights(draw.n_classes)))
        return fit.predict(draw.probs(3))

    works_or_names_a_parameter(call)


@given(seed=seeds)
@extreme
def test_density_ratios(seed):
    draw = Draw(seed)
    scale = draw.one_of(SCALES)
    source = draw.rng.normal(size=(draw.n + 1, 2)) * scale
    target = draw.rng.normal(size=(draw.n + 1, 2)) * scale
    method = draw.one_of(("logistic", "ulsif", "rulsif", "kliep"))
    options = draw.options(
        ridge=lambda: draw.one_of((1e-300, 1e-12, 1.0, 1e12, 1e300)),
        bandwidth=lambda: draw.one_of((5e-324, 1e-300, 1e-12, 1.0, 1e12, 1e300)),
    )
    if method == "logistic":
        options.pop("bandwidth", None)
    if method == "kliep":
        options.pop("ridge", None)

    def call():
        fit = dfu.density_ratio(source, target, method=method, rng=0, **options)
        assert str(fit)
        return fit.weight(target)

    works_or_names_a_parameter(call)


def test_warning_of_weights_that_differ_by_more_than_all_doubles():
    probs = np.full((5, 3), 1 / 3)
    with pytest.warns(DistFreeWarning, match=r"too few calibration rows") as caught:
        dfu.label_shift_conformal(probs, [0] * 5, [1e-300, 1e300, 1.0], rng=0)
    assert "would be enough" not in str(caught[0].message)


@pytest.mark.parametrize("weight", [1e101, 1e-101])
def test_weights_whose_squares_are_no_numbers_are_refused(weight):
    probs, labels = np.full((4, 2), 0.5), [0, 1, 0, 1]
    with pytest.raises(dfu.InputError, match=r"'sample_weight' .* 1e-100 to 1e100"):
        dfu.histogram_binning(probs, labels, sample_weight=[weight] * 4)
    # elsewhere the scale of weights does not matter
    even = dfu.metrics.ece(probs, labels)
    assert dfu.metrics.ece(probs, labels, sample_weight=[weight] * 4) == even
