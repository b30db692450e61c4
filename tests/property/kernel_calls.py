"""The kernels as functions that return: outputs start as garbage, not as answers."""

import numpy as np

from distfreeuq._kernels import _bins, _quantile, _scores

TOLERANCE = 1e-4
"""How far from one the sum of a row may be: these kernels check it on their way."""


def true_label_scores(score, probs, labels, uniforms, threads=1):
    out = np.full(probs.shape[0], np.nan)
    bad = _scores._true_label_scores(
        score, probs, TOLERANCE, labels, uniforms, out, threads
    )
    assert bad == -1
    return out


def all_label_scores(score, probs, uniforms, threads=1):
    out = np.full(probs.shape, np.nan)
    bad = _scores._all_label_scores(score, probs, TOLERANCE, uniforms, out, threads)
    assert bad == -1
    return out


def prediction_sets(
    score, probs, uniforms, thresholds, one_per_row=False, never_empty=False, threads=1
):
    mask = np.full(probs.shape, 7, dtype=np.uint8)
    sizes = np.full(probs.shape[0], -7, dtype=np.int64)
    bad = _scores._prediction_sets(
        score,
        probs,
        TOLERANCE,
        uniforms,
        thresholds,
        one_per_row,
        never_empty,
        mask,
        sizes,
        threads,
    )
    assert bad == -1
    return mask, sizes


def sort_scores(values):
    out, order = np.full(values.shape, np.nan), np.full(values.shape, -7)
    _quantile._sort_scores(values, out, order)
    return out, order


def sort_labelled(values, labels, n_cells, threads=1):
    out, sorted_labels = np.full(values.shape, np.nan), np.full_like(labels, 7)
    _quantile._sort_labelled(
        values,
        labels.view(np.uint8),
        np.full(2 * n_cells, -7),
        out,
        sorted_labels.view(np.uint8),
        threads,
    )
    return out, sorted_labels


def scaled_mass(weights, scale):
    return _quantile._scaled_mass(weights, scale)


def select_quantiles(values, weights, scale, needed):
    out = np.full(needed.shape, np.nan)
    mass = scaled_mass(weights, scale)
    _quantile._select_quantiles(values, weights, scale, mass, needed, out)
    return out


def select_by_label(values, labels, ranks):
    out = np.full(ranks.shape, np.nan)
    _quantile._select_by_label(values, labels, ranks, out)
    return out


def mass_of_counts(counts, masses):
    return _quantile._mass_of_counts(counts, masses)


def ascending_quantiles(values, labels, masses, needed):
    out, scratch = np.full(needed.shape, np.nan), np.full(masses.size, -7)
    mass = mass_of_counts(np.bincount(labels, minlength=masses.size), masses)
    args = values, labels, masses, mass, needed, scratch, out
    _quantile._ascending_quantiles(*args)
    return out


def ascending_ranks(values, labels, ranks):
    out, scratch = np.full(ranks.shape, np.inf), np.full(ranks.shape, -7)
    _quantile._ascending_ranks(values, labels, ranks, scratch, out)
    return out


def assign_bins(values, edges, closed_right, threads=1):
    out = np.full(values.shape, -7, dtype=np.int64)
    _bins._assign_bins(values, edges, closed_right, out, threads)
    return out
