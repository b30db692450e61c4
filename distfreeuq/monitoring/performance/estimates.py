"""All rows of the table for one pair of samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.quantiles import normal_margin
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq._numerics.unit_bins import equal_width
from distfreeuq.bounds import unchecked
from distfreeuq.monitoring.performance.certificates import (
    ShiftRows,
    certified_interval,
    known_prior_interval,
    shift_rows,
)
from distfreeuq.monitoring.performance.data import Rows, float_rows
from distfreeuq.monitoring.performance.guarantees import (
    ESTIMATED,
    LEARNT,
    PRIORS,
)
from distfreeuq.monitoring.performance.labelled_rows import Combination, combine
from distfreeuq.monitoring.performance.mean_intervals import (
    NONE,
    Ends,
    absolute_sum_interval,
    bounded_mean_interval,
    recall_ends,
    score_interval,
)
from distfreeuq.monitoring.performance.target_means import (
    Design,
    EstimatedPriors,
    GivenPriors,
    RowWeights,
)

NLL_CLIP = 1e-6
"""Probabilities below it count as it in the negative log-likelihood."""

N_BINS = 15
"""Bins of the calibration error, of equal width."""

# Losses rest on the rows that are wrong. With fewer of these in effect, intervals allow
# for wrong rows that the sample has not shown.
_ENOUGH_WRONG = 20.0

# With more classes, precisions and confusions have no finite-sample intervals: each
# takes a search of its own.
_FEW_CLASSES = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table: what it is of, the value in both samples, its intervals."""

    metric: str
    of_class: int
    predicted: int
    source: float
    estimate: float
    limit: Ends
    exact: Ends


@dataclass(slots=True)
class Estimator:
    """Estimates one metric after the other for one pair of samples.

    Attributes
    ----------
    rows : Rows
    design : EstimatedPriors, GivenPriors or RowWeights
        What carries means to the target.
    kind : str
        The design's name among `guarantees.DESIGNS`.
    told : bool
        Whether the design identifies the means.
    prior : ndarray (K,)
        The target's proportions in point estimates, those of the shift's own estimate;
        NaN if they are not known.
    weight_bound : float or None
    alpha, delta : float
    """

    rows: Rows
    design: Design
    kind: str
    told: bool
    prior: FloatArray
    weight_bound: float | None
    alpha: float
    delta: float
    _certificates: dict[float, ShiftRows] = field(default_factory=dict)

    # -------------------------------------------------------------------- single losses

    def loss(
        self,
        metric: str,
        values: FloatArray,
        low: float,
        high: float,
        of_class: int = -1,
        predicted: int = -1,
        *,
        exact: bool = True,
        labelled: FloatArray | None = None,
    ) -> Entry:
        """Return the row of a mean loss; `labelled`: in the labelled target rows."""
        m = self.rows.predicted_target.size
        means = self.design.estimate(values[:, None], np.zeros((m, 1)))
        raw, variance = float(means.values[0]), float(means.covariance[0, 0])
        estimate = self._point(values, raw)
        told = self.told
        few = self._few_wrong()
        if math.isfinite(high - low) and (few or not np.ptp(values) > 0.0):
            # rows that are all alike show no noise, but are no more than they are
            unseen = self.design.of_half_a_row() * (high - low) ** 2
            variance = max(variance, unseen)
        if labelled is not None and labelled.size:
            found = self._combination(values, raw, variance, labelled, low, high)
            raw, estimate = found.of(raw), found.of(estimate)
            variance, told = found.variance, True
        estimate = min(max(estimate, low), high)
        limit = NONE
        if told and self.kind != LEARNT and (math.isfinite(high - low) or not few):
            limit = score_interval(raw, variance, low, high, self.alpha)
        certified = NONE
        if exact and math.isfinite(high - low):
            certified = self._certified_with(values, low, high, labelled)
        return Entry(
            metric,
            of_class,
            predicted,
            float(values.mean()),
            _into(limit, estimate),
            limit,
            certified,
        )

    def _few_wrong(self) -> bool:
        """Return whether few source rows are wrong, as they count for the target."""
        return self._few(self.rows.predicted != self.rows.samples.labels)

    def _few(self, wrong: BoolArray) -> bool:
        """Return whether these are few in effect: by themselves, or of all rows."""
        if isinstance(self.design, RowWeights):
            weight = self.design.weight
        else:
            labels = self.rows.samples.labels
            counts = np.bincount(labels, minlength=self.prior.size)
            weight = (self.prior / np.maximum(counts, 1))[labels]
        total = float(weight.sum())
        if total <= 0.0:
            return True
        of_all = float(weight[wrong].sum()) / total * effective_sample_size(weight)
        return min(effective_sample_size(weight[wrong]), of_all) < _ENOUGH_WRONG

    def _combination(
        self,
        values: FloatArray,
        raw: float,
        variance: float,
        labelled: FloatArray,
        low: float,
        high: float,
    ) -> Combination:
        """Return how labelled rows and what the source carries make one estimate."""
        h: FloatArray = np.zeros(self.rows.predicted_target.size)
        if isinstance(self.design, EstimatedPriors) and self.told:
            h = self.design.carried(values)
        useful = self.told and math.isfinite(raw)
        width = high - low
        if not math.isfinite(width):
            width = float(np.ptp(np.append(values, labelled)))
        return combine(
            variance if useful else math.inf, labelled, h, h[self.rows.labelled], width
        )

    def _certified_with(
        self, values: FloatArray, low: float, high: float, labelled: FloatArray | None
    ) -> Ends:
        """Return the interval; with labelled rows, the common part of two.

        Each of them fails with probability delta / 2 at most.
        """
        if labelled is None or not labelled.size:
            return self._certified(values, low, high, self.delta)
        delta = self.delta / 2.0
        ends = self._certified(values, low, high, delta)
        ones = np.ones(labelled.size)
        own = bounded_mean_interval(labelled, ones, 1.0, low, high, delta)
        if math.isnan(ends[0]):
            return bounded_mean_interval(labelled, ones, 1.0, low, high, self.delta)
        start, stop = max(ends[0], own[0]), min(ends[1], own[1])
        # nothing is in both: what is assumed is wrong, or one of them has failed
        return (
            (start, stop) if start <= stop else (min(ends[0], own[0]), max(*ends, *own))
        )

    def _labelled(self, of: Callable[[Rows], FloatArray]) -> FloatArray | None:
        """Return losses in the labelled target rows; None without labels."""
        if not self.rows.labelled.size:
            return None
        return of(self.rows.of_labelled())

    def _of(
        self,
        metric: str,
        of: Callable[[Rows], FloatArray],
        high: float,
        of_class: int = -1,
        predicted: int = -1,
        *,
        exact: bool = True,
    ) -> Entry:
        """Return the row of a loss in [0, high] that is a function of rows."""
        return self.loss(
            metric,
            of(self.rows),
            0.0,
            high,
            of_class,
            predicted,
            exact=exact,
            labelled=self._labelled(of),
        )

    def _point(self, values: FloatArray, raw: float) -> float:
        """Return sum_j q_j L_j with the proportions of the shift's own estimate.

        Those of the moment equations, on which intervals rest, vary much more where
        classes are many or hardly told apart. The estimate is moved into its interval,
        which needs nothing calibrated.
        """
        if self.kind != ESTIMATED:
            return raw
        labels = self.rows.samples.labels
        counts = np.bincount(labels, minlength=self.prior.size)
        sums = np.bincount(labels, weights=values, minlength=self.prior.size)
        return float(self.prior @ (sums / np.maximum(counts, 1)))

    def _certified(
        self, values: FloatArray, low: float, high: float, delta: float
    ) -> Ends:
        labels = self.rows.samples.labels
        if self.kind == ESTIMATED:
            return certified_interval(values, low, high, self._shift_rows(delta))
        if self.kind == PRIORS:
            return known_prior_interval(values, low, high, labels, self.prior, delta)
        if self.weight_bound is None or self.kind == LEARNT:
            return NONE
        assert isinstance(self.design, RowWeights)
        if math.isinf(self.weight_bound):
            return low, high
        return bounded_mean_interval(
            values, self.design.weight, self.weight_bound, low, high, delta
        )

    def _shift_rows(self, delta: float) -> ShiftRows:
        if delta not in self._certificates:
            of = self.rows.samples
            self._certificates[delta] = shift_rows(
                of.probs,
                of.labels,
                of.probs_target,
                self.rows.predicted,
                self.rows.predicted_target,
                delta,
            )
        return self._certificates[delta]

    # ---------------------------------------------------------------------- the metrics

    def accuracy(self) -> list[Entry]:
        """Return the row of the accuracy."""
        return [self._of("accuracy", _hits, 1.0)]

    def brier(self) -> list[Entry]:
        """Return the row of the Brier score."""
        return [self._of("brier", _brier, 2.0)]

    def nll(self) -> list[Entry]:
        """Return the row of the clipped negative log-likelihood."""
        return [self._of("nll", _nll, -math.log(NLL_CLIP))]

    def recall(self) -> list[Entry]:
        """Return a row for each class's recall, which label shift does not change."""
        if self.kind not in (ESTIMATED, PRIORS, "weights"):
            return self._weighted_recall()
        labels = self.rows.samples.labels
        k = self.prior.size
        counts = np.bincount(labels, minlength=k)
        hits = np.bincount(labels[labels == self.rows.predicted], minlength=k)
        out = []
        for c in range(k):
            value = float(hits[c] / counts[c]) if counts[c] else math.nan
            ends = recall_ends(float(hits[c]), float(counts[c]), self.alpha, self.delta)
            out.append(Entry("recall", c, -1, value, value, *ends))
        return out

    def _weighted_recall(self) -> list[Entry]:
        """Return recalls under covariate shift: a mean over the class's own rows."""
        labels = self.rows.samples.labels
        out = []
        for c in range(self.prior.size):
            own = np.flatnonzero(labels == c)
            if not own.size:
                out.append(Entry("recall", c, -1, *(math.nan,) * 2, NONE, NONE))
                continue
            part = self._of_rows(own)
            hits = (self.rows.predicted[own] == c) * 1.0
            row = part.loss("recall", hits, 0.0, 1.0, c)
            out.append(row)
        return out

    def _of_rows(self, source: IntArray) -> Estimator:
        assert isinstance(self.design, RowWeights)
        every = np.arange(self.rows.predicted_target.size)
        return Estimator(
            self.rows.take(source, every),
            RowWeights(self.design.weight[source]),
            self.kind,
            self.told,
            self.prior,
            self.weight_bound,
            self.alpha,
            self.delta,
        )

    def balanced_accuracy(self) -> list[Entry]:
        """Return the row of the mean recall of the classes with source rows."""
        labels, k = self.rows.samples.labels, self.prior.size
        hits = (self.rows.predicted == labels) * 1.0
        if self.kind not in (ESTIMATED, PRIORS, "weights"):
            recalls = np.array([row.estimate for row in self._weighted_recall()])
            known = recalls[~np.isnan(recalls)]
            value = float(known.mean()) if known.size else math.nan
            here = np.bincount(labels, minlength=k) > 0
            rates = np.bincount(labels, weights=hits, minlength=k)[here]
            of_source = float((rates / np.bincount(labels, minlength=k)[here]).mean())
            return [Entry("balanced_accuracy", -1, -1, of_source, value, NONE, NONE)]
        here = np.bincount(labels, minlength=k) > 0
        equal = here / here.sum()
        design = GivenPriors(labels, equal)
        means = design.estimate(hits[:, None], np.zeros((1, 1)))
        value, variance = float(means.values[0]), float(means.covariance[0, 0])
        if self._few_wrong():
            variance = max(variance, design.of_half_a_row())
        limit = score_interval(value, variance, 0.0, 1.0, self.alpha)
        exact = known_prior_interval(hits, 0.0, 1.0, labels, equal, self.delta)
        limit, exact = (_with_unseen(ends, here) for ends in (limit, exact))
        return [Entry("balanced_accuracy", -1, -1, value, value, limit, exact)]

    def precision(self) -> list[Entry]:
        """Return a row for each class's precision: a ratio of two means."""
        rows, k = self.rows, self.prior.size
        right = rows.predicted == rows.samples.labels
        m = rows.predicted_target.size
        out = []
        for c in range(k):
            hits = (right & (rows.predicted == c)) * 1.0
            said = (rows.predicted_target == c) * 1.0
            own = rows.predicted == c
            of_source = float(right[own].mean()) if own.any() else math.nan
            share = float(said.mean())
            if share == 0.0:
                out.append(
                    Entry("precision", c, -1, of_source, math.nan, NONE, (0.0, 1.0))
                )
                continue
            means = self.design.estimate(hits[:, None], np.zeros((m, 1)))
            raw = float(means.values[0])
            value = min(max(self._point(hits, raw) / share, 0.0), 1.0)
            limit, exact = NONE, NONE
            if self.told and self.kind != LEARNT:
                # the ratio is b where the mean of l - b 1{predicted} is zero
                at = self.design.estimate(hits[:, None], -value * said[:, None])
                variance = float(at.covariance[0, 0]) / share**2
                if self._few(own & ~right):
                    unseen = self.design.of_half_a_row() / share**2
                    variance = max(variance, unseen)
                limit = self._ratio_interval(raw / share, variance)
            if k <= _FEW_CLASSES and self.kind != LEARNT:
                exact = self._certified_ratio(hits, float(said.sum()), m)
            out.append(
                Entry("precision", c, -1, of_source, _into(limit, value), limit, exact)
            )
        return out

    def _ratio_interval(self, ratio: float, variance: float) -> Ends:
        """Return the interval of a precision.

        Where the source's part owes nothing to the target rows, the noise of either is
        not less near one: the normal interval counts too.
        """
        limit = score_interval(ratio, variance, 0.0, 1.0, self.alpha)
        if self.kind == ESTIMATED or not math.isfinite(variance):
            return limit
        half = normal_margin(self.alpha) * math.sqrt(variance)
        low, high = (min(max(end, 0.0), 1.0) for end in (ratio - half, ratio + half))
        return min(limit[0], low), max(limit[1], high)

    def _certified_ratio(self, hits: FloatArray, said: float, m: int) -> Ends:
        """Return ends of a ratio: of its two means, at delta / 2 each."""
        low, high = self._certified(hits, 0.0, 1.0, self.delta / 2.0)
        if math.isnan(low):
            return NONE
        least, most = (
            float(x) for x in unchecked.clopper_pearson(said, m, self.delta / 2.0)
        )
        return min(low / most, 1.0), min(high / least, 1.0) if least > 0.0 else 1.0

    def confusion(self) -> list[Entry]:
        """Return a row for each pair of a predicted and a true class: its share."""
        k = self.prior.size
        return [
            self._of(
                "confusion", partial(_pair, i, j), 1.0, j, i, exact=k <= _FEW_CLASSES
            )
            for i in range(k)
            for j in range(k)
        ]

    def ece(self) -> list[Entry]:
        """Return the row of the expected calibration error."""
        gaps, covariance, of_source = self._gaps()
        estimate = float(np.abs(gaps).sum())
        limit = NONE
        if self.told and self.kind != LEARNT:
            limit = absolute_sum_interval(gaps, covariance, self.alpha)
        estimate = min(estimate, 1.0)
        return [
            Entry("ece", -1, -1, of_source, estimate, _around(limit, estimate), NONE)
        ]

    def _gaps(self) -> tuple[FloatArray, FloatMatrix, float]:
        """Return accuracy less confidence in each bin, weighted by the bin's share."""
        rows = self.rows
        bins = equal_width(N_BINS)
        of = rows.samples
        confidence = of.probs[np.arange(of.labels.size), rows.predicted]
        new = of.probs_target[
            np.arange(rows.predicted_target.size), rows.predicted_target
        ]
        cell, cell_target = bins.assign(confidence), bins.assign(new)
        here = np.unique(np.concatenate([cell, cell_target]))
        hits = (rows.predicted == of.labels) * 1.0
        inside = (cell[:, None] == here) * 1.0
        losses = inside * hits[:, None]
        known = (cell_target[:, None] == here) * -float_rows(new)[:, None]
        means = self.design.estimate(losses, known)
        covariance = means.covariance
        if self._few_wrong():
            shares = (cell_target[:, None] == here).mean(axis=0)
            covariance = covariance + np.diag(shares * self.design.of_half_a_row())
        apart = (losses - inside * float_rows(confidence)[:, None]).mean(axis=0)
        return means.values, covariance, float(np.abs(apart).sum())

    def sets(self) -> list[Entry]:
        """Return the rows of the sets' coverage and of their mean size."""
        sets, new = self.rows.sets, self.rows.sets_target
        assert sets is not None and new is not None
        k = self.prior.size
        sizes = new.sum(axis=1).astype(np.float64)
        m = sizes.size
        variance = (float(sizes.var()) * m + k**2 / (4.0 * m)) / max(m - 1, 1) / m
        limit = score_interval(float(sizes.mean()), variance, 0.0, float(k), self.alpha)
        ones = np.ones(m)
        exact = bounded_mean_interval(sizes, ones, 1.0, 0.0, float(k), self.delta)
        return [
            self._of("coverage", _held, 1.0),
            Entry(
                "size",
                -1,
                -1,
                float(sets.sum(axis=1).mean()),
                float(sizes.mean()),
                limit,
                exact,
            ),
        ]


def _hits(rows: Rows) -> FloatArray:
    return np.asarray((rows.predicted == rows.samples.labels) * 1.0)


def _brier(rows: Rows) -> FloatArray:
    probs = float_rows(rows.samples.probs)
    score = np.square(probs).sum(axis=1) - 2.0 * _own(rows) + 1.0
    return np.asarray(np.clip(score, 0.0, 2.0))


def _nll(rows: Rows) -> FloatArray:
    return np.asarray(-np.log(np.clip(_own(rows), NLL_CLIP, 1.0)))


def _own(rows: Rows) -> FloatArray:
    """Return the probabilities of the true labels."""
    labels = rows.samples.labels
    return float_rows(rows.samples.probs)[np.arange(labels.size), labels]


def _pair(predicted: int, label: int, rows: Rows) -> FloatArray:
    found = (rows.predicted == predicted) & (rows.samples.labels == label)
    return np.asarray(found * 1.0)


def _held(rows: Rows) -> FloatArray:
    labels = rows.samples.labels
    assert rows.sets is not None
    return np.asarray(rows.sets[np.arange(labels.size), labels] * 1.0)


def _with_unseen(ends: Ends, seen: BoolArray) -> Ends:
    """Return ends of the mean recall if classes without source rows may have any."""
    share = float(seen.sum()) / seen.size
    return share * ends[0], share * ends[1] + (1.0 - share)


def _into(ends: Ends, value: float) -> float:
    """Return the value, or the nearer end of an interval that it is outside of."""
    if math.isnan(ends[0]) or math.isnan(value):
        return value
    return min(max(value, ends[0]), ends[1])


def _around(ends: Ends, value: float) -> Ends:
    """Return an interval that holds the estimate; none if there is none."""
    if math.isnan(ends[0]) or math.isnan(value):
        return ends
    return min(ends[0], value), max(ends[1], value)
