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
            plain = [
                name.replace("{\\`e}", "e").replace('{\\"u}', "ue") for name in surnames
            ]
            assert named.split(", ") == plain


def quoted_titles() -> list[tuple[str, str, str]]:
    """Return place, citation and title of what docstrings list as references."""
    found = []
    item = re.compile(r'^\.\. \[\d+\] ((?:.(?!\n\.\. \[))*?\d{4}\)), "(.*?),?"', re.S)
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
                continue
            lines = ast.get_docstring(node) or ""
            for part in re.split(r"(?m)^(?=\.\. \[)", lines)[1:]:
                match = item.match(part)
                if match:
                    citation, title = (
                        " ".join(text.split()) for text in match.groups()
                    )
                    found.append((f"{file.relative_to(PACKAGE)}", citation, title))
    return found


def test_titles_in_docstrings_are_those_of_the_entries():
    compared = set()
    for where, citation, title in quoted_titles():
        for entry in cited(citation):
            full = dict(entry.fields)["title"].replace("{", "").replace("}", "")
            assert full.lower().startswith(title.lower()), f"{where}: {title}"
            compared.add(entry.key)
    assert len(compared) >= 8


def test_the_bibliography():
    """Authors, titles, years and pages, word for word."""
    written = (Path(__file__).parents[2] / "files" / "references.bib").read_text(
        encoding="utf-8"
    )
    assert "\n\n".join(entry.bibtex for entry in REFERENCES) + "\n" == written


WORDING = {
    "IID": "rows i.i.d.",
    "INDEPENDENT": "rows independent",
    "CALIBRATION_IID": "calibration rows i.i.d.",
    "NEW_ROW_IID": "the calibration rows and the new row are i.i.d.",
    "CLASS_EXCHANGEABLE": "rows of a class, the new one included, are exchangeable",
    "GROUP_EXCHANGEABLE": "rows of a group, the new one included, are exchangeable",
    "CLASS_GROUP_EXCHANGEABLE": "rows of a class in a group, the new one included, are "
    "exchangeable",
    "GROUPS_BY_INPUTS": "a row's group is a function of its inputs, chosen without "
    "these rows",
    "NEW_ROW_APART": "the new row is not among those that the weights were estimated "
    "on",
    "EXCHANGEABLE": "the calibration rows and the new row are exchangeable",
    "SCORE_ELSEWHERE": "the classifier and the score were chosen without these rows",
    "STREAM_EXCHANGEABLE": "source rows and stream are exchangeable (i.i.d., say) "
    "while nothing has moved",
    "SOURCE_IID_ELSEWHERE": "source rows i.i.d., and nothing was fitted or calibrated "
    "on them",
    "PREDICTED_FIRST": "every prediction was made without its label",
    "DELAY_BLIND": "when a label comes does not depend on the loss",
    "DROPPED_BLINDLY": "rows were dropped without regard to their losses",
    "TWO_SAMPLES": "rows i.i.d. within each sample, the two samples independent",
    "FITTED_ELSEWHERE": "the classifier was fitted on other rows",
    "CHOSEN_ELSEWHERE": "the classifier, the score and alpha were chosen without these "
    "rows",
    "ASSESSED_ELSEWHERE": "rows not used to fit or calibrate the classifier",
    "SETS_ASSESSED_ELSEWHERE": "rows used neither to fit the classifier nor to "
    "calibrate",
    "SPLIT_AT_RANDOM": "the rows were split at random",
    "PRIOR_ELSEWHERE": "the class proportions of the score were chosen without these "
    "rows",
    "LABELLED_AT_RANDOM": "labelled target rows chosen at random",
    "BLOCKS_IID": "blocks i.i.d., their rows dependent in any way",
    "EDGES_CHOSEN_ELSEWHERE": "the edges given were chosen without these rows",
    "OWN_SCORE": "the score given is a fixed function of a row, its label and its "
    "uniform",
    "SEED_ELSEWHERE": "the seed was chosen without the data",
    "CLASSES_OF_LABELS": "every class of new rows is among those of the labels",
    "FOLDS_ELSEWHERE": (
        "folds drawn without looking at the rows, and each fold's classifier fitted "
        "(and chosen) without it"
    ),
    "ONE_ROW_OF_EACH_GROUP": (
        "groups exchangeable; the new row is drawn at random from a new group"
    ),
    "SCORE_AND_ALPHA_ELSEWHERE": ("the score and alpha were chosen without these rows"),
    "IDS_OF_ROWS": "what is said of the rows holds of the rows together with their ids",
    "OWN_UNIFORMS": "the uniforms given are independent draws from [0, 1]",
    "LABEL_SHIFT": "label shift: p(x | y) is the same in source and target",
    "CLASSES_OVERLAP": "every class of the target occurs in the source",
    "CLASSES_SEEN": "every class of the target has rows in the source sample",
    "TRUE_PRIORS": "the class proportions of source and target are those given",
    "TRUE_LABEL_WEIGHT": "the weights are the true q(y)/p(y) up to scale",
    "CALIBRATED": "the probabilities are calibrated: P(Y = k | f) = f_k in the source",
    "CLASSES_TOLD_APART": "classes that the predictions tell apart",
    "TOLD_APART": "true weights positive, classes that can be told apart",
    "COVARIATE_SHIFT": "covariate shift: p(y | x) is the same in source and target",
    "INPUTS_OVERLAP": "q(x) = 0 where p(x) = 0",
    "TRUE_DENSITY_RATIO": "the weights are the true q(x)/p(x)",
    "TRUE_RATIO_TO_SCALE": "the weights are the true q(x)/p(x) up to scale",
    "TRUE_BOUNDED_RATIO": "the weights are the true q(x)/p(x) up to scale, and bounded "
    "as given",
    "KNOWN_DENSITY_RATIO": "w(x) = q(x)/p(x) known up to scale, and q(x) = 0 where "
    "p(x) = 0",
    "WEIGHT_BOUND": "no w(x) exceeds the bound given",
    "WEIGHTS_BY_INPUTS": "weights depend on the inputs alone",
    "TRUE_RATIO": "weights are the true density ratio of target to source, up to a "
    "factor",
    "FINITE_VARIANCE": "their variance is finite",
    "COUNTED_PRIOR": "class proportions counted from the labels (theory page, 1.7)",
    "HASHED_UNIFORMS": "hashed uniforms (theory page, 12.8)",
}
"""What is printed after "Needs:", by the names that tables of claims use."""


def test_the_wording_of_assumptions():
    texts = {entry.text for entry in REFERENCES}
    written = {
        name: text
        for name, text in CONSTANTS.items()
        if name.isupper() and text not in texts
    }
    assert written == WORDING


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
