"""Files of predictions: read, checked with messages about columns and rows, written."""
