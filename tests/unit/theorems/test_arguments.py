"""Theorems of one's own are made of words, functions and claims, which are checked."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import theorems

CLAIM = theorems.Claim("heads", equals=0.5, tolerance=0.2)


def heads(generator, n_draws):
    return {"heads": generator.random(n_draws) < 0.5}


COIN = theorems.Experiment("coin", heads, (CLAIM,))
WORDS = {"title": "A coin", "reference": "-", "statement": "-", "assumptions": ()}


def own(**changes):
    given = {"name": "fair-coin", **WORDS, "experiments": (COIN,), **changes}
    return theorems.Theorem(**given)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: theorems.Claim(5, equals=0.5), "event"),
        (lambda: theorems.Claim("heads", equals=0.5, mean=np.ones(2)), "mean"),
        (lambda: CLAIM.verdict("a", 1.0), "low"),
        (lambda: CLAIM.verdict(0.5, 2.0), "high"),
        (lambda: CLAIM.verdict(0.5, 1.0, -1.0), "tolerance"),
        (lambda: theorems.Experiment(b"coin", heads, (CLAIM,)), "name"),
        (lambda: theorems.Experiment("coin", heads, 3.0), "claims"),
        (lambda: theorems.Experiment("coin", heads, ()), "claims"),
        (lambda: theorems.Experiment("coin", heads, ("heads",)), "claims"),
        (lambda: COIN.count(0.5, 10), "generator"),
        (lambda: COIN.count(np.random.default_rng(0), -1), "n_draws"),
        (lambda: own(title=None), "title"),
        (lambda: own(experiments=3), "experiments"),
        (lambda: own(controls=["coin"]), "controls"),
        (lambda: own(assumptions="fair"), "assumptions"),
        (lambda: own(designs=1), "designs"),
        (lambda: theorems.Design([], CLAIM, draw=heads), "parameters"),
        (lambda: theorems.Design({}, "heads", draw=heads), "claim"),
        (lambda: theorems.Design({}, CLAIM, probability=0.5), "probability"),
        (lambda: theorems.Design({}, CLAIM, draw=heads).excess(2.0), "probability"),
        (
            lambda: theorems.Design({}, CLAIM, probability=lambda: 0.5).count(
                np.random.default_rng(0), 10
            ),
            "n_draws",
        ),
        (lambda: theorems.as_event([0.5], None), "generator"),
        (lambda: theorems.as_event([1.5], np.random.default_rng(0)), "mean"),
        (lambda: theorems.as_event(["a"], np.random.default_rng(0)), "mean"),
        (lambda: theorems.get([]), "name"),
        (lambda: theorems.get("nonsense"), "name"),
        (lambda: theorems.unregister({}), "name"),
        (lambda: theorems.search("nonsense"), "name"),
        (lambda: theorems.verify("nonsense"), "theorems"),
        (lambda: theorems.verify(7), "theorems"),
        (lambda: theorems.verify(own(), n_jobs=np.zeros(2)), "n_jobs"),
        (lambda: theorems.verify(own(), progress="yes"), "progress"),
        (lambda: theorems.register(own(), replace=1), "replace"),
    ],
)
def test_the_parameter_that_is_wrong_is_named(call, parameter):
    with pytest.raises(dfu.InputError, match=f"^The '{parameter}' parameter of "):
        call()


def test_a_mean_that_rounding_moved_out_of_the_unit_interval_is_one():
    generator = np.random.default_rng(0)
    assert theorems.as_event(np.array([1.0 + 1e-15] * 3), generator).all()
