"""What tables print as bounds holds the exact ones: parsed from their text."""

import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq._base.rounding import distinct_numbers, interval, lower, upper

SLACK = 1e-12
"""What 1 - 0.1 may be off by."""
few = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        return function(*arguments, **options)


def draw(seed, n=60, k=3):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), size=n)
    labels = np.array([rng.choice(k, p=row) for row in probs])
    return probs, labels


def last_table(text):
    """Return the cells of the rows of a text's last table."""
    blocks = re.split(r"\n=+\n", text)
    body = [block for block in blocks if re.search(r"\n-+\n", block)][-1]
    return [
        re.split(r"\s{2,}", line.strip())
        for line in re.split(r"\n-+\n", body)[1].splitlines()
    ]


def assert_outside(printed, low, high):
    """Check "[a, b]" texts against exact ends."""
    ends = [re.findall(r"[-+.\deinf]+", text) for text in printed]
    assert len(ends) == len(low)
    for (a, b), exact_low, exact_high in zip(ends, low, high, strict=True):
        assert float(a) <= exact_low + SLACK and float(b) >= exact_high - SLACK


@given(st.floats(-1e300, 1e300))
def test_bounds_round_outwards(x):
    assert float(lower(x)) <= x + 1e-9 * abs(x) + SLACK
    assert float(upper(x)) >= x - 1e-9 * abs(x) - SLACK
    # and not farther than the last digit
    assert float(upper(x)) - float(lower(x)) <= max(1.01e-4, 0.11 * abs(x))


def test_rounding_to_nearest_would_be_caught():
    assert float(lower(0.12346)) < float(f"{0.12346:.4f}")
    assert interval(0.12346, 0.12341) == "[0.1234, 0.1235]"


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=20, unique=True))
def test_different_numbers_look_different(values):
    values = sorted(values)
    texts = [float(text) for text in distinct_numbers(values)]
    assert all(a < b for a, b in pairwise(texts))


@few
@given(seeds, st.sampled_from(["canonical", "classwise", "top-label"]), st.booleans())
def test_tables_of_bins(seed, mode, shifted):
    probs, labels = draw(seed, k=2 if mode == "canonical" else 3)
    fit = quietly(dfu.histogram_binning, probs, labels, n_bins=3, mode=mode)
    if shifted:
        fit = quietly(fit.under_label_shift, np.arange(1.0, 1 + probs.shape[1]))
    frame = fit.to_frame()
    rows = [cells for cells in last_table(str(fit)) if cells[0] != "..."]
    assert len(rows) == len(frame)
    radius = frame["radius"].to_numpy()
    if mode == "canonical":
        low, high = fit.low[:, 1], fit.high[:, 1]
    else:
        low, high = frame["low"].to_numpy(), frame["high"].to_numpy()
    assert_outside([f"[{row[-3]}, {row[-2]}]" for row in rows], low, high)
    assert all(float(row[-1]) >= r - SLACK for row, r in zip(rows, radius, strict=True))
    assert len({tuple(row[:3]) for row in rows}) == len(rows)


@few
@given(seeds)
def test_tables_of_coverage(seed):
    probs, labels = draw(seed)
    fit = quietly(dfu.label_conditional_conformal, probs, labels, rng=0)
    for row, exact in zip(
        last_table(str(fit)), fit.to_frame()["coverage >="], strict=True
    ):
        printed = [float(c) for c in row if re.fullmatch(r"0\.\d{4}|1\.0000", c)]
        assert any(exact - 1e-4 < p <= exact + SLACK for p in printed)
    coverage = quietly(fit.predict, probs).evaluate(labels)
    text = re.search(r"interval:\s+(\[.*?\])", str(coverage)).group(1)
    assert_outside([text], *np.transpose([coverage.interval]))


@few
@given(seeds)
def test_tables_of_weights_and_reliability(seed):
    probs, labels = draw(seed, n=150)
    target, _ = draw(seed + 1, n=150)
    shift = quietly(dfu.bbse, probs, labels, target)
    frame = quietly(shift.to_frame)
    intervals = [row[-1] for row in last_table(quietly(str, shift))]
    assert_outside(intervals, frame["low"], frame["high"])
    table = dfu.assess(probs, labels, n_boot=0, n_sim=0).reliability
    frame = table.to_frame()
    frame = frame[frame["weight"] > 0]
    intervals = [row[-1] for row in last_table(str(table))]
    assert_outside(intervals, frame["low"], frame["high"])


@few
@given(seeds, st.booleans())
def test_tables_of_temperatures(seed, weighted):
    probs, labels = draw(seed)
    weights = np.random.default_rng(seed).random(60) + 0.1 if weighted else None
    logits = dfu.to_logits(probs)
    fit = quietly(dfu.temperature_scaling, logits, labels, sample_weight=weights)
    frame = fit.to_frame()
    if np.isnan(fit.std_err):
        pytest.skip("at its bound")
    row = last_table(str(fit))[0]
    assert_outside([f"[{row[-2]}, {row[-1]}]"], frame["low"], frame["high"])
