"""Theorems, each checked by designed experiments with a stated error.

``verify("split-coverage")`` runs one, ``verify_all()`` every one; on the command line
``python -m distfreeuq verify``. A verdict is "holds", "violated" or "undecided", and
the probability that any verdict of a run is wrong is at most 0.001.

Adding a theorem
----------------
A family is a folder beside this file whose ``__init__`` has a tuple ``THEOREMS``; their
names are in ``engine/registry.py``, so that a theorem imports its own family only.
Users hand a `Theorem` to `register`. Either way it takes:

1. ``draw(generator, n)``: n independent draws, vectorised or in a loop; it returns, for
   each event, a bool array (n,). Draws must call the package's public functions, or the
   very functions that these call, so that an error in them is seen. Where coverage is
   the claim, each draw has a calibration set and one test row of its own. Pass the
   `generator` on as ``rng=generator``. The package's own warnings are silenced.
2. `Claim` ("event", at_least= | at_most= | equals=, tolerance=). Everything is the
   probability of an event. A mean of V in [0, 1] becomes one by
   ``as_event(V, generator)``; a law becomes events at several of its quantiles; an
   inequality that always holds is ``at_most=0`` for the event of its violation, and one
   occurrence refutes it.
3. `Experiment` (name, draw, claims, batch=): the name says the scenario, and seeds the
   draws. The number of draws follows from the tolerances: about (8 sd / tolerance)^2,
   60000 for p = 0.9 and tolerance 0.01, 2500 for 0.05. Choose the tolerance such that
   this takes at most about three seconds; `batch` some tenths of a second.
4. Controls: the same experiment with something broken that is named, or an assumption
   violated. At least one claim of each must be refuted; the defect must exceed the
   tolerance.
5. Designs: ``designs(generator)`` returns a random `Design`, a situation in which the
   theorem must hold, with its probability as a finite sum where that can be had, else
   with a ``draw``. ``search("split-coverage", budget=60)`` and ``python -m distfreeuq
   search NAME`` look among them for a counterexample. They are in ``draws``.
6. `Theorem` (name, title, reference, statement, assumptions, experiments, controls,
   family, designs).

``functools.partial`` of module-level functions makes experiments out of parameters.
`tests/theorem/test_registry.py` decides every theorem.
"""

from distfreeuq.theorems.engine.checking import verify, verify_all
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design
from distfreeuq.theorems.engine.experiment import Experiment, Theorem, as_event
from distfreeuq.theorems.engine.registry import get, names, register, unregister
from distfreeuq.theorems.engine.results import TheoremResult
from distfreeuq.theorems.engine.search_results import SearchResult
from distfreeuq.theorems.engine.searching import search

__all__ = [
    "Claim",
    "Design",
    "Experiment",
    "SearchResult",
    "Theorem",
    "TheoremResult",
    "as_event",
    "get",
    "names",
    "register",
    "search",
    "unregister",
    "verify",
    "verify_all",
]
