"""Features learnt against a discriminator: gradients, stopping, and what is printed."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._numerics.networks import (
    dropout_masks,
    forward,
    initial_parameters,
    softmax_loss,
)
from distfreeuq.feature_learning.adversarial_training import (
    adversarial_gradients,
    discriminator_gradients,
)
from tests.unit.numerics.test_networks import numerical_gradient


def shifted(n_source=300, n_target=300, n_classes=2, shift=3.0, seed=0):
    """The label depends on the first feature, the domain on the second."""
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(n_source, 2))
    target = rng.normal([0.0, shift], 1.0, (n_target, 2))
    cuts = np.quantile(source[:, 0], np.arange(1, n_classes) / n_classes)
    return source, np.digitize(source[:, 0], cuts), target


def fit(data, **options):
    options = {"n_hidden": 6, "n_epochs": 12, "warm_up": 3, "rng": 0} | options
    return dfu.indistinguishable_features(*data, **options)


@pytest.mark.parametrize("n_classes", [2, 31])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("conditional", [False, True])
@pytest.mark.parametrize("units", [6, (5, 3)])
def test_gradients_are_those_of_finite_differences(
    n_classes, dropout, conditional, units
):
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=(5, 3)), rng.normal(size=(7, 3))
    labels = rng.integers(0, n_classes, 5)
    classifier = initial_parameters(3, 4, n_classes, rng)
    n_seen = 4 * n_classes if conditional else 4
    discriminator = initial_parameters(n_seen, units, 2, rng)
    for bias in discriminator[1::2]:  # no unit at its kink
        bias += rng.normal(0.0, 0.1, bias.size)
    masks = dropout_masks(discriminator, 12, dropout, rng)
    reversal = 0.7

    def losses():
        [features], outputs = forward(classifier, np.vstack([source, target]))
        of_labels, _ = softmax_loss(outputs[:5], labels, np.full(5, 1 / 5))
        if conditional:  # all products, a row at a time
            probs = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
            features = np.array(
                [np.outer(f, p).ravel() for f, p in zip(features, probs, strict=True)]
            )
        _, outputs = forward(discriminator, features, masks)
        domains = np.array([1] * 5 + [0] * 7)
        weights = np.array([0.1] * 5 + [0.5 / 7] * 7)  # half source, half target
        return of_labels, softmax_loss(outputs, domains, weights)[0]

    def what_the_features_descend():
        of_labels, of_domains = losses()
        return of_labels - reversal * of_domains

    step = adversarial_gradients(
        classifier,
        discriminator,
        source,
        labels,
        target,
        reversal,
        masks,
        conditional=conditional,
    )
    np.testing.assert_allclose(
        [step.classifier_loss, step.discriminator_loss], losses(), rtol=1e-12
    )
    for analytic, array in zip(step.discriminator, discriminator, strict=True):
        numerical = numerical_gradient(lambda: losses()[1], array)
        np.testing.assert_allclose(analytic, numerical, rtol=1e-6, atol=1e-8)
    for analytic, array in zip(step.classifier, classifier, strict=True):
        numerical = numerical_gradient(what_the_features_descend, array)
        np.testing.assert_allclose(analytic, numerical, rtol=1e-6, atol=1e-8)


def test_the_step_of_the_discriminator_alone_is_the_same():
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=(5, 3)), rng.normal(size=(7, 3))
    classifier = initial_parameters(3, 4, 2, rng)
    discriminator = initial_parameters(4, 6, 2, rng)
    both = adversarial_gradients(
        classifier, discriminator, source, np.array([0, 1, 0, 1, 1]), target, 1.0
    )
    [features], _ = forward(classifier, np.vstack([source, target]))
    loss, gradient, _ = discriminator_gradients(discriminator, features, 5)
    assert loss == both.discriminator_loss
    for alone, together in zip(gradient, both.discriminator, strict=True):
        np.testing.assert_array_equal(alone, together)


@pytest.mark.slow
def test_features_hide_the_domain_and_keep_the_label():
    source, labels, target = shifted(600, 600)
    options = {"n_hidden": 8, "learning_rate": 0.005, "rng": 0}
    result = dfu.indistinguishable_features(source, labels, target, **options)
    plain = dfu.indistinguishable_features(
        source, labels, target, reversal=0.0, stop_below=0.0, **options
    )
    assert result.accuracy_before > 0.88  # the best possible is 0.933
    assert plain.accuracy_after > 0.88
    assert result.accuracy_after < plain.accuracy_after - 0.05
    truth = target[:, 0] > np.median(source[:, 0])
    assert ((result.logits(target).argmax(axis=1) == 1) == truth).mean() > 0.9


@pytest.mark.slow
def test_a_discriminator_that_stays_confident_ends_the_training():
    data = shifted(shift=30.0)
    with pytest.warns(dfu.TrainingStoppedWarning, match="for 4 epochs"):
        result = fit(data, reversal=0.0, n_epochs=60, learning_rate=0.01, patience=4)
    assert result.stopped == result.classifier_loss.size < 60
    low = result.discriminator_loss < 0.2
    assert low[-4:].all()
    assert not low[3:-1].all() or result.stopped == 3 + 4
    assert "Stopped" in str(result)
    never = fit(data, reversal=0.0, learning_rate=0.01, stop_below=0.0)
    assert never.stopped is None
    assert never.classifier_loss.size == 12


def test_a_seed_fixes_everything_that_is_printed():
    data = shifted()
    first, second, other = fit(data), fit(data), fit(data, rng=1)
    assert str(first) == str(second) != str(other)
    np.testing.assert_array_equal(first.transform(data[2]), second.transform(data[2]))


def test_units_of_the_columns_do_not_matter():
    source, labels, target = shifted()
    units, origin = np.array([1e-5, 1e4]), np.array([7.0, -3.0])
    plain = fit((source, labels, target))
    other = fit((source * units + origin, labels, target * units + origin))
    np.testing.assert_allclose(
        other.logits(target * units + origin), plain.logits(target), atol=1e-6
    )


def test_identical_samples_are_not_told_apart():
    source, labels, _ = shifted(800)
    target, _, _ = shifted(800, seed=1)
    result = fit((source, labels, target))
    assert abs(result.accuracy_before - 0.5) < 0.05
    assert abs(result.accuracy_after - 0.5) < 0.05
    for auc in (result.auc_before, result.auc_after):
        assert auc.low < 0.5
    assert "no difference of source and target is found" in str(result)


@pytest.mark.slow
def test_what_is_said_of_x_does_not_depend_on_the_training_of_the_map():
    data = shifted(400, 400, shift=2.0)  # the best accuracy is 0.841
    fits = [
        fit(data, n_epochs=n_epochs, learning_rate=rate, rng=seed)
        for seed, (n_epochs, rate) in enumerate([(1, 1e-5), (3, 1e-3), (20, 0.01)])
    ]
    accuracies = [result.accuracy_before for result in fits]
    assert max(accuracies) - min(accuracies) < 0.02
    assert min(accuracies) > 0.82
    areas = [result.auc_before.estimate for result in fits]  # at best 0.921
    assert max(areas) - min(areas) < 0.02


@pytest.mark.slow
def test_twenty_trainings_of_any_length_say_the_same_of_x():
    """Once .33, .30, .89 and .53 at 20 epochs, where .84 is best."""
    data = shifted(400, 400, shift=2.0)
    accuracies = [
        fit(
            data,
            n_epochs=(1, 2, 3, 5, 8, 12, 20, 40)[seed % 8],
            learning_rate=(1e-5, 1e-3, 0.01)[seed % 3],
            warm_up=1,
            rng=seed,
        ).accuracy_before
        for seed in range(20)
    ]
    assert max(accuracies) - min(accuracies) < 0.02
    assert min(accuracies) > 0.82 and max(accuracies) < 0.86


def test_samples_of_two_rows_are_judged():
    source, labels, target = shifted(2, 2)
    result = fit((source, labels, target), n_epochs=1, classes=[0, 1])
    assert 0.0 <= result.auc_before.low <= result.auc_before.high <= 1.0


@pytest.mark.parametrize("n_classes", [2, 31])
def test_shapes_and_printing(n_classes):
    source, labels, target = shifted(200, 120, n_classes)
    result = fit((source, labels, target))
    assert result.transform(target[:7]).shape == (7, 6)
    assert result.logits(target[:7]).shape == (7, n_classes)
    probability = result.source_probability(target[:7])
    assert probability.shape == (7,)
    assert ((probability >= 0) & (probability <= 1)).all()
    frame = result.to_frame()
    assert list(frame) == ["epoch", "classifier_loss", "discriminator_loss"]
    assert len(frame) == 12
    text = str(result)
    assert "Guarantee" in text
    assert "12 of 12" in text
    assert result.plot().get_xlabel() == "epoch"
    assert repr(result) == (
        f"<FeatureMapResult d=2 n_hidden=6 K={n_classes} epochs=12>"
    )


def test_operations_are_counted_by_hand():
    source, labels, target = shifted(200, 120)
    result = fit((source, labels, target), n_hidden_discriminator=5)
    weights = 2 * 6 + 6 * 2 + 6 * 5 + 5 * 2
    assert result.epoch_operations == 2 * 400 * 4 * weights
    assert result.n_weights == weights + 6 + 2 + 5 + 2


def test_saved_and_loaded(tmp_path):
    source, labels, target = shifted(100, 80)
    names = ["no", "yes"]
    result = fit((source, np.array(names)[labels], target), classes=names)
    result.save(tmp_path / "map.npz")
    again = dfu.load(tmp_path / "map.npz")
    np.testing.assert_array_equal(again.transform(target), result.transform(target))
    assert str(again) == str(result)
    assert list(again.classes) == names


def test_constant_columns_and_more_columns_than_rows():
    rng = np.random.default_rng(0)
    source = np.column_stack([np.full(20, 3.0), rng.normal(size=(20, 60))])
    target = np.column_stack([np.full(15, 3.0), rng.normal(size=(15, 60))])
    result = fit((source, rng.integers(0, 2, 20), target), batch_size=8)
    assert np.isfinite(result.logits(target)).all()
    moved = np.column_stack([np.full(15, 4.0), target[:, 1:]])
    assert np.isfinite(result.logits(moved)).all()


def test_a_class_that_no_row_has():
    source, labels, target = shifted(100, 80)
    assert len(fit((source, labels * 2, target)).classes) == 3
    names = np.array(["a", "c"])[labels]
    assert len(fit((source, names, target), classes=["a", "b", "c"]).classes) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_hidden": 0}, "'n_hidden'.*at least 1"),
        ({"n_hidden": 100_000}, "'n_hidden'.*50000000 weights"),
        ({"reversal": -1.0}, "'reversal'.*non-negative"),
        ({"dropout": 1.0}, "'dropout'.*not including, 1"),
        ({"n_epochs": 0}, "'n_epochs'"),
        ({"patience": 0}, "'patience'"),
        ({"learning_rate": 0.0}, "'learning_rate'.*positive"),
        ({"progress": 1}, "'progress'.*True or False"),
        ({"classes": ["one"]}, "'classes'.*at least two"),
        ({"rng": -1}, "'rng'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(dfu.InputError, match=message):
        fit(shifted(40, 40), **options)


def test_labels_may_be_integers_of_python():
    source, labels, target = shifted(40, 40)
    options = {"n_hidden": 2, "n_epochs": 1, "rng": 0}
    first, other = (
        dfu.indistinguishable_features(source, given, target, **options)
        for given in (labels, np.asarray(labels).astype(object))
    )
    np.testing.assert_array_equal(first.transform(target), other.transform(target))


def test_bad_rows_are_refused():
    source, labels, target = shifted(40, 40)
    with pytest.raises(dfu.InputError, match=r"'target'.*1e\+100.*standardize=False"):
        fit((source, labels, 1e150 * target), standardize=False)
    with pytest.raises(dfu.InputError, match=r"'target'.*columns of 'source'"):
        fit((source, labels, target[:, :1]))
    with pytest.raises(dfu.InputError, match="'labels'"):
        fit((source, labels[:-1], target))
    with pytest.raises(dfu.InputError, match=r"'labels'.*listed in 'classes'"):
        fit((source, np.array(["a", "b"])[labels], target))
    with pytest.raises(dfu.InputError, match=r"transform.*\(n, 2\)"):
        fit((source, labels, target)).transform(target[:, :1])


# ------------------------------------------------- conditional adversaries, auto units


def class_moves(n, seed=0):
    """Return rows whose classes move in opposite directions, their mean not at all."""
    rng = np.random.default_rng(seed)
    labels, others = rng.integers(0, 2, (2, n))
    source, target = rng.normal(0.0, 1.0, (2, n, 3))
    source[:, 0] += 3.0 * labels
    target[:, 0] += 3.0 * others
    target[:, 1] += np.where(others == 1, 1.5, -1.5)
    return source, labels, target


def test_a_conditional_adversary_is_another_training_and_says_so():
    data = class_moves(150)
    plain, conditional = (
        fit(data, adversary=adversary) for adversary in ("features", "conditional")
    )
    assert conditional.adversary == "conditional"
    assert "conditional" in str(conditional) and "conditional" not in str(plain)
    assert (plain.discriminator_loss != conditional.discriminator_loss).all()
    # the adversary has a first layer of 6 features by 2 classes: 6 * 6 more weights
    assert conditional.n_weights == plain.n_weights + 36
    assert conditional.epoch_operations > plain.epoch_operations
    assert plain.network.parameters.n_hidden == (6,)


def test_layers_of_the_discriminator():
    result = fit(class_moves(80), n_hidden_discriminator=(5, 4))
    assert result.discriminator.parameters.n_hidden == (5, 4)
    assert repr(result.discriminator) == "<Network 6-5-4-2>"


def test_auto_begins_with_the_columns_and_stops_where_the_loss_rests():
    source, labels, target = class_moves(100)
    wide = [np.hstack([x, np.zeros((100, 5))]) for x in (source, target)]
    options = {"n_hidden": "auto", "reversal": 0.0, "stop_below": 0.0}
    short = dfu.indistinguishable_features(
        wide[0], labels, wide[1], n_epochs=1, rng=0, **options
    )
    assert short.tried[:, 0].tolist() == [8, 4, 2]  # one epoch tells nothing
    losses = short.tried[:, 1]
    assert short.n_hidden == short.tried[losses.argmin(), 0]
    assert f"None does: {short.n_hidden}" in " ".join(str(short).split())
    long = dfu.indistinguishable_features(
        wide[0], labels, wide[1], n_epochs=30, learning_rate=0.03, rng=0, **options
    )
    assert long.tried.shape == (1, 3) and long.n_hidden == 8
    assert long.tried[0, 2] <= 0.02
    assert "The first number that converges" in " ".join(str(long).split())
    assert fit(class_moves(80)).tried.shape == (0, 3)


def test_what_no_adversary_and_no_units_are():
    for options, parameter in (
        ({"adversary": "labels"}, "adversary"),
        ({"n_hidden": "few"}, "n_hidden"),
        ({"n_hidden": 0}, "n_hidden"),
        ({"n_hidden_discriminator": ()}, "n_hidden_discriminator"),
        ({"n_hidden_discriminator": (3, 0)}, "n_hidden_discriminator"),
        ({"adversary": "conditional", "n_hidden": 4000}, "n_hidden"),
    ):
        with pytest.raises(dfu.InputError, match=f"The '{parameter}' parameter of ind"):
            fit(class_moves(40), **options)
