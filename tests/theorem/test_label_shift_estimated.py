"""Union sets with estimated weights: how large they are.

Their coverage is checked by the theorem "union-coverage", that of weights from other
rows by "total-variation-coverage" (test_registry.py).
"""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import scenarios

ALPHA, DELTA = 0.1, 0.05
TOY = scenarios.three_gaussians()


def mean_sizes(n, n_rep, seed):
    """Return mean sizes of robust and of plug-in sets on target rows."""
    generator = np.random.default_rng(seed)
    sizes = {True: 0.0, False: 0.0}
    for _ in range(n_rep):
        x, labels = TOY.sample(n, "source", rng=generator)
        unlabelled, _ = TOY.sample(n, "target", rng=generator)
        new, _ = TOY.sample(40, "target", rng=generator)
        probs = TOY.posterior(x)
        estimate = dfu.bbse(probs, labels, TOY.posterior(unlabelled))
        for robust in sizes:
            fit = dfu.label_shift_conformal(
                probs,
                labels,
                estimate,
                alpha=ALPHA,
                robust=robust,
                delta=DELTA,
                rng=generator,
            )
            sets = fit.predict(TOY.posterior(new), rng=generator)
            sizes[robust] += sets.sizes.mean() / n_rep
    return sizes[True], sizes[False]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "most"), [(300, np.inf), (3000, 1.12)])
def test_union_sets_are_larger_and_hardly_so_with_much_data(n, most):
    robust, plug_in = mean_sizes(n, 200, seed=n)
    assert plug_in <= robust <= most * plug_in
