"""Coverage-guided fuzzing of the argument checks: ``make fuzz-guided``.

Needs atheris, which the tests do without. Bytes that reach new branches of the checks
are kept and changed further, so that a combination that random draws would hardly hit
is found step by step. The judge is that of the other calls. ``-max_total_time=600``
and other options are libFuzzer's; a finding leaves a file ``crash-...`` that is run
again by giving its name.
"""

import sys
from random import Random
from typing import Any

import atheris

with atheris.instrument_imports(include=["distfreeuq"]):
    import distfreeuq as dfu

from tests.fuzz.case import judged_call
from tests.fuzz.table import FUNCTIONS
from tests.fuzz.worker import import_first

# Whose cost is in the checks and not in what comes after.
CHECKED = [
    name
    for name, entry in FUNCTIONS.items()
    if entry.share >= 0.2 and not entry.heavy and not name.startswith("plots.")
]


class _Bytes(Random):
    """Random choices that are read from bytes: what the fuzzer changes, it decides."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._data = atheris.FuzzedDataProvider(data)

    def random(self) -> float:
        return self._data.ConsumeIntInRange(0, 2**16 - 1) / 2.0**16

    def getrandbits(self, k: int) -> int:
        return int(self._data.ConsumeIntInRange(0, 2 ** min(k, 62) - 1))


def check(data: bytes) -> None:
    """Make one call that the bytes decide, and raise for a finding."""
    r = _Bytes(data)
    name = CHECKED[r.randrange(len(CHECKED))]
    call: Any = judged_call(name, r)
    if call.outcome.findings:
        said = "\n".join(f"{kind}: {text}" for kind, text in call.outcome.findings)
        shown = "\n".join(f"    {key} = {v!r}" for key, v in call.arguments.items())
        raise AssertionError(f"{said}\n{shown}\n{call.outcome.trace}")


def main() -> None:
    """Hand over to libFuzzer."""
    import_first()
    assert dfu.get_num_threads() >= 1
    # a case takes some hundred choices: short inputs would leave them all at zero
    options = ["-max_len=600", "-len_control=0", "-timeout=20"]
    atheris.Setup([sys.argv[0], *options, *sys.argv[1:]], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
