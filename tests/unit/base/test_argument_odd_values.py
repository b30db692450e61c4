"""Every odd value in every parameter: an answer or an InputError, and nothing else."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import InputError
from tests.unit.argument_data import PROBS, UNIFORMS
from tests.unit.odd_values import odd_values


def call_with(name: str) -> Callable[[Any], Any]:
    probs, labels, uniforms = PROBS[:12], np.arange(12) % 3, UNIFORMS[:12]
    fit = dfu.split_conformal(probs, labels, rng=0)
    sets = fit.predict(probs, rng=0)

    def thresholds(**change: Any) -> Any:
        arguments: dict[str, Any] = {
            "scores": uniforms,
            "labels": labels,
            "alpha": 0.1,
            "n_classes": 3,
        }
        arguments |= change
        scores, codes = arguments.pop("scores"), arguments.pop("labels")
        return dfu.conformal_thresholds(scores, codes, **arguments)

    def quantile(**change: Any) -> Any:
        values, weights, level = uniforms, np.ones(12), 0.5
        return dfu.weighted_quantile(
            change.get("values", values),
            change.get("weights", weights),
            change.get("level", level),
            atom=change.get("atom", 0.0),
        )

    calls: dict[str, Callable[[Any], Any]] = {
        "split_conformal probs": lambda x: dfu.split_conformal(x, labels, rng=0),
        "split_conformal labels": lambda x: dfu.split_conformal(probs, x, rng=0),
        "split_conformal named": lambda x: dfu.split_conformal(
            probs, x, classes=["a", 1, None], rng=0
        ),
        **{
            f"split_conformal {key}": lambda x, key=key: dfu.split_conformal(
                probs, labels, **{"rng": 0, key: x}
            )
            for key in (
                "alpha",
                "score",
                "randomized",
                "never_empty",
                "confidence",
                "classes",
                "rng",
            )
        },
        "predict probs": lambda x: fit.predict(x, rng=0),
        "predict rng": lambda x: fit.predict(probs, rng=x),
        "predict uniforms": lambda x: fit.predict(probs, uniforms=x),
        "p_values probs": lambda x: fit.p_values(x, rng=0),
        "p_values rng": lambda x: fit.p_values(probs, rng=x),
        "p_values uniforms": lambda x: fit.p_values(probs, uniforms=x),
        "evaluate labels": lambda x: sets.evaluate(x),
        "evaluate level": lambda x: sets.evaluate(labels, level=x),
        "nested_scores probs": lambda x: dfu.nested_scores(x),
        "nested_scores labels": lambda x: dfu.nested_scores(probs, x),
        **{
            f"nested_scores {key}": lambda x, key=key: dfu.nested_scores(
                probs, **{key: x}
            )
            for key in ("score", "uniforms", "classes")
        },
        **{
            f"conformal_thresholds {key}": lambda x, key=key: thresholds(**{key: x})
            for key in ("scores", "labels", "alpha", "n_classes", "method")
        },
        "conformal_thresholds alphas": lambda x: thresholds(
            alpha=x, method="label-conditional"
        ),
        "conformal_thresholds label_weight": lambda x: thresholds(
            label_weight=x, method="label-shift"
        ),
        **{
            f"weighted_quantile {key}": lambda x, key=key: quantile(**{key: x})
            for key in ("values", "weights", "level", "atom")
        },
        "RAPS penalty": lambda x: dfu.RAPS(penalty=x),
        "RAPS k_reg": lambda x: dfu.RAPS(k_reg=x),
        "SAPS weight": lambda x: dfu.SAPS(weight=x),
        "load path": lambda x: dfu.load(x),
    }
    return calls[name] if name else calls  # type: ignore[return-value]


FORM = re.compile(
    r"The '\w+' parameter of [\w.]+ must be .+\. Got .+ instead(: .+)?\.( .+[.?])?"
)


@pytest.mark.parametrize("name", list(call_with("")))
@pytest.mark.filterwarnings("ignore::distfreeuq.SmallCalibrationWarning")
@pytest.mark.filterwarnings("ignore::distfreeuq.LikelyMistakeWarning")
def test_odd_values_work_or_are_refused_in_the_one_form(name):
    call = call_with(name)
    refusals = 0
    for what, value in odd_values().items():
        before = value.copy() if isinstance(value, np.ndarray) else None
        try:
            call(value)
        except InputError as error:
            refusals += 1
            assert FORM.fullmatch(str(error)), (what, str(error))
            assert len(str(error)) < 400, (what, str(error))
            assert " at 0x" not in str(error), (what, str(error))
            # one error is shown, and not how it was found
            assert error.__suppress_context__ or error.__context__ is None, what
        except Exception as error:
            pytest.fail(f"{name} with {what}: {type(error).__name__}: {error}")
        if before is not None:
            assert before.tobytes() == value.tobytes(), what
    assert refusals > 0.5 * len(odd_values())


@pytest.mark.parametrize("span", [np.timedelta64(2, "s"), np.int64(1).view("m8")])
def test_spans_of_time_are_no_numbers(span):
    """To `isinstance` NumPy's are integers."""
    probs, labels = PROBS[:12], np.arange(12) % 3
    calls: dict[str, Callable[[], Any]] = {
        "alpha": lambda: dfu.split_conformal(probs, labels, alpha=span),
        "rng": lambda: dfu.split_conformal(probs, labels, rng=span),
        "penalty": lambda: dfu.RAPS(penalty=span),
        "k_reg": lambda: dfu.RAPS(k_reg=span),
        "n_jobs": lambda: dfu.theorems.verify("split-coverage", n_jobs=span),
        "n_bins": lambda: dfu.histogram_binning(probs, labels, n_bins=span),
    }
    for name, call in calls.items():
        with pytest.raises(InputError, match=f"'{name}' parameter .* Got .*timedelta"):
            call()
