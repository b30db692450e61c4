"""What tables and figures call the metrics."""

TITLES = {
    "accuracy": "accuracy",
    "mean_confidence": "mean confidence",
    "frequency": "frequency of class 1",
    "mean_probability": "mean probability of class 1",
    "ece": "ECE",
    "overconfident_ece": "over-confident ECE",
    "max_gap": "largest gap of a bin",
    "debiased_ece": "debiased L2 error",
    "max_ece": "max-ECE over predicted classes",
    "average_ece": "average ECE over them",
    "classwise_ece": "class-wise ECE",
    "brier_score": "Brier score",
    "nll": "negative log-likelihood",
}
