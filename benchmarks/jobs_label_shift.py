"""Label shift: BBSE and maximum likelihood, 50,000 source and 100,000 target rows."""

import contextlib
import io
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

import distfreeuq as dfu
from distfreeuq._numerics.mixture_likelihood import maximize_likelihood

from .harness import OURS, Job, Target, peer, second_core

N, M, K = 50_000, 100_000, 100
SIZE = {"n": N, "m": M, "K": K}
PASSES = (
    "four fifths of the time are passes over 80 MB, to which the second core adds "
    "a quarter"
)
OVERLAP = {"overlapping": 1.5, "sharp": 4.0}
"""Distance of the class means in standard deviations: accuracies of 0.2 and 0.9."""


@lru_cache(maxsize=1)
def samples(separation: float) -> tuple[Any, Any, Any]:
    """Return source posteriors, labels, and target posteriors of Gaussian classes."""
    rng = np.random.default_rng(0)
    source, target = rng.dirichlet(np.full(K, 5.0)), rng.dirichlet(np.full(K, 1.0))

    def draw(rows: int, prior: Any) -> tuple[Any, Any]:
        labels = rng.choice(K, p=prior, size=rows)
        logits = rng.standard_normal((rows, K))
        logits[np.arange(rows), labels] += separation
        logits = separation * logits + np.log(source)
        probs = np.exp(logits - logits.max(axis=1, keepdims=True))
        return probs / probs.sum(axis=1, keepdims=True), labels

    probs, labels = draw(N, source)
    return probs, labels, draw(M, target)[0]


def jobs() -> Iterator[Job]:
    for variant, separation in OVERLAP.items():
        yield bbse(variant, separation)
        yield likelihood(variant, separation)
        yield mlls(variant, separation)


def bbse(variant: str, separation: float) -> Job:
    probs, labels, target = samples(separation)
    one_hot = np.eye(K)[labels]

    def abstention() -> Any:
        from abstention.label_shift import BBSEImbalanceAdapter

        with contextlib.redirect_stdout(io.StringIO()):
            fit = BBSEImbalanceAdapter(soft=False)(
                valid_labels=one_hot,
                tofit_initial_posterior_probs=target,
                valid_posterior_probs=probs,
            )
        return np.maximum(fit.multipliers, 0.0)

    def check(results: Mapping[str, Any]) -> None:
        for got in results.values():  # they do not divide by sum p w
            np.testing.assert_allclose(
                got / got.max(), results[OURS] / results[OURS].max(), atol=1e-6
            )

    return Job(
        name="BBSE",
        size=SIZE,
        variant=variant,
        ours=lambda: dfu.bbse(probs, labels, target).label_weight,
        peers=peer("abstention", "abstention", abstention),
        check=check,
        reads=probs.nbytes + target.nbytes,
        targets=(Target("abstention", ratio=10.0),),
    )


def likelihood(variant: str, separation: float) -> Job:
    probs, labels, target = samples(separation)
    prior = probs.mean(axis=0)
    one_hot = np.eye(K)[labels]

    def quapy() -> Any:
        from quapy.method.aggregative import EMQ

        return EMQ.EM(prior, target, epsilon=1e-4)[0]

    def abstention() -> Any:
        from abstention.label_shift import EMImbalanceAdapter

        with contextlib.redirect_stdout(io.StringIO()):
            fit = EMImbalanceAdapter()(
                valid_labels=one_hot,
                tofit_initial_posterior_probs=target,
                valid_posterior_probs=probs,
            )
        return fit.multipliers * prior

    def check(results: Mapping[str, Any]) -> None:
        """Refuse a likelihood that another one beats; others stop short of it."""
        scaled = target / prior
        reached = {
            name: np.log(scaled @ (q / q.sum())).mean() for name, q in results.items()
        }
        assert max(reached.values()) <= reached[OURS] + 1e-12, reached

    targets: tuple[Target, ...] = (
        Target("quapy, stops early", ratio=5.0),
        Target(seconds=0.3),
        second_core(PASSES),
    )
    if variant == "overlapping":  # where classes stand apart, EM needs few passes
        targets += (Target("abstention, stops early", ratio=20.0),)
    return Job(
        name="likelihood of the target prior",
        size={"m": M, "K": K},
        variant=variant,
        ours=lambda: maximize_likelihood(target, prior).prior,
        peers={
            **peer("quapy", "quapy, stops early", quapy),
            **peer("abstention", "abstention, stops early", abstention),
        },
        check=check,
        reads=target.nbytes,
        targets=targets,
    )


def mlls(variant: str, separation: float) -> Job:
    """Return the whole estimate: calibration, likelihood, standard errors, test."""
    probs, labels, target = samples(separation)
    return Job(
        name="MLLS with BCTS and standard errors",
        size=SIZE,
        variant=variant,
        ours=lambda: dfu.mlls(probs, labels, target).label_weight,
        reads=probs.nbytes + target.nbytes,
        exponentials=probs.size + target.size,
    )
