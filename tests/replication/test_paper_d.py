"""Zhao et al. (2020) in kind: what its tables and figures show, in every seed."""

import numpy as np
import pytest

from vignettes.replication import digits, paper_d

pytestmark = pytest.mark.slow

UNCAL, VS, TS, CTS = range(4)
ACCURACY, ECE, MAX_ECE, AVG_ECE = range(4)


@pytest.fixture(scope="module")
def images(data_folder):
    data_folder("digits-mnist")
    return digits.load_digits()


@pytest.fixture(scope="module")
def noisy(images):
    """Errors (5, 4, 4) with 30 % label noise in half of the classes."""
    return np.array(
        [paper_d.errors(digits.train(images, seed, noise=0.3)) for seed in range(5)]
    )


def test_temperatures_keep_accuracy_exactly(noisy):
    accuracy = noisy[:, :, ACCURACY]
    np.testing.assert_array_equal(accuracy[:, TS], accuracy[:, UNCAL])
    np.testing.assert_array_equal(accuracy[:, CTS], accuracy[:, UNCAL])
    assert (accuracy[:, VS] > accuracy[:, UNCAL]).all()


def test_table_2_class_wise_beats_one_temperature(noisy):
    assert (noisy[:, CTS, MAX_ECE] < noisy[:, TS, MAX_ECE]).all()
    assert (noisy[:, CTS, AVG_ECE] < noisy[:, TS, AVG_ECE]).all()
    assert (noisy[:, TS, AVG_ECE] < noisy[:, UNCAL, AVG_ECE]).all()
    # by about as much as in the paper, where max-ECE falls from 13.85 to 5.46
    mean = noisy.mean(axis=0)
    assert mean[CTS, MAX_ECE] < 0.6 * mean[TS, MAX_ECE]
    assert mean[CTS, AVG_ECE] < 0.6 * mean[TS, AVG_ECE]
    assert mean[CTS, ECE] < mean[TS, ECE]


def test_figure_1_noise_and_few_rows_move_confidence_apart_from_accuracy(images):
    def gap(**how):
        rows = digits.train(images, 0, n_spoilt=10, **how)
        probs = paper_d.calibrated(rows)["Uncal."]
        right = probs.argmax(axis=1) == rows.test_labels
        return probs.max(axis=1).mean() - right.mean()

    clean, noise, few = gap(), gap(noise=0.3), gap(keep=0.02)
    assert noise < -0.2 < 0.0 < clean < few
    assert few > 0.05


def test_figure_7_one_temperature_is_paid_for_by_small_classes(images):
    by_class = paper_d.class_errors(digits.train(images, 0, keep=0.05))
    small, large = by_class[:, :5].mean(axis=1), by_class[:, 5:].mean(axis=1)
    assert small[TS] > 1.5 * small[UNCAL]
    assert large[TS] < large[UNCAL]
    assert small[CTS] < small[UNCAL]
    assert large[CTS] < large[TS]


def test_table_1_in_kind_real_logits(data_folder):
    data = np.load(data_folder("cifar100-resnet20-logits") / "resnet20.npz")
    tables = np.array(
        [paper_d.errors(half) for half in paper_d.random_halves(data, range(10))]
    )
    accuracy = tables[:, :, ACCURACY]
    np.testing.assert_array_equal(accuracy[:, TS], accuracy[:, UNCAL])
    np.testing.assert_array_equal(accuracy[:, CTS], accuracy[:, UNCAL])
    mean = tables.mean(axis=0)
    assert mean[TS, ECE] < 0.3 * mean[UNCAL, ECE]
    assert mean[CTS, ECE] < 0.5 * mean[UNCAL, ECE]


def test_spoilt_classes_are_the_first(images, monkeypatch):
    """What the network is trained on: noise and fewer rows in digits 0 to 4 alone."""
    seen = {}

    def keep(rows, labels, seed):
        seen.update(rows=rows, labels=labels)
        return lambda x: np.zeros((len(x), 10))

    monkeypatch.setattr(digits, "train_network", keep)
    digits.train(images, 0)
    clean = np.bincount(seen["labels"])
    assert clean.sum() == digits.N_TRAIN
    digits.train(images, 0, keep=0.1)
    few = np.bincount(seen["labels"])
    np.testing.assert_array_equal(few[5:], clean[5:])
    assert (few[:5] < 0.15 * clean[:5]).all()
    digits.train(images, 0, noise=1.0)
    noisy = np.bincount(seen["labels"])
    # labels of any kind, the true one included, in place of those of 0 to 4
    added = clean[:5].sum() / 10
    np.testing.assert_allclose(noisy[5:] - clean[5:], added, rtol=0.15)
    np.testing.assert_allclose(noisy[:5], added, rtol=0.15)
