"""What is claimed after deployment: of performance without labels, and of alarms."""

from __future__ import annotations

import re

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import references as r
from tests.unit.claims import Claim, assert_claims, assert_prints

LABELS = np.arange(120) % 3
PROBS = 0.7 * np.eye(3)[LABELS] + 0.1
TARGET = PROBS[:60]
RATIO = np.linspace(0.5, 2.0, 120)

ELSEWHERE = (r.TWO_SAMPLES, r.SETS_ASSESSED_ELSEWHERE)
AT_RANDOM = "labelled target rows chosen at random"
LABELLED = "; labelled rows beside carried means (theory page, 10.6)"
UNKNOWN = "the density ratio was estimated, and nothing is known of its error"


def performance(**options):
    options = {"metrics": ["accuracy", "recall"]} | options
    return dfu.target_performance(PROBS, LABELS, TARGET, **options)


def in_the_limit(needs, by, level="0.9", lower=0.9):
    return Claim(
        "each asymptotic interval, by itself, holds the target's value with "
        f"probability {level}",
        "confidence interval",
        needs,
        by,
        lower=lower,
        finite_sample=False,
    )


def at_every_size(needs, by):
    return Claim(
        "each finite-sample interval, by itself, holds the target's value with "
        "probability >= 0.8.",
        "confidence interval",
        needs,
        by,
        lower=0.8,
    )


PRIORS = dfu.label_weights([1 / 3, 1 / 3, 1 / 3], [0.2, 0.3, 0.5])
DESIGNS = {
    "estimated": (
        {},
        (r.LABEL_SHIFT, r.CLASSES_SEEN, r.CLASSES_TOLD_APART),
        "means carried by class indicators (theory page, 10.2)",
        (r.LABEL_SHIFT,),
        "one inequality for every prior below caps (theory page, 10.3)",
    ),
    "priors": (
        {"shift": PRIORS},
        (r.LABEL_SHIFT, r.TRUE_PRIORS),
        "stratified means (theory page, 10.4)",
        (r.LABEL_SHIFT, r.TRUE_PRIORS),
        "stratified means (theory page, 10.4)",
    ),
    "weights": (
        {"shift": [1.0, 2.0, 0.5]},
        (r.LABEL_SHIFT, r.TRUE_LABEL_WEIGHT, r.CLASSES_OVERLAP),
        "weighted means (theory page, 10.4)",
        (r.LABEL_SHIFT, r.TRUE_LABEL_WEIGHT, r.CLASSES_OVERLAP),
        "bounded weighted means (theory page, 10.4)",
    ),
    "ratios": (
        {"sample_weight": RATIO, "weight_bound": 2.0},
        (r.COVARIATE_SHIFT, r.TRUE_RATIO_TO_SCALE),
        "weighted means (theory page, 10.4)",
        (r.COVARIATE_SHIFT, r.TRUE_RATIO_TO_SCALE, r.WEIGHT_BOUND),
        "bounded weighted means (theory page, 10.4)",
    ),
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("extra", ["", "labelled", "grouped"])
def test_performance(design, extra):
    options, limit_needs, limit_by, exact_needs, exact_by = DESIGNS[design]
    more, extra_needs, by = {}, (), ""
    if extra == "labelled":
        some = np.full(60, np.nan)
        some[:20] = LABELS[:20]
        more, by = {"labels_target": some}, LABELLED
    if extra == "grouped":
        halves = np.arange(120) % 2
        more = {"groups": halves, "groups_target": halves[:60]}
        extra_needs = (r.GROUPS_BY_INPUTS,)
    result = performance(alpha=0.1, delta=0.2, **options, **more)
    chosen = (AT_RANDOM,) * (extra == "labelled")
    rest = (*chosen, *ELSEWHERE, *extra_needs)
    limit, exact, *of_recalls = result.guarantees
    assert_claims(limit, in_the_limit((*limit_needs, *rest), limit_by + by))
    assert_claims(exact, at_every_size((*exact_needs, *rest), exact_by + by))
    assert len(of_recalls) == (design != "ratios")
    for claim in of_recalls:
        expected = Claim(
            "each finite-sample interval of a recall, by itself, holds the target's "
            "with probability >= 0.8, whatever its class proportions are.",
            "confidence interval",
            (r.LABEL_SHIFT, r.IID, r.SETS_ASSESSED_ELSEWHERE, *extra_needs),
            "Clopper and Pearson (1934) for recalls",
            lower=0.8,
        )
        assert_claims(claim, expected)


def test_what_is_known_of_an_estimated_ratio():
    rng = np.random.default_rng(0)
    ratio = dfu.density_ratio(
        rng.normal(size=(120, 1)), rng.normal(size=(60, 1)), rng=0
    )
    result = performance(shift=ratio)
    assert [claim.reason for claim in result.guarantees] == [UNKNOWN] * 2


def test_ratios_without_a_bound_have_no_interval_at_every_size():
    limit, exact = performance(sample_weight=RATIO).guarantees
    assert limit and exact.reason == (
        "no bound of the density ratio was given (weight_bound=), so that no interval "
        "holds at every sample size"
    )


def test_outputs_that_tell_nothing_apart():
    same = np.full((60, 3), 1 / 3)
    with pytest.warns(dfu.exceptions.IdentificationWarning):
        shift = dfu.bbse(same, LABELS[:60], same)
    limit, exact, _ = dfu.target_performance(
        same, LABELS[:60], same, shift=shift
    ).guarantees
    assert exact and limit.reason == (
        "the outputs do not tell all classes apart, so that there is no asymptotic "
        "interval but of recalls and of what needs no labels"
    )


def test_levels_and_notes_of_performance():
    some = np.full(60, np.nan)
    some[:20] = LABELS[:20]
    few = LABELS < 2
    with pytest.warns(dfu.exceptions.IdentificationWarning):
        result = dfu.target_performance(
            PROBS[few], LABELS[few], TARGET, alpha=0.1, delta=0.3, labels_target=some
        )
    text = re.sub(r"\s+", " ", str(result.summary()))
    assert "90% asymptotic 70% finite-sample" in text
    assert result.notes == (
        "The source has no rows of class 2: nothing bounds their part in the target, "
        "and finite-sample intervals say little.",
        "Labels of 20 target rows are used, except in recalls, balanced accuracy, "
        "precisions and the ECE.",
    )


def test_what_the_note_names_is_made_without_the_labels():
    some = np.where(np.arange(len(TARGET)) < 20, LABELS[: len(TARGET)], np.nan)
    names = ("accuracy", "brier", "nll", "confusion")
    untouched = ("recall", "balanced_accuracy", "precision", "ece")
    shift = dfu.bbse(PROBS, LABELS, TARGET)
    plain, labelled = (
        dfu.target_performance(
            PROBS,
            LABELS,
            TARGET,
            shift=shift,
            metrics=names + untouched,
            labels_target=labels,
        )
        .to_frame()
        .set_index("metric")[["estimate", "low", "high"]]
        for labels in (None, some)
    )
    for name in names:
        assert not plain.loc[[name]].equals(labelled.loc[[name]]), name
    for name in untouched:
        assert plain.loc[[name]].equals(labelled.loc[[name]]), name


# ------------------------------------------------------------------------------ alarms


def watched(**options):
    return dfu.shift_monitor(PROBS, rng=0, **options)


def test_a_stream():
    expected = Claim(
        "P(there is ever an alarm) <= 0.03 while nothing has moved, however long and "
        "however often one looks.",
        "false alarms",
        (r.STREAM_EXCHANGEABLE, r.SCORE_ELSEWHERE),
        "Vovk, Nouretdinov & Gammerman (2003): p-values (theory page, 11.1); "
        "Ville (1939): bets on them (theory page, 11.2)",
        upper=0.03,
    )
    monitor = watched(alpha=0.03)
    assert_claims(monitor.guarantee, expected)
    assert_prints(monitor, expected)


def test_proportions_of_a_stream():
    monitor = watched(labels=LABELS).update(PROBS[:30])
    always = (
        "; the intervals hold at all times and for all classes at once with "
        "probability >= 0.95 under label shift, whether or not the proportions drift "
        "(theory page, 11.3)."
    )
    page = monitor.summary().page
    before = f"of all rows of the stream, on average{always}"
    assert dict(page.notes)["Proportions"] == before
    printed = page.tables[0]
    ends = [
        [float(end) for end in re.findall(r"[\d.]+", row[-1])] for row in printed.rows
    ]
    np.testing.assert_allclose(ends, monitor.confint(0.05), atol=1e-4)
    moved = np.tile([[0.98, 0.01, 0.01]], (3000, 1))
    notes = monitor.update(moved).summary().page.notes
    assert monitor.alarm
    assert ("Proportions", f"of rows after the alarm, on average{always}") in notes
    change = (
        f"estimated after row {monitor.change_at} of the stream, without a guarantee."
    )
    assert ("Change", change) in notes


def test_predictions_that_no_proportions_give():
    """Three classes, and a fourth that is predicted of no source row."""
    known = np.hstack([PROBS, np.zeros((120, 1))])
    monitor = dfu.shift_monitor(known, LABELS, rng=0)
    notes = (
        monitor.update(np.tile([[0.0, 0.0, 0.0, 1.0]], (400, 1))).summary().page.notes
    )
    text = (
        "no class proportions give these predictions: the rows are no mixture of the "
        "source's classes, and so there is more than label shift."
    )
    if np.isnan(monitor.confint()).all():
        assert ("Note", text) in notes


@pytest.mark.parametrize("order", ["row", "arrival"])
@pytest.mark.parametrize("limit", [None, 0.25])
@pytest.mark.parametrize("dropped", [False, True])
def test_the_risk_of_a_stream(order, limit, dropped):
    own = {"tolerance": 0.05} if limit is None else {"limit": limit}
    monitor = dfu.risk_monitor(PROBS, LABELS, alpha=0.04, order=order, **own)
    monitor.update(TARGET[:3]).update_labels(LABELS[:1])
    if dropped:
        monitor.drop([1])
    what = "that of the source by more than 0.05" if limit is None else "0.25"
    expected = Claim(
        "P(there is ever an alarm) <= 0.04 if the running risk, the average risk of "
        f"the labelled rows so far, never exceeds {what}; it may drift, and one may "
        "look as often as one likes.",
        "false alarms",
        (
            *((r.SOURCE_IID_ELSEWHERE,) if limit is None else ()),
            r.PREDICTED_FIRST,
            *((r.DELAY_BLIND,) if order == "arrival" else ()),
            *((r.DROPPED_BLINDLY,) if dropped else ()),
        ),
        "Podkopaev & Ramdas (2022): risk of a stream (theory page, 11.4); Howard "
        "et al. (2021): running means (theory page, 11.4)",
        upper=0.04,
    )
    assert_claims(monitor.guarantee, expected)
    assert_prints(monitor, expected)
    source, stream = monitor.summary().page.tables[0].rows
    assert source[-1] == "98%"
    assert stream[-1] == ("98%, always" if limit is None else "96%, always")


def test_a_limit_that_no_risk_exceeds():
    notes = dfu.risk_monitor(PROBS, LABELS, limit=1.0).summary().page.notes
    text = "the limit is 1, which no risk exceeds: there will never be an alarm."
    assert ("Note", text) in notes
