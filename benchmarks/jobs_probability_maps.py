"""Maps of probabilities at three sizes, and calibration errors without bins."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import optimize, special, stats

import distfreeuq as dfu
from distfreeuq import metrics

from .harness import OURS, Job, peer
from .jobs_calibrators import SIZES, softmax
from .jobs_scaling import logit_rows, within

RIDGE = 0.1


def jobs() -> Iterator[Job]:
    for n, n_classes in SIZES:
        yield venn_abers(n, n_classes)
        yield beta(n, n_classes)
        yield dirichlet(n, n_classes)
        yield scaling_binning(n, n_classes)
        yield smooth_ece(n)
        yield isotonic_band(n)


def of_one_class(n: int, n_classes: int) -> tuple[Any, Any]:
    """Return the probability of the first class, and whether it is the label."""
    logits, labels = logit_rows(n, n_classes, "float64")
    return softmax(logits)[:, 0].copy(), (labels == 0).astype(np.int64)


def venn_abers(n: int, n_classes: int) -> Job:
    probs, hits = of_one_class(n, n_classes)
    pairs = np.column_stack([1.0 - probs, probs])

    def package() -> Any:
        from venn_abers import VennAbers

        fit = VennAbers()
        fit.fit(pairs, hits)
        return fit.predict_proba(pairs)[1]

    return Job(
        name="Venn-Abers, fit + both probabilities",
        size={"n": n},
        ours=lambda: dfu.venn_abers(probs, hits).multiprobabilities(probs)[:, 1],
        peers=peer("venn_abers", "venn-abers", package),
        reads=probs.nbytes,
        effort=0.2,
    )


def beta(n: int, n_classes: int) -> Job:
    probs, hits = of_one_class(n, n_classes)

    def package() -> Any:
        from betacal import BetaCalibration

        fit = BetaCalibration(parameters="abm")
        return fit.fit(probs.reshape(-1, 1), hits).predict(probs)

    return Job(
        name="beta calibration, fit + predict",
        size={"n": n},
        ours=lambda: dfu.beta_calibration(probs, hits).predict(probs)[:, 1],
        peers=peer("betacal", "betacal", package),
        check=within(1e-2),
        reads=probs.nbytes,
        effort=0.2,
    )


def dirichlet(n: int, n_classes: int) -> Job:
    logits, labels = logit_rows(n, n_classes, "float64")
    probs = softmax(logits)
    shares = np.full((n_classes, n_classes + 1), RIDGE / (n_classes * (n_classes - 1)))
    np.fill_diagonal(shares, 0.0)
    shares[:, -1] = RIDGE / n_classes

    def authors() -> Any:
        from dirichletcal.calib.fulldirichlet import FullDirichletCalibrator

        # the paper's penalty; by default it is on differences from the last row
        fit = FullDirichletCalibrator(
            reg_lambda=RIDGE, reg_mu=RIDGE, reg_norm=True, ref_row=False
        )
        return fit.fit(probs, labels).predict_proba(probs)

    def by_scipy() -> Any:
        features = np.column_stack([np.log(probs), np.ones(n)])
        rows = np.arange(n)

        def loss(flat: Any) -> tuple[float, Any]:
            coef = flat.reshape(n_classes, n_classes + 1)
            residual = special.log_softmax(features @ coef.T, axis=1)
            value = -residual[rows, labels].mean() + (shares * coef**2).sum()
            np.exp(residual, out=residual)
            residual[rows, labels] -= 1.0
            slope = residual.T @ features / n + 2.0 * shares * coef
            return float(value), slope.ravel()

        found = optimize.minimize(
            loss,
            np.eye(n_classes, n_classes + 1).ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"ftol": 1e-13, "gtol": 1e-7, "maxiter": 1000},
        )
        return softmax(features @ found.x.reshape(n_classes, -1).T)

    def check(results: Mapping[str, Any]) -> None:
        for name, got in results.items():
            np.testing.assert_allclose(got, results[OURS], atol=1e-4, err_msg=name)

    # theirs has a second derivative by automatic differentiation: 1 GB at 10,000 rows
    theirs = peer("dirichletcal", "dirichletcal", authors) if n <= 1000 else {}
    return Job(
        name="Dirichlet scaling, fit + predict",
        size={"n": n, "K": n_classes},
        ours=lambda: dfu.dirichlet_scaling(logits, labels, ridge=RIDGE).predict(logits),
        peers={**theirs, "SciPy, L-BFGS": by_scipy},
        check=check,
        reads=logits.nbytes,
        exponentials=logits.size,
        effort=0.2,
    )


def scaling_binning(n: int, n_classes: int) -> Job:
    probs, hits = of_one_class(n, n_classes)
    within_one = np.clip(probs, 1e-12, 1.0 - 1e-12)
    log_odds = np.log(within_one) - np.log1p(-within_one)

    def package() -> Any:
        from calibration.calibrators import PlattBinnerCalibrator

        fit = PlattBinnerCalibrator(n, 10)
        fit.train_calibration(probs, hits)
        return fit.calibrate(probs)

    def ours() -> Any:
        fit = dfu.scaling_binning(log_odds, hits, "platt", n_bins=10, rng=0)
        return fit.predict(log_odds)[:, 1]

    def check(results: Mapping[str, Any]) -> None:
        for name, got in results.items():  # theirs has all rows for all three steps
            assert np.abs(got - results[OURS]).mean() < 0.02, name

    return Job(
        name="scaling-binning by Platt's map, fit + predict",
        size={"n": n},
        ours=ours,
        peers=peer("calibration", "uncertainty-calibration, no bounds", package),
        check=check,
        reads=log_odds.nbytes,
        effort=0.2,
    )


def events(n: int) -> tuple[Any, Any]:
    """Return probabilities of an event, too large by a little, and whether it came."""
    rng = np.random.default_rng(0)
    confidence = rng.random(n)
    return confidence, (rng.random(n) < confidence**1.2).astype(np.int64)


def smooth_ece(n: int) -> Job:
    confidence, hits = events(n)

    def package() -> float:
        import relplot

        return float(relplot.smECE(confidence, hits))

    return Job(
        name="smooth ECE, bandwidth chosen",
        size={"n": n},
        ours=lambda: metrics.smooth_ece(confidence, hits, event="class-1"),
        peers=peer("relplot", "relplot", package),
        check=within(0.02),  # its bandwidth is one of 1024, its mesh of 200 points
        reads=confidence.nbytes,
        effort=0.2,
    )


def isotonic_band(n: int, n_blocks: int = 100) -> Job:
    confidence, hits = events(n)

    def by_scipy() -> Any:
        parts = np.array_split(hits[np.argsort(confidence)], n_blocks)
        rows = np.cumsum([0, *(part.size for part in parts)])
        came = np.cumsum([0, *(part.sum() for part in parts)])
        i, j = np.triu_indices(n_blocks)
        m, k = rows[j + 1] - rows[i], came[j + 1] - came[i]
        share = 0.05 / (n_blocks * (n_blocks + 1))
        low, high = np.zeros(n_blocks), np.ones(n_blocks)
        np.maximum.at(low, j, np.nan_to_num(stats.beta.ppf(share, k, m - k + 1)))
        top = np.nan_to_num(stats.beta.isf(share, k + 1, m - k), nan=1.0)
        np.minimum.at(high, i, top)
        return np.array(
            [np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]]
        )

    def ours() -> Any:
        band = metrics.isotonic_band(confidence, hits, n_blocks=n_blocks)
        return np.array([band.low, band.high])

    return Job(
        name="isotonic band of 100 blocks",
        size={"n": n},
        ours=ours,
        peers={"SciPy": by_scipy},
        reads=confidence.nbytes,
        effort=0.2,
    )
