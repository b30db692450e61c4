"""Calibration by groups: any calibrator, any splitting, unseen groups."""

import numpy as np
import pytest

import distfreeuq as dfu


def draws(seed=0, n=600):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, (n, 3))
    site = rng.choice(["north", "south"], n)
    truth = logits / np.where(site == "north", 1.0, 3.0)[:, None]
    return logits, (truth + rng.gumbel(size=truth.shape)).argmax(axis=1), site


def test_each_group_is_fitted_by_itself():
    logits, labels, site = draws()
    fit = dfu.groupwise_calibration("temperature", logits, labels, groups=site)
    assert fit.names == ("north", "south")
    for name, own in zip(fit.names, fit.fits, strict=True):
        alone = dfu.temperature_scaling(logits[site == name], labels[site == name])
        assert own.temperature == alone.temperature
        np.testing.assert_array_equal(
            fit.predict(logits[site == name], groups=[name] * (site == name).sum()),
            alone.predict(logits[site == name]),
        )
    assert fit.counts.sum() == 600


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64, object])
@pytest.mark.parametrize("numbers", [(5, 7), (127, 3), (100, 0)])
def test_groups_may_be_any_integers(dtype, numbers):
    logits, labels, site = draws()
    groups = np.where(site == "north", *numbers).astype(dtype)
    fit = dfu.groupwise_calibration("temperature", logits, labels, groups=groups)
    named = dfu.groupwise_calibration("temperature", logits, labels, groups=site)
    assert fit.names == tuple(sorted(numbers))
    order = np.argsort(numbers)
    assert [f.temperature for f in fit.fits] == [
        named.fits[k].temperature for k in order
    ]
    np.testing.assert_array_equal(
        fit.predict(logits, groups=groups.tolist()), named.predict(logits, groups=site)
    )


def test_predicted_classes_are_class_wise_temperature_scaling():
    logits, labels, _ = draws()
    by_group = dfu.groupwise_calibration(dfu.temperature_scaling, logits, labels)
    by_class = dfu.classwise_temperature_scaling(logits, labels)
    np.testing.assert_allclose(
        [f.temperature for f in by_group.fits], by_class.temperatures, rtol=1e-12
    )
    np.testing.assert_allclose(
        by_group.predict(logits), by_class.predict(logits), rtol=1e-12
    )
    assert by_group.loss_after == pytest.approx(by_class.loss_after)


def test_predicted_classes_go_by_their_names():
    logits, labels, _ = draws()
    names = np.array(["a", "b", "c"])
    fit = dfu.groupwise_calibration(
        "temperature", logits, names[labels], classes=list(names)
    )
    assert fit.names == ("a", "b", "c")
    assert fit.fits[0].classes == ("a", "b", "c")


@pytest.mark.parametrize("calibrator", ["vector", "platt"])
def test_other_calibrators(calibrator):
    logits, labels, site = draws()
    fit = dfu.groupwise_calibration(calibrator, logits, labels, groups=site, ridge=0.01)
    assert all(f.ridge == 0.01 for f in fit.fits)
    changed = fit.predict(logits, groups=site).argmax(axis=1) != logits.argmax(axis=1)
    assert fit.n_changed == changed.sum()
    assert not fit.guarantee


def test_isotonic_takes_probabilities():
    logits, labels, site = draws()
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    fit = dfu.groupwise_calibration("isotonic", probs, labels, groups=site)
    own = dfu.isotonic_calibration(probs[site == "south"], labels[site == "south"])
    np.testing.assert_array_equal(
        fit.predict(probs[:5], groups=["south"] * 5), own.predict(probs[:5])
    )
    rows = np.arange(600)
    assert fit.loss_before == pytest.approx(-np.log(probs[rows, labels]).mean())


def test_a_rule_is_applied_to_new_rows_too():
    logits, labels, _ = draws()

    def surest(z):
        return np.ptp(z, axis=1) > 6.0

    fit = dfu.groupwise_calibration("temperature", logits, labels, groups=surest)
    assert fit.names == (False, True)
    given = dfu.groupwise_calibration(
        "temperature", logits, labels, groups=surest(logits)
    )
    np.testing.assert_array_equal(
        fit.predict(logits), given.predict(logits, groups=surest(logits))
    )
    with pytest.raises(dfu.InputError, match="the fit has a rule"):
        fit.predict(logits, groups=surest(logits))


def test_unseen_groups_use_the_pooled_map_with_a_warning():
    logits, labels, site = draws()
    fit = dfu.groupwise_calibration("temperature", logits, labels, groups=site)
    with pytest.warns(dfu.UnseenGroupWarning, match="1 groups were not in the fit"):
        probs = fit.predict(logits[:3], groups=["north", "east", "east"])
    pooled = dfu.temperature_scaling(logits, labels)
    np.testing.assert_array_equal(probs[1:], pooled.predict(logits[1:3]))
    np.testing.assert_array_equal(probs[:1], fit.fits[0].predict(logits[:1]))


def test_small_groups_use_the_pooled_map():
    logits, labels, site = draws()
    site = site.astype(object)
    site[0] = "island"
    fit = dfu.groupwise_calibration("temperature", logits, labels, groups=site)
    assert fit.names == ("island", "north", "south")
    assert fit.which.tolist() == [-1, 0, 1]
    np.testing.assert_array_equal(
        fit.predict(logits[:1], groups=["island"]), fit.pooled.predict(logits[:1])
    )
    assert fit.to_frame()["pooled"].tolist() == [True, False, False]
    assert "pooled" in str(fit)


def test_warnings_of_the_groups_are_gathered():
    logits, labels, _ = draws()
    groups = np.where(logits.argmax(axis=1) == labels, "right", "wrong")
    groups[::2] = np.where(groups[::2] == "wrong", "also wrong", "right")
    with pytest.warns(
        dfu.FitAtBoundWarning, match="The loss falls as T grows"
    ) as caught:
        fit = dfu.groupwise_calibration("temperature", logits, labels, groups=groups)
    assert len(caught) == 1
    # no error among the right ones: the temperature of all rows
    assert dict(zip(fit.names, fit.which.tolist(), strict=True))["right"] == -1
    assert "or without an error among them" in " ".join(str(fit).split())


def test_weights_and_guarantee():
    logits, labels, site = draws()
    settings = {"loss": "brier", "bounds": (0.1, 2.0), "logit_range": 30.0}
    fit = dfu.groupwise_calibration(
        "temperature", logits, labels, groups=site, **settings
    )
    expected = 2 * dfu.bounds.cts_excess_risk_tight(
        fit.counts.min(),
        1,
        0.05 / 2,
        alpha_bounds=(0.1, 2.0),
        gamma=0.0,
        lipschitz=30 * 8 / 27,
    )
    assert fit.guarantee.upper == pytest.approx(float(expected))
    weighted = dfu.groupwise_calibration(
        "temperature", logits, labels, groups=site, sample_weight=[1, 2] * 300
    )
    assert not weighted.guarantee


def test_a_group_left_out_for_its_labels_has_its_share_of_delta():
    # a third group has rows enough and no error: whether it gets a temperature of its
    # own was decided by its labels, so that delta is shared by three
    logits, labels, site = draws()
    third = np.arange(600) < 100
    labels = np.where(third, logits.argmax(axis=1), labels)
    site = np.where(third, "west", site)
    fit = dfu.groupwise_calibration(
        "temperature",
        logits,
        labels,
        groups=site,
        loss="brier",
        bounds=(0.1, 2.0),
        logit_range=30.0,
    )
    assert len(fit.fits) == 2
    expected = 2 * dfu.bounds.cts_excess_risk_tight(
        fit.counts[:2].min(),
        1,
        0.05 / 3,
        alpha_bounds=(0.1, 2.0),
        gamma=0.0,
        lipschitz=30 * 8 / 27,
    )
    assert fit.guarantee.upper == pytest.approx(float(expected))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"calibrator": "magic"},
            "'classwise-temperature', 'vector', 'platt', 'dirichlet', 'isotonic'",
        ),
        ({"calibrator": lambda *_, **__: 3}, "returns a CalibrationResult"),
        ({"groups": "site"}, "'predicted'"),
        ({"groups": ["north"]}, "600 groups, one per row"),
        ({"groups": [None] * 600}, "none of them missing"),
        ({"groups": [float("nan")] * 600}, "none of them missing"),
        ({"groups": lambda z: z}, "one per row"),
        ({"min_rows": 0}, "at least 1"),
    ],
)
def test_bad_input_is_told(change, message):
    logits, labels, _ = draws()
    arguments = {"calibrator": "temperature", **change}
    with pytest.raises(dfu.InputError, match=message):
        dfu.groupwise_calibration(
            arguments.pop("calibrator"), logits, labels, **arguments
        )


def test_new_rows_of_given_groups_need_theirs():
    logits, labels, site = draws()
    fit = dfu.groupwise_calibration("temperature", logits, labels, groups=site)
    with pytest.raises(dfu.InputError, match="given, as in the fit"):
        fit.predict(logits)
