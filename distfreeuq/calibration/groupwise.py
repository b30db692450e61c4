"""Calibration by groups: any calibrator, any splitting, tied or by themselves."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.user_warnings import listed_warnings, warn_once
from distfreeuq.calibration.calibrators import (
    Calibrator,
    read_calibrator,
    takes_probs,
)
from distfreeuq.calibration.data import Split, read_grouped_rows
from distfreeuq.calibration.groupwise_results import (
    POOLED,
    GroupwiseResult,
    apply_maps,
)
from distfreeuq.calibration.guarantees import (
    class_guarantee,
    no_theorem,
    shrunk_to_shared,
    temperature_guarantee,
)
from distfreeuq.calibration.results import Outcome, change_fields, outcome_of
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows, weigh
from distfreeuq.calibration.rows.rows_in_blocks import FitRows
from distfreeuq.calibration.temperature import TemperatureOptions
from distfreeuq.calibration.tied.group_fits import (
    TIED_PARAMETERS,
    GroupFits,
    Task,
    choose_gamma,
    fit_all,
    fit_in_blocks,
    loss_of,
    reach_of,
    read_gamma,
)
from distfreeuq.guarantees import Guarantee, NoGuarantee

# A weight, the largest being one, whose square is no number: such a row has no weight.
_NO_WEIGHT = 1e-150


def groupwise_calibration(
    calibrator: Any,
    logits: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    groups: str | ArrayLike | Split = "predicted",
    sample_weight: ArrayLike | None = None,
    gamma: Any = np.inf,
    min_rows: int = 2,
    classes: ArrayLike | None = None,
    **options: Any,
) -> GroupwiseResult:
    """Calibrate groups of rows, each by itself or tied to a map that they share.

    Parameters
    ----------
    calibrator : {"temperature", "classwise-temperature", "vector", "platt", \
"dirichlet", "isotonic", "venn-abers", "beta", "binning"}, callable or object
        What to fit in each group: a name; a function that is called as
        `temperature_scaling` is, with `sample_weight`, and returns a
        `CalibrationResult`, a `BinningResult` or a map of logits; or an object with
        ``fit(logits, labels, sample_weight=)`` and ``predict_proba``.
    logits : array_like (n, K)
        A classifier's logits on rows that it was not fitted on; for isotonic,
        Venn-Abers and beta calibration and for binning, probabilities.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`. Left out where blocks have them.
    groups : "predicted", array_like (n,) or callable, default "predicted"
        The predicted class; or each row's group, for example a sensitive feature, which
        `predict` then asks for; or a function that makes such an array of logits, such
        as `class_bundles`.
    sample_weight : array_like (n,), optional
        Non-negative weights; their scale has no effect.
    gamma : float, "cv" or sequence of float, default inf
        Ties the groups to a map that they share: no group's parameters, or else its
        probabilities, are farther than gamma from the shared ones. 0 is one map for
        all, inf each group by itself. "cv" takes the value of least loss in
        cross-validation, of 0, 0.03, 0.1, 0.3, 1, 3 and inf (for probabilities of 0,
        0.01, 0.03, 0.1, 0.3 and inf), or of those given.
    min_rows : int, default 2
        Groups of fewer rows use the map that is fitted to all rows; with a finite gamma
        that ties parameters all groups take part.
    classes : sequence, optional
        Class names by column.
    **options
        Passed on to the calibrator.

    Returns
    -------
    GroupwiseResult

    Notes
    -----
    Algorithm 1 of [1]_. What gamma bounds:

    - of temperatures, abs(1/T_k - 1/T_0). For predicted classes
      `classwise_temperature_scaling` does the same in one pass over the rows;
    - of vector, Platt and Dirichlet scaling, the Euclidean distance of all parameters,
      apart from changes that change no probability. The mean loss of all rows is
      minimised in all parameters at once, a convex problem that is solved to ten
      digits. Groups that gamma limits have no standard errors;
    - of isotonic, Venn-Abers and beta calibration, binning and maps of your own, the
      distance of a row's probabilities by its group's map from those by the map fitted
      to all rows, Euclidean over sqrt(2): the change of p_1, if there are two classes.
      The row's vector is moved towards the latter until they are so near. It is then no
      farther than before from any vector within gamma of the shared one (theory page,
      8.7).

    In cross-validation the rows of every group are dealt to five folds in turn; rows in
    the order of time or space should be shuffled first. The loss is the one that the
    calibrator minimises (likelihood or Brier score); where probabilities are tied, the
    Brier score. A theorem's delta is divided by the number of values compared.

    A splitting must be known for new rows: the label itself is not one. A group without
    an error among its rows has no best temperature, and T -> 0 would make its
    predictions certain: with gamma = inf it uses the map that is fitted to all rows.

    References
    ----------
    .. [1] Zhao, Chen and Oymak (2020), Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(0.0, 3.0, (2000, 3))
    >>> site = rng.choice(["north", "south"], 2000)
    >>> truth = logits / np.where(site == "north", 1.0, 3.0)[:, None]
    >>> labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    >>> fit = dfu.groupwise_calibration("temperature", logits, labels, groups=site)
    >>> fit
    <GroupwiseResult temperature groups=2 n=2000 K=3>
    >>> {name: round(f.temperature, 2) for name, f in zip(fit.names, fit.fits)}
    {'north': 1.01, 'south': 3.18}
    >>> tied = dfu.groupwise_calibration(
    ...     "temperature", logits, labels, groups=site, gamma=0.2)
    >>> [round(f.temperature, 2) for f in tied.fits]
    [1.32, 2.79]
    """
    args = Arguments("groupwise_calibration")
    name, chosen = read_calibrator(args, calibrator)
    may_be_probs = not isinstance(chosen, Calibrator) or chosen.takes_probs
    min_rows = args.count(min_rows, "min_rows", low=1)
    if isinstance(groups, str):
        groups = args.choice(groups, "groups", ["predicted"])
    rows, names, split = read_grouped_rows(
        args,
        logits,
        labels,
        sample_weight,
        classes,
        groups,
        may_be_probs=may_be_probs,
        are_probs=isinstance(chosen, Calibrator) and chosen.takes_probs,
        may_mask=isinstance(chosen, Calibrator) and chosen.takes_masked,
    )
    counts, wrong = rows.parts.total(partial(_count_groups, n_groups=len(names)))
    checked: Any = options
    if isinstance(chosen, Calibrator):
        checked = chosen.options(rows, options)
    task = Task(args, chosen, checked, len(names), min_rows)
    gammas = read_gamma(args, gamma, ties_parameters=task.ties_parameters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if isinstance(rows, CalibrationRows):
            assert rows.groups is not None
            gamma, gamma_losses = choose_gamma(task, rows, rows.groups, gammas)
            found = fit_all(task, rows, rows.groups, counts, gamma)
        else:
            gamma, gamma_losses = gammas[0], read_only(np.empty((0, 2)))
            if gammas != (np.inf,):
                args.invalid("gamma", "inf where rows are in blocks", f"{gammas}")
            found = fit_in_blocks(task, rows, counts, wrong)
    # the results say which groups they were
    warn_once(listed_warnings(caught), "the groups' fits")
    become = partial(_grouped_outcome, found=found, reach=reach_of(task, gamma))
    own = found.which != POOLED
    return GroupwiseResult(
        **change_fields(rows, become, of_probs=takes_probs(found.pooled)),
        guarantee=_guarantee(
            rows, counts[own], found.n_candidates, checked, gamma, len(gammas), name
        ),
        calibrator=name,
        names=tuple(names),
        counts=read_only(counts),
        which=read_only(found.which),
        fits=found.fits,
        pooled=found.pooled,
        gamma=gamma,
        limited=read_only(found.limited),
        gamma_losses=gamma_losses,
        gamma_loss=loss_of(task),
        split=split,
    )


def _count_groups(rows: CalibrationRows, n_groups: int) -> tuple[IntArray, FloatArray]:
    """Return the rows of each group that weigh, and the weight of those with errors."""
    assert rows.groups is not None
    some = rows.weights > _NO_WEIGHT  # the largest weight is one
    wrong = rows.weights * (rows.tops != rows.labels)
    return (
        np.bincount(rows.groups[some], minlength=n_groups),
        weigh(rows.groups, wrong, n_groups),
    )


def _grouped_outcome(rows: CalibrationRows, found: GroupFits, reach: float) -> Outcome:
    assert rows.groups is not None
    maps = found.which[rows.groups]
    return outcome_of(
        rows, apply_maps(rows.logits, maps, found.fits, found.pooled, reach)
    )


def _guarantee(
    rows: FitRows,
    counts: IntArray,
    n_candidates: int,
    options: Any,
    gamma: float,
    n_choices: int,
    name: str,
) -> Guarantee | NoGuarantee:
    """Return Theorem 4.1 or Corollary 4.2 for temperatures; others have none."""
    if not isinstance(options, TemperatureOptions):
        if np.isfinite(gamma) and not isinstance(options, TIED_PARAMETERS):
            return shrunk_to_shared(name)
        return no_theorem("this calibrator", "Cor. 4.2")
    shared: dict[str, Any] = {
        "loss": options.loss,
        "alpha_bounds": options.bounds,
        "delta": options.delta,
        "logit_range": options.logit_range,
        "n_choices": n_choices,
    }
    if np.isfinite(gamma):
        claim = temperature_guarantee(
            rows,
            gamma=gamma,
            n_temperatures=max(1, counts.size),
            groups="the groups'",
            **shared,
        )
    else:
        claim = class_guarantee(
            rows, counts, n_candidates, groups=("group", "groups"), **shared
        )
    if not isinstance(claim, Guarantee):
        return claim
    rule = (
        "a row's group follows from its features by a rule chosen without these labels"
    )
    return replace(claim, assumptions=(*claim.assumptions, rule))
