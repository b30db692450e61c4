"""Excess risk of temperatures, and the two examples of Zhao, Chen and Oymak (2020)."""

import math

import numpy as np
import pytest
from scipy import stats

from distfreeuq import bounds


def paper_bound(n, n_classes, delta, low, high, gamma, norm, lipschitz):
    return bounds.cts_excess_risk(
        n,
        n_classes,
        delta,
        alpha_bounds=(low, high),
        gamma=gamma,
        lipschitz=norm * lipschitz,
    )


def test_paper_bound_in_both_regimes(golden):
    case = golden("bounds", "cts-paper")
    values = [
        paper_bound(n, k, delta, low, high, gamma, norm, lipschitz)
        for n, k, delta, low, high, gamma, norm, lipschitz in case["inputs"]["rows"]
    ]
    np.testing.assert_allclose(values, case["expected"]["bound"], rtol=1e-9)


def test_paper_bound_on_either_side_of_its_switch(golden):
    case = golden("bounds", "cts-paper-switch")
    i = case["inputs"]
    fixed = i["n"], i["K"], i["delta"], i["alpha_lo"], i["alpha_hi"]
    at = paper_bound(*fixed, i["Gamma"], i["Lf"], i["Lc"])
    above = paper_bound(*fixed, i["Gamma"] * (1 + 1e-9), i["Lf"], i["Lc"])
    assert at == pytest.approx(case["expected"]["at"], rel=1e-9)
    assert above == pytest.approx(case["expected"]["just_above"], rel=1e-6)


SETTINGS = {"alpha_bounds": (0.1, 3.0), "gamma": 0.5}


def test_the_tighter_bound_is_about_six_times_smaller():
    paper = bounds.cts_excess_risk(5000, 100, 0.05, lipschitz=20 * 2**0.5, **SETTINGS)
    tight = bounds.cts_excess_risk_tight(
        5000, 100, 0.05, lipschitz=10 * 2**0.5, **SETTINGS
    )
    assert paper == pytest.approx(1.9226, abs=1e-4)
    assert tight == pytest.approx(0.30, abs=0.005)


def test_the_tighter_bound_is_the_smallest_over_covers_and_splits():
    """A direct search over covers and splits of delta finds nothing smaller."""
    n, n_classes, delta, slope = 400, 3, 0.1, 2.0
    width, gamma = 2.9, 0.5
    n0 = np.unique(np.geomspace(1, 1e5, 500).astype(int))[:, None]
    n1 = n0.T
    best = math.inf
    for share in np.linspace(0.5, 0.99, 30):
        for log_size, distance in [
            (np.log(n0) + n_classes * np.log(n1), width / (2 * n0) + gamma / n1),
            (n_classes * np.log(n0), (width + 2 * gamma) / (2 * n0)),
        ]:
            cover = np.sqrt((log_size - math.log(delta * (1 - share))) / (2 * n))
            tail = math.sqrt(-math.log(delta * share) / (2 * n))
            best = min(best, float((2 * slope * distance + cover).min()) + tail)
    tight = float(
        bounds.cts_excess_risk_tight(n, n_classes, delta, lipschitz=slope, **SETTINGS)
    )
    assert best * 0.999 <= tight <= best * 1.005


def test_with_flat_losses_the_complexity_bound_takes_over():
    """Nothing to cover: Rademacher complexity and two tails remain."""
    slope, n = 1e-4, 10_000
    tight = float(bounds.cts_excess_risk_tight(n, 2, 0.05, lipschitz=slope, **SETTINGS))
    tails = min(
        math.sqrt(math.log(1 / (0.05 * (1 - s))) / (2 * n))
        + math.sqrt(math.log(1 / (0.05 * s)) / (2 * n))
        for s in np.linspace(0.3, 0.99, 500)
    )
    radius = 2 * slope * min(1.45 + 0.5 * math.sqrt(2), 1.95 * math.sqrt(2))
    assert tails < tight <= (radius / math.sqrt(n) + tails) * 1.001


def test_bounds_scale_with_the_loss():
    for bound in (bounds.cts_excess_risk, bounds.cts_excess_risk_tight):
        one = bound(500, 4, 0.05, lipschitz=3.0, **SETTINGS)
        ten = bound(500, 4, 0.05, lipschitz=30.0, loss_bound=10.0, **SETTINGS)
        assert ten == pytest.approx(10 * one)


def test_gamma_beyond_half_the_width_is_no_constraint():
    for bound in (bounds.cts_excess_risk, bounds.cts_excess_risk_tight):
        fixed = {"alpha_bounds": (0.1, 3.0), "lipschitz": 3.0}
        assert bound(500, 4, 0.05, gamma=1.45, **fixed) == bound(
            500, 4, 0.05, gamma=math.inf, **fixed
        )


def test_no_rows_no_bound():
    for bound in (bounds.cts_excess_risk, bounds.cts_excess_risk_tight):
        assert bound([0, 9], 2, 0.05, lipschitz=1.0, **SETTINGS)[0] == math.inf


def test_class_bound_is_the_theorem_with_one_temperature_and_a_share_of_delta():
    by_class = bounds.cts_class_excess_risk(
        [50, 200], 10, 0.05, alpha_bounds=(0.1, 3.0), lipschitz=2.0
    )
    alone = bounds.cts_excess_risk(
        200, 1, 0.005, alpha_bounds=(0.1, 3.0), gamma=0.0, lipschitz=2.0
    )
    assert by_class[1] == alone
    assert by_class[0] > by_class[1]


def test_corollary_as_printed():
    bound, failure = bounds.cts_corollary(
        10_000, 5, 0.002, smallest_class=0.1, alpha_bounds=(0.5, 2.0), lipschitz=4.0
    )
    cover = math.log(1 + 4 * 1.5 * 100 * 4.0)
    expected = 6 * math.sqrt(cover / 1000) + 12 * math.sqrt(math.log(1000) / 1000)
    assert bound == pytest.approx(expected)
    assert failure == pytest.approx(5 * (0.002 + math.exp(-125)))


# ------------------------------------------------------------------ constants of losses


def losses(alpha, z, y):
    p = np.exp(alpha * (z - z.max()))
    p /= p.sum()
    return 0.5 * ((p - np.eye(z.size)[y]) ** 2).sum(), -np.log(p[y])


def test_loss_constants_hold_for_random_rows():
    rng = np.random.default_rng(0)
    step = 1e-6
    for _ in range(3000):
        n_classes = int(rng.integers(2, 6))
        z = rng.standard_normal(n_classes) * 10 ** rng.uniform(-1, 1)
        alpha, y = rng.uniform(0.05, 2.0), int(rng.integers(n_classes))
        spread = float(np.ptp(z))
        up, down = losses(alpha + step, z, y), losses(alpha - step, z, y)
        brier_slope, nll_slope = (np.array(up) - down) / (2 * step)
        assert abs(brier_slope) <= bounds.half_brier_constants(spread).lipschitz + 1e-6
        constants = bounds.nll_constants(spread, n_classes, 2.0)
        assert abs(nll_slope) <= constants.lipschitz * (1 + 1e-6) + 1e-6
        assert losses(alpha, z, y)[1] <= constants.loss_bound + 1e-12


def test_the_brier_constant_is_attained():
    """Logits (0, r), p = (1/3, 2/3), the unlikely label: slope 8/27 r by hand."""
    z, alpha, step = np.array([0.0, 1.0]), math.log(2.0), 1e-6
    slope = (losses(alpha + step, z, 0)[0] - losses(alpha - step, z, 0)[0]) / (2 * step)
    assert slope == pytest.approx(8 / 27, abs=1e-9)


def test_the_nll_bound_is_attained():
    z, alpha = np.array([0.0, 5.0, 5.0]), 2.0
    constants = bounds.nll_constants(5.0, 3, alpha)
    assert losses(alpha, z, 0)[1] == pytest.approx(constants.loss_bound, rel=1e-12)


def test_clipped_nll():
    assert bounds.clipped_nll_constants(3.0, 0.1) == (math.log(10), 3.0)


# ------------------------------------ Zhao, Chen and Oymak (2020), section 3


def test_label_noise_classifier_reproduces_its_confidences():
    fit = bounds.label_noise_confidence(0.3, 0.1, 0.05)
    at_plus = 1 / (1 + math.exp(-(fit.slope + fit.intercept)))
    at_minus = 1 / (1 + math.exp(-(fit.slope - fit.intercept)))
    assert at_plus == pytest.approx(0.7)
    assert at_minus == pytest.approx(0.9)
    assert fit.accuracy == 0.95


def test_no_label_noise_is_a_limit():
    assert bounds.label_noise_confidence(0.0, 0.1, 0.0).slope == math.inf


def test_sample_size_effect_by_enumeration():
    """n = 4: counts of (v', v, -v) by the multinomial law."""
    n, multiple = 4, 3
    effect = bounds.sample_size_effect(n, multiple=multiple, radius=60.0)
    shares = [1 / 80, 1 / 2, 1 / 2 - 1 / 80]
    small = large = 0.0
    for rows, is_small in ((n, True), (n * multiple, False)):
        for rare in range(rows + 1):
            for v in range(rows + 1 - rare):
                counts = [rare, v, rows - rare - v]
                p = stats.multinomial.pmf(counts, rows, shares)
                if is_small:
                    small += p * (rare == 0 and min(counts[1:]) >= rows / 3)
                else:
                    large += p * (min(counts) > 0)
    assert effect.probability_small == pytest.approx(small)
    assert effect.probability_large == pytest.approx(large)
    assert effect.accuracy_small == 1 - 1 / 80


def test_sample_size_effect_needs_the_corrected_sample_sizes():
    def large(multiple):
        return bounds.sample_size_effect(
            500, multiple=multiple, radius=60.0
        ).probability_large

    assert large(30) == pytest.approx(1 - math.exp(-1.5), abs=1e-3)
    assert large(46) < 0.9 < large(47)
    assert bounds.sample_size_effect(35, radius=60.0).probability_small >= 0.9
    assert bounds.sample_size_effect(34, radius=60.0).probability_small < 0.9


def test_confidence_grows_with_the_radius():
    low, high = (
        bounds.sample_size_effect(100, radius=radius).confidence for radius in (30, 60)
    )
    assert low < high
    # R >= 6 ln(50 n + 1/eps) is enough for 1 - eps
    eps = 1e-3
    radius = 6 * math.log(50 * 100 + 1 / eps)
    assert bounds.sample_size_effect(100, radius=radius).confidence >= 1 - eps
