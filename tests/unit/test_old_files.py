"""Files of earlier versions load, and give the numbers that they gave then."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._base import persistence
from distfreeuq._base.files import format1
from tests.files.write_format2 import numbers_of

FOLDER = Path(__file__).parents[1] / "files" / "format1"
FILES = sorted(path.stem for path in FOLDER.glob("*.npz") if path.stem != "recorded")
with np.load(FOLDER / "recorded.npz") as archive:
    RECORDED = {name: archive[name] for name in archive.files}
PROBS, LOGITS, TWO = RECORDED["probs"], RECORDED["logits"], RECORDED["two"]
X, WEIGHTS = RECORDED["x"], RECORDED["w"]
UNIFORMS = np.full(len(PROBS), 0.5)


def predicted(name: str, fit: Any) -> Any:
    """Return what was recorded under ``name.predict``, computed anew."""
    if isinstance(fit, dfu.ConformalResult):
        weights = (WEIGHTS,) if name == "covariate-shift-conformal" else ()
        return fit.predict(PROBS, *weights, uniforms=UNIFORMS).mask
    if name.startswith(("bins", "isotonic")):
        return fit.predict(TWO if "two" in name else PROBS)
    return fit.predict(LOGITS)


def numbers(fit: Any) -> Any:
    return fit.to_frame().select_dtypes("number").to_numpy(np.float64)


AGAIN = {
    "frame": lambda name, fit: numbers(fit),
    "predict": predicted,
    "confint": lambda name, fit: fit.confint(),
    "adapt": lambda name, fit: fit.adapt(PROBS),
    "weight": lambda name, fit: fit.weight(X),
    "logits": lambda name, fit: fit.logits(X),
}
# Intervals of estimated weights that fell short have been replaced since.
REPLACED = ("bbse", "bbse-soft", "rlls", "mlls", "mlls-uncalibrated")
CASES = [key.rsplit(".", 1) for key in RECORDED if "." in key and RECORDED[key].size]


def test_there_is_a_record_of_every_file():
    assert len(FILES) == 58
    assert {name for name, what in CASES if what == "frame"} == set(FILES)


@pytest.mark.parametrize(("name", "what"), CASES, ids=".".join)
def test_an_old_file_gives_the_numbers_of_its_day(name, what):
    fit, recorded = dfu.load(FOLDER / f"{name}.npz"), RECORDED[f"{name}.{what}"]
    if name in REPLACED and what == "frame":
        estimates = np.s_[:, :3]
        np.testing.assert_array_equal(numbers(fit)[estimates], recorded[estimates])
        return
    if name in REPLACED and what == "confint":
        if name.startswith("mlls"):
            found = fit.confint(method="likelihood")
            np.testing.assert_array_equal(found, recorded)
        assert (fit.confint() != recorded).any()
        return
    # NumPy's exponentials differ in the last bit between releases and processors.
    np.testing.assert_allclose(AGAIN[what](name, fit), recorded, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", FILES)
def test_an_old_file_is_saved_as_a_new_one(name, tmp_path):
    old = dfu.load(FOLDER / f"{name}.npz")
    old.save(tmp_path / "new.npz")
    assert str(dfu.load(tmp_path / "new.npz")) == str(old)


FORMAT_2 = FOLDER.with_name("format2")
SINCE_FORMAT_2 = sorted(
    path.stem for path in FORMAT_2.glob("*.npz") if path.stem != "recorded"
)


@pytest.mark.filterwarnings("ignore:Every row of:distfreeuq.LikelyMistakeWarning")
@pytest.mark.parametrize("name", SINCE_FORMAT_2)
def test_a_file_of_format_2_gives_the_numbers_of_its_day(name):
    found = numbers_of(dfu.load(FORMAT_2 / f"{name}.npz"))
    with np.load(FORMAT_2 / "recorded.npz") as record:
        kept = [key for key in record.files if key.rpartition(".")[0] == name]
        assert kept
        for key in kept:
            again = found[key.rpartition(".")[2]]
            np.testing.assert_allclose(again, record[key], rtol=1e-9, err_msg=key)


def test_there_is_a_file_of_every_kind_of_result():
    def parts(value: Any) -> set[type]:
        if isinstance(value, tuple):
            return set().union(*map(parts, value))
        if type(value) not in persistence._tags:
            return set()
        fields = [getattr(value, field.name) for field in dataclasses.fields(value)]
        return {type(value)}.union(*map(parts, fields))

    files = [dfu.load(FORMAT_2 / f"{name}.npz") for name in SINCE_FORMAT_2]
    found = set().union(*map(parts, files))
    missing = {cls.__name__ for cls in persistence._tags.keys() - found}
    # of which no result is made
    assert missing == {"Box", "Polytope", "BrierDecomposition", "OwnScore"}


def test_every_old_name_has_a_tag_of_its_own():
    assert len(set(format1.TAGS.values())) == len(format1.TAGS)
    for tag in format1.TAGS.values():
        persistence._class_of(tag)


def test_a_class_may_translate_the_fields_of_format_1(monkeypatch):
    def renamed(fields: dict[str, Any]) -> dict[str, Any]:
        return {**today(fields), "title": fields["title"] + ", translated"}

    path, cls = FOLDER / "split-aps.npz", persistence._class_of("split-conformal")
    today = cls._from_format1
    monkeypatch.setattr(cls, "_from_format1", staticmethod(renamed), raising=False)
    fit = dfu.load(path)
    assert fit.title.endswith(", translated")
    monkeypatch.undo()
    assert dfu.load(path).title + ", translated" == fit.title
