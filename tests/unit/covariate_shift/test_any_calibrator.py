"""Any calibrator under covariate shift: by name, by groups, a user's own."""

from functools import partial

import numpy as np
import pytest
from scipy import special

import distfreeuq as dfu
from distfreeuq import InputError
from tests.unit.covariate_shift.test_weighted_calibration import fit, shifted


@pytest.fixture(scope="module")
def data():
    return shifted(n=600, m=400, n_classes=3)


def known(data, calibrator, **options):
    return fit(data, ratio=data["weights"], calibrator=calibrator, **options)


def softmax(logits):
    return special.softmax(logits, axis=1)


NAMES = {
    "temperature": dfu.temperature_scaling,
    "classwise-temperature": dfu.classwise_temperature_scaling,
    "platt": dfu.platt_scaling,
    "vector": dfu.vector_scaling,
    "dirichlet": dfu.dirichlet_scaling,
    "isotonic": dfu.isotonic_calibration,
    "beta": dfu.beta_calibration,
    "venn-abers": dfu.venn_abers,
}
OF_PROBS = ("isotonic", "beta", "venn-abers")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_and_its_function_are_the_weighted_fit(data, name):
    """Both give what the function gives with the weights."""
    inputs = softmax(data["logits"]) if name in OF_PROBS else data["logits"]
    direct = NAMES[name](inputs, data["labels"], sample_weight=data["weights"])
    for given in (name, NAMES[name], partial(NAMES[name])):
        found = known(data, given)
        assert found.calibrator == name
        np.testing.assert_allclose(
            found.predict(data["logits"]), direct.predict(inputs), rtol=1e-9
        )
    unlike = NAMES[name](inputs, data["labels"]).predict(inputs)
    assert np.abs(found.predict(data["logits"]) - unlike).max() > 1e-3


def test_options_in_a_partial_are_kept(data):
    found = known(data, partial(dfu.temperature_scaling, loss="brier"))
    assert found.calibration.loss == "brier"
    same = known(data, "temperature", loss="brier")
    assert found.calibration.temperature == same.calibration.temperature
    classwise = known(data, "classwise-temperature", calibrator_options={"gamma": 0.1})
    assert classwise.calibration.gamma == 0.1
    assert "class-wise temperature" in str(classwise)


def test_groups_by_prediction_by_rule_and_by_array(data):
    by = partial(dfu.groupwise_calibration, "temperature")
    predicted = known(data, by)
    classwise = known(data, "classwise-temperature")
    np.testing.assert_allclose(
        predicted.predict(data["logits"]), classwise.predict(data["logits"]), rtol=1e-6
    )
    site = np.arange(600) % 2
    found = known(data, partial(by, groups=site))
    direct = dfu.groupwise_calibration(
        "temperature",
        data["logits"],
        data["labels"],
        groups=site,
        sample_weight=data["weights"],
    )
    np.testing.assert_allclose(
        found.predict(data["logits"], groups=site),
        direct.predict(data["logits"], groups=site),
        rtol=1e-9,
    )
    with pytest.raises(InputError, match=r"'groups' parameter.*given, as in the fit"):
        found.predict(data["logits"])
    with pytest.raises(InputError, match="the calibrator has no groups"):
        known(data, "platt").predict(data["logits"], groups=site)
    estimated = fit(data, calibrator=partial(by, groups=site))
    assert estimated.bound is None and estimated.ratio is not None


# ----------------------------------------------------------- calibrators of users


def weighted_share(logits, labels, sample_weight=None):
    share = np.average(labels, weights=sample_weight)
    return lambda new: np.full(len(new), share)


class Shrunk:
    """An object in scikit-learn's manner, whose fit may return nothing."""

    def fit(self, x, y, sample_weight=None):
        self.share = np.average(y, weights=sample_weight)

    def predict_proba(self, x):
        mixed = 0.5 * self.share + 0.5 * softmax(x)[:, 1]
        return np.column_stack([1 - mixed, mixed])


def two_classes(data):
    """Return the rows with two classes, and the weighted share of class 1."""
    two = data | {
        "logits": data["logits"][:, :2],
        "labels": (data["labels"] > 0).astype(int),
    }
    return two, np.average(two["labels"], weights=two["weights"])


def test_functions_and_objects_get_the_weights_as_they_are(data):
    two, share = two_classes(data)
    found = known(two, weighted_share)
    np.testing.assert_allclose(found.predict(two["logits"])[:, 1], share)
    assert repr(found.calibration).startswith("<OwnCalibrationResult weighted_share")
    assert found.method == "IW+weighted_share"
    given = Shrunk()
    shrunk = known(two, given)
    assert not hasattr(given, "share")  # a copy was fitted
    expected = 0.5 * share + 0.5 * softmax(two["logits"])[:, 1]
    np.testing.assert_allclose(shrunk.predict(two["logits"])[:, 1], expected)
    seen = []
    known(two, lambda z, y, sample_weight: seen.append(sample_weight) or softmax)
    np.testing.assert_array_equal(seen[0], two["weights"])
    page = str(found)
    assert "weighted_share" in page and "NLL after" in page
    found.plot().figure.canvas.draw()


def test_scikit_learn_calibrates_with_weights(data):
    linear = pytest.importorskip("sklearn.linear_model")
    model = linear.LogisticRegression(C=1e6, max_iter=1000)
    found = known(data, model)
    ours = known(data, "platt")
    np.testing.assert_allclose(
        found.predict(data["logits"]), ours.predict(data["logits"]), atol=2e-3
    )


def test_all_that_take_calibrators_read_them_alike(data):
    two, share = two_classes(data)
    by = dfu.groupwise_calibration(
        weighted_share,
        two["logits"],
        two["labels"],
        groups=np.zeros(600),
        sample_weight=two["weights"],
    )
    np.testing.assert_allclose(by.fits[0].predict([[0.0, 1.0]]), [[1 - share, share]])
    compared = dfu.compare_calibrations(
        two["logits"],
        two["labels"],
        two["logits"][:100],
        two["labels"][:100],
        sample_weight=two["weights"],
        calibrators=[weighted_share, Shrunk()],
        n_rep=1,
        rng=0,
    )
    assert set(compared.calibrators) == {
        "none",
        "weighted_share",
        "Shrunk",
    }


def broken(result):
    return lambda logits, labels, sample_weight: result


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        ("magic", "'classwise-temperature'.*'binning'"),
        (3, "a function, or an object with 'fit'"),
        (lambda logits, labels: softmax, "takes 'sample_weight'"),
        (Shrunk, "takes 'sample_weight'"),
        (broken(None), "which returns None"),
        (broken(lambda new: new), r"whose row 0 is \["),
        (broken(lambda new: new[:1]), r"shape \(1, 3\)"),
        (broken(lambda new: np.full((len(new), 3), np.nan)), r"\[nan"),
        (broken(lambda new: "probabilities"), "'probabilities'"),
    ],
)
def test_what_is_no_calibrator_is_refused(data, calibrator, message):
    with pytest.raises(InputError, match=message) as caught:
        known(data, calibrator)
    assert "The 'calibrator' parameter of covariate_shift_calibr" in str(caught.value)


def test_own_maps_cannot_be_saved_and_the_message_says_why(data, tmp_path):
    two, _ = two_classes(data)
    found = known(two, weighted_share)
    with pytest.raises(InputError, match="your own weighted_share, which cannot be"):
        found.save(tmp_path / "own.npz")
    with pytest.raises(InputError, match="cannot be saved"):
        found.calibration.save(tmp_path / "own.npz")


def test_classwise_fits_are_saved(data, tmp_path):
    found = known(data, "classwise-temperature")
    found.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(
        again.predict(data["logits"]), found.predict(data["logits"])
    )


def test_known_weights_make_a_map_of_ones_own_no_certificate(data):
    two, _ = two_classes(data)
    assert not known(two, weighted_share).guarantee
