"""Networks with one hidden layer: gradients, training, and what a seed fixes."""

import numpy as np
import pytest

from distfreeuq._numerics.networks import (
    Adam,
    Parameters,
    backward,
    dropout_masks,
    fit_network,
    forward,
    initial_parameters,
    minibatches,
    softmax_loss,
)
from distfreeuq._numerics.standardization import center_and_scale


def numerical_gradient(function, array, step=1e-6):
    """Central differences of a scalar function in every entry of an array."""
    slopes = np.empty_like(array)
    for index in np.ndindex(array.shape):
        kept = array[index]
        array[index] = kept + step
        above = function()
        array[index] = kept - step
        slopes[index] = (above - function()) / (2 * step)
        array[index] = kept
    return slopes


@pytest.mark.parametrize("loss", ["nll", "brier"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("n_outputs", [2, 31])
@pytest.mark.parametrize("n_hidden", [5, (5, 3), (3, 4, 2)])
def test_gradients_are_those_of_finite_differences(loss, dropout, n_outputs, n_hidden):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(7, 4))
    labels = rng.integers(0, n_outputs, 7)
    weights = rng.random(7)
    parameters = initial_parameters(4, n_hidden, n_outputs, rng)
    for bias in parameters[1::2]:  # no unit at its kink, even if all below drop out
        bias += rng.normal(0.0, 0.1, bias.size)
    masks = dropout_masks(parameters, 7, dropout, rng)

    def value():
        return softmax_loss(forward(parameters, x, masks)[1], labels, weights, loss)[0]

    units, outputs = forward(parameters, x, masks)
    error = softmax_loss(outputs, labels, weights, loss)[1]
    gradient, at_units = backward(parameters, x, units, error, masks=masks)
    for analytic, array in zip(gradient, parameters, strict=True):
        numerical = numerical_gradient(value, array)
        np.testing.assert_allclose(analytic, numerical, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        at_units @ parameters.hidden_weight.T,
        numerical_gradient(value, x),
        rtol=1e-6,
        atol=1e-8,
    )


def test_losses_by_hand():
    outputs = np.log([[1.0, 3.0], [1.0, 1.0]])
    labels, weights = np.array([1, 0]), np.array([2.0, 1.0])
    nll, _ = softmax_loss(outputs, labels, weights, "nll")
    assert nll == pytest.approx(2 * np.log(4 / 3) + np.log(2))
    brier, _ = softmax_loss(outputs, labels, weights, "brier")
    assert brier == pytest.approx(2 * (2 * 0.25**2) + 2 * 0.5**2)


def test_losses_of_huge_outputs_are_finite():
    outputs = np.array([[1e4, -1e4], [-1e4, 1e4]])
    for loss in ("nll", "brier"):
        value, error = softmax_loss(outputs, np.array([0, 0]), np.ones(2), loss)
        assert np.isfinite(value)
        assert np.isfinite(error).all()


def test_first_step_of_adam_is_the_learning_rate():
    parameters = Parameters(np.zeros(shape) for shape in ((1, 1), 1, (1, 2), 2))
    gradient = Parameters(np.full_like(p, -5.0) for p in parameters)
    Adam(parameters, 0.1).step(gradient)
    for value in parameters:
        np.testing.assert_allclose(value, 0.1, rtol=1e-6)


def test_an_epoch_has_every_row_once():
    batches = list(minibatches(10, 4, np.random.default_rng(0)))
    assert [batch.size for batch in batches] == [4, 4, 2]
    assert sorted(np.concatenate(batches)) == list(range(10))


def test_dropout_keeps_the_mean():
    rng = np.random.default_rng(0)
    parameters = initial_parameters(1, (50, 20), 2, rng)
    masks = dropout_masks(parameters, 4000, 0.3, rng)
    assert [mask.shape for mask in masks] == [(4000, 50), (4000, 20)]
    for mask in masks:
        assert set(np.unique(mask)) == {0.0, 1 / 0.7}
        assert abs(mask.mean() - 1.0) < 0.01
    assert dropout_masks(parameters, 4, 0.0, rng) is None


def test_constant_columns_are_only_centred():
    x = np.array([[1e9, 0.0, 1.0], [1e9, 0.0, 3.0]])
    center, scale = center_and_scale(x)
    assert center.tolist() == [1e9, 0.0, 2.0]
    assert scale.tolist() == [1.0, 1.0, 1.0]
    thirds = np.full((50, 1), 1 / 3)
    assert center_and_scale(thirds)[1] == 1.0
    small = np.array([[3.0], [3.0 + 1e-6]])
    assert center_and_scale(small)[1] < 1e-6


def two_moons(n, rng):
    labels = rng.integers(0, 2, n)
    angle = rng.uniform(0.0, np.pi, n)
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    x[labels == 1] = np.array([1.0, 0.4]) - x[labels == 1]
    return x + rng.normal(0.0, 0.1, x.shape), labels


def test_learns_what_no_line_separates():
    rng = np.random.default_rng(1)
    x, labels = two_moons(1000, rng)
    new, truth = two_moons(1000, rng)
    fitted = fit_network(
        x, labels, n_outputs=2, n_hidden=20, rng=rng, learning_rate=0.01
    )
    assert (fitted.network.logits(new).argmax(axis=1) == truth).mean() > 0.97
    np.testing.assert_array_equal(
        fitted.network.log_odds(new) > 0.0, fitted.network.logits(new).argmax(1) == 1
    )


def test_stops_early_and_keeps_the_best_epoch():
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(120, 10)), rng.integers(0, 2, 120)  # nothing to learn
    fitted = fit_network(
        x, labels, n_outputs=2, n_hidden=50, rng=rng, patience=5, learning_rate=0.01
    )
    n_epochs = fitted.held_out_loss.size
    assert n_epochs < 200
    assert fitted.best_epoch == fitted.held_out_loss.argmin() + 1
    assert n_epochs == fitted.best_epoch + 5


def test_without_held_out_rows_all_epochs_are_run():
    rng = np.random.default_rng(0)
    x, labels = two_moons(100, rng)
    fitted = fit_network(
        x, labels, n_outputs=2, n_hidden=5, rng=rng, n_epochs=7, held_out=0.0
    )
    assert fitted.train_loss.size == fitted.best_epoch == 7
    assert fitted.held_out_loss.size == 0


def test_a_seed_fixes_everything():
    x, labels = two_moons(200, np.random.default_rng(5))

    def outputs(seed):
        rng = np.random.default_rng(seed)
        options = {"n_outputs": 2, "n_hidden": 6, "n_epochs": 5, "dropout": 0.5}
        return fit_network(x, labels, rng=rng, **options).network.logits(x)

    np.testing.assert_array_equal(outputs(1), outputs(1))
    assert not np.array_equal(outputs(1), outputs(2))


def test_units_of_the_inputs_do_not_matter():
    x, labels = two_moons(200, np.random.default_rng(5))

    def outputs(rows):
        rng = np.random.default_rng(0)
        options = {"n_outputs": 2, "n_hidden": 6, "n_epochs": 20}
        return fit_network(rows, labels, rng=rng, **options).network.logits(rows)

    np.testing.assert_allclose(
        outputs(x * [1e-6, 1e6] + [3.0, -8.0]), outputs(x), atol=1e-6
    )


def test_weights_balance_unequal_samples():
    rng = np.random.default_rng(0)
    labels = (np.arange(4000) < 400).astype(np.int64)  # same law, one tenth of class 1
    x = rng.normal(size=(4000, 1))
    weights = np.where(labels == 1, 1 / 400, 1 / 3600)
    fitted = fit_network(
        x, labels, n_outputs=2, n_hidden=4, rng=rng, sample_weight=weights
    )
    assert abs(fitted.network.log_odds(x).mean()) < 0.15
    plain = fit_network(x, labels, n_outputs=2, n_hidden=4, rng=rng)
    assert plain.network.log_odds(x).mean() < -1.5
