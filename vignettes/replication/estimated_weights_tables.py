"""The tables of sets with estimated weights in vignette 6 and README.

They are made from the committed means, estimated-weights.csv, and written between two
marks in each text:

    python -m vignettes.replication.estimated_weights_tables

A test holds the texts to what this makes.
"""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
MEANS = Path(__file__).with_name("estimated-weights.csv")
FULL = ("CIFAR-10, ResNet-50", "CIFAR-100, ResNet-20", "AG News, GPT-2")
SHORT = {
    "Dirichlet(1)": "D(1)",
    "Dirichlet(0.1)": "D(.1)",
    "one class .5": "one .5",
    "one class .9": "one .9",
}
_NO_MARGIN = "in the limit, no margin"
# What is promised under label shift.
PROMISES = {
    "known weights": "finite-sample",
    "known weights, PAS": "finite-sample",
    "plug-in, MLLS": _NO_MARGIN,
    "plug-in, BBSE": _NO_MARGIN,
    "plug-in, soft BBSE": _NO_MARGIN,
    "plug-in, RLLS": _NO_MARGIN,
    "directional, MLLS": "in the limit",
    "directional, MLLS, PAS": "in the limit",
    "directional, BBSE": "in the limit",
    "directional, soft BBSE": "in the limit",
    "combined": "in the limit, never larger than label-conditional at half of alpha",
    "label-conditional": "finite-sample, every class",
    "rank-calibrated": "finite-sample, every class",
    "robust": "finite-sample",
    "directional, confidence": "in the limit, given the rows (95 %)",
    "estimated, confidence": "finite-sample, given the rows (95 %)",
    "label-conditional, confidence": (
        "finite-sample, every class, given the rows (95 %)"
    ),
    "no correction": "none",
    "no correction, PAS": "none",
    "clustered": "none",
    "interpolated": "none",
}
# Sets whose sizes come from another score, or from thresholds that ignore the shift.
OTHERS = (
    "known weights, PAS",
    "directional, MLLS, PAS",
    "label-conditional",
    "rank-calibrated",
    "no correction",
    "no correction, PAS",
    "clustered",
    "interpolated",
)


def read_means() -> pd.DataFrame:
    """Return the committed means, a row per method and setting."""
    return pd.read_csv(MEANS)


def digits(ratio: float) -> str:
    """Return three digits, or a dash for what is not there."""
    if pd.isna(ratio):
        return "-"
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}"


def markdown(header: list[str], rows: list[list[str]], n_left: int = 1) -> str:
    """Return a table, all columns after the first `n_left` to the right."""
    rule = ["---"] * n_left + ["---:"] * (len(header) - n_left)
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(rule) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def full_table(means: pd.DataFrame, name: str) -> str:
    """Return all settings of a network: relative sizes, coverage, the worst class."""
    part = means[means["network"] == name]
    size = part.pivot_table("relative size", "method", ["n", "shift"], sort=False)
    by_n = part.groupby(["method", "n"])
    lowest = by_n["coverage"].min().unstack("n")
    worst = by_n["worst class"].mean().unstack("n")
    first, *others = sorted(part["n"].unique())
    header = ["sets", *(f"{n}: {SHORT[shift]}" for n, shift in size.columns)]
    header += [f"coverage, {first}", *map(str, others)]
    rows = []
    for method in PROMISES:
        ends = [
            "-"
            if pd.isna(lowest.loc[method].get(n))
            else f"{lowest.loc[method, n]:.3f} ({worst.loc[method, n]:.2f})"
            for n in (first, *others)
        ]
        rows.append([method, *map(digits, size.loc[method]), *ends])
    return f"**{name}**\n\n" + markdown(header, rows)


def overview(means: pd.DataFrame, methods: Iterable[str]) -> str:
    """Return relative sizes of every network, means of its four shifts."""
    methods = list(methods)
    size = means.groupby(["network", "n", "method"], sort=False)["relative size"].mean()
    table = size.unstack("method")
    rows = [
        [name, str(n), *(digits(row[method]) for method in methods)]
        for (name, n), row in table.iterrows()
    ]
    return markdown(["network", "n", *methods], rows)


def lowest_coverage(means: pd.DataFrame) -> str:
    """Return the smallest mean coverages over all settings, and the worst class."""
    by_method = means.groupby("method")
    size = means.pivot_table("size", ["network", "n", "shift"], "method")
    rows = []
    for method in PROMISES:
        some = by_method.get_group(method)
        against = "label-conditional"
        if method.endswith("confidence"):
            against = "label-conditional, confidence"
        smaller = int((size[method] < size[against]).sum())
        larger = int((size[method] > size[against]).sum())
        compared = "" if method == against else f"{smaller} / {larger}"
        rows.append(
            [
                method,
                PROMISES[method],
                f"{some['coverage'].min():.3f}",
                f"{some['coverage'].mean():.3f}",
                f"{some['worst class'].min():.2f}",
                f"{some['worst class'].mean():.2f}",
                compared,
            ]
        )
    header = ["sets", "promise", "coverage, smallest", "mean", "worst class, smallest"]
    header += ["mean", "smaller / larger than label-conditional"]
    return markdown(header, rows, n_left=2)


def readme_table(means: pd.DataFrame) -> str:
    """Return relative sizes by data set: means of its networks and of the shifts."""
    kind = means["network"].str.split(", ").str[0]
    size = means.assign(kind=kind).groupby(["method", "kind", "n"], sort=False)
    cells = size["relative size"].mean().unstack(["kind", "n"])
    header = ["sets", "promise", *(f"{name}, n = {n}" for name, n in cells.columns)]
    rows = [
        [method, promise, *map(digits, cells.loc[method])]
        for method, promise in PROMISES.items()
        if promise != "none" and not method.startswith("known weights")
    ]
    return markdown(header, rows, n_left=2)


def texts() -> dict[str, dict[str, str]]:
    """Return what each file holds between which marks."""
    means = read_means()
    apart = {"known weights", *OTHERS} - {"label-conditional"}
    with_weights = [method for method in PROMISES if method not in apart]
    return {
        "README.md": {"sizes": readme_table(means)},
        "vignettes/06-which-method-when.md": {
            "all networks": overview(means, with_weights),
            "other sets": overview(means, OTHERS),
            "coverage": lowest_coverage(means),
            "three networks": "\n\n".join(full_table(means, name) for name in FULL),
        },
    }


def marks(name: str) -> tuple[str, str]:
    """Return the two marks between which the table of that name stands."""
    return f"<!-- {name}: begin -->\n\n", f"\n\n<!-- {name}: end -->"


def between_marks(text: str, name: str) -> str:
    """Return what stands between the marks."""
    start, end = marks(name)
    return text.split(start)[1].split(end)[0]


def main() -> None:
    """Write the tables into the texts."""
    for file, tables in texts().items():
        path = ROOT / file
        text = path.read_text()
        for name, table in tables.items():
            start, end = marks(name)
            old = between_marks(text, name)
            text = text.replace(f"{start}{old}{end}", f"{start}{table}{end}")
        path.write_text(text)


if __name__ == "__main__":
    main()
