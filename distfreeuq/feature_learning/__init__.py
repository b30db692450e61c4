"""Features on which source and target are hard to tell apart."""

from distfreeuq.feature_learning.learning import indistinguishable_features
from distfreeuq.feature_learning.results import FeatureMapResult

__all__ = [
    "FeatureMapResult",
    "indistinguishable_features",
]
