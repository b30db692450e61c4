"""The report of the replications: its form, and what happens when data is missing."""

import sys
from types import ModuleType

import pandas as pd
import pytest

from vignettes.replication import __main__ as runner
from vignettes.replication import report
from vignettes.replication.report import MissingData, Section


def test_tables_are_aligned_markdown():
    table = pd.DataFrame(
        {"ECE": ["0.1 ± 0.0", "0.02"], "n": [5, 1000]}, index=["a|b", "c"]
    ).rename_axis("method")
    assert report.markdown_table(table).split("\n") == [
        "| method | ECE       |    n |",
        "| ------ | --------- | ---: |",
        "| a\\|b   | 0.1 ± 0.0 |    5 |",
        "| c      | 0.02      | 1000 |",
    ]


def test_an_index_without_a_name_has_no_heading():
    one = pd.DataFrame({"x": [1]}, index=["a"])
    assert report.markdown_table(one).startswith("|     |   x |\n")
    pairs = pd.MultiIndex.from_tuples([("a", "ECE")], names=[None, "measure"])
    two = pd.DataFrame({"x": [1]}, index=pairs)
    assert report.markdown_table(two).startswith("|     | measure |   x |\n")


def test_sections_as_text_and_markdown(tmp_path):
    section = Section(
        "Figure 1",
        "\none\nline\n\nanother\n",
        tables={"A table": pd.DataFrame({"x": [1.0, float("nan")]})},
        printed={"A summary": "a  b"},
        figures={"A figure": tmp_path / "figure.png"},
    )
    text = report.as_text(section)
    assert text.startswith("Figure 1\n--------\n\none line\n\nanother\n\nA table")
    assert f"figure: {tmp_path}" in text
    markdown = report.as_markdown(section, tmp_path)
    assert markdown.startswith("### Figure 1\n\none line\n\nanother\n\n**A table**")
    assert "```text\na  b\n```" in markdown
    assert "![A figure](figure.png)" in markdown


def test_mean_and_sd():
    assert report.mean_sd([0.1, 0.2, 0.3]) == "0.200 ± 0.100"
    assert report.mean_sd([0.25], 2) == "0.25"


def test_data_is_looked_for_where_it_should_be(monkeypatch, tmp_path):
    (tmp_path / "some").mkdir()
    monkeypatch.setenv("DISTFREEUQ_DATA", str(tmp_path))
    assert report.data_folder("some") == tmp_path / "some"
    with pytest.raises(MissingData, match="'other' is not in DISTFREEUQ_DATA"):
        report.data_folder("other")


@pytest.fixture
def three(monkeypatch):
    """Replications that work, lack their data, and fail."""

    def add(name, run):
        module = ModuleType(f"vignettes.replication.{name}", f"Paper {name}.\n\nMore.")
        module.run = run
        monkeypatch.setitem(sys.modules, module.__name__, module)

    def works(folder, quick):
        (folder / "x.png").write_bytes(b"")
        return [Section("Works", f"quick is {quick}", figures={"X": folder / "x.png"})]

    def lacks(folder, quick):
        raise MissingData("data set 'x' is not there.")

    def fails(folder, quick):
        raise ZeroDivisionError("no")

    add("paper_one", works)
    add("paper_two", lacks)
    add("paper_three", fails)
    monkeypatch.setattr(runner, "REPLICATIONS", ["paper_one", "paper_two"])
    return monkeypatch


def test_report_has_all_and_says_what_was_skipped(three, tmp_path, capsys):
    assert runner.main([str(tmp_path / "new"), "--quick"]) == 0
    text = (tmp_path / "new" / "replication.md").read_text(encoding="utf-8")
    assert "## Paper paper_one\n\n### Works\n\nquick is True\n\n![X](x.png)" in text
    assert "*Skipped: data set 'x' is not there.*" in text
    assert "quick run" in text
    shown = capsys.readouterr().out
    assert "[2/2] paper_two" in shown and "skipped: data set 'x'" in shown
    assert runner.main([str(tmp_path), "--only", "paper_one"]) == 0
    text = (tmp_path / "replication.md").read_text(encoding="utf-8")
    assert "quick is False" in text and "quick run" not in text


def test_failure_does_not_stop_the_others(three, tmp_path, capsys):
    three.setattr(runner, "REPLICATIONS", ["paper_three", "paper_one"])
    assert runner.main([str(tmp_path)]) == 1
    text = (tmp_path / "replication.md").read_text(encoding="utf-8")
    assert "failed: ZeroDivisionError" in text and "### Works" in text
    assert "failed: paper_three" in capsys.readouterr().out


def test_replications_are_found():
    assert {"paper_a_conformal", "paper_a_binning", "paper_a_sizes", "paper_b"} <= set(
        runner.REPLICATIONS
    )


def test_one_replication_by_itself(tmp_path, capsys):
    def run(folder, quick):
        return [Section("A section", "with text")]

    report.main("A title.\n\nMore.", run, [str(tmp_path / "figures")])
    assert capsys.readouterr().out.startswith("A title\n\nA section\n---------\n")
    assert (tmp_path / "figures").is_dir()


def test_a_real_one(tmp_path):
    """The quickest of them from end to end."""
    assert runner.main([str(tmp_path), "--quick", "--only", "paper_a_sizes"]) == 0
    text = (tmp_path / "replication.md").read_text(encoding="utf-8")
    assert "| size: weights" in text
    assert (tmp_path / "paper-a-sizes.png").stat().st_size > 10_000
