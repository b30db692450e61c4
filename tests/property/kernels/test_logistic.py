"""The kernels of multinomial logistic regression equal their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq._kernels import _logistic as kernel
from tests import reference_kernels as twin


@st.composite
def linear_rows(draw, max_rows=150, max_classes=12):
    """Draw rows, some of weight zero, and a map of them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_classes = draw(st.integers(1, max_rows)), draw(st.integers(2, max_classes))
    logits = draw(st.sampled_from([0.0, 1.0, 30.0])) * rng.normal(size=(n, n_classes))
    return {
        "logits": logits.astype(draw(st.sampled_from([np.float32, np.float64]))),
        "labels": rng.integers(0, n_classes, n),
        "weights": rng.choice([0.0, 1.0, 0.3], n),
        "coef": np.eye(n_classes) + 0.3 * rng.normal(size=(n_classes, n_classes)),
        "bias": rng.normal(size=n_classes),
    }


def losses(rows, n_blocks=3, threads=1):
    n_classes = rows["logits"].shape[1]
    sums = np.zeros((n_blocks, 1 + n_classes * (n_classes + 1)))
    kernel._sum_linear_nll(*rows.values(), sums, threads)
    return sums.sum(axis=0)


def products(rows, scores, n_blocks=3, threads=1):
    n_classes = rows["logits"].shape[1]
    n_left, n_right = (
        n_classes * (n_classes + 1) // 2,
        (n_classes + 1) * (n_classes + 2),
    )
    sums = np.zeros((n_blocks, (1 + scores) * n_left, n_right // 2))
    kernel._sum_linear_products(scores, *rows.values(), sums, threads)
    return sums.sum(axis=0)


def mapped(rows, n_blocks=3, threads=1):
    out = np.full_like(rows["logits"], np.nan)
    kernel._linear_softmax(
        rows["logits"], rows["coef"], rows["bias"], out, n_blocks, threads
    )
    return out


def assert_close(actual, expected, rtol=1e-10):
    size = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * size)


@given(linear_rows())
def test_loss_gradient_and_probabilities(rows):
    loss, gradient, probs = twin.linear_losses(**rows)
    sums = losses(rows)
    assert_close(sums[0], loss)
    assert_close(sums[1:].reshape(gradient.shape), gradient)
    single = rows["logits"].dtype == np.float32
    assert_close(mapped(rows), probs, rtol=1e-6 if single else 1e-10)


@given(linear_rows(max_classes=7))
def test_products_of_hessian_and_scores(rows):
    probs = twin.linear_losses(**rows)[2]
    own = {name: rows[name] for name in ("logits", "labels", "weights")}
    hessian, scores = twin.linear_products(**own, probs=probs)
    assert_close(products(rows, False), hessian)
    assert_close(products(rows, True), np.vstack([hessian, scores]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_do_not_depend_on_the_number_of_threads(dtype):
    rng = np.random.default_rng(0)
    n, n_classes = 1003, 9
    rows = {
        "logits": rng.normal(0, 4, (n, n_classes)).astype(dtype),
        "labels": rng.integers(0, n_classes, n),
        "weights": rng.exponential(size=n),
        "coef": rng.normal(size=(n_classes, n_classes)),
        "bias": rng.normal(size=n_classes),
    }
    for make in (losses, mapped, lambda rows, **how: products(rows, True, **how)):
        one, two = make(rows, n_blocks=8), make(rows, n_blocks=8, threads=2)
        np.testing.assert_array_equal(one, two)


@given(st.integers(0, 2**32 - 1))
def test_logistic_losses(seed):
    rng = np.random.default_rng(seed)
    n, p, r = rng.integers(1, 60), rng.integers(1, 20), rng.integers(1, 4)
    case = {
        "design": rng.choice([0.1, 1.0, 20.0]) * rng.normal(size=(n, p)),
        "targets": rng.choice([0.0, 1.0, 0.3], n),
        "weights": rng.choice([0.0, 1.0, 0.2], (n, r)),
        "parameters": rng.normal(size=(r, p)),
    }
    sums = np.zeros((3, r, 1 + p))
    kernel._sum_logistic_losses(*case.values(), sums, 1)
    assert_close(sums.sum(axis=0), twin.logistic_losses(**case))
    again = np.zeros((3, r, 1 + p))
    kernel._sum_logistic_losses(*case.values(), again, 2)
    np.testing.assert_array_equal(sums, again)
