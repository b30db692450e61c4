"""The demonstration: from a fitted classifier to sets that stay valid under shift.

Data: Fair's survey of marriages, which statsmodels embeds. The label is how a woman
rates her marriage, from 1 (very poor) to 5 (very good).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base.array_types import BoolArray
from distfreeuq._base.rounding import interval
from distfreeuq.conformal.coverage import CoverageResult
from distfreeuq.conformal.label_conditional_sets import label_conditional_conformal
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.results import ConformalResult
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.label_shift.maximum_likelihood import mlls

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_RATINGS = {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "very good"}
# The target's women are unhappier: this share of each rating is kept.
_KEPT = {"very poor": 1.0, "poor": 1.0, "fair": 0.7, "good": 0.25, "very good": 0.15}
_SEED = 0


def marriage_ratings() -> tuple[pd.DataFrame, pd.Series[str]]:
    """Return standardised features with an intercept, and the ratings' names."""
    import statsmodels.api as sm

    data = sm.datasets.fair.load_pandas().data
    features = data.drop(columns="rate_marriage")
    features = (features - features.mean()) / features.std()
    return sm.add_constant(features), data["rate_marriage"].astype(int).map(_RATINGS)


def fitted_probabilities(
    features: pd.DataFrame, ratings: pd.Series[str], train: BoolArray
) -> pd.DataFrame:
    """Fit a multinomial logistic regression on some rows, predict the others."""
    import pandas as pd
    import statsmodels.api as sm

    names = list(_RATINGS.values())
    codes = ratings.map({name: code for code, name in enumerate(names)})
    model = sm.MNLogit(codes[train], features[train]).fit(disp=False)
    probs = model.predict(features[~train]).to_numpy()
    return pd.DataFrame(probs, columns=names, index=features.index[~train])


def run(folder: str | Path = "figures") -> list[Path]:
    """Fit, print, evaluate and draw, without and with a shift; return the figures."""
    from distfreeuq import plots
    from distfreeuq.plots.new_figures import outside_pyplot

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    features, ratings = marriage_ratings()
    rng = np.random.default_rng(_SEED)
    part = rng.permutation(len(ratings)) % 3
    probs = fitted_probabilities(features, ratings, part == 0)
    calibration, test = part[part != 0] == 1, part[part != 0] == 2
    labels = ratings[part != 0]
    source, source_labels = probs[calibration], labels[calibration]

    _say(
        f"{len(ratings)} marriages rated from very poor to very good. A multinomial "
        f"logistic regression is fitted on {(part == 0).sum()} of them and calibrated "
        f"on {len(source)}. First without a shift, on the other {test.sum()}:"
    )
    plain = split_conformal(source, source_labels, rng=_SEED)
    held_out = plain.predict(probs[test]).evaluate(labels[test])
    print(plain, held_out, sep="\n\n", end="\n\n")

    kept = rng.random(test.sum()) < labels[test].map(_KEPT).to_numpy(dtype=float)
    target, target_labels = probs[test][kept], labels[test][kept]
    _say(
        f"Now a target where unhappy marriages are more common: {len(target)} rows, "
        "whose labels only the last table sees. The shift is estimated from the "
        "classifier's probabilities:"
    )
    estimate = mlls(source, source_labels, target)
    print(estimate, end="\n\n")
    fits: dict[str, ConformalResult] = {
        "uncorrected": plain,
        "true weights": label_shift_conformal(
            source, source_labels, list(_KEPT.values()), rng=_SEED
        ),
        "estimated weights": label_shift_conformal(
            source, source_labels, estimate, rng=_SEED
        ),
        "label-conditional": label_conditional_conformal(
            source, source_labels, rng=_SEED
        ),
    }
    print(fits["estimated weights"], end="\n\n")
    achieved = {
        name: fit.predict(target).evaluate(target_labels) for name, fit in fits.items()
    }
    print(comparison(fits, achieved), end="\n\n")

    with outside_pyplot():
        return [
            _save(held_out.plot(kind="sizes"), folder / "set-sizes.png"),
            _save(held_out.plot(kind="classes"), folder / "coverage-by-class.png"),
            _save(estimate.plot(), folder / "label-weights.png"),
            _save(
                plots.coverage_by_method(achieved), folder / "coverage-under-shift.png"
            ),
        ]


def comparison(
    fits: dict[str, ConformalResult], achieved: dict[str, CoverageResult]
) -> str:
    """Return a table of what each method's sets achieved on the target."""
    from distfreeuq._base import printing

    claims = {
        "uncorrected": "none",
        "true weights": "finite sample",
        "estimated weights": "asymptotic",
        "label-conditional": "finite, by class",
    }
    rows = [
        [
            name,
            f"{result.coverage:.3f}",
            interval(low, high, digits=3),
            f"{result.mean_size:.2f}",
            claims[name],
        ]
        for name, result in achieved.items()
        for low, high in [result.interval]
    ]
    first = next(iter(achieved.values()))
    table = printing.Table(
        ["thresholds", "coverage", "95% interval", "mean size", "guarantee"], rows
    )
    nominal = 1.0 - float(fits["uncorrected"].alpha)
    notes = [
        (
            "Reads",
            "an interval holds the coverage of these sets, for this calibration draw; "
            "what is guaranteed holds on average over such draws. Uncorrected sets are "
            "guaranteed nothing, as the target's rows are not exchangeable with the "
            "calibration rows.",
        )
    ]
    facts = [("Target rows", str(first.n)), ("Nominal coverage", f"{nominal:g}")]
    title = "Coverage under label shift"
    return str(printing.summarize(title, facts, [table], notes).as_text())


def _say(text: str) -> None:
    import textwrap

    print(textwrap.fill(text, width=78), end="\n\n")


def _save(ax: Axes, path: Path) -> Path:
    """Write the figure and print where."""
    from matplotlib.figure import Figure

    figure = ax.get_figure()
    assert isinstance(figure, Figure)  # a plot without `ax` has one of its own
    figure.savefig(path)
    print(f"figure: {path}")
    return path
