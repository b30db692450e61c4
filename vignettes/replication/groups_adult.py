"""Groups of a census: calibration and coverage by sex and race on Adult.

A logistic regression says who earns more than 50,000 dollars; sex and race are not
among its inputs. Calibrated on half of the census' training file, judged on its test
file: calibration errors and coverage by group, with one threshold, with one for each
group, and with one for each class in each group. Run it as

    python -m vignettes.replication.groups_adult [folder] [--quick]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import distfreeuq as dfu
from vignettes.replication import report
from vignettes.replication.report import Section

COLUMNS = [
    "age", "workclass", "weight", "education", "years", "marital", "occupation",
    "relationship", "race", "sex", "gain", "loss", "hours", "country", "income",
]  # fmt: skip
WORDS = ["workclass", "education", "occupation"]
NUMBERS = ["age", "years", "gain", "loss", "hours"]
CLASSES = ["<=50K", ">50K"]


def read(name: str) -> pd.DataFrame:
    """Return a file of the census, its labels without full stops."""
    folder = report.data_folder("adult")
    path = next(folder.glob(f"adult-{name}.csv*"))
    data = pd.read_csv(path, header=None, names=COLUMNS, skipinitialspace=True)
    data = data.dropna(subset=["income"])
    return data.assign(income=data["income"].str.rstrip("."))


def run(folder: Path, quick: bool = False) -> list[Section]:
    """Return a section for sex and one for race."""
    data = read("train").sample(frac=1, random_state=0)
    new = read("test")
    if quick:
        data, new = data[:6000], new[:4000]
    half = len(data) // 2
    train, source = data[:half], data[half:]
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), WORDS), (StandardScaler(), NUMBERS)
    )
    classifier = make_pipeline(columns, LogisticRegression(max_iter=1000))
    classifier.fit(train, train["income"])
    assert list(classifier.classes_) == CLASSES
    probs, new_probs = classifier.predict_proba(source), classifier.predict_proba(new)
    return [
        _by(name, probs, source, new_probs, new, folder) for name in ("sex", "race")
    ]


def _by(
    name: str,
    probs: np.ndarray,
    source: pd.DataFrame,
    new_probs: np.ndarray,
    new: pd.DataFrame,
    folder: Path,
) -> Section:
    """Return calibration errors and coverage by one attribute."""
    groups, new_groups = source[name].to_numpy(), new[name].to_numpy()
    y, new_y = source["income"].to_numpy(), new["income"].to_numpy()
    given = {"classes": CLASSES, "rng": 0}
    assessed = dfu.assess(new_probs, new_y, classes=CLASSES, groups=new_groups)
    fits = {
        "one threshold": dfu.split_conformal(probs, y, **given),
        "every group": dfu.split_conformal(probs, y, groups=groups, **given),
        "every class in every group": dfu.label_conditional_conformal(
            probs, y, groups=groups, **given
        ),
    }
    sets = {
        method: fit.predict(new_probs, *([] if i == 0 else [new_groups]))
        for i, (method, fit) in enumerate(fits.items())
    }
    rows = []
    for method, found in sets.items():
        frame = found.evaluate(new_y, groups=new_groups).to_frame()
        for row in frame.query("stratum == 'group'").itertuples():
            own = new_groups == row.value
            earns = found[own & (new_y == CLASSES[1])].evaluate(
                np.full(int((own & (new_y == CLASSES[1])).sum()), CLASSES[1])
            )
            rows.append(
                {
                    "sets": method,
                    name: row.value,
                    "rows": row.n,
                    "coverage": f"{row.coverage:.3f} [{row.low:.3f}, {row.high:.3f}]",
                    "coverage of >50K": f"{earns.coverage:.3f}",
                    "mean size": f"{found.sizes[own].mean():.2f}",
                }
            )
    table = dfu.coverage_table(sets, new_y)
    figure = folder / f"adult-{name}.png"
    table.plot().figure.savefig(figure)
    return Section(
        title=f"Adult by {name}",
        text=(
            "Coverage with exact intervals, nominal 0.9, and of the rows that earn "
            "more than 50,000 dollars."
        ),
        tables={"Prediction sets": pd.DataFrame(rows)},
        printed={"Calibration": str(assessed)},
        figures={"All rows": figure},
    )


if __name__ == "__main__":
    report.main(__doc__, run)
