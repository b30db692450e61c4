"""Estimators for scikit-learn: the package's functions behind ``fit`` and ``predict``.

``pip install "distfreeuq[sklearn]"``. Nothing else in the package imports scikit-learn.
"""

try:
    import sklearn
except ImportError as error:  # pragma: no cover (the tests have it)
    raise ImportError(
        "distfreeuq.estimators needs scikit-learn: "
        'pip install "distfreeuq[sklearn]", or pip install "scikit-learn>=1.6".'
    ) from error

if tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 6):
    raise ImportError(  # pragma: no cover (the tests have a later one)
        "distfreeuq.estimators needs scikit-learn 1.6 or later, and found "
        f'{sklearn.__version__}: pip install "scikit-learn>=1.6".'
    )

from distfreeuq.estimators.calibrated_classifier import ShiftCalibratedClassifier
from distfreeuq.estimators.conformal_classifier import ConformalClassifier
from distfreeuq.estimators.prior_classifier import PriorCorrectedClassifier
from distfreeuq.estimators.set_size_scorer import SizeAtCoverage

__all__ = [
    "ConformalClassifier",
    "PriorCorrectedClassifier",
    "ShiftCalibratedClassifier",
    "SizeAtCoverage",
]
