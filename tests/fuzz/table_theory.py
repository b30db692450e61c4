"""Rows of the table: scenarios and theorems."""

from typing import Any

import numpy as np

import distfreeuq as dfu
from tests.fuzz import fitted, kinds
from tests.fuzz.entry import Entry
from tests.fuzz.kinds import choice, optional
from tests.fuzz.parameters import made


def register_scenario(name: Any) -> None:
    """Register a scenario and forget it."""
    dfu.scenarios.register(name)(dfu.scenarios.atoms)
    dfu.scenarios.unregister(name)


def register_theorem(theorem: Any, replace: Any = False) -> None:
    """Register a theorem and forget it."""
    dfu.theorems.register(theorem, replace=replace)
    dfu.theorems.unregister(theorem.name)


THEORY: dict[str, Entry] = {
    # scenarios
    "scenarios.absent_class": Entry(0.02),
    "scenarios.atoms": Entry(0.02),
    "scenarios.binary_gaussians": Entry(0.02),
    "scenarios.covariance_shift_gaussians": Entry(
        0.1,
        {
            "source_covariance": made(lambda s: np.diag(s.weights(2))),
            "target_covariance": made(lambda s: np.diag(s.weights(2))),
            "slope": kinds.real,
            "intercept": kinds.real,
        },
    ),
    "scenarios.fifty_classes": Entry(0.01),
    "scenarios.get": Entry(0.1, {"name": choice(*dfu.scenarios.names())}),
    "scenarios.heavy_imbalance": Entry(0.02),
    "scenarios.label_noise": Entry(
        0.1, {"p_plus": kinds.level, "p_minus": kinds.level, "p_test": kinds.level}
    ),
    "scenarios.names": Entry(0.01),
    "scenarios.perfect_classifier": Entry(0.02),
    "scenarios.rare_feature": Entry(0.05, {"n": kinds.effort_of(1, 2, 10, 100)}),
    "scenarios.register": Entry(
        0.05, {"name": choice("own", "é", "atoms")}, call=register_scenario
    ),
    "scenarios.three_gaussians": Entry(0.02),
    "scenarios.ties_everywhere": Entry(0.02),
    "scenarios.unregister": Entry(0.02, {"name": choice("none such", "")}),
    "scenarios.useless_classifier": Entry(0.02),
    "scenarios.wide_weights": Entry(0.02),
    "scenarios.AtomicLabelShift": Entry(
        0.1,
        {
            "description": choice("own", ""),
            "means": made(lambda s: s.np.normal(size=(s.K, 2))),
            "at_zero": kinds.unit_array,
            "source_prior": kinds.prior,
            "target_prior": kinds.prior,
        },
        heavy=True,
    ),
    "scenarios.FiniteScenario": Entry(
        0.1,
        {
            "description": choice("own", ""),
            "points": made(lambda s: np.arange(3.0)[:, None]),
            "source": made(lambda s: np.full((3, s.K), 1 / (3 * s.K))),
            "target": made(lambda s: np.tile(s.prior() / 3, (3, 1))),
        },
        heavy=True,
    ),
    "scenarios.GaussianCovariateShift": Entry(
        0.1,
        {
            "description": choice("own", ""),
            "source_covariance": made(lambda s: np.diag(s.weights(2))),
            "target_covariance": made(lambda s: np.diag(s.weights(2))),
            "slope": kinds.real,
            "intercept": kinds.real,
        },
    ),
    "scenarios.GaussianLabelShift": Entry(
        0.1,
        {
            "description": choice("own", ""),
            "means": made(lambda s: s.np.normal(size=(s.K, 2))),
            "covariance": made(lambda s: np.diag(s.weights(2))),
            "source_prior": kinds.prior,
            "target_prior": kinds.prior,
        },
        heavy=True,
    ),
    # theorems
    "theorems.Claim": Entry(
        0.1,
        {
            "event": choice("heads", ""),
            "at_least": optional(kinds.level),
            "at_most": optional(kinds.level),
            "equals": optional(kinds.level),
            "mean": kinds.flag,
        },
    ),
    "theorems.Design": Entry(
        0.05,
        {
            "parameters": choice({}, {"n": 3}),
            "claim": made(fitted.claim),
            "probability": choice(None, None, lambda: 0.5),
            "draw": choice(None, fitted._fair_coin),
        },
    ),
    "theorems.Experiment": Entry(
        0.05,
        {
            "name": choice("one coin", ""),
            "draw": choice(fitted._fair_coin),
            "claims": made(lambda s: (fitted.claim(s),)),
            "batch": kinds.effort_of(1, 10),
        },
    ),
    "theorems.Theorem": Entry(
        0.05,
        {
            "name": choice("fair-coin", "coin"),
            "title": choice("A coin", ""),
            "reference": choice("folklore", ""),
            "statement": choice("It is fair.", ""),
            "assumptions": choice((), ("none",), ["a", "b"]),
            "experiments": made(lambda s: (fitted.experiment(s),)),
            "controls": choice((), []),
            "family": choice("own"),
            "designs": choice(None, fitted._designs),
            "unsearched": choice("", "", "an asymptotic promise"),
        },
    ),
    "theorems.as_event": Entry(
        0.05, {"mean": kinds.uniforms, "generator": kinds.generator}
    ),
    "theorems.get": Entry(0.05, {"name": choice("split-coverage", "no such")}),
    "theorems.names": Entry(0.01),
    "theorems.register": Entry(
        0.05, {"theorem": made(fitted.a_theorem)}, call=register_theorem
    ),
    "theorems.search": Entry(
        0.01,
        {
            "name": made(fitted.a_theorem),
            "budget": kinds.effort_of(0.001, 0.01),
            "n_designs": kinds.effort_of(1, 2, 3),
        },
    ),
    "theorems.unregister": Entry(0.02, {"name": choice("none such", "")}),
    "theorems.verify": Entry(
        0.05,
        {
            "theorems": made(fitted.a_theorem),
            "n_sim": kinds.effort_of(1, 2, 50),
            "effort": choice("fast", "standard", "thorough"),
        },
    ),
}
