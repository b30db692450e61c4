"""Sets of several methods, compared on the same labelled rows."""

from __future__ import annotations

from collections.abc import Mapping

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike
from distfreeuq._base.arrays import describe, listed
from distfreeuq.conformal.evaluation.results import CoverageTable
from distfreeuq.conformal.sets import PredictionSets, evaluated, read_evaluation


def coverage_table(
    sets: Mapping[str, PredictionSets],
    labels: ArrayLike,
    *,
    level: float = 0.95,
    blocks: ArrayLike | None = None,
) -> CoverageTable:
    """Compare methods: coverage with intervals, set sizes, and what each one promises.

    Parameters
    ----------
    sets : mapping of str to PredictionSets
        Each method's sets of the same rows.
    labels : array_like (n,)
        True labels of these rows, as class names.
    level : float, default 0.95
        Level of each interval.
    blocks : array_like (n,), optional
        As in `PredictionSets.evaluate`.

    Returns
    -------
    CoverageTable
        It prints, plots, saves and gives a frame; ``.achieved`` has each method's
        `CoverageResult`.

    Notes
    -----
    A promise is printed as the fit makes it, and holds where its needs do: sets without
    a correction promise nothing of rows that have shifted.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> toy = dfu.scenarios.three_gaussians()
    >>> x, labels = toy.sample(2000, "source", rng=0)
    >>> new_x, new_labels = toy.sample(2000, "target", rng=1)
    >>> probs, new_probs = toy.posterior(x), toy.posterior(new_x)
    >>> fits = {
    ...     "uncorrected": dfu.split_conformal(probs, labels, rng=0),
    ...     "weighted": dfu.label_shift_conformal(
    ...         probs, labels, toy.label_weight, rng=0),
    ... }
    >>> table = dfu.coverage_table(
    ...     {name: fit.predict(new_probs) for name, fit in fits.items()}, new_labels)
    >>> table.to_frame()[["method", "coverage", "mean_size", "holds"]].round(3)
            method  coverage  mean_size          holds
    0  uncorrected     0.841      1.583  finite-sample
    1     weighted     0.912      1.913  finite-sample
    """
    args = Arguments("coverage_table")
    must = "a mapping of method names to PredictionSets"
    if not isinstance(sets, Mapping) or not sets:
        args.invalid("sets", must, describe(sets))
    for name, one in sets.items():
        if not isinstance(name, str):
            args.invalid("sets", f"{must}, the names texts", describe(name))
        if not isinstance(one, PredictionSets):
            args.invalid("sets", must, f"{describe(one)} for {name!r}")
    first_name, first = next(iter(sets.items()))
    for name, one in sets.items():
        if len(one) != len(first) or tuple(one.classes) != tuple(first.classes):
            args.invalid(
                "sets",
                "sets of the same rows and classes",
                f"{len(first)} rows of {listed(first.classes)} for {first_name!r} and "
                f"{len(one)} of {listed(one.classes)} for {name!r}",
            )
    rows = read_evaluation(args, first, labels, level, None, blocks)
    achieved = [evaluated(one, rows) for one in sets.values()]
    return CoverageTable(
        methods=tuple(sets),
        achieved=tuple(achieved),
        promised=tuple(one.guarantee for one in sets.values()),
        guarantee=achieved[0].guarantee,
    )
