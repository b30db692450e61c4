"""Cross-conformal sets: counted by hand, by a slow twin, and with one fold as split."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import references as r
from distfreeuq.conformal.cross_fitted.guarantees import coverage_bound
from tests.unit.claims import Claim, assert_claims, assert_claims_nothing, assert_prints

RNG = np.random.default_rng(3)
N = 120
PROBS = RNG.dirichlet([2.0, 1.0, 1.0], N)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])
FOLDS = RNG.permutation(N) % 4
NEW = RNG.dirichlet([2.0, 1.0, 1.0], (4, 30))
BY = (
    "Vovk, Nouretdinov, Manokhin & Gammerman (2018); Romano, Sesia & "
    "Candes (2020), CV+; Vovk & Wang (2020) for means of p-values (theory page, 1.11)"
)


def test_by_hand():
    # scores 1 - p of the labels: 0.1, 0.3 in fold 0; 0.2, 0.6 in fold 1
    probs = [[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.6, 0.4]]
    fit = dfu.cross_conformal(probs, [0, 0, 1, 1], [0, 0, 1, 1], alpha=0.4, score="lac")
    assert fit.ranks.tolist() == [3, 3]  # ceil(0.6 * 5)
    # label 0: score 0.2 under fold 0 (one below), 0.5 under fold 1 (one below): in
    # label 1: score 0.8 (two below), 0.5 (one below): three, and so out
    new = [[[0.8, 0.2]], [[0.5, 0.5]]]
    assert fit.predict(new).mask.tolist() == [[True, False]]
    assert fit.p_values(new).tolist() == [[0.6, 0.4]]
    assert not fit.guarantee  # 1 - 2 (4 - 3 + 2) / 6 = 0
    by_class = dfu.cross_conformal(
        probs,
        [0, 0, 1, 1],
        [0, 0, 1, 1],
        alpha=0.4,
        score="lac",
        method="label-conditional",
    )
    # label 0 is compared with fold 0 alone, label 1 with fold 1 alone
    assert by_class.p_values(new).tolist() == [[2 / 3, 2 / 3]]


@pytest.mark.parametrize("method", ["exchangeable", "label-conditional"])
@pytest.mark.parametrize("score", ["lac", "aps", dfu.RAPS(0.1, 1)])
def test_equals_a_slow_twin(method, score):
    fit = dfu.cross_conformal(
        PROBS, LABELS, FOLDS, alpha=0.23, method=method, score=score, rng=4
    )
    u = np.full(30, 0.4)
    p = fit.p_values(NEW, uniforms=u)
    new = [dfu.nested_scores(part, score=score, uniforms=u) for part in NEW]
    if score == "lac":
        new = [dfu.nested_scores(part, score=score) for part in NEW]
    for i in range(30):
        for y in range(3):
            own = (
                np.ones(N, bool) if method == "exchangeable" else fit.score_labels == y
            )
            larger = sum(
                s >= new[fold][i, y]
                for s, fold in zip(fit.scores[own], fit.score_folds[own], strict=True)
            )
            assert p[i, y] == pytest.approx((larger + 1) / (own.sum() + 1))
    mask = fit.predict(NEW, uniforms=u).mask
    np.testing.assert_array_equal(mask, p > 0.23 + 1e-12)


def test_one_fold_is_the_split():
    one = dfu.cross_conformal(PROBS, LABELS, np.zeros(N, int), rng=1)
    split = dfu.split_conformal(PROBS, LABELS, rng=1)
    np.testing.assert_array_equal(
        one.predict([NEW[0]]).mask, split.predict(NEW[0]).mask
    )
    np.testing.assert_allclose(one.p_values([NEW[0]]), split.p_values(NEW[0]))
    assert one.guarantee.lower == pytest.approx(split.rank / (N + 1))


def test_other_levels_folds_in_any_order_and_files(tmp_path):
    fit = dfu.cross_conformal(PROBS, LABELS, FOLDS, rng=1)
    again = dfu.cross_conformal(PROBS, LABELS, FOLDS, alpha=0.3, rng=1)
    assert str(fit.at(0.3)) == str(again)
    named = dfu.cross_conformal(PROBS, LABELS, np.array(list("dcba"))[FOLDS], rng=1)
    assert named.folds == ("a", "b", "c", "d")
    np.testing.assert_array_equal(named.predict(NEW[::-1]).mask, fit.predict(NEW).mask)
    fit.save(tmp_path / "fit.npz")
    loaded = dfu.load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(loaded.predict(list(NEW)).mask, fit.predict(NEW).mask)


@pytest.mark.parametrize(
    ("counts", "rank", "bound"),
    [
        ([4, 4], 8, 1 - 2 * 2 / 10),
        ([4, 4], 9, 1.0),  # every label is in every set
        ([9], 9, 9 / 10),  # the split's own
        ([98, 1], 91, 1 - 101 / 99 * 10 / 101),  # one fold has nearly all rows
        ([1, 1, 1, 1], 2, 0.0),
    ],
)
def test_the_bound_by_hand(counts, rank, bound):
    assert coverage_bound(np.array(counts), rank) == pytest.approx(bound)


def test_what_is_claimed():
    fit = dfu.cross_conformal(PROBS, LABELS, FOLDS, rng=np.random.default_rng(0))
    claim = Claim(
        "P(Y in C(X)) >= {>=} for a new row, in finite samples, whatever the "
        "classifiers of the 4 folds; 1 - alpha itself is not guaranteed.",
        "marginal",
        (r.EXCHANGEABLE, r.FOLDS_ELSEWHERE, r.SCORE_AND_ALPHA_ELSEWHERE),
        BY,
        lower=1 - 2 * (120 - 109 + 4) / 124,
    )
    assert_claims(fit.guarantee, claim)
    assert_prints(fit, claim)
    by_class = dfu.cross_conformal(
        PROBS, LABELS, FOLDS, method="label-conditional", score="lac", alpha=0.2
    )
    claim = Claim(
        "P(Y in C(X) | Y = y) is at least 'coverage >=' for each class y, and so >= "
        "{>=} for all of them, in finite samples, whatever the classifiers of the 4 "
        "folds and the target's class proportions; 1 - alpha itself is not guaranteed.",
        "class-conditional",
        (
            r.LABEL_SHIFT,
            r.CLASS_EXCHANGEABLE,
            r.FOLDS_ELSEWHERE,
            r.SCORE_AND_ALPHA_ELSEWHERE,
        ),
        BY,
        lower=float(by_class.class_lower.min()),
    )
    assert_claims(by_class.guarantee, claim)
    few = dfu.cross_conformal(PROBS[:9], LABELS[:9], range(9), alpha=0.4, score="lac")
    assert_claims_nothing(few, few.guarantee.reason)


def test_too_few_rows_are_named():
    with pytest.warns(dfu.SmallCalibrationWarning, match="3 of 3 classes .* 9 rows"):
        fit = dfu.cross_conformal(PROBS[:6], LABELS[:6], [0, 1] * 3, rng=0)
    assert fit.predict(NEW[:2]).mask.all() and fit.guarantee.lower == 1.0


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: dfu.cross_conformal(PROBS, LABELS, FOLDS[:5]), "folds"),
        (lambda: dfu.cross_conformal(PROBS, LABELS, None), "folds"),
        (lambda: dfu.cross_conformal(PROBS, LABELS, FOLDS, method="split"), "method"),
        (lambda: dfu.cross_conformal(PROBS, LABELS, FOLDS, score=dfu.PAS()), "score"),
        (lambda: dfu.cross_conformal(PROBS[:0], LABELS[:0], []), "folds"),
    ],
)
def test_what_is_wrong_is_named(call, parameter):
    with pytest.raises(dfu.InputError, match=f"'{parameter}' parameter of cross_conf"):
        call()


@pytest.mark.parametrize("probs", [NEW[:3], None, "abcd", [NEW[0]] * 3 + [NEW[0][:5]]])
def test_probabilities_of_other_folds_are_refused(probs):
    fit = dfu.cross_conformal(PROBS, LABELS, FOLDS, rng=0)
    with pytest.raises(dfu.InputError, match="'probs' parameter of CrossConformal"):
        fit.predict(probs)
