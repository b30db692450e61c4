"""What a result guarantees, under which assumptions, and by which theorem."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    flag,
    maybe,
    proportion,
    real,
    several,
    text,
)
from distfreeuq.references import cited

Kind = Literal[
    "marginal",
    "class-conditional",
    "group-conditional",
    "training-conditional",
    "calibration",
    "excess-risk",
    "confidence interval",
    "false alarms",
]


@register("guarantee")
@dataclass(frozen=True, slots=True)
class Guarantee:
    """A statement that a theorem proves under the assumptions listed.

    Parameters
    ----------
    statement : str
        The claim in words, its numbers filled in.
    kind : str
        What the probability is over.
    reference : str
        Paper and theorem.
    assumptions : tuple of str
        What must hold, all of it, for the statement to be true.
    lower, upper : float or None
        Bounds on the probability or the error that the statement is about.
    confidence : float or None
        The probability over the calibration draw, where the statement has one.
    finite_sample : bool
        False for a statement that holds only in the limit.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> fit = dfu.split_conformal([[0.8, 0.2]] * 30, [0] * 30, rng=0)
    >>> fit.guarantee.lower, fit.guarantee.kind
    (0.9, 'marginal')
    """

    statement: str
    kind: Kind
    reference: str
    assumptions: tuple[str, ...]
    lower: float | None = None
    upper: float | None = None
    confidence: float | None = None
    finite_sample: bool = True

    _state: ClassVar[State] = {
        "statement": text(),
        "kind": text(*get_args(Kind)),
        "reference": text(),
        "assumptions": several(text()),
        "lower": maybe(real(finite=False)),
        "upper": maybe(real(finite=False)),
        "confidence": maybe(proportion()),
        "finite_sample": flag(),
    }

    def __bool__(self) -> bool:
        """Return True: there is a guarantee."""
        return True

    @property
    def bibtex(self) -> str:
        """BibTeX entries of what `reference` names; empty if that is the theory page.

        Examples
        --------
        >>> import distfreeuq as dfu
        >>> fit = dfu.split_conformal([[0.8, 0.2]] * 60, [0] * 60, confidence=0.9)
        >>> print(fit.guarantee.bibtex)
        @inproceedings{vovk2012,
          author = {Vovk, Vladimir},
          title = {Conditional validity of inductive conformal predictors},
          booktitle = {Asian Conference on Machine Learning},
          year = {2012},
        }
        """
        return "\n\n".join(reference.bibtex for reference in cited(self.reference))


@register("no-guarantee")
@dataclass(frozen=True, slots=True)
class NoGuarantee:
    """Nothing is guaranteed, and why.

    Examples
    --------
    >>> from distfreeuq import NoGuarantee
    >>> bool(NoGuarantee("the bins were chosen on the calibration labels"))
    False
    """

    reason: str

    _state: ClassVar[State] = {
        "reason": text(),
    }

    def __bool__(self) -> bool:
        """Return False: there is none."""
        return False


def at_least(bound: float, digits: int = 4) -> str:
    """Return a lower bound as text, rounded down: what is printed must be true.

    Examples
    --------
    >>> from distfreeuq.guarantees import at_least, at_most
    >>> at_least(2 / 3), at_most(2 / 3), at_least(1 - 0.1), at_most(23.4512)
    ('0.6666', '0.6667', '0.9', '23.46')
    """
    scale = _scale(bound, digits)
    return f"{math.floor(bound * scale + 1e-9) / scale:.{digits}g}"


def at_most(bound: float, digits: int = 4) -> str:
    """Return an upper bound as text, rounded up."""
    if bound == math.inf:
        return "inf"
    scale = _scale(bound, digits)
    return f"{math.ceil(bound * scale - 1e-9) / scale:.{digits}g}"


def _scale(bound: float, digits: int) -> float:
    """Return ten to the decimals that `digits` leave: fewer for numbers above one."""
    whole = len(str(int(abs(bound)))) if abs(bound) >= 1.0 else 0
    return float(10.0 ** (digits - whole))
