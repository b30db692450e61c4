"""Cross-conformal sets: every row is scored by a classifier that has not seen it."""

from distfreeuq.conformal.cross_fitted.cross_conformal_sets import cross_conformal
from distfreeuq.conformal.cross_fitted.results import CrossConformalResult

__all__ = ["CrossConformalResult", "cross_conformal"]
