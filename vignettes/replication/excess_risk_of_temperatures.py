"""Paper D, Theorem 4.1: the excess risk of fitted temperatures, and two bounds on it.

A population with finitely many rows of logits has exact expected losses. Calibration
rows are drawn from it, one temperature (and one per class) is fitted, and its expected
loss is compared with that of the best temperature of the population.

Run it from the root of the project; it prints a table and writes a figure to figures/.
"""

import warnings
from pathlib import Path

import numpy as np

import distfreeuq as dfu
from distfreeuq import bounds, plots

ALPHAS = (0.05, 3.0)
LOGIT_RANGE, N_CLASSES, DELTA = 4.0, 3, 0.1
SIZES = np.array([50, 100, 200, 400, 800, 1600, 3200, 6400])
N_DRAWS = 200


def population(rng, n_rows=12):
    """Return logits, labels and masses of all pairs of a row and a label."""
    rows = LOGIT_RANGE * rng.random((n_rows, N_CLASSES))
    predicted = np.arange(n_rows) % N_CLASSES
    rows[np.arange(n_rows), predicted] = LOGIT_RANGE
    truth = np.exp(np.array([0.2, 0.6, 1.0])[predicted, None] * rows)
    truth /= truth.sum(axis=1, keepdims=True)
    share = rng.dirichlet(np.full(n_rows, 5.0))
    return (
        np.repeat(rows, N_CLASSES, axis=0),
        np.tile(np.arange(N_CLASSES), n_rows),
        (share[:, None] * truth).ravel(),
    )


def half_brier(fit, logits, labels):
    """Return half the Brier score of every pair."""
    error = fit.predict(logits) - np.eye(N_CLASSES)[labels]
    return 0.5 * (error**2).sum(axis=1)


def excess_risks(calibrator, rng, **options):
    """Return excess risks (sizes, draws) of fits to multinomial draws."""
    logits, labels, masses = population(np.random.default_rng(0))

    def fit(weights):
        return calibrator(
            logits,
            labels,
            sample_weight=weights,
            loss="brier",
            bounds=ALPHAS,
            **options,
        )

    best = masses @ half_brier(fit(masses), logits, labels)
    return np.array(
        [
            [
                masses @ half_brier(fit(counts), logits, labels) - best
                for counts in rng.multinomial(n, masses, size=N_DRAWS)
            ]
            for n in SIZES
        ]
    )


def bound_curves(n_temperatures, gamma):
    """Return the paper's bound and the tighter one at all sizes."""
    fixed = {"alpha_bounds": ALPHAS, "gamma": gamma}
    norm = LOGIT_RANGE * np.sqrt(N_CLASSES) / 2
    return {
        "Theorem 4.1 as in the paper": bounds.cts_excess_risk(
            SIZES, n_temperatures, DELTA, lipschitz=np.sqrt(2) * norm, **fixed
        ),
        "tighter constants": bounds.cts_excess_risk_tight(
            SIZES,
            n_temperatures,
            DELTA,
            **fixed,
            **bounds.half_brier_constants(LOGIT_RANGE)._asdict(),
        ),
    }


def main():
    """Print the table and write the figure."""
    from matplotlib.figure import Figure

    warnings.simplefilter("ignore", dfu.FitAtBoundWarning)
    figure = Figure(figsize=(11, 4), dpi=120, layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    cases = (
        ("one temperature", dfu.temperature_scaling, {}, 1, 0.0),
        (
            "one per predicted class",
            dfu.classwise_temperature_scaling,
            {"min_rows": 1},
            N_CLASSES,
            np.inf,
        ),
    )
    for ax, (name, calibrator, options, n_temperatures, gamma) in zip(
        axes, cases, strict=True
    ):
        excess = excess_risks(calibrator, np.random.default_rng(1), **options)
        curves = bound_curves(n_temperatures, gamma)
        plots.excess_risk(SIZES, excess, curves, ax=ax).set_title(name)
        paper, tight = curves.values()
        print(
            f"{name}: half the Brier score, {N_DRAWS} draws per size, delta = {DELTA}"
        )
        print(f"{'n':>6}{'mean':>10}{'largest':>10}{'tighter':>10}{'paper':>10}")
        for n, draws, t, p in zip(SIZES, excess, tight, paper, strict=True):
            print(f"{n:6}{draws.mean():10.5f}{draws.max():10.5f}{t:10.4f}{p:10.4f}")
        assert (excess.max(axis=1) <= tight).all()
    Path("figures").mkdir(exist_ok=True)
    figure.savefig("figures/excess_risk_of_temperatures.png")


if __name__ == "__main__":
    main()
