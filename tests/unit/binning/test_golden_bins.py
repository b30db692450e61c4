"""Golden cases of bins, frequencies, radii and reweighting."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import bounds
from distfreeuq._kernels import _bins
from distfreeuq._numerics.unit_bins import equal_width
from distfreeuq.binning.label_shift_bins import reweighted
from distfreeuq.binning.uniform_mass import own_mass
from tests.conftest import read_golden


def close_to(expected, rel=1e-9):
    """Match relatively, absolutely to 1e-12, infinities exactly, null as NaN."""
    values = [[np.nan] if x is None else x for x in expected]
    if any(x is None for x in expected):
        width = max(len(x) for x in values)
        values = [x * width if len(x) == 1 else x for x in values]
    return pytest.approx(
        np.array(values, dtype=np.float64), rel=rel, abs=1e-12, nan_ok=True
    )


@pytest.mark.golden("binning", "bin_index")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bin_index(case, dtype):
    points = np.array(case["inputs"]["points"], dtype=dtype)
    bins = equal_width(case["inputs"]["M"])
    assert bins.assign(points).tolist() == case["expected"]["right"]
    left = np.empty(points.size, dtype=np.int64)
    _bins._assign_bins(points, bins.edges_as(points.dtype), False, left, 1)
    assert left.tolist() == case["expected"]["left"]


@pytest.mark.golden("binning", "uniform_mass_bins")
def test_uniform_mass(case):
    scores = np.array(case["inputs"]["scores"])
    own = own_mass(scores, case["inputs"]["M"])
    expected = case["expected"]
    assert own.intervals.edges.tolist() == expected["edges"]
    bins = own.assign(scores)
    assert sorted(np.flatnonzero(bins == -1)) == sorted(expected["boundary"])
    for m, members in enumerate(expected["interior"]):
        assert sorted(np.flatnonzero(bins == m)) == sorted(members)
    fit = dfu.histogram_binning(scores, np.zeros(23, dtype=int), n_bins=5)
    assert fit.bin_counts.tolist() == [len(m) for m in expected["interior"]]
    assert fit.n_boundary == len(expected["boundary"])


@pytest.mark.golden("binning", "bin_frequencies")
def test_frequencies(case):
    inputs, expected = case["inputs"], case["expected"]
    which = np.array(inputs["bins"])
    fit = dfu.histogram_binning(
        np.eye(inputs["K"])[which % inputs["K"]],
        inputs["labels"],
        n_bins=inputs["M"],
        scheme=lambda probs: which,
    )
    assert fit.counts.tolist() == expected["counts"]
    assert fit.bin_counts.tolist() == expected["N"]
    assert fit.frequencies == close_to(expected["freq"])


@pytest.mark.golden("binning", "eps_m")
def test_radii(case):
    settings = [
        (n, int(m), int(k), a) for n, m, k, a in np.array(case["inputs"]["rows"])
    ]
    functions = (
        bounds.binning_hoeffding,
        bounds.binning_weissman,
        bounds.binning_mcdiarmid,
        bounds.binning_smallest,
    )
    got = np.array([[float(f(*row)) for f in functions] for row in settings])
    assert got == close_to(case["expected"]["rows"])


@pytest.mark.golden("binning", "clopper_pearson")
def test_clopper_pearson(case):
    k, n = np.array(case["inputs"]["k_n"]).T
    got = np.column_stack(bounds.clopper_pearson(k, n, case["inputs"]["delta"]))
    assert got == close_to(case["expected"]["intervals"], rel=case["tol"])
    lower = bounds.clopper_pearson_lower(k, n, case["inputs"]["delta"] / 2)
    assert lower == pytest.approx(got[:, 0], rel=1e-7)


@pytest.mark.golden("binning", "empirical_bernstein")
def test_empirical_bernstein(case):
    values, delta = case["inputs"]["values"], case["inputs"]["delta"]
    radius = bounds.empirical_bernstein(values, delta)
    assert radius == pytest.approx(case["expected"]["radius"], rel=1e-9)
    single = bounds.empirical_bernstein(values[:1], delta)
    assert single == case["expected"]["radius_single_value"]


@pytest.mark.golden("binning", "reweighted_frequencies")
def test_reweighting(case):
    table = np.array(
        [row or [np.nan] * 3 for row in case["inputs"]["freq"]], dtype=np.float64
    )
    got = reweighted(table, np.array(case["inputs"]["w"], dtype=np.float64))
    assert got == close_to(case["expected"]["freq"])


def test_counterexample_to_theorem_4(golden):
    """The printed bound says 0.2 where the error is 1; the repaired one says 1."""
    case = golden("binning", "theorem4-counterexample")
    w, pi, frequencies = (np.array(case["inputs"][k]) for k in ("w", "pi", "freq_hat"))
    expected = case["expected"]
    source = np.abs(frequencies - pi).sum()
    target = np.abs(reweighted(frequencies, w) - reweighted(pi, w)).sum()
    assert source == pytest.approx(expected["l1_source"])
    assert target == pytest.approx(expected["l1_target"])
    printed = 2 * bounds.condition_number(w) * source
    assert printed == pytest.approx(expected["printed_bound"]) and printed < target
    repaired = bounds.label_shift_source_radius(source, w.max(), frequencies @ w)
    assert repaired == pytest.approx(expected["repaired_bound"])
    with pytest.raises(dfu.InputError, match="false when a weight is zero"):
        bounds.theorem4_printed(source, w)


def test_theorem_4_with_positive_weights(golden):
    case = golden("binning", "theorem4-positive-weights")
    inputs, expected = case["inputs"], case["expected"]
    eps, eta = inputs["eps"], inputs["eta"]
    frequencies, w, low, high = (
        np.array(inputs[k]) for k in ("freq_hat", "w_hat", "lo", "hi")
    )
    printed = bounds.theorem4_printed(eps, w, eta)
    assert printed == pytest.approx(expected["printed_with_w_hat"])
    known = bounds.label_shift_source_radius(eps, w.max(), frequencies @ w)
    assert known == pytest.approx(expected["repaired_known_w"])
    source = bounds.label_shift_source_radius(eps, high.max(), frequencies @ low)
    weights = bounds.label_shift_weight_radius(frequencies, w, low, high)
    assert source + weights == pytest.approx(expected["repaired_box"])


def test_no_golden_case_is_left_out():
    assert {case["function"] for case in read_golden("binning")} == {
        "bin_index",
        "uniform_mass_bins",
        "bin_frequencies",
        "eps_m",
        "clopper_pearson",
        "empirical_bernstein",
        "reweighted_frequencies",
        "theorem4_bound",
    }
