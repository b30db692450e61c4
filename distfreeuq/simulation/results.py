"""What a simulation found: a row per replicate, and Monte Carlo errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import special

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    count,
    floats,
    pair,
    part,
    require,
    several,
    text,
)
from distfreeuq.bounds import unchecked
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.results import Result

# What the normal distribution has beyond one standard deviation, on both sides.
_BEYOND_ONE_SD = 0.3173

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("simulation")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SimulationResult(Result):
    """Quantities found in independent replicates.

    Attributes
    ----------
    quantities : tuple of str
        Their names, Q of them.
    values : ndarray (R, Q)
        A row per replicate, in order.
    seed : int
        Gives the same table again as ``rng=``.
    scenario, procedure : str
        What was simulated.
    parameters : tuple of (str, str)
        Arguments that the procedure was given, as text.
    guarantee : NoGuarantee

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> def mean_of_ten(toy, rng):
    ...     x, labels = toy.sample(10, rng=rng)
    ...     return {"mean": x[:, 0].mean(), "rare": (labels == 0).any()}
    >>> result = dfu.simulate("three-gaussians", mean_of_ten, 200, rng=0)
    >>> result
    <SimulationResult mean_of_ten R=200: mean, rare>
    >>> result.to_frame().shape, result.to_frame(wide=True).shape
    ((400, 3), (200, 3))
    """

    quantities: tuple[str, ...]
    values: FloatMatrix
    seed: int
    scenario: str
    procedure: str
    parameters: tuple[tuple[str, str], ...]
    guarantee: NoGuarantee

    _state: ClassVar[State] = {
        "quantities": several(text(), "Q"),
        "values": floats("R", "Q"),
        "seed": count(high=None),
        "scenario": text(),
        "procedure": text(),
        "parameters": several(pair(text(), text())),
        "guarantee": part(NoGuarantee),
    }

    def _validate_state(self) -> None:
        require(len(set(self.quantities)) == len(self.quantities), "different names")
        require(self.values.size > 0, "quantities of at least one replicate")

    def __repr__(self) -> str:
        """Return one line."""
        names = ", ".join(self.quantities[:4])
        more = ", ..." if len(self.quantities) > 4 else ""
        return f"<SimulationResult {self.procedure} R={self.n_rep}: {names}{more}>"

    @property
    def n_rep(self) -> int:
        """Number of replicates R."""
        return int(self.values.shape[0])

    def column(self, quantity: str) -> FloatArray:
        """Return one quantity in every replicate, shape (R,)."""
        Arguments("column").choice(quantity, "quantity", self.quantities)
        values: FloatArray = self.values[:, self.quantities.index(quantity)]
        return values

    def to_frame(self, *, wide: bool = False) -> pd.DataFrame:
        """Return the values as a DataFrame.

        Parameters
        ----------
        wide : bool, default False
            One row per replicate and a column per quantity; otherwise one row per
            replicate and quantity.
        """
        import pandas as pd

        replicates = np.arange(self.n_rep)
        if wide:
            columns = {
                name: self.values[:, q] for q, name in enumerate(self.quantities)
            }
            return pd.DataFrame({"replicate": replicates, **columns})
        n_quantities = len(self.quantities)
        return pd.DataFrame(
            {
                "replicate": np.repeat(replicates, n_quantities),
                "quantity": list(self.quantities) * self.n_rep,
                "value": self.values.ravel(),
            }
        )

    def describe(self, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> pd.DataFrame:
        """Return mean, Monte Carlo error, standard deviation and quantiles.

        Parameters
        ----------
        quantiles : sequence of float
            Levels in [0, 1].

        Returns
        -------
        DataFrame
            A row per quantity: ``n`` (replicates in which it is not NaN, on which the
            others rest), ``mean``, ``std_err`` (of the mean), ``sd``, and a column per
            quantile, such as ``q0.05``: NumPy's default, which interpolates between
            order statistics, so that ``q0.5`` is the median. A quantity that is 0 in
            all replicates, or 1 in all, may be an indicator; its ``std_err`` is then
            not zero but the length of Clopper and Pearson's 68.3% interval of a share.
        """
        import pandas as pd

        levels = Arguments("describe").numbers(
            quantiles, "quantiles", "levels in [0, 1]", low=0.0, high=1.0
        )
        rows = []
        for q in range(len(self.quantities)):
            values = self.values[:, q]
            values = values[~np.isnan(values)]
            rows.append(_described(values, levels))
        names = [f"q{level:g}" for level in levels]
        frame = pd.DataFrame(rows, columns=["n", "mean", "std_err", "sd", *names])
        frame.insert(0, "quantity", self.quantities)
        return frame

    def confint(self, alpha: float = 0.05) -> FloatMatrix:
        """Confidence intervals of the quantities' means over all replicates, (Q, 2).

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the level of each, by itself.

        Notes
        -----
        Replicates are independent. A quantity that is 0 or 1 in every replicate is read
        as an indicator, such as whether a set holds the label, and has Clopper and
        Pearson's interval, which then holds for any number of replicates; others have a
        normal one by the Monte Carlo error, in the limit of many. NaN for a single
        replicate or infinite values.
        """
        alpha = Arguments("SimulationResult.confint").alpha(alpha)
        ends = [_interval_of_mean(column, alpha) for column in self.values.T]
        return np.array(ends, dtype=np.float64)

    def summary(self) -> Summary:
        """Return the printed table."""
        from distfreeuq.simulation.summary import summarize_simulation

        return summarize_simulation(self)

    def plot(self, ax: Axes | None = None, *, quantity: str | None = None) -> Axes:
        """Draw the distribution of a quantity over replicates, and its mean.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        quantity : str, optional
            The first one by default.
        """
        from distfreeuq import plots

        name = self.quantities[0] if quantity is None else quantity
        return plots.replicate_histogram(self.column(name), what=name, ax=ax)


def _described(values: FloatArray, levels: FloatArray) -> list[float]:
    """Return n, mean, standard error, standard deviation and quantiles."""
    n = values.size
    if n == 0:
        return [0] + [math.nan] * (3 + levels.size)
    with np.errstate(invalid="ignore"):  # infinite values have no deviation
        sd = float(values.std(ddof=1)) if n > 1 else math.nan
        quantiles = _quantiles(values, levels)
    error = standard_error(values)
    return [n, float(values.mean()), error, sd, *quantiles.tolist()]


def _interval_of_mean(values: FloatArray, alpha: float) -> tuple[float, float]:
    """Return an interval of the mean: exact for an indicator, else normal."""
    values = values[~np.isnan(values)]
    if values.size and np.isin(values, (0.0, 1.0)).all():
        ends = unchecked.clopper_pearson(int(values.sum()), values.size, alpha)
        return float(ends[0]), float(ends[1])
    error = standard_error(values)
    if math.isnan(error):
        return math.nan, math.nan
    reach = -float(special.ndtri(0.5 * alpha)) * error
    mean = float(values.mean())
    return mean - reach, mean + reach


def standard_error(values: FloatArray) -> float:
    """Return the Monte Carlo error of the mean of these replicates.

    It is sd / sqrt(n), NaN for one replicate or infinite values. What was 0 in all
    replicates, or 1 in all, is read as an indicator: from the share to the far end of
    its exact interval at the level of one standard error.
    """
    n = values.size
    if n < 2:
        return math.nan
    if values.min() == values.max() and values[0] in (0.0, 1.0):
        low, high = unchecked.clopper_pearson(int(values.sum()), n, _BEYOND_ONE_SD)
        return float(high - low)
    with np.errstate(invalid="ignore"):
        return float(values.std(ddof=1)) / math.sqrt(n)


def _quantiles(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Return NumPy's default quantiles, which exist also where values are infinite."""
    ordered = np.sort(values)
    place = levels * (values.size - 1)
    below = np.floor(place).astype(np.int64)
    low, high = ordered[below], ordered[np.ceil(place).astype(np.int64)]
    between = low != high
    step = np.subtract(high, low, out=np.zeros_like(low), where=between)
    found: FloatArray = low + np.multiply(
        step, place - below, out=np.zeros_like(low), where=between
    )
    return found
