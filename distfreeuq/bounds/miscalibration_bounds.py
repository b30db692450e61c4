"""Why classifiers are miscalibrated: label noise and few training rows.

Section 3 of Zhao, Chen and Oymak (2020).
"""

import math
from typing import NamedTuple

from scipy import special


class LabelNoiseClassifier(NamedTuple):
    """The linear classifier of `label_noise_confidence`, its confidence and accuracy.

    Attributes
    ----------
    slope, intercept : float
        It says P(Y = 1 | x) = sigmoid(slope x + intercept), x = +1 or -1.
    confidence_plus, confidence_minus : float
        Its confidence at x = +1 and at x = -1.
    accuracy : float
        Its accuracy on test rows, at either x.
    """

    slope: float
    intercept: float
    confidence_plus: float
    confidence_minus: float
    accuracy: float


def label_noise_confidence(
    p_plus: float, p_minus: float, p_test: float
) -> LabelNoiseClassifier:
    """Confidence and accuracy of a classifier that was trained on noisy labels.

    x is +1 or -1 with equal probability, and the label follows it but for noise: wrong
    with probability `p_plus` or `p_minus` in training, `p_test` in the test data. More
    noise in training than in the test makes the classifier under-confident, by class.

    Parameters
    ----------
    p_plus, p_minus, p_test : float
        In [0, 1/2). A training noise of 0 is a limit: the slope is infinite.

    References
    ----------
    .. [1] Zhao, Chen and Oymak (2020), Lemma 3.3.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> fit = bounds.label_noise_confidence(0.3, 0.1, 0.05)
    >>> fit.confidence_plus, fit.confidence_minus, fit.accuracy
    (0.7, 0.9, 0.95)
    """
    at_plus, at_minus = (-float(special.logit(p)) for p in (p_plus, p_minus))
    return LabelNoiseClassifier(
        slope=0.5 * (at_plus + at_minus),
        intercept=0.0 if p_plus == p_minus else 0.5 * (at_plus - at_minus),
        confidence_plus=1.0 - p_plus,
        confidence_minus=1.0 - p_minus,
        accuracy=1.0 - p_test,
    )


class SampleSizeEffect(NamedTuple):
    """What `sample_size_effect` says of a small and of a large training set.

    Attributes
    ----------
    confidence : float
        Both classifiers are at least this confident at every input.
    accuracy_small : float
        The small set's classifier is at most this accurate; the large one's is perfect.
    probability_small, probability_large : float
        Share of the draws of each training set for which that holds.
    """

    confidence: float
    accuracy_small: float
    probability_small: float
    probability_large: float


def sample_size_effect(
    n: int, *, multiple: float = 50.0, radius: float
) -> SampleSizeEffect:
    r"""Over-confidence from few training rows: equal confidence, less accuracy.

    The inputs are v (label 1, probability 1/2), -v (label 0) and, with probability
    1 / (20 n), a direction v' = (u + v) / sqrt(2) of label 0, with u and v orthonormal.
    Linear classifiers of norm at most `radius` are fitted to n rows, which rarely hold
    v', and to `multiple` times n rows, which mostly do.

    Parameters
    ----------
    n : int
        Rows of the small training set.
    multiple : float, default 50
        Rows of the large one, in units of n.
    radius : float
        Largest norm of the coefficient vector.

    Notes
    -----
    The probabilities are exact for the events of the proof: no v' and at least a third
    each of v and -v in the small set; v', v and -v all present in the large one. The
    theorem states 9/10 for a multiple of 30, but its proof uses 50: with 30 the rare
    input is missed in a fraction exp(-1.5) = 0.22 of draws. 47 would do.

    References
    ----------
    .. [1] Zhao, Chen and Oymak (2020), Theorem 3.1 and its proof, B.1.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> effect = bounds.sample_size_effect(100, radius=60.0)
    >>> effect.accuracy_small, round(effect.probability_small, 3)
    (0.9995, 0.95)
    >>> as_stated = bounds.sample_size_effect(100, multiple=30, radius=60.0)
    >>> round(as_stated.probability_large, 3)
    0.777
    """
    rare = 1.0 / (20.0 * n)
    rows = round(multiple * n)
    third = math.ceil(n / 3)
    of_v = 0.5 / (1.0 - rare)
    balanced = special.bdtr(n - third, n, of_v) - special.bdtr(third - 1, n, of_v)
    small = (1.0 - rare) ** n * balanced
    # some of v', of v and of -v, by inclusion and exclusion of the absent ones
    shares = (rare, 0.5, 0.5 - rare)
    absent = sum((1.0 - share) ** rows for share in shares)
    large = 1.0 - absent + sum(share**rows for share in shares)
    # R/sqrt(2) - ln 6 on the small set; the large one's NLL is at most exp(-R/3), and
    # every row's share of it at most that many times the number of rows
    few = -math.expm1(-(radius / math.sqrt(2.0) - math.log(6.0)))
    many = math.exp(-rows * math.exp(-radius / 3.0))
    return SampleSizeEffect(
        confidence=max(0.0, min(few, many)),
        accuracy_small=1.0 - rare,
        probability_small=float(max(0.0, small)),
        probability_large=float(max(0.0, large)),
    )
