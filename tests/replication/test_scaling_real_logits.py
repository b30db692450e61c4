"""Real logits: peers, and published numbers."""

import numpy as np
import pytest
from scipy import special
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


def test_dirichlet_scaling_equals_a_general_optimiser(data_folder):
    """The same objective; beside its authors' package: test_other_calibrators.py."""
    logits, labels = read(data_folder, *LOGIT_FILES[3])
    ridge, n_classes = 0.01, 10
    z = special.log_softmax(logits.astype(np.float64), axis=1)
    hits = np.eye(n_classes)[labels]
    off = 1.0 - np.eye(n_classes)

    def loss(theta):
        coef, bias = np.split(theta.reshape(n_classes, n_classes + 1), [10], axis=1)
        log_probs = special.log_softmax(z @ coef.T + bias.T, axis=1)
        wrong = (np.exp(log_probs) - hits) / len(labels)
        slope = np.column_stack([wrong.T @ z, wrong.sum(axis=0)])
        slope[:, :10] += 2.0 * ridge * off * coef / off.sum()
        slope[:, 10:] += 2.0 * ridge * bias / n_classes
        nll = -(hits * log_probs).sum(axis=1).mean()
        penalty = (off * coef**2).sum() / off.sum() + (bias**2).mean()
        return nll + ridge * penalty, slope.ravel()

    options = {"maxiter": 20_000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-9}
    start = np.eye(n_classes, n_classes + 1).ravel()
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    fit = dfu.dirichlet_scaling(logits.astype(np.float64), labels, ridge=ridge)
    mine = np.column_stack([fit.coef, fit.bias])
    least, slope = loss(mine.ravel())
    assert least <= found.fun + 1e-12
    assert np.abs(slope).max() < 1e-8
    coef, bias = np.split(found.x.reshape(n_classes, n_classes + 1), [10], axis=1)
    other = special.softmax(z @ coef.T + bias.T, axis=1)
    np.testing.assert_allclose(fit.predict(logits), other, atol=2e-3)


def test_the_bound_would_tie_all_temperatures(data_folder):
    """Mean loss plus bound is least at gamma = 0, so that it is no way to choose."""
    logits, labels = read(data_folder, *LOGIT_FILES[3])
    sums = {}
    for gamma in (0.0, 0.01, 0.1, 1.0):
        fit = dfu.classwise_temperature_scaling(
            logits, labels, gamma=gamma, loss="brier"
        )
        sums[gamma] = fit.loss_after, fit.guarantee.upper
    gained = sums[0.0][0] - sums[1.0][0]
    assert 0.0005 < gained < 0.002
    for gamma in (0.01, 0.1, 1.0):
        assert sums[gamma][1] - sums[0.0][1] > 50.0 * gained
