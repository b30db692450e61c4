"""Real logits: peers, and published numbers."""

import numpy as np
import pytest
from scipy.optimize import minimize

import distfreeuq as dfu
from distfreeuq import metrics

LOGIT_FILES = [
    ("agnews-gpt2-zeroshot", "agnews_gpt2.npz", ""),
    ("cifar10-chenyaofo-logits", "resnet20.npz", ""),
    ("cifar10-chenyaofo-logits", "vgg19_bn.npz", ""),
    ("cifar10-densenet40-logits", "densenet40_c10_logits.npz", "val_"),
    ("cifar10-densenet40-logits", "densenet40_c10_logits.npz", "test_"),
    ("cifar10-resnet50-logits", "resnet50_c10_logits.npz", "val_"),
    ("cifar10-resnet50-logits", "resnet50_c10_logits.npz", "test_"),
    ("cifar100-resnet20-logits", "resnet20.npz", ""),
]


def read(data_folder, folder, file, part):
    data = np.load(data_folder(folder) / file)
    return data[f"{part}logits"], data[f"{part}labels"]


@pytest.mark.parametrize(("folder", "file", "part"), LOGIT_FILES)
def test_temperature_equals_scikit_learn(data_folder, folder, file, part):
    calibration = pytest.importorskip("sklearn.calibration")
    if not hasattr(calibration, "_TemperatureScaling"):
        pytest.skip("temperature scaling came with scikit-learn 1.8")
    logits, labels = read(data_folder, folder, file, part)
    fit = dfu.temperature_scaling(logits, labels)
    # in double precision: in single, scikit-learn's search ends at three digits
    other = calibration._TemperatureScaling().fit(logits.astype(np.float64), labels)
    assert fit.inverse_temperature == pytest.approx(float(other.beta_), rel=1e-6)
    double = dfu.temperature_scaling(logits.astype(np.float64), labels)
    assert fit.temperature == pytest.approx(double.temperature, rel=1e-9)


@pytest.mark.parametrize(
    ("folder", "file", "temperature", "ece", "nll"),
    [
        (*LOGIT_FILES[3][:2], 2.8826, 0.95, 0.2251),
        (*LOGIT_FILES[5][:2], 1.0626, 0.97, 0.1738),
    ],
)
def test_published_temperatures(data_folder, folder, file, temperature, ece, nll):
    logits, labels = read(data_folder, folder, file, "val_")
    fit = dfu.temperature_scaling(logits, labels)
    assert fit.temperature == pytest.approx(temperature, abs=5e-5)
    logits, labels = read(data_folder, folder, file, "test_")
    probs = fit.predict(logits)
    assert 100 * metrics.ece(probs, labels) == pytest.approx(ece, abs=5e-3)
    of_label = probs[np.arange(len(labels)), labels].astype(float)
    assert -np.log(of_label).mean() == pytest.approx(nll, abs=5e-5)


def test_vector_scaling_equals_a_general_optimiser(data_folder):
    logits, labels = read(data_folder, *LOGIT_FILES[3])
    fit = dfu.vector_scaling(logits, labels)
    z, n = logits.astype(np.float64), len(labels)

    def loss(theta):
        scores = z * theta[:10] + theta[10:]
        scores -= scores.max(axis=1, keepdims=True)
        sums = np.exp(scores).sum(axis=1)
        residual = np.exp(scores) / sums[:, None] - np.eye(10)[labels]
        value = (np.log(sums) - scores[np.arange(n), labels]).mean()
        return value, np.concatenate([(residual * z).mean(0), residual.mean(0)])

    start = np.repeat([1.0, 0.0], 10)
    other = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    scale, bias = other.x.reshape(2, 10)
    np.testing.assert_allclose(fit.scale, scale, rtol=1e-5)
    np.testing.assert_allclose(fit.bias, bias - bias.mean(), atol=1e-5)
    assert fit.loss_after == pytest.approx(other.fun, abs=1e-9)


def test_isotonic_equals_scikit_learn(data_folder):
    isotonic = pytest.importorskip("sklearn.isotonic")
    data = np.load(data_folder("cifar10-vgg16-probs") / "vgg16_c10_probs.npz")
    probs, labels = data["probs"].astype(np.float64), data["labels"]
    probs /= probs.sum(axis=1, keepdims=True)
    fit = dfu.isotonic_calibration(probs[:5000], labels[:5000])
    columns = []
    for k in range(10):
        curve = isotonic.IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        curve.fit(probs[:5000, k], labels[:5000] == k)
        columns.append(curve.predict(probs[5000:, k]))
    expected = np.column_stack(columns)
    expected /= expected.sum(axis=1, keepdims=True)
    # scikit-learn merges probabilities that differ by less than 1e-15
    np.testing.assert_allclose(fit.predict(probs[5000:]), expected, atol=1e-9)


def test_exact_zeros_in_probabilities(data_folder):
    """float32 zeros of a confident net: finite logits, and the fit sees the floor."""
    folder = data_folder("cifar10-kerrigan-probs")
    data = np.load(folder / "densenet-bc-L190-k40.npz")
    probs, labels = data["probs"], data["labels"]
    logits = dfu.to_logits(probs)
    assert np.isfinite(logits).all()
    fit = dfu.temperature_scaling(logits, labels)
    assert fit.temperature > 1.0
    assert fit.loss_after < fit.loss_before
    after = fit.predict(logits)
    assert metrics.accuracy(after, labels) == metrics.accuracy(probs, labels)
    assert metrics.ece(after, labels) < 0.5 * metrics.ece(probs, labels)
