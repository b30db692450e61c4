"""The scaling kernels equal their definitions, for any rows and number of threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq._kernels import _softmax as kernel
from tests import reference_kernels as twin

SIZES = (0.0, 1e-8, 1.0, 30.0, 1e4)


@st.composite
def logit_rows(draw, max_rows=40, max_classes=80):
    """Draw logits, labels, weights (some zero), groups and an alpha per group."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_classes = draw(st.integers(1, max_rows)), draw(st.integers(2, max_classes))
    size = draw(st.sampled_from(SIZES))
    logits = size * rng.standard_normal((n, n_classes))
    if draw(st.booleans()):  # ties
        logits = np.round(logits)
    n_groups = draw(st.integers(1, 4))
    return {
        "logits": logits.astype(draw(st.sampled_from([np.float32, np.float64]))),
        "labels": rng.integers(0, n_classes, n),
        "weights": rng.choice([0.0, 1.0, 0.3, 7.0], n),
        "groups": rng.integers(0, n_groups, n),
        "alphas": draw(st.sampled_from([1e-3, 0.4, 1.0, 1e3])) * rng.random(n_groups),
    }


def tops_of(logits, n_blocks=3, threads=1):
    tops, extremes = np.full(len(logits), -7), np.zeros((n_blocks, 2))
    kernel._find_tops(logits, tops, extremes, threads)
    return tops, extremes.max(axis=0)


def temperature_sums(brier, rows, *, active=None, n_blocks=3, threads=1):
    n_groups = rows["alphas"].size
    sums = np.zeros((n_blocks, n_groups, 5))
    confidence = np.full(len(rows["logits"]), -7.0)
    kernel._sum_temperature_losses(
        brier,
        rows["logits"],
        rows["labels"],
        tops_of(rows["logits"])[0],
        rows["weights"],
        rows["groups"],
        rows["alphas"],
        np.ones(n_groups, dtype=np.uint8) if active is None else active,
        confidence,
        sums,
        threads,
    )
    return sums.sum(axis=0), confidence


def vector_sums(rows, scale, bias, *, n_blocks=3, threads=1):
    n_classes = rows["logits"].shape[1]
    sums = np.zeros((n_blocks, 1 + 2 * n_classes))
    kernel._sum_vector_nll(
        rows["logits"],
        rows["labels"],
        rows["weights"],
        scale,
        bias,
        np.full((n_blocks, n_classes), np.nan),
        sums,
        threads,
    )
    return sums.sum(axis=0)


def described(rows, scale, bias, threads=1, n_blocks=3):
    n, n_classes = rows["logits"].shape
    tops, confidence, losses = np.full(n, -7), np.full(n, -7.0), np.full(n, -7.0)
    kernel._describe_affine(
        rows["logits"],
        rows["labels"],
        scale,
        bias,
        np.full((n_blocks, n_classes), np.nan),
        tops,
        confidence,
        losses,
        threads,
    )
    return tops, confidence, losses


def scaled(rows, tops, threads=1, n_blocks=3):
    logits = rows["logits"]
    out = np.full_like(logits, np.nan)
    scratch = np.full((n_blocks, logits.shape[1]), np.nan)
    kernel._scale_softmax(
        logits, tops, rows["groups"], rows["alphas"], scratch, out, threads
    )
    return out


def assert_close(actual, expected, rtol=1e-11):
    atol = rtol * scale_of(expected)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


def scale_of(expected):
    return max(1.0, float(np.abs(expected).max(initial=0.0)))


@given(logit_rows())
def test_tops_and_extremes(rows):
    tops, (widest, longest) = tops_of(rows["logits"])
    expected, expected_widest, expected_longest = twin.row_extremes(rows["logits"])
    np.testing.assert_array_equal(tops, expected)
    assert widest == pytest.approx(expected_widest, rel=1e-12)
    assert longest == pytest.approx(expected_longest, rel=1e-9, abs=1e-9)


@given(logit_rows(), st.booleans())
def test_temperature_sums(rows, brier):
    sums, confidence = temperature_sums(brier, rows)
    expected, expected_confidence = twin.temperature_losses(brier, **rows)
    for j in range(5):
        assert_close(sums[:, j], expected[:, j], rtol=1e-10)
    assert_close(confidence, expected_confidence)


@given(logit_rows(), st.booleans())
def test_inactive_groups_are_passed_over(rows, brier):
    active = np.zeros(rows["alphas"].size, dtype=np.uint8)
    active[0] = 1
    everything, _ = temperature_sums(brier, rows)
    some, confidence = temperature_sums(brier, rows, active=active)
    np.testing.assert_array_equal(some[0], everything[0])
    assert not some[1:].any()
    assert (confidence[rows["groups"] != 0] == -7.0).all()


@given(logit_rows(), st.booleans())
def test_gradient_and_curvature_are_derivatives_of_the_loss(rows, brier):
    rows["logits"] = np.clip(rows["logits"], -5.0, 5.0).astype(np.float64)
    rows["alphas"] = np.clip(rows["alphas"], 0.1, 2.0)
    step = 1e-5

    def at(shift):
        return temperature_sums(brier, {**rows, "alphas": rows["alphas"] + shift})[0]

    middle, up, down = at(0.0), at(step), at(-step)
    size = 1.0 + rows["weights"].sum() * 100.0
    slope = (up[:, 0] - down[:, 0]) / (2 * step)
    bend = (up[:, 1] - down[:, 1]) / (2 * step)
    np.testing.assert_allclose(middle[:, 1], slope, rtol=1e-6, atol=1e-8 * size)
    np.testing.assert_allclose(middle[:, 2], bend, rtol=1e-5, atol=1e-7 * size)


@given(logit_rows(), st.sampled_from([1e-3, 0.1, 2.0]), st.integers(1, 30))
def test_brier_slopes_on_a_grid(rows, first, n_points):
    n_classes, n_groups = rows["logits"].shape[1], rows["alphas"].size
    sums = np.zeros((3, n_groups, n_points))
    own = [rows[name] for name in ("labels", "weights", "groups")]
    kernel._sum_brier_slopes(
        rows["logits"],
        own[0],
        tops_of(rows["logits"])[0],
        *own[1:],
        first,
        np.full((3, 2 * kernel._lanes() * n_classes), np.nan),
        sums,
        1,
    )
    alphas = first * 2.0 ** (0.5 * np.arange(n_points))
    expected = twin.brier_slopes(rows["logits"], *own, n_groups, alphas)
    assert_close(sums.sum(axis=0), expected, rtol=1e-8)


@given(logit_rows())
def test_scaled_softmax(rows):
    tops, _ = tops_of(rows["logits"])
    probs = scaled(rows, tops)
    expected = twin.softmax_rows(
        rows["alphas"][rows["groups"]][:, None] * rows["logits"].astype(np.float64)
    )
    assert probs.dtype == rows["logits"].dtype
    assert_close(probs, expected, rtol=1e-7 if probs.dtype == np.float32 else 1e-11)
    np.testing.assert_array_equal(probs.argmax(axis=1), tops)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_cannot_tie_a_smaller_logit_with_the_largest(dtype):
    top = dtype(1.0)
    almost = np.nextafter(top, dtype(0.0))
    logits = np.array([[almost, top, almost], [top, top, almost]], dtype=dtype)
    rows = {"groups": np.zeros(2, np.int64), "alphas": np.array([1e-3])}
    probs = scaled({"logits": logits, **rows}, np.array([1, 0]))
    assert probs.argmax(axis=1).tolist() == [1, 0]
    assert probs[1, 0] == probs[1, 1]
    np.testing.assert_allclose(probs, 1 / 3, rtol=1e-3)


@given(logit_rows(), st.integers(0, 2**32 - 1))
def test_vector_sums_and_rows(rows, seed):
    rng = np.random.default_rng(seed)
    n_classes = rows["logits"].shape[1]
    scale, bias = rng.normal(1.0, 1.0, n_classes), rng.normal(0.0, 3.0, n_classes)
    own = {name: rows[name] for name in ("logits", "labels", "weights")}
    expected = twin.vector_losses(**own, scale=scale, bias=bias)
    assert_close(vector_sums(rows, scale, bias), expected, rtol=1e-10)

    out = np.full((len(rows["logits"]), 2 * n_classes), np.nan)
    sums = np.zeros((3, 3 * n_classes))
    kernel._fill_vector_rows(rows["logits"], rows["weights"], scale, bias, out, sums, 1)
    expected, expected_sums = twin.vector_rows(
        rows["logits"], rows["weights"], scale, bias
    )
    assert_close(out, expected, rtol=1e-10)
    for part in range(3):
        own = slice(part * n_classes, (part + 1) * n_classes)
        assert_close(sums.sum(axis=0)[own], expected_sums[own], rtol=1e-10)

    probs = np.full_like(rows["logits"], np.nan)
    kernel._affine_softmax(
        rows["logits"], scale, bias, np.empty((2, n_classes)), probs, 1
    )
    single = probs.dtype == np.float32
    assert_close(probs, expected[:, n_classes:], rtol=1e-6 if single else 1e-10)

    tops, confidence, losses = described(rows, scale, bias)
    np.testing.assert_array_equal(tops, probs.argmax(axis=1))
    np.testing.assert_array_equal(confidence, probs.max(axis=1))
    largest, nll = twin.affine_outcome(rows["logits"], rows["labels"], scale, bias)
    assert_close(confidence, largest, rtol=1e-6 if single else 1e-10)
    assert_close(losses, nll, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_do_not_depend_on_the_number_of_threads(dtype):
    rng = np.random.default_rng(0)
    n, n_classes = 3001, 37
    rows = {
        "logits": rng.normal(0, 4, (n, n_classes)).astype(dtype),
        "labels": rng.integers(0, n_classes, n),
        "weights": rng.exponential(size=n),
        "groups": rng.integers(0, 5, n),
        "alphas": rng.random(5),
    }
    scale, bias = rng.random(n_classes), rng.random(n_classes)
    for brier in (False, True):
        one, confidence = temperature_sums(brier, rows, n_blocks=64)
        two, same = temperature_sums(brier, rows, n_blocks=64, threads=2)
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(confidence, same)
    np.testing.assert_array_equal(
        vector_sums(rows, scale, bias, n_blocks=64),
        vector_sums(rows, scale, bias, n_blocks=64, threads=2),
    )
    for one, two in zip(
        described(rows, scale, bias),
        described(rows, scale, bias, threads=2),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)
    tops, _ = tops_of(rows["logits"], threads=2)
    np.testing.assert_array_equal(scaled(rows, tops), scaled(rows, tops, threads=2))


def test_the_exponential_is_accurate_everywhere():
    # softmax of (0, x) at alpha = 1: p_2 / p_1 = exp(x)
    x = -np.concatenate([np.linspace(0, 700, 20_001), np.geomspace(1e-18, 1, 2001)])
    logits = np.column_stack([np.zeros_like(x), x])
    n = len(x)
    sums, confidence = temperature_sums(
        False,
        {
            "logits": logits,
            "labels": np.zeros(n, np.int64),
            "weights": np.ones(n),
            "groups": np.zeros(n, np.int64),
            "alphas": np.ones(1),
        },
    )
    np.testing.assert_allclose(confidence, 1 / (1 + np.exp(x)), rtol=4e-16)
    expected = np.log1p(np.exp(x)).sum()
    assert sums[0, 0] == pytest.approx(expected, rel=1e-12)
    out = np.empty_like(logits)
    kernel._scale_softmax(
        logits,
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.ones(1),
        np.empty((1, 2)),
        out,
        1,
    )
    # the exponent itself is rounded once more: an error of |x| ulps, as of alpha * x
    error = np.abs(out[:, 1] / out[:, 0] / np.exp(x) - 1.0)
    assert (error <= 3e-16 * (3.0 + np.abs(x))).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_logarithms_of_entries(seed, dtype):
    rng = np.random.default_rng(seed)
    entries = rng.random((7, 5)) * rng.choice([0.0, 1e-30, 1e-9, 1.0, 1.0], (7, 5))
    entries = entries.astype(dtype)
    out = np.empty_like(entries)
    floor = float(dtype(rng.choice([1e-37, 1e-12, 0.3])))
    kernel._log_entries(entries, floor, out, 3, 1)
    expected = twin.logarithms(entries, floor)
    np.testing.assert_allclose(
        out, expected, rtol=1.2e-7 if dtype == np.float32 else 3e-16
    )


def test_the_logarithm_is_accurate_everywhere():
    near_one = 1.0 + np.linspace(-0.5, 0.5, 40_001)
    x = np.concatenate([near_one, np.geomspace(1e-300, 1e300, 40_001)])[None, :]
    out = np.empty_like(x)
    kernel._log_entries(x, 1e-300, out, 1, 1)
    exact = np.log(x.astype(np.longdouble))
    ulps = np.abs((out - exact) / np.spacing(np.abs(exact).astype(np.float64)))
    assert float(ulps.max()) < 1.0
    assert (x == 1.0).any() and not out[x == 1.0].any()


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_curves_applied_to_rows(seed, dtype):
    rng = np.random.default_rng(seed)
    n, n_classes = rng.integers(1, 30), rng.integers(2, 6)
    # underflowing softmax outputs: subnormal entries and gaps between knots
    tiny = [5e-324, 1e-323, 3e-320, 1e-310, 2e-308] if dtype == np.float64 else [1e-45]
    entries = np.concatenate([np.linspace(0.0, 1.0, 9), tiny])
    places = np.concatenate([np.linspace(0.0, 1.0, 17), tiny])
    probs = rng.choice(entries, (n, n_classes)).astype(dtype)
    curves = []
    for _ in range(n_classes if n_classes > 2 else 1):
        knots = np.unique(rng.choice(places, rng.integers(1, 12)))
        flat = rng.choice([0.0, 1.0])  # curves that are zero on some rows
        curves.append((knots, flat * np.sort(rng.random(knots.size).round(1))))
    out = np.full_like(probs, np.nan)
    kernel._apply_curves(
        probs,
        np.concatenate([knots for knots, _ in curves]),
        np.concatenate([values for _, values in curves]),
        np.cumsum([0, *(knots.size for knots, _ in curves)]),
        np.full((2, n_classes), np.nan),
        out,
        1,
    )
    expected = twin.apply_curves(probs, curves)
    assert_close(out, expected, rtol=1e-7 if dtype == np.float32 else 1e-14)
