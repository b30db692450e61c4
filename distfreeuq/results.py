"""The result protocol: what every fitted object can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from distfreeuq._base import persistence

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    return view


class Result(ABC):
    """Base of all results: frozen, printed as a table, saved without pickle.

    A subclass is a frozen, slotted dataclass with read-only arrays. ``repr`` is one
    line; ``str`` is the summary's text; notebooks show the summary as HTML.
    """

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make the class known to `load`."""
        super().__init_subclass__(**kwargs)
        persistence.register(cls)

    @abstractmethod
    def summary(self) -> Summary:
        """Return the printed table as a statsmodels ``Summary``."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the tidy DataFrame that the summary and the plot draw on."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw on `ax`, or on a new figure, and return the Axes."""

    def __str__(self) -> str:
        """Return the summary's text."""
        return str(self.summary().as_text())

    def _repr_html_(self) -> str:
        return str(self.summary().as_html())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the result to a file that `distfreeuq.load` reads back exactly.

        The file is an npz archive of arrays and one JSON text; no pickle, so loading a
        file runs no code. It is written whole or not at all.

        Parameters
        ----------
        path : str or path-like
            An existing file is replaced.
        """
        persistence.save(self, path)


def load(path: str | PathLike[str]) -> Any:
    """Read a result that was written by its ``save`` method.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    Result
        Equal to the saved one in every number.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import distfreeuq as dfu
    >>> fit = dfu.split_conformal([[0.8, 0.2]] * 30, [0] * 30, rng=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fit.save(pathlib.Path(folder, "fit.npz"))
    ...     again = dfu.load(pathlib.Path(folder, "fit.npz"))
    >>> bool((again.thresholds == fit.thresholds).all())
    True
    """
    result = persistence.load(path)
    if not isinstance(result, Result):
        raise persistence.not_ours(path, "it holds no result")
    return result
