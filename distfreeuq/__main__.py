"""Command line: ``python -m distfreeuq report``, ``demo``, ``verify``, ``search``."""

import argparse
from collections.abc import Sequence

from distfreeuq import demo
from distfreeuq._version import __version__
from distfreeuq.reporting import report_command
from distfreeuq.theorems.engine import command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="distfreeuq",
        description="Distribution-free uncertainty quantification under dataset shift.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    report_command.add_report_parser(commands)
    show = commands.add_parser("demo", help="run the main job on embedded data")
    show.add_argument("--figures", default="figures", help="folder for the figures")
    show.set_defaults(run=_demo)
    command.add_parser(commands)
    command.add_search_parser(commands)
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


def _demo(options: argparse.Namespace) -> int:
    demo.run(options.figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
