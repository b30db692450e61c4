"""Compare calibrations on a shifted target, in repeated random splits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import listed, read_only
from distfreeuq._base.progress import progress_bar
from distfreeuq._base.random_streams import stream
from distfreeuq._base.user_warnings import Warned, listed_warnings, warn_once
from distfreeuq._numerics.parallel import in_order
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq.assessment.calibration_results import (
    UNCALIBRATED,
    UNWEIGHTED,
    USING_TARGET,
    WEIGHTED,
    CalibrationComparisonResult,
)
from distfreeuq.assessment.data import read_measures
from distfreeuq.assessment.measures import Measures
from distfreeuq.calibration.calibrators import (
    AnyCalibrator,
    Calibrator,
    fit_calibrator,
    may_mask,
    read_calibrator,
    takes_probs,
)
from distfreeuq.calibration.data import read_new_logits, read_rows_in_memory
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows, make_rows
from distfreeuq.calibration.rows.masked_logits import check_labels_of_masked
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.label_shift.results import LabelShiftResult, identified_weights
from distfreeuq.metrics.bins import Bins, check_bins
from distfreeuq.metrics.data import EVENTS

Calibrators = str | Callable[..., Any] | Sequence[Any] | Mapping[str, Any]


def compare_calibrations(
    logits: ArrayLike,
    labels: ArrayLike,
    logits_target: ArrayLike | None = None,
    labels_target: ArrayLike | None = None,
    *,
    sample_weight: Any = None,
    label_weight: ArrayLike | LabelShiftResult | None = None,
    calibrators: Calibrators = "temperature",
    calibration_share: float | tuple[float, float] = 0.3,
    n_rep: int = 10,
    n_bins: int = 15,
    scheme: str | ArrayLike = "equal-width",
    closed: str = "right",
    event: str = "predicted",
    classes: Any = None,
    rng: RandomState = None,
    n_jobs: int = 1,
    progress: bool = False,
) -> CalibrationComparisonResult:
    """Compare on the target: uncalibrated, unweighted, weighted, using target labels.

    Parameters
    ----------
    logits : array_like (n, K), or (n,) for log-odds of class 1
        Logits of source rows that the classifier was not fitted on.
    labels : array_like (n,)
    logits_target : array_like (m, K) or (m,), optional
    labels_target : array_like (m,), optional
        Labelled target rows, on which all are tested. Without them the target's metrics
        are estimated on held-out source rows with their weights.
    sample_weight : array_like (n,), DensityRatioResult, or mapping of str to these
        Importance weights of the source rows: known ones, or what `density_ratio` found
        for these rows. A mapping compares several.
    label_weight : array_like (K,) or LabelShiftResult, optional
        In place of `sample_weight`: weights that depend on the label.
    calibrators : str, callable, or a sequence or mapping of these
        "temperature", "platt", "vector", "dirichlet", "isotonic", "venn-abers", "beta",
        or a function that is called as `temperature_scaling` is, with `sample_weight`,
        and returns a fit whose `predict` takes logits. A mapping gives names.
    calibration_share : float or (float, float), default 0.3
        Share of the rows that each repetition calibrates on, of the source and of the
        target; other target rows test. It is 0.3 in [1]_. With (1.0, 0.3) all source
        rows calibrate.
    n_rep : int, default 10
        Random splits.
    n_bins, scheme, closed, event
        As in `assess`.
    classes : sequence, optional
    rng : seed, Generator, SeedSequence or None
    n_jobs : int
        Processes for the repetitions.
    progress : bool

    Returns
    -------
    CalibrationComparisonResult

    Notes
    -----
    "Unweighted" is fitted to source rows, "Weighted" to the same with their weights,
    "Using target" to labelled target rows, as in [1]_ and [2]_. The calibrators'
    warnings are given once of each kind.

    References
    ----------
    .. [1] Pampari and Ermon (2020), tables 1 to 3.
    .. [2] Park, Bastani, Weimer and Lee (2020), table 1.

    Examples
    --------
    Class 1 is the harder one, and more frequent in the target. The weights are known:

    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> def draw(n, share):
    ...     labels = (rng.random(n) < share).astype(int)
    ...     scale = np.where(labels == 1, 1.0, 4.0)
    ...     return rng.normal((2 * labels - 1) * scale, 2.0), labels
    >>> result = dfu.compare_calibrations(
    ...     *draw(4000, 0.1), *draw(4000, 0.8),
    ...     label_weight=[0.2 / 0.9, 0.8 / 0.1], calibrators=["temperature", "platt"],
    ...     rng=0,
    ... )
    >>> frame = result.to_frame().query("metric == 'ece' and calibrator != 'platt'")
    >>> frame.set_index("method")["mean"].round(2).to_dict()
    {'Uncalibrated': 0.07, 'Unweighted': 0.11, 'Weighted': 0.03, 'Using target': 0.02}
    """
    args = Arguments("compare_calibrations")
    instead = "Give arrays of a sample: maps are compared by fits to parts of the rows."
    refuse_blocks(args, {"logits": logits}, instead)
    several = _read_calibrators(args, calibrators)
    masks = all(map(may_mask, several.values()))
    rows = read_rows_in_memory(args, logits, labels, None, classes, may_mask=masks)
    target = _read_target(args, logits_target, labels_target, rows, masks)
    weights = _read_weights(args, sample_weight, label_weight, rows)
    if target is None and len(weights) != 1:
        must = "one set of weights where there are no target labels to test on"
        got = f"{len(weights)} sets" if weights else "None"
        args.invalid("sample_weight", must, got)
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    args.choice(event, "event", EVENTS if rows.n_classes == 2 else EVENTS[:1])
    n_rep = args.count(n_rep, "n_rep", low=1)
    n_jobs = args.jobs(n_jobs)
    progress = args.flag(progress, "progress")
    study = _Study(
        args=args,
        rows=rows,
        target=target,
        weights=weights,
        calibrators=several,
        sizes=_read_sizes(args, calibration_share, rows, target),
        n_bins=n_bins,
        how=how,
        event=event,
    )
    generators = stream(rng, "split", "compare_calibrations").spawn(n_rep)
    values, metrics = _repeat(study, generators, n_jobs, progress)
    lines = [("none", UNCALIBRATED), *study.lines()]
    shares = [w / w.max() for w in weights.values()]
    ess = [w.sum() ** 2 / (w @ w) for w in shares]
    return CalibrationComparisonResult(
        calibrators=tuple(calibrator for calibrator, _ in lines),
        methods=tuple(method for _, method in lines),
        metrics=metrics,
        values=read_only(values),
        n_source=rows.n,
        n_target=0 if target is None else target.n,
        n_calibration=study.sizes[0],
        n_calibration_target=study.sizes[1],
        n_test=(rows if target is None else target).n - study.sizes[target is not None],
        weighting=tuple(weights),
        ess=read_only(np.array(ess, dtype=np.float64)),
        guarantee=NoGuarantee(
            "metrics of samples. With the true density ratio a weighted loss is the "
            "target's in expectation (Pampari & Ermon 2020, Thm 4.1), which promises "
            "nothing about the ECE"
        ),
    )


# ------------------------------------------------------------------- arguments


@dataclass(frozen=True, slots=True)
class _Labelled:
    """Logits (m, K) and column numbers of the labels."""

    logits: FloatMatrix
    labels: IntArray

    @property
    def n(self) -> int:
        return int(self.labels.size)


@dataclass(frozen=True, slots=True)
class _Study:
    """What every repetition works on."""

    args: Arguments
    rows: CalibrationRows
    target: _Labelled | None
    weights: dict[str, FloatArray]
    calibrators: dict[str, AnyCalibrator]
    sizes: tuple[int, int]
    n_bins: int
    how: Bins
    event: str

    def lines(self) -> list[tuple[str, str]]:
        """Return calibrator and method of every line but the first."""
        methods = [UNWEIGHTED, *self.weights]
        methods += [] if self.target is None else [USING_TARGET]
        return [(name, method) for name in self.calibrators for method in methods]

    def measure(
        self, probs: FloatMatrix, labels: IntArray, weights: FloatArray | None
    ) -> Measures:
        """Return the test rows in their bins, as `assess` would read them."""
        return read_measures(
            Arguments("assess"),
            probs,
            labels,
            self.n_bins,
            self.how,
            self.event,
            predicted=None,
            sample_weight=weights,
            classes=None,
        )


def _read_target(
    args: Arguments, logits: Any, labels: Any, rows: CalibrationRows, masks: bool
) -> _Labelled | None:
    if (logits is None) != (labels is None):
        missing, other = "logits_target", "labels_target"
        if labels is None:
            missing, other = other, missing
        args.invalid(missing, f"given together with '{other}'", "None")
    if logits is None:
        return None
    matrix = read_new_logits(
        args, logits, rows.classes, "logits_target", may_mask=masks
    )
    if matrix.shape[0] < 2:
        args.invalid("logits_target", "of at least 2 rows", f"shape {matrix.shape}")
    numbers = args.labels(labels, rows.classes, matrix.shape[0], "labels_target")
    check_labels_of_masked(args, matrix, numbers, rows.classes, "labels_target")
    return _Labelled(matrix, numbers)


def _read_weights(
    args: Arguments, by_row: Any, by_label: Any, rows: CalibrationRows
) -> dict[str, FloatArray]:
    """Return the source rows' weights by the name of their method."""
    if by_label is not None:
        if by_row is not None:
            args.invalid("label_weight", "None where 'sample_weight' is given", "both")
        names = getattr(by_label, "classes", rows.classes)
        if list(names) != list(rows.classes):
            must = f"weights for the classes {listed(rows.classes)}"
            args.invalid("label_weight", must, f"weights for {listed(names)}")
        given = identified_weights(args, by_label)
        of_class = args.label_weights(given, rows.classes, rows.labels)
        return {WEIGHTED: of_class[rows.labels]}
    if by_row is None:
        return {}
    several = by_row if isinstance(by_row, Mapping) else {"": by_row}
    if not several:
        args.invalid("sample_weight", "weights, or a mapping of names to them", "{}")
    weights = {}
    for name, given in several.items():
        values = getattr(given, "source_weight", given)
        method = f"{WEIGHTED}, {name}" if name else WEIGHTED
        weights[method] = args.weights(values, "sample_weight", rows.n)
    return weights


def _read_calibrators(args: Arguments, value: Any) -> dict[str, AnyCalibrator]:
    if isinstance(value, Mapping):
        several = {
            str(name): read_calibrator(args, one, "calibrators")[1]
            for name, one in value.items()
        }
        n_given = len(value)
    else:
        given = list(value) if isinstance(value, list | tuple) else [value]
        several = dict(read_calibrator(args, one, "calibrators") for one in given)
        n_given = len(given)
    if not several:
        args.invalid("calibrators", "at least one calibrator", "none")
    if len(several) < n_given:
        must = "calibrators of different names (a mapping gives names)"
        args.invalid("calibrators", must, ", ".join(several) + ", some twice")
    return several


def _read_sizes(
    args: Arguments, share: Any, rows: CalibrationRows, target: _Labelled | None
) -> tuple[int, int]:
    """Return how many rows of source and target calibrate."""
    must = "a number in (0, 1), or two: the source's in (0, 1] and the target's"
    shares = args.numbers(share, "calibration_share", must, low=0.0, high=1.0)
    if shares.size == 1 and shares[0] < 1.0:
        shares = np.repeat(shares, 2)
    held_out = shares[0] if target is None else shares[-1]
    if shares.size != 2 or not shares.min() > 0.0 or held_out == 1.0:
        args.invalid("calibration_share", must, repr(share))
    source = max(1, round(shares[0] * rows.n))
    if target is None:
        if rows.n < 2:
            args.invalid("logits", "of at least 2 rows", f"shape {rows.logits.shape}")
        return min(source, rows.n - 1), 0
    return source, min(max(1, round(shares[1] * target.n)), target.n - 1)


# ----------------------------------------------------------------- repetitions


def _repeat(
    study: _Study,
    generators: Sequence[np.random.Generator],
    n_jobs: int,
    progress: bool,
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return metrics (R, C, J) and their names; pass warnings on."""
    found = in_order(partial(_one_split, study), generators, n_jobs)
    n_rep = len(generators)
    parts = list(progress_bar(found, total=n_rep, shown=progress, desc="splits"))
    warned = [warning for _, _, caught in parts for warning in caught]
    warn_once(warned, "the fits")
    # weights leave some splits with too few rows for a metric: all have the others
    every = [
        name for name in parts[0][1] if all(name in names for _, names, _ in parts)
    ]
    values = [
        found[:, [names.index(name) for name in every]] for found, names, _ in parts
    ]
    return np.array(values), tuple(every)


def _one_split(
    study: _Study, generator: np.random.Generator
) -> tuple[FloatMatrix, tuple[str, ...], list[Warned]]:
    """Return metrics (C, J) of one random split, their names, and warnings."""
    rows, target = study.rows, study.target
    source, rest = _split(generator, rows.n, study.sizes[0])
    if target is None:
        test = _Labelled(rows.logits[rest], rows.labels[rest])
        (weights,) = study.weights.values()
        test_weights: FloatArray | None = _drawn(study.args, weights, rest)
        own = None
    else:
        own, other = _split(generator, target.n, study.sizes[1])
        test = _Labelled(target.logits[other], target.labels[other])
        test_weights = None
    some = _Labelled(rows.logits[source], rows.labels[source])
    fitted: list[tuple[_Labelled, FloatArray | None]] = [(some, None)]
    fitted += [(some, _drawn(study.args, w, source)) for w in study.weights.values()]
    if target is not None:
        fitted.append((_Labelled(target.logits[own], target.labels[own]), None))
    probs = [_probabilities(test.logits)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for calibrator in study.calibrators.values():
            for chosen, sample_weight in fitted:
                predict = _fit(study.args, calibrator, chosen, sample_weight)
                probs.append(predict(test.logits))
    measures = [study.measure(p, test.labels, test_weights) for p in probs]
    values = np.array([one.values(one.sums())[0] for one in measures])
    return values, measures[0].names, listed_warnings(caught)


def _split(
    generator: np.random.Generator, n: int, size: int
) -> tuple[IntArray, IntArray]:
    """Return `size` rows drawn at random, and the others."""
    order = generator.permutation(n)
    return order[:size], order[size:]


def _drawn(args: Arguments, weights: FloatArray, rows: IntArray) -> FloatArray:
    """Return the weights of drawn rows."""
    drawn = weights[rows]
    if not drawn.any():
        must = "positive for some rows of every random split: use more rows"
        args.invalid("sample_weight", must, f"zero for all {rows.size} rows of one")
    return drawn


def _fit(
    args: Arguments,
    calibrator: AnyCalibrator,
    rows: _Labelled,
    weights: FloatArray | None,
) -> Callable[[FloatMatrix], FloatMatrix]:
    """Return the fitted map from logits to probabilities."""
    wants_probs = isinstance(calibrator, Calibrator) and calibrator.takes_probs
    inputs = _probabilities(rows.logits) if wants_probs else rows.logits
    checked = make_rows(inputs, rows.labels, weights, range(inputs.shape[1]))
    options: Any = {}
    if isinstance(calibrator, Calibrator):
        options = calibrator.options(checked, {})
    fit = fit_calibrator(args, calibrator, checked, options, weights, "calibrators")

    def predict(new: FloatMatrix) -> FloatMatrix:
        return fit._predict(_probabilities(new) if takes_probs(fit) else new)

    return predict


def _probabilities(logits: FloatMatrix) -> FloatMatrix:
    probs: FloatMatrix = special.softmax(logits, axis=1)
    return probs
