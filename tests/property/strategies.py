"""Hypothesis strategies for rows of probabilities, scores, uniforms and thresholds."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from tests import reference_kernels as twin
from tests.property import kernel_calls as kernel

SCORES = {
    "lac": (twin.LAC, 0.0, 0.0, 0.0),
    "aps": (twin.APS, 0.0, 0.0, 0.0),
    "raps": (twin.RAPS, 0.01, 2.0, 0.0),
    "saps": (twin.SAPS, 0.0, 0.0, 0.2),
    "rank": (twin.RANK, 0.0, 0.0, 0.0),
    "margin": (twin.MARGIN, 0.0, 0.0, 0.0),
}

kernel_scores = st.one_of(
    st.sampled_from(list(SCORES.values())),
    st.tuples(
        st.just(twin.RAPS),
        st.sampled_from([0.0, 0.3, 1e300]),
        st.sampled_from([0.0, 1.0, 5.0, 100.0]),
        st.just(0.0),
    ),
    st.tuples(
        st.just(twin.SAPS), st.just(0.0), st.just(0.0), st.sampled_from([0.0, 1.0, 7.3])
    ),
)

uniform_numbers = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0))


@dataclass
class Rows:
    """A score, rows of probabilities, and a label and a uniform for each row."""

    score: tuple
    probs: np.ndarray
    labels: np.ndarray
    uniforms: np.ndarray

    @property
    def n_classes(self):
        return self.probs.shape[1]


@st.composite
def probability_rows(draw, n_classes, over_one=False):
    """Draw one row (K,): tied, one-hot, continuous, peaked, or mostly below 2^-52."""
    kinds = ["tied", "one-hot", "continuous", "peaked", "tiny"]
    kind = draw(st.sampled_from([*kinds, "over one"] if over_one else kinds))
    if kind == "tied":
        entries = st.lists(st.integers(0, 3), min_size=n_classes, max_size=n_classes)
        row = np.array(draw(entries.filter(any)), dtype=np.float64)
    elif kind in ("one-hot", "over one"):
        row = np.zeros(n_classes)
        row[draw(st.integers(0, n_classes - 1))] = 1.0
    else:
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        row = rng.standard_exponential(n_classes)
        if kind == "peaked":
            row = np.exp(10.0 * row)
        if kind == "tiny":
            row = row ** np.where(rng.random(n_classes) < 0.5, 1, 20) * 1e-18
            row[draw(st.integers(0, n_classes - 1))] = 1.0
    row = row / row.sum()
    return row * (1.0 + 5e-7) if kind == "over one" else row


@st.composite
def scored_rows(draw, max_rows=6, max_classes=40, scores=kernel_scores, over_one=False):
    """Draw `Rows` in single or double precision, some of the rows repeated.

    Now and then all of them, often enough for kernels that take many rows at a time.
    """
    small = st.integers(2, 5)
    n_classes = draw(st.one_of(st.just(2), small, st.integers(2, max_classes)))
    row = probability_rows(n_classes, over_one)
    distinct = np.array(draw(st.lists(row, min_size=1, max_size=max_rows)))
    which = st.lists(st.integers(0, len(distinct) - 1), min_size=1, max_size=max_rows)
    probs = distinct[draw(which)].astype(
        draw(st.sampled_from([np.float32, np.float64]))
    )
    n = len(probs)
    each = st.integers(0, n_classes - 1)
    labels = draw(st.lists(each, min_size=n, max_size=n))
    uniforms = draw(st.lists(uniform_numbers, min_size=n, max_size=n))
    every = np.tile(np.arange(n), draw(st.sampled_from([1, 1, 4, 11])))
    return Rows(
        draw(scores),
        probs[every],
        np.array(labels, dtype=np.int64)[every],
        np.array(uniforms)[every],
    )


@st.composite
def some_thresholds(draw, rows, size):
    """Draw thresholds (size,): scores of these rows, the numbers just below, +-inf.

    Half of the time they are all the same, as in split conformal prediction.
    """
    scores = kernel.all_label_scores(rows.score, rows.probs, rows.uniforms).ravel()
    attained = st.sampled_from(scores.tolist())
    number = st.one_of(
        attained,
        attained.map(lambda s: float(np.nextafter(s, -np.inf))),
        st.just(np.inf),
        st.sampled_from([-np.inf, 0.0, 0.5, 1.0]),
    )
    if draw(st.booleans()):
        return np.full(size, draw(number))
    return np.array(draw(st.lists(number, min_size=size, max_size=size)))


def class_thresholds(rows):
    """Return a strategy for one threshold per class."""
    return some_thresholds(rows, rows.n_classes)
