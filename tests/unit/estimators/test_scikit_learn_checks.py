"""scikit-learn's own checks of an estimator, all of them, without exceptions."""

import pytest

pytest.importorskip("sklearn", "1.6", reason="estimators need scikit-learn 1.6")

from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from distfreeuq.estimators import (
    ConformalClassifier,
    PriorCorrectedClassifier,
    ShiftCalibratedClassifier,
)

# The checks fit estimators to ten or twenty rows, of which the package warns.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::distfreeuq.exceptions.DistFreeWarning"),
    pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix"),
]


CHECKS = parametrize_with_checks(
    [
        ConformalClassifier(LogisticRegression()),
        ConformalClassifier(LogisticRegression(), cv=3),
        ShiftCalibratedClassifier(LogisticRegression()),
        ShiftCalibratedClassifier(GaussianNB(), calibrator="isotonic", cv=3),
        PriorCorrectedClassifier(LogisticRegression()),
    ]
)


# scikit-learn 1.6 gives a generator, which pytest deprecates
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_a_check_of_scikit_learn_passes(estimator, check):
    check(estimator)
