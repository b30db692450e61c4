"""Tallies as one JSON text: the same content, checks and digest as files."""

import dataclasses
import json

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._base import persistence
from distfreeuq._base.files.numbers import array_of_list, listed_of

RNG = np.random.default_rng(5)
PROBS = RNG.dirichlet([2, 1, 1], 60)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])
NAMES = np.array(["a", "b", "c"])
TALLIES = {
    "scores": dfu.tally(PROBS, LABELS, rng=2**80 + 1),
    "without labels": dfu.tally(PROBS),
    "grid, sums and names": dfu.tally(
        PROBS, NAMES[LABELS], rng=0, per_unit=50, n_bins=4, classes=NAMES
    ),
    "single precision": dfu.tally(PROBS.astype(np.float32), LABELS, score="margin"),
    "no rows": dfu.tally(PROBS[:0], LABELS[:0], rng=0),
}


@pytest.mark.parametrize("name", TALLIES)
def test_a_text_is_read_back_to_the_last_bit(name, tmp_path):
    one = TALLIES[name]
    text = one.to_json()
    again = dfu.Tally.from_json(text)
    assert again.to_json() == text
    assert (again + one).n == 2 * one.n
    one.save(tmp_path / "one.npz")
    in_file = json.loads(bytes(np.load(tmp_path / "one.npz")["json"]))
    assert json.loads(text)["digest"] == in_file["digest"]
    assert json.loads(text)["version"] == in_file["version"]


@pytest.mark.parametrize("kind", ["<f4", "<f8"])
def test_numbers_that_are_not_finite_are_read_back(kind):
    array = np.array([[np.nan, np.inf], [-np.inf, -0.0]], dtype=kind)
    again = array_of_list(json.loads(json.dumps(listed_of(array), allow_nan=False)))
    assert again.tobytes() == array.tobytes() and again.dtype == array.dtype


def test_its_arrays_are_numbers_that_people_read():
    arrays = json.loads(TALLIES["without labels"].to_json())["arrays"]
    counts = np.bincount(PROBS.argmax(axis=1))
    assert arrays["array1"] == {
        "dtype": "<i8",
        "shape": [3],
        "values": counts.tolist(),
    }


def _changed(change):
    document = json.loads(TALLIES["grid, sums and names"].to_json())
    change(document)
    return json.dumps(document)


def _set(where, value):
    def change(document):
        *path, last = where
        for key in path:
            document = document[key]
        document[last] = value

    return change


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "damaged"),
        ("[]", "damaged"),
        ("{}", "damaged"),
        (None, "no text"),
        (b"{}", "no text"),
        ('{"arrays": {"array0": NaN}}', "damaged"),
        (_changed(_set(["version"], 3)), "newer version"),
        (_changed(_set(["version"], True)), "damaged"),
        (_changed(_set(["format"], "other")), "damaged"),
        (_changed(_set(["digest"], "0" * 64)), "changed after"),
        (_changed(_set(["content", "fields", "scores"], None)), "changed after"),
        (_changed(_set(["arrays", "array0", "values", 0], 1)), "changed after"),
        (_changed(_set(["arrays", "array0", "values", 0], 0.0)), "damaged"),
        (_changed(_set(["arrays", "array0", "values", 0], 10**30)), "damaged"),
        (_changed(_set(["arrays", "array0", "dtype"], "O")), "damaged"),
        (_changed(_set(["arrays", "array0", "shape"], [10**9])), "damaged"),
        (_changed(_set(["arrays", "array0", "shape"], [-1, -9])), "damaged"),
        (_changed(_set(["arrays", "array99"], None)), "damaged"),
        (TALLIES["scores"].to_json()[:-1], "damaged"),
    ],
)
def test_what_is_no_tally_is_refused(text, why):
    with pytest.raises(dfu.InputError, match=f"'text'.*{why}"):
        dfu.Tally.from_json(text)


def test_counts_that_no_rows_have_are_refused_though_their_digest_is_right():
    counts = TALLIES["scores"].counts
    odd = dataclasses.replace(counts, counts=counts.counts + 1)
    forged = dataclasses.replace(TALLIES["scores"], counts=odd)
    with pytest.raises(dfu.InputError, match="scores of all rows"):
        forged.to_json()


def test_another_result_is_no_tally():
    fit = dfu.temperature_scaling(np.log(PROBS), LABELS)
    with pytest.raises(dfu.InputError, match="it holds no Tally"):
        dfu.Tally.from_json(persistence.to_text(fit))


def test_an_own_score_has_no_text():
    own = dfu.tally(PROBS, LABELS, score=lambda probs: 1 - probs, rng=0)
    with pytest.raises(dfu.InputError):
        own.to_json()


def test_three_sites_by_text_are_one_fit_of_all_rows():
    texts = [
        dfu.tally(PROBS[i::3], LABELS[i::3], rng=7, n_bins=5).to_json()
        for i in range(3)
    ]
    source = sum(map(dfu.Tally.from_json, reversed(texts)))
    whole = dfu.tally(PROBS, LABELS, rng=7, n_bins=5)
    assert source.to_json() == whole.to_json()
    fit = dfu.split_conformal(source)
    assert np.array_equal(
        fit.thresholds, dfu.split_conformal(PROBS, LABELS, rng=7).thresholds
    )
