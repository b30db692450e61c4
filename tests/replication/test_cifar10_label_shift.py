"""Real predictions under a made label shift, and under none.

`cifar10-label-shift-demo`: a CIFAR-10 network's probabilities, the target resampled to
mostly cats (Alexandari, Kundaje and Shrikumar, 2020). `cifar10.1-hard-predictions`:
thirty networks on CIFAR-10 and on CIFAR-10.1, a new test set with the same class
proportions.
"""

import numpy as np
import pytest

import distfreeuq as dfu


@pytest.fixture(scope="module")
def demo(data_folder):
    with np.load(data_folder("cifar10-label-shift-demo") / "demo.npz") as archive:
        names = ("valid_probs", "valid_labels", "target_probs", "target_labels")
        return tuple(archive[name] for name in names)


@pytest.fixture(scope="module")
def truth(demo):
    """Return the target's class proportions, and the weights they make."""
    _, labels, _, target_labels = demo
    source = np.bincount(labels, minlength=10) / len(labels)
    target = np.bincount(target_labels, minlength=10) / len(target_labels)
    return target, target / source


def total_variation(fit, target):
    return 0.5 * np.abs(fit.target_prior - target).sum()


def covered(fit, w, method="asymptotic"):
    ends = fit.confint(0.05, method)
    return (ends[:, 0] <= w) & (w <= ends[:, 1])


def test_confusion_matrices_find_the_cats(demo, truth):
    probs, labels, target, _ = demo
    proportions, w = truth
    hard = dfu.bbse(probs, labels, target)
    soft = dfu.bbse(probs, labels, target, soft=True)
    regularised = dfu.rlls(probs, labels, target)
    assert total_variation(hard, proportions) < 0.06
    assert total_variation(soft, proportions) < 0.05
    # with 10,000 source rows the default regulariser changes nothing
    np.testing.assert_allclose(regularised.label_weight, hard.label_weight, rtol=1e-6)
    assert hard.region(0.05).contains(w)
    assert hard.confint(0.05, "finite-sample")[3, 0] > 5.0
    for fit in (hard, soft):
        assert covered(fit, w).sum() >= 8
        assert fit.test().p_value == fit.test().floor


def test_maximum_likelihood_needs_and_rewards_calibration(demo, truth):
    probs, labels, target, _ = demo
    proportions, w = truth
    calibrated = dfu.mlls(probs, labels, target)
    raw = dfu.mlls(probs, labels, target, calibrate=None)
    assert 1.0 < 1.0 / calibrated.calibration.slope < 1.3
    assert total_variation(calibrated, proportions) < 0.005
    assert total_variation(raw, proportions) > 0.03
    assert covered(calibrated, w).all()
    assert not covered(raw, w, "likelihood").all()
    assert covered(raw, w).all()
    # seven classes are gone; most of their weights are exactly zero
    assert (calibrated.label_weight[w == 0] == 0).sum() >= 4
    assert calibrated.label_weight[w == 0].max() < 0.02


def test_adapted_probabilities_are_right_about_the_target(demo):
    probs, labels, target, target_labels = demo
    fit = dfu.mlls(probs, labels, target)
    before = (target.argmax(axis=1) == target_labels).mean()
    after = (fit.adapt(target).argmax(axis=1) == target_labels).mean()
    assert before == pytest.approx(0.707)
    assert after > 0.96


def test_the_same_proportions_on_new_images_show_no_label_shift(data_folder):
    path = data_folder("cifar10.1-hard-predictions") / "cifar10.1_hard_predictions.npz"
    one_hot, p_values = np.eye(10), []
    with np.load(path) as archive:
        labels = archive["source_labels"].astype(np.int64)
        nets = [k.removesuffix("__source") for k in archive if k.endswith("__source")]
        for net in nets:
            source, target = archive[f"{net}__source"], archive[f"{net}__target_v6"]
            fit = dfu.bbse(one_hot[source], labels, one_hot[target])
            p_values.append(fit.test().p_value)
            # images are harder, which is no label shift: weights err by up to a quarter
            assert np.abs(fit.label_weight - 1.0).max() < 0.25
            assert fit.region(0.05).contains(np.ones(10))
    assert len(nets) == 30
    assert min(p_values) > 0.01
