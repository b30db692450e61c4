"""Tallies: what they hold, what they refuse, what is made of them."""

import dataclasses

import numpy as np
import pytest

import distfreeuq as dfu

PROBS = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1]])
LABELS = np.array([0, 1, 1, 2])


def tallied(**options):
    return dfu.tally(PROBS, LABELS, **{"score": "lac", **options})


def test_scores_are_kept_by_class_and_counts_by_pair():
    tally = tallied()
    assert tally.scores.counts.tolist() == [1, 2, 1]
    np.testing.assert_allclose(tally.scores.scores, [0.3, 0.4, 0.8, 0.9])
    assert tally.counts.cells.tolist() == [0, 2, 4, 7]  # predicted * 3 + label
    assert tally.to_frame()["predicted"].tolist() == [2, 1, 1]
    assert tally.to_frame()["n"].tolist() == [1, 2, 1]
    assert repr(tally) == "<Tally n=4 K=3 counts, lac scores>"


def test_without_labels_predictions_are_counted():
    tally = dfu.tally(PROBS)
    assert tally.scores is None and not tally.counts.labelled
    assert tally.to_frame()["predicted"].tolist() == [2, 1, 1]
    assert "n" not in tally.to_frame()


def test_no_rows_are_a_tally_that_adds_nothing():
    none = dfu.tally(PROBS[:0], LABELS[:0], score="lac")
    total = tallied() + none
    assert none.n == 0 and total.n == 4
    assert np.array_equal(total.scores.scores, tallied().scores.scores)


def test_more_rows_than_are_read_at_once(monkeypatch):
    monkeypatch.setattr("distfreeuq.tallies.row_tallies._ROWS_AT_ONCE", 3)
    ids = ["a", "b", "c", "d"]
    pieces = tallied(score="aps", rng=1, ids=ids)
    monkeypatch.undo()
    whole = tallied(score="aps", rng=1, ids=ids)
    assert np.array_equal(pieces.scores.scores, whole.scores.scores)


def test_a_generator_is_drawn_from_in_order(monkeypatch):
    whole = tallied(score="aps", rng=np.random.default_rng(5))
    monkeypatch.setattr("distfreeuq.tallies.row_tallies._ROWS_AT_ONCE", 3)
    pieces = tallied(score="aps", rng=np.random.default_rng(5))
    assert np.array_equal(pieces.scores.scores, whole.scores.scores)


def test_a_memory_map_and_its_input_stay_as_they_are(tmp_path):
    path = tmp_path / "probs.npy"
    np.save(path, PROBS.astype(np.float32))
    mapped = np.load(path, mmap_mode="r")
    found = dfu.tally(mapped, LABELS, rng=0)
    plain = dfu.tally(PROBS.astype(np.float32), LABELS, rng=0)
    assert np.array_equal(found.scores.scores, plain.scores.scores)


def test_the_error_of_a_bad_row_names_the_row(monkeypatch):
    monkeypatch.setattr("distfreeuq.tallies.row_tallies._ROWS_AT_ONCE", 2)
    bad = PROBS.copy()
    bad[3] = 0.5
    with pytest.raises(dfu.InputError, match=r"sum of 1\.5 at row 3"):
        dfu.tally(bad, LABELS)


def test_blocks_may_have_ids():
    blocks = [(PROBS[i : i + 1], LABELS[i : i + 1], [f"id {i}"]) for i in range(4)]
    found = dfu.tally(lambda: blocks, rng=1)
    whole = dfu.tally(PROBS, LABELS, rng=1, ids=[f"id {i}" for i in range(4)])
    assert np.array_equal(found.scores.scores, whole.scores.scores)
    assert found.scores.row_key == whole.scores.row_key


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"score": "margin"}, "the score LAC. Got the score margin"),
        ({"score": dfu.PAS([1, 2, 3])}, "Got the score PAS"),
        ({"score": None}, "a tally with scores"),
        ({"classes": ["a", "b", "c"]}, "of the classes 0, 1, 2. Got a tally of 'a'"),
    ],
)
def test_what_does_not_match_is_not_added(other, why):
    labels = np.array(["a", "b", "b", "c"]) if "classes" in other else LABELS
    with pytest.raises(dfu.InputError, match=why):
        tallied() + dfu.tally(PROBS, labels, **{"score": "lac", **other})


def test_tallies_of_two_seeds_or_parameters_are_not_added():
    with pytest.raises(dfu.InputError, match="under the key"):
        tallied(score="aps", rng=0) + tallied(score="aps", rng=1)
    with pytest.raises(dfu.InputError, match="uniforms that were drawn"):
        tallied(score="aps", rng=0) + tallied(score="aps")
    with pytest.raises(dfu.InputError, match="no uniforms"):
        tallied(score="aps", randomized=False) + tallied(score="aps", rng=0)
    with pytest.raises(dfu.InputError, match=r"RAPS\(0.1, 2\)"):
        tallied(score=dfu.RAPS(0.1, 2), rng=0) + tallied(score="raps", rng=0)
    with pytest.raises(dfu.InputError, match="rows with labels"):
        tallied() + dfu.tally(PROBS)
    with pytest.raises(TypeError):
        tallied() + 1


def test_equal_proportions_of_a_score_add():
    one = tallied(score=dfu.PAS([1, 2, 3])) + tallied(score=dfu.PAS([2, 4, 6]))
    assert one.n == 8


@pytest.mark.parametrize(
    ("arguments", "options", "parameter"),
    [
        ((PROBS, LABELS), {"score": dfu.PAS()}, "score"),
        ((PROBS, LABELS), {"ids": range(4)}, "rng"),
        ((PROBS, LABELS), {"ids": range(3), "rng": 0}, "ids"),
        ((iter([PROBS]), LABELS), {}, "labels"),
        ((lambda: 3,), {}, "probs"),
        ((len,), {}, "probs"),
        ((iter([()]),), {}, "probs"),
        ((iter([]),), {}, "probs"),
        ((PROBS, LABELS), {"progress": 1}, "progress"),
    ],
)
def test_bad_arguments_are_named(arguments, options, parameter):
    with pytest.raises(dfu.InputError, match=f"The '{parameter}' parameter of tally"):
        dfu.tally(*arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "options", "parameter"),
    [
        ((LABELS,), {}, "labels"),
        ((), {"groups": LABELS}, "groups"),
        ((), {"ids": LABELS}, "ids"),
        ((), {"classes": [0, 1, 2]}, "classes"),
        ((), {"score": "lac"}, "score"),
        ((), {"randomized": False}, "randomized"),
        ((), {"rng": 1}, "rng"),
    ],
)
def test_fits_refuse_what_is_not_the_tally_s(arguments, options, parameter):
    tally = tallied(score="aps", rng=0)
    with pytest.raises(dfu.InputError, match=f"The '{parameter}' parameter of split"):
        dfu.split_conformal(tally, *arguments, **options)


@pytest.mark.filterwarnings("ignore::distfreeuq.SmallCalibrationWarning")
def test_fits_take_what_is_the_tally_s():
    fit = dfu.split_conformal(tallied(score="raps", rng=0), score="raps", rng=0)
    assert fit.score == dfu.RAPS() and fit.row_key is not None
    assert dfu.split_conformal(tallied()).score == dfu.LAC()
    assert dfu.split_conformal(tallied(), never_empty=True).never_empty


def test_what_a_tally_lacks_is_said():
    counts = tallied(score=None)
    for call in (
        lambda: dfu.split_conformal(counts),
        lambda: dfu.label_shift_conformal(counts, label_weight=[1, 1, 1]),
    ):
        with pytest.raises(dfu.InputError, match="Tally with the labels' scores"):
            call()
    with pytest.raises(dfu.InputError, match=r"'probs' .* rows with labels"):
        dfu.bbse(dfu.tally(PROBS), probs_target=PROBS)
    with pytest.raises(dfu.InputError, match=r"'probs' .* count predicted classes"):
        dfu.bbse(counts, probs_target=PROBS, soft=True)
    with pytest.raises(dfu.InputError, match=r"'probs_target' .* source's classes"):
        dfu.bbse(counts, probs_target=dfu.tally(PROBS, classes=["a", "b", "c"]))
    with pytest.raises(dfu.InputError, match=r"'probs_target' .* one row"):
        dfu.bbse(counts, probs_target=dfu.tally(PROBS[:0]))
    for takes_rows in (dfu.mlls, dfu.histogram_binning, dfu.assess):
        with pytest.raises(dfu.InputError, match=r"'probs' .* Got a Tally"):
            takes_rows(counts, LABELS, *([PROBS] if takes_rows is dfu.mlls else []))
    with pytest.raises(dfu.InputError, match=r"'label_weight' .* Got None"):
        dfu.label_shift_conformal(PROBS, LABELS)


@pytest.mark.filterwarnings("ignore::distfreeuq.DistFreeWarning")
def test_three_sites_are_the_pooled_fit(tmp_path):
    rng = np.random.default_rng(0)
    probs, target = rng.dirichlet([2, 1, 1], 600), rng.dirichlet([1, 2, 1], 300)
    labels = np.array([rng.choice(3, p=row) for row in probs])
    for site in range(3):
        mine = dfu.tally(probs[site::3], labels[site::3], rng=7)
        mine.save(tmp_path / f"{site}.npz")
        dfu.tally(target[site::3]).save(tmp_path / f"{site}-new.npz")
    source = sum(dfu.load(tmp_path / f"{site}.npz") for site in range(3))
    new = sum(dfu.load(tmp_path / f"{site}-new.npz") for site in range(3))
    pooled = dfu.bbse(probs, labels, target)
    weights = dfu.bbse(source, probs_target=new)
    assert weights.to_frame().equals(pooled.to_frame())
    assert weights.output_cells is None  # confidences are not in a tally
    for options in (
        {},
        {"robust": True},
        {"robust": "directional"},
        {"confidence": 0.9},
        {"independent": True},
    ):
        fit = dfu.label_shift_conformal(source, label_weight=weights, **options)
        whole = dfu.label_shift_conformal(probs, labels, pooled, rng=7, **options)
        assert np.array_equal(fit.thresholds, whole.thresholds)
        assert str(fit) == str(whole)


def test_many_classes_of_which_few_occur():
    probs = np.eye(600)[[5, 5, 7, 590, 7]]
    labels = np.array([5, 7, 7, 590, 590])
    found = dfu.rlls(dfu.tally(probs, labels), probs_target=dfu.tally(probs[:2]))
    plain = dfu.rlls(probs, labels, probs[:2])
    assert np.array_equal(found.confusion.joint.block, plain.confusion.joint.block)
    assert np.array_equal(found.label_weight, plain.label_weight)


def test_an_own_score_adds_and_is_not_saved(tmp_path):
    def own(probs):
        return -np.asarray(probs)

    tally = tallied(score=own) + tallied(score=own)
    assert tally.n == 8
    with pytest.raises(dfu.InputError, match="a file holds no code"):
        tally.save(tmp_path / "tally.npz")


@pytest.mark.parametrize("name", ["counts", "scores"])
def test_a_file_with_other_counts_is_refused(name, tmp_path):

    tally = tallied()
    part = getattr(tally, name)
    forged = dataclasses.replace(
        part, counts=part.counts[::-1] + np.arange(part.counts.size)
    )
    with pytest.raises(dfu.InputError, match="it would refuse"):
        dataclasses.replace(tally, **{name: forged}).save(tmp_path / "tally.npz")


def test_printed(tmp_path):
    text = str(tallied())
    assert (
        "Reveals:    how often each class is predicted, and with which label; the"
        in text
    )
    assert "Guarantee:  none: a tally is what its rows add up to" in text
    axes = tallied().plot()
    assert axes.get_title() == "Tally of 4 rows"
    axes.figure.savefig(tmp_path / "tally.png")


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_tasks_of_dask_make_the_tally_of_all_rows(scheduler):
    dask = pytest.importorskip("dask")
    one = dask.delayed(dfu.tally)
    parts = [one(PROBS[i : i + 1], LABELS[i : i + 1], rng=1) for i in range(4)]
    total = dask.delayed(sum)(parts).compute(scheduler=scheduler)
    whole = dfu.tally(PROBS, LABELS, rng=1)
    assert np.array_equal(total.scores.scores, whole.scores.scores)
    assert np.array_equal(total.counts.counts, whole.counts.counts)


def test_three_sites_by_file_are_one_fit_of_all_rows(tmp_path):
    generator = np.random.default_rng(3)
    probs, new = generator.dirichlet([2, 1, 1], 300), generator.dirichlet([1, 2, 1], 90)
    labels = np.array([generator.choice(3, p=row) for row in probs])
    for site in range(3):
        own = slice(site, None, 3)
        dfu.tally(probs[own], labels[own], rng=7).save(tmp_path / f"{site}.npz")
        dfu.tally(new[own]).save(tmp_path / f"{site}-new.npz")
    source = sum(dfu.load(tmp_path / f"{site}.npz") for site in range(3))
    target = sum(dfu.load(tmp_path / f"{site}-new.npz") for site in range(3))
    weights = dfu.bbse(source, probs_target=target)
    fit = dfu.label_shift_conformal(source, label_weight=weights)
    pooled = dfu.label_shift_conformal(
        probs, labels, dfu.bbse(probs, labels, new), rng=7
    )
    assert fit.thresholds.tolist() == pooled.thresholds.tolist()
    assert np.array_equal(fit.predict(new).mask, pooled.predict(new).mask)
    assert fit.guarantee.statement == pooled.guarantee.statement


def test_classes_in_another_order_do_not_add():
    names = ["a", "b", "c", "d"][: PROBS.shape[1]]
    one = dfu.tally(PROBS, classes=names, score=None)
    other = dfu.tally(PROBS, classes=names[::-1], score=None)
    with pytest.raises(dfu.InputError, match="of the classes"):
        one + other
