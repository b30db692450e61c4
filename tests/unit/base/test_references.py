"""Everything that is cited in print has an entry, and every entry is well formed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import distfreeuq
from distfreeuq import references, theorems
from distfreeuq.guarantees import Guarantee
from distfreeuq.references import REFERENCES, cited

PACKAGE = Path(distfreeuq.__file__).parent
YEAR = re.compile(r"\b(?:18|19|20)\d\d\b")
CONSTANTS = {
    name: value for name, value in vars(references).items() if isinstance(value, str)
}


def texts_of(node: ast.AST) -> str:
    """Return the literal text below a node, with our constants filled in."""
    parts = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            parts.append(inner.value)
        elif isinstance(inner, ast.Name | ast.Attribute):
            name = inner.id if isinstance(inner, ast.Name) else inner.attr
            parts.append(CONSTANTS.get(name, ""))
    return " ; ".join(parts)


def written_references() -> list[tuple[str, str]]:
    """Return the file and the text of every ``reference=`` in the package."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.keyword) and node.arg == "reference"):
                continue
            written = isinstance(node.value, ast.Constant | ast.JoinedStr | ast.BinOp)
            # those put together by functions are held by the printed references
            if written and re.search(r"\w", texts_of(node.value)):
                where = f"{file.relative_to(PACKAGE)}:{node.value.lineno}"
                found.append((where, texts_of(node.value)))
    return found


def cited_texts() -> list[tuple[str, str]]:
    """Return every literal of the modules that state claims, and of the registry."""
    found = []
    for file in sorted(PACKAGE.rglob("guarantees.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        strings = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
        inside = {id(part) for node in strings for part in ast.walk(node)}
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            plain = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if plain and id(node) not in inside | docstrings:
                found.append((f"{file.parent.name}:{node.lineno}", node.value))
    return found


# methods and standard facts that are cited by what they are, not by who had them first
BY_WHAT_THEY_ARE = (
    "theory page",
    "Bonferroni",
    "Kuhn-Tucker",
    "chi-squared",
    "Wald tests",
    "delta method",
    "bounded differences",
    "with a union over the bins",
)


@pytest.mark.parametrize("where, text", written_references())
def test_references_resolve(where, text):
    if YEAR.search(text):
        assert cited(text), f"{where}: {text!r}"
    else:
        assert any(words in text for words in BY_WHAT_THEY_ARE), f"{where}: {text!r}"


def test_every_year_in_the_registry_of_theorems_has_its_entry():
    for theorem in map(theorems.get, theorems.names()):
        text = theorem.reference
        entries = cited(text)
        assert sorted(YEAR.findall(text)) == sorted(e.year for e in entries), text
        assert entries or any(words in text for words in BY_WHAT_THEY_ARE), text


def test_every_year_in_a_claim_has_its_entry():
    for where, text in cited_texts():
        entries = {entry.year for entry in cited(text)}
        assert set(YEAR.findall(text)) <= entries, f"{where}: {text!r}"


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda reference: reference.key)
def test_entries(reference):
    fields = dict(reference.fields)
    assert re.fullmatch(r".+ \(\d{4}\)", reference.text)
    assert {"author", "title"} <= fields.keys()
    where = {
        "article": "journal",
        "inproceedings": "booktitle",
        "book": "publisher",
        "techreport": "institution",
        "misc": "howpublished",
    }
    assert where[reference.kind] in fields
    entry = reference.bibtex
    assert entry.count("{") == entry.count("}")
    assert entry.startswith(f"@{reference.kind}{{{reference.key},\n")
    assert fields["author"].startswith(f"{reference.first_author},")
    assert f"  year = {{{reference.year}}}," in entry
    assert cited(reference.text) == [reference]


def test_authors_of_a_citation_are_those_of_its_entry():
    for reference in REFERENCES:
        surnames = [
            person.split(",")[0]
            for person in dict(reference.fields)["author"].split(" and ")
        ]
        named = reference.text[:-7].replace(" and ", ", ").replace(" & ", ", ")
        if not named.endswith("et al."):
            plain = [name.replace("{\\`e}", "e") for name in surnames]
            assert named.split(", ") == plain


def test_keys_are_unique():
    assert len({reference.key for reference in REFERENCES}) == len(REFERENCES)


def test_citations_are_found_in_any_form():
    text = "Saerens et al. (2002); sandwich (Huber, 1967; White, 1982); Vovk (2012)"
    keys = [entry.key for entry in cited(text)]
    assert keys == ["huber1967", "saerens2002", "vovk2012", "white1982"]
    assert cited("Vovk (2013); Ramdas (2021); theory page, 5") == []


def test_bibtex_of_a_guarantee():
    claim = Guarantee("s", "marginal", "Vovk (2012); Hoeffding (1963)", ())
    assert [line for line in claim.bibtex.splitlines() if line.startswith("@")] == [
        "@article{hoeffding1963,",
        "@inproceedings{vovk2012,",
    ]
    assert Guarantee("s", "marginal", "theory page, 4.4", ()).bibtex == ""
