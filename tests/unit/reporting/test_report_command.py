"""The command: files read, written together, and refused with one sentence."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from distfreeuq.__main__ import main
from tests.unit.reporting.test_written_report import samples

NAMES = ["cat", "dog", "owl"]


def frames(n=200, m=80):
    probs, labels, target, truth = samples(n, m)
    columns = [f"prob_{name}" for name in NAMES]
    source = pd.DataFrame(probs, columns=columns)
    source.insert(0, "label", np.array(NAMES)[labels])
    new = pd.DataFrame(target, columns=columns)
    new.insert(0, "label", np.array(NAMES)[truth])
    new.insert(0, "id", [f"row {i}" for i in range(m)])
    return source, new


@pytest.fixture
def folder(tmp_path, monkeypatch):
    source, target = frames()
    source.to_csv(tmp_path / "source.csv", index=False)
    target.to_csv(tmp_path / "target.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*options, source="source.csv", target="target.csv"):
    return main(["report", source, target, "--quiet", *options])


def contents():
    return {path.name: path.read_bytes() for path in Path().iterdir()}


def refused(capsys, *options, **files):
    """Return the sentence, after the checks that nothing was written."""
    before = contents()
    capsys.readouterr()
    assert run(*options, **files) == 2
    after = contents()
    assert after == before
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    return line


def predictions(name="report-predictions.csv"):
    return pd.read_csv(name, index_col=0, dtype={"set": str}, keep_default_na=False)


def test_two_files_become_a_page_and_a_table(folder, capsys):
    assert run() == 0
    printed = capsys.readouterr().out
    assert "In short" in printed and "report: " in printed
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "source.csv" in page and page.rstrip().endswith("</html>")
    assert len(predictions()) == 80


def test_every_form_of_the_same_rows_gives_the_same_sets(folder, capsys):
    assert run() == 0
    first = predictions()
    source, target = frames()
    files = {}
    for name, frame in (("source", source), ("target", target)):
        frame.to_csv(f"{name}.tsv", sep="\t", index=False)
        frame.to_csv(f"{name}-comma.csv", sep=";", decimal=",", index=False)
        frame[frame.columns[::-1]].to_csv(f"{name}-order.csv", index=False)
        frame.to_csv(f"{name}-zip.csv.gz", index=False)
        frame.to_csv(f"{name}-mac.csv", index=False, lineterminator="\r")
        frame.to_csv(f"{name}-bom.csv", index=False, encoding="utf-8-sig")
        frame.to_csv(f"{name}-wide.csv", index=False, encoding="utf-16")
        probs = frame.filter(like="prob_").to_numpy()
        np.savez(
            f"{name}.npz",
            prob_=probs,
            classes=np.array(NAMES),
            label=frame["label"].to_numpy().astype(str),
        )
        files[name] = probs
    for form in (
        *("{}.tsv", "{}-comma.csv", "{}-zip.csv.gz", "{}-bom.csv"),
        *("{}-wide.csv", "{}-mac.csv", "{}.npz"),
    ):
        assert run(source=form.format("source"), target=form.format("target")) == 0
        found = predictions()
        assert found["set"].tolist() == first["set"].tolist(), form
    assert run(target="target-order.csv") == 0  # columns are known by their names
    assert predictions()["set"].tolist() == first["set"].tolist()


def test_an_archive_without_names_is_told_of_the_array_that_it_lacks(folder, capsys):
    source, target = frames()
    probs, new = (frame.filter(like="prob_").to_numpy() for frame in (source, target))
    label = source["label"].to_numpy().astype(str)
    np.savez("source.npz", prob_=probs, classes=np.array(NAMES), label=label)
    np.savez("target.npz", prob_=new)
    files = {"source": "source.npz", "target": "target.npz"}
    assert "an array 'classes'. Got no such array" in refused(capsys, **files)
    np.savez("target.npz", prob_=np.full((9, 2), 0.5))
    assert "Got '0', '1' instead" in refused(capsys, **files)
    numbers = np.array([NAMES.index(name) for name in label])
    np.savez("source.npz", prob_=probs, classes=np.array(NAMES), label=numbers)
    np.savez("target.npz", prob_=new, classes=np.array(NAMES))
    assert "which the array 'classes' names" in refused(capsys, **files)


def test_columns_are_named_one_by_one(folder, capsys):
    assert run("--id", "id", "-o", "prefix.html") == 0
    for name in ("source.csv", "target.csv"):
        frame = pd.read_csv(name)
        frame.columns = [column.removeprefix("prob_") for column in frame.columns]
        frame.to_csv(name, index=False)
    assert run("--id", "id", "--probs", "cat, dog,owl", "-o", "names.html") == 0
    written = [Path(f"{name}-predictions.csv") for name in ("prefix", "names")]
    assert written[0].read_bytes() == written[1].read_bytes()
    assert "--probs one,two,three names them" in refused(capsys)
    assert "sum to one" in refused(capsys, "--probs", "cat,dog")
    for names in ("cat,dog,emu", "cat,dog,owl,owl"):
        assert "that --probs names" in refused(capsys, "--probs", names)
    pd.read_csv("target.csv").drop(columns="dog").to_csv("target.csv", index=False)
    assert "'dog'" in refused(capsys, "--probs", "cat,dog,owl")


def test_percentages(folder, capsys):
    source, target = frames()
    for name, frame in (("source", source), ("target", target)):
        frame = frame.copy()
        numbers = frame.filter(like="prob_").columns
        frame[numbers] = (100 * frame[numbers]).map("{!r}%".format)
        frame.to_csv(f"{name}%.csv", index=False)
    files = {"source": "source%.csv", "target": "target%.csv"}
    assert "--percent reads percentages" in refused(capsys, **files)
    assert run("--percent", **files) == 0
    source.assign(**100 * source.filter(like="prob_")).to_csv("100.csv", index=False)
    assert "--percent divides by 100" in refused(capsys, source="100.csv")


def test_rounded_probabilities_are_renormalized_when_asked(folder, capsys):
    source, _ = frames()
    source.round(2).to_csv("rounded.csv", index=False)
    told = refused(capsys, source="rounded.csv")
    assert "--renormalize" in told and "sum to one" in told
    assert run("--renormalize", source="rounded.csv") == 0
    assert "off one by up to" in capsys.readouterr().out


def test_logits(folder, capsys):
    source, target = frames()
    for name, frame in (("source", source), ("target", target)):
        numbers = frame.filter(like="prob_").columns
        frame[numbers] = np.log(frame[numbers]) + 3.0
        frame.to_csv(f"logits-{name}.csv", index=False)
    files = {"source": "logits-source.csv", "target": "logits-target.csv"}
    assert "--logits makes probabilities" in refused(capsys, **files)
    assert run("--logits", **files) == 0
    assert "Got probabilities instead" in refused(capsys, "--logits")


def test_logits_of_masked_classes(folder, capsys):
    source, target = frames()
    numbers = [f"prob_{name}" for name in NAMES]
    for name, frame in (("source", source), ("target", target)):
        frame[numbers] = np.log(frame[numbers]) + 3.0
        frame.loc[frame.label != "owl", "prob_owl"] = -np.inf
        frame.to_csv(f"masked-{name}.csv", index=False)
    files = {"source": "masked-source.csv", "target": "masked-target.csv"}
    told = refused(capsys, **files)
    assert "finite numbers in the column 'prob_owl'" in told
    assert run("--logits", **files) == 0
    for value, expected in ((-np.inf, "a finite logit in every row"), (np.inf, "inf")):
        source.loc[3, numbers] = value
        source.to_csv("masked-source.csv", index=False)
        told = refused(capsys, "--logits", **files)
        assert "have" in told and expected in told


def test_one_column_is_of_class_one_or_of_the_label_named(folder, capsys):
    source, target = frames()
    one = pd.DataFrame({"p": source["prob_cat"], "label": (source.label == "cat") * 1})
    new = pd.DataFrame({"p": target["prob_cat"]})
    one.to_csv("one.csv", index=False)
    new.to_csv("new.csv", index=False)
    files = {"source": "one.csv", "target": "new.csv"}
    assert run("--probs", "p", **files) == 0
    assert list(predictions().columns[-2:]) == ["prob_0", "prob_1"]
    one.assign(label=one.label.map({0: "ill", 1: "well"})).to_csv("w.csv", index=False)
    files["source"] = "w.csv"
    assert "--positive" in refused(capsys, "--probs", "p", **files)
    assert run("--probs", "p", "--positive", "well", **files) == 0
    assert list(predictions().columns[-2:]) == ["prob_ill", "prob_well"]


def test_names_of_rows_and_labels_of_some(folder, capsys):
    _, target = frames()
    target.loc[10:, "label"] = ""
    target.to_csv("some.csv", index=False)
    assert run("--id", "id", "--target-label", "label", target="some.csv") == 0
    assert predictions().index[0] == "row 0"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Coverage counted on labelled target rows" in page


def test_json_goes_to_a_file_or_to_standard_output(folder, capsys):
    assert run("--json", "all.json") == 0
    capsys.readouterr()
    assert run("--json", "-") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((folder / "all.json").read_text(encoding="utf-8"))
    assert printed["classes"] == NAMES


def test_predictions_as_npz(folder, capsys):
    assert run("--predictions", "p.npz") == 0
    with np.load("p.npz") as found:
        assert found["probs"].shape == (80, 3)
        assert found["classes"].tolist() == NAMES


def test_parquet_there_and_back(folder, capsys):
    pytest.importorskip("pyarrow")
    source, target = frames()
    source.to_parquet("source.parquet")
    target.to_parquet("target.parquet")
    files = {"source": "source.parquet", "target": "target.parquet"}
    assert run() == 0
    first = predictions()
    assert run("--predictions", "p.parquet", **files) == 0
    found = pd.read_parquet("p.parquet")
    assert found["set"].tolist() == first["set"].tolist()


def test_without_pyarrow_parquet_is_refused_with_a_remedy(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (folder / "source.parquet").write_bytes(b"PAR1")
    assert "pip install pyarrow" in refused(capsys, source="source.parquet")
    assert "pip install pyarrow" in refused(capsys, "--predictions", "p.parquet")


def write(name, text, encoding="utf-8"):
    with open(name, "w", encoding=encoding, newline="") as file:
        file.write(text)


HEAD = "label,prob_cat,prob_dog,prob_owl\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "begin with a line of column names"),
        (HEAD, "have rows under the column names"),
        ("label,a,b\ncat,0.5,0.5\n", "columns whose names begin with"),
        ("y,prob_cat,prob_dog,prob_owl\ncat,.2,.3,.5\n", "the column 'label'"),
        (HEAD + "cow,0.2,0.3,0.5\n", "Got 'cow' in data row 1"),
        (HEAD + "cat,0.2,0.3,0.5\n,0.2,0.3,0.5\n", "none in data row 2"),
        (HEAD + "cat,0.2,,0.8\n", "Got nothing in data row 1"),
        (HEAD + "cat,0.2,x,0.8\n", "Got 'x' in data row 1"),
        (HEAD + "cat,0.2,nan,0.8\n", "Got nan in data row 1"),
        (HEAD + "cat,0.2,0.3,0.9\n", "Got the sum 1.4 in data row 1"),
        (HEAD + "cat,-0.2,0.3,0.9\n", "Got -0.2 in data row 1"),
        (HEAD + "cat,0.2,0.3,0.5,7\n", "have 4 values in every row"),
        (HEAD + "cat,.2,.3,.5\ncat,.2,.3,.5,7\n", "have 4 values in every row"),
        (HEAD + "cat,0.2,0.8\n", "have numbers in the column 'prob_owl'"),
        ("label,prob_cat,prob_cat\ncat,1,0\n", "have every column once"),
        ("label,prob_cat\ncat,1\n", "two classes at least"),
        ('label,prob_cat,prob_dog\n"cat,1,0\n', "have 3 values in every row"),
        ("x" * 200_000 + ",label\n", "begin with a line of column names"),
    ],
)
def test_bad_files_are_refused_in_a_sentence(folder, capsys, text, told):
    write("bad.csv", text)
    line = refused(capsys, source="bad.csv")
    assert told in line and "'bad.csv'" in line and line.endswith(".")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("label,prob_\n", "all the source's classes 'cat', 'dog', 'owl'"),
        ("label,prob_\ncat,0.5\n", "Got the single column 'prob_'"),
    ],
)
def test_a_target_of_one_column_is_none_of_three_classes(folder, capsys, text, told):
    write("bad.csv", text)
    assert told in refused(capsys, target="bad.csv")


@pytest.mark.parametrize(
    ("options", "files", "told"),
    [
        ([], {"source": "none.csv"}, "must exist"),
        ([], {"source": "source.xlsx"}, "must be CSV"),
        ([], {"source": "bad.npz"}, "NumPy archive"),
        ([], {"source": "uneven.npz"}, "one number per row in 'prob_dog'"),
        ([], {"target": "uneven.npz"}, "one number per row in 'prob_dog'"),
        ([], {"source": "scalar.npz"}, "columns whose names begin"),
        ([], {"target": "less.csv"}, "'prob_owl'"),
        ([], {"target": "more.csv"}, "no probability columns that the source lacks"),
        ([], {"source": "latin.csv"}, "byte 0xfc in line 2"),
        ([], {"source": "cut.csv.gz"}, "damaged or cut"),
        (["-o", "no/such/page.html"], {}, "'--output' parameter"),
        (["-o", ""], {}, "'--output' parameter"),
        (["-o", "."], {}, "'--output' parameter"),
        (["--encoding", "punycode"], {}, "punycode text"),
        (["-o", "source.csv"], {}, "neither read nor written besides"),
        (["--predictions", "report.html"], {}, "must end with .csv"),
        (["--json", "report.html"], {}, "neither read nor written besides"),
        (["--alpha", "1.5"], {}, "'alpha' parameter"),
        (["--score", "none"], {}, "'score' parameter"),
        (["--id", "name"], {}, "have the column 'name'"),
        (["--encoding", "klingon"], {}, "an encoding that Python knows"),
        (["--target-label", "truth"], {}, "have the column 'truth'"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(folder, capsys, options, files, told):
    source, target = frames()
    source.to_csv("source.xlsx")
    (folder / "bad.npz").write_bytes(b"PK\x03\x04 nothing")
    uneven = {f"prob_{name}": np.full(3 - i, 0.2) for i, name in enumerate(NAMES)}
    np.savez("uneven.npz", label=source["label"].to_numpy().astype(str), **uneven)
    np.savez("scalar.npz", prob_a=np.datetime64("2020-01-01"), label=np.array(["a"]))
    (folder / "cut.csv.gz").write_bytes(b"\x1f\x8b\x08\x00 nothing at all")
    target.drop(columns="prob_owl").to_csv("less.csv", index=False)
    target.assign(prob_cow=0.0).to_csv("more.csv", index=False)
    write("latin.csv", HEAD + "Bär\xfc,0.2,0.3,0.5\n".replace("ä", "a"), "latin-1")
    (folder / "report.html").write_text("the old page")
    assert told in refused(capsys, *options, **files)


def test_a_file_in_another_encoding_is_read_when_named(folder, capsys):
    source, target = frames()
    renamed = {"prob_owl": "prob_B\xe4r"}
    source = source.rename(columns=renamed).replace({"label": {"owl": "B\xe4r"}})
    source.to_csv("latin.csv", index=False, encoding="latin-1")
    target.rename(columns=renamed).to_csv("new.csv", index=False, encoding="latin-1")
    files = {"source": "latin.csv", "target": "new.csv"}
    assert "--encoding" in refused(capsys, **files)
    assert run("--encoding", "latin-1", **files) == 0
    assert "B\xe4r" in (folder / "report.html").read_text(encoding="utf-8")


def test_labels_written_as_floats_or_with_blanks_are_known(folder, capsys):
    text = "label,prob_1,prob_2\n1.0,0.5,0.5\n 2 ,0.25,0.75\n" * 1
    write("a.csv", text)
    assert run(source="a.csv", target="a.csv") == 0


def test_nothing_is_replaced_if_writing_fails(folder, capsys, monkeypatch):
    from distfreeuq.reporting.files import written_together

    assert run() == 0
    names = ("report.html", "report-predictions.csv")
    before = [(folder / name).read_bytes() for name in names]
    real = written_together.replace_file

    def failing(target, write):
        if target.suffix == ".csv":
            raise OSError("No space left on device")
        real(target, write)

    monkeypatch.setattr(written_together, "replace_file", failing)
    assert run("--alpha", "0.3") == 2
    assert "No space left" in capsys.readouterr().err
    assert [(folder / name).read_bytes() for name in names] == before
    assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]


@pytest.mark.slow
def test_a_killed_command_leaves_whole_files(folder):
    """Killed at any moment: each file is the old one or the new one."""
    base = ["report", "source.csv", "target.csv", "--quiet", "--title"]
    names = ("report.html", "report-predictions.csv")
    seen = {name: set() for name in names}
    for title in ("one", "two"):
        assert main([*base, title, "--alpha", "0.1" if title == "one" else "0.3"]) == 0
        for name in names:
            seen[name].add((folder / name).read_bytes())
    moments = random.Random(0)
    code = (
        "import itertools, sys\n"
        "from distfreeuq.__main__ import main\n"
        "print('ready', flush=True)\n"
        "for i in itertools.count():\n"
        "    alpha = ('0.1', '0.3')[i % 2]\n"
        f"    main([*{base!r}, ('one', 'two')[i % 2], '--alpha', alpha])\n"
    )
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
        )
        child.stdout.readline()
        time.sleep(moments.uniform(0.5, 2.0))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        for name in names:
            assert (folder / name).read_bytes() in seen[name]
    assert main([*base, "one"]) == 0  # which removes what killed ones left behind
    assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]


def test_the_command_runs_as_a_module_and_imports_little(folder):
    code = (
        "import sys, distfreeuq\n"
        "assert 'distfreeuq.reporting' not in sys.modules\n"
        "import distfreeuq.__main__\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "distfreeuq", "report", "source.csv", "none.csv"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "must exist" in done.stderr
    assert "Traceback" not in done.stderr
