"""What must not change a conformal fit or its sets, through the public functions."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq._numerics.quantiles import SLACK, smallest_sample
from tests.property.strategies import SCORES, scored_rows

alphas = st.one_of(
    st.integers(1, 99).map(lambda j: j / 100),
    st.sampled_from([1 - 0.9, 1 / 3, 1 - 2 / 3]),
)
names = st.sampled_from(list(SCORES))
pytestmark = pytest.mark.filterwarnings("ignore:alpha=:distfreeuq.LikelyMistakeWarning")


@st.composite
def calibrations(draw):
    """Draw a level, enough calibration rows for it, often repeated, and a score."""
    alpha = draw(alphas)
    few = draw(scored_rows(max_rows=8, max_classes=12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(smallest_sample(alpha), 120))
    which = rng.integers(0, len(few.probs), n)
    labels = rng.integers(0, few.n_classes, n)
    return alpha, few.probs[which], labels, draw(names)


@given(calibrations(), st.integers(0, 2**32 - 1))
def test_the_order_of_calibration_rows_changes_nothing(calibration, seed):
    alpha, probs, labels, score = calibration
    order = np.random.default_rng(seed).permutation(len(labels))
    options = {"alpha": alpha, "score": score, "randomized": False}
    fit = dfu.split_conformal(probs, labels, **options)
    again = dfu.split_conformal(probs[order], labels[order], **options)
    for name in ("thresholds", "scores", "class_counts"):
        np.testing.assert_array_equal(getattr(fit, name), getattr(again, name))
    np.testing.assert_array_equal(fit.predict(probs).mask, again.predict(probs).mask)


@given(calibrations(), st.integers(0, 2**32 - 1))
def test_renamed_classes_give_renamed_sets(calibration, seed):
    alpha, probs, labels, score = calibration
    order = np.random.default_rng(seed).permutation(probs.shape[1])
    ids = np.arange(len(labels))  # a row whose columns are moved is another row
    options = {"alpha": alpha, "score": score, "rng": 5, "ids": ids}
    fit = dfu.split_conformal(probs, labels, **options)
    renamed = dfu.split_conformal(probs[:, order], np.argsort(order)[labels], **options)
    np.testing.assert_array_equal(fit.scores, renamed.scores)
    np.testing.assert_array_equal(
        renamed.predict(probs[:, order], ids=ids).mask,
        fit.predict(probs, ids=ids).mask[:, order],
    )


@given(calibrations(), alphas)
def test_sets_shrink_as_alpha_grows(calibration, other_alpha):
    alpha, probs, labels, score = calibration
    assume(len(labels) >= smallest_sample(other_alpha))
    low, high = sorted([alpha, other_alpha])
    wide = dfu.split_conformal(probs, labels, alpha=low, score=score, rng=1)
    narrow = dfu.split_conformal(probs, labels, alpha=high, score=score, rng=1)
    u = np.random.default_rng(2).random(len(labels))
    narrow_mask = narrow.predict(probs, uniforms=u).mask
    assert (narrow_mask <= wide.predict(probs, uniforms=u).mask).all()


@given(calibrations())
def test_a_label_is_in_the_set_if_its_p_value_exceeds_alpha(calibration):
    alpha, probs, labels, score = calibration
    fit = dfu.split_conformal(probs, labels, alpha=alpha, score=score, rng=1)
    p_values = fit.p_values(probs)
    # 1 - 0.9 is a little less than 1/10: the rule's slack makes it mean 1/10
    np.testing.assert_array_equal(fit.predict(probs).mask, p_values > alpha + SLACK)


@given(calibrations())
def test_a_row_alone_gets_the_set_it_gets_in_its_batch(calibration):
    alpha, probs, labels, score = calibration
    fit = dfu.split_conformal(probs, labels, alpha=alpha, score=score, rng=1)
    new = probs[:5]
    u = np.linspace(0.0, 1.0, len(new))
    together = fit.predict(new, uniforms=u).mask
    for i in range(len(new)):
        alone = fit.predict(new[i : i + 1], uniforms=u[i : i + 1]).mask
        np.testing.assert_array_equal(alone[0], together[i])


@pytest.mark.parametrize("score", SCORES)
def test_the_number_of_threads_changes_no_bit(score):
    rng = np.random.default_rng(4)
    probs = rng.dirichlet(np.ones(50), size=4000)
    labels = rng.integers(0, 50, 4000)
    before = dfu.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 5):
            dfu.set_num_threads(threads)
            fit = dfu.split_conformal(probs, labels, score=score, rng=1)
            p_values = fit.p_values(probs[:2000])
            results.append([fit.scores, fit.predict(probs).mask, p_values])
    finally:
        dfu.set_num_threads(before)
    for other in results[1:]:
        for one_thread, several in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one_thread, several)
