"""What is guaranteed of fitted temperatures: their excess risk."""

from __future__ import annotations

import math

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import IntArray
from distfreeuq.bounds import LossConstants, unchecked
from distfreeuq.calibration.losses.temperature_loss import LOSS_NAMES
from distfreeuq.calibration.rows.rows_in_blocks import FitRows
from distfreeuq.guarantees import Guarantee, NoGuarantee, at_least, at_most
from distfreeuq.references import FITTED_ELSEWHERE, ZHAO_2020

WEIGHTED = NoGuarantee(
    "the rows are weighted, and the theorems are for i.i.d. rows of equal weight"
)


def no_theorem(what: str, theorem: str = "Thm 4.1") -> NoGuarantee:
    """Return the guarantee of a calibrator that no theorem covers."""
    return NoGuarantee(
        f"no finite-sample theorem for {what}; {theorem} of {ZHAO_2020} is about "
        "temperatures"
    )


def tied_groups(loss: str) -> NoGuarantee:
    """Return the guarantee of one of several maps that gamma ties together."""
    return NoGuarantee(f"Thm 4.1 of {ZHAO_2020} bounds the {loss} of all groups as one")


def shrunk_to_shared(what: str) -> NoGuarantee:
    """Return the guarantee of probabilities that gamma ties to those of a shared map.

    The parts about distances need no rows, and are proved on the theory page.
    """
    return NoGuarantee(
        f"no finite-sample theorem for {what} by groups; tied to the shared map, they "
        "are no farther than by themselves from any probabilities within gamma of it "
        "(theory page, 8.7)"
    )


def read_logit_range(
    args: Arguments, declared: float | None, rows: FitRows
) -> float | None:
    """Return a bound on the logits' range that the user knows in advance, or None."""
    if declared is None:
        return None
    must = f"a number of at least the rows' own largest range, {rows.logit_range:.6g}"
    # float32 logits carry rounding in their last digits
    slack = 1e-6 * rows.logit_range
    return args.number(declared, "logit_range", must, low=rows.logit_range - slack)


def temperature_guarantee(
    rows: FitRows,
    *,
    loss: str,
    alpha_bounds: tuple[float, float],
    gamma: float,
    n_temperatures: int,
    delta: float,
    logit_range: float | None,
    groups: str = "class-wise",
    n_choices: int = 1,
) -> Guarantee | NoGuarantee:
    """Return Theorem 4.1 for temperatures that share an alpha_0 within gamma.

    If gamma was chosen among `n_choices` by these rows, each has its share of delta.
    """
    if rows.is_weighted:
        return WEIGHTED
    total, delta = delta, delta / n_choices
    tight = tight_excess_risk(
        rows, loss, rows.n, n_temperatures, delta, alpha_bounds, gamma, logit_range
    )
    if is_vacuous(tight, rows, loss, alpha_bounds, logit_range):
        other = tight_excess_risk(
            rows,
            "brier",
            rows.n,
            n_temperatures,
            delta,
            alpha_bounds,
            gamma,
            logit_range,
        )
        return _none(rows, loss, tight, other, alpha_bounds, logit_range, "Thm 4.1")
    _, paper, scale = _constants(rows, loss, alpha_bounds, logit_range)
    printed = scale * float(
        unchecked.cts_excess_risk(
            rows.n,
            n_temperatures,
            delta,
            alpha_bounds=alpha_bounds,
            gamma=gamma,
            **paper._asdict(),
        )
    )
    what = "temperature"
    if n_temperatures > 1:
        what = f"{groups} temperatures"
    best = f"the best {what}"
    if n_temperatures > 1 and groups.endswith("'"):
        best = f"{groups} best temperatures"
    return _claim(
        f"the expected {LOSS_NAMES[loss]} of new rows exceeds that of {best} "
        f"with 1/T in {_interval(alpha_bounds)} by at most {at_most(tight)}; "
        f"by the paper's own constants, {at_most(printed)}.",
        rows,
        tight,
        total,
        logit_range,
        f"{ZHAO_2020}, Thm 4.1; tighter constants: theory page, 8",
    )


def class_guarantee(
    rows: FitRows,
    counts: IntArray,
    n_candidates: int,
    *,
    loss: str,
    alpha_bounds: tuple[float, float],
    delta: float,
    logit_range: float | None,
    groups: tuple[str, str] = ("predicted class", "predicted classes"),
    n_choices: int = 1,
) -> Guarantee | NoGuarantee:
    """Return Corollary 4.2 for temperatures fitted by themselves, given the counts.

    `counts` are the rows of the `groups` that have a temperature of their own. Whether
    one has may depend on its labels, so that delta is shared by all `n_candidates` that
    could have had one; and by all `n_choices` of gamma that these rows decided among.
    """
    if rows.is_weighted:
        return WEIGHTED
    if counts.size == 0:
        return NoGuarantee(f"no {groups[0]} has enough rows for its own temperature")
    ends = np.unique(counts)[[-1, 0]]
    n_candidates *= n_choices
    share = delta / n_candidates

    def by_counts(loss: str) -> list[float]:
        return [
            tight_excess_risk(
                rows, loss, int(n), 1, share, alpha_bounds, 0.0, logit_range
            )
            for n in ends
        ]

    tight = by_counts(loss)
    worst = tight[1]
    if is_vacuous(worst, rows, loss, alpha_bounds, logit_range):
        other = by_counts("brier")[1]
        return _none(rows, loss, worst, other, alpha_bounds, logit_range, "Cor. 4.2")
    _, paper, scale = _constants(rows, loss, alpha_bounds, logit_range)
    printed = scale * unchecked.cts_class_excess_risk(
        ends, n_candidates, delta, alpha_bounds=alpha_bounds, **paper._asdict()
    )
    by_count = [
        f"{at_most(float(b))} ({n} rows)" for b, n in zip(tight, ends, strict=True)
    ]
    by_paper = [at_most(float(b)) for b in printed]
    one, many = groups
    return _claim(
        f"for each of {counts.size} {many} at once, the expected {LOSS_NAMES[loss]} of "
        f"new rows of that {one} exceeds that of its best temperature with 1/T in "
        f"{_interval(alpha_bounds)} by at most {_from_to(by_count)}; by the paper's "
        f"own constants, {_from_to(by_paper)}.",
        rows,
        worst,
        delta,
        logit_range,
        f"{ZHAO_2020}, Cor. 4.2 with the observed counts; tighter constants: theory "
        "page, 8",
    )


def tight_excess_risk(
    rows: FitRows,
    loss: str,
    n: int,
    n_temperatures: int,
    delta: float,
    alpha_bounds: tuple[float, float],
    gamma: float,
    logit_range: float | None,
) -> float:
    """Return the theorem's bound of the excess risk, with our constants, for n rows."""
    own, _, scale = _constants(rows, loss, alpha_bounds, logit_range)
    return scale * float(
        unchecked.cts_excess_risk_tight(
            n,
            n_temperatures,
            delta,
            alpha_bounds=alpha_bounds,
            gamma=gamma,
            **own._asdict(),
        )
    )


def _none(
    rows: FitRows,
    loss: str,
    bound: float,
    by_brier: float,
    alpha_bounds: tuple[float, float],
    logit_range: float | None,
    theorem: str,
) -> NoGuarantee:
    """Return that there is no guarantee at this sample size, in one line."""
    trivial = _trivial(rows, loss, alpha_bounds, logit_range)
    reason = (
        f"{theorem} of {ZHAO_2020} bounds the excess {LOSS_NAMES[loss]} by "
        f"{at_most(bound)} at this sample size, and {at_most(trivial)} needs no data"
    )
    if loss == "nll" and not is_vacuous(
        by_brier, rows, "brier", alpha_bounds, logit_range
    ):
        reason += f" (loss='brier' has a bound of {at_most(by_brier)})"
    return NoGuarantee(reason)


def _from_to(ends: list[str]) -> str:
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _claim(
    statement: str,
    rows: FitRows,
    upper: float,
    delta: float,
    logit_range: float | None,
    reference: str,
) -> Guarantee:
    widest = at_most(_widest(rows, logit_range))
    which = "the logits of any row"
    never: tuple[str, ...] = ()
    if rows.has_masked:
        which += " that are not -inf"
        never = ("no row's label is a class that is masked (-inf) there",)
    known = f"at most {widest}, which was measured on these rows and "
    known += "should be known in advance"
    if logit_range is not None:
        known = f"at most {widest}, as declared"
    return Guarantee(
        statement=f"with probability >= {at_least(1.0 - delta)} over these rows, "
        + statement,
        kind="excess-risk",
        upper=upper,
        confidence=1.0 - delta,
        reference=reference,
        assumptions=(
            "these rows and new rows i.i.d.",
            FITTED_ELSEWHERE,
            f"{which} range over {known}",
            *never,
        ),
    )


def _constants(
    rows: FitRows,
    loss: str,
    alpha_bounds: tuple[float, float],
    logit_range: float | None,
) -> tuple[LossConstants, LossConstants, float]:
    """Return sharper constants, the paper's, and what to multiply the bound by."""
    widest = _widest(rows, logit_range)
    if loss == "nll":
        own = unchecked.nll_constants(widest, rows.n_classes, alpha_bounds[1])
        return own, own, 1.0
    # half the Brier score is sqrt(2)-Lipschitz in the probabilities; a centred row of
    # range r is longest with half of its logits at either end
    norm = rows.logit_norm
    if logit_range is not None:
        norm = 0.5 * widest * math.sqrt(rows.n_classes)
    paper = LossConstants(1.0, math.sqrt(2.0) * norm)
    return unchecked.half_brier_constants(widest), paper, 2.0


def _widest(rows: FitRows, logit_range: float | None) -> float:
    """Return the range of logits that a bound allows: as printed, so rounded up."""
    return float(at_most(rows.logit_range if logit_range is None else logit_range))


def is_vacuous(
    bound: float,
    rows: FitRows,
    loss: str,
    alpha_bounds: tuple[float, float],
    logit_range: float | None,
) -> bool:
    """Say whether a bound needs no data."""
    return bound >= _trivial(rows, loss, alpha_bounds, logit_range)


def _trivial(
    rows: FitRows,
    loss: str,
    alpha_bounds: tuple[float, float],
    logit_range: float | None,
) -> float:
    """Return the excess risk that the lowest alpha has at most, without any data.

    Its probabilities are all but uniform, and its excess is at most its largest loss,
    in rows of whatever number of classes that are not masked.
    """
    widest = _widest(rows, logit_range)
    # the likelihood's largest loss grows with the classes, the Brier score's need not
    any_number = rows.has_masked and loss == "brier"
    fewest = 2 if any_number else rows.n_classes
    return max(
        _largest_loss(loss, alpha_bounds[0] * widest, n_classes)
        for n_classes in range(fewest, rows.n_classes + 1)
    )


def _largest_loss(loss: str, scaled_range: float, n_classes: int) -> float:
    """Return the largest loss of a row whose scaled logits have this range."""
    if loss == "nll":
        return float(np.logaddexp(0.0, scaled_range + math.log(n_classes - 1)))
    likeliest = 1.0 / (1.0 + (n_classes - 1) * math.exp(-scaled_range))
    # exp of minus the range underflows to 0 where the range is large: p_y = 0 then
    rarest = math.exp(-scaled_range) / (n_classes - 1 + math.exp(-scaled_range))
    return (1.0 - rarest) ** 2 + (1.0 - rarest) * likeliest


def _interval(alpha_bounds: tuple[float, float]) -> str:
    return f"[{alpha_bounds[0]:g}, {alpha_bounds[1]:g}]"
