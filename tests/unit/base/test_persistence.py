"""What is saved is read back exactly, and nothing else is read at all."""

import dataclasses
import json
import math
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import InputError
from distfreeuq._base import persistence
from distfreeuq.results import Result
from tests.unit.argument_data import LABELS, PLAIN, PROBS, UNIFORMS, N


def assert_same(found: Any, saved: Any) -> None:
    """Compare to the bit, types and all."""
    assert type(found) is type(saved)
    if dataclasses.is_dataclass(saved):
        for field in dataclasses.fields(saved):
            assert_same(getattr(found, field.name), getattr(saved, field.name))
    elif isinstance(saved, np.ndarray):
        assert (found.dtype, found.shape) == (saved.dtype, saved.shape)
        assert found.tobytes() == saved.tobytes()
        assert not found.flags.writeable
    elif isinstance(saved, tuple):
        assert len(found) == len(saved)
        for one, other in zip(found, saved, strict=True):
            assert_same(one, other)
    elif isinstance(saved, float) and math.isnan(saved):
        assert math.isnan(found)
    else:
        assert found == saved


def again(result: Result, folder: Path) -> Any:
    result.save(folder / "result.npz")
    found = dfu.load(folder / "result.npz")
    assert_same(found, result)
    assert os.listdir(folder) == ["result.npz"]
    assert str(found) == str(result) and repr(found) == repr(result)
    return found


def named_fit(classes: list[Any]) -> Any:
    return dfu.split_conformal(
        PROBS, [classes[k] for k in LABELS], classes=classes, rng=0
    )


# -------------------------------------------------------------------- round trips


@pytest.mark.parametrize(
    "score",
    ["aps", "lac", "rank", "margin", dfu.RAPS(penalty=0.1 / 3, k_reg=2), dfu.SAPS(0.3)],
    ids=str,
)
def test_fits_of_every_score(score, tmp_path):
    fit = dfu.split_conformal(PROBS, LABELS, score=score, rng=0)
    found = again(fit, tmp_path)
    expected = fit.predict(PROBS, rng=3)
    np.testing.assert_array_equal(found.predict(PROBS, rng=3).mask, expected.mask)


@pytest.mark.parametrize(
    "classes",
    [
        ["benign", "malignant", "日本 🎲 \ud800"],
        [-1, 0, 2**70],
        [0.1, -0.0, math.inf],
        [False, True, None],
        ["a", 1, None],
        [("a", 1), ("a", 2.5), ((), None)],
        ["1", 1, 1.5],
    ],
    ids=ascii,
)
def test_class_names_of_every_kind(classes, tmp_path):
    fit = named_fit(classes)
    again(fit, tmp_path)
    sets = again(fit.predict(PROBS, rng=0), tmp_path)
    again(sets.evaluate([classes[k] for k in LABELS]), tmp_path)


def test_infinite_thresholds_and_undefined_coverage(tmp_path):
    with pytest.warns(dfu.SmallCalibrationWarning):
        fit = dfu.split_conformal(np.empty((0, 3)), [])
    assert np.isposinf(again(fit, tmp_path).thresholds).all()
    result = again(fit.predict(np.empty((0, 3))).evaluate([]), tmp_path)
    assert math.isnan(result.coverage) and math.isnan(result.mean_size)


def test_every_conformal_procedure(tmp_path):
    for fit in (
        dfu.split_conformal(PROBS, LABELS, never_empty=True, rng=0),
        dfu.split_conformal(PROBS, LABELS, alpha=0.3, confidence=0.9, rng=0),
        dfu.label_conditional_conformal(PROBS, LABELS, alpha=0.4, rng=0),
        dfu.label_conditional_conformal(PROBS, LABELS, alpha=[0.3, 0.4, 0.5], rng=0),
        dfu.covariate_shift_conformal(PROBS, LABELS, UNIFORMS, alpha=0.3, rng=0),
    ):
        again(fit, tmp_path)


def test_large_sets_that_are_views_of_others(tmp_path):
    sets = PLAIN.predict(PROBS, rng=0)
    again(sets[::2], tmp_path)
    again(sets[[3, 1]], tmp_path)
    assert not sets[::2].mask.flags.c_contiguous


def test_path_may_be_text_and_the_file_is_replaced(tmp_path):
    name = str(tmp_path / "fit")  # and no extension is added
    PLAIN.save(name)
    other = dfu.split_conformal(PROBS, LABELS, alpha=0.2, rng=0)
    other.save(name)
    assert dfu.load(name).alpha == 0.2
    assert os.listdir(tmp_path) == ["fit"]


def test_the_same_result_is_saved_as_the_same_bytes(tmp_path):
    PLAIN.save(tmp_path / "one")
    PLAIN.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_numpy_scalars_in_a_field_are_saved_as_numbers(tmp_path):
    fit = dataclasses.replace(PLAIN, n=np.int64(N), alpha=np.float64(0.1))
    fit.save(tmp_path / "fit")
    found = dfu.load(tmp_path / "fit")
    assert (found.n, found.alpha) == (N, 0.1) and type(found.n) is int


# ------------------------------------------------------------------ what save refuses


class Color:
    pass


@pytest.mark.parametrize("names", ["dates", "objects", "bytes"])
def test_class_names_without_a_form_on_disk_are_refused_before_writing(names, tmp_path):
    classes = {
        "dates": list(np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[D]")),
        "objects": [Color(), Color(), Color()],
        "bytes": [b"a", b"b", b"c"],
    }[names]
    fit = named_fit(classes)
    with pytest.raises(
        InputError, match="whose class names are strings, numbers, None"
    ):
        fit.save(tmp_path / "fit.npz")
    assert os.listdir(tmp_path) == []


def test_an_array_of_objects_is_not_pickled(tmp_path):
    fit = dataclasses.replace(PLAIN, scores=np.array([None], dtype=object))
    with pytest.raises(InputError, match="can be saved"):
        fit.save(tmp_path / "fit.npz")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "path", [None, 3, b"name", ["name"], "", ".", "missing/name", "\0"]
)
def test_where_nothing_can_be_saved(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InputError,
        match=r"^The 'path' parameter of save must be a file name in an existing",
    ):
        PLAIN.save(path)
    assert os.listdir(tmp_path) == []


def test_a_failure_midway_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    PLAIN.save(tmp_path / "fit")
    before = (tmp_path / "fit").read_bytes()
    written = []

    def fail_late(file, array, **options):
        written.append(array.nbytes)
        if len(written) == 3:
            raise OSError("no space left on device")
        file.write(bytes(100))

    other = dfu.split_conformal(PROBS, LABELS, alpha=0.2, rng=0)
    with monkeypatch.context() as patch:
        patch.setattr(np.lib.format, "write_array", fail_late)
        with pytest.raises(OSError, match="no space left"):
            other.save(tmp_path / "fit")
    assert len(written) == 3
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *paths: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            other.save(tmp_path / "fit")
    assert (tmp_path / "fit").read_bytes() == before
    assert os.listdir(tmp_path) == ["fit"]


# ------------------------------------------------------------------ what load refuses


def refused(why: str) -> Any:
    return pytest.raises(
        InputError,
        match="^The 'path' parameter of load must be a file written by a result's save "
        rf"method\. Got '.+' instead: {why}\.$",
    )


FOREIGN = "it is damaged or has another format"


def test_files_that_are_none_of_ours(tmp_path):
    file = tmp_path / "file"
    with refused("there is no such file"):
        dfu.load(file)
    with refused(r"it cannot be read \(.+\)"):
        dfu.load(tmp_path)
    for content in (b"", b"PK", b"name,value\na,1\n", bytes(1000), b"\x93NUMPY"):
        file.write_bytes(content)
        with refused(FOREIGN):
            dfu.load(file)
    np.save(tmp_path / "array.npy", PROBS)
    with refused(FOREIGN):
        dfu.load(tmp_path / "array.npy")
    np.savez(tmp_path / "arrays.npz", probs=PROBS)
    with refused(FOREIGN):
        dfu.load(tmp_path / "arrays.npz")
    np.savez(tmp_path / "arrays.npz", json=PROBS)
    with refused(FOREIGN):
        dfu.load(tmp_path / "arrays.npz")
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("json.npy", "no array")
    with refused(FOREIGN):
        dfu.load(tmp_path / "zip")


def test_a_damaged_file_is_noticed_wherever_it_is_damaged(tmp_path):
    PLAIN.save(tmp_path / "fit")
    whole = (tmp_path / "fit").read_bytes()
    for length in range(0, len(whole), 97):
        (tmp_path / "fit").write_bytes(whole[:length])
        with refused(FOREIGN):
            dfu.load(tmp_path / "fit")
    for position in np.linspace(0, len(whole) - 1, 60).astype(int):
        changed = bytearray(whole)
        changed[position] ^= 0xFF
        (tmp_path / "fit").write_bytes(changed)
        try:
            found = dfu.load(tmp_path / "fit")
        except InputError:
            continue
        assert_same(found, PLAIN)  # a byte that nobody reads, such as a time stamp


class Intruder:
    def __reduce__(self) -> Any:
        return os.mkdir, (os.environ["INTRUDER_FOLDER"],)


def test_a_pickle_is_not_executed(tmp_path, monkeypatch):
    monkeypatch.setenv("INTRUDER_FOLDER", str(tmp_path / "intruder"))
    (tmp_path / "pickle").write_bytes(pickle.dumps(Intruder()))
    with refused(FOREIGN):
        dfu.load(tmp_path / "pickle")
    hidden = np.array([Intruder()], dtype=object)
    np.savez(tmp_path / "hidden.npz", json=hidden)
    with refused(FOREIGN):
        dfu.load(tmp_path / "hidden.npz")
    assert not (tmp_path / "intruder").exists()
    pickle.loads((tmp_path / "pickle").read_bytes())
    assert (tmp_path / "intruder").exists()  # it would have been


def rewrite(path: Path, change: Any, *, sign: bool = False) -> None:
    """Change the JSON document of a saved result, and if asked its checksum too."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    document = json.loads(arrays["json"].tobytes())
    document = change(document) or document
    if sign:
        document["checksum"] = persistence._checksum(document["content"])
    arrays["json"] = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **arrays)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda d: d.update(version=2),
            "it was written by a newer version of distfreeuq",
        ),
        (lambda d: d.update(version=0), FOREIGN),
        (lambda d: d.update(version="1"), FOREIGN),
        (lambda d: d.pop("version") and None, FOREIGN),
        (lambda d: d.update(format="another"), FOREIGN),
        (lambda d: [d], FOREIGN),
        (
            lambda d: d.pop("content") and None,
            "its content was changed after it was saved",
        ),
        (
            lambda d: d.pop("checksum") and None,
            "its content was changed after it was saved",
        ),
        (
            lambda d: d["content"]["fields"].update(alpha=0.01),
            "its content was changed after it was saved",
        ),
    ],
)
def test_an_edited_document_is_refused(change, why, tmp_path):
    PLAIN.save(tmp_path / "fit")
    rewrite(tmp_path / "fit", lambda document: None)
    assert_same(dfu.load(tmp_path / "fit"), PLAIN)  # the rewriting itself is harmless
    rewrite(tmp_path / "fit", change)
    with refused(why):
        dfu.load(tmp_path / "fit")


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["content"].update(object="system"),
        lambda d: d["content"]["fields"].pop("alpha") and None,
        lambda d: d["content"]["fields"].update(surprise=1),
        lambda d: d["content"]["fields"]["thresholds"].update(array="array99"),
        lambda d: d["content"]["fields"]["thresholds"].update(array="array1"),
        lambda d: d["content"]["fields"]["thresholds"].update(shape=[2]),
        lambda d: d["content"]["fields"].update(alpha={"float": "x"}),
        lambda d: d["content"]["fields"].update(alpha={"unknown": 1}),
        lambda d: d["content"]["fields"].update(classes={"range": "abc"}),
        lambda d: d["content"]["fields"]["score"].update(
            object="RAPS", fields={"k_reg": -1}
        ),
    ],
)
def test_an_edited_document_with_a_new_checksum_is_refused(change, tmp_path):
    PLAIN.save(tmp_path / "fit")
    rewrite(tmp_path / "fit", change, sign=True)
    with refused(r"its content is not understood \(.+\)"):
        dfu.load(tmp_path / "fit")


def test_a_document_that_holds_no_result_is_refused(tmp_path):
    PLAIN.save(tmp_path / "fit")
    rewrite(
        tmp_path / "fit",
        lambda d: d.update(content=d["content"]["fields"]["guarantee"]),
        sign=True,
    )
    with refused("it holds no result"):
        dfu.load(tmp_path / "fit")


def test_two_classes_of_one_name_cannot_both_be_saved():
    namesake = type("SplitConformalResult", (), {"__module__": "elsewhere"})
    with pytest.raises(TypeError, match="same name"):
        persistence.register(namesake)


# ---------------------------------------------------------------------- frozen results


def test_results_cannot_be_changed():
    sets = PLAIN.predict(PROBS, rng=0)
    for result in (PLAIN, sets, sets.evaluate(LABELS)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            result.guarantee = None
        with pytest.raises((AttributeError, TypeError)):
            result.anything = None
        for field in dataclasses.fields(result):
            value = getattr(result, field.name)
            if isinstance(value, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    value[...] = 0
