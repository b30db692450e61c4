"""Scores of the true labels and of all labels, and the validation that goes before."""

from collections.abc import Iterator

import numpy as np

import distfreeuq as dfu
from distfreeuq._kernels import _checks
from distfreeuq._kernels.threads import threads_for

from . import by_hand, data
from .harness import Job, Target

ONE_READ = "probs.sum()"
SIZES = [(10_000, 10), (10_000, 100), (10_000, 1000), (1000, 100), (100_000, 100)]


def jobs() -> Iterator[Job]:
    yield from validation()
    for n, n_classes in SIZES:
        yield true_labels(n, n_classes)
    yield true_labels(10_000, 1000, dtype="float32")
    for name in by_hand.SCORES:
        if name != "aps":
            yield true_labels(10_000, 1000, score=name)
    for n_classes in (10, 100, 1000):
        yield all_labels(10_000, n_classes)


def validation() -> Iterator[Job]:
    for n, n_classes, dtype in [
        (1000, 1000, "float64"),
        (10_000, 1000, "float64"),
        (30_000, 1000, "float64"),
        (10_000, 1000, "float32"),
        (100_000, 10, "float64"),
    ]:
        probs, _ = data.rows(n, n_classes, dtype=dtype)
        yield Job(
            name="validation pass",
            size={"n": n, "K": n_classes},
            dtype=dtype,
            ours=lambda probs=probs: _checks._first_bad_row(
                probs, True, 1e-4, threads_for(probs.size)
            ),
            yardsticks={ONE_READ: probs.sum},
            reads=probs.nbytes,
            targets=(Target(ONE_READ, ratio=0.5),) if n_classes == 1000 else (),
        )


def true_labels(
    n: int, n_classes: int, score: str = "aps", dtype: str = "float64"
) -> Job:
    probs, labels = data.rows(n, n_classes, dtype=dtype)
    uniforms = np.random.default_rng(1).random(n)
    large = probs.nbytes > 1 << 25
    return Job(
        name=f"{score.upper()} scores of the true labels",
        size={"n": n, "K": n_classes},
        dtype=dtype,
        ours=lambda: dfu.nested_scores(probs, labels, score=score, uniforms=uniforms),
        peers={"NumPy": lambda: by_hand.SCORES[score](probs, labels, uniforms)},
        yardsticks={ONE_READ: probs.sum},
        reads=0 if score == "lac" else probs.nbytes,
        targets=(Target(ONE_READ, ratio=0.5),) if large and score == "aps" else (),
    )


def all_labels(n: int, n_classes: int) -> Job:
    probs, _ = data.rows(n, n_classes)
    uniforms = np.random.default_rng(1).random(n)
    return Job(
        name="APS scores of all labels",
        size={"n": n, "K": n_classes},
        ours=lambda: dfu.nested_scores(probs, uniforms=uniforms),
        peers={"NumPy": lambda: by_hand.all_aps_scores(probs, uniforms)},
        reads=probs.nbytes,
    )
