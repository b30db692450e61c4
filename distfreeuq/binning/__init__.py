"""Calibration by binning, with bounds that hold in every bin at once."""

from distfreeuq.binning.canonical import CanonicalBinning
from distfreeuq.binning.classwise import ClasswiseBinning
from distfreeuq.binning.histogram import histogram_binning
from distfreeuq.binning.results import BinningResult
from distfreeuq.binning.top_label import TopLabelBinning

__all__ = [
    "BinningResult",
    "CanonicalBinning",
    "ClasswiseBinning",
    "TopLabelBinning",
    "histogram_binning",
]
