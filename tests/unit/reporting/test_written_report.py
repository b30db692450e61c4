"""The page and what it is made of."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from distfreeuq._base import layout

HOSTILE = ["<script>alert(1)</script>", 'a & b; "c"', "</td><img src=x onerror=y>"]
VOID = {"meta", "br", "img", "link", "hr", "input"}


class Parsed(HTMLParser):
    """Elements, attributes and text of a page; unbalanced elements are an error."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def samples(n=300, m=120, k=3, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, 0.4), size=n + m)
    labels = np.array([rng.choice(k, p=row) for row in probs])
    return probs[:n], labels[:n], probs[n:], labels[n:]


@pytest.fixture(scope="module")
def made():
    probs, labels, target, truth = samples()
    known = [int(y) if i % 2 else None for i, y in enumerate(truth)]
    return dfu.report(probs, labels, target, labels_target=known, rng=0)


@pytest.fixture(scope="module")
def page(made):
    return Parsed(made.html)


def test_the_page_is_whole_and_loads_nothing(made, page):
    assert made.html.startswith("<!doctype html>")
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert "://" not in made.html
    for name, value in page.attributes:
        assert not name.startswith("on")
        if name in ("src", "href", "xlink:href"):
            assert value.startswith("#")
    urls = re.findall(r"url\(([^)]*)\)", made.html)
    assert all(url.startswith("#") for url in urls)
    assert "default-src 'none'" in made.html


def test_every_link_and_reference_has_its_element_and_no_id_occurs_twice(page):
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = {value[1:] for name, value in page.attributes if name == "href"}
    assert links <= set(ids)


def test_all_that_is_printed_is_on_the_page(made, page):
    text = " ".join(page.text)
    for part in made.sections:
        assert part.title in text
        for one in part.pages:
            for name, value in [*one.facts, *one.notes]:
                assert name in text and value in text
            for table in one.tables:
                for row in layout.shortened(table.rows):
                    assert all(cell in text for cell in row)


def test_sections_are_made_of_what_the_results_print(made):
    """Facts, rows and notes come from summaries; what does not is listed here."""
    results = (made.shift, made.fit, made.sets, made.performance, made.assessment)
    printed = [result.summary().page for result in (*results, made.coverage)]
    notes = {note for one in printed for note in one.notes}
    rows = {tuple(row) for one in printed for table in one.tables for row in table.rows}
    own_notes, own_rows = set(), set()
    for part in made.sections:
        for one in part.pages:
            own_notes |= {name for name, text in one.notes if (name, text) not in notes}
            own_rows |= {
                part.name
                for table in one.tables
                for row in table.rows
                if tuple(row) not in rows
            }
    assert own_notes == {
        "In words",
        "Made",  # without the labels that count the coverage
        "Warnings",
        "Verdict",
        "Needs",
        "Probabilities",
        "Guarantee",  # that there is none for the probabilities
        "Theory page",
    }
    assert own_rows == {"probabilities"}


def test_numbers_in_short_are_those_of_the_results(made):
    facts = dict(made.sections[0].pages[0].facts)
    first = made.performance
    assert facts["Accuracy: target"] == f"{first['accuracy']:.4f}"
    assert facts["Mean set size"] == f"{made.sets.sizes.mean():.3f}"
    assert facts["Empty sets"] == str((made.sets.sizes == 0).sum())
    assert facts["Target rows m"] == "120"


@pytest.mark.parametrize("shifted", [False, True])
def test_the_verdict_is_that_of_the_p_value(shifted):
    probs, labels, target, truth = samples(400, 2000)
    some = truth == 0 if shifted else slice(0, 300)
    result = dfu.report(probs, labels, target[some], rng=0)
    notes = result.sections[0].pages[0].notes
    equal, fits = (text for name, text in notes if name == "Verdict")
    assert ("not rejected" in equal) == (result.shift.test().p_value > 0.05)
    assert ("not rejected" in equal) == (not shifted)
    assert ("not rejected" in fits) == (result.shift.goodness_of_fit().p_value > 0.05)
    assert fits.startswith("label shift: ")


def warned(result):
    part = next(part for part in result.sections if part.name == "warnings")
    return " ".join(text for _, text in part.pages[0].notes)


def test_it_warns_of_classes_that_are_hardly_told_apart():
    rng = np.random.default_rng(0)
    weak = rng.dirichlet(np.full(3, 50.0), size=400)
    labels = np.array([rng.choice(3, p=row) for row in weak])
    assert "hardly tells some classes apart" in warned(
        dfu.report(weak[:300], labels[:300], weak[300:], rng=0)
    )
    probs, labels, target, _ = samples(2000, 500)
    assert "hardly tells" not in warned(dfu.report(probs, labels, target, rng=0))


def test_it_warns_where_recalibration_does_not_calibrate():
    probs, labels, target, truth = samples(3000, 3000)
    sharp = np.where(probs[:, :1] > 0.5, probs**3, probs**0.3)
    new = np.where(target[:, :1] > 0.5, target**3, target**0.3)
    sharp, new = (x / x.sum(axis=1, keepdims=True) for x in (sharp, new))
    told = warned(dfu.report(sharp, labels, new[truth > 0], rng=0))
    assert "nor does the recalibration" in told
    told = warned(dfu.report(probs, labels, target[truth > 0], rng=0))
    assert "nor does the recalibration" not in told


def test_labels_narrow_weights_and_performance_but_not_the_sets_they_judge(made):
    probs, labels, target, _ = samples()
    without = dfu.report(probs, labels, target, rng=0)
    widths = [np.ptp(one.shift.confint(), axis=1) for one in (made, without)]
    assert (widths[0] < widths[1]).all()
    assert "of 60 target rows are used" in made.performance.notes[0]
    assert np.array_equal(made.sets.mask, without.sets.mask)
    claim = {"claim": "asymptotic", "rng": 0}
    known = [0] * 40 + [None] * 80
    some = dfu.report(probs, labels, target, labels_target=known, **claim)
    none = dfu.report(probs, labels, target, **claim)
    assert np.array_equal(some.sets.mask, none.sets.mask)
    assert not np.allclose(some.fit.fit.label_weight, some.shift.label_weight)
    notes = [
        dict(next(part for part in one.sections if part.name == "sets").pages[0].notes)
        for one in (some, none)
    ]
    assert "made without the labels of target rows" in notes[0]["Made"]
    assert "Made" not in notes[1]


def test_the_same_number_is_not_printed_in_two_ways(made):
    pages = {part.name: part.pages[0] for part in made.sections}
    of_weights = {row[0]: row[2] for row in pages["shift"].tables[0].rows}
    assert dict(pages["performance"].tables[1].rows) == of_weights


def test_hostile_names_and_titles_are_text():
    probs, labels, target, _ = samples()
    names = np.array(HOSTILE)
    result = dfu.report(
        probs, names[labels], target, classes=HOSTILE, title=HOSTILE[0], rng=0
    )
    page = Parsed(result.html)
    assert not {"script", "img"} & set(page.tags)
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert "<script>alert(1)" in " ".join(page.text)


def test_sets_and_probabilities_of_the_target_rows(made):
    frame = made.to_frame()
    assert frame.columns[:3].tolist() == ["prediction", "set", "size"]
    np.testing.assert_array_equal(frame["size"], made.sets.sizes)
    for text, labels in zip(frame["set"], made.sets.labels(), strict=True):
        assert [part for part in text.split("; ") if part] == [str(y) for y in labels]
    probs = frame.filter(like="prob_").to_numpy()
    np.testing.assert_array_equal(
        probs, made.shift.adapt(made.shift.samples.probs_target)
    )


def test_the_index_of_a_frame_names_the_rows():
    probs, labels, target, _ = samples()
    names = ["a", "b", "c"]
    rows = [f"patient {i}" for i in range(len(target))]
    frame = pd.DataFrame(target, columns=names, index=pd.Index(rows, name="patient"))
    result = dfu.report(
        probs, np.array(names)[labels], frame, classes=names, rng=0
    ).to_frame()
    assert result.index.tolist() == rows and result.index.name == "patient"


def test_signs_between_labels_are_in_no_name():
    from distfreeuq.reporting.target_rows import separator

    for names in (["a; b", "c"], ["a;", "|", "/"], ["; | / // |||", "x"]):
        sign = separator(names)
        assert not any(sign.strip() in name for name in names)


def test_json_has_everything_and_no_nan(made):
    document = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert set(document) == {
        *("format", "distfreeuq", "title", "rows", "classes", "warnings", "tests"),
        *("weights", "prediction_sets", "coverage", "performance", "sections"),
        "bibtex",
    }
    assert document["format"] == 1
    assert document["rows"] == {"source": 300, "target": 120}
    weights = [row["weight"] for row in document["weights"]["by_class"]]
    np.testing.assert_allclose(weights, made.shift.label_weight)
    refuted = document["tests"]["label_shift"]["p_value"]
    assert refuted == made.shift.goodness_of_fit().p_value
    claim = document["prediction_sets"]["guarantee"]
    assert claim["statement"] == made.fit.guarantee.statement
    assert document["coverage"]["rows"] == 60
    titles = [part["title"] for part in document["sections"]]
    assert titles == [part.title for part in made.sections]


def test_citations_are_entries_of_what_is_cited(made):
    for claim in (made.fit.guarantee, made.coverage.guarantee):
        for entry in claim.bibtex.split("\n\n"):
            assert entry in made.bibtex
    assert made.sections[-1].code == made.bibtex
    for key in ("distfreeuq", "saerens2002", "alexandari2020", "romano2020"):
        assert f"{{{key}," in made.bibtex


def test_coverage_is_counted_on_the_labelled_rows_alone():
    probs, labels, target, truth = samples()
    known = [int(y) if i < 50 else None for i, y in enumerate(truth)]
    result = dfu.report(probs, labels, target, labels_target=known, rng=0)
    hits = result.sets.mask[np.arange(50), truth[:50]]
    assert result.coverage.n == 50
    assert result.coverage.coverage == hits.mean()
    floats = np.where(np.arange(len(truth)) < 50, truth, np.nan)
    again = dfu.report(probs, labels, target, labels_target=floats, rng=0)
    assert again.html == result.html
    none = dfu.report(probs, labels, target, labels_target=[None] * 120, rng=0)
    assert none.coverage is None


def test_tables_of_many_classes_are_cut_with_a_sentence():
    probs, labels, target, _ = samples(600, 100, 200)
    result = dfu.report(probs, labels, target, rng=0)
    assert "29 of 200 rows are shown" in result.html
    assert "No figure: 200 classes are more than 40." in result.html
    assert len(result.html) < 600_000
    rows = result.to_dict()["weights"]["by_class"]
    assert len(rows) == 200


@pytest.mark.parametrize(("n", "m", "k"), [(1, 1, 2), (3, 2, 3), (5, 40, 5)])
def test_a_few_rows_are_enough_for_a_page_with_warnings(n, m, k):
    probs, labels, target, _ = samples(n, m, k)
    result = dfu.report(probs, labels, target, rng=0)
    assert result.warnings
    first = dict(result.sections[0].pages[0].notes)
    assert first["Warning"] in [text for _, text in result.sections[1].pages[0].notes]


def test_labels_of_one_class_alone():
    probs, _, target, _ = samples(60, 30)
    result = dfu.report(probs, np.zeros(60, dtype=int), target, rng=0)
    assert result.warnings
    assert Parsed(result.html).tags.count("section") == len(result.sections)


def test_warnings_are_printed_not_raised_but_those_of_others_are(monkeypatch):
    import warnings

    from distfreeuq.reporting import written_report

    probs, labels, target, _ = samples(4, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dfu.report(probs, labels, target, rng=0).warnings

    def loud(*args, **options):
        warnings.warn("of another kind", DeprecationWarning, stacklevel=1)
        return dfu.assess(*args, **options)

    monkeypatch.setattr(written_report, "assess", loud)
    with pytest.warns(DeprecationWarning, match="of another kind"):
        dfu.report(probs, labels, target, rng=0)


def test_the_same_rows_give_the_same_bytes(made):
    probs, labels, target, truth = samples()
    known = [int(y) if i % 2 else None for i, y in enumerate(truth)]
    again = dfu.report(probs, labels, target, labels_target=known, rng=0)
    assert again.html == made.html


def test_the_page_is_written_whole_and_replaces_a_file(tmp_path):
    probs, labels, target, _ = samples()
    path = tmp_path / "page.html"
    path.write_text("old")
    result = dfu.report(probs, labels, target, rng=0, path=path)
    assert path.read_text(encoding="utf-8") == result.html
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "/no/such/folder/page.html"}, "'path' parameter of report"),
        ({"title": " "}, "'title' parameter of report"),
        ({"labels_target": [0, 1]}, "'labels_target' parameter of report"),
        ({"labels_target": [7] * 120}, "'labels_target' parameter of report"),
        ({"alpha": 2.0}, "'alpha' parameter"),
        ({"progress": "yes"}, "'progress' parameter of report"),
    ],
)
def test_what_is_refused(options, message):
    probs, labels, target, _ = samples()
    with pytest.raises(dfu.InputError, match=re.escape(message)):
        dfu.report(probs, labels, target, **options)


def test_text_and_notebooks(made):
    text = str(made)
    assert "In short" in text and "@article{clopper1934" in text
    frame = made._repr_html_()
    assert frame.startswith("<iframe srcdoc=") and "<!doctype" not in frame
