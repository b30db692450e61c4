"""Calibration under covariate shift of rows in blocks: the fit in memory."""

from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu

GENERATOR = np.random.default_rng(0)
N = 700
SOURCE = GENERATOR.normal(size=(N, 2))
TARGET = GENERATOR.normal([0.7, 0.0], 1.0, (500, 2))
LOGITS = np.stack([SOURCE[:, 0], -SOURCE[:, 0], 0.3 * SOURCE[:, 1]], axis=1) * 2.0
LABELS = (0.5 * LOGITS + GENERATOR.gumbel(size=LOGITS.shape)).argmax(axis=1)
KNOWN = np.exp(0.7 * SOURCE[:, 0] - 0.245)
CALIBRATORS = [
    "temperature",
    "classwise-temperature",
    "vector",
    "platt",
    "dirichlet",
    "isotonic",
    "beta",
]


def lazily(array, *cuts):
    sizes = tuple(np.diff([0, *sorted(cuts), len(array)]).tolist())
    return da.from_array(array, chunks=(sizes, *array.shape[1:]))


def in_blocks(*arrays, cuts=(1, 1, 300)):
    def blocks():
        for start, end in pairwise([0, *sorted(cuts), N]):
            yield tuple(array[start:end] for array in arrays)

    return blocks


def assert_alike(found, want):
    """Hold two fits equal to 1e-10."""
    close = {"rtol": 1e-10, "atol": 1e-11}
    np.testing.assert_allclose(found.sample_weight, want.sample_weight, **close)
    ours, theirs = (fit.predict(LOGITS) for fit in (found, want))
    np.testing.assert_allclose(ours, theirs, **close)
    assert (found.bound is None) == (want.bound is None)
    if want.bound is not None:
        for name in want.bound._state:
            both = (getattr(fit.bound, name) for fit in (found, want))
            np.testing.assert_allclose(*both, **close, err_msg=name)
    assert found.rows == want.rows and found.guarantee == want.guarantee
    assert found.method == want.method and found.ess == pytest.approx(want.ess)


@pytest.mark.parametrize("calibrator", CALIBRATORS)
@pytest.mark.filterwarnings("ignore::distfreeuq.DistFreeWarning")
def test_of_dask_and_in_blocks_it_is_the_fit_in_memory(calibrator):
    options = {"calibrator": calibrator, "rng": 0, "offset": 0.5}
    want = dfu.covariate_shift_calibration(LOGITS, LABELS, SOURCE, TARGET, **options)
    rows = lazily(LOGITS, 1, 1, 200), lazily(LABELS, 350), lazily(SOURCE, 200)
    found = dfu.covariate_shift_calibration(*rows, lazily(TARGET, 77), **options)
    assert_alike(found, want)
    all_in_one = in_blocks(LOGITS, LABELS, SOURCE)
    fit = dfu.covariate_shift_calibration(all_in_one, None, None, TARGET, **options)
    assert_alike(fit, want)
    new = found.predict(lazily(LOGITS, 99))
    assert isinstance(new, da.Array)
    np.testing.assert_allclose(new.compute(), found.predict(LOGITS), rtol=1e-14)


@given(
    st.lists(st.integers(0, N), max_size=4),
    st.lists(st.integers(0, N), max_size=4),
    st.sampled_from(["temperature", "isotonic", "platt"]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from(["known", "none", "logistic", "brier"]),
)
@settings(deadline=None, max_examples=12)
@pytest.mark.filterwarnings("ignore::distfreeuq.DistFreeWarning")
def test_any_chunks_and_weights_give_the_same(cuts, others, calibrator, dtype, kind):
    options = {"calibrator": calibrator, "rng": 0}
    if kind == "brier":
        options |= {"calibrator": "temperature", "loss": "brier"}
    else:
        ratio = {"known": KNOWN, "none": None, "logistic": "logistic"}[kind]
        options["ratio"] = ratio
    logits = LOGITS.astype(dtype)
    want = dfu.covariate_shift_calibration(logits, LABELS, SOURCE, TARGET, **options)
    rows = lazily(logits, *cuts), lazily(LABELS, *others), lazily(SOURCE, *others)
    found = dfu.covariate_shift_calibration(*rows, TARGET, **options)
    blocks = in_blocks(logits, LABELS, cuts=cuts)
    features = in_blocks(SOURCE, cuts=others)
    fit = dfu.covariate_shift_calibration(blocks, None, features, TARGET, **options)
    for one in (found, fit):
        np.testing.assert_allclose(
            one.predict(LOGITS), want.predict(LOGITS), rtol=1e-9, atol=1e-10
        )
        np.testing.assert_allclose(one.sample_weight, want.sample_weight, rtol=1e-10)


def test_ratios_of_their_own_and_features_in_memory():
    ratio = dfu.density_ratio(SOURCE, TARGET, method="knn")
    blocks = in_blocks(LOGITS, LABELS)
    arrays = (LOGITS, LABELS, SOURCE, TARGET)
    for options in ({"ratio": ratio}, {"ratio": "knn", "rng": 0}, {"ratio": KNOWN}):
        want = dfu.covariate_shift_calibration(*arrays, **options)
        found = dfu.covariate_shift_calibration(blocks, None, SOURCE, TARGET, **options)
        assert_alike(found, want)
    lazy = lazily(SOURCE, 100)  # and the logits in memory
    want = dfu.covariate_shift_calibration(*arrays, rng=0)
    found = dfu.covariate_shift_calibration(LOGITS, LABELS, lazy, TARGET, rng=0)
    assert_alike(found, want)
    assert str(found.summary()).split() == str(want.summary()).split()


def test_a_file_has_the_fit(tmp_path):
    rows = lazily(LOGITS, 100), lazily(LABELS, 90), lazily(SOURCE, 80)
    fit = dfu.covariate_shift_calibration(*rows, TARGET, rng=0)
    fit.save(tmp_path / "fit.npz")
    np.testing.assert_array_equal(
        dfu.load(tmp_path / "fit.npz").predict(LOGITS), fit.predict(LOGITS)
    )


BLOCKS = in_blocks(LOGITS, LABELS, SOURCE)
EVERY = lazily(np.ones(N, dtype=bool), 300)
OF_UNKNOWN_SIZES = lazily(LOGITS, 300)[EVERY]
LABELS_UNKNOWN = lazily(LABELS, 300)[EVERY]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature_learning": True}, "'feature_learning' .* arrays of a sample"),
        ({"ratio": "mlp"}, "'ratio' .* 'logistic', .* from arrays of a sample"),
        ({"calibrator": "binning"}, "'calibrator' .* fitted in passes"),
        ({"calibrator": "venn-abers"}, "'calibrator' .* fitted in passes"),
        ({"calibrator": lambda x, y, **o: x}, "'calibrator' .* fitted in passes"),
        ({"source": SOURCE}, "'source' .* None where blocks have their own"),
        ({"labels": LABELS}, "'labels' .* None where 'logits' is blocks"),
        ({"logits": BLOCKS()}, "'logits' .* a function without arguments"),
        ({"logits": in_blocks(LOGITS, LABELS)}, "'source' .* given for a density"),
        ({"ratio": KNOWN[:9]}, r"'ratio' .* of 300 rows or more.* 9 rows"),
        ({"ratio": np.r_[KNOWN, 1.0]}, r"'ratio' .* of 700 rows.* 701 rows"),
        (
            {"logits": lazily(LOGITS, 9), "labels": LABELS, "ratio": KNOWN[:9]},
            r"'ratio' .* of 700 rows.* 9 rows",
        ),
        (
            {"logits": OF_UNKNOWN_SIZES, "labels": LABELS_UNKNOWN, "ratio": KNOWN},
            "'logits' .* sizes are known.*compute_chunk_sizes",
        ),
        ({"target": None}, "'target' .* given for a density ratio"),
        (
            {"logits": in_blocks(LOGITS), "ratio": None},
            "'labels' .* given for every row",
        ),
        (
            {"logits": in_blocks(LOGITS, LABELS), "source": lazily(SOURCE[:-1], 70)},
            r"'source' .* of 700 rows or more.* 699 rows",
        ),
        ({"ratio": None, "ratio_options": {}}, "'ratio_options' .* None, unless"),
    ],
)
def test_what_is_wrong_is_said(change, message):
    given = {"logits": BLOCKS, "labels": None, "source": None, "target": TARGET}
    with pytest.raises(dfu.InputError, match=message):
        dfu.covariate_shift_calibration(**{**given, **change})


def test_rows_in_memory_and_as_many_features():
    with pytest.raises(dfu.InputError, match=r"'source' .* of 700 rows.* 699 rows"):
        dfu.covariate_shift_calibration(LOGITS, LABELS, lazily(SOURCE[:-1], 9), TARGET)
    bad = LOGITS.copy()
    bad[444, 1] = np.nan
    with pytest.raises(dfu.InputError, match=r"'logits' .* nan at row 444"):
        dfu.covariate_shift_calibration(
            lazily(bad, 400), lazily(LABELS, 9), lazily(SOURCE, 9), TARGET
        )
