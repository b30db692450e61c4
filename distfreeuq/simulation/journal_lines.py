"""Lines of a journal: JSON that ends with a digest of what stands before it.

A line of format 2 is {"replicate": 3, "quantities": {"mean": 0.5}, "digest": "..."}.
The digest is that of the line's other bytes and of the header's digest, so that neither
a changed bit nor a line of another file is taken for a replicate. Format 1 had no
digests: its lines, and those that were added to such a file, are told by the header.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from distfreeuq.simulation.replicates import text_of

FORMATS = ("distfreeuq-simulation-1", "distfreeuq-simulation-2")
"""By version; the last one is written."""

OPENINGS = tuple(f'{{"format": "{name}"'.encode() for name in FORMATS)
"""What files of each format begin with."""

_BEFORE_DIGEST = b', "digest": "'
_DIGITS = 16
_LARGEST = 2**63


class Damaged(Exception):
    """A line is not as it was written; the text says what it is."""


def encode(document: Mapping[str, Any]) -> bytes:
    """Return JSON on one line; floats read back exactly."""
    return json.dumps(document, default=_plain).encode()


def _plain(value: Any) -> Any:
    """Return what JSON has a form for."""
    return value.tolist() if hasattr(value, "tolist") else text_of(value)


def sealed(body: bytes, salt: str) -> tuple[bytes, str]:
    """Return a JSON object as a line with a digest, and the digest."""
    digest = hashlib.sha256(salt.encode() + body).hexdigest()[:_DIGITS]
    return body[:-1] + _BEFORE_DIGEST + digest.encode() + b'"}\n', digest


def unsealed(line: bytes, salt: str) -> tuple[bytes, str]:
    """Return the JSON object that a line was made of, and its digest."""
    body = line[: -len(_BEFORE_DIGEST) - _DIGITS - 2] + b"}"
    again, digest = sealed(body, salt)
    if again != line + b"\n":
        raise Damaged("whose digest is another")
    return body, digest


def has_digest(line: bytes) -> bool:
    """Say whether a line of a file of format 1 was added by a later version."""
    return _BEFORE_DIGEST in line


def read_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object on a line."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise Damaged("that is no JSON object")
    return document


def read_replicate(body: bytes) -> tuple[int, dict[str, float]]:
    """Return a replicate's number and its quantities."""
    row = read_object(body)
    if row.keys() != {"replicate", "quantities"}:
        raise Damaged("that is no replicate")
    replicate, found = row["replicate"], row["quantities"]
    if type(replicate) is not int or not 0 <= replicate < _LARGEST:
        raise Damaged("whose replicate is no number of one")
    if not isinstance(found, dict) or not found:
        raise Damaged("without quantities")
    if not all(type(value) in (int, float) for value in found.values()):
        raise Damaged("whose quantities are no numbers")
    try:
        return replicate, {name: float(value) for name, value in found.items()}
    except OverflowError:
        raise Damaged("whose quantities are too large") from None
