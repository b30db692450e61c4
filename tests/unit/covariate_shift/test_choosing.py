"""Calibrations chosen by weighted cross-validation: scores by hand, what is refused."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import InputError
from tests.unit.claims import assert_claims_nothing
from tests.unit.covariate_shift.test_weighted_calibration import learn, shifted


@pytest.fixture(scope="module")
def data():
    return shifted(n=300, m=250)


def choose(data, candidates, **options):
    arguments = (data[name] for name in ("logits", "labels", "source", "target"))
    return dfu.choose_calibration(*arguments, candidates, **{"rng": 0} | options)


def share(logits, labels, sample_weight=None):
    mean = np.average(labels, weights=sample_weight)
    return lambda new: np.full(len(new), mean)


def one_half(logits, labels, sample_weight=None):
    return lambda new: np.full((len(new), 2), 0.5)


def test_scores_by_hand():
    """Two rows, each scored by the fit to the other one."""
    logits, labels = np.zeros((2, 2)), np.array([0, 1])
    found = dfu.choose_calibration(
        logits, labels, None, None, [share, one_half], ratio=[0.5, 1.5], n_folds=2
    )
    # the other row's label for certain: a Brier score of 2, weights of mean one
    np.testing.assert_allclose(found.scores, [2.0, 0.5])
    assert found.best == "one_half" and found.fit.calibrator == "one_half"
    # weighted losses (1, 3) and (.25, .75): deviations sqrt(2) and sqrt(1/8), by n
    np.testing.assert_allclose(found.std_err, np.sqrt([1.0, 1 / 16]))
    np.testing.assert_allclose(found.differences, [1.5, 0.0])
    np.testing.assert_allclose(found.difference_std_err, [0.75, 0.0])


def test_scores_are_those_of_a_loop(data):
    found = choose(data, ["platt", "temperature"], ratio=data["weights"], n_folds=4)
    from distfreeuq._base.random_streams import stream

    fold = stream(0, "split", "choose_calibration").permutation(300) % 4
    losses = np.empty((300, 2))
    for k in range(4):
        seen, held = fold != k, fold == k
        for j, fit in enumerate((dfu.platt_scaling, dfu.temperature_scaling)):
            fitted = fit(
                data["logits"][seen],
                data["labels"][seen],
                sample_weight=data["weights"][seen],
            )
            error = fitted.predict(data["logits"][held]).copy()
            error[np.arange(held.sum()), data["labels"][held]] -= 1.0
            losses[held, j] = (error**2).sum(axis=1)
    np.testing.assert_allclose(found.scores, data["weights"] @ losses / 300)
    whole = dfu.covariate_shift_calibration(
        data["logits"],
        data["labels"],
        None,
        None,
        calibrator=found.best,
        ratio=data["weights"],
    )
    np.testing.assert_array_equal(
        found.predict(data["logits"]), whole.predict(data["logits"])
    )


def test_candidates_have_weights_of_their_own_and_scores_share_theirs(data):
    found = choose(
        data,
        {
            "as scored": {},
            "flattened": {"ratio_options": {"flatten": 0.5}},
            "unweighted": {"ratio": None},
            "network": {"ratio": "mlp", "ratio_options": {"n_hidden": 3}},
        },
    )
    assert len(set(found.scores.tolist())) == 4
    same = choose(data, {"a": {}, "b": {"ratio_options": {"flatten": 0.0}}})
    plain = choose(data, {"a": {}, "b": {"ratio": None}})
    np.testing.assert_allclose(same.scores, plain.scores)  # equal weights are none
    unweighted = choose(data, {"a": {}, "b": {"loss": "brier"}}, ratio=None)
    assert unweighted.ess == pytest.approx(300) and unweighted.weights_from == "none"


def test_features_are_learnt_anew_in_every_fold(data):
    options = {"feature_learning": learn(n_epochs=2), "map_share": 0.4}
    found = choose(data, {"learnt": options, "given": {}}, n_folds=2)
    assert np.isfinite(found.scores).all()
    no_logits = data | {"logits": None}
    with pytest.raises(InputError, match="candidate 'given'"):
        choose(no_logits, {"learnt": options, "given": {}})
    both = choose(no_logits, {"a": options, "b": options | {"offset": 0.5}}, n_folds=2)
    assert both.predict(data["target"]).shape == (250, 2)


def test_an_infinite_loss_is_never_chosen(data):
    data = data | {"labels": np.where(np.arange(300) == 0, 1 - data["labels"], 0)}
    data["labels"][1::7] = 1
    wrong = lambda z, y, sample_weight: lambda new: np.eye(2)[[0] * len(new)]  # noqa: E731
    found = choose(
        data,
        {"sure": {"calibrator": wrong}, "half": {"calibrator": one_half}},
        loss="nll",
    )
    assert np.isinf(found.scores[0]) and found.best == "half"
    assert "inf" in str(found)
    with pytest.raises(InputError, match="at least one candidate of finite loss"):
        choose(
            data,
            {"sure": {"calibrator": wrong}, "too": {"calibrator": wrong}},
            loss="nll",
        )


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([], "two or more"),
        (["platt"], "two or more"),
        (["platt", "platt"], "some twice"),
        ("platt", "a mapping of names to options, or a list"),
        ({"a": {}, "b": 3}, "Got 3 for 'b'"),
        ({"a": {}, "b": {"foo": 1}}, "unexpected keyword argument 'foo'"),
        ({"a": {}, "b": {"rng": 1}}, "options without 'rng'"),
        ({"a": {}, "b": {"calibrator": "x"}}, "'calibrator' parameter of choose"),
        ({"a": {}, "b": {"offset": -1}}, "'offset' parameter of choose_calibration"),
    ],
)
def test_bad_candidates_are_refused(data, candidates, message):
    with pytest.raises(InputError, match=message):
        choose(data, candidates)


def test_bad_options_are_refused(data):
    for options, parameter in (
        ({"n_folds": 1}, "n_folds"),
        ({"n_folds": 301}, "n_folds"),
        ({"loss": "ece"}, "loss"),
        ({"ratio": np.ones(3)}, "ratio"),
        ({"ratio": np.eye(300)[0], "n_folds": 300}, "ratio"),
    ):
        with pytest.raises(InputError, match=f"'{parameter}' parameter of choose_cal"):
            choose(data, ["temperature", "platt"], **options)


def test_nothing_is_claimed_and_the_table_says_what_scores_are(data, tmp_path):
    known = choose(data, ["temperature", "platt"], ratio=data["weights"])
    reason = (
        "the candidate was chosen on these rows, of which its score is the smallest: "
        "too small on average. Judge it on other rows"
    )
    assert_claims_nothing(known, reason)
    assert "unbiased for the target's loss" in " ".join(str(known).split())
    estimated = choose(data, ["temperature", "platt"])
    assert "unbiased" not in str(estimated)
    known.save(tmp_path / "choice.npz")
    assert str(dfu.load(tmp_path / "choice.npz")) == str(known)
    frame = known.to_frame()
    assert frame["chosen"].sum() == 1
    assert frame.loc[frame["chosen"], "candidate"].item() == known.best
    known.plot().figure.canvas.draw()


def test_a_seed_fixes_the_choice(data):
    one, other = (choose(data, ["temperature", "platt"]) for _ in range(2))
    np.testing.assert_array_equal(one.scores, other.scores)
    assert (choose(data, ["temperature", "platt"], rng=1).scores != one.scores).any()
