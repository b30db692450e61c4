"""Every bound works, or says which argument is wrong: nothing else happens."""

import inspect
import math
import pickle

import numpy as np
import pytest

from distfreeuq import InputError, bounds
from distfreeuq.bounds import parameters, unchecked

TERMS = bounds.covariate_shift_terms([0.75, 0.25], [0.3, 0.7], [2, 0], [0.7, 0.3])
BINS = {"n": [0, 10, 7.5], "n_bins": 10, "n_classes": 3, "alpha": 0.1}
REGION = {
    "frequencies": [[0.5, 0.3, 0.2]],
    "label_weight": [1.0, 2.0, 0.5],
    "low": [0.9, 1.8, 0.4],
    "high": [1.1, 2.2, math.inf],
}
CTS = {
    "n": 100,
    "n_classes": 10,
    "delta": 0.05,
    "alpha_bounds": (0.1, 3.0),
    "lipschitz": 2.0,
    "loss_bound": 1.0,
}

# A right call of every bound; each of its arguments is then made wrong.
CALLS = {
    "beta_coverage_quantile": {"n": 500, "rank": 451, "delta": 0.05},
    "pac_rank": {"n": 100, "alpha": 0.1, "delta": 0.05},
    "pac_smallest_sample": {"alpha": 0.1, "delta": 0.05},
    "clopper_pearson": {"k": [0, 3], "n": 10, "delta": 0.05},
    "clopper_pearson_lower": {"k": [0, 3], "n": 10, "delta": 0.05},
    "binning_hoeffding": BINS,
    "binning_weissman": BINS,
    "binning_mcdiarmid": BINS,
    "binning_smallest": BINS,
    "subset_clopper_pearson": {"counts": [[95, 3, 2]], "n_bins": 2, "alpha": 0.1},
    "empirical_bernstein": {"values": [0.1, 0.2], "delta": 0.05, "width": 1.0},
    "betting_interval": {
        "values": [0.1, 0.2],
        "delta": 0.05,
        "low": 0.0,
        "high": 1.0,
        "side": "both",
    },
    "weighted_betting_interval": {
        "values": [0.1, 0.2],
        "weights": [1.0, 2.0],
        "delta": 0.05,
        "weight_bound": 2.0,
        "low": 0.0,
        "high": 1.0,
        "side": "both",
    },
    "weighted_hoeffding": {**BINS, "mean_weight": 1.0, "weight_bound": 2.0},
    "weighted_chernoff": {
        "n": [400],
        "frequency": [0.98],
        "mean_weight": [1.0],
        "weight_bound": 2.0,
        "delta": 0.05,
    },
    "weighted_bernstein": {
        "n": [1000],
        "sums": ([20.0], [1000.0]),
        "squares": ([20.0], [1000.0]),
        "weight_bound": 1.0,
        "delta": 0.05,
    },
    "condition_number": {"label_weight": [2.0, 0.0]},
    "theorem4_printed": {
        "radius": 0.05,
        "label_weight": [1.0, 2.0],
        "weight_error": 0.2,
    },
    "label_shift_source_radius": {
        "radius": [0.1, math.inf],
        "largest_weight": 2.0,
        "smallest_mass": [0.2, 0.0],
    },
    "label_shift_weight_radius": REGION,
    "label_shift_tilt_radius": REGION,
    "binary_label_shift": {"p": [0.0, 0.5, 1.0], "weight_ratio": math.inf},
    "interval_elimination": {
        "lower": [[0.4, 0.1], [0.1, 0.4]],
        "upper": [[0.42, 0.11], [0.11, 0.42]],
        "mu_low": [0.6, 0.38],
        "mu_high": [0.62, 0.4],
    },
    "stratified_chernoff": {"mean": 0.1, "largest_weight": 0.001, "delta": 0.05},
    "renyi_divergence": {"target": [0.8, 0.2], "source": [0.5, 0.5], "order": 2},
    "renyi_from_weights": {"weights": [3.0, 1.0, 0.0], "order": math.inf},
    "importance_variance": {
        "divergence": 1.44,
        "risk": 0.25,
        "exponent": 2.0,
        "loss_bound": 1.0,
    },
    "importance_variance_printed": {
        "divergence": 1.44,
        "weighted_risk": 0.25,
        "exponent": 2.0,
    },
    "covariate_shift_terms": {
        "p": [0.75, 0.25],
        "q": [0.3, 0.7],
        "loss": [2, 0],
        "source_probability": [0.7, 0.3],
        "t": 0.5,
    },
    "covariate_shift_factor": {"upper": 4.0, "t": 0.5, "form": "sharp"},
    "covariate_shift_bound": {
        "weighted_error": 1.0,
        "discriminator_error": 0.2,
        "best_discriminator_error": 0.1,
        "upper": 2.8,
        "t": 0.5,
        "form": "simple",
    },
    "covariate_shift_bound_printed": {"terms": TERMS},
    "half_brier_constants": {"logit_range": 27.0},
    "nll_constants": {"logit_range": 5.0, "n_classes": 10, "alpha_max": 2.0},
    "clipped_nll_constants": {"logit_range": 5.0, "floor": 0.01},
    "cts_excess_risk": {**CTS, "gamma": 0.5},
    "cts_excess_risk_tight": {**CTS, "gamma": 0.5},
    "cts_class_excess_risk": CTS,
    "cts_corollary": {**CTS, "smallest_class": 0.1},
    "label_noise_confidence": {"p_plus": 0.3, "p_minus": 0.1, "p_test": 0.05},
    "sample_size_effect": {"n": 100, "multiple": 50.0, "radius": 60.0},
}
NEVER_RIGHT = (
    None,
    "a",
    1j,
    True,
    object(),
    {1: 2},
    [[1, 2], [3], []],
    ["a"],
    np.datetime64("2020"),
    np.array([-math.inf]),
    10**400,
)
PARAMETERS = [(name, each) for name, call in CALLS.items() for each in call]


def test_every_public_bound_is_here_and_is_checked():
    public = {name for name in bounds.__all__ if name[0].islower()}
    assert public == set(CALLS)
    for name in public:
        function = getattr(bounds, name)
        assert function.__wrapped__ is getattr(unchecked, name)
        assert set(CALLS[name]) == set(inspect.signature(function).parameters)
        assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize("name", CALLS)
def test_a_right_call_gives_what_the_formula_does(name):
    got = getattr(bounds, name)(**CALLS[name])
    np.testing.assert_equal(got, getattr(unchecked, name)(**CALLS[name]))


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_what_is_never_right_is_named(name, parameter):
    message = f"The '{parameter}' parameter of {name} must"
    for wrong in NEVER_RIGHT:
        with pytest.raises(InputError, match=message):
            getattr(bounds, name)(**{**CALLS[name], parameter: wrong})


@pytest.mark.parametrize(
    ("name", "wrong", "parameter"),
    [
        ("pac_rank", {"n": 0.95}, "n"),
        ("pac_rank", {"alpha": math.nan}, "alpha"),
        ("pac_rank", {"delta": 1.0}, "delta"),
        ("pac_smallest_sample", {"alpha": 0.0}, "alpha"),
        ("clopper_pearson", {"k": [7], "n": [5]}, "k"),
        ("clopper_pearson", {"k": [0.5]}, "k"),
        ("clopper_pearson", {"k": [1, 2, 3], "n": [5, 5]}, "n"),
        ("beta_coverage_quantile", {"rank": 502}, "rank"),
        ("binning_hoeffding", {"alpha": 5.0}, "alpha"),
        ("binning_weissman", {"n_classes": 1}, "n_classes"),
        ("binning_weissman", {"n": [-1.0]}, "n"),
        ("subset_clopper_pearson", {"counts": [1, 2, 3]}, "counts"),
        ("subset_clopper_pearson", {"counts": [[2**52] * 3]}, "counts"),
        ("empirical_bernstein", {"values": [0.0, 2.0]}, "values"),
        ("betting_interval", {"values": [0.1, 1.2]}, "values"),
        ("betting_interval", {"low": 1.0}, "high"),
        ("weighted_betting_interval", {"weights": [1.0]}, "weights"),
        ("weighted_betting_interval", {"weights": [1.0, 3.0]}, "weights"),
        ("weighted_chernoff", {"mean_weight": 3.0}, "mean_weight"),
        ("weighted_bernstein", {"sums": ([2.0], [1.0])}, "sums"),
        ("weighted_bernstein", {"squares": ([2.0],)}, "squares"),
        ("weighted_bernstein", {"sums": ([1.0, 1.0], [2.0, 2.0, 3.0])}, "sums"),
        ("condition_number", {"label_weight": [0.0, 0.0]}, "label_weight"),
        ("condition_number", {"label_weight": []}, "label_weight"),
        ("label_shift_weight_radius", {"low": [1.0, 2.0]}, "low"),
        ("label_shift_tilt_radius", {"high": [0.1, 2.2, 1.0]}, "high"),
        ("label_shift_tilt_radius", {"frequencies": [[0.5, 0.5]]}, "frequencies"),
        ("interval_elimination", {"upper": [[0.4, 0.1], [0.1, 0.3]]}, "upper"),
        ("interval_elimination", {"lower": [[0.4, 0.1]]}, "lower"),
        ("interval_elimination", {"lower": [0.4, 0.1]}, "lower"),
        ("interval_elimination", {"mu_low": [0.4]}, "mu_low"),
        ("interval_elimination", {"mu_high": [0.4, 0.39]}, "mu_high"),
        ("stratified_chernoff", {"largest_weight": 0.0}, "largest_weight"),
        ("renyi_divergence", {"source": [0.2, 0.3, 0.5]}, "source"),
        ("renyi_divergence", {"target": [0.2, 0.3]}, "target"),
        ("renyi_divergence", {"order": 0.5}, "order"),
        ("importance_variance", {"risk": 2.0}, "risk"),
        ("covariate_shift_factor", {"form": "best"}, "form"),
        ("covariate_shift_factor", {"form": "printed", "t": 1.0}, "t"),
        ("cts_excess_risk", {"alpha_bounds": (3.0, 0.1)}, "alpha_bounds"),
        ("cts_excess_risk", {"loss_bound": 0.0}, "loss_bound"),
        ("label_noise_confidence", {"p_test": 0.5}, "p_test"),
        ("sample_size_effect", {"n": 0}, "n"),
    ],
)
def test_what_one_bound_cannot_take_is_named(name, wrong, parameter):
    with pytest.raises(InputError, match=f"The '{parameter}' parameter of {name} must"):
        getattr(bounds, name)(**{**CALLS[name], **wrong})


def test_the_first_wrong_entry_is_said():
    with pytest.raises(InputError, match=r"at most n[.] Got 7 at row 1"):
        bounds.clopper_pearson([1, 7, 9], 5, 0.1)


def test_a_formula_whose_parameter_nobody_reads_has_no_entrance():
    with pytest.raises(TypeError, match="one reader for each parameter"):
        parameters.checked(unchecked.pac_rank, n=parameters.Count(0))


@pytest.mark.parametrize("alpha", [5e-324, 1e-300, 1e-100, 1.0 - 2**-53])
@pytest.mark.parametrize("delta", [5e-324, 1e-300, 0.05, 1.0 - 2**-53])
def test_ranks_and_sample_sizes_at_extreme_levels(alpha, delta):
    enough = bounds.pac_smallest_sample(alpha, delta)
    assert 1 <= bounds.pac_rank(enough, max(alpha, 1e-300), delta) <= enough


@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1e-200, 1e-100])
def test_intervals_at_extreme_levels_are_intervals(delta):
    low, high = bounds.clopper_pearson([0, 1, 2, 3000], [10, 10, 10, 5000], delta)
    assert (low >= 0.0).all() and (high <= 1.0).all() and (low < high).all()
    assert 0.0 <= bounds.beta_coverage_quantile(5000, 101, delta) < 0.1


def test_bins_at_extreme_levels():
    assert bounds.binning_weissman(100, 1000, 2, 5e-324) == pytest.approx(
        math.sqrt(2.0 * (math.log(2000) - math.log(5e-324)) / 100)
    )
    counts = [[50, 3, 2]]
    radius = bounds.subset_clopper_pearson(counts, 1000, 5e-324)
    assert radius == bounds.binning_weissman(55, 1000, 3, 5e-324)


def test_huge_counts_do_not_list_the_counts_of_subsets():
    counts = np.full((1, 8), 2**40)
    radius = bounds.subset_clopper_pearson(counts, 10, 0.1)
    assert radius == bounds.binning_weissman(2**43, 10, 8, 0.1)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e307])
def test_bounds_on_the_scale_of_the_largest_numbers(scale):
    values = scale * np.array([0.1, 0.2, 0.9])
    got = bounds.empirical_bernstein(values, 0.05, scale)
    assert got / scale == pytest.approx(
        bounds.empirical_bernstein([0.1, 0.2, 0.9], 0.05), rel=1e-12
    )
    weights = scale * np.array([3.0, 1.0, 0.0, 0.0])
    assert bounds.renyi_from_weights(weights, 2) == pytest.approx(2.5)
    assert bounds.condition_number([1e300, 1e-300]) == math.inf
    assert bounds.covariate_shift_factor(1e308, form="printed") == math.inf
    assert bounds.importance_variance(2.0, 0.25 * scale, loss_bound=scale) >= 0.0


def test_renyi_divergence_near_order_one_keeps_its_digits():
    q, p = [0.8, 0.2], [0.5, 0.5]
    at_one = bounds.renyi_divergence(q, p, 1.0)
    for order in (1 + 1e-15, 1 + 1e-12, 1 + 1e-9):
        assert bounds.renyi_divergence(q, p, order) == pytest.approx(at_one, rel=1e-8)
    expected = (0.8**1.001 / 0.5**0.001 + 0.2**1.001 / 0.5**0.001) ** 1000
    assert bounds.renyi_divergence(q, p, 1.001) == pytest.approx(expected, rel=1e-10)


def test_renyi_divergence_of_ratios_beyond_all_doubles():
    # q^2 / p = 1 / 5e-324 is infinite, its logarithm is not
    assert bounds.renyi_divergence([0.5, 0.5], [5e-324, 1.0], 1.0) == pytest.approx(
        math.exp(math.log(0.5) - 0.5 * math.log(5e-324))
    )
