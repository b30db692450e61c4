"""Bars that show how far a long computation is: tqdm's, or none at all.

tqdm takes a lock that forked processes have in common, even for a bar that is switched
off. A process that is killed while it has the lock would leave its parent waiting for
ever, so nothing of tqdm's is touched unless a bar was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def progress_bar(
    items: Iterable[Any] | None = None,
    *,
    shown: bool,
    desc: str,
    total: int | None = None,
    initial: int = 0,
) -> Any:
    """Return the items under a bar, or a bar to update by hand; unseen if not shown."""
    if not shown:
        return _NoBar(() if items is None else items)
    from tqdm import tqdm

    return tqdm(items, total=total, initial=initial, desc=desc)


class _NoBar:
    """What a bar does for its user, and nothing to be seen."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def update(self, n: int = 1) -> None:
        """Go on."""
