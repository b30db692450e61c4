"""What `indistinguishable_features` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import special

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes, FloatArray, FloatMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    floats,
    maybe,
    part,
    proportion,
    real,
    require,
    text,
)
from distfreeuq._numerics.networks import Network
from distfreeuq.density_ratios.data import read_new_rows
from distfreeuq.density_ratios.diagnostics import Auc
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("feature-map")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FeatureMapResult(Result):
    """A learnt feature map psi, the classifier on it, and how alike source and target.

    Attributes
    ----------
    network : Network
        Its hidden units are psi(x), its outputs the classifier's logits.
    discriminator : Network
        Trained anew on the finished psi(x): class 1 is the source.
    classes : sequence
        Class names by column of the logits.
    features : sequence
        Names of the columns of x.
    n_source, n_target : int
        Rows that the map was trained on.
    classifier_loss, discriminator_loss : ndarray (epochs,)
        Mean NLL over the training rows at the end of each epoch. ln 2 = 0.693 is the
        loss of a discriminator that knows nothing.
    stopped : int or None
        Epoch at whose end the discriminator had become too confident.
    n_epochs : int
        Epochs asked for.
    source_accuracy : float
        Accuracy of the classifier on the source rows that it was trained on.
    accuracy_before, accuracy_after : float
        Accuracy of fresh discriminators trained on x and on psi(x), on rows that they
        have not seen: mean over source and target rows, 0.5 without difference.
    auc_before, auc_after : Auc or None
        Areas under the curve of the same discriminators on the same rows, each with
        ``estimate``, ``low`` and ``high``, a 95% interval in the limit of many rows.
        None in files that early versions wrote.
    n_tested : int
        Rows that all this was measured on.
    reversal, dropout, stop_below : float
    warm_up, discriminator_steps : int
        Options as given.
    adversary : {"features", "conditional"}
        What the discriminator read during training.
    tried : ndarray (m, 3)
        With ``n_hidden="auto"``: numbers of features, the classifier's last loss, and
        how far it still moved; none otherwise.
    guarantee : NoGuarantee

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(size=(90, 3)), rng.normal(size=(70, 3))
    >>> labels = rng.integers(0, 4, 90)
    >>> fit = dfu.indistinguishable_features(
    ...     source, labels, target, n_hidden=5, n_epochs=3, rng=0
    ... )
    >>> fit.transform(target).shape, fit.logits(target).shape
    ((70, 5), (70, 4))
    >>> fit.to_frame().columns.tolist()
    ['epoch', 'classifier_loss', 'discriminator_loss']
    """

    network: Network
    discriminator: Network
    classes: Classes
    features: Classes
    n_source: int
    n_target: int
    classifier_loss: FloatArray
    discriminator_loss: FloatArray
    stopped: int | None
    n_epochs: int
    source_accuracy: float
    accuracy_before: float
    accuracy_after: float
    auc_before: Auc | None
    auc_after: Auc | None
    n_tested: int
    reversal: float
    dropout: float
    stop_below: float
    warm_up: int
    discriminator_steps: int
    adversary: str
    tried: FloatMatrix
    guarantee: NoGuarantee

    _state: ClassVar[State] = {
        "network": part(Network),
        "discriminator": part(Network),
        "classes": column_names("K"),
        "features": column_names("d"),
        "n_source": count(),
        "n_target": count(),
        "classifier_loss": floats("epochs"),
        "discriminator_loss": floats("epochs"),
        "stopped": maybe(count()),
        "n_epochs": count(),
        "source_accuracy": proportion(nan=True),
        "accuracy_before": proportion(nan=True),
        "accuracy_after": proportion(nan=True),
        "auc_before": maybe(part(Auc)),
        "auc_after": maybe(part(Auc)),
        "n_tested": count(),
        "reversal": real(),
        "dropout": real(),
        "stop_below": real(),
        "warm_up": count(),
        "discriminator_steps": count(),
        "adversary": text("features", "conditional"),
        "tried": floats("m", 3),
        "guarantee": part(NoGuarantee),
    }

    @staticmethod
    def _added(fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return what early files of this format lack."""
        return {
            "auc_before": None,
            "auc_after": None,
            "adversary": "features",
            "tried": read_only(np.empty((0, 3))),
        }

    def _validate_state(self) -> None:
        hidden, outputs = self.network.output_weight.shape
        columns = (self.network.n_features, outputs, self.discriminator.n_features)
        wanted = (len(self.features), len(self.classes), hidden)
        require(columns == wanted, "networks from features to classes")

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<FeatureMapResult d={len(self.features)} n_hidden={self.n_hidden} "
            f"K={len(self.classes)} epochs={self.classifier_loss.size}>"
        )

    @property
    def n_hidden(self) -> int:
        """Number of features psi(x)."""
        return int(self.network.hidden_bias.size)

    @property
    def n_weights(self) -> int:
        """Parameters of the classifier and of the discriminator it was up against."""
        whole = sum(p.size for net in self._networks() for p in net.parameters)
        return whole + self._further_inputs

    @property
    def epoch_operations(self) -> float:
        """Additions and multiplications of an epoch, about; memory comes on top.

        Forwards and backwards through both networks for every row of the larger sample
        and as many of the other, and once more forwards for the losses.
        """
        rows = 2 * max(self.n_source, self.n_target)
        weights = [
            sum(layer.size for layer, _ in net.parameters.layers)
            for net in self._networks()
        ]
        steps = self.discriminator_steps
        total = sum(weights) + self._further_inputs
        return float(2 * rows * (3 * steps + 1) * total)

    @property
    def _further_inputs(self) -> int:
        """Weights by which a conditional adversary exceeds the discriminator kept."""
        if self.adversary == "features":
            return 0
        return int((len(self.classes) - 1) * self.discriminator.hidden_weight.size)

    def _networks(self) -> tuple[Network, Network]:
        return self.network, self.discriminator

    def transform(self, x: ArrayLike) -> FloatMatrix:
        """Features psi(x) of new rows, shape (n, n_hidden), non-negative.

        Parameters
        ----------
        x : array_like (n, d)
            Columns as in the fit.
        """
        return self.network.hidden(self._rows(x, "transform"))

    def logits(self, x: ArrayLike) -> FloatMatrix:
        """Logits of the classifier on psi(x), shape (n, K).

        They are not calibrated, least of all for the rows it was trained on.

        Parameters
        ----------
        x : array_like (n, d)
            Columns as in the fit.
        """
        return self.network.logits(self._rows(x, "logits"))

    def source_probability(self, x: ArrayLike) -> FloatArray:
        """P(source | psi(x)) by the retrained discriminator, shape (n,).

        As if source and target were equally common; not calibrated. For weights see
        `density_ratio` on ``transform(x)``.

        Parameters
        ----------
        x : array_like (n, d)
            Columns as in the fit.
        """
        features = self.network.hidden(self._rows(x, "source_probability"))
        return np.asarray(special.expit(self.discriminator.log_odds(features)))

    def _rows(self, x: ArrayLike, method: str) -> FloatMatrix:
        args = Arguments(f"FeatureMapResult.{method}")
        return read_new_rows(args, x, "x", self.features)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per epoch: epoch, classifier_loss, discriminator_loss."""
        import pandas as pd

        return pd.DataFrame(
            {
                "epoch": np.arange(1, self.classifier_loss.size + 1),
                "classifier_loss": self.classifier_loss,
                "discriminator_loss": self.discriminator_loss,
            }
        )

    def summary(self) -> Summary:
        """Return the losses by epoch and the discriminators, as a ``Summary``."""
        from distfreeuq.feature_learning.summary import summarize_feature_map

        return summarize_feature_map(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both losses against the epoch.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        """
        from distfreeuq import plots

        return plots.feature_learning_losses(self, ax=ax)
