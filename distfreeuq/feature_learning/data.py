"""Options of `indistinguishable_features`, checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq.density_ratios.data import Samples, read_layers
from distfreeuq.feature_learning.hidden_units import sizes_to_try

ADVERSARIES = ("features", "conditional")
LARGEST_NETWORK = 50_000_000
"""Most weights of classifier and discriminator; Adam keeps three numbers for each."""

_LARGEST_AS_IS = 1e100
"""Of features that are not scaled: squares of gradients are finite below it."""


class TrainingOptions(NamedTuple):
    """How to train; see `indistinguishable_features`.

    With `chooses_units` `n_hidden` is where the search begins, and the discriminator
    has as many units unless others are given (none: an empty tuple).
    """

    n_hidden: int
    n_hidden_discriminator: tuple[int, ...]
    chooses_units: bool
    is_conditional: bool
    reversal: float
    warm_up: int
    n_epochs: int
    stop_below: float
    patience: int
    dropout: float
    discriminator_steps: int
    batch_size: int
    learning_rate: float
    standardize: bool
    progress: bool


def read_training_options(
    args: Arguments, samples: Samples, n_classes: int, **given: Any
) -> TrainingOptions:
    """Check the options of a fit to these samples."""
    d = samples.source.shape[1]
    chooses_units = isinstance(given["n_hidden"], str)
    if chooses_units:
        args.choice(given["n_hidden"], "n_hidden", ["auto"])
        n_hidden = next(sizes_to_try(d))
    else:
        n_hidden = args.count(given["n_hidden"], "n_hidden", low=1)
    adversary = args.choice(given["adversary"], "adversary", ADVERSARIES)
    n_seen = n_hidden * (n_classes if adversary == "conditional" else 1)
    other = given["n_hidden_discriminator"]
    layers = read_layers(args, other, "n_hidden_discriminator")
    n_other = n_hidden if layers is None else layers[0]
    if layers is None and not chooses_units:
        layers = (n_hidden,)
    if max(n_hidden * d, n_seen * n_other) > LARGEST_NETWORK // 2:
        must = f"so small that the networks have at most {LARGEST_NETWORK} weights"
        args.invalid("n_hidden", must, f"{n_hidden} with {d} columns")
    standardize = args.flag(given["standardize"], "standardize")
    for name, rows in (("source", samples.source), ("target", samples.target)):
        largest = float(np.abs(rows).max(initial=0.0))
        if not standardize and largest > _LARGEST_AS_IS:
            must = f"of numbers up to {_LARGEST_AS_IS:g} in size with standardize=False"
            args.invalid(name, must, f"{largest:g}")
    share = "a number from 0 up to, but not including, 1"
    not_negative = "a non-negative finite number"
    positive = "a positive finite number"
    return TrainingOptions(
        n_hidden=n_hidden,
        n_hidden_discriminator=layers or (),
        chooses_units=chooses_units,
        is_conditional=adversary == "conditional",
        reversal=args.number(
            given["reversal"], "reversal", not_negative, low=0.0, high=1e6
        ),
        warm_up=args.count(given["warm_up"], "warm_up", low=0),
        n_epochs=args.count(given["n_epochs"], "n_epochs", low=1),
        stop_below=args.number(
            given["stop_below"], "stop_below", not_negative, low=0.0, high=1e6
        ),
        patience=args.count(given["patience"], "patience", low=1),
        dropout=args.number(given["dropout"], "dropout", share, low=0.0, high=0.99),
        discriminator_steps=args.count(
            given["discriminator_steps"], "discriminator_steps", low=1
        ),
        batch_size=args.count(given["batch_size"], "batch_size", low=1),
        learning_rate=args.number(
            given["learning_rate"], "learning_rate", positive, low=1e-12, high=1e3
        ),
        standardize=standardize,
        progress=args.flag(given["progress"], "progress"),
    )
