"""Networks of few layers in NumPy: analytic gradients, Adam, early stopping.

Enough for a discriminator of source and target or for a feature map on given features.
The same seed gives the same network. Memory is that of the data and of one minibatch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, pair, require, several
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.standardization import center_and_scale, unchanged

_LARGEST_INPUT = 1e150
"""Standardised features are cut here: a sum of products with weights stays finite."""


class Parameters(tuple[FloatArray, ...]):
    """What Adam moves, in place: weights and biases by layer, the outputs' last.

    With d inputs, hidden layers of h, g, ... units and K outputs they have the shapes
    (d, h), (h,), (h, g), (g,), ..., (K,).
    """

    __slots__ = ()

    @property
    def hidden_weight(self) -> FloatMatrix:
        """Weights (d, h) of the first layer."""
        return self[0]

    @property
    def layers(self) -> list[tuple[FloatMatrix, FloatArray]]:
        """Weights and biases of each layer."""
        return list(zip(self[::2], self[1::2], strict=True))

    @property
    def n_hidden(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return tuple(bias.size for bias in self[1:-1:2])


Masks = Sequence[FloatMatrix]
"""What multiplies the units (n, h) of each hidden layer: dropout."""


def initial_parameters(
    n_inputs: int,
    n_hidden: int | tuple[int, ...],
    n_outputs: int,
    rng: np.random.Generator,
) -> Parameters:
    """Draw starting weights of the variance that keeps a layer's scale (He, Glorot)."""
    arrays: list[FloatArray] = []
    for units in (n_hidden,) if isinstance(n_hidden, int) else n_hidden:
        arrays.append(rng.normal(0.0, np.sqrt(2.0 / n_inputs), (n_inputs, units)))
        arrays.append(np.zeros(units))
        n_inputs = units
    arrays.append(rng.normal(0.0, np.sqrt(1.0 / n_inputs), (n_inputs, n_outputs)))
    arrays.append(np.zeros(n_outputs))
    return Parameters(arrays)


def forward(
    parameters: Parameters, x: FloatMatrix, masks: Masks | None = None
) -> tuple[list[FloatMatrix], FloatMatrix]:
    """Return the hidden layers' units (n, h) and the outputs (n, K): ReLU, then linear.

    `masks` multiply the hidden units: dropout, drawn by `dropout_masks`.
    """
    *hidden_layers, (output_weight, output_bias) = parameters.layers
    units: list[FloatMatrix] = []
    below: FloatMatrix = x
    for i, (weight, bias) in enumerate(hidden_layers):
        hidden = below @ weight
        hidden += bias
        np.maximum(hidden, 0.0, out=hidden)
        if masks is not None:
            hidden *= masks[i]
        units.append(hidden)
        below = hidden
    return units, below @ output_weight + output_bias


def backward(
    parameters: Parameters,
    x: FloatMatrix,
    units: list[FloatMatrix],
    error: FloatMatrix,
    *,
    masks: Masks | None = None,
    at_hidden: FloatMatrix | None = None,
) -> tuple[Parameters, FloatMatrix]:
    """Return the gradient in the parameters, and before the first ReLU (n, h).

    The latter times ``hidden_weight.T`` is the gradient in x.

    Parameters
    ----------
    parameters, x, masks
        As given to `forward`.
    units : list of ndarray (n, h)
        As returned by it.
    error : ndarray (n, K)
        Gradient of the loss in the outputs.
    at_hidden : ndarray (n, h), optional
        Gradient in the units of the last hidden layer that reaches them by another way,
        such as from a second network which reads them.
    """
    layers = parameters.layers
    backwards: list[FloatArray] = []
    for i in range(len(layers) - 1, -1, -1):
        backwards += [error.sum(axis=0), (units[i - 1] if i > 0 else x).T @ error]
        if i == 0:
            break
        error = error @ layers[i][0].T
        if at_hidden is not None:
            error += at_hidden
            at_hidden = None
        if masks is not None:
            error *= masks[i - 1]
        error *= units[i - 1] > 0.0
    return Parameters(backwards[::-1]), error


def dropout_masks(
    parameters: Parameters, n: int, dropout: float, rng: np.random.Generator
) -> list[FloatMatrix] | None:
    """Return a mask (n, h) of each hidden layer; None for none.

    Its entries are 0 with probability `dropout`, else 1 / (1 - dropout).
    """
    if dropout == 0.0:
        return None
    return [
        (rng.random((n, units)) >= dropout) / (1.0 - dropout)
        for units in parameters.n_hidden
    ]


def softmax_loss(
    outputs: FloatMatrix, labels: IntArray, weights: FloatArray, loss: str = "nll"
) -> tuple[float, FloatMatrix]:
    """Return sum_i w_i loss_i and its gradient in the outputs (n, K).

    `loss` is "nll", or "brier": sum_k (p_k - e_k)^2, for two classes twice the squared
    error of the probability of class 1.
    """
    rows = np.arange(labels.size)
    log_probs = special.log_softmax(outputs, axis=1)
    residual = np.exp(log_probs)
    if loss == "nll":
        total = -float(weights @ log_probs[rows, labels])
        residual[rows, labels] -= 1.0
        return total, residual * weights[:, None]
    probs = residual.copy()
    residual[rows, labels] -= 1.0
    total = float(weights @ np.einsum("ij,ij->i", residual, residual))
    inner = np.einsum("ij,ij->i", residual, probs)[:, None]
    return total, probs * (residual - inner) * (2.0 * weights[:, None])


class Adam:
    """Kingma and Ba's steps (2015), for parameters that are changed in place."""

    def __init__(self, parameters: Parameters, learning_rate: float) -> None:
        self._parameters = parameters
        self._rate = learning_rate
        self._moments = [(np.zeros_like(p), np.zeros_like(p)) for p in parameters]
        self._step = 0

    def step(self, gradient: Parameters) -> None:
        """Move the parameters against the gradient."""
        self._step += 1
        unbias = np.sqrt(1.0 - 0.999**self._step) / (1.0 - 0.9**self._step)
        for value, slope, (mean, square) in zip(
            self._parameters, gradient, self._moments, strict=True
        ):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope * slope - square)
            value -= self._rate * unbias * mean / (np.sqrt(square) + 1e-8)


def minibatches(n: int, size: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """Yield row numbers of one epoch: every row once, in a new order."""
    order = rng.permutation(n)
    for start in range(0, n, size):
        yield order[start : start + size]


@register("network")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Network:
    """A fitted network; its inputs are centred and scaled first.

    Attributes
    ----------
    center, scale : ndarray (d,)
    hidden_weight, hidden_bias, output_weight, output_bias : ndarray
        Of the first layer and of the last.
    between : tuple of (ndarray, ndarray)
        Weights and biases of further hidden layers, of which most networks have none.
    """

    center: FloatArray
    scale: FloatArray
    hidden_weight: FloatMatrix
    hidden_bias: FloatArray
    output_weight: FloatMatrix
    output_bias: FloatArray
    between: tuple[tuple[FloatMatrix, FloatArray], ...] = ()

    _state: ClassVar[State] = {
        "center": floats("d", finite=True),
        "scale": floats("d", low=1e-170, nan=False),
        "hidden_weight": floats("d", "h", single=True),
        "hidden_bias": floats("h", single=True),
        "output_weight": floats("g", "k", single=True),
        "output_bias": floats("k", single=True),
        "between": several(pair(floats("*", "*"), floats("*"))),
    }

    @staticmethod
    def _added(fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return what early files of this format lack."""
        return {"between": ()}

    def _validate_state(self) -> None:
        layers = self.parameters.layers
        fit = all(weight.shape[1] == bias.size for weight, bias in layers)
        fit = fit and all(
            bias.size == weight.shape[0] for (_, bias), (weight, _) in pairwise(layers)
        )
        require(fit, "layers that follow on one another")

    def __repr__(self) -> str:
        """Return one line."""
        sizes = (self.n_features, *self.parameters.n_hidden, self.output_bias.size)
        return f"<Network {'-'.join(map(str, sizes))}>"

    @property
    def n_features(self) -> int:
        """Number of columns d of x."""
        return self.center.size

    @property
    def parameters(self) -> Parameters:
        """Weights and biases by layer."""
        first, last = (
            (self.hidden_weight, self.hidden_bias),
            (self.output_weight, self.output_bias),
        )
        return Parameters(a for layer in (first, *self.between, last) for a in layer)

    def _standardized(self, x: FloatMatrix) -> FloatMatrix:
        """Return centred and scaled features, none beyond what layers can add up."""
        with np.errstate(over="ignore"):
            scaled = (x - self.center) / self.scale
        return np.clip(scaled, -_LARGEST_INPUT, _LARGEST_INPUT, out=scaled)

    def hidden(self, x: FloatMatrix) -> FloatMatrix:
        """Return the units (n, h) of the last hidden layer, float64."""
        return forward(self.parameters, self._standardized(x))[0][-1]

    def logits(self, x: FloatMatrix) -> FloatMatrix:
        """Return the outputs (n, K), float64: logits of the classes."""
        return forward(self.parameters, self._standardized(x))[1]

    def log_odds(self, x: FloatMatrix) -> FloatArray:
        """Return the log-odds (n,) of class 1 against class 0."""
        outputs = self.logits(x)
        return np.asarray(outputs[:, 1] - outputs[:, 0])


def as_network(
    parameters: Parameters, center: FloatArray, scale: FloatArray
) -> Network:
    """Return the network that applies the parameters after centring and scaling."""
    first, *between, last = (
        (read_only(weight), read_only(bias)) for weight, bias in parameters.layers
    )
    return Network(
        read_only(center), read_only(scale), *first, *last, between=tuple(between)
    )


class Training(NamedTuple):
    """What `fit_network` returns.

    Attributes
    ----------
    network : Network
        The one of smallest loss on the rows that were held out.
    train_loss, held_out_loss : ndarray (epochs,)
        Mean loss by epoch: with dropout and as the weights moved; on the held-out rows
        at its end (empty without them).
    best_epoch : int
        Counted from 1: whose network is kept.
    """

    network: Network
    train_loss: FloatArray
    held_out_loss: FloatArray
    best_epoch: int


@on_one_blas_thread
def fit_network(
    x: FloatMatrix,
    labels: IntArray,
    *,
    n_outputs: int,
    n_hidden: int | tuple[int, ...],
    rng: np.random.Generator,
    sample_weight: FloatArray | None = None,
    loss: str = "nll",
    n_epochs: int = 200,
    batch_size: int = 128,
    learning_rate: float = 1e-3,
    dropout: float = 0.0,
    held_out: float = 0.15,
    patience: int = 20,
    tolerance: float = 0.0,
    standardize: bool = True,
) -> Training:
    """Train a classifier with hidden layers, and stop when it no longer improves.

    Parameters
    ----------
    x : ndarray (n, d)
        Finite; standardised by column unless told otherwise.
    labels : ndarray (n,)
        Column numbers 0..K-1.
    n_outputs : int
    n_hidden : int or tuple of int
        Units of the hidden layer, or of each of several.
    rng : Generator
        Draws starting weights, held-out rows, minibatches and dropout.
    sample_weight : ndarray (n,), optional
        Their scale has no effect. For a discriminator of unequal samples, weights of
        1/n_source and 1/n_target make the optimum p(x) / (p(x) + q(x)).
    loss : {"nll", "brier"}
    n_epochs, batch_size, learning_rate, dropout
        Settings of Adam; dropout is applied to the hidden units.
    held_out : float, default 0.15
        Share of the rows, drawn at random, on which epochs are compared; 0 for none:
        then all epochs are run and the last network is returned.
    patience : int
        Epochs without a smaller held-out loss after which training ends.
    tolerance : float, default 0
        By how much the mean loss must be smaller to be worth waiting for. Where classes
        are told apart perfectly it would fall for ever.
    standardize : bool

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq._numerics.networks import fit_network
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 2, 600)
    >>> x = rng.normal(labels[:, None], 1.0, (600, 2))
    >>> fitted = fit_network(x, labels, n_outputs=2, n_hidden=8, rng=rng)
    >>> fitted.network
    <Network 2-8-2>
    >>> odds = fitted.network.log_odds(np.array([[0.5, 0.5], [1.5, 1.5]]))
    >>> bool(abs(odds[0]) < 0.5), bool(1.0 < odds[1] < 3.0)  # truly 0 and 2
    (True, True)
    """
    n = x.shape[0]
    weights = np.ones(n) if sample_weight is None else sample_weight
    weights = weights / weights.mean()
    center, scale = center_and_scale(x) if standardize else unchanged(x.shape[1])
    rows = (x - center) / scale
    order = rng.permutation(n)
    n_held = round(held_out * n)
    held, train = order[:n_held], order[n_held:]

    parameters = initial_parameters(x.shape[1], n_hidden, n_outputs, rng)
    adam = Adam(parameters, learning_rate)
    best = Parameters(p.copy() for p in parameters)
    best_epoch, best_loss = 0, np.inf
    gained, gained_loss = 0, np.inf  # of the last gain that is worth waiting for
    train_loss: list[float] = []
    held_out_loss: list[float] = []
    for epoch in range(1, n_epochs + 1):
        total = 0.0
        for batch in minibatches(train.size, batch_size, rng):
            chosen = train[batch]
            total += _step(
                parameters, adam, rows, labels, weights, chosen, loss, dropout, rng
            )
        train_loss.append(total / float(weights[train].sum()))
        if n_held == 0:
            best_epoch = epoch
            continue
        outputs = forward(parameters, rows[held])[1]
        now = softmax_loss(outputs, labels[held], weights[held], loss)[0]
        now /= float(weights[held].sum())
        held_out_loss.append(now)
        if now < best_loss:
            best_epoch, best_loss = epoch, now
            for kept, value in zip(best, parameters, strict=True):
                kept[...] = value
        if now < gained_loss - tolerance:
            gained, gained_loss = epoch, now
        elif epoch - gained >= patience:
            break
    if n_held == 0:
        best = parameters
    return Training(
        as_network(best, center, scale),
        np.array(train_loss),
        np.array(held_out_loss),
        best_epoch,
    )


def _step(
    parameters: Parameters,
    adam: Adam,
    rows: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    chosen: IntArray,
    loss: str,
    dropout: float,
    rng: np.random.Generator,
) -> float:
    """Take one step on a minibatch, and return the sum of its weighted losses."""
    x = rows[chosen]
    masks = dropout_masks(parameters, x.shape[0], dropout, rng)
    units, outputs = forward(parameters, x, masks)
    total, error = softmax_loss(outputs, labels[chosen], weights[chosen], loss)
    gradient, _ = backward(parameters, x, units, error / x.shape[0], masks=masks)
    adam.step(gradient)
    return total
