"""What calibration by groups returns."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import listed, read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    column_names,
    flags,
    floats,
    integers,
    maybe,
    part,
    real,
    require,
    several,
    text,
)
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq.calibration.data import Split, read_new_logits, split_rows
from distfreeuq.calibration.isotonic import IsotonicResult
from distfreeuq.calibration.losses.temperature_loss import LOSS_NAMES, scaled_softmax
from distfreeuq.calibration.platt import PlattResult
from distfreeuq.calibration.probability_maps.beta_curves import BetaResult
from distfreeuq.calibration.probability_maps.binned_map import BinnedResult
from distfreeuq.calibration.probability_maps.dirichlet_maps import DirichletResult
from distfreeuq.calibration.probability_maps.venn_prediction import VennAbersResult
from distfreeuq.calibration.results import CalibrationResult
from distfreeuq.calibration.temperature import TemperatureResult
from distfreeuq.calibration.tied.class_bundling import ClassBundles
from distfreeuq.calibration.tied.probabilities import shrink
from distfreeuq.calibration.vector import VectorResult
from distfreeuq.exceptions import UnseenGroupWarning

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

WITH_PARAMETERS = TemperatureResult | VectorResult | PlattResult | DirichletResult
"""Maps whose parameters gamma ties; of others it ties the probabilities."""
OF_PROBABILITIES = IsotonicResult | VennAbersResult | BetaResult | BinnedResult
"""Maps of probabilities, not of logits."""
POOLED = -1
"""Stands for the map that is fitted to all rows, in place of a position in `fits`."""


def _rule(value: Any, sizes: Any) -> None:
    """Allow what a file holds of a rule for groups."""
    if not isinstance(value, ClassBundles):
        text("predicted")(value, sizes)


@register("groupwise-calibration")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupwiseResult(CalibrationResult):
    """A fitted calibration map for every group of rows.

    Attributes
    ----------
    calibrator : str
        Its name.
    names : tuple
        The groups.
    counts : ndarray (G,)
        Fitted rows of each.
    which : ndarray (G,)
        Position of each group's map in `fits`; -1 for groups that use the pooled map:
        those of too few rows, and with gamma = 0 all.
    fits : tuple of CalibrationResult
    pooled : CalibrationResult
        The map fitted to all rows; with a finite gamma that ties parameters, the map
        that the groups share.
    gamma : float
        How far a group's parameters may be from the shared ones, or its probabilities
        from those by the shared map; inf for groups by themselves.
    limited : ndarray (G,)
        Whether gamma keeps the group from its own best parameters.
    gamma_losses : ndarray (J, 2)
        What cross-validation compared: values of gamma, and their losses. Empty where
        gamma was given.
    gamma_loss : str
        Which loss that is, "nll" or "brier".
    split : "predicted", None, ClassBundles or callable
        How `predict` finds the groups of new rows; None: they are given.

    The other attributes are those of every `CalibrationResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> logits = [[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0]] * 5
    >>> labels = [0, 1, 1, 1] * 4 + [0, 1, 0, 0]
    >>> fit = dfu.groupwise_calibration("temperature", logits, labels)
    >>> fit
    <GroupwiseResult temperature groups=2 n=20 K=2>
    >>> fit.predict([[1.0, 0.0]]).round(3).tolist()
    [[0.65, 0.35]]
    """

    calibrator: str
    names: tuple[Hashable, ...]
    counts: IntArray
    which: IntArray
    fits: tuple[CalibrationResult, ...]
    pooled: CalibrationResult
    gamma: float
    limited: BoolArray
    gamma_losses: FloatMatrix
    gamma_loss: str
    split: str | Split | None

    _state: ClassVar[State] = {
        "calibrator": text(),
        "names": column_names("G"),
        "counts": integers("G"),
        "fits": several(part(CalibrationResult), "F"),
        "which": integers("G", low=POOLED, below="F"),
        "pooled": part(CalibrationResult),
        "gamma": real(0.0, finite=False),
        "limited": flags("G"),
        "gamma_losses": floats("J", 2, low=0.0),
        "gamma_loss": text(*LOSS_NAMES),
        "split": maybe(_rule),
    }

    def _validate_state(self) -> None:
        same = all(fit.classes == self.classes for fit in (*self.fits, self.pooled))
        require(same, "calibration maps of the same classes")

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<GroupwiseResult {self.calibrator} groups={len(self.names)} n={self.n} "
            f"K={len(self.classes)}>"
        )

    @lazy
    def predict(
        self, logits: ArrayLike, *, groups: ArrayLike | None = None
    ) -> FloatMatrix:
        """Calibrated probabilities, each row by the map of its group, shape (n, K).

        Parameters
        ----------
        logits : array_like (n, K)
            Columns as in the fit; probabilities, if the calibrator takes these.
        groups : array_like (n,), optional
            Needed if the fit was given an array of groups, and only then.

        Notes
        -----
        Rows of a group that the fit has not seen use the pooled map, with an
        `UnseenGroupWarning`.
        """
        args = Arguments("GroupwiseResult.predict")
        matrix = read_new_logits(
            args,
            logits,
            self.classes,
            may_be_probs=True,
            may_mask=self._has_temperatures,
        )
        if isinstance(self.pooled, OF_PROBABILITIES):
            matrix = args.new_probs(matrix, self.classes, "logits")
        return self._by_group(args, logits, matrix, groups)

    def _by_group(
        self,
        args: Arguments,
        logits: ArrayLike,
        matrix: FloatMatrix,
        groups: ArrayLike | None,
    ) -> FloatMatrix:
        """Return the probabilities of rows that are read already."""
        codes, unseen = self._codes(args, logits, matrix, groups)
        if unseen:
            warn_user(
                f"{len(unseen)} groups were not in the fit ({listed(unseen)}): their "
                "rows are calibrated by the pooled map.",
                UnseenGroupWarning,
            )
        maps = np.append(self.which, POOLED)[codes]
        reach = np.inf if self.ties_parameters else self.gamma
        return apply_maps(matrix, maps, self.fits, self.pooled, reach)

    @property
    def ties_parameters(self) -> bool:
        """Whether gamma ties the groups' parameters, or else their probabilities."""
        return isinstance(self.pooled, WITH_PARAMETERS)

    def _codes(
        self,
        args: Arguments,
        logits: ArrayLike,
        matrix: FloatMatrix,
        groups: ArrayLike | None,
    ) -> tuple[IntArray, list[Hashable]]:
        """Return each row's position in `names`, -1 for unseen groups, and these."""
        if self.split is None and groups is None:
            args.invalid("groups", "given, as in the fit", "None")
        if self.split is not None and groups is not None:
            args.invalid("groups", "None, as the fit has a rule for them", "an array")
        rule = groups if self.split is None else self.split
        distinct, codes = split_rows(args, rule, logits, matrix, self.classes)
        position = {name: code for code, name in enumerate(self.names)}
        places = np.array([position.get(name, POOLED) for name in distinct], np.int64)
        return places[codes], [name for name in distinct if name not in position]

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        """Return today's fields from those in files of format 1."""
        n_groups = len(fields["names"])
        return fields | {
            "gamma": np.inf,
            "limited": read_only(np.zeros(n_groups, dtype=np.bool_)),
            "gamma_losses": read_only(np.empty((0, 2))),
            "gamma_loss": "nll",
        }

    def _check_savable(self) -> None:
        if callable(self.split) and not isinstance(self.split, ClassBundles):
            Arguments("save").invalid(
                "groups",
                "an array, 'predicted' or class_bundles: a file holds no code",
                "a function",
            )

    @property
    def _has_temperatures(self) -> bool:
        return self.pooled._has_temperatures

    def to_frame(self) -> pd.DataFrame:
        """Return the groups' own tables below one another, with columns group and n.

        A column n of their own is called n_rows. The column pooled marks groups that
        use the pooled map, limited those that gamma keeps from their own best
        parameters.
        """
        import pandas as pd

        parts: list[pd.DataFrame] = []
        groups = zip(self.names, self.counts, self.which, self.limited, strict=True)
        for name, n, which, limited in groups:
            pooled = which == POOLED
            fit = self.pooled if pooled else self.fits[which]
            frame = fit.to_frame().rename(columns={"n": "n_rows"})
            frame.insert(0, "group", [name] * len(frame))
            frame.insert(1, "n", n)
            frame["pooled"] = pooled
            frame["limited"] = limited
            parts.append(frame)
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> Summary:
        """Return each group's losses and the guarantee as a ``Summary``."""
        from distfreeuq.calibration.summary import summarize_groupwise

        return summarize_groupwise(self)

    def _default_plot(self, ax: Axes | None) -> Axes:
        from distfreeuq import plots

        if isinstance(self.pooled, TemperatureResult):
            return plots.calibration_parameters(self, ax=ax)
        return plots.reliability_change(self, ax=ax)


def apply_maps(
    matrix: FloatMatrix,
    maps: IntArray,
    fits: tuple[CalibrationResult, ...],
    pooled: CalibrationResult,
    gamma: float = np.inf,
) -> FloatMatrix:
    """Return each row's probabilities by its map, a position in `fits` or -1.

    They are within gamma of those by the pooled map.
    """
    all_fits = [*fits, pooled]  # position -1 is the pooled one
    temperatures = [fit for fit in all_fits if isinstance(fit, TemperatureResult)]
    if len(temperatures) == len(all_fits):
        alphas = np.array([fit.inverse_temperature for fit in temperatures])
        return scaled_softmax(matrix, maps % alphas.size, alphas)
    probs = np.empty_like(matrix)
    for index in np.unique(maps):
        own = maps == index
        probs[own] = all_fits[index]._predict(matrix[own])
    if np.isfinite(gamma) and fits:
        return shrink(probs, pooled._predict(matrix), gamma)
    return probs
