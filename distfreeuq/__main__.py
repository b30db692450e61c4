"""Command line: ``python -m distfreeuq demo`` and ``python -m distfreeuq verify``."""

import argparse
from collections.abc import Sequence

from distfreeuq._version import __version__


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
    _add_verify(commands)
    options = parser.parse_args(arguments)
    if options.command == "verify":
        from distfreeuq.theorems.engine import command

        return command.run(options)

    from distfreeuq import demo as demonstration

    demonstration.run(options.figures)
    return 0


def _add_verify(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> None:
    verify = commands.add_parser(
        "verify",
        help="check the theorems by simulation",
        description=(
            "Check theorems by simulation, and that broken variants are caught. Exit "
            "code 0: every theorem holds and every control was caught. 1: a theorem is "
            "violated, or a control was not caught. 2: wrong usage. 3: nothing is "
            "violated, but a theorem is undecided."
        ),
    )
    verify.add_argument(
        "names", nargs="*", metavar="NAME", help="theorems to check (default: all)"
    )
    effort = verify.add_mutually_exclusive_group()
    effort.add_argument(
        "--fast",
        dest="effort",
        action="store_const",
        const="fast",
        default="fast",
        help="minutes (the default)",
    )
    effort.add_argument(
        "--thorough",
        dest="effort",
        action="store_const",
        const="thorough",
        help="a third of the tolerances, nine times the draws",
    )
    verify.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes; -1: all cores"
    )
    verify.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
    verify.add_argument("--json", metavar="FILE", help="write every claim to a file")
    verify.add_argument("--quiet", action="store_true", help="show no progress bar")
    verify.add_argument(
        "--list", action="store_true", help="list the theorems, check nothing"
    )


if __name__ == "__main__":
    raise SystemExit(main())
