"""Calibration and prediction sets: fit on some rows, sets for as many others."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import distfreeuq as dfu

from . import by_hand, data
from .harness import OURS, Job, Target, peer, second_core

ALPHA = 0.1
SIZES = [(10_000, 10), (10_000, 100), (10_000, 1000), (1000, 100), (100_000, 100)]
BY_ARGSORT, BY_SORT, MAPIE = "NumPy, argsort", "NumPy, sort", "mapie"


def jobs() -> Iterator[Job]:
    for variant, spread in data.SHAPES.items():
        for n, n_classes in SIZES:
            if n == 10_000 or spread == data.FLAT:
                yield fit_and_sets(n, n_classes, variant, spread)
        yield fit_and_sets(10_000, 1000, variant, spread, dtype="float32")
    for method in ("label shift", "label-conditional"):
        for variant, spread in data.SHAPES.items():
            for n_classes in (10, 100, 1000):
                yield class_thresholds(method, 10_000, n_classes, variant, spread)
    for n_classes in (10, 100, 1000):
        yield lac(10_000, n_classes)
    for n_classes in (10, 100, 1000):
        yield p_values(2000, n_classes)


def same_sets(results: Mapping[str, Any]) -> None:
    """Refuse sets that differ by more than rounding at the threshold.

    A label whose score equals the threshold up to rounding may fall on either side, and
    mapie's threshold is now and then the next order statistic.
    """
    expected = results[OURS]
    for name, got in results.items():
        share = np.count_nonzero(got != expected) / expected.size
        allowed = 1e-3 if name == MAPIE else 1e-6 if expected.size > 1e6 else 1e-5
        if share > allowed:
            raise AssertionError(
                f"{name}: {share:.2g} of the entries differ from {OURS}"
            )


def fit_and_sets(
    n: int, n_classes: int, variant: str, spread: float, dtype: str = "float64"
) -> Job:
    probs, labels = data.rows(n, n_classes, spread, dtype, seed=0)
    new_probs, _ = data.rows(n, n_classes, spread, dtype, seed=1)

    def ours() -> Any:
        fit = dfu.split_conformal(
            probs, labels, alpha=ALPHA, rng=np.random.default_rng(2)
        )
        return fit.predict(new_probs, rng=np.random.default_rng(3)).mask

    def numpy_threshold() -> float:
        uniforms = np.random.default_rng(2).random(n)
        scores = by_hand.aps_scores(probs, labels, uniforms)
        return by_hand.conformal_threshold(scores, ALPHA)

    def numpy_argsort() -> Any:
        threshold = numpy_threshold()
        uniforms = np.random.default_rng(3).random(n)
        return by_hand.aps_sets_by_argsort(new_probs, threshold, uniforms)

    def numpy_sort() -> Any:
        threshold = numpy_threshold()
        uniforms = np.random.default_rng(3).random(n)
        return by_hand.aps_sets_by_sort(new_probs, threshold, uniforms)

    full = n == 10_000 and n_classes == 1000
    targets = [Target(name, ratio=10.0) for name in (BY_ARGSORT, BY_SORT, MAPIE)]
    targets.append(Target(peak_bytes=1.1 * new_probs.size))  # the boolean mask
    targets.append(second_core("repeated runs lie between 1.5 and 1.9"))
    return Job(
        name="APS fit + sets",
        variant=variant,
        size={"n": n, "K": n_classes},
        dtype=dtype,
        ours=ours,
        peers={
            BY_ARGSORT: numpy_argsort,
            BY_SORT: numpy_sort,
            **peer("mapie", MAPIE, lambda: _mapie_sets(probs, labels, new_probs)),
        },
        check=same_sets,
        reads=probs.nbytes + new_probs.nbytes,
        targets=tuple(targets) if full else (),
    )


def _mapie_sets(probs: Any, labels: Any, new_probs: Any) -> Any:
    """Return mapie's randomised APS sets, made with the uniforms that ours draw.

    Its score is rho + (1 - u) pi, so it is given one minus our uniforms.
    """
    from mapie.classification import SplitConformalClassifier

    classifier = SplitConformalClassifier(
        estimator=_Passthrough(probs.shape[1]),
        confidence_level=1.0 - ALPHA,
        conformity_score="aps",
        prefit=True,
        random_state=_Complement(),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.conformalize(probs, labels)
        _, sets = classifier.predict_set(
            new_probs, conformity_score_params={"include_last_label": "randomized"}
        )
    return sets[:, :, 0]


class _Complement(np.random.RandomState):
    """One minus the uniforms that ours draw, first to fit, then to predict."""

    def __init__(self) -> None:
        super().__init__(0)
        self._streams = iter([np.random.default_rng(2), np.random.default_rng(3)])

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        return 1.0 - next(self._streams).random(size)


class _Passthrough:
    """A fitted classifier whose features are its probabilities."""

    def __init__(self, n_classes: int) -> None:
        self.classes_ = np.arange(n_classes)
        self.n_features_in_ = n_classes

    def fit(self, x: Any, y: Any) -> "_Passthrough":
        return self

    def predict(self, x: Any) -> Any:
        return np.argmax(x, axis=1)

    def predict_proba(self, x: Any) -> Any:
        return x

    def __sklearn_is_fitted__(self) -> bool:
        return True


def class_thresholds(
    method: str, n: int, n_classes: int, variant: str, spread: float
) -> Job:
    """Return the job: thresholds close together (label shift), or wide apart."""
    probs, labels = data.rows(n, n_classes, spread, seed=0)
    new_probs, _ = data.rows(n, n_classes, spread, seed=1)
    weight = np.random.default_rng(4).uniform(0.5, 2.0, n_classes)
    alpha = 0.2  # which ten rows of a class are enough for
    shifted = method == "label shift"

    def ours() -> Any:
        rng = np.random.default_rng(2)
        if shifted:
            fit = dfu.label_shift_conformal(probs, labels, weight, alpha=alpha, rng=rng)
        else:
            with warnings.catch_warnings():  # of classes with fewer than four rows
                warnings.simplefilter("ignore", dfu.SmallCalibrationWarning)
                fit = dfu.label_conditional_conformal(
                    probs, labels, alpha=alpha, rng=rng
                )
        return fit.predict(new_probs, rng=np.random.default_rng(3)).mask

    def by_argsort() -> Any:
        uniforms = np.random.default_rng(2).random(n)
        scores = by_hand.aps_scores(probs, labels, uniforms)
        if shifted:
            thresholds = by_hand.label_shift_thresholds(scores, labels, weight, alpha)
        else:
            thresholds = by_hand.label_conditional_thresholds(
                scores, labels, n_classes, alpha
            )
        uniforms = np.random.default_rng(3).random(n)
        return by_hand.aps_sets_by_argsort(new_probs, thresholds, uniforms)

    return Job(
        name=f"APS fit + sets, {method}",
        variant=variant,
        size={"n": n, "K": n_classes},
        ours=ours,
        peers={BY_ARGSORT: by_argsort},
        check=same_sets,
        reads=probs.nbytes + new_probs.nbytes,
    )


def lac(n: int, n_classes: int) -> Job:
    probs, labels = data.rows(n, n_classes, seed=0)
    new_probs, _ = data.rows(n, n_classes, seed=1)

    def ours() -> Any:
        fit = dfu.split_conformal(probs, labels, alpha=ALPHA, score="lac")
        return fit.predict(new_probs).mask

    def by_numpy() -> Any:
        scores = by_hand.lac_scores(probs, labels, np.ones(n))
        return 1.0 - new_probs <= by_hand.conformal_threshold(scores, ALPHA)

    return Job(
        name="LAC fit + sets",
        size={"n": n, "K": n_classes},
        ours=ours,
        peers={"NumPy": by_numpy},
        check=same_sets,
        reads=probs.nbytes + new_probs.nbytes,
    )


def p_values(n: int, n_classes: int) -> Job:
    probs, labels = data.rows(n, n_classes, seed=0)
    new_probs, _ = data.rows(n, n_classes, seed=1)
    fit = dfu.split_conformal(probs, labels, alpha=ALPHA, rng=2)
    uniforms = np.random.default_rng(3).random(n)

    def by_numpy() -> Any:
        scores = by_hand.all_aps_scores(new_probs, uniforms)
        n_below = np.searchsorted(fit.scores, scores, side="left")
        return (1 + fit.n - n_below) / (fit.n + 1)

    return Job(
        name="conformal p-values",
        size={"n": n, "K": n_classes},
        ours=lambda: fit.p_values(new_probs, uniforms=uniforms),
        peers={"NumPy": by_numpy},
        check=same_up_to_one_rank,
        reads=new_probs.nbytes,
    )


def same_up_to_one_rank(results: Mapping[str, Any]) -> None:
    """Refuse p-values that differ by more than a score's rounding can make them."""
    expected = results[OURS]
    for name, got in results.items():
        difference = np.abs(got - expected).max()
        if difference > 1.5 / expected.shape[0]:
            raise AssertionError(f"{name}: p-values differ from {OURS} by {difference}")
