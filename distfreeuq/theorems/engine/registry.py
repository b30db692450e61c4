"""The theorems by name: those of this package's families, and the user's own."""

from __future__ import annotations

from importlib import import_module

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import describe
from distfreeuq.theorems.engine.experiment import Theorem

FAMILIES = {
    "conformal": (
        "split-coverage",
        "split-coverage-exact",
        "conformal-p-values",
        "aps-uniform",
        "oracle-sets",
        "seeded-coverage",
        "label-conditional-coverage",
        "group-coverage",
        "group-pac",
        "counted-proportions-coverage",
        "cross-conformal-coverage",
        "interpolated-coverage",
        "cluster-coverage",
        "rank-calibrated-coverage",
        "label-shift-coverage",
        "label-shift-coverage-exact",
        "training-conditional-coverage",
        "pac-coverage",
        "planned-rows",
        "label-conditional-pac",
        "label-shift-pac",
        "label-shift-coverage-limit",
        "union-coverage",
        "total-variation-coverage",
        "total-variation-of-counts",
        "directional-coverage",
        "directional-pac",
        "combined-coverage",
        "prior-caps",
        "capped-coverage",
        "capped-pac",
        "covariate-shift-coverage",
        "covariate-shift-pac",
        "wrong-ratio-coverage",
    ),
    "label_shift": (
        "bbse-region",
        "bbse-ball",
        "bbse-cells",
        "bbse-consistency",
        "rlls-limits",
        "bbse-intervals",
        "anderson-rubin",
        "no-shift-test",
        "mlls-optimum",
        "mlls-consistency",
        "mlls-likelihood-intervals",
        "mlls-intervals",
        "mlls-calibration-test",
        "target-performance-limit",
        "target-performance-certificate",
        "target-performance-given",
        "target-recall",
        "target-performance-labelled",
        "label-shift-fit-test",
        "weights-with-labels",
        "outputs-with-labels",
    ),
    "binning": (
        "binning-bound",
        "binning-one-probability",
        "binning-discrete-scores",
        "uniform-mass-rows",
        "simplex-cell-rows",
        "label-shift-posterior",
        "label-shift-error",
        "binning-bound-target",
        "binning-bound-weighted",
        "scaling-binning-bound",
        "scaling-binning-cost",
    ),
    "scaling": (
        "temperature-excess-risk",
        "class-excess-risk",
        "few-rows-over-confident",
        "label-noise-under-confident",
        "temperatures-keep-decisions",
        "weights-have-no-scale",
        "temperature-intervals",
        "classes-without-error",
        "venn-abers-calibration",
    ),
    "covariate_shift": (
        "importance-weighted-loss",
        "importance-variance",
        "feature-map-bias",
        "effective-sample-size",
        "discriminator-ratio",
        "density-ratio-weights",
        "neighbour-ratio-mean",
        "auc-interval",
        "density-ratio-z-test",
        "covariate-shift-bound",
        "brier-decomposition",
        "weighted-temperature",
        "covariate-shift-bound-terms",
        "decision-error-bound",
        "weighted-cross-validation",
    ),
    "assessment": (
        "debiased-ece",
        "calibration-test",
        "reliability-intervals",
        "isotonic-fit",
        "target-calibration-test",
        "weighted-calibration-test",
        "isotonic-band",
        "l2-error-interval",
        "evaluated-coverage",
        "weighted-reliability-intervals",
        "verdict-error",
        "assessed-accuracy",
        "bootstrap-intervals",
        "block-coverage",
    ),
    "monitoring": (
        "stream-p-values",
        "stream-alarms",
        "stream-means",
        "stream-risk",
    ),
}
"""The packages beside this one and the names of their ``THEOREMS``, in the order of
tables. Names are known without an import, and a theorem imports its own family only."""

_known: dict[str, Theorem | str] = {
    name: family for family, names in FAMILIES.items() for name in names
}
"""Every theorem by name, or the family that holds it if that is not yet imported."""


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
    replace = args.flag(replace, "replace")
    if theorem.name in _known and not replace:
        must = "of a name not yet known, or given with replace=True"
        args.invalid("theorem", must, repr(theorem.name))
    _known[theorem.name] = theorem
    return theorem


def unregister(name: str) -> None:
    """Forget a theorem, as in the example of `register`."""
    _check_known(Arguments("theorems.unregister"), "name", name)
    del _known[name]


def names() -> tuple[str, ...]:
    """Return the names of all theorems, in the order of the tables.

    Examples
    --------
    >>> from distfreeuq import theorems
    >>> "split-coverage" in theorems.names()
    True
    """
    return tuple(_known)


def get(name: str) -> Theorem:
    """Return the theorem of this name.

    Examples
    --------
    >>> from distfreeuq import theorems
    >>> theorems.get("label-shift-coverage").title
    'Weighted conformal sets cover under label shift'
    """
    _check_known(Arguments("theorems.get"), "name", name)
    found = _known[name]
    return found if isinstance(found, Theorem) else _load(found)[name]


def family(name: str) -> tuple[str, ...]:
    """Return the names of a family's theorems, the user's own included.

    Parameters
    ----------
    name : str
        As tables print it, or with hyphens: "label shift", "label-shift".

    Examples
    --------
    >>> from distfreeuq.theorems.engine.registry import family
    >>> family("assessment")[:2]
    ('debiased-ece', 'calibration-test')
    """
    several = [get(one) for one in names()]
    families = dict.fromkeys(one.family for one in several)
    asked = [one for one in families if one.replace(" ", "-") == name.replace(" ", "-")]
    if not asked:
        must = f"a theorem, or one of the families {', '.join(families)}"
        Arguments("search").invalid("name", must, describe(name))
    return tuple(one.name for one in several if one.family == asked[0])


def find(args: Arguments, parameter: str, name: str | Theorem) -> Theorem:
    """Return the theorem that a parameter of another function is, or names."""
    if isinstance(name, Theorem):
        return name
    _check_known(args, parameter, name)
    return get(name)


def _check_known(args: Arguments, parameter: str, name: str) -> None:
    if not isinstance(name, str) or name not in _known:
        must = f"the name of a theorem, one of {', '.join(_known)}"
        args.invalid(parameter, must, describe(name))


def _load(family: str) -> dict[str, Theorem]:
    """Import a family and return its theorems by name.

    One that was unregistered, or replaced by the user's own, stays so.
    """
    module = import_module(f"distfreeuq.theorems.{family}")
    theorems = {theorem.name: theorem for theorem in module.THEOREMS}
    for name, theorem in theorems.items():
        if _known.get(name) == family:
            _known[name] = theorem
    return theorems
