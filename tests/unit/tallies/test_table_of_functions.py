"""The table of which function takes a tally, Dask's rows or blocks is true."""

import inspect
import re
import warnings
from pathlib import Path
from types import FunctionType

import dask.array as da
import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import metrics

PAGE = Path(__file__).parents[3] / "docs" / "api" / "tallies.md"
GENERATOR = np.random.default_rng(0)
N, M = 400, 300
PROBS = GENERATOR.dirichlet([2.0, 1.0, 1.0], N)
LABELS = (PROBS.cumsum(axis=1) < GENERATOR.random((N, 1))).sum(axis=1)
WITH = GENERATOR.dirichlet([1.0, 1.5, 1.0], M)
ROWS = {
    "probs": PROBS,
    "logits": np.log(PROBS),
    "labels": LABELS,
    "scores": 1.0 - PROBS[np.arange(N), LABELS],
    "source": GENERATOR.normal(size=(N, 2)),
    "confidence": PROBS.max(axis=1),
    "correct": PROBS.argmax(axis=1) == LABELS,
    "values": PROBS[:, 0],
    "predictions": PROBS,
    "classifier": PROBS,
}
OTHERS = {
    "probs_target": WITH,
    "target": GENERATOR.normal(0.3, 1.0, (M, 2)),
    "sample_weight": np.linspace(0.5, 1.5, N),
    "folds": np.arange(N) % 5,
    "weights": np.ones(N),
}

P, L = ("probs", "labels"), ("logits", "labels")
# What a function has of each row, of the other sample, and what else it is given.
CALLS = {
    **dict.fromkeys(
        [
            "split_conformal",
            "label_conditional_conformal",
            "interpolated_conformal",
            "clustered_conformal",
        ],
        (P, (), {"rng": 0}),
    ),
    "label_shift_conformal": (P, (), {"label_weight": [1.0, 2.0, 1.0], "rng": 0}),
    "prediction_sets": (P, (), {"rng": 0}),
    "covariate_shift_conformal": (P, ("sample_weight",), {"rng": 0}),
    "cross_conformal": (P, ("folds",), {"rng": 0}),
    "rank_calibrated_conformal": (P, (), {"rng": 0}),
    "conformal_thresholds": (("scores", "labels"), (), {"alpha": 0.1, "n_classes": 3}),
    "tally": (P, (), {"rng": 0}),
    **dict.fromkeys(["bbse", "rlls"], (P, ("probs_target",), {})),
    "mlls": (P, ("probs_target",), {}),
    **dict.fromkeys(
        [
            "temperature_scaling",
            "classwise_temperature_scaling",
            "vector_scaling",
            "platt_scaling",
            "dirichlet_scaling",
        ],
        (L, (), {}),
    ),
    "groupwise_calibration": (L, (), {"calibrator": "temperature"}),
    **dict.fromkeys(
        ["beta_calibration", "isotonic_calibration", "venn_abers"], (P, (), {})
    ),
    "histogram_binning": (P, (), {"mode": "top-label"}),
    "scaling_binning": (L, (), {"rng": 0}),
    "density_ratio": (("source",), ("target",), {"rng": 0}),
    "covariate_shift_calibration": ((*L, "source"), ("target",), {"rng": 0}),
    "choose_calibration": (
        (*L, "source"),
        ("target",),
        {"candidates": ["temperature", "vector"], "rng": 0},
    ),
    "decision_calibration": (L, (), {}),
    "compare_calibrations": (L, ("sample_weight",), {"rng": 0, "n_rep": 2}),
    "assess": (P, (), {"n_boot": 10, "n_sim": 20, "rng": 0}),
    "compare": (("classifier", "labels"), (), {"n_boot": 10, "rng": 0}),
    "class_bundles": (P, (), {}),
    "target_performance": (P, ("probs_target",), {}),
    "report": (P, ("probs_target",), {"rng": 0}),
    "shift_monitor": (("probs",), (), {}),
    "risk_monitor": (("predictions", "labels"), (), {}),
    "indistinguishable_features": (
        ("source", "labels"),
        ("target",),
        {"n_hidden": 2, "n_epochs": 1, "rng": 0},
    ),
    "nested_scores": (("probs",), (), {}),
    "to_logits": (("probs",), (), {}),
    "weighted_quantile": (("values",), ("weights",), {"level": 0.9}),
    **dict.fromkeys(
        [
            "metrics.accuracy",
            "metrics.mean_confidence",
            "metrics.brier_score",
            "metrics.nll",
            "metrics.ece",
            "metrics.overconfident_ece",
            "metrics.debiased_ece",
            "metrics.max_ece",
            "metrics.average_ece",
            "metrics.classwise_ece",
            "metrics.smooth_ece",
            "metrics.l2_ece_interval",
            "metrics.brier_decomposition",
        ],
        (P, (), {}),
    ),
    "metrics.isotonic_band": (("confidence", "correct"), (), {}),
    "metrics.reliability": (("confidence", "correct"), (), {}),
}
NO_ROWS = {"in_kind", "coverage_table", "plan"}  # theirs are results and numbers
TALLIES = (
    dfu.tally(PROBS, LABELS, rng=0),
    dfu.tally(PROBS, LABELS, score=None, n_bins=15),
)


def functions_of_rows():
    """Return the public functions that take rows, by name."""
    named = {name: getattr(dfu, name) for name in dfu.__all__}
    named |= {f"metrics.{name}": getattr(metrics, name) for name in metrics.__all__}
    known = {*ROWS, *OTHERS, "classifiers"}
    return {
        name: function
        for name, function in named.items()
        if isinstance(function, FunctionType)
        and name not in NO_ROWS
        and known & inspect.signature(function).parameters.keys()
    }


def table():
    """Return the table of the page: by function, what it says of each form."""
    found = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 5 or cells[1] not in ("yes", "no", "lazy"):
            continue
        for name in re.findall(r"`([\w.]+)`", cells[0]):
            assert name not in found, name
            found[name] = dict(
                zip(("tally", "dask", "blocks"), cells[1:4], strict=True)
            )
    return found


def lazily(array):
    sizes = (97, 1, 0, len(array) - 98)
    return da.from_array(array, chunks=(sizes, *array.shape[1:]))


def call(name, form):
    function = functions_of_rows()[name]
    rows, others, options = CALLS[name]
    values = {name: ROWS[name] for name in rows}
    more = {name: OTHERS[name] for name in others}
    first = rows[0]
    if form == "dask":
        values = {name: lazily(value) for name, value in values.items()}
        more = {name: lazily(value) for name, value in more.items()}
    elif form == "blocks":
        pieces = [np.split(value, [97, 98, 98]) for value in values.values()]
        blocks = list(zip(*pieces, strict=True))
        alone = len(rows) == 1
        values = dict.fromkeys(rows)
        values[first] = lambda: (block[0] if alone else block for block in blocks)
    elif form != "memory":
        values = dict.fromkeys(rows)
        values[first] = form
    if name == "compare":
        a, b = values.pop("classifier"), PROBS[:, ::-1].copy()
        both = {"first": a, "second": lazily(b) if form == "dask" else b}
        labels = {"labels": LABELS} | {k: v for k, v in values.items() if v is not None}
        return function(both, **labels, **options)
    required = inspect.signature(function).parameters
    given = {
        key: value
        for key, value in {**values, **more, **options}.items()
        if value is not None or required[key].default is inspect.Parameter.empty
    }
    return function(**given)


@pytest.fixture(autouse=True)
def quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        yield


def test_every_function_of_rows_is_in_the_table_and_is_called_here():
    names = functions_of_rows().keys()
    assert names == CALLS.keys() == table().keys()


@pytest.mark.parametrize("name", CALLS)
def test_what_the_table_says_is_so(name):
    said = table()[name]
    call(name, "memory")
    for form, forms in (
        ("dask", ["dask"]),
        ("blocks", ["blocks"]),
        ("tally", TALLIES),
    ):
        refused = []
        for one in forms:
            try:
                call(name, one)
            except dfu.InputError as error:
                refused.append(str(error))
        takes = len(refused) < len(forms)
        assert takes == (said[form] != "no"), (form, refused)
        for text in refused if said[form] == "no" else []:
            assert re.match(r"The '(\w+)' parameter of ", text), text
            assert "in memory" in text or "of rows" in text or "array" in text, text
