"""The checker: claims, experiments, sequential decisions, and the table of verdicts."""
