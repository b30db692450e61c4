"""With a seed a row has one uniform: the same set alone, in a batch, after loading."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from distfreeuq import InputError
from distfreeuq._base.random_streams import stream
from distfreeuq._base.row_uniforms import RowKey

N, K = 120, 4
_rng = np.random.default_rng(3)
# float32 values whose rows sum to one exactly, some of them more than once
PROBS = (_rng.multinomial(64, [0.4, 0.3, 0.2, 0.1], size=N) / 64).astype(np.float32)
LABELS = _rng.integers(0, K, N)
WEIGHTS = _rng.uniform(0.5, 2.0, N)
IDS = np.arange(1001, 1001 + N)
MUST = "integers or texts, one per row"


def split(**options):
    return dfu.split_conformal(PROBS, LABELS, **options)


def by_class(**options):
    return dfu.label_conditional_conformal(PROBS, LABELS, **options)


def label_shift(**options):
    return dfu.label_shift_conformal(PROBS, LABELS, [0.5, 1.0, 1.5, 2.0], **options)


def covariate_shift(**options):
    return dfu.covariate_shift_conformal(PROBS, LABELS, WEIGHTS, **options)


FITS = {f.__name__: f for f in (split, by_class, label_shift, covariate_shift)}
SEEDS = [7, np.int64(7), np.random.SeedSequence(7), 2**100]


def predicted(fit, rows=slice(None), probs=PROBS, method="predict"):
    """Return the sets or p-values of some rows, with ids or weights if need be."""
    weights = (WEIGHTS[rows],) if hasattr(fit, "sample_weight") else ()
    ids = {"ids": IDS[rows]} if fit.row_key.by_id else {}
    found = getattr(fit, method)(probs[rows], *weights, **ids)
    return found.mask if method == "predict" else found


@pytest.fixture(params=FITS)
def fit_by(request):
    return FITS[request.param]


@pytest.mark.parametrize("method", ["predict", "p_values"])
@pytest.mark.parametrize("by_id", [False, True], ids=["rows", "ids"])
def test_a_row_has_one_set_in_any_call(fit_by, by_id, method):
    fit = fit_by(rng=56, **({"ids": IDS} if by_id else {}))
    whole = predicted(fit, method=method)
    single = [predicted(fit, slice(i, i + 1), method=method) for i in range(N)]
    np.testing.assert_array_equal(np.vstack(single), whole)
    for size in (7, 50):
        chunks = [
            predicted(fit, slice(i, i + size), method=method) for i in range(0, N, size)
        ]
        np.testing.assert_array_equal(np.vstack(chunks), whole)
    order = np.random.default_rng(0).permutation(N)
    np.testing.assert_array_equal(predicted(fit, order, method=method), whole[order])
    double = PROBS.astype(np.float64)
    for same in (double, np.asfortranarray(double), double[::-1][::-1], double - 0.0):
        np.testing.assert_array_equal(predicted(fit, probs=same, method=method), whole)
    np.testing.assert_array_equal(predicted(fit, method=method), whole)


def test_lists_and_frames_are_the_same_rows():
    fit = split(rng=56)
    expected = predicted(fit)
    np.testing.assert_array_equal(fit.predict(PROBS.tolist()).mask, expected)
    np.testing.assert_array_equal(fit.predict(pd.DataFrame(PROBS)).mask, expected)


def test_the_order_of_calibration_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(N)
    fit = dfu.split_conformal(PROBS, LABELS, rng=1)
    moved = dfu.split_conformal(PROBS[order], LABELS[order], rng=1)
    np.testing.assert_array_equal(fit.scores, moved.scores)
    fit = dfu.split_conformal(PROBS, LABELS, rng=1, ids=IDS)
    moved = dfu.split_conformal(PROBS[order], LABELS[order], rng=1, ids=IDS[order])
    np.testing.assert_array_equal(fit.scores, moved.scores)


@pytest.mark.parametrize("by_id", [False, True], ids=["rows", "ids"])
def test_the_key_is_saved_copied_and_pickled(fit_by, by_id, tmp_path):
    fit = fit_by(rng=56, **({"ids": IDS} if by_id else {}))
    fit.save(tmp_path / "fit.npz")
    expected = predicted(fit)
    for again in (
        dfu.load(tmp_path / "fit.npz"),
        pickle.loads(pickle.dumps(fit)),
        copy.deepcopy(fit),
    ):
        assert again.row_key == fit.row_key
        assert str(again) == str(fit)
        np.testing.assert_array_equal(predicted(again), expected)


def test_uniforms_are_the_hash_of_the_rows_under_one_key():
    fit = split(rng=7, score="rank")
    key = int(stream(7, "fit", "").integers(1 << 64, dtype=np.uint64))
    assert fit.row_key == RowKey(key, by_id=False)
    # rows that repeat, and no others, have the same uniform
    u = (fit.scores % 1.0).round(9)
    assert np.unique(u).size == len({tuple(row) for row in PROBS.tolist()})


@pytest.mark.parametrize("seed", SEEDS, ids=repr)
def test_the_seed_of_the_fit_may_be_repeated(seed, fit_by):
    fit = fit_by(rng=seed)
    weights = (WEIGHTS,) if hasattr(fit, "sample_weight") else ()
    found = fit.predict(PROBS, *weights, rng=seed)
    np.testing.assert_array_equal(found.mask, predicted(fit))


@pytest.mark.parametrize(
    "rng", [8, np.random.default_rng(7), np.random.SeedSequence(1)]
)
@pytest.mark.parametrize("method", ["predict", "p_values"])
def test_another_source_of_uniforms_is_refused_after_a_seed(rng, method, fit_by):
    fit = fit_by(rng=7)
    weights = (WEIGHTS,) if hasattr(fit, "sample_weight") else ()
    with pytest.raises(InputError, match="None or the seed of the fit, whose uniforms"):
        getattr(fit, method)(PROBS, *weights, rng=rng)


def test_a_refused_generator_is_not_drawn_from():
    generator = np.random.default_rng(7)
    with pytest.raises(InputError, match="rng"):
        split(rng=7).predict(PROBS, rng=generator)
    assert generator.random() == np.random.default_rng(7).random()


@pytest.mark.parametrize("seed", SEEDS, ids=repr)
@pytest.mark.parametrize("method", ["predict", "p_values"])
def test_a_seed_in_prediction_alone_is_refused(seed, method, fit_by):
    fit = fit_by(rng=np.random.default_rng(0))
    weights = (WEIGHTS,) if hasattr(fit, "sample_weight") else ()
    with pytest.raises(InputError, match="fit with the seed, and no rng is needed"):
        getattr(fit, method)(PROBS, *weights, rng=seed)


def test_a_file_of_format_1_draws_its_uniforms():
    old = dfu.load("tests/files/format1/split-aps.npz")
    assert old.row_key is None
    assert "drawn" in str(old.summary())
    with pytest.raises(InputError, match="fit was made without a seed"):
        old.predict(np.full((1, len(old.classes)), 1 / len(old.classes)), rng=0)


# ----------------------------------------------------------------------------- ids


def test_ids_are_hashed_in_place_of_rows():
    fit = split(rng=0, ids=IDS, score="rank")
    same_ids = split(rng=0, ids=np.zeros(N, dtype=int), score="rank")
    assert np.unique(fit.scores % 1.0).size == N
    assert np.unique((same_ids.scores % 1.0).round(9)).size == 1


def test_ids_are_hashed_under_the_key_of_the_seed():
    one, other = (split(rng=seed, ids=IDS, score="rank") for seed in (0, 1))
    assert one.row_key != other.row_key
    # the uniforms of the same ids are others: hardly any is the same
    same = np.isin((one.scores % 1.0).round(12), (other.scores % 1.0).round(12))
    assert same.mean() < 0.05


def test_ids_of_any_container_and_integer_type():
    expected = split(rng=0, ids=IDS).scores
    for same in (IDS.tolist(), IDS.astype(np.uint16), pd.Series(IDS), pd.Index(IDS)):
        np.testing.assert_array_equal(split(rng=0, ids=same).scores, expected)
    texts = split(rng=0, ids=IDS.astype(str)).scores
    assert (texts != expected).any()
    objects = split(rng=0, ids=IDS.astype(str).astype(object)).scores
    np.testing.assert_array_equal(texts, objects)


@pytest.mark.parametrize("rng", [None, np.random.default_rng(0)], ids=["None", "drawn"])
def test_ids_without_a_seed_have_a_key_of_their_own(rng):
    fit = split(rng=rng, ids=IDS)
    assert fit.row_key.by_id
    np.testing.assert_array_equal(predicted(fit), predicted(fit))
    with pytest.raises(InputError, match="None or the seed of the fit"):
        fit.predict(PROBS, ids=IDS, rng=0)


def test_ids_are_given_twice_or_not_at_all(fit_by):
    weights = (WEIGHTS,) if fit_by is covariate_shift else ()
    with pytest.raises(InputError, match=r"'ids'.*must be given, one per row, as in"):
        fit_by(rng=0, ids=IDS).predict(PROBS, *weights)
    for rng in (0, None):
        with pytest.raises(InputError, match=r"'ids'.*must be None, as in the fit"):
            fit_by(rng=rng).predict(PROBS, *weights, ids=IDS)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (IDS[1:], f"of length {N}. Got"),
        (IDS[:, None], f"of length {N}. Got"),
        (IDS / 2, f"{MUST}. Got 500.5 at row 0"),
        ([True] * N, f"{MUST}. Got True at row 0"),
        (
            [*IDS[1:].tolist(), None],
            f"{MUST}. Got None at row {N - 1}",
        ),
    ],
)
@pytest.mark.parametrize("score", ["aps", "lac"])
def test_what_is_no_id(ids, message, score):
    with pytest.raises(InputError, match=re.escape(message)):
        split(rng=0, ids=ids, score=score)
    fit = split(rng=0, ids=IDS, score=score)
    with pytest.raises(InputError, match=re.escape(message)):
        fit.predict(PROBS, ids=ids)


def test_scores_that_are_not_randomised_have_no_key():
    fit = split(rng=0, ids=IDS, score="lac")
    assert fit.row_key is None
    np.testing.assert_array_equal(
        fit.predict(PROBS, rng=5).mask, fit.predict(PROBS, ids=IDS).mask
    )
    assert "Uniforms" not in str(fit.summary())


# ------------------------------------------------------------------ what is printed


def flat(result):
    return " ".join(str(result.summary()).split())


def test_the_summary_says_where_uniforms_come_from(fit_by):
    hashed, by_id = fit_by(rng=0), fit_by(rng=0, ids=IDS)
    drawn = fit_by(rng=np.random.default_rng(0))
    seed = "the seed was chosen without the data"
    ids = "holds of the rows together with their ids"
    for fit, line, needs in (
        (hashed, "Uniforms: hash of each row", (True, False)),
        (by_id, "Uniforms: hash of each id", (True, True)),
        (drawn, "Uniforms: drawn", (False, False)),
        (fit_by(), "Uniforms: drawn", (False, False)),
    ):
        assert line in flat(fit)
        assert (seed in flat(fit), ids in flat(fit)) == needs
        for one in (fit.guarantee, *fit.further):
            assert (seed in one.assumptions) == needs[0]


def test_repeated_rows_are_told_and_no_upper_side_is_claimed():
    fit = split(rng=0)
    assert re.search(r"Note: \d+ calibration rows share their scores", flat(fit))
    assert "no upper bound, as calibration scores tie" in flat(fit)
    assert fit.guarantee.upper is None
    assert "Note:" not in flat(split(rng=0, ids=IDS))
    assert "Note:" not in flat(split())


def test_uniforms_of_the_users_own_after_a_seed_have_no_guarantee():
    u = np.random.default_rng(0).random(N)
    sets = split(rng=0).predict(PROBS, uniforms=u)
    assert not sets.guarantee
    assert "these are others" in flat(sets)
    sets = split().predict(PROBS, uniforms=u)
    assert "the uniforms given are independent draws from [0, 1]" in flat(sets)
    assert split(score="lac", rng=0).predict(PROBS, uniforms=u).guarantee


def test_thinning_does_not_use_the_hash():
    """Rows that repeat are kept or dropped each by itself."""
    probs, labels = np.tile([0.7, 0.3], (400, 1)), np.zeros(400, dtype=int)
    fit = dfu.covariate_shift_conformal(
        probs, labels, np.ones(400), confidence=0.9, weight_bound=2.0, rng=0
    )
    assert 140 < fit.n_kept < 260
