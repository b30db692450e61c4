"""Figures of feature learning and of calibration under covariate shift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.simulation_figures import loss_curves
from distfreeuq.plots.style import NOMINAL, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distfreeuq.feature_learning.results import FeatureMapResult


def feature_learning_losses(fit: FeatureMapResult, *, ax: Axes | None = None) -> Axes:
    """Draw the losses of the classifier and of the discriminator against the epoch.

    Parameters
    ----------
    fit : FeatureMapResult
    ax : matplotlib Axes, optional

    Notes
    -----
    The dashed line is the loss of a discriminator that knows nothing, ln 2.
    """
    figure_arguments.result(
        Arguments("feature_learning_losses"), fit, "fit", "FeatureMapResult"
    )
    frame = fit.to_frame()
    curves = {
        "classifier": frame["classifier_loss"],
        "discriminator": frame["discriminator_loss"],
    }
    ax = loss_curves(curves, what="mean NLL of the training rows", ax=ax)
    ax.axhline(np.log(2.0), **NOMINAL)
    ax.set_ylim(bottom=0.0)
    before, after = fit.auc_before, fit.auc_after
    if before is not None and after is not None:
        areas = f"AUC {before.estimate:.2f}, of psi(x): {after.estimate:.2f}"
        set_title(ax, f"Fresh discriminators of x: {areas}")
    return ax
