"""Intervals, regions and tests of estimated weights."""
