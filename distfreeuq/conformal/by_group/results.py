"""Sets by group: a fit for each, and new rows sent to the fit of theirs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base import row_groups
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import describe, listed, read_only, row_names
from distfreeuq._base.persistence import register
from distfreeuq._base.row_groups import look_up_groups
from distfreeuq._base.stored_state import (
    State,
    column_names,
    integers,
    maybe,
    part,
    rate,
    require,
    several,
)
from distfreeuq._base.user_warnings import Warned, warn_once, warn_user
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq.conformal.by_group import guarantees
from distfreeuq.conformal.data import CalibrationScores
from distfreeuq.conformal.results import ConformalResult, guarantee_of_sets
from distfreeuq.conformal.sets import PredictionSets
from distfreeuq.exceptions import UnseenGroupWarning
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

FitOfGroup = Callable[[CalibrationScores, float | None], ConformalResult]
"""Fits a group's scores, with the confidence that all groups together leave to it."""


@register("grouped-conformal")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupedConformalResult(Result):
    """Prediction sets whose thresholds are those of each row's own group.

    What the four procedures return for ``groups=``. ``result[group]`` is the fit of a
    group's own rows.

    Attributes
    ----------
    names : tuple
        The groups, in order.
    fits : tuple of ConformalResult
        A fit for each.
    counts : ndarray (G,)
        Calibration rows by group.
    confidence : float or None
        As given to the fit, of all groups together.
    guarantee : Guarantee or NoGuarantee
        What holds for every group.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> site = rng.choice(["north", "south"], 800)
    >>> truth = rng.dirichlet([2, 1, 1], size=800)
    >>> labels = np.array([rng.choice(3, p=row) for row in truth])
    >>> probs = np.where((site == "north")[:, None], truth, 1 / 3)
    >>> fit = dfu.split_conformal(
    ...     probs[:600], labels[:600], score="lac", groups=site[:600])
    >>> fit
    <GroupedConformalResult lac alpha=0.1 groups=2 n=600 K=3>
    >>> fit["north"].thresholds.round(2).tolist()
    [0.81, 0.81, 0.81]
    >>> sets = fit.predict(probs[600:], site[600:])
    >>> sets.evaluate(labels[600:], groups=site[600:]).group_covered.tolist()
    [86, 105]
    """

    names: row_groups.Names
    fits: tuple[ConformalResult, ...]
    counts: IntArray
    confidence: float | None
    guarantee: Guarantee | NoGuarantee

    _state: ClassVar[State] = {
        "names": column_names("G"),
        "fits": several(part(ConformalResult), "G"),
        "counts": integers("G"),
        "confidence": maybe(rate()),
        "guarantee": part(Guarantee, NoGuarantee),
    }

    def _validate_state(self) -> None:
        require(self.fits, "one fit at least")
        kinds = {type(fit) for fit in self.fits}
        require(len(kinds) == 1, "fits of one kind")
        same = all(fit.classes == self.fits[0].classes for fit in self.fits)
        require(same, "fits of the same classes")
        rows = [fit.n for fit in self.fits]
        require(self.counts.tolist() == rows, "as many rows as the fits have")

    def __repr__(self) -> str:
        """Return one line."""
        one = self.fits[0]
        return (
            f"<GroupedConformalResult {one.score.name} alpha={one._alpha_text()} "
            f"groups={len(self.names)} n={self.n} K={len(one.classes)}>"
        )

    @property
    def n(self) -> int:
        """Calibration rows of all groups."""
        return int(self.counts.sum())

    @property
    def _draws_uniforms(self) -> bool:
        """Whether new rows' uniforms are drawn, and not hashes of the rows."""
        return self.fits[0]._draws_uniforms

    @property
    def title(self) -> str:
        """The procedure."""
        return f"{self.fits[0].title}, by group"

    @property
    def thresholds(self) -> FloatMatrix:
        """Thresholds by group and class, shape (G, K)."""
        return np.array([fit.thresholds for fit in self.fits])

    def __getitem__(self, group: Hashable) -> ConformalResult:
        """Return the fit of a group's own rows."""
        if group not in self.names:
            args = Arguments("GroupedConformalResult")
            args.invalid("group", f"one of {listed(self.names)}", describe(group))
        return self.fits[self.names.index(group)]

    @lazy
    def predict(
        self,
        probs: ArrayLike,
        groups: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        features: ArrayLike | None = None,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> PredictionSets:
        """Prediction sets for new rows, each by the fit of its group.

        Parameters
        ----------
        probs : array_like (n, K)
            The same classifier's probabilities, columns as in the fit.
        groups : array_like (n,)
            The new rows' groups. Of a group that the fit has not seen every set holds
            every label, with an `UnseenGroupWarning`.
        sample_weight, features
            Under covariate shift, as in `CovariateShiftConformalResult.predict`.
        rng, uniforms, ids
            As in `ConformalResult.predict`.
        """
        one = self.fits[0]
        rows, u, codes = self._rows(probs, groups, rng, uniforms, ids, "predict")
        extra = self._weights(sample_weight, features, len(codes), "predict")
        mask = np.ones(rows.shape, dtype=np.bool_)
        for code, fit in enumerate(self.fits):
            own = np.flatnonzero(codes == code)
            weights = None if extra is None else extra[own]
            mask[own] = fit._mask_of(rows[own], u[own], weights)
        return PredictionSets(
            mask=read_only(mask),
            sizes=read_only(mask.sum(axis=1)),
            classes=one.classes,
            nominal=one._nominal(),
            guarantee=guarantee_of_sets(
                self.guarantee, one.row_key, one.randomized and uniforms is not None
            ),
            index=row_names(probs),
        )

    @lazy
    def p_values(
        self,
        probs: ArrayLike,
        groups: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        features: ArrayLike | None = None,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> FloatMatrix:
        """Conformal p-value of every label among the rows of its group, shape (n, K).

        Parameters
        ----------
        probs, groups, sample_weight, features, rng, uniforms, ids
            As in `predict`. The p-values of a group that the fit has not seen are one.
        """
        rows, u, codes = self._rows(probs, groups, rng, uniforms, ids, "p_values")
        extra = self._weights(sample_weight, features, len(codes), "p_values")
        p = np.ones(rows.shape)
        for code, fit in enumerate(self.fits):
            own = np.flatnonzero(codes == code)
            weights = None if extra is None else extra[own]
            p[own] = fit._p_values_at(rows[own], u[own], weights)
        return p

    def _rows(
        self,
        probs: ArrayLike,
        groups: ArrayLike,
        rng: RandomState,
        uniforms: ArrayLike | None,
        ids: ArrayLike | None,
        method: str,
    ) -> tuple[FloatMatrix, FloatArray, IntArray]:
        """Return checked rows, their uniforms, and the positions of their groups."""
        args = Arguments(f"GroupedConformalResult.{method}")
        unchecked, u = self.fits[0]._rows(probs, rng, uniforms, ids, method)
        rows = unchecked.checked()
        codes, unseen = look_up_groups(args, groups, len(rows), self.names)
        if unseen:
            which = "a group was" if len(unseen) == 1 else f"{len(unseen)} groups were"
            warn_user(
                f"{which} not in the fit ({listed(unseen)}): the sets of such rows "
                "hold every label.",
                UnseenGroupWarning,
            )
        return rows, u, codes

    def _weights(
        self,
        sample_weight: ArrayLike | None,
        features: ArrayLike | None,
        n_rows: int,
        method: str,
    ) -> FloatArray | None:
        """Return the new rows' own weights, None where sets do not depend on them."""
        return self.fits[0]._own_weights(sample_weight, features, n_rows, method)

    def at(self, alpha: float | ArrayLike) -> GroupedConformalResult:
        """Return the same fits at another level, as `ConformalResult.at`."""
        fits = tuple(fit.at(alpha) for fit in self.fits)
        claim = _every_group(fits, fits[0].alpha, self.confidence, None)
        return replace(self, fits=fits, guarantee=claim)

    def to_frame(self) -> pd.DataFrame:
        """Return the groups' own tables below one another, with a column group."""
        import pandas as pd

        frames = []
        for name, fit in zip(self.names, self.fits, strict=True):
            frame = fit.to_frame()
            frame.insert(0, "group", pd.Series([name] * len(frame), dtype=object))
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def summary(self) -> Summary:
        """Return the groups' thresholds and what holds for each of them."""
        from distfreeuq.conformal.by_group.summary import summarize_grouped

        return summarize_grouped(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the calibration scores of each group, and its threshold."""
        from distfreeuq import plots

        return plots.grouped_scores(self, ax=ax)


def fit_by_group(
    args: Arguments,
    groups: ArrayLike,
    calibration: CalibrationScores,
    fit: FitOfGroup,
    *,
    alpha: float | FloatArray,
    confidence: float | None = None,
    union: str | None = None,
) -> GroupedConformalResult:
    """Fit every group by itself; all of them share what `confidence` leaves to fail."""
    names, codes = row_groups.read_groups(args, groups, calibration.n)
    if not names:
        args.invalid("groups", "of one row at least", "no rows")
    codes = codes[calibration.order]
    share = None if confidence is None else 1.0 - (1.0 - confidence) / len(names)
    if share == 1.0:  # what each group may fail by is below the last digit of one
        must = f"so far below 1 that {len(names)} groups can share the rest"
        args.invalid("confidence", must, f"{confidence}")
    fits: list[ConformalResult] = []
    warned: list[Warned] = []
    for code, name in enumerate(names):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fits.append(fit(calibration.some(codes == code), share))
        warned += [(w.category, f"group {describe(name)}: {w.message}") for w in caught]
    warn_once(warned, "the groups")
    return GroupedConformalResult(
        names=names,
        fits=tuple(fits),
        counts=read_only(np.bincount(codes, minlength=len(names))),
        confidence=confidence,
        guarantee=_every_group(fits, alpha, confidence, union),
    )


def _every_group(
    fits: Sequence[ConformalResult],
    alpha: float | FloatArray,
    confidence: float | None,
    union: str | None,
) -> Guarantee | NoGuarantee:
    one = fits[0]
    return guarantees.every_group(
        [fit.guarantee for fit in fits],
        alpha,
        confidence,
        new_row=one._new_row,
        by_class=one._covers_every_class,
        union=union,
    )
