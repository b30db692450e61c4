"""Rows that add up: what fits need of them, in pieces, from files or from sites."""

from distfreeuq.tallies.results import Tally
from distfreeuq.tallies.row_tallies import tally

__all__ = ["Tally", "tally"]
