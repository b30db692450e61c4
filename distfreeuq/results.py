"""The result protocol: what every fitted object can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from os import PathLike
from typing import TYPE_CHECKING, Any

from distfreeuq._base import persistence
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import read_only as read_only
from distfreeuq._base.files.rows_left_out import without_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


class Result(ABC):
    """Base of all results: frozen, printed as a table, saved without pickle.

    A subclass is a frozen, slotted dataclass with read-only arrays, which they stay
    through pickle, copy and deepcopy; `persistence.register` gives it a tag in files.
    ``repr`` is one line; ``str`` is the summary's text; notebooks show the summary as
    HTML.
    """

    __slots__ = ()

    @abstractmethod
    def summary(self) -> Summary:
        """Return the printed table as a statsmodels ``Summary``."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the tidy DataFrame that the summary and the plot draw on."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw on `ax`, or on a new figure, and return the Axes.

        If pyplot has been imported, the new figure is its current one, which
        ``plt.savefig`` and ``plt.show`` know; `ax=None` then also takes current Axes on
        which nothing is drawn yet.
        """

    def __str__(self) -> str:
        """Return the summary's text."""
        return str(self.summary().as_text())

    def _repr_html_(self) -> str:
        return str(self.summary().as_html())

    def _check_savable(self) -> None:  # noqa: B027 (most results can)
        """Raise an InputError that says why, if the result cannot be saved."""

    def _validate_state(self) -> None:  # noqa: B027 (not all have to)
        """Raise a ValueError if a file held numbers that no fit can give."""

    def _why_rows(self) -> str | None:
        """Return why nothing is left of the result without its rows; None else."""
        return None

    def save(self, path: str | PathLike[str], *, rows: bool = True) -> None:
        """Write the result to a file that `distfreeuq.load` reads back exactly.

        The file is an npz archive of arrays and one JSON text; no pickle, so loading a
        file runs no code. It is written whole or not at all.

        Parameters
        ----------
        path : str or path-like
            An existing file is replaced and keeps its permissions; where it is a
            symbolic link, the file that it leads to.
        rows : bool, default True
            False leaves out what the result keeps of each row: the probabilities and
            labels of an estimate of label shift, the calibration scores of prediction
            sets. The file is then as small for a million rows as for ten. What is
            loaded predicts the same and prints the same table, with a line that says
            so; what needs the rows (p-values, other levels, the bootstrap, a figure of
            the scores) is an InputError.

        Raises
        ------
        InputError
            With `rows=False`, if the result can do nothing without its rows: sets,
            density ratios and what was weighted by them, cross-conformal and
            Venn-Abers fits, monitors, tallies of scores that are not on a grid. Or
            if the result holds what a file without code cannot: a function or an
            estimator of yours, or class names other than strings, numbers, None and
            tuples of these.
        """
        rows = Arguments("save").flag(rows, "rows")
        persistence.save(self if rows else without_rows(self), path)


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
