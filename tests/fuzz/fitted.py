"""Results as arguments: fits to a sample, regions, scenarios, theorems, files."""

import shutil
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import distfreeuq as dfu
from tests.fuzz.kinds import Argument, same
from tests.fuzz.samples import Sample

Array = np.ndarray[Any, Any]


def _easy_rows(s: Sample, n: int) -> tuple[Array, Array]:
    """Return rows in which every class is predicted and seen."""
    labels = np.arange(n) % s.K
    probs = s.np.dirichlet(np.ones(s.K), n)
    probs = 0.5 * probs + 0.5 * np.eye(s.K)[labels]
    return probs, labels


def shift_result(s: Sample) -> Any:
    """Return a LabelShiftResult for the sample's classes."""
    style = s.r.randrange(5)
    if style == 0 or s.K > 12:
        prior = np.full(s.K, 1 / s.K)
        return dfu.label_weights(prior, s.np.dirichlet(np.ones(s.K)), classes=s.classes)
    probs, labels = _easy_rows(s, 4 * s.K)
    if style == 1:  # no class but one is ever predicted
        probs = np.tile(probs[0], (4 * s.K, 1))
    named = labels if s.classes is None else [s.classes[k] for k in labels]
    fit = s.r.choice((dfu.bbse, dfu.bbse, dfu.rlls, dfu.mlls))
    return fit(probs, named, s.np.dirichlet(np.ones(s.K), 20), classes=s.classes)


def box(s: Sample) -> Argument:
    low = s.weights(s.K) * s.r.choice((0.0, 0.5, 1.0))
    with np.errstate(over="ignore"):
        return same(dfu.Box(low, low + s.weights(s.K), True))


def polytope(s: Sample) -> Argument:
    lower = s.np.dirichlet(np.ones(s.K), s.K) / s.K
    mu = s.np.dirichlet(np.ones(s.K))
    return same(dfu.Polytope(lower, lower + 0.1, mu / 2, 2 * mu, True))


def region(s: Sample) -> Argument:
    if s.r.random() < 0.5 or s.K > 12:
        return box(s)
    return polytope(s)


def region_or_none(s: Sample) -> Argument:
    return same(None) if s.r.random() < 0.5 else region(s)


def label_weight(s: Sample) -> Argument:
    """Return a vector, the result of an estimator, or a region."""
    from tests.fuzz.kinds import class_weight

    u = s.r.random()
    if u < 0.5:
        return class_weight(s)
    return same(shift_result(s)) if u < 0.8 else region(s)


def shift(s: Sample) -> Argument:
    """Return what `prediction_sets` may know of the target's labels."""
    if s.r.random() < 0.4:
        return same(s.r.choice((None, "none")))
    return label_weight(s)


def target_shift(s: Sample) -> Argument:
    """Return what `target_performance` may know of the shift."""
    from tests.fuzz.kinds import class_weight

    u = s.r.random()
    if u < 0.4:
        return same(None)
    return same(
        s.r.choice((shift_result, density_ratio))(s) if u < 0.5 else class_weight(s)
    )


def _zero_one(probs: Any, labels: Any) -> Any:
    return np.asarray(probs).argmax(axis=1) != np.arange(len(probs)) % 2


def _cost(probs: Any, labels: Any) -> Any:
    return np.asarray(probs)[:, 0] * 1e6


def _wrong_cost(probs: Any, labels: Any) -> Any:
    return [float("nan")] * len(probs)


def performance_metrics(s: Sample) -> Argument:
    """Return what `target_performance` may be asked for."""
    forms: tuple[Any, ...] = (
        "accuracy", "ece", ("recall", "brier"), ["precision", "nll"], "confusion",
        ("balanced_accuracy", _cost), _zero_one, [_wrong_cost], "bad", (),
        ("accuracy", "accuracy"),
    )  # fmt: skip
    return same(s.r.choice(forms))


def sets_of_rows(s: Sample) -> Any:
    """Return sets whose coverage `target_performance` may be asked for."""
    makers = (conformal_fit, conformal_fit, grouped_fit, _pair_of_sets)
    return s.r.choice(makers)(s)


def _pair_of_sets(s: Sample) -> Any:
    probs, labels = _easy_rows(s, 20)
    named = labels if s.classes is None else [s.classes[k] for k in labels]
    fit = dfu.split_conformal(probs, named, classes=s.classes, rng=0)
    return tuple(fit.predict(s.np.dirichlet(np.ones(s.K), n)) for n in (s.n, s.m))


def performance(s: Sample) -> Any:
    """Return a PerformanceResult."""
    probs = s.np.dirichlet(np.ones(s.K), size=30)
    labels = np.arange(30) % s.K
    return dfu.target_performance(probs, labels, probs[::-1], shift=np.ones(s.K))


def density_ratio(s: Sample) -> Any:
    """Return a DensityRatioResult between the sample's features."""
    n, m = max(s.n, 6), 8
    source, target = s.np.normal(size=(n, s.d)), s.np.normal(0.5, 1.0, (m, s.d))
    method = s.r.choice(("knn", "logistic"))
    return dfu.density_ratio(source, target, method=method, n_folds=3, rng=0)


def row_weight(s: Sample) -> Argument:
    """Return a weight per row, or a ratio."""
    from tests.fuzz.kinds import sample_weight

    return same(density_ratio(s)) if s.r.random() < 0.1 else sample_weight(s)


def ratio(s: Sample) -> Argument:
    """Return how `covariate_shift_calibration` may be told of weights."""
    from tests.fuzz.kinds import sample_weight

    if s.r.random() < 0.3:
        return sample_weight(s)
    given: list[Any] = ["logistic", None, "knn", "ulsif", density_ratio]
    chosen = s.r.choice(given)
    return same(chosen(s) if callable(chosen) else chosen)


def _equal(new: Any) -> Any:
    return np.full(np.shape(new), 1.0 / np.shape(new)[1])


def _as_it_is(new: Any) -> Any:
    return new


def own_map(logits: Any, labels: Any, sample_weight: Any = None) -> Any:
    """Calibrate as a user may: the same probabilities for all rows."""
    return _equal


def _wrong_map(logits: Any, labels: Any, sample_weight: Any = None) -> Any:
    return _as_it_is


def calibrator(s: Sample) -> Argument:
    names = (
        "temperature", "platt", "vector", "isotonic", "classwise-temperature",
        "binning", dfu.temperature_scaling, own_map, _wrong_map,
    )  # fmt: skip
    return same(s.r.choice(names))


def candidates(s: Sample) -> Argument:
    """Return what `choose_calibration` chooses among."""
    forms: tuple[Any, ...] = (
        ["temperature", "vector"], ["isotonic", own_map, "platt"],
        {"a": {}, "b": {"offset": 0.5, "ratio": None}},
        {"a": {"calibrator": "binning"}, "b": {"ratio_options": {"flatten": 0.5}}},
        ["temperature"], {"a": {}, "b": {"no": 1}}, {}, "platt", [_wrong_map, own_map],
    )  # fmt: skip
    return same(s.r.choice(forms))


def any_calibrator(s: Sample) -> Argument:
    """Return what `covariate_shift_calibration` takes."""
    names = ("beta", "venn-abers", "dirichlet")
    return same(s.r.choice(names)) if s.r.random() < 0.4 else calibrator(s)


def calibrators(s: Sample) -> Argument:
    forms: tuple[Any, ...] = (
        "temperature", "isotonic", ["temperature", "vector"], {"mine": "platt"},
        dfu.temperature_scaling,
    )  # fmt: skip
    return same(s.r.choice(forms))


def calibration_share(s: Sample) -> Argument:
    return same(s.r.choice((0.3, 0.5, (1.0, 0.3), (0.5, 0.5), [0.2, 0.9], 0.99, 1e-9)))


def bin_scheme(s: Sample) -> Argument:
    forms: tuple[Any, ...] = (
        "uniform-mass", "uniform-mass", "equal-width", [0.0, 0.5, 1.0], [0.2, 0.3], [],
        np.linspace(0, 1, 5), _quarter, _nonsense,
    )  # fmt: skip
    return same(s.r.choice(forms))


def _quarter(probs: Any) -> Any:
    return (np.asarray(probs)[:, 0] * 3.99).astype(int) % 2


def _nonsense(probs: Any) -> Any:
    return "bins"


def coordinates(s: Sample) -> Argument:
    return same(s.r.choice((None, [0], [1, 0], np.array([0, 1, 0]), range(2))))


def clip(s: Sample) -> Argument:
    forms = (None, 10.0, "99%", (0.1, 10.0), ("1%", "99%"), [0.0, "50%"], 5e-324, "0%")
    return same(s.r.choice(forms))


def ratio_options(s: Sample) -> Argument:
    forms: tuple[Any, ...] = (None, {}, {"clip": "99%"}, {"n_folds": 3}, {"ridge": 1.0})
    return same(s.r.choice(forms))


def calibrator_options(s: Sample) -> Argument:
    return same(s.r.choice((None, {}, None)))


def feature_learning(s: Sample) -> Argument:
    few = {"n_epochs": 2, "n_hidden": 2}
    return same(s.r.choice((False, False, False, few)))


def classifier_array(s: Sample) -> Argument:
    """Return probabilities of one more classifier, for `compare`."""
    return same(s.np.dirichlet(np.ones(s.K), s.n))


# ------------------------------------------------------------- results, for the figures


def conformal_fit(s: Sample) -> Any:
    """Return a ConformalResult."""
    probs, labels = _easy_rows(s, 20)
    style = s.r.randrange(4)
    if style == 0:
        return dfu.label_conditional_conformal(probs, labels, rng=0)
    if style == 1:
        return dfu.label_shift_conformal(probs, labels, np.ones(s.K), rng=0)
    if style == 2:
        return dfu.covariate_shift_conformal(probs, labels, np.ones(20), rng=0)
    return dfu.split_conformal(probs, labels, rng=0)


def a_plan(s: Sample) -> Any:
    """Return a PlanResult."""
    return dfu.plan(s.r.choice((0.1, 0.01)), s.r.choice((None, 0.9)))


def tally(s: Sample) -> Any:
    """Return a tally, with or without scores or labels."""
    probs, labels = _easy_rows(s, 3 * s.K)
    style = s.r.randrange(3)
    if style == 0:
        return dfu.tally(probs)
    return dfu.tally(probs, labels, score="aps" if style == 1 else None, rng=0)


def monitor(s: Sample) -> Any:
    """Return a ShiftMonitor that has seen some rows."""
    probs, labels = _easy_rows(s, 20)
    found = dfu.shift_monitor(probs, labels, alpha=s.r.choice((0.5, 0.01)), rng=0)
    return found.update(probs[: s.r.choice((0, 1, 20))])


def watched_risk(s: Sample) -> Any:
    """Return a RiskMonitor; some of its rows wait for their labels."""
    probs, labels = _easy_rows(s, 20)
    known = s.r.choice((0, 1, 10))
    predictions: Any = probs
    if s.r.random() < 0.3:
        predictions = dfu.split_conformal(probs, labels, rng=0).predict(probs)
    order = s.r.choice(("row", "arrival"))
    found = dfu.risk_monitor(predictions, labels, order=order)
    return found.update(predictions).update_labels(labels[:known])


def grouped_fit(s: Sample) -> Any:
    """Return a GroupedConformalResult."""
    probs, labels = _easy_rows(s, 20)
    groups = np.arange(20) // 10
    return dfu.split_conformal(probs, labels, groups=groups, rng=0)


def cross_fit(s: Sample) -> Any:
    """Return a CrossConformalResult."""
    probs, labels = _easy_rows(s, 20)
    return dfu.cross_conformal(probs, labels, np.arange(20) // 10, rng=0)


def _split_sets(s: Sample) -> tuple[Any, Array]:
    probs, labels = _easy_rows(s, 20)
    return dfu.split_conformal(probs, labels, rng=0).predict(probs), labels


def sets(s: Sample) -> Any:
    """Return PredictionSets, or what they were evaluated to."""
    return _split_sets(s)[0] if s.r.random() < 0.5 else coverage(s)


def some_sets(s: Sample) -> Any:
    """Return PredictionSets."""
    return _split_sets(s)[0]


def coverage(s: Sample) -> Any:
    found, labels = _split_sets(s)
    if s.r.random() < 0.3:
        return found.evaluate(labels, blocks=s.np.integers(0, 3, len(labels)))
    return found.evaluate(labels)


def scaling_fit(s: Sample) -> Any:
    probs, labels = _easy_rows(s, 30)
    functions = (
        dfu.temperature_scaling, dfu.classwise_temperature_scaling, dfu.vector_scaling,
        dfu.platt_scaling,
    )  # fmt: skip
    return s.r.choice(functions)(np.log(probs), labels)


def isotonic_fit(s: Sample) -> Any:
    return dfu.isotonic_calibration(*_easy_rows(s, 30))


def binning_fit(s: Sample) -> Any:
    mode = s.r.choice(("canonical", "classwise", "top-label"))
    return dfu.histogram_binning(*_easy_rows(s, 30), n_bins=3, mode=mode)


def comparison(s: Sample) -> Any:
    probs, labels = _easy_rows(s, 20)
    return dfu.compare(probs, probs[:, ::-1], labels=labels, n_boot=10, rng=0)


def calibration_comparison(s: Sample) -> Any:
    probs, labels = _easy_rows(s, 30)
    return dfu.compare_calibrations(
        np.log(probs), labels, sample_weight=np.ones(30), n_rep=2, rng=0
    )


def feature_map(s: Sample) -> Any:
    x = s.np.normal(size=(12, 2))
    return dfu.indistinguishable_features(
        x, np.arange(12) % 2, x + 0.5, n_hidden=2, n_epochs=2, rng=0
    )


def reliability_table(s: Sample) -> Any:
    return dfu.metrics.reliability(s.np.random(20), s.np.random(20) < 0.5)


def reliability_band(s: Sample) -> Any:
    return dfu.metrics.isotonic_band(s.np.random(20), s.np.random(20) < 0.5)


def theorem_result(s: Sample) -> Any:
    return dfu.theorems.verify(a_theorem(s), n_sim=20, rng=1)


def search_result(s: Sample) -> Any:
    return dfu.theorems.search(a_theorem(s), 0.01, n_designs=2, rng=1)


# ----------------------------------------------------------- scenarios and theorems


def _fair_coin(generator: np.random.Generator, n: int) -> dict[str, Array]:
    return {"heads": generator.random(n) < 0.5}


def _designs(generator: np.random.Generator) -> Any:
    bound = float(generator.uniform(0.5, 1.0))
    claim = dfu.theorems.Claim("heads", at_most=bound)
    return dfu.theorems.Design({"bound": bound}, claim, probability=lambda: 0.5)


def claim(s: Sample) -> Any:
    return dfu.theorems.Claim("heads", equals=0.5, tolerance=0.2)


def experiment(s: Sample) -> Any:
    return dfu.theorems.Experiment("one coin", _fair_coin, (claim(s),), batch=10)


def design(s: Sample) -> Any:
    return _designs(s.np)


def a_theorem(s: Sample) -> Any:
    """Return a theorem that is checked in a moment."""
    return dfu.theorems.Theorem(
        name="fair-coin",
        title="A fair coin",
        reference="folklore",
        statement="Half of all throws are heads.",
        assumptions=("the coin is fair",),
        experiments=(experiment(s),),
        designs=_designs,
    )


@cache
def _scenario_names() -> tuple[str, ...]:
    return dfu.scenarios.names()


def scenario(s: Sample) -> Any:
    return dfu.scenarios.get(s.r.choice(_scenario_names()))


def _mean(draws: Any, generator: np.random.Generator, **parameters: Any) -> Any:
    return {"mean": float(generator.normal()), "other": 1.0}


def _undefined(draws: Any, generator: np.random.Generator, **parameters: Any) -> Any:
    return {"mean": float("nan")}


def _no_numbers(draws: Any, generator: np.random.Generator, **parameters: Any) -> Any:
    return {"mean": "text"}


def _nothing(draws: Any, generator: np.random.Generator, **parameters: Any) -> Any:
    return None


def procedure(s: Sample) -> Argument:
    return same(s.r.choice((_mean, _mean, _mean, _undefined, _no_numbers, _nothing)))


def scenario_like(s: Sample) -> Argument:
    return same(s.r.choice(("three-gaussians", "atoms", scenario(s), _draw)))


def _draw(generator: np.random.Generator) -> float:
    return float(generator.random())


def parameters(s: Sample) -> Argument:
    return same(
        s.r.choice((None, {}, {"n": 3}, {"x": [1, 2]}, {"f": np.pi}, {"a": np}))
    )


# ------------------------------------------------------------------------------ files


def folder() -> Path:
    """Return this process's own folder, which is emptied before each case."""
    return Path(_folder())


@cache
def _folder() -> str:
    return tempfile.mkdtemp(prefix="distfreeuq-fuzz-")


def empty_folder() -> None:
    """Remove what the last case wrote."""
    for path in folder().iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def remove_folder() -> None:
    shutil.rmtree(folder(), ignore_errors=True)


def new_path(s: Sample) -> Argument:
    """Return where a file can be written."""
    name = s.r.choice(("fit.npz", "fit", "é.npz", " .npz", "日本.npz"))
    path = folder() / name
    return same(s.r.choice((path, str(path), str(path).encode())))


def stored_path(s: Sample) -> Argument:
    """Return a file that holds a result, whole or damaged."""
    path = folder() / "stored.npz"
    s.r.choice(_SAVED)(s).save(path)
    if s.r.random() < 0.8:
        path.write_bytes(damaged(path.read_bytes(), s.r))
    return same(s.r.choice((path, str(path))))


_SAVED = (
    conformal_fit, grouped_fit, binning_fit, scaling_fit, isotonic_fit, monitor,
    performance, shift_result, density_ratio, coverage, comparison, a_plan,
)  # fmt: skip


def journal_path(s: Sample) -> Argument:
    """Return no file, a new one, a journal of an earlier run, or a damaged one."""
    path = folder() / "study.jsonl"
    if s.r.random() < 0.6:
        dfu.simulate("atoms", _mean, 3, rng=0, file=path)
        if s.r.random() < 0.7:
            path.write_bytes(damaged(path.read_bytes(), s.r))
    return same(s.r.choice((None, path, str(path))))


def damaged(content: bytes, r: Random) -> bytes:
    style = r.randrange(5)
    if style == 0:
        return content[: r.randrange(len(content))]
    if style == 1:
        return content + bytes(r.randrange(256) for _ in range(r.randrange(50)))
    if style == 2:
        return r.randbytes(r.randrange(200))
    spoilt = bytearray(content)
    for _ in range(1 if style == 3 else r.randrange(1, 20)):
        spoilt[r.randrange(len(spoilt))] ^= 1 << r.randrange(8)
    return bytes(spoilt)
