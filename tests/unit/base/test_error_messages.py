"""Every InputError names the parameter: read from the code.

Errors come from `Arguments.invalid`, whose form is one, or begin as it does.
"""

import ast
from pathlib import Path

import pytest

import distfreeuq

PACKAGE = Path(distfreeuq.__file__).parent
FORMS = ("The '", "The file '")  # a parameter, or a file that one names


def unnamed(text: str) -> list[int]:
    """Return the lines that make an InputError of another form."""
    tree = ast.parse(text)
    texts = {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "InputError"
        and not begins(node.args[0] if node.args else None, texts).startswith(FORMS)
    ]


def begins(node: ast.AST | None, texts: dict[str, ast.expr]) -> str:
    """Return how a text begins, "" if it cannot be seen."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr) and node.values:
        return begins(node.values[0], texts)
    if isinstance(node, ast.FormattedValue):
        return begins(node.value, texts)
    if isinstance(node, ast.Name) and node.id in texts:
        others = {name: text for name, text in texts.items() if name != node.id}
        return begins(texts[node.id], others)
    return ""


@pytest.mark.parametrize(
    "file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: file.stem
)
def test_every_error_names_its_parameter(file):
    assert unnamed(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "n_found"),
    [
        ("raise InputError(f\"The '{name}' parameter of f must be 1.\")", 0),
        ('must = "The \'x\' parameter must"\nraise InputError(f"{must} be {y}")', 0),
        ("raise InputError(f\"The file '{name}' must be a table.\")", 0),
        ("raise InputError('BBSE has no weights here.')", 1),
        ("raise InputError(text)", 1),
        ("error = InputError()", 1),
        ("text = text\nraise InputError(text)", 1),
        ("raise ValueError('no')", 0),
    ],
)
def test_the_reader_of_errors_finds_what_it_should(text, n_found):
    assert len(unnamed(text)) == n_found
