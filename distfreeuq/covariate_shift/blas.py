"""One BLAS thread for the many small products of a network's training."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Value = TypeVar("_Value")


def on_one_blas_thread(
    function: Callable[_Arguments, _Value],
) -> Callable[_Arguments, _Value]:
    """Let a function's matrix products run on one thread.

    A product of a minibatch takes microseconds: waking a second thread costs as much as
    it saves, and many times more where other programs have the cores (BLAS threads wait
    actively). With one, results do not depend on the number of threads either. Needs
    threadpoolctl, which scikit-learn brings along; without it nothing is changed, and
    ``OPENBLAS_NUM_THREADS=1`` does the same.
    """

    @wraps(function)
    def limited(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Value:
        controller = _controller()
        if controller is None:
            return function(*args, **kwargs)
        with controller.limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


@cache
def _controller() -> Any:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
