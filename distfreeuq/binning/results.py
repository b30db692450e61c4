"""What calibration by binning returns: a table of bins, and probabilities from it."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolArray,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.stored_state import (
    Size,
    State,
    column_names,
    count,
    floats,
    integers,
    maybe,
    part,
    part_or_none,
    rate,
    require,
    table_of_counts,
    text,
)
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq._numerics.unit_bins import Intervals
from distfreeuq.binning import guarantees
from distfreeuq.binning.data import read_target_weights
from distfreeuq.binning.label_shift_bins import TargetShift, TargetWeights
from distfreeuq.binning.radii import Radii, extremes, largest_radius
from distfreeuq.binning.scheme import FunctionCells
from distfreeuq.binning.simplex import SimplexCells
from distfreeuq.binning.uniform_mass import excepted_edges
from distfreeuq.exceptions import EmptyBinWarning, RowsOnEdgesWarning
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

    from distfreeuq.label_shift.results import LabelShiftResult

# Share of new rows on edges from which `predict` warns of them.
_FEW_ON_EDGES = 0.01


def bin_tables(by_bin: tuple[Size, ...], table: tuple[Size, ...]) -> State:
    """Return what the arrays of all modes may hold: by bin, and by probability."""
    share = floats(*table, low=0.0, high=1.0)
    return {
        "counts": table_of_counts(*table),
        "bin_counts": integers(*by_bin),
        "frequencies": share,
        "radius": floats(*by_bin, low=0.0, nan=False),
        "low": share,
        "high": share,
        "mean_probs": share,
        "effective_counts": maybe(floats(*by_bin, low=0.0)),
    }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BinningResult(Result):
    """Label frequencies in bins, with bounds that hold in all bins at once.

    Shapes are given for canonical mode; class-wise, each class has bins of its own, and
    everything that is (M,) there is (M, K), one column per class; in top-label mode
    everything is (M,). After `under_label_shift` frequencies, intervals and radii are
    those of the target.

    Attributes
    ----------
    counts : ndarray (M, K)
        Rows by bin and label; class-wise, the rows of each class in its own bins;
        top-label, the rows whose top label is right. With sample weights their weight.
    bin_counts : ndarray (M,)
        Rows N_m in each bin.
    frequencies : ndarray (M, K)
        Share of each label in each bin: the calibrated probabilities. NaN in bins
        without rows.
    radius : ndarray (M,)
        What the bound bounds: the L1 distance of the whole vector in canonical mode,
        the error of one probability in the others. At most the trivial 2 or 1.
    low, high : ndarray (M, K)
        Intervals of the probabilities, all of them at once.
    mean_probs : ndarray (M, K)
        The classifier's mean probabilities in each bin.
    fallback : ndarray (K,)
        What rows in bins without frequencies get: the class prior.
    n : int
        Rows that the frequencies come from, those on boundaries included.
    n_chose : int
        Rows that only chose the bins.
    n_boundary : int
        Rows on the boundaries of bins, which no bin counts.
    alpha : float
        Probability that some bin's bound fails.
    bound : str
        The bound used.
    scheme : str
    partition : Intervals, SimplexCells, FunctionCells, or a tuple of Intervals
        The bins themselves.
    classes : sequence
        Class names by column.
    effective_counts : ndarray (M,) or None
        With sample weights: (sum w)^2 / sum w^2 of each bin.
    label_counts : ndarray or None
        Rows by bin and label (and event), for `under_label_shift`.
    shift : TargetShift or None
        After `under_label_shift`: the weights, and both parts of the radius.
    guarantee : Guarantee or NoGuarantee
        What holds for the numbers that `predict` gives out.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> p1 = rng.random(2000)
    >>> labels = (rng.random(2000) < p1**2).astype(int)  # not calibrated
    >>> fit = dfu.histogram_binning(p1, labels, n_bins=5)
    >>> fit
    <CanonicalBinning alpha=0.1 n=2000 bins=5 K=2>
    >>> fit.edges.round(2).tolist()
    [0.0, 0.19, 0.39, 0.59, 0.81, 1.0]
    >>> fit.bin_counts.tolist(), fit.radius.round(2).tolist()
    ([400, 399, 399, 399, 399], [0.04, 0.08, 0.11, 0.12, 0.1])
    >>> fit.predict([0.1, 0.9]).round(3).tolist()
    [[0.985, 0.015], [0.173, 0.827]]
    """

    mode: ClassVar[str]

    counts: FloatMatrix | IntArray
    bin_counts: IntArray
    frequencies: FloatMatrix
    radius: FloatArray
    low: FloatMatrix
    high: FloatMatrix
    mean_probs: FloatMatrix
    fallback: FloatArray
    n: int
    n_chose: int
    n_boundary: int
    alpha: float
    bound: str
    scheme: str
    partition: Intervals | SimplexCells | FunctionCells | tuple[Intervals, ...]
    classes: Classes
    effective_counts: FloatArray | None
    label_counts: IntArray | None
    shift: TargetShift | None
    guarantee: Guarantee | NoGuarantee

    _state: ClassVar[State] = {
        "classes": column_names("K"),
        "n": count(),
        "n_chose": count(),
        "n_boundary": count(),
        "alpha": rate(),
        "bound": text(),
        "scheme": text(),
        "shift": part_or_none(TargetShift, same="K"),
        "guarantee": part(Guarantee, NoGuarantee),
    }

    def _validate_state(self) -> None:
        counted = self.bin_counts.sum(axis=0).max(initial=0)
        require(counted <= self.n, "no more rows in bins than rows")
        if isinstance(self.guarantee, Guarantee):
            require(self.guarantee.confidence is not None, "a stated confidence")
        if self.shift is not None:
            radii = (self.shift.source_radius, self.shift.weight_radius)
            same = all(radius.shape == self.radius.shape for radius in radii)
            require(same, "radii of all bins")

    def __repr__(self) -> str:
        """Return one line."""
        target = "" if self.shift is None else " under label shift"
        return (
            f"<{type(self).__name__} alpha={self.alpha:g} n={self.n} "
            f"bins={self.n_bins} K={len(self.classes)}{target}>"
        )

    def _arguments(self, method: str) -> Arguments:
        return Arguments(f"{type(self).__name__}.{method}")

    @property
    def n_bins(self) -> int:
        """Number of bins; class-wise, of all classes together."""
        assert not isinstance(self.partition, tuple)
        return self.partition.n_bins

    @property
    def edges(self) -> Any:
        """Edges of the bins from 0 to 1, shape (M + 1,); class-wise a tuple of such.

        Bin m is (edges[m], edges[m + 1]]; two equal edges hold that one score. None for
        cells of the simplex, which `cells` describes.
        """
        return self.partition.ends() if isinstance(self.partition, Intervals) else None

    @property
    def cells(self) -> list[str]:
        """Each bin in words: which coordinates, which intervals."""
        assert not isinstance(self.partition, tuple)
        if isinstance(self.partition, Intervals):
            return self.partition.describe()
        if isinstance(self.partition, SimplexCells):
            return self.partition.describe(self.classes)
        return [f"bin {m}" for m in range(self.partition.n_bins)]

    @property
    def largest_radius(self) -> float:
        """Largest radius of a bin that has rows; the trivial one if none has."""
        return largest_radius(self.radius, self.bin_counts)

    def assign(self, probs: ArrayLike) -> IntArray:
        """Bin of each row, shape (n,); class-wise (n, K).

        Parameters
        ----------
        probs : array_like (n, K)
            The same classifier's probabilities, columns as in the fit. A score on an
            edge is in the same bin as in the fit: the lower one, but for edges that
            many rows share, which are bins.

        Warns
        -----
        RowsOnEdgesWarning
            If rows lie exactly on an edge that the claim leaves out.
        """
        matrix = self._arguments("assign").new_probs(probs, self.classes)
        self._warn_on_edges(matrix)
        return self._assign(matrix)

    @abstractmethod
    def _assign(self, matrix: FloatMatrix) -> IntArray:
        """Return the bins of checked rows."""

    @lazy
    def predict(self, probs: ArrayLike) -> FloatMatrix:
        """Calibrated probabilities of new rows, shape (n, K).

        Parameters
        ----------
        probs : array_like (n, K)
            The same classifier's probabilities, columns as in the fit.

        Returns
        -------
        ndarray (n, K)
            Canonical: the frequencies of the row's bin. Class-wise: for each class the
            frequency of its own bin, which do not sum to one unless the fit was asked
            to renormalise. Top-label: the frequency for the classifier's top label; the
            other labels share the rest in proportion to their probabilities, for which
            nothing is claimed.

        Warns
        -----
        EmptyBinWarning
            If rows fall into bins without calibration rows: they get the class prior.
        RowsOnEdgesWarning
            If rows lie exactly on an edge that calibration rows chose and that is no
            bin: they get the frequencies of the bin below, for which nothing is
            claimed.
        """
        matrix = self._arguments("predict").new_probs(probs, self.classes)
        self._warn_on_edges(matrix)
        return self._predict(matrix)

    @abstractmethod
    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        """Return the calibrated probabilities of checked rows."""

    @property
    def n_edges(self) -> int:
        """Number of edges that the claim leaves out: those that rows chose."""
        if not self.n_boundary:
            return 0
        if isinstance(self.partition, SimplexCells):
            return int(self.partition.excepted_splits().sum())
        parts = self.partition if isinstance(self.partition, tuple) else ()
        if isinstance(self.partition, Intervals):
            parts = (self.partition,)
        return sum(int(excepted_edges(part).sum()) for part in parts)

    def _on_edges(self, matrix: FloatMatrix) -> BoolArray:
        """Return which rows lie on edges that the claim leaves out, shape (n,)."""
        if isinstance(self.partition, SimplexCells):
            return self.partition.on_splits(matrix, self.partition.excepted_splits())
        marks = np.zeros(matrix.shape[0], dtype=np.bool_)
        for intervals, scores in self._binned_scores(matrix):
            intervals.mark_on_edges(scores, excepted_edges(intervals), marks)
        return marks

    @abstractmethod
    def _binned_scores(
        self, matrix: FloatMatrix
    ) -> Iterable[tuple[Intervals, FloatArray]]:
        """Return the scores (n,) that lie in intervals, and the intervals."""

    def _warn_on_edges(self, matrix: FloatMatrix) -> None:
        """Warn if rows lie on edges that the claim leaves out.

        Where the calibration rows on edges are one for each, scores seem continuous,
        and as many rows on edges may well be those rows themselves. A row in a hundred
        is left to the claim's own words.
        """
        if not self.n_boundary:
            return
        n_rows = int(self._on_edges(matrix).sum())
        expected = self.n_edges if self.n_boundary == self.n_edges else 0
        if n_rows <= max(expected, _FEW_ON_EDGES * matrix.shape[0]):
            return
        warn_user(
            f"{n_rows} of {matrix.shape[0]} rows ({n_rows / matrix.shape[0]:.1%}) lie "
            "exactly on an edge that calibration rows chose: they get the frequencies "
            "of the bin below, for which nothing is claimed. With split= or edges of "
            "your own every row is in a bin.",
            RowsOnEdgesWarning,
        )

    def _warn_undefined(self, undefined: BoolArray) -> None:
        """Warn if rows fall into bins without frequencies."""
        n_rows = int(undefined.sum())
        if n_rows == 0:
            return
        why = "without calibration rows"
        if self.shift is not None:
            why += " of a class that the target has"
        warn_user(
            f"{n_rows} of {undefined.size} rows fall into bins {why}: their "
            "probabilities are the class prior, for which nothing is claimed.",
            EmptyBinWarning,
        )

    def under_label_shift(
        self,
        label_weight: ArrayLike | LabelShiftResult | Box | Polytope,
        *,
        delta: float = 0.05,
        region: Box | Polytope | None = None,
    ) -> BinningResult:
        """Frequencies, intervals and radii for a target of other class proportions.

        Parameters
        ----------
        label_weight : array_like (K,), LabelShiftResult, Box or Polytope
            w = q/p, the target's class proportions over the source's, up to scale:
            known numbers, or what `bbse`, `rlls`, `mlls` or `label_weights` returned.
            A region stands for its center.
        delta : float, default 0.05
            Probability that the region of estimated weights misses the true ones.
        region : Box or Polytope, optional
            Holds the true weights with probability 1 - delta, where you have numbers
            and a region of your own. Without it numbers count as known.

        Returns
        -------
        BinningResult
            Of the same kind, with ``.shift``: the weights, kappa, and the parts of the
            radius.

        Notes
        -----
        In every bin the target's probabilities are w_k pi_k / sum_j w_j pi_j (Podkopaev
        and Ramdas, 2021, Prop. 1 and eq. 17). The radius is the sum of two terms, at
        most the trivial one:

        - source estimation, w_max radius / sum_k w_k pi_hat_k. This is the first term
          of their Theorem 4, repaired (as printed it is false for a weight of zero) and
          at least twice as sharp;
        - weight estimation, from the region of the weights: the smaller of a bound from
          differences and one from ratios, both of which hold wherever the region does.

        For two classes in canonical mode the interval of the probability itself is
        carried over, exactly. Class-wise and top-label, the first term is Hoeffding's
        bound for weighted rows (with known weights by betting).
        All of it holds with probability at least 1 - alpha - delta, even if the same
        rows gave the weights and the frequencies.

        Examples
        --------
        >>> import distfreeuq as dfu
        >>> labels = [0, 0, 0, 1] * 25
        >>> fit = dfu.histogram_binning([0.2, 0.7] * 50, labels, scheme=[0.5])
        >>> fit.frequencies.tolist()
        [[1.0, 0.0], [0.5, 0.5]]
        >>> fit.under_label_shift([0.4, 1.6]).frequencies.tolist()
        [[1.0, 0.0], [0.2, 0.8]]
        """
        args = self._arguments("under_label_shift")
        if self.shift is not None:
            must = "given to the fit on the source, and once"
            args.invalid("label_weight", must, "a second shift")
        if self.effective_counts is not None:
            must = "given to a fit without sample weights"
            args.invalid("label_weight", must, "one of weighted rows")
        weights = read_target_weights(args, label_weight, region, delta, self.classes)
        return self._under(args, weights)

    @abstractmethod
    def _under(self, args: Arguments, weights: TargetWeights) -> BinningResult:
        """Return the result for the target."""

    def _on_target(
        self,
        weights: TargetWeights,
        frequencies: FloatArray,
        fallback: FloatArray,
        radii: Radii,
        source_radius: FloatArray,
    ) -> BinningResult:
        """Return this table with the target's numbers in it."""
        weight_radius = np.maximum(radii.radius - source_radius, 0.0)
        of_scores = not isinstance(self.partition, SimplexCells)
        choice = guarantees.choice_of(self.scheme, of_scores, self.n_chose > 0)
        return dataclasses.replace(
            self,
            frequencies=read_only(frequencies),
            radius=read_only(radii.radius),
            low=read_only(radii.low),
            high=read_only(radii.high),
            bound=radii.bound,
            fallback=read_only(fallback),
            shift=weights.shift(read_only(source_radius), read_only(weight_radius)),
            guarantee=guarantees.on_target(
                self.guarantee,
                weights,
                self.mode,
                self.n_bins,
                extremes(radii.radius, self.bin_counts, self.mode),
                radii.bound,
                choice,
            ),
        )

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return a row per bin: interval, rows, frequencies with intervals, radius."""

    def summary(self) -> Summary:
        """Return the bins and what holds in all of them, as a ``Summary``."""
        from distfreeuq.binning.summary import summarize_binning

        return summarize_binning(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the reliability diagram with the intervals, and the bins' masses."""
        from distfreeuq import plots

        return plots.reliability_bins(self, ax=ax)

    def _check_savable(self) -> None:
        if isinstance(self.partition, FunctionCells):
            Arguments("save").invalid(
                "scheme", "edges or a name: a file holds no code", "a function"
            )
