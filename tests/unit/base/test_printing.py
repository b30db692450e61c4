"""Summaries in all four forms: well-formed, aligned, escaped, and always the same."""

import copy
import csv
import html.parser
import io
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from statsmodels.iolib import table as statsmodels_table
from statsmodels.iolib.summary import Summary

import distfreeuq as dfu
from distfreeuq._base.layout import Page, display_width
from distfreeuq._base.printing import (
    GuaranteeSummary,
    Table,
    class_name,
    guarantee_notes,
    number,
    summarize,
)
from tests.unit.argument_data import LABELS, PLAIN, PROBS
from tests.unit.odd_values import RaisesAsText

HARD = [
    "<script>alert('x')</script>",
    r"\input{secret} % & $x$ _a^b~#|{",
    '[0pt] * "quoted", comma',
]
HARD_FIT = dfu.split_conformal(PROBS, [HARD[k] for k in LABELS], classes=HARD, rng=0)
SETS = HARD_FIT.predict(PROBS)
MANY = dfu.split_conformal(np.full((20, 1000), 1e-3), np.arange(20), score="lac")
RESULTS: dict[str, Any] = {
    "fit": PLAIN,
    "fit, hard names": HARD_FIT,
    "sets": SETS,
    "no sets": SETS[:0],
    "coverage": SETS.evaluate([HARD[k] for k in LABELS]),
    "coverage of nothing": SETS[:0].evaluate([]),
    "label-conditional": dfu.label_conditional_conformal(
        PROBS, LABELS, alpha=0.4, rng=0
    ),
    "many classes": MANY,
}
every_result = pytest.mark.parametrize("name", RESULTS)


@every_result
def test_summary_is_statsmodels_own(name):
    summary = RESULTS[name].summary()
    assert isinstance(summary, Summary)
    assert str(summary) == summary.as_text() == str(RESULTS[name])
    assert RESULTS[name]._repr_html_() == summary._repr_html_() == summary.as_html()
    assert summary._repr_latex_() == summary.as_latex()
    for table in summary.tables:
        assert table.as_text() and table.as_html() and table.as_latex_tabular()
        assert table.as_csv()


@every_result
def test_rules_are_equal_and_lines_end_where_they_end(name):
    lines = str(RESULTS[name]).split("\n")
    rules = [line for line in lines if set(line) in ({"="}, {"-"})]
    assert len(rules) >= 3 and len({len(rule) for rule in rules}) == 1
    for line in lines:
        assert line == line.rstrip()
        assert 0 < display_width(line) <= len(rules[0])


@every_result
def test_the_same_result_prints_the_same_bytes(name):
    one, other = RESULTS[name].summary(), RESULTS[name].summary()
    for form in ("as_text", "as_html", "as_latex", "as_csv"):
        assert getattr(one, form)() == getattr(one, form)() == getattr(other, form)()


@pytest.mark.slow
def test_another_process_prints_the_same_bytes():
    code = (
        "import distfreeuq as dfu\n"
        "fit = dfu.split_conformal([[0.75, 0.25]] * 30, [0, 1] * 15, rng=3)\n"
        "print(fit, fit.summary().as_html(), fit.summary().as_latex())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_statsmodels_global_formats_are_left_alone():
    names = [
        "default_txt_fmt",
        "default_html_fmt",
        "default_csv_fmt",
        "default_latex_fmt",
    ]
    before = copy.deepcopy([getattr(statsmodels_table, name) for name in names])
    for result in RESULTS.values():
        summary = result.summary()
        summary.as_text(), summary.as_html(), summary.as_latex(), summary.as_csv()
    assert [getattr(statsmodels_table, name) for name in names] == before


# --------------------------------------------------------------------------- HTML


class Outline(html.parser.HTMLParser):
    """Checks that tags nest, and collects the text of each cell and each note."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.cells: list[str] = []
        self.rows: list[int] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        if tag in ("td", "th", "dt", "dd", "caption"):
            self.cells.append("")
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th", "dt", "dd", "caption"):
            self.cells[-1] += data
        else:
            assert data.strip() == ""


@every_result
def test_html_is_well_formed(name):
    outline = Outline()
    outline.feed(RESULTS[name].summary().as_html())
    outline.close()
    assert outline.open == []
    assert outline.rows and min(outline.rows) >= 2
    assert "Guarantee" in outline.cells


def test_html_shows_names_and_does_not_run_them():
    page = HARD_FIT.summary().as_html()
    assert "<script" not in page
    outline = Outline()
    outline.feed(page)
    for name in HARD:
        assert class_name(name) in outline.cells


# -------------------------------------------------------------------------- LaTeX


def cells_of(line: str) -> list[str]:
    """Split a row of a tabular at the ampersands that are not escaped."""
    assert line.endswith(r" \\")
    return re.split(r"(?<!\\) & ", line.removesuffix(r" \\"))


@every_result
def test_latex_tables_have_one_cell_per_column(name):
    page = RESULTS[name].summary().as_latex()
    tables = re.findall(
        r"\\begin\{tabular\}\{([lr]+)\}\n\\toprule\n(.*?)\n\\bottomrule\n\\end\{tabular\}",
        page,
        flags=re.DOTALL,
    )
    assert len(tables) == page.count(r"\begin{tabular}") == page.count(r"\end{tabular}")
    assert len(tables) == len(RESULTS[name].summary().tables)
    for columns, body in tables:
        for line in body.split("\n"):
            if line != r"\midrule":
                assert len(cells_of(line)) == len(columns)
                assert line.startswith("{")


@every_result
def test_latex_has_no_stray_special_character(name):
    page = RESULTS[name].summary().as_latex()
    escaped = re.sub(r"\\[#$%&_{}]|\\text[a-z]+\{\}|\\\\", "", page)
    assert not re.search(r"[#$%_^~|<>]", escaped)
    depth = 0
    for brace in re.findall(r"[{}]", escaped):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    words = set(re.findall(r"\\[a-zA-Z]+", escaped))
    layout = {"begin", "end", "toprule", "midrule", "bottomrule", "noindent", "par"}
    assert {word[1:] for word in words} <= layout | {"textbf"}


# ---------------------------------------------------------------------------- CSV


def test_csv_is_read_back_whole():
    rows = list(csv.reader(io.StringIO(HARD_FIT.summary().as_csv())))
    assert rows[0] == ["Split conformal prediction sets"]
    assert ["Classes", "3"] in rows
    assert [row[0] for row in rows if len(row) == 4][1:] == [
        class_name(x) for x in HARD
    ]
    assert rows[-1][0] == "By"


def test_csv_has_every_class_where_text_is_shortened():
    rows = list(csv.reader(io.StringIO(MANY.summary().as_csv())))
    assert [row[0] for row in rows if len(row) == 4][1:] == [
        str(k) for k in range(1000)
    ]
    text = str(MANY)
    assert text.count("\n") < 60
    assert re.search(
        r"^\(971 more\) +\.\.\. +\.\.\. +\.\.\.$", text, flags=re.MULTILINE
    )
    assert re.search(r"^999 ", text, flags=re.MULTILINE)


@pytest.mark.parametrize("n_rows", [29, 30, 31])
def test_only_tables_beyond_thirty_rows_are_shortened(n_rows):
    rows = [[f"row {i}", str(i)] for i in range(n_rows)]
    text = str(summarize("t", [("a", "b")], [Table(["x", "y"], rows)], []))
    assert ("more)" in text) == (n_rows > 30)
    if n_rows == 31:
        assert "(2 more)" in text


# ------------------------------------------------------------------------- layout


def test_columns_are_aligned_by_display_width():
    rows = [["日本", "1"], ["ab", "22"], ["e\u0301", "333"], ["👍🏽"[0], "4444"]]
    lines = str(summarize("t", [], [Table(["name", "value"], rows)], [])).split("\n")
    widths = {display_width(line) for line in lines[2:] if set(line) - {"=", "-"}}
    assert len(widths) == 1


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("", 0),
        ("日本", 4),
        ("e\u0301", 1),
        ("\uff21", 2),
        ("🎲", 2),
        ("a\u200bb", 2),
    ],
)
def test_display_width(text, width):
    assert display_width(text) == width


def test_an_odd_number_of_facts_and_none_at_all():
    text = str(
        summarize("t", [("a", "1"), ("b", "2"), ("c", "3")], [], [("By", "me.")])
    )
    rows = text.split("\n")[2:4]
    assert [row.split() for row in rows] == [["a:", "1", "c:", "3"], ["b:", "2"]]
    assert str(summarize("title", [], [], [])).split("\n")[0].strip() == "title"


def test_wide_tables_widen_the_page():
    table = Table([f"column {i}" for i in range(12)], [["x" * 12] * 12])
    lines = str(summarize("t", [("a", "b")], [table], [("By", "word " * 60)])).split(
        "\n"
    )
    rule = next(line for line in lines if set(line) == {"="})
    assert len(rule) == 12 * 12 + 11 * 3
    assert max(map(len, lines)) == len(rule)


def test_a_table_without_rows_is_left_out():
    summary = summarize("t", [("a", "b")], [Table(["x", "y"], [])], [])
    assert "x" not in summary.as_text() and len(summary.tables) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0000"),
        (0.87654321, "0.8765"),
        (1e-9, "1.0e-09"),
        (-1e-9, "-1.0e-09"),
        (0.00005, "0.0001"),
        (123456.5, "123456.5000"),
        (1234567.0, "1.235e+06"),
        (np.inf, "inf"),
        (-np.inf, "-inf"),
        (np.nan, "nan"),
        (np.float32(0.5), "0.5000"),
    ],
)
def test_numbers_in_tables(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("benign", "benign"),
        (3, "3"),
        (None, "None"),
        (("a", 1), "('a', 1)"),
        ("two\nlines\t here", "two lines here"),
        ("", "''"),
        ("   ", "'   '"),
        ("x" * 28, "x" * 28),
        ("x" * 29, "x" * 13 + "..." + "x" * 12),
        ("region: " + 9_000 * "north " + "store 12", "region: north...rth store 12"),
        ("日" * 14, "日" * 14),
        ("日" * 15, "日" * 6 + "..." + "日" * 6),
        ("e" + 200 * "\u0301", "e" + 27 * "\u0301" + "..." + 28 * "\u0301"),
        ("bell\x07", r"bell\x07"),
        ("half \ud800", r"half \ud800"),
    ],
)
def test_class_names_in_tables(name, text):
    assert class_name(name) == text
    text.encode()  # and can be printed


def test_names_without_a_text_are_named_by_their_kind():
    assert class_name(RaisesAsText()) == "a RaisesAsText"
    assert class_name(10**5000) == "an int"


def test_the_footer_says_what_holds_needs_and_proves():
    limit = dfu.Guarantee(
        statement="errors vanish",
        kind="calibration",
        reference="Someone (1900), Thm 1",
        assumptions=("rows i.i.d.", "no shift"),
        finite_sample=False,
    )
    assert guarantee_notes(limit) == [
        ("Guarantee", "errors vanish (asymptotic: no claim at this sample size)"),
        ("Needs", "rows i.i.d.; no shift."),
        ("By", "Someone (1900), Thm 1."),
    ]
    assert guarantee_notes(dfu.NoGuarantee("nothing is known")) == [
        ("Guarantee", "none: nothing is known.")
    ]


def test_a_summary_can_be_copied():
    summary = GuaranteeSummary(Page("t", [("a", "b")], [], []))
    assert str(copy.deepcopy(summary)) == str(summary)


def test_very_long_names_print_at_once():
    # by the length squared, as it once was, this would take hours
    names = [f"{k:03d}" + 100_000 * "x" + f"{k:03d}" for k in range(200)]
    probs = np.full((400, 200), 1 / 200)
    labels = [names[i % 200] for i in range(400)]
    text = str(
        dfu.label_conditional_conformal(probs, labels, alpha=0.5, classes=names, rng=0)
    )
    assert "007xxxxxxxxxx...xxxxxxxxx007" in text
    assert max(map(len, text.splitlines())) < 120
