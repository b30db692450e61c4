"""Adversarial training of a feature map: a classifier with it, a discriminator against.

Section 5.2 of Park et al. (2020), after Ganin et al. (2016). The classifier is a
network whose hidden units are the features psi(x); the discriminator is a network that
reads them and tells source from target. Gradient reversal: the features follow the
gradient of the classifier's loss minus `reversal` times the discriminator's.

A conditional adversary (Long et al., 2018) reads the products of all features with all
predicted probabilities in place of the features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.networks import (
    Adam,
    Masks,
    Parameters,
    backward,
    dropout_masks,
    forward,
    initial_parameters,
    minibatches,
    softmax_loss,
)
from distfreeuq.feature_learning.data import TrainingOptions

SOURCE, TARGET = 1, 0
"""Classes of a discriminator, as Park et al. (2020) have them: 1 for the source."""


class AdversarialStep(NamedTuple):
    """Losses of a minibatch and their gradients.

    Attributes
    ----------
    classifier_loss : float
        Mean NLL of the source rows' labels.
    discriminator_loss : float
        Mean NLL of the domains, half source and half target whatever their numbers.
    classifier : Parameters
        Gradient of classifier_loss - reversal * discriminator_loss.
    discriminator : Parameters
        Gradient of discriminator_loss.
    """

    classifier_loss: float
    discriminator_loss: float
    classifier: Parameters
    discriminator: Parameters


def adversarial_gradients(
    classifier: Parameters,
    discriminator: Parameters,
    source: FloatMatrix,
    labels: IntArray,
    target: FloatMatrix,
    reversal: float,
    masks: Masks | None = None,
    *,
    conditional: bool = False,
) -> AdversarialStep:
    """Return both losses on these rows, and what each network is to descend.

    With `conditional` the discriminator reads products of features and predictions.
    `masks` are the dropout of the discriminator's hidden units, source rows first.
    """
    n = source.shape[0]
    x = np.concatenate([source, target])
    [features], outputs = forward(classifier, x)
    error = np.zeros_like(outputs)
    of_labels, error[:n] = softmax_loss(outputs[:n], labels, np.full(n, 1.0 / n))
    seen, probs = features, None
    if conditional:
        probs = special.softmax(outputs, axis=1)
        seen = products(features, probs)
    of_domains, down, at_features = discriminator_gradients(
        discriminator, seen, n, masks
    )
    if probs is not None:
        at_features, at_outputs = products_gradient(at_features, features, probs)
        error -= reversal * at_outputs
    at_features *= -reversal
    up, _ = backward(classifier, x, [features], error, at_hidden=at_features)
    return AdversarialStep(of_labels, of_domains, up, down)


def products(features: FloatMatrix, probs: FloatMatrix) -> FloatMatrix:
    """Return the products (n, h K) of all features with all probabilities."""
    return np.asarray(
        (features[:, :, None] * probs[:, None, :]).reshape(features.shape[0], -1)
    )


def products_gradient(
    at_products: FloatMatrix, features: FloatMatrix, probs: FloatMatrix
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the gradient in features (n, h) and outputs (n, K) of one in `products`.

    The probabilities are the outputs' softmax.
    """
    n, n_classes = probs.shape
    at = at_products.reshape(n, -1, n_classes)
    at_features = np.einsum("nhk,nk->nh", at, probs)
    at_probs = np.einsum("nhk,nh->nk", at, features)
    inner = np.einsum("nk,nk->n", at_probs, probs)[:, None]
    return at_features, probs * (at_probs - inner)


def discriminator_gradients(
    discriminator: Parameters,
    features: FloatMatrix,
    n_source: int,
    masks: Masks | None = None,
) -> tuple[float, Parameters, FloatMatrix]:
    """Return the discriminator's loss, and its gradient in parameters and features."""
    units, outputs = forward(discriminator, features, masks)
    domains, weights = domain_rows(n_source, features.shape[0])
    loss, error = softmax_loss(outputs, domains, weights)
    gradient, at_units = backward(discriminator, features, units, error, masks=masks)
    return loss, gradient, at_units @ discriminator.hidden_weight.T


def domain_rows(n_source: int, n: int) -> tuple[IntArray, FloatArray]:
    """Return domains (n,) of source rows followed by target rows, and weights (n,).

    The weights of each sample sum to one half.
    """
    domains = np.full(n, TARGET)
    domains[:n_source] = SOURCE
    weights = np.full(n, 0.5 / (n - n_source))
    weights[:n_source] = 0.5 / n_source
    return domains, weights


class AdversarialTraining:
    """The state of the training: one call of `epoch` after the other.

    Rows are standardised already. Source and target rows come in equal numbers per
    minibatch; the shorter sample is begun again within an epoch.
    """

    def __init__(
        self,
        source: FloatMatrix,
        labels: IntArray,
        target: FloatMatrix,
        n_classes: int,
        options: TrainingOptions,
        rng: np.random.Generator,
    ) -> None:
        self._source, self._labels, self._target = source, labels, target
        self._options = options
        self._rng = rng
        n_hidden = options.n_hidden
        self.classifier = initial_parameters(source.shape[1], n_hidden, n_classes, rng)
        n_seen = n_hidden * (n_classes if options.is_conditional else 1)
        self.discriminator = initial_parameters(
            n_seen, options.n_hidden_discriminator, 2, rng
        )
        self._classifier_adam = Adam(self.classifier, options.learning_rate)
        self._discriminator_adam = Adam(self.discriminator, options.learning_rate)

    def epoch(self, reversal: float) -> tuple[float, float]:
        """Go through the rows once; return both losses on all rows, without dropout.

        The discriminator also takes further steps, alone, on minibatches of their own.
        """
        longest = max(self._source.shape[0], self._target.shape[0])
        n_steps = -(-longest // self._options.batch_size)
        per_step = self._options.discriminator_steps
        n_batches = n_steps * per_step
        of_source = self._batches(self._source.shape[0], n_batches)
        of_target = self._batches(self._target.shape[0], n_batches)
        for i, (s, t) in enumerate(zip(of_source, of_target, strict=True)):
            if (i + 1) % per_step == 0:
                self._step(s, t, reversal)
            else:
                self._discriminator_step(s, t)
        return self.losses()

    def losses(self) -> tuple[float, float]:
        """Return the classifier's and the discriminator's mean loss on all rows."""
        n = self._source.shape[0]
        [features], outputs = forward(self.classifier, self._source)
        of_labels, _ = softmax_loss(outputs, self._labels, np.full(n, 1.0 / n))
        [others], other_outputs = forward(self.classifier, self._target)
        both = np.concatenate(
            [self._seen(features, outputs), self._seen(others, other_outputs)]
        )
        _, domain_outputs = forward(self.discriminator, both)
        of_domains, _ = softmax_loss(domain_outputs, *domain_rows(n, both.shape[0]))
        return of_labels, of_domains

    def _step(self, s: IntArray, t: IntArray, reversal: float) -> None:
        """Move both networks."""
        step = adversarial_gradients(
            self.classifier,
            self.discriminator,
            self._source[s],
            self._labels[s],
            self._target[t],
            reversal,
            self._masks(s.size + t.size),
            conditional=self._options.is_conditional,
        )
        self._discriminator_adam.step(step.discriminator)
        self._classifier_adam.step(step.classifier)

    def _discriminator_step(self, s: IntArray, t: IntArray) -> None:
        x = np.concatenate([self._source[s], self._target[t]])
        [features], outputs = forward(self.classifier, x)
        _, gradient, _ = discriminator_gradients(
            self.discriminator,
            self._seen(features, outputs),
            s.size,
            self._masks(x.shape[0]),
        )
        self._discriminator_adam.step(gradient)

    def _seen(self, features: FloatMatrix, outputs: FloatMatrix) -> FloatMatrix:
        """Return what the discriminator reads."""
        if not self._options.is_conditional:
            return features
        return products(features, special.softmax(outputs, axis=1))

    def _masks(self, n: int) -> Masks | None:
        return dropout_masks(self.discriminator, n, self._options.dropout, self._rng)

    def _batches(self, n: int, n_batches: int) -> list[IntArray]:
        """Return as many minibatches as asked, going through the rows repeatedly."""
        batches: list[IntArray] = []
        while len(batches) < n_batches:
            batches += minibatches(n, self._options.batch_size, self._rng)
        return batches[:n_batches]
