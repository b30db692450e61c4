"""What the checker calls a theorem: words, experiments, and controls that fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import BoolArray, FloatArray
from distfreeuq._base.arrays import describe
from distfreeuq.exceptions import DistFreeError
from distfreeuq.theorems.engine.claims import Claim

if TYPE_CHECKING:
    from distfreeuq.theorems.engine.designs import Designs

Draw = Callable[[np.random.Generator, int], Mapping[str, BoolArray]]
"""``draw(generator, n)``: n independent draws, for each event (n,) of did it happen."""

# How far a mean of numbers in [0, 1] may be outside, computed in floats.
_ROUNDING = 1e-9

ASYMPTOTIC = "it claims nothing of a sample size"
"""Why what holds in the limit has no designs: none of them could contradict it."""

_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Experiment:
    """Independent draws of events, and what is claimed of their probabilities.

    Parameters
    ----------
    name : str
        The scenario, or what is broken in a control; with the theorem's name it seeds
        the draws.
    draw : callable
        ``draw(generator, n)`` makes n independent draws and returns, for every event
        claimed about, a bool array (n,). A function of a module, or a
        ``functools.partial`` of one, runs in worker processes; lambdas do too with
        joblib's own.
    claims : tuple of Claim
        Several may be about one event.
    batch : int, default 2000
        Draws per call: some tenths of a second's worth.
    """

    name: str
    draw: Draw
    claims: tuple[Claim, ...]
    batch: int = 2000

    def __post_init__(self) -> None:
        """Reject an experiment that claims nothing."""
        args = Arguments("Experiment")
        if not isinstance(self.name, str):
            args.invalid("name", "a text", describe(self.name))
        claims = _tuple_of(args, self.claims, "claims", Claim)
        if not claims:
            args.invalid("claims", "one or more of Claim", "none")
        object.__setattr__(self, "claims", claims)
        if not callable(self.draw):
            must = "a function of a generator and n"
            args.invalid("draw", must, describe(self.draw))
        object.__setattr__(self, "batch", args.count(self.batch, "batch", low=1))

    def count(self, generator: np.random.Generator, n_draws: int) -> dict[str, int]:
        """Return in how many of n draws each event happened.

        Parameters
        ----------
        generator : numpy.random.Generator
        n_draws : int
        """
        args = Arguments("Experiment.count")
        _check_generator(args, generator)
        n_draws = args.count(n_draws, "n_draws", low=0)
        try:
            happened = self.draw(generator, n_draws)
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise DistFreeError(
                f"The experiment {self.name!r} failed. {what}"
            ) from error
        counts = {}
        for event in {claim.event for claim in self.claims}:
            hits = np.asarray(happened[event]) if event in happened else None
            if hits is None or hits.dtype != np.bool_ or hits.shape != (n_draws,):
                must = f"a function that returns bools ({n_draws},) for {event!r}"
                got = "none" if hits is None else f"{hits.dtype} of shape {hits.shape}"
                Arguments(f"Experiment {self.name!r}").invalid("draw", must, got)
            counts[event] = int(hits.sum())
        return counts


@dataclass(frozen=True, slots=True, repr=False)
class Theorem:
    """A statement, the experiments in which it must hold, and controls that must fail.

    Parameters
    ----------
    name : str
        In kebab-case, such as "label-shift-coverage".
    title : str
        What it says, in a few words.
    reference : str
        Paper and number.
    statement : str
        With its quantities, in a sentence or two.
    assumptions : tuple of str
    experiments : tuple of Experiment
        Every claim of each must hold.
    controls : tuple of Experiment
        A broken procedure, or a violated assumption, named: at least one claim of each
        must be refuted, or the experiments could not have noticed an error.
    family : str, default "own"
        Heading under which tables list it.
    designs : callable, optional
        ``designs(generator)`` returns a random `Design` in which the theorem must hold;
        `search` looks among them for one in which it does not.
    unsearched : str, default ""
        Why there are none, for a reader who wonders.

    Examples
    --------
    A theorem of one's own: the maximum of n uniforms exceeds 1 - x/n with probability
    at least 1 - exp(-x), here x = 1; but not that of n uniforms that are all the same.

    >>> import numpy as np
    >>> from distfreeuq import theorems
    >>> claim = theorems.Claim("exceeds", at_least=1 - np.exp(-1), tolerance=0.05)
    >>> def independent(generator, n_draws):
    ...     return {"exceeds": generator.random((n_draws, 10)).max(axis=1) > 0.9}
    >>> def all_the_same(generator, n_draws):
    ...     return {"exceeds": generator.random(n_draws) > 0.9}
    >>> mine = theorems.Theorem(
    ...     name="largest-of-uniforms",
    ...     title="The largest of n uniforms",
    ...     reference="folklore",
    ...     statement="P(max U_i > 1 - 1/n) >= 1 - 1/e.",
    ...     assumptions=("the U_i are independent",),
    ...     experiments=(theorems.Experiment("n = 10", independent, (claim,)),),
    ...     controls=(theorems.Experiment("all the same", all_the_same, (claim,)),),
    ... )
    >>> theorems.verify(mine)
    <TheoremResult largest-of-uniforms: holds, controls caught>

    ``print`` shows what a theorem states, needs and cites.

    >>> print(mine)
                              The largest of n uniforms
    ==============================================================================
    Theorem:           largest-of-uniforms   Experiments:                        1
    Family:                            own   Controls:                           1
    ==============================================================================
    States:  P(max U_i > 1 - 1/n) >= 1 - 1/e.
    Needs:   the U_i are independent.
    By:      folklore.
    """

    name: str
    title: str
    reference: str
    statement: str
    assumptions: tuple[str, ...]
    experiments: tuple[Experiment, ...]
    controls: tuple[Experiment, ...] = ()
    family: str = "own"
    designs: Designs | None = None
    unsearched: str = ""

    def __post_init__(self) -> None:
        """Reject what could not be looked up, or reproduced."""
        args = Arguments("Theorem")
        if not isinstance(self.name, str) or not _KEBAB.fullmatch(self.name):
            args.invalid(
                "name", "lower-case words joined by hyphens", describe(self.name)
            )
        for field in ("title", "reference", "statement", "family", "unsearched"):
            if not isinstance(getattr(self, field), str):
                args.invalid(field, "a text", describe(getattr(self, field)))
        for field, kind in (
            ("assumptions", str),
            ("experiments", Experiment),
            ("controls", Experiment),
        ):
            entries = _tuple_of(args, getattr(self, field), field, kind)
            object.__setattr__(self, field, entries)
        if self.designs is not None and not callable(self.designs):
            args.invalid("designs", "a function, or None", describe(self.designs))
        if self.designs is not None and self.unsearched:
            args.invalid("unsearched", "empty where there are designs", "a text")
        if not self.experiments:
            args.invalid("experiments", "at least one Experiment", "none")
        names = [one.name for one in (*self.experiments, *self.controls)]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            args.invalid("experiments", "of different names", f"{twice!r} twice")

    def __str__(self) -> str:
        """Return what it states, needs and cites."""
        from distfreeuq.theorems.engine.summary import words

        return words(self)

    def __repr__(self) -> str:
        """Return the name: the experiments are functions, and fill pages."""
        return f"<Theorem {self.name}: {self.title}>"


def as_event(mean: FloatArray, generator: np.random.Generator) -> BoolArray:
    """Return events that happen with these probabilities: a mean becomes a probability.

    For V in [0, 1] and an independent uniform U, P(U < V) = E V, so that a claim about
    a mean is one about an event, whose count is exactly binomial.

    Parameters
    ----------
    mean : ndarray (n,)
        In [0, 1].
    generator : numpy.random.Generator
    """
    args = Arguments("as_event")
    _check_generator(args, generator)
    values = args.vector(
        mean, "mean", "numbers in [0, 1]", low=-_ROUNDING, high=1.0 + _ROUNDING
    )
    happened: BoolArray = generator.random(values.shape) < values
    return happened


def _check_generator(args: Arguments, generator: Any) -> None:
    if not isinstance(generator, np.random.Generator):
        args.invalid("generator", "a numpy.random.Generator", describe(generator))


def _tuple_of(
    args: Arguments, value: Any, parameter: str, kind: type
) -> tuple[Any, ...]:
    """Return the entries as a tuple; all must be of one kind."""
    listed = isinstance(value, list | tuple)
    if not listed or not all(isinstance(entry, kind) for entry in value):
        must = f"a list or tuple of {kind.__name__}"
        args.invalid(parameter, must, describe(value))
    return tuple(value)
