"""A worker that crashes at case 3 and hangs at case 5, for the tests of the runner."""

import os
import sys

from tests.fuzz.worker import say


def main() -> None:
    """Speak as a worker does."""
    for line in sys.stdin:
        first, last = map(int, line.split())
        for number in range(first, last):
            say(at=number, name="planted", seed=number)
            if number == 3:
                os.abort()
            while number == 5:
                pass
            findings = [("nan", "planted: place 7")] if number == 8 else []
            say(done=number, counts=[2, 1, 1], findings=findings)
        say(block=last)


if __name__ == "__main__":
    main()
