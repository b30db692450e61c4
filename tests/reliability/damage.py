"""What becomes of damaged and forged files: counts by outcome, one file at a time."""

import collections
import faulthandler
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import distfreeuq as dfu
from distfreeuq import InputError
from tests.reliability.exercises import exercise
from tests.reliability.forging import forgeries
from tests.unit.base.test_persistence import assert_same
from tests.unit.simulation_study import study

MASKS = (0x01, 0x80, 0xFF)
"""By which every byte is changed in turn: the lowest bit, the highest, and all."""
_HANGS_AFTER = 120.0

Counts = collections.Counter[str]


def damage_bytes(
    path: Path, *, every: int = 1, masks: tuple[int, ...] = MASKS
) -> Counts:
    """Change every byte of a file, one by one; count what `load` makes of it."""
    whole, saved, counts = path.read_bytes(), dfu.load(path), Counts()
    with scratch() as file:
        for position in range(0, len(whole), every):
            for mask in masks:
                changed = bytearray(whole)
                changed[position] ^= mask
                file.write_bytes(changed)
                counts[_outcome_of_damage(file, saved)] += 1
        for length in range(0, len(whole), every):
            file.write_bytes(whole[:length])
            counts[_outcome_of_damage(file, saved)] += 1
    return counts


def _outcome_of_damage(
    file: Path | str, saved: object, read: Callable[[Any], object] = dfu.load
) -> str:
    try:
        found = read(file)
    except InputError:
        return "refused"
    except Exception as error:
        return f"foreign error: {error!r}"
    try:
        assert_same(found, saved)
    except AssertionError:
        return "wrong result"
    return "same result"


def damage_text(path: Path, *, every: int = 1) -> Counts:
    """Change every character of a tally's JSON text; count what becomes of it."""
    saved, counts = dfu.load(path), Counts()
    text = saved.to_json()
    damaged = [text[:length] for length in range(0, len(text), every)]
    for position in range(0, len(text), every):
        for mask in MASKS:
            changed = chr(ord(text[position]) ^ mask)
            damaged.append(text[:position] + changed + text[position + 1 :])
    for content in damaged:
        counts[_outcome_of_damage(content, saved, dfu.Tally.from_json)] += 1
    return counts


def damage_journal(n_rep: int = 8, *, every: int = 1) -> Counts:
    """Change every byte of a file of replicates; count what becomes of the study."""
    counts = Counts()
    with scratch() as file:
        expected = study(file, n_rep=n_rep).values
        whole = file.read_bytes()
        damaged = [whole[:length] for length in range(0, len(whole), every)]
        for position in range(0, len(whole), every):
            for mask in MASKS:
                changed = bytearray(whole)
                changed[position] ^= mask
                damaged.append(bytes(changed))
        for content in damaged:
            file.write_bytes(content)
            try:
                found = study(file, n_rep=n_rep).values
            except InputError:
                counts["refused"] += 1
                continue
            except Exception as error:
                counts[f"foreign error: {error!r}"] += 1
                continue
            same = np.array_equal(found, expected, equal_nan=True)
            counts["same result" if same else "wrong result"] += 1
    return counts


def forge_file(path: Path, *, every: int = 1, start: int = 0) -> Counts:
    """Load every forgery of a file, and do everything with those that are taken."""
    counts = Counts()
    with scratch() as file:
        for number, (told, content) in enumerate(forgeries(path)):
            if number % every != start:
                continue
            file.write_bytes(content)
            faulthandler.dump_traceback_later(_HANGS_AFTER, exit=True)
            print(f"{path.stem} {told}", file=sys.stderr, flush=True)
            counts[_outcome_of_forgery(file, told)] += 1
            faulthandler.cancel_dump_traceback_later()
    return counts


def _outcome_of_forgery(file: Path, told: str) -> str:
    try:
        fit = dfu.load(file)
    except InputError:
        return "refused"
    except Exception as error:
        return f"foreign error: {told}: load: {error!r}"
    errors = exercise(fit)
    if errors:
        first, error = next(iter(errors.items()))
        return f"foreign error: {told}: {first}: {error}"
    return "taken, harmless"


class scratch:
    """A file in a folder that goes away, in memory where there is such a folder."""

    def __enter__(self) -> Path:
        memory = Path("/dev/shm")
        self.folder = tempfile.TemporaryDirectory(
            dir=memory if memory.is_dir() else None
        )
        return Path(self.folder.name, "file")

    def __exit__(self, *error: object) -> None:
        self.folder.cleanup()
