"""The kernels once more, slowly: each twin is its definition in a few lines of NumPy.

Only the tests import this file, and hold every kernel equal to its twin. A twin takes
the kernel's inputs and returns what the kernel writes into its outputs.
"""

import math

import numpy as np

from distfreeuq._base.array_types import (
    BoolArray,
    BoolMatrix,
    ByteMatrix,
    FloatArray,
    FloatMatrix,
    IntArray,
    IntMatrix,
)

# ---------------------------------------------------------------- _scores: scores, sets

LAC, APS, RAPS, SAPS, RANK, MARGIN = range(6)


def on_grid(p: FloatArray) -> FloatArray:
    """Round to multiples of 2^-52, whose sums below 2 are exact in any order."""
    return np.ldexp(np.rint(np.ldexp(p.astype(np.float64), 52)), -52)


def score_of_label(
    score: tuple[int, float, float, float], row: FloatArray, y: int, u: float
) -> float:
    """Return label y's score: the table in distfreeuq/conformal/nonconformity.py."""
    kind, penalty, k_reg, weight = score
    row = row.astype(np.float64)
    more_likely = row > row[y]
    rank = 1 + int(more_likely.sum())
    if kind == LAC:
        return float(1.0 - row[y])
    if kind == MARGIN:
        return float(np.delete(row, y).max() - row[y])
    if kind == RANK:
        return rank - 1 + u
    if kind == SAPS:
        top = float(row.max())
        return u * top if rank == 1 else top + (rank - 2 + u) * weight
    grid = on_grid(row)
    aps = float(grid[more_likely].sum() + u * grid[y])
    return aps if kind == APS else aps + penalty * max(rank - k_reg, 0.0)


def true_label_scores(
    score: tuple[int, float, float, float],
    probs: FloatMatrix,
    labels: IntArray,
    uniforms: FloatArray,
) -> FloatArray:
    """Return each row's score of its own label, shape (n,)."""
    rows = zip(probs, labels, uniforms, strict=True)
    return np.array([score_of_label(score, row, y, float(u)) for row, y, u in rows])


def all_label_scores(
    score: tuple[int, float, float, float], probs: FloatMatrix, uniforms: FloatArray
) -> FloatMatrix:
    """Return every label's score, shape (n, K)."""
    n, n_classes = probs.shape
    out = np.empty((n, n_classes))
    for i in range(n):
        for y in range(n_classes):
            out[i, y] = score_of_label(score, probs[i], y, float(uniforms[i]))
    return out


def prediction_sets(
    score: tuple[int, float, float, float],
    probs: FloatMatrix,
    uniforms: FloatArray,
    thresholds: FloatArray,
    one_per_row: bool,
    never_empty: bool,
) -> tuple[BoolMatrix, IntArray]:
    """Return which scores are at most their thresholds (n, K), and the set sizes."""
    if one_per_row:
        thresholds = thresholds[:, None]
    mask = all_label_scores(score, probs, uniforms) <= thresholds
    if never_empty:
        mask |= probs == probs.max(axis=1, keepdims=True)
    return mask, mask.sum(axis=1)


# ----------------------------------------------------------------- _checks: user's rows


def first_bad_row(matrix: FloatMatrix, simplex: bool, tolerance: float) -> int:
    """Return the first row that is no probability vector, or not finite; or -1."""
    for i, row in enumerate(matrix.astype(np.float64)):
        good = bool(np.isfinite(row).all())
        if good and simplex:
            good = bool((row >= 0.0).all()) and abs(math.fsum(row) - 1.0) <= tolerance
        if not good:
            return i
    return -1


# ---------------------------------------------------- _quantile: order, weighted ranks


def sort_scores(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the values in ascending order, and where each stood."""
    order = np.array(sorted(range(values.size), key=lambda i: values[i]), dtype=int)
    return values[order], order


def sort_labelled(values: FloatArray, labels: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the values in ascending order, and the labels that they had."""
    ascending, order = sort_scores(values)
    return ascending, labels[order]


def scaled_mass(weights: FloatArray, scale: float) -> float:
    """Return the sum of the weights over the scale, correctly rounded."""
    return math.fsum(weights / scale)


def select_quantiles(
    values: FloatArray, weights: FloatArray, scale: float, needed: FloatArray
) -> FloatArray:
    """Return, per mass needed, the first value in order at which there is so much."""
    order = [int(i) for i in np.argsort(values) if weights[i] > 0.0]
    mass = [math.fsum(weights[order[: i + 1]] / scale) for i in range(len(order))]
    enough = np.searchsorted(mass, needed, side="left")
    return np.asarray(values[np.array(order)[enough]])


def select_by_label(
    values: FloatArray, labels: IntArray, ranks: IntArray
) -> FloatArray:
    """Return the ranks[k]-th smallest value of label k, +inf beyond their last."""
    ordered = [np.sort(values[labels == k]) for k in range(ranks.size)]
    pairs = zip(ordered, ranks, strict=True)
    return np.array([own[r - 1] if r <= own.size else np.inf for own, r in pairs])


# ------------------------------------------------------------ _binning: bins and counts


def assign_bins(values: FloatArray, edges: FloatArray, closed_right: bool) -> IntArray:
    """Return how many interior edges lie below each value, shape (n,)."""
    below = edges < values[:, None] if closed_right else edges <= values[:, None]
    return np.asarray(below.sum(axis=1), dtype=np.int64)


def mark_on_edges(
    values: FloatArray, edges: FloatArray, excepted: BoolArray
) -> BoolArray:
    """Return which values equal an edge whose first occurrence is excepted."""
    first = {float(e): m for m, e in reversed(list(enumerate(edges)))}
    return np.array(
        [float(v) in first and bool(excepted[first[float(v)]]) for v in values],
        dtype=bool,
    )


def count_labels(
    bins: IntArray, labels: IntArray, n_bins: int, n_classes: int
) -> IntMatrix:
    """Return the number of rows by bin and label, shape (n_bins, n_classes)."""
    cells = [
        [((bins == m) & (labels == k)).sum() for k in range(n_classes)]
        for m in range(n_bins)
    ]
    return np.array(cells, dtype=np.int64)


def sum_label_weights(
    bins: IntArray,
    labels: IntArray,
    weights: FloatArray,
    n_bins: int,
    n_classes: int,
) -> FloatMatrix:
    """Return the weight of the rows by bin and label, added row by row."""
    out = np.zeros((n_bins, n_classes))
    for m, k, weight in zip(bins, labels, weights, strict=True):
        if m >= 0:
            out[m, k] += weight
    return out


def bucket(values: FloatArray, size: int) -> IntArray:
    """Return the bucket floor(value * size) of each value, from 0 to size - 1."""
    places = np.clip(values.astype(np.float64) * size, 0.0, size - 1.0)
    return np.asarray(np.floor(places), dtype=np.int64)


def count_buckets(values: FloatArray, size: int) -> IntArray:
    """Return how many values each bucket holds, shape (size,)."""
    return np.bincount(bucket(values, size), minlength=size)


def gather_buckets(values: FloatArray, wanted: ByteMatrix) -> FloatArray:
    """Return the values in buckets that are wanted, in their order."""
    return np.asarray(values[wanted[bucket(values, wanted.size)] == 1])


def tabulate_scores(
    values: FloatArray,
    labels: IntArray,
    edges: FloatArray,
    dropped: BoolArray,
    n_labels: int,
) -> tuple[IntMatrix, FloatArray]:
    """Return rows by bin and label, and sums of values, without dropped edges."""
    kept = ~np.isin(values, edges[dropped])
    bins = assign_bins(values, edges, True)[kept]
    counts = count_labels(bins, labels[kept], edges.size + 1, n_labels)
    kept_values = values[kept].astype(np.float64)
    totals = [math.fsum(kept_values[bins == m]) for m in range(edges.size + 1)]
    return counts, np.array(totals)


def tabulate_columns(
    probs: FloatMatrix, labels: IntArray, edges: FloatArray
) -> tuple[IntArray, FloatMatrix]:
    """Return rows by bin, column and label (M, K, K), and sums of entries (M, K)."""
    n_classes = probs.shape[1]
    none = np.zeros(edges.size, dtype=np.bool_)
    tables = [tabulate_scores(p, labels, edges, none, n_classes) for p in probs.T]
    counts = np.stack([rows for rows, _ in tables], axis=1)
    return counts, np.stack([totals for _, totals in tables], axis=1)


def assign_cells(
    rows: FloatMatrix, column: IntArray, threshold: FloatArray, child: IntMatrix
) -> IntArray:
    """Return the cell that each row reaches by the splits, shape (n,)."""
    cells = []
    for row in rows:
        node = 0 if column.size else -1
        while node >= 0:
            beyond = row[column[node]] > threshold[node]
            node = int(child[node, 1 if beyond else 0])
        cells.append(-1 - node)
    return np.array(cells, dtype=np.int64)


def sum_cells(
    rows: FloatMatrix, cells: IntArray, weights: FloatArray, n_cells: int
) -> FloatMatrix:
    """Return the weighted sum of each cell's rows, shape (n_cells, K)."""
    totals = np.zeros((n_cells, rows.shape[1]))
    for row, cell, weight in zip(rows.astype(np.float64), cells, weights, strict=True):
        if cell >= 0:
            totals[cell] += weight * row
    return totals


# -------------------------------------------------------- _label_shift: sums over rows


def reweight_rows(probs: FloatMatrix, factors: FloatArray) -> FloatMatrix:
    """Return factors * row / their sum by rows; a row without such a sum stays."""
    out = probs.copy()
    for row, values in zip(out, probs.astype(np.float64) * factors, strict=True):
        if values.sum() > 0.0:
            row[:] = values / values.sum()
    return out


def argmax_rows(probs: FloatMatrix) -> IntArray:
    """Return the first column of each row that holds the row's largest entry."""
    return np.array([row.tolist().index(max(row)) for row in probs], dtype=np.int64)


def sum_by_class(
    probs: FloatMatrix, labels: IntArray, row_weight: FloatArray
) -> FloatMatrix:
    """Return the weighted sum of each class's rows, shape (K, K), classes by row."""
    out = np.zeros((probs.shape[1], probs.shape[1]))
    for row, label, weight in zip(probs, labels, row_weight, strict=True):
        out[label] += weight * row.astype(np.float64)
    return out


def mixture_likelihood(
    probs: FloatMatrix, row_weight: FloatArray, class_weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return densities (n,); sums (K + 2,): gradient, log-likelihood, lost weight."""
    densities = probs.astype(np.float64) @ class_weight
    densities[densities <= 1e-300] = 0.0  # too small to divide by
    sums = np.zeros(probs.shape[1] + 2)
    for row, weight, density in zip(probs, row_weight, densities, strict=True):
        if density > 0.0:
            sums[:-2] += weight * row.astype(np.float64) / density
            sums[-2] += weight * math.log(density)
        else:
            sums[-1] += weight
    return densities, sums


def scale_rows(
    probs: FloatMatrix, slope: float, bias: FloatArray, floor: float
) -> FloatMatrix:
    """Return softmax(slope * log(max(probs, floor)) + bias) by rows."""
    scores = slope * np.log(np.maximum(probs.astype(np.float64), floor)) + bias
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    scaled: FloatMatrix = powers / powers.sum(axis=1, keepdims=True)
    return scaled.astype(probs.dtype)


def scaled_likelihood(
    probs: FloatMatrix,
    labels: IntArray,
    row_weight: FloatArray,
    slope: float,
    bias: FloatArray,
    floor: float,
) -> tuple[FloatArray, FloatArray]:
    """Return each row's derivative by the slope, and sums (2 K + 3,) over the rows.

    The loss's derivatives by bias and slope, the loss, its second derivatives by bias
    and slope, and by the slope twice.
    """
    logs = np.log(np.maximum(probs.astype(np.float64), floor))
    scaled = scale_rows(probs.astype(np.float64), slope, bias, floor)
    mean_log = (scaled * logs).sum(axis=1, keepdims=True)
    of_label = np.arange(labels.size), labels
    by_slope = mean_log[:, 0] - logs[of_label]
    cross = scaled * (logs - mean_log)
    per_row = np.column_stack(
        [
            scaled - np.eye(probs.shape[1])[labels],
            by_slope,
            -np.log(scaled[of_label]),
            cross,
            (cross * (logs - mean_log)).sum(axis=1),
        ]
    )
    return np.where(row_weight == 0.0, 0.0, by_slope), np.asarray(row_weight @ per_row)


def gram_rows(probs: FloatMatrix, row_scale: FloatArray) -> FloatMatrix:
    """Return sum_i row_scale_i^2 probs_i probs_i', shape (K, K)."""
    scaled = row_scale[:, None] * probs.astype(np.float64)
    return np.asarray(scaled.T @ scaled)


# ------------------------------------------------------------- _metrics: assessment


def read_rows(
    probs: FloatMatrix, labels: IntArray
) -> tuple[ByteMatrix, IntArray, FloatArray, FloatArray, FloatArray]:
    """Return hits, predicted class, its probability, the label's, Brier scores."""
    rows = np.arange(labels.size)
    predicted = probs.argmax(axis=1)
    hits = (predicted == labels).astype(np.uint8)
    wide = probs.astype(np.float64)
    brier = ((wide - np.eye(probs.shape[1])[labels]) ** 2).sum(axis=1)
    return hits, predicted, probs[rows, predicted], probs[rows, labels], brier


def sum_bins(
    cells: IntArray,
    confidence: FloatArray,
    hits: IntArray,
    weights: FloatArray,
    n_cells: int,
) -> FloatMatrix:
    """Return the sums of w, w c, w z, w^2 and w (c - z)^2, shape (n_cells, 5)."""
    c, z = confidence.astype(np.float64), hits.astype(np.float64)
    w = weights
    parts = np.column_stack([w, w * c, w * z, w**2, w * (c - z) ** 2])
    return np.array([parts[cells == cell].sum(axis=0) for cell in range(n_cells)])


def sum_class_gaps(
    probs: FloatMatrix, labels: IntArray, weights: FloatArray, edges: FloatArray
) -> FloatMatrix:
    """Return sums (M, K) of w (p_k - 1{k is the label}); right-closed bins."""
    out = np.zeros((edges.size + 1, probs.shape[1]))
    for row, label, weight in zip(probs, labels, weights, strict=True):
        for k, p in enumerate(row):
            m = int((edges < p).sum())
            out[m, k] += weight * (float(p) - float(k == label))
    return out


# ------------------------------------------------- _bootstrap: sums over drawn rows


def count_draws(words: IntArray, n: int) -> IntArray:
    """Return how often 32-bit words drew each row, shape (n,)."""
    return np.bincount(words.astype(np.int64) * n // 2**32, minlength=n)


def sum_cells_of_samples(
    first: IntArray,
    cells: IntArray,
    values: FloatArray,
    weights: FloatArray,
    counts: IntMatrix,
    n_cells: int,
) -> FloatMatrix:
    """Return A'w for w = weights * counts[s], A sparse by rows, shape (n_cells, S)."""
    a = np.zeros((weights.size, n_cells))
    for i in range(weights.size):
        mine = slice(first[i], first[i + 1])
        np.add.at(a[i], cells[mine], values[mine])
    return a.T @ (weights * counts).T


def sum_columns_of_samples(
    probs: FloatMatrix, weights: FloatArray, counts: IntMatrix
) -> FloatMatrix:
    """Return probs'w for w = weights * counts[s], shape (K, S)."""
    return probs.astype(np.float64).T @ (weights * counts).T


# ----------------------------------------------------- _scaling: losses of softmax rows


def softmax_rows(scores: FloatMatrix) -> FloatMatrix:
    """Return softmax by rows, in double precision."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def row_extremes(logits: FloatMatrix) -> tuple[IntArray, float, float]:
    """Return each row's first largest column, the widest range, the longest norm^2."""
    rows = logits.astype(np.float64)
    centred = rows - rows.mean(axis=1, keepdims=True)
    return (
        rows.argmax(axis=1),
        float(np.ptp(rows, axis=1).max()),
        float((centred**2).sum(axis=1).max()),
    )


def temperature_losses(
    brier: bool,
    logits: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    groups: IntArray,
    alphas: FloatArray,
) -> tuple[FloatMatrix, FloatArray]:
    """Return sums (G, 5): loss, gradient, curvature, score^2, wrong; top probs (n,)."""
    z = logits.astype(np.float64)
    p = softmax_rows(alphas[groups][:, None] * z)
    own = np.eye(z.shape[1])[labels]
    away = z - (p * z).sum(axis=1, keepdims=True)
    variance = (p * away**2).sum(axis=1, keepdims=True)
    first, second = p * away, p * (away**2 - variance)  # derivatives of p in alpha
    if brier:
        loss = ((p - own) ** 2).sum(axis=1)
        gradient = 2.0 * ((p - own) * first).sum(axis=1)
        curvature = 2.0 * (first**2 + (p - own) * second).sum(axis=1)
    else:
        d = z - z.max(axis=1, keepdims=True)
        scaled = alphas[groups][:, None] * d
        loss = np.log(np.exp(scaled).sum(axis=1)) - (own * scaled).sum(axis=1)
        gradient = -(own * away).sum(axis=1)
        curvature = variance[:, 0]
    scores = weights * gradient
    wrong = weights * (z[np.arange(labels.size), labels] < z.max(axis=1))
    per_row = np.column_stack(
        [weights * loss, scores, weights * curvature, scores**2, wrong]
    )
    sums = np.zeros((alphas.size, 5))
    np.add.at(sums, groups, per_row)
    return sums, p.max(axis=1)


def vector_losses(
    logits: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    scale: FloatArray,
    bias: FloatArray,
) -> FloatArray:
    """Return sums (1 + 2K,): NLL of softmax(scale * logits + bias), its gradient."""
    z = logits.astype(np.float64)
    scores = scale * z + bias
    top = scores.max(axis=1)
    log_sums = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    own = np.eye(z.shape[1])[labels]
    residual = softmax_rows(scores) - own
    loss = log_sums - (own * scores).sum(axis=1)
    return np.asarray(weights @ np.column_stack([loss, residual * z, residual]))


def vector_rows(
    logits: FloatMatrix, weights: FloatArray, scale: FloatArray, bias: FloatArray
) -> tuple[FloatMatrix, FloatArray]:
    """Return rows (p * logits, p), and weighted sums of p * logits^j, j = 2, 1, 0."""
    z = logits.astype(np.float64)
    p = softmax_rows(scale * z + bias)
    sums = weights @ np.hstack([p * z**2, p * z, p])
    return np.hstack([p * z, p]), np.asarray(sums)


def affine_outcome(
    logits: FloatMatrix, labels: IntArray, scale: FloatArray, bias: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the largest of softmax(scale * logits + bias), and the label's NLL."""
    scores = scale * logits.astype(np.float64) + bias
    top = scores.max(axis=1)
    log_sums = np.log(np.exp(scores - top[:, None]).sum(axis=1))
    of_label = scores[np.arange(labels.size), labels]
    return np.exp(-log_sums), log_sums - (of_label - top)


def brier_slopes(
    logits: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    groups: IntArray,
    n_groups: int,
    alphas: FloatArray,
) -> FloatMatrix:
    """Return the derivatives (G, J) of the groups' Brier scores at the alphas (J,)."""
    at_each = [
        temperature_losses(
            True, logits, labels, weights, groups, np.full(n_groups, alpha)
        )[0][:, 1]
        for alpha in alphas
    ]
    return np.stack(at_each, axis=1)


def linear_losses(
    logits: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    coef: FloatMatrix,
    bias: FloatArray,
) -> tuple[float, FloatMatrix, FloatMatrix]:
    """Return the NLL of softmax(coef z + bias), its gradient (K, K + 1), all probs."""
    z = logits.astype(np.float64)
    scores = z @ coef.T + bias
    top = scores.max(axis=1)
    log_sums = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    probs, own = softmax_rows(scores), np.eye(z.shape[1])[labels]
    features = np.column_stack([z, np.ones(len(z))])
    loss = float(weights @ (log_sums - (own * scores).sum(axis=1)))
    return loss, (weights[:, None] * (probs - own)).T @ features, probs


def linear_products(
    logits: FloatMatrix, labels: IntArray, weights: FloatArray, probs: FloatMatrix
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return sums over rows of the Hessians' and the scores' products, by pairs.

    Pairs of classes by pairs of features (z, 1), in the order of an upper triangle.
    """
    features = np.column_stack([logits.astype(np.float64), np.ones(len(logits))])
    residuals = probs - np.eye(probs.shape[1])[labels]
    variances = np.stack([np.diag(p) - np.outer(p, p) for p in probs])
    j, k = np.triu_indices(probs.shape[1])
    a, b = np.triu_indices(features.shape[1])
    right = features[:, a] * features[:, b]
    of_hessian = weights[:, None] * variances[:, j, k]
    of_scores = weights[:, None] ** 2 * residuals[:, j] * residuals[:, k]
    return of_hessian.T @ right, of_scores.T @ right


def logistic_losses(
    design: FloatMatrix,
    targets: FloatArray,
    weights: FloatMatrix,
    parameters: FloatMatrix,
) -> FloatMatrix:
    """Return sums (r, 1 + p): logistic losses of r weightings, their gradients."""
    log_odds = design @ parameters.T
    losses = np.logaddexp(0.0, log_odds) - targets[:, None] * log_odds
    residuals = weights * (1.0 / (1.0 + np.exp(-log_odds)) - targets[:, None])
    return np.column_stack([(weights * losses).sum(axis=0), residuals.T @ design])


def root_of_two(
    last: tuple[float, float, float], before: tuple[float, float, float]
) -> float:
    """Return where the inverse cubic through two points' gradients has gradient 0.

    Points are (x, gradient, curvature). Newton's step from the better of them where the
    cubic disagrees with it.
    """
    (x, f, h), (x0, f0, h0) = last, before
    newton = x0 - f0 / h0 if abs(f0 / h0) < abs(f / h) else x - f / h
    t, rise = -f0 / (f - f0), f - f0
    cubic = (
        (1.0 + 2.0 * t) * (1.0 - t) ** 2 * x0
        + t * (1.0 - t) ** 2 * rise / h0
        + t * t * (3.0 - 2.0 * t) * x
        + t * t * (t - 1.0) * rise / h
    )
    return cubic if abs(cubic - newton) <= 0.5 * abs(newton - x) else newton


def logarithms(values: FloatMatrix, floor: float) -> FloatMatrix:
    """Return log(max(values, floor)), in the precision of `values`."""
    # in double: NumPy's own logarithm of single precision is off by up to 2e-7
    wide = np.maximum(values, values.dtype.type(floor)).astype(np.float64)
    return np.log(wide).astype(values.dtype)


def curve_at(x: FloatArray, knots: FloatArray, values: FloatArray) -> FloatArray:
    """Return the piecewise linear curve at x: `np.interp`, safe where slopes overflow.

    Between knots a subnormal distance apart, the share of the way is exact.
    """
    x = x.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        out = np.interp(x, knots, values)
        if knots.size == 1:
            return out
        j = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, knots.size - 2)
        rise, run = np.diff(values)[j], np.diff(knots)[j]
        steep = np.isinf(rise / run) & (x >= knots[0]) & (x < knots[-1])
    share = (x[steep] - knots[j[steep]]) / run[steep]
    out[steep] = rise[steep] * share + values[j[steep]]
    return out


def apply_curves(
    probs: FloatMatrix, curves: list[tuple[FloatArray, FloatArray]]
) -> FloatMatrix:
    """Return each class's curve (knots, values) at its column, rows divided by sums.

    Rows of zeros become uniform; a single curve is that of column 1.
    """
    if len(curves) == 1:
        of_one = curve_at(probs[:, 1], *curves[0])
        return np.column_stack([1.0 - of_one, of_one]).astype(probs.dtype)
    each = np.column_stack([curve_at(probs[:, k], *c) for k, c in enumerate(curves)])
    sums = each.sum(axis=1, keepdims=True)
    uniform = np.full_like(each, 1.0 / len(curves))
    np.divide(each, sums, out=uniform, where=sums > 0.0)
    return uniform.astype(probs.dtype)


def fit_one_more_hit(mass: FloatArray, hits: FloatArray, weight: float) -> FloatArray:
    """Return the fitted value of a row of class 1 at or just below each group."""
    m = mass.size
    x = [-weight, 0.0, *np.cumsum(mass).tolist()]
    y = [-weight, 0.0, *np.cumsum(hits).tolist()]
    hull: list[tuple[float, float]] = []
    for x_new, y_new in zip(reversed(x), reversed(y), strict=True):
        push_corner(hull, x_new, y_new)
    out = [0.0] * m
    for i in range(m):
        x_left, y_left = hull[-1]
        x_right, y_right = hull[-2]
        out[i] = (y_right - y_left) / (x_right - x_left)
        x_new, y_new = x[i + 2] - weight, y[i + 2] - weight
        # is the new point of the left set below the tangent?
        if (x_right - x_left) * (y_new - y_left) < (y_right - y_left) * (
            x_new - x_left
        ):
            hull.pop()
            push_corner(hull, x_new, y_new)
    return np.array(out)


def push_corner(hull: list[tuple[float, float]], x: float, y: float) -> None:
    """Add a point on the left; drop those that are no longer corners."""
    while len(hull) > 1:
        (x_1, y_1), (x_2, y_2) = hull[-1], hull[-2]
        if (x_1 - x) * (y_2 - y_1) > (y_1 - y) * (x_2 - x_1):
            break
        hull.pop()
    hull.append((x, y))


def mixed(z: int) -> int:
    """Return the finaliser of SplitMix64."""
    mask = (1 << 64) - 1
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def hash_rows(probs: FloatMatrix, key: int) -> FloatArray:
    """Return a uniform per row: products of halves, added and mixed."""
    n_classes = probs.shape[1]
    golden = 0x9E3779B97F4A7C15
    mask, half = (1 << 64) - 1, (1 << 32) - 1
    keys = [mixed((key + (k + 1) * golden) & mask) for k in range(n_classes + 1)]
    out = []
    for row in probs.astype(np.float64) + 0.0:
        total = 0
        for bits, own in zip(row.view(np.uint64).tolist(), keys, strict=False):
            low = (bits + own) & half
            high = ((bits >> 32) + (own >> 32)) & half
            total += low * high
        out.append((mixed((total & mask) ^ keys[n_classes]) >> 11) * 2.0**-53)
    return np.array(out)


def rank_in_line(
    cells: IntArray, uniforms: FloatArray, counts: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return p and 1 - p of rows that join a line one by one; `counts` are added to."""
    found = []
    for cell, u in zip(cells.tolist(), uniforms.tolist(), strict=True):
        below, above = int(counts[:cell].sum()), int(counts[cell + 1 :].sum())
        counts[cell] += 1
        u, tied, rows = max(u, 2.0**-54), int(counts[cell]), int(counts.sum())
        found.append(((above + u * tied) / rows, (below + (1.0 - u) * tied) / rows))
    p, q = np.array(found).reshape(-1, 2).T
    return p, q


def bet_on(
    p: FloatArray,
    q: FloatArray,
    start: FloatArray,
    shares: FloatArray,
    pieces: IntArray,
    growth: FloatArray,
    prior: FloatArray,
) -> tuple[FloatArray, FloatMatrix]:
    """Return log-wealth after each p-value, and what bets made from each to the end.

    Histograms sum their weighted past anew for every p-value.
    """
    capital = np.outer(np.full(shares.size, 1.0 / shares.size), start)
    powers = np.array([0.25, 0.5, 0.75, 0.875])
    returns, log_wealth = [], []
    for t in range(p.size):
        ages = np.arange(t)[::-1] + 1.0
        bets = [1.0, *powers * p[t] ** (powers - 1), *powers * q[t] ** (powers - 1)]
        bets += [1.0 + slope * (p[t] - 0.5) for slope in (-1.0, -2.0, 1.0, 2.0)]
        for m, g, a in zip(pieces.tolist(), growth, prior, strict=True):
            places = np.minimum((p[: t + 1] * m).astype(int), m - 1)
            weights = g**-ages
            own = weights[places[:-1] == places[-1]].sum()
            bets.append(m * (own + a) / (weights.sum() + m * a))
        returns.append(bets)
        capital = capital * bets
        sums = capital.sum(axis=1, keepdims=True)
        log_wealth.append(np.log(capital.sum()))
        share = np.where(shares > 0, shares, 1.0 / (t + 2))[:, None]
        capital = (1 - share) * capital + share * sums * start
    runs = np.log(returns)
    ends = [[runs[s:, e].sum() for s in range(p.size)] for e in range(runs.shape[1])]
    return np.array(log_wealth), np.array(ends)
