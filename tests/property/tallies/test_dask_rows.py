"""Dask's rows and blocks of rows, in any chunks: the numbers are those in memory."""

import warnings

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq import metrics
from distfreeuq._numerics.row_blocks import dask_rows

SCORES = ["aps", "lac", "raps", "margin", dfu.APS(ties="random"), dfu.PAS()]


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="sync"):
        yield


def cut(draw, n):
    """Return sizes of chunks, some of them empty."""
    cuts = draw(st.lists(st.integers(0, n), max_size=4))
    return tuple(np.diff([0, *sorted(cuts), n]).tolist())


@st.composite
def samples(draw):
    """Rows, labels, weights, groups and ids in memory; the same as Dask's, cut anew."""
    n, n_classes = draw(st.integers(1, 50)), draw(st.integers(2, 4))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    probs = generator.dirichlet(np.ones(n_classes), n)
    if draw(st.booleans()):  # few different rows
        probs = np.eye(n_classes)[generator.integers(0, n_classes, n)] * 0.5
        probs += 0.5 / n_classes
    probs = probs.astype(draw(st.sampled_from([np.float32, np.float64])))
    vectors = {
        "labels": generator.integers(0, n_classes, n),
        "sample_weight": generator.integers(1, 4, n) / 2.0,
        "groups": generator.integers(0, 2, n),
        "ids": generator.integers(0, 99, n),
    }
    columns = draw(st.sampled_from([n_classes, 1]))
    lazy = {"probs": da.from_array(probs, chunks=(cut(draw, n), columns))}
    for name, vector in vectors.items():
        lazy[name] = da.from_array(vector, chunks=(cut(draw, n),))
    return {"probs": probs, **vectors}, lazy


def numbers(fit):
    """Return what a fit of ours holds: arrays as bits, and the rest as it is."""
    found = {}
    for name in fit._state:
        value = getattr(fit, name)
        if isinstance(value, np.ndarray):
            value = np.ascontiguousarray(value).tobytes()
        elif hasattr(value, "_state"):
            value = numbers(value)
        elif isinstance(value, float):
            value = value.hex()  # which for NaN equals itself
        found[name] = value
    return found


FITS = {
    "split": lambda r, **o: dfu.split_conformal(r["probs"], r["labels"], **o),
    "split by ids": lambda r, **o: dfu.split_conformal(
        r["probs"], r["labels"], ids=r["ids"], **o
    ),
    "label-conditional": lambda r, **o: dfu.label_conditional_conformal(
        r["probs"], r["labels"], **o
    ),
    "label shift": lambda r, **o: dfu.label_shift_conformal(
        r["probs"], r["labels"], np.linspace(0.5, 2.0, r["probs"].shape[1]), **o
    ),
    "covariate shift": lambda r, **o: dfu.covariate_shift_conformal(
        r["probs"], r["labels"], r["sample_weight"], **o
    ),
}


@pytest.mark.filterwarnings("ignore::distfreeuq.SmallCalibrationWarning")
@given(samples(), st.sampled_from(sorted(FITS)), st.sampled_from(SCORES))
@settings(deadline=None, max_examples=25)
def test_conformal_fits_sets_and_coverage(both, procedure, score):
    memory, lazy = both
    plain, fit = (FITS[procedure](rows, score=score, rng=1) for rows in both)
    assert numbers(plain) == numbers(fit)
    more = [
        {
            name: rows[name]
            for name in ("ids", "sample_weight")
            if (name == "ids") == (procedure == "split by ids")
            and (name == "ids" or procedure == "covariate shift")
        }
        for rows in both
    ]
    if not more[0] and fit.row_key is None and fit.randomized:
        return
    own, of_dask = (
        fit.predict(rows["probs"], **extra)
        for rows, extra in zip(both, more, strict=True)
    )
    assert np.array_equal(own.mask, of_dask.mask.compute())
    assert numbers(own)["mask"] == numbers(of_dask.compute())["mask"]
    p_values = [
        fit.p_values(rows["probs"], **extra)
        for rows, extra in zip(both, more, strict=True)
    ]
    assert np.array_equal(p_values[0], p_values[1].compute())
    found = [
        sets.evaluate(rows["labels"], groups=rows["groups"])
        for sets, rows in ((own, memory), (of_dask, lazy))
    ]
    assert numbers(found[0]) == numbers(found[1])


@pytest.mark.filterwarnings("ignore::distfreeuq.SmallCalibrationWarning")
@given(samples())
@settings(deadline=None, max_examples=8)
def test_groups(both):
    plain, fit = (
        dfu.split_conformal(r["probs"], r["labels"], groups=r["groups"], rng=0)
        for r in both
    )
    assert plain.thresholds.tobytes() == fit.thresholds.tobytes()
    masks = [fit.predict(r["probs"], r["groups"]).mask for r in both]
    assert np.array_equal(masks[0], masks[1].compute())


@given(samples(), st.sampled_from([dfu.bbse, dfu.rlls]))
@settings(deadline=None, max_examples=15)
def test_weights_of_predicted_classes(both, estimate):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.IdentificationWarning)
        plain, fit = (estimate(r["probs"], r["labels"], r["probs"]) for r in both)
    one, other = numbers(plain), numbers(fit)
    one.pop("output_cells")
    assert other.pop("output_cells") is None  # confidences are not counted
    assert one == other
    if fit.solution is not None:
        adapted = [fit.adapt(r["probs"]) for r in both]
        assert adapted[0].dtype == adapted[1].dtype
        # whose last bit depends on where a row stands among those of a call
        np.testing.assert_allclose(*map(np.asarray, adapted), rtol=1e-15, atol=1e-15)


@given(samples(), st.sampled_from(["aps", "lac"]))
@settings(deadline=None, max_examples=10)
def test_tallies(both, score):
    one, other = (
        dfu.tally(r["probs"], r["labels"], score=score, rng=4, ids=r["ids"])
        for r in both
    )
    assert numbers(one) == numbers(other)


def rows_of(n):
    generator = np.random.default_rng(1)
    return generator.dirichlet([2, 1, 1], n), generator.integers(0, 3, n)


def test_frames_name_classes_and_may_have_unknown_sizes():
    dd = pytest.importorskip("dask.dataframe", reason="it needs pyarrow")
    probs, labels = rows_of(60)
    frame = pd.DataFrame(probs, columns=list("abc"))
    frame["y"] = np.array(list("abc"))[labels]
    lazy = dd.from_pandas(frame, npartitions=4)
    some = lazy[lazy["a"] > 0.1]
    kept = frame[frame["a"] > 0.1]
    fit = dfu.split_conformal(some[list("abc")], some["y"], rng=0)
    plain = dfu.split_conformal(kept[list("abc")], kept["y"], rng=0)
    assert numbers(fit) == numbers(plain) and fit.classes == ("a", "b", "c")
    sets = fit.predict(some[list("abc")])
    assert np.array_equal(sets.compute().mask, fit.predict(kept[list("abc")]).mask)
    assert sets.evaluate(some["y"]).n == len(kept)
    assert sets.sizes.compute().tolist() == sets.compute().sizes.tolist()
    with pytest.raises(dfu.InputError, match="the fit's columns in the fit's order"):
        fit.predict(some[list("bac")])


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_any_scheduler(scheduler):
    probs, labels = rows_of(300)
    chunks = da.from_array(probs, (70, 2)), da.from_array(labels, 80)
    plain = dfu.split_conformal(probs, labels, rng=0)
    with dask.config.set(scheduler=scheduler):
        fit = dfu.split_conformal(*chunks, rng=0)
        covered = fit.predict(chunks[0]).evaluate(chunks[1])
    assert numbers(fit) == numbers(plain)
    assert numbers(covered) == numbers(plain.predict(probs).evaluate(labels))


def test_errors_name_the_row_among_all():
    probs, labels = rows_of(60)
    fit = dfu.split_conformal(probs, labels, rng=0)
    bad = probs.copy()
    bad[47] = 0.9
    lazy = da.from_array(bad, (10, 3))
    with pytest.raises(dfu.InputError, match=r"a sum of 2\.7 at row 47 instead"):
        dfu.split_conformal(lazy, labels)
    with pytest.raises(dfu.InputError, match=r"predict .* 2\.7 at row 47 instead"):
        fit.predict(lazy).compute()
    every = da.from_array(np.ones(60, dtype=bool), 10)
    with pytest.raises(dfu.InputError, match=r"at row 7 instead.* \(In block 4\.\)"):
        fit.predict(lazy[every]).compute()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rng": np.random.default_rng(0)}, "'rng' .* a seed or None with Dask"),
        ({"labels": None}, "'labels' .* given for every row"),
        ({"classes": list("ab")}, "'classes' .* one name for each of the 3 columns"),
    ],
)
def test_what_cannot_be_in_blocks_is_refused(options, message):
    probs, labels = rows_of(30)
    arguments = {"labels": labels, **options}
    with pytest.raises(dfu.InputError, match=message):
        dfu.split_conformal(da.from_array(probs, (7, 3)), **arguments)


def test_sets_that_would_be_drawn_at_each_computation_are_refused():
    probs, labels = rows_of(30)
    lazy = da.from_array(probs, (7, 3))
    fit = dfu.split_conformal(lazy, labels)
    with pytest.raises(dfu.InputError, match="the fit made with a seed"):
        fit.predict(lazy)
    uniforms = np.linspace(0, 1, 30)
    sets = fit.predict(lazy, uniforms=uniforms)
    assert np.array_equal(
        sets.compute().mask, fit.predict(probs, uniforms=uniforms).mask
    )
    with pytest.raises(dfu.InputError, match=r"'rng' .* None or a seed with Dask"):
        fit.predict(lazy, rng=np.random.default_rng(0), uniforms=uniforms)


def test_numbers_of_rows_in_memory_may_be_dask_s():
    probs, labels = rows_of(30)
    weights = da.from_array(np.linspace(0.5, 1.5, 30), 7)
    found = metrics.ece(probs, labels, sample_weight=weights)
    assert found == metrics.ece(probs, labels, sample_weight=np.asarray(weights))


@pytest.mark.parametrize("rows_of_wave", [1, 30, 1 << 22])
def test_scores_are_gathered_some_blocks_at_a_time(rows_of_wave, monkeypatch):
    monkeypatch.setattr(dask_rows, "_ROWS_OF_WAVE", rows_of_wave)
    monkeypatch.setattr(dask_rows, "_BLOCKS_OF_THREAD", 1)
    probs, labels = rows_of(300)
    lazy = da.from_array(probs, ((0, 70, 1, 129, 0, 100), 3)), da.from_array(labels, 80)
    read = []

    def seen(block):
        read.append(len(block))
        return block

    plain = dfu.split_conformal(probs, labels, rng=0)
    for scheduler in ("sync", "threads"):
        del read[:]
        with dask.config.set(scheduler=scheduler, num_workers=2):
            watched = lazy[0].map_blocks(seen, meta=np.empty((0, 3)))
            fit = dfu.split_conformal(watched, lazy[1], rng=0)
        assert numbers(fit) == numbers(plain)
        assert sorted(filter(None, read)) == [1, 70, 100, 129]  # each once


@pytest.mark.parametrize(
    "procedure",
    [dfu.prediction_sets, dfu.interpolated_conformal, dfu.clustered_conformal],
)
@pytest.mark.filterwarnings("ignore::distfreeuq.SmallCalibrationWarning")
def test_other_procedures(procedure):
    probs, labels = rows_of(200)
    lazy = da.from_array(probs, (70, 2)), da.from_array(labels, 90)
    plain, fit, by_block = (
        procedure(probs, labels, rng=0),
        procedure(*lazy, rng=0),
        procedure(
            lambda: [(probs[:50], labels[:50]), (probs[50:], labels[50:])], None, rng=0
        ),
    )
    numbers_of = [numbers(getattr(one, "fit", one)) for one in (plain, fit, by_block)]
    assert numbers_of[0] == numbers_of[1] == numbers_of[2]
    sets = fit.predict(lazy[0]).compute()
    assert np.array_equal(plain.predict(probs).mask, sets.mask)
