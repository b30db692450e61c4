"""What covariate-shift sets guarantee."""

from __future__ import annotations

from distfreeuq.guarantees import Guarantee, NoGuarantee, at_least
from distfreeuq.references import (
    CHOSEN_ELSEWHERE,
    COVARIATE_SHIFT,
    IID,
    INPUTS_OVERLAP,
    TIBSHIRANI_2019,
    TRUE_RATIO_TO_SCALE,
    VOVK_2012,
    WEIGHT_BOUND,
)

_COVARIATE_SHIFT = (
    COVARIATE_SHIFT,
    TRUE_RATIO_TO_SCALE,
    INPUTS_OVERLAP,
    IID,
    CHOSEN_ELSEWHERE,
)


def covariate_shift_marginal(alpha: float) -> Guarantee:
    """Return the claim of weighted conformal sets with the true density ratio."""
    return Guarantee(
        statement=(
            f"P(Y in C(X)) >= {at_least(1.0 - alpha)} for a new target row, in finite "
            "samples, if the weights are the true ratio q(x)/p(x) up to scale; with "
            "estimated weights no finite-sample claim."
        ),
        kind="marginal",
        lower=1.0 - alpha,
        reference=f"{TIBSHIRANI_2019}, Corollary 1",
        assumptions=_COVARIATE_SHIFT,
    )


def covariate_shift_given_calibration(alpha: float, confidence: float) -> Guarantee:
    """Return the training-conditional claim with the true density ratio."""
    return Guarantee(
        statement=(
            f"with probability >= {at_least(confidence)} over the calibration draw, "
            f"coverage of target rows given the calibration rows is >= "
            f"{at_least(1.0 - alpha)}, if the weights are the true ratio up to scale."
        ),
        kind="training-conditional",
        lower=1.0 - alpha,
        confidence=confidence,
        reference=f"rejection sampling, then {VOVK_2012}, Prop. 2a",
        assumptions=(*_COVARIATE_SHIFT, WEIGHT_BOUND),
    )


def estimated_density_ratio() -> NoGuarantee:
    """Return why nothing is claimed of estimated weights."""
    return NoGuarantee(
        "the weights are estimated, so that no finite-sample claim is made; if they "
        "were fitted on other rows and have mean one, coverage is at least 1 - alpha - "
        "E_p|w_hat - w| / 2 (Lei & Candes, 2021), which no data can tell"
    )
