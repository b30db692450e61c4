"""Scenarios by name."""

from collections.abc import Callable
from typing import TypeVar

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import describe
from distfreeuq.scenarios import adversarial, covariance_shift, gaussian, miscalibrated
from distfreeuq.scenarios.scenario import Scenario

Factory = TypeVar("Factory", bound=Callable[[], Scenario])

_FACTORIES: dict[str, Callable[[], Scenario]] = {
    "three-gaussians": gaussian.three_gaussians,
    "binary-gaussians": gaussian.binary_gaussians,
    "covariance-shift": covariance_shift.covariance_shift_gaussians,
    "label-noise": miscalibrated.label_noise,
    "rare-feature": miscalibrated.rare_feature,
    "ties-everywhere": adversarial.ties_everywhere,
    "atoms": adversarial.atoms,
    "heavy-imbalance": adversarial.heavy_imbalance,
    "useless-classifier": adversarial.useless_classifier,
    "perfect-classifier": adversarial.perfect_classifier,
    "fifty-classes": adversarial.fifty_classes,
    "wide-weights": adversarial.wide_weights,
    "absent-class": adversarial.absent_class,
}


def names() -> tuple[str, ...]:
    """Return the names of all scenarios, one's own included.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> for name in scenarios.names()[:2]:
    ...     print(name, "-", scenarios.get(name).description)
    three-gaussians - three Gaussians in the plane, Podkopaev & Ramdas (2021), 2.2
    binary-gaussians - two Gaussians in the plane, Podkopaev & Ramdas (2021), 3.2
    """
    return tuple(_FACTORIES)


def get(name: str) -> Scenario:
    """Return a scenario by its name.

    Parameters
    ----------
    name : str
        One of `names`.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> scenarios.get("atoms")
    <AtomicLabelShift: three Gaussians, half of the rows at zero exactly>
    """
    return _FACTORIES[Arguments("get").choice(name, "name", names())]()


def register(name: str) -> Callable[[Factory], Factory]:
    """Make a scenario of one's own known by a name.

    Parameters
    ----------
    name : str
        A new one.

    Returns
    -------
    callable
        A decorator for a class without arguments, or a function, that makes a
        `Scenario`.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> @scenarios.register("noisy-labels")
    ... def noisy_labels():
    ...     return scenarios.label_noise(0.4, 0.4, 0.0)
    >>> scenarios.get("noisy-labels")
    <FiniteScenario: noise D(0.4, 0.4) in labels, Zhao, Chen & Oymak (2020), 3.2>
    >>> scenarios.unregister("noisy-labels")
    """
    args = Arguments("register")
    if not isinstance(name, str) or not name:
        args.invalid("name", "a text", describe(name))
    if name in _FACTORIES:
        args.invalid("name", "a new name", describe(name))

    def keep(factory: Factory) -> Factory:
        made = factory()
        if not isinstance(made, Scenario):
            args.invalid("factory", "a callable that makes a Scenario", describe(made))
        _FACTORIES[name] = factory
        return factory

    return keep


def unregister(name: str) -> None:
    """Forget a scenario that was registered.

    Parameters
    ----------
    name : str
        One of `names`.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> _ = scenarios.register("noise")(scenarios.label_noise)
    >>> scenarios.unregister("noise")
    >>> "noise" in scenarios.names()
    False
    """
    del _FACTORIES[Arguments("unregister").choice(name, "name", names())]
