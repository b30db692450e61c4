"""Cross-conformal prediction: all rows train, and all rows calibrate."""

from __future__ import annotations

from distfreeuq._base import row_groups
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, RandomState
from distfreeuq._numerics.quantiles import smallest_sample
from distfreeuq.conformal.cross_fitted.results import (
    METHODS,
    CrossConformalResult,
    fit_cross,
)
from distfreeuq.conformal.data import calibration_scores, warn_small
from distfreeuq.conformal.scores.nested_score import ScoreLike


def cross_conformal(
    probs: ArrayLike,
    labels: ArrayLike,
    folds: ArrayLike,
    *,
    alpha: float = 0.1,
    method: str = "exchangeable",
    score: ScoreLike = "aps",
    randomized: bool = True,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    ids: ArrayLike | None = None,
) -> CrossConformalResult:
    """Prediction sets from cross-validation: coverage of about 1 - 2 alpha, no shift.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        Each row's probabilities by the classifier that was fitted without its fold.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    folds : array_like (n,)
        Each row's fold, drawn without looking at the rows: not stratified by label,
        unless `method` is "label-conditional".
    alpha : float, default 0.1
        Miscoverage level in (0, 1). Coverage is mostly near 1 - alpha; what is
        guaranteed is about 1 - 2 alpha.
    method : {"exchangeable", "label-conditional"}
        Compare a label's scores with those of all rows, or with those of the label's
        own class, which covers every class, under any label shift.
    score, randomized, classes, rng, ids
        As in `split_conformal`. A score made of these labels (``PAS()``) is refused.

    Returns
    -------
    CrossConformalResult
        Its ``predict`` takes the probabilities of all folds' classifiers.

    Notes
    -----
    A label is in the set if its cross-conformal p-value, (1 + the number of rows whose
    score is at least the label's under the classifier of the row's fold) / (n + 1),
    exceeds alpha [1]_; the same sets are called CV+ in [3]_. Within a fold, its rows
    and the new row are exchangeable given the rows that the fold's classifier was
    fitted on, so that each fold has a valid p-value; the cross-conformal one is a mean
    of these but for its correction, and twice a mean of p-values is a p-value whatever
    their dependence [2]_. With F folds coverage is at least 1 - 2 (n - k + F) / (n + F)
    for k = ceil((1 - alpha)(n + 1)), about 1 - 2 alpha - 2 (F - 1) / n. No classifier
    need treat its rows symmetrically. One that is chosen on all rows (by a search over
    them, say) was not fitted without the fold.

    With a seed, a new row's uniform is another one for each fold, as its probabilities
    are; p-values that err independently have a mean that errs less, and sets are larger
    than they need be. ``ids`` give a row one uniform for all folds.

    With one fold these are the sets of `split_conformal`.

    References
    ----------
    .. [1] Vovk, Nouretdinov, Manokhin and Gammerman (2018), "Cross-conformal predictive
       distributions", COPA.
    .. [2] Vovk and Wang (2020), "Combining p-values via averaging", Biometrika 107.
    .. [3] Romano, Sesia and Candes (2020), "Classification with valid and adaptive
       coverage", NeurIPS, Theorem 3; Barber, Candes, Ramdas and Tibshirani (2021),
       "Predictive inference with the jackknife+", Annals of Statistics 49.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet([2, 1, 1], size=500)
    >>> labels = [rng.choice(3, p=row) for row in probs]
    >>> folds = rng.permutation(500) % 5
    >>> fit = dfu.cross_conformal(probs, labels, folds, alpha=0.05, rng=1)
    >>> fit
    <CrossConformalResult aps alpha=0.05 n=500 folds=5 K=3>
    >>> round(fit.guarantee.lower, 4)
    0.8851
    >>> fit.predict([[[0.9, 0.08, 0.02]]] * 5).sizes.tolist()
    [2]
    """
    args = Arguments("cross_conformal")
    calibration = calibration_scores(
        args,
        probs,
        labels,
        score=score,
        randomized=randomized,
        never_empty=False,
        classes=classes,
        rng=rng,
        ids=ids,
    )
    if calibration.score.knows_labels:
        must = "one that is not made of these labels"
        args.invalid("score", must, calibration.score.name)
    alpha = args.alpha(alpha)
    method = args.choice(method, "method", METHODS)
    names, codes = row_groups.read_groups(args, folds, calibration.n, "folds")
    if not names:
        args.invalid("folds", "of one row at least", "no rows")
    fit = fit_cross(calibration, names, codes[calibration.order], alpha, method)
    always = int((fit.ranks > fit._compared()).sum())
    if always:
        warn_small(
            f"too few calibration rows for alpha={alpha:g}: {always} of "
            f"{len(fit.classes)} classes will be in every set. At least "
            f"{smallest_sample(alpha)} rows to compare with are needed."
        )
    return fit
