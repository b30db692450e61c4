"""A core that computes wrongly is not imported."""

import subprocess
import sys

import numpy as np
import pytest

from distfreeuq._kernels import (
    _bins,
    _checks,
    _mixture,
    _quantile,
    _row_stats,
    _scores,
    _self_check,
    _softmax,
)

# Kernel, and the place of an output among its arguments.
CHECKED = [
    (_scores, "_true_label_scores", 5),
    (_row_stats, "_read_rows", 4),
    (_row_stats, "_read_rows", 7),
    (_softmax, "_sum_temperature_losses", 9),
    (_mixture, "_mixture_likelihood", 3),
    (_quantile, "_select_quantiles", 5),
    (_bins, "_assign_bins", 3),
]


def test_this_core_is_right():
    assert _self_check.wrong_kernels() == []


def spoilt(kernel, place, change):
    """Return the kernel with `change` done to one of its outputs."""

    def call(*args):
        returned = kernel(*args)
        change(args[place].reshape(-1))
        return returned

    return call


def exchange_lanes(out):
    out[:] = np.roll(out, 1)


def err_a_little(out):
    """Change a float by one part in 10^9, an integer by one."""
    out[0] += 1 if out.dtype.kind in "iu" else np.maximum(out[0], 1e-3) * 1e-9


@pytest.mark.parametrize("change", [exchange_lanes, err_a_little])
@pytest.mark.parametrize("module, name, place", CHECKED)
def test_a_wrong_output_is_noticed(module, name, place, change, monkeypatch):
    monkeypatch.setattr(module, name, spoilt(getattr(module, name), place, change))
    assert _self_check.wrong_kernels() == [name]


def test_a_bad_row_that_is_let_through_is_noticed(monkeypatch):
    monkeypatch.setattr(_checks, "_first_bad_row", lambda *args: -1)
    assert _self_check.wrong_kernels() == ["_first_bad_row"]


def test_every_lane_of_the_scores_is_looked_at(monkeypatch):
    kernel = _scores._true_label_scores
    for lane in range(16):

        def spoil(out, lane=lane):
            if out.size == 16:
                out[lane] += 2.0**-40

        monkeypatch.setattr(_scores, "_true_label_scores", spoilt(kernel, 5, spoil))
        assert _self_check.wrong_kernels() == ["_true_label_scores"]


def test_import_fails_and_says_what_to_do():
    code = (
        "import sys, types\n"
        "wrong = types.SimpleNamespace(_true_label_scores=lambda *args: -1)\n"
        "sys.modules['distfreeuq._kernels._scores'] = wrong\n"
        "import distfreeuq"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(
        "ImportError: distfreeuq's compiled core computes wrongly: _true_label_scores"
    )
    assert "CC=clang" in last and "DISTFREEUQ_DEBUG=1" in last
