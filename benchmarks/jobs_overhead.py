"""Small inputs, as simulation studies repeat them: what a call costs by itself."""

from collections.abc import Iterator

import numpy as np

import distfreeuq as dfu
from distfreeuq._base.arguments import Arguments

from . import by_hand, data
from .harness import Job, Target

N_CLASSES = 10


def jobs() -> Iterator[Job]:
    for n in (100, 1000, 10_000):
        yield fit(n)
    for n in (1, 100, 10_000):
        yield predict(n)
    yield validate(1000)
    for n in (100, 1000, 10_000):
        yield study(n)


def fit(n: int) -> Job:
    probs, labels = data.rows(n, N_CLASSES)

    def by_numpy() -> float:
        uniforms = np.random.default_rng(2).random(n)
        scores = by_hand.aps_scores(probs, labels, uniforms)
        return by_hand.conformal_threshold(scores, 0.1)

    return Job(
        name="split_conformal",
        size={"n": n, "K": N_CLASSES},
        threads=(1,),
        ours=lambda: dfu.split_conformal(
            probs, labels, rng=np.random.default_rng(2)
        ).thresholds.max(),
        peers={"NumPy": by_numpy},
        targets=(Target(seconds=200e-6),) if n == 1000 else (),
    )


def predict(n: int) -> Job:
    probs, labels = data.rows(1000, N_CLASSES)
    fitted = dfu.split_conformal(probs, labels, rng=np.random.default_rng(2))
    threshold = float(fitted.thresholds[0])
    new_probs, _ = data.rows(n, N_CLASSES, seed=1)

    def by_numpy() -> np.ndarray:
        uniforms = np.random.default_rng(3).random(n)
        return by_hand.aps_sets_by_argsort(new_probs, threshold, uniforms)

    return Job(
        name="predict after split_conformal",
        size={"n": n, "K": N_CLASSES},
        threads=(1,),
        ours=lambda: fitted.predict(new_probs, rng=np.random.default_rng(3)).mask,
        peers={"NumPy": by_numpy},
    )


def study(n: int) -> Job:
    """Return the job: a hundred replicates of a fit and a prediction."""
    probs, labels = data.rows(n, N_CLASSES)

    def procedure(draw: int, generator: np.random.Generator) -> dict[str, float]:
        del draw
        fit = dfu.split_conformal(probs, labels, rng=generator)
        return {"size": float(fit.predict(probs[:1], rng=generator).sizes[0])}

    return Job(
        name="simulate, 100 replicates",
        size={"n": n, "K": N_CLASSES},
        threads=(1,),
        ours=lambda: len(
            dfu.simulate(lambda generator: 0, procedure, 100, rng=0).to_frame()
        ),
    )


def validate(n: int) -> Job:
    """Return the job: the part of a fit that looks at the input."""
    probs, labels = data.rows(n, N_CLASSES)
    args = Arguments("benchmark")

    def ours() -> int:
        matrix, classes = args.probs(probs)
        return int(args.labels(labels, classes, matrix.shape[0])[0])

    return Job(
        name="validation of probs and labels",
        size={"n": n, "K": N_CLASSES},
        threads=(1,),
        ours=ours,
    )
