"""Sets and thresholds of rows that come in blocks: Dask's, or one after another."""
