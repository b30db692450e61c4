"""The README's example runs, and prints what the README says it prints."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def blocks(language: str) -> list[str]:
    text = README.read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_example_prints_what_is_shown():
    code, shown = blocks("python")[0], blocks("text")[0]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(README), "exec"), {})
    assert printed.getvalue().strip() == shown.strip()


def test_the_two_commands_come_first():
    commands = blocks("sh")[0].split("\n")
    assert commands[0].startswith("make demo")
    assert commands[1].startswith("make test")
