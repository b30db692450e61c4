"""Random numbers come from the seed alone, and every purpose has its own."""

import re
from typing import get_args

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import InputError
from distfreeuq._base.random_streams import Purpose, stream
from tests.unit.argument_data import LABELS, PLAIN, PROBS, N


def draws(rng, purpose):
    return stream(rng, purpose, "test").random(5)


@pytest.mark.parametrize("seed", [0, 7, 2**63, 2**200])
def test_an_integer_seeds_a_stream_for_each_purpose(seed):
    streams = [draws(seed, purpose) for purpose in get_args(Purpose)]
    # the user's own, by the same number
    streams.append(np.random.default_rng(seed).random(5))
    children = np.random.SeedSequence(seed).spawn(8)
    streams += [np.random.default_rng(child).random(5) for child in children]
    for i, one in enumerate(streams):
        for other in streams[:i]:
            assert not np.isin(one, other).any()
    np.testing.assert_array_equal(draws(seed, "fit"), draws(seed, "fit"))


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64])
def test_numpy_integers_are_integers(kind):
    np.testing.assert_array_equal(draws(kind(7), "fit"), draws(7, "fit"))


def test_a_seed_sequence_is_extended_and_not_used_up():
    sequence = np.random.SeedSequence(7, spawn_key=(3,), pool_size=8)
    first = draws(sequence, "fit")
    assert sequence.n_children_spawned == 0
    np.testing.assert_array_equal(draws(sequence, "fit"), first)
    assert not np.isin(draws(sequence, "predict"), first).any()
    assert not np.isin(draws(7, "fit"), first).any()
    children = [draws(child, "fit") for child in sequence.spawn(2)]
    assert not np.isin(children[0], children[1]).any()


def test_a_generator_is_drawn_from_as_it_stands():
    generator = np.random.default_rng(7)
    assert stream(generator, "fit", "test") is generator
    expected = np.random.default_rng(7).random(2 * N)
    generator = np.random.default_rng(7)
    fit = dfu.split_conformal(PROBS, LABELS, rng=generator)
    by_hand = np.sort(dfu.nested_scores(PROBS, LABELS, uniforms=expected[:N]))
    np.testing.assert_array_equal(fit.scores, by_hand)
    sets = fit.predict(PROBS, rng=generator)
    again = fit.predict(PROBS, uniforms=expected[N:])
    np.testing.assert_array_equal(sets.mask, again.mask)


def test_without_a_seed_every_call_draws_anew():
    one, other = draws(None, "fit"), draws(None, "fit")
    assert not np.isin(one, other).any()


def test_results_repeat_with_the_seed_and_change_without():
    same = dfu.split_conformal(PROBS, LABELS, rng=0)
    np.testing.assert_array_equal(same.scores, PLAIN.scores)
    assert (dfu.split_conformal(PROBS, LABELS, rng=1).scores != PLAIN.scores).any()
    np.testing.assert_array_equal(PLAIN.p_values(PROBS), same.p_values(PROBS))


def test_the_global_generator_is_neither_read_nor_changed():
    before = np.random.get_state()  # noqa: NPY002
    dfu.split_conformal(PROBS, LABELS).predict(PROBS)
    dfu.split_conformal(PROBS, LABELS, rng=3).predict(PROBS)
    after = np.random.get_state()  # noqa: NPY002
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]


def test_given_uniforms_leave_the_generator_where_it_was():
    generator = np.random.default_rng(7)
    PLAIN.predict(PROBS, rng=generator, uniforms=np.full(N, 0.5))
    assert generator.random() == np.random.default_rng(7).random()


def test_scores_without_randomisation_have_uniforms_of_one():
    generator = np.random.default_rng(7)
    fit = dfu.split_conformal(PROBS, LABELS, randomized=False, rng=generator)
    fit.predict(PROBS, rng=generator)
    assert generator.random() == np.random.default_rng(7).random()
    by_hand = np.sort(dfu.nested_scores(PROBS, LABELS))
    np.testing.assert_array_equal(fit.scores, by_hand)


@pytest.mark.parametrize(
    ("rng", "got"),
    [
        (-1, "-1"),
        (np.int64(-1), "-1"),
        (True, "True"),
        (np.bool_(True), "True"),
        (0.0, "0.0"),
        ("0", "'0'"),
        ([1, 2], "[1, 2]"),
        (np.array([1, 2]), "[1, 2]"),
        (np.random, "a module"),
        (np.random.RandomState(0), "a RandomState"),
        (np.random.PCG64(0), "a PCG64"),
        (np.random.Generator, "the class Generator"),
    ],
)
@pytest.mark.parametrize("score", ["aps", "lac"])
def test_what_is_no_source_of_random_numbers(rng, got, score):
    message = re.escape(
        "must be a non-negative integer seed, a numpy.random.Generator, a SeedSequence "
        f"or None. Got {got} instead."
    )
    fit = dfu.split_conformal(PROBS, LABELS, score=score, rng=0)
    for call, caller in (
        (
            lambda: dfu.split_conformal(PROBS, LABELS, score=score, rng=rng),
            "split_conf",
        ),
        (lambda: fit.predict(PROBS, rng=rng), "SplitConformalResult.predict"),
        (lambda: fit.p_values(PROBS, rng=rng), "SplitConformalResult.p_values"),
    ):
        with pytest.raises(
            InputError, match=f"The 'rng' parameter of {caller}.*{message}"
        ):
            call()
