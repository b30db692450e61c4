"""Why classifiers are miscalibrated: two distributions of Zhao, Chen & Oymak (2020)."""

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq.references import ZHAO_2020
from distfreeuq.scenarios.finite import FiniteScenario


def label_noise(
    p_plus: float = 0.3, p_minus: float = 0.1, p_test: float = 0.05
) -> FiniteScenario:
    """Labels flipped in training, and less so in the test.

    Zhao, Chen and Oymak (2020), definition 3.2. x is +1 or -1 with probability 1/2; the
    label is 1 at +1 and 0 at -1, but for noise.

    Parameters
    ----------
    p_plus, p_minus : float
        Probabilities of a wrong label at +1 and at -1 in the source, from 0 to 1/2.
    p_test : float
        Probability of a wrong label at either in the target.

    Returns
    -------
    FiniteScenario

    See Also
    --------
    distfreeuq.bounds.label_noise_confidence : what a linear classifier makes of it.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> scenarios.label_noise(0.2, 0.4).posterior([[1.0], [-1.0]]).tolist()
    [[0.2, 0.8], [0.6, 0.4]]
    """
    args = Arguments("label_noise")
    must = "a number from 0 to 1/2"
    plus, minus, test = (
        args.number(value, name, must, low=0.0, high=0.5)
        for value, name in (
            (p_plus, "p_plus"),
            (p_minus, "p_minus"),
            (p_test, "p_test"),
        )
    )
    return FiniteScenario(
        description=f"noise D({plus:g}, {minus:g}) in labels, {ZHAO_2020}, 3.2",
        points=np.array([[1.0], [-1.0]]),
        source=0.5 * np.array([[plus, 1.0 - plus], [1.0 - minus, minus]]),
        target=0.5 * np.array([[test, 1.0 - test], [1.0 - test, test]]),
    )


def rare_feature(n: int = 100) -> FiniteScenario:
    """Make an input that n training rows are likely to miss.

    Zhao, Chen and Oymak (2020), Theorem 3.1. v has label 1, -v has label 0, and so has
    v' = (u + v) / sqrt(2), with u and v orthonormal, of probability 1 / (20 n). The
    target is the source.

    Parameters
    ----------
    n : int
        Rows of the training set that is to miss v'.

    Returns
    -------
    FiniteScenario
        Its points are v, v' and -v.

    See Also
    --------
    distfreeuq.bounds.sample_size_effect : what linear classifiers make of it.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> rare = scenarios.rare_feature(100)
    >>> rare.points.round(3).tolist(), rare.source.sum(axis=1).tolist()
    ([[1.0, 0.0], [0.707, 0.707], [-1.0, 0.0]], [0.5, 0.0005, 0.4995])
    """
    rare = 1.0 / (20 * Arguments("rare_feature").count(n, "n", low=1))
    half = np.sqrt(0.5)
    table = np.array([[0.0, 0.5], [rare, 0.0], [0.5 - rare, 0.0]])
    return FiniteScenario(
        description=f"an input that {n} rows are likely to miss, {ZHAO_2020}, Thm 3.1",
        points=np.array([[1.0, 0.0], [half, half], [-1.0, 0.0]]),
        source=table,
        target=table,
    )
