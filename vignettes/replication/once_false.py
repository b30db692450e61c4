"""Sentences that were printed once and were false: what is printed now, measured.

An audit of an early version set out to falsify what summaries print, and did. For each
of its rows: what was printed then, what is printed in its place, and a figure measured
anew on a design, or on a real network's rows, that refuted the sentence. Run it as

    python -m vignettes.replication.once_false [folder] [--quick]

It writes the table into the folder as once_false.csv.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

import distfreeuq as dfu
from distfreeuq.theorems.draws import pac_designs
from vignettes.replication import report
from vignettes.replication.report import Section
from vignettes.replication.weight_intervals import NETS, Net, Population, halved

RESNET20 = Net(
    "CIFAR-10 ResNet-20", "cifar10-chenyaofo-logits", "resnet20.npz", (), 0, ()
)
Line = tuple[str, str, str]
"""What was printed, what is printed now, what was measured."""


def words(result: object) -> str:
    """Return a summary's text without its line breaks."""
    return " ".join(str(result).split())


def says(result: object, *phrases: str) -> str:
    """Return the phrases, having made sure that the summary prints them."""
    text = words(result)
    for phrase in phrases:
        if phrase not in text:
            raise AssertionError(f"not printed: {phrase!r} in {text}")
    return "; ".join(f'"{phrase}"' for phrase in phrases)


# ------------------------------------------------------------------ coverage of sets


def single_rows(draws: int) -> Line:
    """W1: a web handler gives each row the same seed."""
    population = Population(RESNET20)
    rng = np.random.default_rng(1)
    p = np.full(10, 0.1)
    probs, labels = population.sample(rng, p, 1000)
    new, truth = population.sample(rng, p, draws)
    shares = []
    for seed in range(20):
        fit = dfu.split_conformal(probs, labels, rng=seed)
        masks = np.vstack([fit.predict(new[[i]], rng=seed).mask for i in range(draws)])
        assert (masks == fit.predict(new, rng=seed).mask).all()
        shares.append(masks[np.arange(draws), truth].mean())
    return (
        "sets of rows that are predicted one by one cover .9 (seed 56: .23)",
        "the same promise; uniforms are a hash of the row",
        f"20 seeds, {draws} rows of a ResNet-20 one by one: coverage {min(shares):.3f} "
        f"to {max(shares):.3f}, and the masks of one call",
    )


def pac_choice(draws: int) -> Line:
    """Row 1: the choice of two thresholds by the observed counts."""
    n, alpha, delta, p, q, short = 5000, 0.1, 0.1, 0.018539, 0.098269, 1e-9
    found = pac_designs.label_shift_failure(n, alpha, delta, p, q, short)
    return (
        "coverage >= .9 with confidence .9, by the threshold that fits the counts",
        "the same; n and the given proportions choose the threshold",
        f"P(coverage below .9) = {found:.4f} at delta = .1, a sum (it was .1103)",
    )


TOY_OUTPUTS = np.array([[0.98, 0.02], [0.7, 0.3], [0.05, 0.95]])
"""What a classifier says at three inputs, and it is wrong: see `TOY_LAW`."""
TOY_LAW = np.array([[0.5, 0.1], [0.4, 0.2], [0.1, 0.7]])
"""P(input | class)."""
TOY_P, TOY_Q = np.array([0.8, 0.2]), np.array([0.3, 0.7])


def toy_rows(
    rng: np.random.Generator, prior: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and inputs."""
    y = rng.choice(2, p=prior, size=n)
    x = (rng.random(n) > TOY_LAW[:, y].cumsum(axis=0)).sum(axis=0)
    return y, np.minimum(x, 2)


def likelihood_sets(
    draws: int, robust: bool
) -> tuple[dfu.LabelShiftResult, object, float]:
    """Return an estimate, its sets, and coverage of the target over draws."""
    rng, n = np.random.default_rng(2), 20_000
    shares = []
    for _ in range(draws):
        labels, x = toy_rows(rng, TOY_P, n)
        new, x_new = toy_rows(rng, TOY_Q, n)
        fit = dfu.mlls(TOY_OUTPUTS[x], labels, TOY_OUTPUTS[x_new])
        sets = dfu.label_shift_conformal(
            TOY_OUTPUTS[x], labels, fit, robust=robust, delta=0.01, rng=rng
        )
        mask = sets.predict(TOY_OUTPUTS[x_new], rng=rng).mask
        shares.append(mask[np.arange(n), new].mean())
    return fit, sets, float(np.mean(shares))


def likelihood_union(draws: int) -> Line:
    """Rows 2 and 3: sets with weights by MLLS, which calibration spoils."""
    _, robust, covered = likelihood_sets(draws, True)
    _, plug_in, plain = likelihood_sets(draws, False)
    printed = says(plug_in, "calibrated")
    assert robust.guarantee.finite_sample
    assert not any("calibrated" in need for need in robust.guarantee.assumptions)
    return (
        '"P(Y in C(X)) >= 0.89", union over a 99 % region of MLLS (.8633)',
        f"robust sets hold for all proportions below caps, which need no calibration; "
        f"plug-in sets name the need {printed}",
        f"a miscalibrated classifier of three outputs, n = m = 20000, {draws} draws: "
        f"robust {covered:.4f}, plug-in {plain:.4f}",
    )


def user_region(draws: int) -> Line:
    """Row 4: a region of the user's that need not hold the weights."""
    rng = np.random.default_rng(4)
    labels, x = toy_rows(rng, TOY_P, 2000)
    region = dfu.Box(np.full(2, 0.99), np.full(2, 1.01), True)
    fit = dfu.label_shift_conformal(
        TOY_OUTPUTS[x], labels, region, robust=True, delta=0.01, score="lac", rng=0
    )
    need = next(need for need in fit.guarantee.assumptions if "region" in need)
    truth, x = toy_rows(rng, TOY_Q, 5000 * draws)
    covered = fit.predict(TOY_OUTPUTS[x], rng=0).evaluate(truth).coverage
    return (
        '"in finite samples" for any region (.72)',
        f'needs: "{need}"',
        f"a box around equal weights under a real shift: coverage {covered:.3f}; the "
        "need is violated, and printed",
    )


# ------------------------------------------------------------------------------ tests


def weighted_test(draws: int) -> Line:
    """Row 5: the weighted test of calibration, on the target."""
    rng = np.random.default_rng(5)
    rejected = 0
    for _ in range(draws):
        cell, heavy = rng.integers(2, size=400), rng.random(400) < 0.5
        right = rng.random(400) < np.where(heavy, 0.85, 0.65)
        confidence = np.full(400, (3.0 * 0.85 + 0.65) / 4.0)
        found = dfu.assess(
            np.where(cell == 1, confidence, 1.0 - confidence),
            np.where(right, cell, 1 - cell),
            sample_weight=np.where(heavy, 3.0, 1.0),
            n_boot=0,
            n_sim=99,
            rng=rng,
        )
        rejected += found.test.p_value <= 0.05
    assert not found.guarantee.finite_sample
    return (
        '"if the classifier is calibrated, p <= a with probability at most a" (.495 at '
        ".05)",
        "a test whose null is calibration on the target, asymptotic",
        f"calibrated on the target: rejects in {rejected / draws:.3f} of {draws} draws",
    )


def equal_proportions(draws: int) -> Line:
    """Row 6: the test of equal proportions with rare classes, and on a real network."""
    rng = np.random.default_rng(6)
    k, n, m = 101, 20, 20_000
    prior = np.append(0.9, np.full(k - 1, 0.1 / (k - 1)))
    hits = 0
    for _ in range(draws):
        labels, new = rng.choice(k, p=prior, size=n), rng.choice(k, p=prior, size=m)
        hits += (
            dfu.bbse(np.eye(k)[labels], labels, np.eye(k)[new]).test().p_value <= 0.05
        )
    population = Population(RESNET20)
    law = 0.5 ** np.arange(10)
    law /= law.sum()
    real = {"BBSE": 0, "MLLS": 0}
    for _ in range(draws):
        probs, labels = population.sample(rng, law, 60)
        new, _ = population.sample(rng, law, 2000)
        for name, estimate in (("BBSE", dfu.bbse), ("MLLS", dfu.mlls)):
            fit = estimate(probs, labels, new)
            real[name] += fit.test().p_value <= 0.05
    asymptotic = "asymptotic" in words(fit).lower()
    return (
        '"No-shift test, p-value", without a caveat (.30 at .05; MLLS .111 on a net)',
        "an exact Monte Carlo test of counted predictions, of class proportions; "
        f"MLLS's is of the likelihood{', asymptotic' if asymptotic else ''}",
        f"a hundred rare classes: {hits / draws:.3f} at .05; ResNet-20 with geometric "
        f"proportions, n = 60: BBSE {real['BBSE'] / draws:.3f}, MLLS "
        f"{real['MLLS'] / draws:.3f}; {draws} draws",
    )


# -------------------------------------------------------------------------- intervals


def losses_of_few_errors(draws: int) -> Line:
    """Row 7: intervals of Brier score and likelihood where few rows are wrong."""
    rng = np.random.default_rng(7)
    given = missed = 0
    truth = 2 * (0.995 * 0.01**2 + 0.005 * 0.99**2)
    for _ in range(draws):
        labels = (rng.random(200) < 0.005).astype(int)
        found = dfu.assess(np.full(200, 0.01), labels, n_boot=100, n_sim=0, rng=rng)
        low, high = found.interval("brier_score")
        given += bool(np.isfinite(low))
        missed += bool(np.isfinite(low) and not low <= truth <= high)
    return (
        '"Those of Brier score and likelihood can [be trusted]" (.64 at .95)',
        "no interval with fewer than 20 wrong rows, and why",
        f"accuracy .995, n = 200: intervals given in {given} of {draws} draws, "
        f"{missed} missed",
    )


def largest_errors(draws: int) -> Line:
    """Row 8: bootstrap intervals of maxima, and those that are given."""
    rng = np.random.default_rng(8)
    population = Population(RESNET20)
    p = np.full(10, 0.1)
    names = ("ece", "brier_score", "nll")
    whole = dfu.assess(
        *population.sample(np.random.default_rng(0), p, 400_000),
        n_boot=0,
        n_sim=0,
        rng=0,
    )
    truth = {name: whole[name] for name in names}
    held, given = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    none = True
    for _ in range(draws):
        found = dfu.assess(
            *population.sample(rng, p, 1000), n_boot=200, n_sim=0, rng=rng
        )
        none &= bool(np.isnan(found.interval("max_ece")).all())
        for name in names:
            low, high = found.interval(name)
            given[name] += bool(np.isfinite(low))
            held[name] += bool(low <= truth[name] <= high)
    shares = ", ".join(
        f"{name} {held[name]}/{given[name]}" for name in names if given[name]
    )
    return (
        '"their intervals are the basic ones, which take the bias out" (max-ECE .51)',
        f"none of maxima over bins or classes: {'no' if none else 'an'} interval of "
        "max-ECE",
        f"ResNet-20, n = 1000, nominal .95, held of those given: {shares}",
    )


def weights_of_networks(draws: int) -> Line:
    """Row 9: MLLS on networks that BCTS does not calibrate."""
    rng = np.random.default_rng(9)
    population = Population(NETS[0])
    k = population.counts.size
    p, q = np.full(k, 1 / k), halved(k, 3, 0.9)
    parts = []
    for n in (1000, 5000):
        printed = likelihood = region = refuted = 0
        for _ in range(draws):
            probs, labels = population.sample(rng, p, n)
            fit = dfu.mlls(probs, labels, population.sample(rng, q, n)[0])
            w = q / p
            low, high = fit.confint().T
            printed += ((low <= w) & (w <= high)).sum()
            low, high = fit.confint(method="likelihood").T
            likelihood += ((low <= w) & (w <= high)).sum()
            region += fit.region(0.05).contains(w)
            refuted += fit.calibration_test.p_value <= 0.05
        parts.append(
            f"n = m = {n}: printed {printed / draws / k:.3f}, region "
            f"{region / draws:.3f}, likelihood {likelihood / draws / k:.3f}, "
            f"calibration refuted at .05 in {refuted / draws:.2f}"
        )
    return (
        '"each interval covers its true weight, and region(delta) all of them" (.76 to '
        ".89; region .35 to .71)",
        "intervals of moments, which need no calibration; likelihood intervals on "
        "request, beside a test of calibration",
        f"ResNet-50, one class at .9, {draws} draws; " + "; ".join(parts),
    )


# ------------------------------------------------------------------- bins and bounds


def edges_and_radii(draws: int) -> Line:
    """Rows 10 and 13: atoms on edges, and radii rounded to the nearest."""
    rng = np.random.default_rng(10)
    atoms, failed = np.arange(1, 41) / 41, 0
    for _ in range(draws):
        score = rng.choice(atoms, size=2000)
        labels = (rng.random(2000) < score).astype(int)
        fit = dfu.histogram_binning(score, labels, n_bins=10, alpha=0.3, rng=rng)
        bins = fit.assign(atoms)
        counts = np.bincount(bins, minlength=fit.radius.size)
        truth = np.bincount(bins, atoms, fit.radius.size) / np.maximum(counts, 1)
        gap = 2.0 * np.abs(fit.frequencies[:, 1] - truth)
        failed += bool((gap > fit.radius)[counts > 0].any())
    many = dfu.histogram_binning(
        (s := rng.random(2000)), (rng.random(2000) < s).astype(int), n_bins=50, rng=0
    )
    table = many.summary().page.tables[0]
    column = list(table.headers).index("radius")
    printed = np.array([float(row[column]) for row in table.rows])
    below = int((printed < many.to_frame()["radius"].to_numpy() - 1e-15).sum())
    return (
        "all bins at once, rows on an edge excepted without a word: counting them, .65 "
        "to .83 of draws failed where .3 may; 58 of 100 printed radii below",
        "edges that many rows share are bins of their own, with radii of their own; "
        "radii are printed upwards",
        f"40 atoms, all rows counted: some bin fails in {failed / draws:.3f} of "
        f"{draws} draws at alpha = .3; {below} of {printed.size} printed radii below",
    )


def vacuous_bounds(draws: int) -> Line:
    """Rows 12, 20 and 21: bounds that helped nobody."""
    rng = np.random.default_rng(20)
    population = Population(RESNET20)
    probs, labels = population.sample(rng, np.full(10, 0.1), 5000)
    text = words(dfu.temperature_scaling(np.log(probs), labels))
    start = text.find("Guarantee:")
    weight = np.where(rng.random(400) < 0.2, 4.0, 0.25)
    low, high = dfu.bounds.weighted_betting_interval(
        (rng.random(400) < 0.3) * 1.0, weight, 0.05, 4.0
    )
    return (
        'excess risk "at most 2261"; weighted bins .318 wide (n = 400)',
        f'"{text[start : start + 150].strip()}..."',
        f"weighted interval by bets, weights 4 and .25, n = 400: {high - low:.3f} wide",
    )


# ------------------------------------------------------------- what else was misleading


def shares_and_medians(draws: int) -> Line:
    """W2, W6: a base rate called accuracy, and a median that was none."""
    rng = np.random.default_rng(22)
    labels = (rng.random(300) < 0.4).astype(int)
    found = dfu.assess(rng.random(300), labels, event="class-1", rng=0)
    assert "accuracy" not in found.metrics
    values = iter([-0.45, -0.43, 0.09, 0.83])
    simulated = dfu.simulate(
        dfu.scenarios.three_gaussians(),
        lambda draw, generator: {"x": next(values)},
        4,
        rng=0,
    )
    return (
        '"accuracy" for the share of an event; a "median" of -.434',
        f'"frequency" {found["frequency"]:.3f} for the share; quantiles in between',
        f"share {labels.mean():.3f}; median {simulated.describe()['q0.5'][0]:.3f} of "
        "-.45, -.43, .09, .83",
    )


def hidden_drift(draws: int) -> Line:
    """W5: noise that leaves the class proportions as they are."""
    population = Population(RESNET20)
    rng = np.random.default_rng(25)
    p, equal, fit_test = np.full(10, 0.1), 0, 0
    for _ in range(draws):
        probs, labels = population.sample(rng, p, 2000)
        target, _ = population.sample(rng, p, 600)
        noisy = np.log(np.maximum(target, 1e-12)) + rng.normal(0.0, 10.0, target.shape)
        odds = np.exp(noisy - noisy.max(axis=1, keepdims=True))
        fit = dfu.bbse(probs, labels, odds / odds.sum(axis=1, keepdims=True))
        equal += fit.test().p_value <= 0.05
        fit_test += fit.goodness_of_fit().p_value <= 0.05
    return (
        '"No-shift test", which noise on the logits passed (2 to 3 % rejected)',
        f"{says(fit, 'label shift is refuted')}; the other test is called one of class "
        "proportions",
        f"ResNet-20, noise of sd 10, {draws} draws: equal proportions rejected in "
        f"{equal / draws:.2f}, label shift in {fit_test / draws:.2f}",
    )


def certainty(draws: int) -> Line:
    """W7, W8: certainty for want of errors, and p-values at their floor."""
    population = Population(RESNET20)
    probs, labels = population.sample(np.random.default_rng(27), np.full(10, 0.1), 4000)
    logits, said = np.log(np.maximum(probs, 1e-30)), probs.argmax(axis=1)
    # calibration rows in which whatever is called class 7 is of class 7
    some = (np.arange(4000) < 2000) & ((said != 7) | (labels == 7))
    fit = dfu.classwise_temperature_scaling(logits[some], labels[some])
    new = fit.predict(logits[2000:])
    wrong = (new.argmax(axis=1) != labels[2000:]) & (said[2000:] == 7)
    assessed = dfu.assess(np.full((500, 2), [0.9, 0.1]), np.arange(500) % 2, rng=0)
    return (
        "143 rows with p = 1 exactly, 11 wrong: NLL inf; p = 0.001 at its floor",
        f"a class without errors has the shared temperature; {says(assessed, '<=')}",
        "ResNet-20, class 7 without an error in calibration: largest p 1 - "
        f"{1 - new.max():.1e}, {int(wrong.sum())} new rows called 7 are wrong, NLL "
        f"{dfu.metrics.nll(new, labels[2000:]):.3f}",
    )


ROWS: dict[str, tuple[Callable[[int], Line], int]] = {
    "W1": (single_rows, 1000),
    "1": (pac_choice, 1),
    "2, 3": (likelihood_union, 20),
    "4": (user_region, 20),
    "5": (weighted_test, 150),
    "6": (equal_proportions, 100),
    "7": (losses_of_few_errors, 200),
    "8": (largest_errors, 100),
    "9": (weights_of_networks, 60),
    "10, 13": (edges_and_radii, 200),
    "12, 20, 21": (vacuous_bounds, 1),
    "W2, W6": (shares_and_medians, 1),
    "W5": (hidden_drift, 60),
    "W7, W8": (certainty, 1),
}


def run(folder: Path, quick: bool = False) -> list[Section]:
    """Measure every row, and return one section."""
    lines = []
    for row, (measure, draws) in tqdm(ROWS.items()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dfu.DistFreeWarning)
            once, now, figure = measure(min(draws, 20) if quick else draws)
        lines.append({"row": row, "once": once, "now": now, "measured": figure})
    table = pd.DataFrame(lines)
    table.to_csv(folder / "once_false.csv", index=False)
    text = """
    What an audit refuted (in brackets: what it had measured), what is printed now, and
    the figure on such a design today.
    """
    return [Section("Once false", text, {"Sentences": table}, {}, {})]


if __name__ == "__main__":
    report.main(__doc__, run)
