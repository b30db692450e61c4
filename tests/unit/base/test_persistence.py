"""What is saved is read back exactly, and nothing else is read at all."""

import copy
import dataclasses
import inspect
import io
import json
import math
import os
import pickle
import stat
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import InputError
from distfreeuq._base import persistence
from distfreeuq._base.files import archive
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


OLD = Path(__file__).parents[2] / "files" / "format1"
RESULTS = {
    path.stem: dfu.load(path) for path in OLD.glob("*.npz") if path.stem != "recorded"
}
"""A result of every kind."""


# -------------------------------------------------------------------- round trips


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_results_of_every_kind(name, tmp_path):
    again(RESULTS[name], tmp_path)


def test_every_kind_of_result_has_a_tag():
    def below(cls: type) -> list[type]:
        return [each for sub in cls.__subclasses__() for each in (sub, *below(sub))]

    kinds = {cls for cls in below(Result) if not inspect.isabstract(cls)}
    # a user's own function is in no file: to save it is refused
    kinds = {cls for cls in kinds if cls.__qualname__ != "OwnCalibrationResult"}
    # dataclasses with slots leave the class behind that they are made from
    assert {cls.__qualname__ for cls in kinds} == {
        cls.__qualname__ for cls in persistence._tags if issubclass(cls, Result)
    }


@pytest.mark.parametrize(
    "score",
    ["aps", "lac", "rank", "margin", dfu.RAPS(penalty=0.1 / 3, k_reg=2), dfu.SAPS(0.3)],
    ids=str,
)
def test_fits_of_every_score(score, tmp_path):
    fit = dfu.split_conformal(PROBS, LABELS, score=score, rng=0)
    found = again(fit, tmp_path)
    expected = fit.predict(PROBS)
    np.testing.assert_array_equal(found.predict(PROBS).mask, expected.mask)


@pytest.mark.parametrize(
    "classes",
    [
        ["benign", "malignant", "日本 🎲 \uffff"],
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
    sets = again(fit.predict(PROBS), tmp_path)
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
    sets = PLAIN.predict(PROBS)
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
    with pytest.raises(InputError, match=r"would refuse: .+ float64 .+ object"):
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


def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in ("/dev/null", tmp_path / "pipe", tmp_path / "loop"):
        with pytest.raises(InputError, match="which is no regular file"):
            PLAIN.save(path)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert sorted(os.listdir(tmp_path)) == ["loop", "pipe"]


def test_a_symbolic_link_stays_one(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for name in ("there", "new"):  # a file that exists, and one that does not yet
        target, link = tmp_path / "elsewhere" / name, tmp_path / f"link-{name}"
        if name == "there":
            target.write_bytes(b"old")
        link.symlink_to(target)
        PLAIN.save(link)
        assert link.is_symlink() and not target.is_symlink()
        assert_same(dfu.load(target), PLAIN)
    assert sorted(os.listdir(tmp_path / "elsewhere")) == ["new", "there"]


def test_permissions_of_a_file_are_kept_and_those_of_a_new_one_are_usual(tmp_path):
    def mode(name: str) -> int:
        return stat.S_IMODE((tmp_path / name).stat().st_mode)

    for kept in (0o600, 0o640, 0o666):
        (tmp_path / "fit").touch()
        (tmp_path / "fit").chmod(kept)
        PLAIN.save(tmp_path / "fit")
        assert mode("fit") == kept
    before = os.umask(0o027)
    try:
        PLAIN.save(tmp_path / "new")
    finally:
        os.umask(before)
    assert mode("new") == 0o640


def test_what_cannot_be_saved_says_so_inside_another_result(tmp_path):
    rows = np.arange(40.0)[:, None]
    logits = np.eye(2)[[0, 1] * 20]
    labels = [0, 1, 1, 1] * 5 + [0, 1, 0, 0] * 5
    fit = dfu.covariate_shift_calibration(
        logits, labels, rows, rows, ratio=Halves(), rng=0
    )
    with pytest.raises(InputError, match="your own Halves, which cannot be saved"):
        fit.save(tmp_path / "fit")
    grouped = dfu.groupwise_calibration(
        "temperature", logits, labels, groups=lambda x: np.zeros(40, dtype=int)
    )
    with pytest.raises(InputError, match="a file holds no code"):
        grouped.save(tmp_path / "fit")
    assert os.listdir(tmp_path) == []


class Halves:
    """An estimator that knows nothing."""

    def fit(self, x: Any, y: Any) -> None:
        pass

    def predict_proba(self, x: Any) -> Any:
        return np.full((len(x), 2), 0.5)


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


def test_a_file_that_was_cut_short_is_noticed(tmp_path):
    PLAIN.save(tmp_path / "fit")
    whole = (tmp_path / "fit").read_bytes()
    for length in range(0, len(whole), 97):
        (tmp_path / "fit").write_bytes(whole[:length])
        with refused(FOREIGN):
            dfu.load(tmp_path / "fit")


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_a_changed_byte_is_noticed_wherever_it_is(flip, tmp_path):
    path = tmp_path / "fit"
    fit = dfu.split_conformal(PROBS[:5], LABELS[:5], alpha=0.3, rng=0)
    fit.save(path)
    whole = path.read_bytes()
    harmless = 0
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= flip
        path.write_bytes(changed)
        try:
            found = dfu.load(path)
        except InputError:
            continue
        harmless += 1
        assert_same(found, fit)  # a byte that nobody reads, such as a time stamp
    assert harmless < len(whole) / 10


def test_a_file_that_expands_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, json=np.zeros(10**8, dtype=np.uint8))
    assert path.stat().st_size < 10**6
    tracemalloc.start()
    with refused(FOREIGN):
        dfu.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**6


def test_a_shape_larger_than_the_file_is_refused(tmp_path):
    huge = {"array": "array0", "dtype": "<f8", "shape": [10**12]}

    def lie(file: zipfile.ZipFile) -> None:
        content = {"object": "split-conformal", "fields": {"thresholds": huge}}
        member = io.BytesIO()
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
        np.lib.format.write_array_header_1_0(member, header)
        file.writestr("array0.npy", member.getvalue() + bytes(80))
        digests = {"array0": archive.digest_of(member.getvalue() + bytes(80))}
        document = {
            "format": "distfreeuq-result",
            "version": 2,
            "digest": persistence._digest(content, digests),
            "content": content,
        }
        text = json.dumps(document).encode()
        archive.write_array(file, "json", np.frombuffer(text, dtype=np.uint8))

    archive.write_archive(tmp_path / "fit", lie)
    with refused(r"its content is not understood \(an array has another size.+\)"):
        dfu.load(tmp_path / "fit")


def test_arrays_that_belong_to_nothing_are_refused(tmp_path):
    PLAIN.save(tmp_path / "fit")
    spare = {"array99": np.zeros(3)}
    rewrite(tmp_path / "fit", lambda document: None, sign=True, arrays=spare)
    with refused(r"its content is not understood \(it holds arrays that .+\)"):
        dfu.load(tmp_path / "fit")


def test_a_document_nested_without_end_is_refused(tmp_path):
    path = tmp_path / "deep"
    text = b'{"format": ' + b"[" * 10**5 + b"]" * 10**5 + b"}"

    def write(file: zipfile.ZipFile) -> None:
        archive.write_array(file, "json", np.frombuffer(text, dtype=np.uint8))

    archive.write_archive(path, write)
    with refused(FOREIGN):
        dfu.load(path)


def test_what_is_no_regular_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with refused(r"it cannot be read \(it is no regular file\)"):
            dfu.load(path)


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


def rewrite(path: Path, change: Any, *, sign: bool = False, arrays: Any = None) -> None:
    """Change the JSON document of a saved result and its arrays, and sign it again."""
    members = archive.read_archive(path)
    document = json.loads(archive.array_of(members.pop("json")).tobytes())
    document = change(document) or document
    found = {name: archive.array_of(member) for name, member in members.items()}
    found.update(arrays or {})

    def write(file: zipfile.ZipFile) -> None:
        digests = {n: archive.write_array(file, n, a) for n, a in found.items()}
        if sign:
            document["digest"] = persistence._digest(document["content"], digests)
        text = json.dumps(document).encode()
        archive.write_array(file, "json", np.frombuffer(text, dtype=np.uint8))

    archive.write_archive(path, write)


def nested(depth: int) -> list[Any]:
    """Return tuples inside tuples as files hold them."""
    return [{"tuple": nested(depth - 1)}] if depth else []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda d: d.update(version=3),
            "it was written by a newer version of distfreeuq",
        ),
        (lambda d: d.update(version=0), FOREIGN),
        (lambda d: d.update(version="2"), FOREIGN),
        (lambda d: d.pop("version") and None, FOREIGN),
        (lambda d: d.update(format="another"), FOREIGN),
        (lambda d: [d], FOREIGN),
        (
            lambda d: d.pop("content") and None,
            "its content was changed after it was saved",
        ),
        (
            lambda d: d.pop("digest") and None,
            "its content was changed after it was saved",
        ),
        (lambda d: d.update(version=True), FOREIGN),
        (
            lambda d: d.update(version=1),
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
            object="raps", fields={"k_reg": -1, "penalty": 0.1}
        ),
        lambda d: d["content"]["fields"]["score"].update(object="raps"),
        lambda d: d["content"].update(object="SplitConformalResult"),
        lambda d: d["content"].update(surprise=1),
        lambda d: d["content"]["fields"].update(alpha=[0.1]),
        lambda d: d["content"]["fields"].update(alpha={"tuple": "abc"}),
        lambda d: d["content"]["fields"].update(alpha={"float": "1e5"}),
        lambda d: d["content"]["fields"].update(further={"tuple": nested(60)}),
    ],
)
def test_an_edited_document_with_a_new_digest_is_refused(change, tmp_path):
    PLAIN.save(tmp_path / "fit")
    rewrite(tmp_path / "fit", change, sign=True)
    with refused(r"its content is not understood \(.+\)"):
        dfu.load(tmp_path / "fit")


def test_a_document_that_holds_no_result_is_refused(tmp_path):
    def write(file: zipfile.ZipFile) -> None:
        content = {"object": "no-guarantee", "fields": {"reason": "none"}}
        document = {
            "format": "distfreeuq-result",
            "version": 2,
            "digest": persistence._digest(content, {}),
            "content": content,
        }
        text = json.dumps(document).encode()
        archive.write_array(file, "json", np.frombuffer(text, dtype=np.uint8))

    archive.write_archive(tmp_path / "fit", write)
    with refused("it holds no result"):
        dfu.load(tmp_path / "fit")


def test_two_classes_cannot_have_one_tag():
    namesake = type("SplitConformalResult", (), {"__module__": "elsewhere"})
    with pytest.raises(TypeError, match="same tag"):
        persistence.register("split-conformal")(namesake)


# ---------------------------------------------------------------------- frozen results


def test_results_cannot_be_changed():
    sets = PLAIN.predict(PROBS)
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


@pytest.mark.parametrize("how", ["pickle", "old pickle", "copy", "deepcopy"])
@pytest.mark.parametrize("name", sorted(RESULTS), ids=str)
def test_copies_are_as_frozen_as_the_result(name, how):
    saved = RESULTS[name]
    found = {
        "pickle": lambda: pickle.loads(pickle.dumps(saved)),
        "old pickle": lambda: pickle.loads(pickle.dumps(saved, protocol=0)),
        "copy": lambda: copy.copy(saved),
        "deepcopy": lambda: copy.deepcopy(saved),
    }[how]()
    assert found is not saved
    assert_same(found, saved)
    assert str(found) == str(saved)


def test_a_copy_leaves_the_users_own_arrays_writable():
    probs = np.array(PROBS)
    fit = dfu.bbse(probs, LABELS, probs, soft=True)
    assert fit.samples.probs is probs
    assert copy.copy(fit.samples).probs.base is probs
    probs[0] = probs[0]
