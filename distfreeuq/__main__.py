"""Command line: ``python -m distfreeuq demo``."""

import argparse
from collections.abc import Sequence

from distfreeuq import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="distfreeuq",
        description="Distribution-free uncertainty quantification under dataset shift.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="run the main job on embedded data")
    demo.add_argument("--figures", default="figures", help="folder for the figures")
    options = parser.parse_args(arguments)

    from distfreeuq import demo as demonstration

    demonstration.run(options.figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
