"""Printed text, reviewed once and then held.

A text that changes on purpose is written anew by running the tests with the environment
variable DISTFREEUQ_UPDATE_SNAPSHOTS=1; look at the difference before committing it.
"""

import os
from difflib import unified_diff
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
UPDATE = "DISTFREEUQ_UPDATE_SNAPSHOTS"


def assert_matches(name: str, text: str) -> None:
    """Compare the text with the file of this name, or write it if asked to."""
    file = FOLDER / f"{name}.txt"
    text = text.rstrip("\n") + "\n"
    if os.environ.get(UPDATE) == "1":
        file.write_text(text, encoding="utf-8")
        return
    if not file.exists():
        pytest.fail(f"There is no snapshot {file.name}. Write it with {UPDATE}=1.")
    held = file.read_text(encoding="utf-8")
    if text != held:
        difference = unified_diff(
            held.splitlines(), text.splitlines(), file.name, "printed now", lineterm=""
        )
        message = "\n".join(difference)
        pytest.fail(f"{message}\nIf this is meant, write it anew with {UPDATE}=1.")
