"""The theorems by name: those of this package's families, and the user's own."""

from __future__ import annotations

from importlib import import_module

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import describe
from distfreeuq.exceptions import InputError
from distfreeuq.theorems.engine.experiment import Theorem

FAMILIES = (
    "conformal",
    "label_shift",
    "binning",
    "scaling",
    "covariate_shift",
    "assessment",
)
"""Packages beside this one, each with a tuple ``THEOREMS``, in the order of tables."""

_known: dict[str, Theorem] = {}
_loaded: set[str] = set()


def register(theorem: Theorem, *, replace: bool = False) -> Theorem:
    """Make a theorem known by its name to `verify`, `verify_all` and the command line.

    Parameters
    ----------
    theorem : Theorem
    replace : bool, default False
        Whether it may take the place of one of the same name.

    Returns
    -------
    Theorem
        The same.

    Examples
    --------
    >>> from distfreeuq import theorems
    >>> def draw(generator, n_draws):
    ...     return {"heads": generator.random(n_draws) < 0.5}
    >>> fair = theorems.Theorem(
    ...     name="fair-coin", title="A fair coin", reference="-",
    ...     statement="P(heads) = 1/2.", assumptions=("the coin is fair",),
    ...     experiments=(theorems.Experiment(
    ...         "coin", draw, (theorems.Claim("heads", equals=0.5, tolerance=0.1),)),),
    ... )
    >>> _ = theorems.register(fair)
    >>> theorems.verify("fair-coin").verdicts
    {'fair-coin': 'holds'}
    >>> theorems.unregister("fair-coin")
    """
    args = Arguments("theorems.register")
    if not isinstance(theorem, Theorem):
        args.invalid("theorem", "a Theorem", describe(theorem))
    _load()
    if theorem.name in _known and not replace:
        must = "of a name not yet known, or given with replace=True"
        args.invalid("theorem", must, repr(theorem.name))
    _known[theorem.name] = theorem
    return theorem


def unregister(name: str) -> None:
    """Forget a theorem, as in the example of `register`."""
    get(name)
    del _known[name]


def names() -> tuple[str, ...]:
    """Return the names of all theorems, in the order of the tables.

    Examples
    --------
    >>> from distfreeuq import theorems
    >>> "split-coverage" in theorems.names()
    True
    """
    _load()
    return tuple(_known)


def get(name: str) -> Theorem:
    """Return the theorem of this name.

    Examples
    --------
    >>> from distfreeuq import theorems
    >>> theorems.get("split-coverage").reference
    'Podkopaev & Ramdas (2021), Thm 1'
    """
    _load()
    if name not in _known:
        raise InputError(
            f"There is no theorem {describe(name)}. There are: {', '.join(_known)}."
        )
    return _known[name]


def _load() -> None:
    """Import the families; each only once, so that an unregistered one stays away."""
    for family in FAMILIES:
        if family not in _loaded:
            _loaded.add(family)
            module = import_module(f"distfreeuq.theorems.{family}")
            for theorem in module.THEOREMS:
                assert theorem.name not in _known, theorem.name
                _known[theorem.name] = theorem
