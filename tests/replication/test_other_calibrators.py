"""Venn-Abers, beta and Dirichlet maps, scaling-binning, smooth ECE by others' packages.

On real logits, and where the numbers differ, why.
"""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import metrics

LOGIT_FILES = [
    ("agnews-gpt2-zeroshot", "agnews_gpt2.npz", ""),
    ("cifar10-densenet40-logits", "densenet40_c10_logits.npz", "val_"),
    ("cifar10-resnet50-logits", "resnet50_c10_logits.npz", "val_"),
]
DENSENET = LOGIT_FILES[1]

every_file = pytest.mark.parametrize("file", LOGIT_FILES, ids=lambda file: file[0])


def read(data_folder, file):
    folder, name, part = file
    with np.load(data_folder(folder) / name) as data:
        return data[f"{part}logits"].astype(np.float64), data[f"{part}labels"]


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def top_label(data_folder, file):
    """Return the confidences, and whether the predicted labels are right."""
    logits, labels = read(data_folder, file)
    probs = softmax(logits)
    return probs.max(axis=1), (probs.argmax(axis=1) == labels).astype(np.int64)


@every_file
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # theirs: 0 / 0 at a corner
def test_venn_abers(data_folder, file):
    venn_abers = pytest.importorskip("venn_abers")
    confidence, hits = top_label(data_folder, file)
    half = hits.size // 2
    other = venn_abers.VennAbers()
    pairs = np.column_stack([1.0 - confidence, confidence])
    other.fit(pairs[:half], hits[:half])
    merged, both = other.predict_proba(pairs[half:])
    fit = dfu.venn_abers(confidence[:half], hits[:half])
    found = fit.multiprobabilities(confidence[half:])[:, 1]
    np.testing.assert_allclose(found, both, atol=1e-12)
    np.testing.assert_allclose(fit.predict(confidence[half:]), merged, atol=1e-12)


@every_file
def test_beta_calibration(data_folder, file):
    """The same curve, to where betacal's search ends: ours is never less likely."""
    betacal = pytest.importorskip("betacal")
    logits, labels = read(data_folder, file)
    probs = softmax(logits)
    for k in range(probs.shape[1]):
        score, hits = probs[:, k], (labels == k).astype(np.int64)
        other = betacal.BetaCalibration(parameters="abm").fit(score[:, None], hits)
        expected = other.predict(score)
        found = dfu.beta_calibration(score, hits).predict(score)[:, 1]
        np.testing.assert_allclose(found, expected, atol=0.01)
        ahead = log_loss(expected, hits) - log_loss(found, hits)
        assert -1e-12 < ahead < 1e-6


def log_loss(probs, hits):
    return -np.where(hits == 1, np.log(probs), np.log1p(-probs)).mean()


@pytest.mark.slow  # theirs makes Hessians by automatic differentiation: 10 s
@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_dirichlet_scaling(data_folder, ridge):
    """The authors' code, with its ridges as their paper has them."""
    authors = pytest.importorskip("dirichletcal.calib.fulldirichlet")
    logits, labels = read(data_folder, LOGIT_FILES[0])
    logits, labels = logits[::16], labels[::16]
    # by default their penalty is on differences from the last row, and not normed
    other = authors.FullDirichletCalibrator(
        reg_lambda=ridge, reg_mu=ridge, reg_norm=True, ref_row=False
    )
    other.fit(softmax(logits), labels)
    fit = dfu.dirichlet_scaling(logits, labels, ridge=ridge)
    np.testing.assert_allclose(
        fit.predict(logits), other.predict_proba(softmax(logits)), atol=1e-6
    )


@every_file
def test_scaling_binning(data_folder, file):
    """As far from theirs as other rows for map, bins and outputs make it.

    They are all rows for each of the three steps there, so that nothing bounds the
    outputs, and a part for each here. Rows between edges that differ change their bin.
    """
    calibrators = pytest.importorskip("calibration.calibrators")
    confidence, hits = top_label(data_folder, file)
    half = hits.size // 2
    other = calibrators.PlattBinnerCalibrator(half, 10)
    other.train_calibration(confidence[:half], hits[:half])
    expected = other.calibrate(confidence[half:])
    inside = np.clip(confidence, 1e-12, 1.0 - 1e-12)
    log_odds = np.log(inside) - np.log1p(-inside)
    fit = dfu.scaling_binning(log_odds[:half], hits[:half], "platt", rng=0)
    found = fit.predict(log_odds[half:])[:, 1]
    assert np.abs(found - expected).mean() < 0.025
    assert len(set(found)) <= 10 and len(set(expected)) <= 10
    errors = [
        metrics.ece(probs, hits[half:], event="class-1") for probs in (found, expected)
    ]
    assert abs(errors[0] - errors[1]) < 0.02


@every_file
def test_smooth_ece(data_folder, file, monkeypatch):
    """relplot's, once its kernel has all of the mass at the ends of [0, 1].

    It mirrors the grid without its end nodes, and so halves what lies on them: four
    fifths of the DenseNet's rows have a confidence that is nearest the last one.
    """
    relplot = pytest.importorskip("relplot")
    kernel = relplot.kernels.ReflectedGaussianKernel
    mirrored = kernel.convolve

    def whole_ends(self, values, eval_points):
        doubled = values.copy()
        doubled[[0, -1]] *= 2.0
        return mirrored(self, doubled, eval_points)

    monkeypatch.setattr(kernel, "convolve", whole_ends)
    monkeypatch.setattr(relplot.config, "smECE_mesh_pts", 20_000)
    confidence, hits = top_label(data_folder, file)
    found = metrics.smooth_ece(confidence, hits, event="class-1")
    # its residuals have a resolution of 1/1000, and its bandwidth one of 1/1024
    assert found == pytest.approx(relplot.smECE(confidence, hits), abs=1e-4)
    for bandwidth in (0.02, 0.05, 0.2):
        at_it = metrics.smooth_ece(
            confidence, hits, event="class-1", bandwidth=bandwidth
        )
        other = relplot.metrics.smECE_sigma(confidence, hits, bandwidth)
        assert at_it == pytest.approx(other, abs=3e-5)


def test_smooth_ece_where_all_errors_have_one_sign(data_folder):
    """Overconfident everywhere: any kernel gives mean confidence less accuracy."""
    confidence, hits = top_label(data_folder, DENSENET)
    excess = confidence.mean() - hits.mean()
    assert metrics.ece(confidence, hits, event="class-1") == pytest.approx(excess)
    found = metrics.smooth_ece(confidence, hits, event="class-1", bandwidth=0.2)
    assert found == pytest.approx(excess, abs=1e-12)
    relplot = pytest.importorskip("relplot")
    other = relplot.metrics.smECE_sigma(confidence, hits, 0.2)
    assert other > 1.4 * excess
