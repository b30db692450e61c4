"""What estimated weights claim, estimator by estimator, and what their tables say."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import references as r
from distfreeuq.label_shift.summary import _refuted
from tests.unit.claims import (
    Claim,
    assert_claims,
    assert_claims_nothing,
    assert_prints,
)

BASICS = (r.LABEL_SHIFT, r.CLASSES_OVERLAP, r.TWO_SAMPLES, r.FITTED_ELSEWHERE)
CELLS = Claim(
    "region(delta) holds all true weights at once with probability >= 1 - delta, in "
    "finite samples, whatever the classifier.",
    "confidence interval",
    BASICS,
    "Clopper and Pearson (1934) for each cell; Oettli and Prager (1964) for the "
    "weights they allow (theory page, 4.3)",
)
BALL = Claim(
    "region(delta) holds all true weights at once with probability >= 1 - delta, in "
    "finite samples, whatever the classifier; it may be unbounded.",
    "confidence interval",
    BASICS,
    "bounded differences of mean vectors (theory page, 4.4)",
)
MOMENTS = Claim(
    "each interval covers its true weight, and region(delta) all of them, with the "
    "probability it states, be the probabilities calibrated or not",
    "confidence interval",
    (
        r.LABEL_SHIFT,
        r.CLASSES_OVERLAP,
        r.TWO_SAMPLES,
        r.FITTED_ELSEWHERE,
        r.CLASSES_TOLD_APART,
    ),
    "score intervals of the moment equations (theory page, 4.6)",
    finite_sample=False,
)
WITH_LABELS = Claim(
    CELLS.statement,
    CELLS.kind,
    (*BASICS, "labelled target rows chosen at random"),
    f"{CELLS.by}; shares of labels beside it (theory page, 4.15)",
)
TABLE = {
    "bbse": (lambda d: dfu.bbse(*d), CELLS),
    "bbse, labels": (
        lambda d: dfu.bbse(*d, labels_target=[0, 1, *[None] * (len(d[2]) - 2)]),
        WITH_LABELS,
    ),
    "soft bbse": (lambda d: dfu.bbse(*d, soft=True), BALL),
    "rlls": (lambda d: dfu.rlls(*d), CELLS),
    "soft rlls": (lambda d: dfu.rlls(*d, soft=True), BALL),
    "mlls": (lambda d: dfu.mlls(*d), MOMENTS),
    "mlls, temperature": (lambda d: dfu.mlls(*d, calibrate="ts"), MOMENTS),
    "mlls, vector": (lambda d: dfu.mlls(*d, calibrate="vs"), MOMENTS),
    "mlls, no bias": (lambda d: dfu.mlls(*d, calibrate="nbvs"), MOMENTS),
    "mlls, as it is": (lambda d: dfu.mlls(*d, calibrate=None), MOMENTS),
    "mlls, prior by labels": (lambda d: dfu.mlls(*d, prior="labels"), MOMENTS),
}


@pytest.fixture(scope="module")
def fits(data):
    return {name: make(data) for name, (make, _) in TABLE.items()}


@pytest.mark.parametrize("name", TABLE)
def test_claims(fits, name):
    _, expected = TABLE[name]
    assert_claims(fits[name].guarantee, expected)
    assert_prints(fits[name], expected)
    # the region is what the claim is about, and says the same of itself
    assert fits[name].region(0.1).finite_sample is expected.finite_sample


def test_known_priors_claim_nothing():
    known = dfu.label_weights([0.4, 0.6], [0.2, 0.8])
    assert_claims_nothing(
        known, "the priors were given, and the weights are as good as they"
    )
    assert [label for label, _ in known.summary().page.notes] == ["Guarantee"]


def test_an_estimate_whose_weights_are_not_identified_keeps_its_region():
    probs = np.array([[0.6, 0.3, 0.1]] * 20 + [[0.3, 0.6, 0.1]] * 20)
    labels = np.array([0, 1] * 10 + [1, 2] * 10)
    with pytest.warns(dfu.IdentificationWarning, match="class 2 never predicted"):
        fit = dfu.bbse(probs, labels, probs)
    assert_claims(fit.guarantee, CELLS)
    notes = dict(fit.summary().page.notes)
    assert notes["Intervals"] == (
        "all at once, in finite samples (the weights are not identified)."
    )


def unseen(estimate, scarce=0, **options):
    """Estimate with `scarce` source rows of class 2, which is common in the target."""
    rng = np.random.default_rng(3)
    labels = np.append(rng.integers(2, size=300), np.full(scarce, 2))
    likely = 0.1 + 0.7 * np.eye(3)
    probs = rng.dirichlet(np.ones(3), size=labels.size) * 0.3 + 0.7 * likely[labels]
    target = (
        rng.dirichlet(np.ones(3), size=300) * 0.3 + 0.7 * likely[np.arange(300) % 3]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.IdentificationWarning)
        return estimate(probs, labels, target, **options)


@pytest.mark.parametrize("estimate", [dfu.bbse, dfu.rlls])
@pytest.mark.parametrize("soft", [False, True])
def test_a_class_without_source_rows_leaves_intervals_that_need_none(estimate, soft):
    fit = unseen(estimate, soft=soft)
    ends = fit.to_frame()[["low", "high"]].to_numpy()
    assert np.array_equal(ends, fit.confint(method="finite-sample"))
    notes = dict(fit.summary().page.notes)
    assert notes["Intervals"].startswith("all at once, in finite samples")


def test_asymptotic_intervals_say_that_they_know_nothing_of_an_unseen_class():
    fit = unseen(dfu.mlls)
    notes = dict(fit.summary().page.notes)
    assert notes["Intervals"] == (
        "each by itself, asymptotic (score intervals); nothing is taken for granted "
        "of class 2, of which there is no source row."
    )
    assert "granted" not in dict(unseen(dfu.mlls, 5).summary().page.notes)["Intervals"]


@pytest.mark.parametrize("estimate", [dfu.bbse, dfu.rlls, dfu.mlls])
def test_a_class_of_few_source_rows_is_told(estimate):
    told = "Fewer than 5 source rows of class 2: where the target has many"
    assert any(note.startswith(told) for note in unseen(estimate, 4).notes)
    assert not any("Fewer than" in note for note in unseen(estimate, 5).notes)
    assert not any("Fewer than" in note for note in unseen(estimate, 0).notes)


# ------------------------------------------------------------------------------- facts


@pytest.mark.parametrize("name", TABLE)
def test_titles_and_facts(fits, data, name):
    fit = fits[name]
    page = fit.summary().page
    soft = "soft " if name.startswith("soft") else ""
    assert (
        page.title
        == {
            "bbse": f"Label shift by black-box shift estimation ({soft}BBSE)",
            "rlls": f"Label shift by regularised learning ({soft}RLLS)",
            "mlls": "Label shift by maximum likelihood (MLLS)",
        }[name.removeprefix("soft ")[:4]]
    )
    facts = dict(page.facts)
    p, w = fit.source_prior, fit.label_weight
    n = len(data[1])
    sizes = w[data[1]]
    assert facts["Classes"] == "3"
    assert facts["Source rows n"] == "900" and facts["Target rows m"] == "700"
    assert float(facts["Effective sample size"]) == pytest.approx(
        sizes.sum() ** 2 / (sizes @ sizes), abs=0.06
    )
    assert n == 900 and p.sum() == pytest.approx(1.0)
    assert float(facts["Largest / smallest weight"]) == pytest.approx(
        w.max() / w.min(), abs=0.006
    )
    assert facts["Equal class proportions"] == "p <= 0.005"
    assert ("Regularisation" in facts) == ("rlls" in name)
    mlls = name.startswith("mlls")
    assert ("Source prior from" in facts) == mlls
    if mlls:
        by = "labels" if "labels" in name else "predictions"
        assert facts["Source prior from"] == by
        fitted = {
            "mlls, as it is": "",
            "mlls, temperature": "TS",
            "mlls, vector": "VS",
            "mlls, no bias": "NBVS",
        }.get(name, "BCTS")
        after = f" after {fitted}" if fitted else ""
        assert facts[f"Calibration{after}"].startswith("p = ")
        assert (f"{fitted} temperature" in facts) == (fitted in ("BCTS", "TS"))
        assert (f"{fitted} scales" in facts) == (fitted in ("VS", "NBVS"))


@pytest.mark.parametrize("name", TABLE)
def test_notes(fits, name):
    notes = dict(fits[name].summary().page.notes)
    assert notes["Intervals"] == "each by itself, asymptotic (score intervals)."
    assert notes["No-shift test"] == (
        "of equal class proportions, by the predictions; a Monte Carlo test, exact at "
        "every sample size on average over its draws. "
        "Other drift may cause a small p-value too, and is not seen where it leaves "
        "the predictions' frequencies as they are."
    )
    assert ("Weights" in notes) == name.startswith("mlls")
    if "Weights" in notes:
        assert notes["Weights"] == (
            "by maximum likelihood, which needs calibrated probabilities. The standard "
            "errors and intervals are those of moment equations, which do not."
        )


def test_notes_name_the_classes_that_they_are_about():
    names = ["ash", "beech", "cedar"]
    probs = np.array([[0.6, 0.3, 0.1]] * 20 + [[0.3, 0.6, 0.1]] * 20)
    with pytest.warns(dfu.IdentificationWarning, match="'cedar' never predicted"):
        fit = dfu.bbse(
            probs, ["ash", "beech"] * 10 + ["beech", "cedar"] * 10, probs, classes=names
        )
    assert "beech" not in fit.notes[0] and "ash" not in fit.notes[0]
    swapped = probs[:, [0, 2, 1]]
    with pytest.warns(dfu.IdentificationWarning, match="'beech' without source rows"):
        fit = dfu.bbse(
            swapped, ["ash", "cedar"] * 10 + ["cedar"] * 20, swapped, classes=names
        )
    assert "'beech' never predicted" in fit.notes[0]
    assert "cedar" not in fit.notes[0]
    cells = np.eye(3)[[0] * 8 + [1] * 2 + [1] * 8 + [0] * 2 + [2] * 10]
    labels = ["ash"] * 10 + ["beech"] * 10 + ["cedar"] * 10
    target = np.eye(3)[[0] * 19 + [2]]
    fit = dfu.bbse(cells, labels, target, classes=names)
    assert fit.raw[1] < 0 <= min(fit.raw[0], fit.raw[2])
    assert fit.notes[-1] == (
        "Negative weights as solved (class 'beech') were set to zero, and the others "
        "rescaled."
    )


def test_an_estimate_within_noise_of_singular_is_not_to_be_trusted():
    rng = np.random.default_rng(1)
    labels = rng.choice(2, 60)
    probs = 0.5 + 0.01 * rng.normal(size=60) + 0.002 * labels
    fit = dfu.bbse(probs, labels, probs)
    assert fit.notes[0] == (
        "The confusion matrix is nearly singular, within its sampling noise: "
        "asymptotic and bootstrap intervals are not to be trusted. The methods "
        "'finite-sample' and 'anderson-rubin' do not invert it."
    )


def test_a_flat_likelihood_names_its_classes():
    probs = np.array([[0.8, 0.1, 0.1]] * 12 + [[0.2, 0.4, 0.4]] * 12)
    labels = [0] * 10 + [1, 2] + [1, 2] * 6
    with pytest.warns(dfu.IdentificationWarning) as caught:
        fit = dfu.mlls(probs, labels, probs, calibrate=None)
    text = "The likelihood is flat in classes 1, 2: predictions do not tell these "
    text += "apart, and their weights are not identified."
    assert str(caught[0].message) == text
    assert text in fit.notes


def test_a_p_value_at_its_floor_is_a_bound(fits):
    from distfreeuq.label_shift.summary import _p_value

    test = fits["bbse"].test()
    assert test.p_value == test.floor and _p_value(test) == "p <= 0.005"
    hausman = fits["mlls"].calibration_test
    assert hausman.p_value > hausman.floor
    assert _p_value(hausman) == f"p = {hausman.p_value:.3f}"


def test_a_refuted_label_shift_is_warned_of_at_the_level_that_is_printed():
    text = (
        "label shift is refuted at the level 0.01: the target is no mixture of the "
        "source's classes, and neither weights nor intervals mean much."
    )
    assert _refuted(0.01) == [("Warning", text)]
    assert _refuted(0.0101) == []
