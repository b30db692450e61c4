"""Class-wise temperatures on cases with a closed form, and at the edges of gamma."""

import math

import numpy as np
import pytest

import distfreeuq as dfu


def slices(*shares, margin=4.0, rows=8):
    """Rows of K classes in turn; of those predicted as k, a share is right."""
    n_classes = len(shares)
    logits, labels = [], []
    for k, share in enumerate(shares):
        for i in range(rows):
            logits.append(margin * np.eye(n_classes)[k])
            labels.append(k if i < share * rows else (k + 1) % n_classes)
    return np.array(logits), np.array(labels)


def best_alpha(share, n_classes, margin):
    """Equal margins over K - 1 rivals: p_top = share."""
    return math.log(share * (n_classes - 1) / (1 - share)) / margin


SHARES = (0.75, 0.5, 0.625)


def test_each_class_has_its_own_closed_form():
    logits, labels = slices(*SHARES)
    fit = dfu.classwise_temperature_scaling(logits, labels)
    expected = [best_alpha(share, 3, 4.0) for share in SHARES]
    np.testing.assert_allclose(fit.inverse_temperatures, expected, rtol=1e-12)
    np.testing.assert_allclose(fit.temperatures, 1 / np.array(expected), rtol=1e-12)
    assert fit.counts.tolist() == [8, 8, 8]
    assert fit.status.tolist() == [0, 0, 0]
    assert math.isnan(fit.shared_temperature)
    top = fit.predict(logits).max(axis=1)
    np.testing.assert_allclose(top, np.repeat(SHARES, 8), rtol=1e-12)


def test_brier_has_the_same_optimum_here():
    """With two classes, both losses ask for p_top = share."""
    logits, labels = slices(0.75, 0.625)
    fit = dfu.classwise_temperature_scaling(logits, labels, loss="brier")
    expected = [best_alpha(share, 2, 4.0) for share in (0.75, 0.625)]
    np.testing.assert_allclose(fit.inverse_temperatures, expected, rtol=1e-9)


def test_gamma_zero_is_temperature_scaling():
    logits, labels = slices(*SHARES)
    plain = dfu.temperature_scaling(logits, labels)
    tied = dfu.classwise_temperature_scaling(logits, labels, gamma=0.0)
    np.testing.assert_allclose(
        tied.inverse_temperatures, plain.inverse_temperature, rtol=1e-10
    )
    np.testing.assert_allclose(tied.std_err, plain.std_err, rtol=1e-6)
    assert tied.loss_after == pytest.approx(plain.loss_after, rel=1e-12)
    assert tied.shared_temperature == pytest.approx(plain.temperature, rel=1e-10)


def test_one_predicted_class_is_temperature_scaling():
    logits, labels = slices(0.75)
    logits = np.column_stack([logits, np.zeros(len(logits))])
    labels[6:] = 1
    plain = dfu.temperature_scaling(logits, labels)
    fit = dfu.classwise_temperature_scaling(logits, labels)
    np.testing.assert_allclose(fit.temperatures, plain.temperature, rtol=1e-12)
    assert fit.to_frame()["note"].tolist() == ["", "shared"]


def test_a_wide_gamma_changes_nothing():
    logits, labels = slices(*SHARES)
    free = dfu.classwise_temperature_scaling(logits, labels)
    wide = dfu.classwise_temperature_scaling(logits, labels, gamma=5.0)
    np.testing.assert_array_equal(wide.temperatures, free.temperatures)
    np.testing.assert_allclose(wide.std_err, free.std_err)
    plain = dfu.temperature_scaling(logits, labels)
    assert wide.shared_temperature == pytest.approx(plain.temperature)


@pytest.mark.parametrize("gamma", [0.01, 0.05, 0.1])
def test_finite_gamma_beats_every_feasible_grid_point(gamma):
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 3, (60, 3))
    truth = logits * np.array([0.2, 0.6, 1.0])[logits.argmax(axis=1), None]
    labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    fit = dfu.classwise_temperature_scaling(logits, labels, gamma=gamma)
    alphas = fit.inverse_temperatures
    shared = 1 / fit.shared_temperature
    assert (np.abs(alphas - shared) <= gamma * (1 + 1e-12)).all()
    assert 3 in fit.status  # the constraint is active

    predicted = logits.argmax(axis=1)
    grid = np.arange(0.05, 1.5, 0.0025)

    def slice_losses(k):
        z = logits[predicted == k]
        scaled = grid[:, None, None] * (z - z.max(axis=1, keepdims=True))
        of_label = scaled[:, np.arange(len(z)), labels[predicted == k]]
        return (np.log(np.exp(scaled).sum(axis=2)) - of_label).sum(axis=1)

    tables = [slice_losses(k) for k in range(3)]
    best = min(
        sum(table[np.abs(grid - a0) <= gamma + 1e-9].min() for table in tables)
        for a0 in grid
    )
    assert fit.loss_after <= best / 60 + 1e-9
    assert fit.loss_after == pytest.approx(best / 60, abs=1e-4)


def test_classes_of_few_rows_share_the_temperature_of_all_rows():
    logits, labels = slices(*SHARES)
    keep = np.r_[0:8, 8:16, 16:19]  # three rows predicted as class 2
    logits, labels = logits[keep], labels[keep]
    alone = dfu.classwise_temperature_scaling(logits, labels)
    assert alone.status.tolist() == [0, 0, 4]  # its three rows are all right
    fit = dfu.classwise_temperature_scaling(logits, labels, min_rows=4)
    plain = dfu.temperature_scaling(logits, labels)
    assert fit.status.tolist() == [0, 0, 1]
    assert fit.temperatures[2] == pytest.approx(plain.temperature)
    assert fit.std_err[2] == pytest.approx(plain.std_err)
    losses = fit.predict(logits)[np.arange(19), labels]
    assert fit.loss_after == pytest.approx(-np.log(losses).mean())


def test_a_class_without_an_error_gets_the_shared_temperature():
    logits, labels = slices(0.75, 1.0, 0.5)
    fit = dfu.classwise_temperature_scaling(logits, labels, bounds=(0.01, 20.0))
    plain = dfu.temperature_scaling(logits, labels, bounds=(0.01, 20.0))
    assert fit.temperatures[1] == plain.temperature == fit.shared_temperature
    assert fit.std_err[1] == plain.std_err
    assert fit.to_frame()["note"].tolist() == ["", "no error", ""]
    assert "'no error': none among its n predictions" in " ".join(str(fit).split())
    assert fit.predict(logits).max() < 1.0
    # the bound is for two classes, and delta is shared by three
    alone = dfu.classwise_temperature_scaling(
        *slices(0.75, 0.75, 0.5), bounds=(0.1, 1.0), loss="brier", logit_range=5.0
    )
    shared = dfu.classwise_temperature_scaling(
        logits, labels, bounds=(0.1, 1.0), loss="brier", logit_range=5.0
    )
    assert str(shared.guarantee) != "" and alone.status.tolist() == [0, 0, 0]


def test_where_no_class_has_an_error_all_stand_at_the_bound():
    logits, labels = slices(1.0, 1.0, 1.0)
    with pytest.warns(dfu.FitAtBoundWarning, match=r"3 of 3 classes"):
        fit = dfu.classwise_temperature_scaling(logits, labels, bounds=(0.01, 20.0))
    assert fit.inverse_temperatures.tolist() == [20.0] * 3
    logits, labels = slices(0.75, 1.0, 0.5)
    near = dfu.classwise_temperature_scaling(logits, labels, gamma=0.1)
    assert near.status[1] == 3
    assert near.inverse_temperatures[1] == 1 / near.shared_temperature + 0.1


def test_weights_within_slices():
    logits, labels = slices(*SHARES)
    weights = np.where(labels == logits.argmax(axis=1), 2.0, 1.0)
    fit = dfu.classwise_temperature_scaling(logits, labels, sample_weight=weights)
    shares = [2 * s / (2 * s + 1 - s) for s in SHARES]
    expected = [best_alpha(share, 3, 4.0) for share in shares]
    np.testing.assert_allclose(fit.inverse_temperatures, expected, rtol=1e-10)


def test_guarantees_by_class_and_together():
    logits, labels = slices(*SHARES, rows=400)
    settings = {"bounds": (0.05, 2.0), "logit_range": 4.0}
    fit = dfu.classwise_temperature_scaling(logits, labels, loss="brier", **settings)
    assert "Cor. 4.2" in fit.guarantee.reference
    expected = 2 * dfu.bounds.cts_excess_risk_tight(
        400, 1, 0.05 / 3, alpha_bounds=(0.05, 2.0), gamma=0.0, lipschitz=4 * 8 / 27
    )
    assert fit.guarantee.upper == pytest.approx(float(expected))
    near = dfu.classwise_temperature_scaling(logits, labels, gamma=0.1, **settings)
    assert "Thm 4.1" in near.guarantee.reference
    constants = dfu.bounds.nll_constants(4.0, 3, 2.0)
    expected = dfu.bounds.cts_excess_risk_tight(
        1200, 3, 0.05, alpha_bounds=(0.05, 2.0), gamma=0.1, **constants._asdict()
    )
    assert near.guarantee.upper == pytest.approx(float(expected))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma": -0.1}, "gamma"),
        ({"gamma": math.nan}, "gamma"),
        ({"min_rows": 0}, "at least 1"),
    ],
)
def test_bad_input_is_told(change, message):
    with pytest.raises(dfu.InputError, match=message):
        dfu.classwise_temperature_scaling(*slices(*SHARES), **change)
