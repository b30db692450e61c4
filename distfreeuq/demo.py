"""The demonstration: from a fitted classifier to prediction sets with a guarantee.

Data: Fair's survey of marriages, which statsmodels embeds. The label is how a woman
rates her marriage, from 1 (very poor) to 5 (very good).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from distfreeuq.conformal.split import split_conformal

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_RATINGS = {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "very good"}
_SEED = 0


def marriage_ratings() -> tuple[pd.DataFrame, pd.Series[str]]:
    """Return standardised features with an intercept, and the ratings' names."""
    import statsmodels.api as sm

    data = sm.datasets.fair.load_pandas().data
    features = data.drop(columns="rate_marriage")
    features = (features - features.mean()) / features.std()
    return sm.add_constant(features), data["rate_marriage"].astype(int).map(_RATINGS)


def fitted_probabilities(
    features: pd.DataFrame,
    ratings: pd.Series[str],
    train: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> pd.DataFrame:
    """Fit a multinomial logistic regression on some rows, predict the others."""
    import pandas as pd
    import statsmodels.api as sm

    names = list(_RATINGS.values())
    codes = ratings.map({name: code for code, name in enumerate(names)})
    model = sm.MNLogit(codes[train], features[train]).fit(disp=False)
    probs = model.predict(features[~train]).to_numpy()
    return pd.DataFrame(probs, columns=names, index=features.index[~train])


def save_figure(ax: Axes, path: Path) -> None:
    """Write the figure and tell where."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.savefig(path)
    print(f"figure: {path}")


def run(folder: str | Path = "figures") -> list[Path]:
    """Fit, print, evaluate, draw; return the figures' paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    features, ratings = marriage_ratings()
    part = np.random.default_rng(_SEED).permutation(len(ratings)) % 3
    probs = fitted_probabilities(features, ratings, part == 0)
    calibration, test = part[part != 0] == 1, part[part != 0] == 2
    labels = ratings[part != 0]

    print(
        f"{len(ratings)} marriages rated from very poor to very good. A multinomial\n"
        f"logistic regression is fitted on {(part == 0).sum()} of them, calibrated on "
        f"{calibration.sum()} and tested on {test.sum()}.\n"
    )
    fit = split_conformal(probs[calibration], labels[calibration], alpha=0.1, rng=_SEED)
    print(fit, end="\n\n")
    sets = fit.predict(probs[test], rng=_SEED)
    held_out = sets.evaluate(labels[test])
    print(held_out, end="\n\n")

    paths = [folder / "set-sizes.png", folder / "coverage-by-class.png"]
    for by, path in zip(("size", "class"), paths, strict=True):
        save_figure(held_out.plot(by=by), path)
    return paths
