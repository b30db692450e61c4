"""Features on which source and target are hard to tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.progress import progress_bar
from distfreeuq._base.random_streams import stream
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.networks import as_network
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq._numerics.standardization import center_and_scale, unchanged
from distfreeuq.density_ratios.data import Samples, read_labels, read_samples
from distfreeuq.exceptions import TrainingStoppedWarning
from distfreeuq.feature_learning.adversarial_training import AdversarialTraining
from distfreeuq.feature_learning.data import TrainingOptions, read_training_options
from distfreeuq.feature_learning.fresh_discriminators import judge
from distfreeuq.feature_learning.hidden_units import (
    has_converged,
    late_change,
    sizes_to_try,
)
from distfreeuq.feature_learning.results import FeatureMapResult
from distfreeuq.guarantees import NoGuarantee

_REASON = (
    "features that look alike in source and target can still mean different labels; "
    "that the label given the features has the same law in both is an assumption, and "
    "unlabelled rows cannot check it"
)


_INSTEAD = "Give arrays of a sample, and the rows of each block to transform."


def indistinguishable_features(
    source: ArrayLike,
    labels: ArrayLike,
    target: ArrayLike,
    *,
    n_hidden: int | str,
    n_hidden_discriminator: int | Sequence[int] | None = None,
    adversary: str = "features",
    reversal: float = 1.0,
    warm_up: int = 10,
    n_epochs: int = 100,
    stop_below: float = 0.2,
    patience: int = 10,
    dropout: float = 0.5,
    discriminator_steps: int = 1,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    standardize: bool = True,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    progress: bool = False,
) -> FeatureMapResult:
    """Learn features that tell the label but hardly tell source from target.

    Parameters
    ----------
    source : array_like (n_source, d), or (n_source,) for one feature
        Features of labelled source rows: raw, or the last layer of a network.
    labels : array_like (n_source,)
        Integers 0..K-1, or names listed in `classes`.
    target : array_like (n_target, d)
        Features of unlabelled target rows.
    n_hidden : int or "auto"
        Number of learnt features. "auto" is the heuristic of [1]_: as many as columns,
        at most 1024, then half as many until the classifier's loss has converged.
    n_hidden_discriminator : int or sequence of int, optional
        Hidden units of the discriminator, or of each of its layers; by default as many.
    adversary : {"features", "conditional"}, default "features"
        What the discriminator reads: the features, or their products with the predicted
        probabilities of all classes [3]_.
    reversal : float, default 1
        How much the features work against the discriminator; 0 for not at all.
    warm_up : int, default 10
        Epochs over which `reversal` grows from 0, evenly.
    n_epochs : int, default 100
        Longest training.
    stop_below : float, default 0.2
        Training ends when the discriminator's mean NLL on the training rows has stayed
        below this: it has become too confident for its gradient to help. 0 for never.
    patience : int, default 10
        For so many epochs in a row, all of them after the warm-up.
    dropout : float, default 0.5
        Share of the discriminator's hidden units that are left out at each step.
    discriminator_steps : int, default 1
        Steps of the discriminator for one of the feature map: more of them cost time
        and keep the discriminator closer to the best one.
    batch_size : int, default 64
        Source rows per minibatch, and as many target rows.
    learning_rate : float, default 0.001
        Learning rate of Adam, for both networks.
    standardize : bool, default True
        Whether columns are first centred and scaled, by all rows given. For pixels,
        False does better.
    classes : sequence, optional
        Class names. By default the labels are 0..K-1, K - 1 being the largest.
    rng : seed, Generator or None
        Draws starting weights, minibatches and dropout. A seed fixes the result.
    progress : bool, default False
        Show a progress bar.

    Returns
    -------
    FeatureMapResult

    Warns
    -----
    TrainingStoppedWarning
        If `stop_below` ended the training.

    Notes
    -----
    The map is one layer, psi(x) = max(0, A'x + a). A linear classifier on psi(x) and a
    discriminator with one hidden layer on psi(x) are trained together with it, by
    minibatches and Adam [1]_, [2]_; the gradient that reaches psi from the
    discriminator is multiplied by minus `reversal`. Then psi is kept and fresh
    discriminators are trained on it, and others on x, with `n_hidden_discriminator`
    units and settings of their own, until they no longer improve: what they tell is a
    property of psi(x) and of x, however short the training was. The summary's areas
    under the curve are theirs: a discriminator that was fooled during training says
    little, as a fresh one often still tells the domains apart. Rows are judged by
    discriminators that have not seen them (three folds in turn), but psi was trained on
    all of them: new rows may be told apart better.

    The divergence of two laws shrinks under any map, so that weights on psi(x) vary
    less than on x. Whether they are the right weights is another question: the label
    given psi(x) must have the same law in source and target.

    A conditional adversary sees whether the features of one predicted class look alike
    in source and target, and not only those of all classes together: `n_hidden` times K
    inputs in place of `n_hidden`. Its gradient reaches features and predictions, as the
    game of [3]_ is stated; there are no entropy weights. The fresh discriminators that
    judge the outcome read psi(x) alone in either case.

    With ``n_hidden="auto"`` a loss has converged if its mean over the last tenth of the
    epochs differs from that over the tenth before by at most 2% of the first epoch's
    loss. If no size does, the one of smallest loss is kept. It needs epochs enough to
    converge in, and costs a training for every size; the summary lists what was tried.
    `choose_calibration` chooses by weighted cross-validation instead.

    Rows that trained the map must not calibrate its logits.

    An epoch costs about 8 n (h (d + K) + g h) operations, where n is twice the number
    of rows of the larger sample, h is `n_hidden` and g `n_hidden_discriminator`
    (`epoch_operations` of the result; how fast they are is in the benchmarks). The data
    are copied once, as float64. Networks beyond 50 million weights are an error: if you
    have one of your own, pass its features here, or to `density_ratio` and
    `covariate_shift_calibration`.

    References
    ----------
    .. [1] Park, Bastani, Weimer and Lee (2020), "Calibrated prediction with covariate
       shift via unsupervised domain adaptation", AISTATS, section 5.2.
    .. [2] Ganin et al. (2016), "Domain-adversarial training of neural networks", JMLR.
    .. [3] Long, Cao, Wang and Jordan (2018), "Conditional adversarial domain
       adaptation", NeurIPS.

    Examples
    --------
    Two features; the label depends on the first, the domain on the second.

    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(size=(400, 2)), rng.normal(size=(400, 2))
    >>> target[:, 1] += 3.0
    >>> labels = (source[:, 0] > 0).astype(int)
    >>> fit = dfu.indistinguishable_features(
    ...     source, labels, target, n_hidden=8, learning_rate=0.005, rng=0
    ... )
    >>> fit
    <FeatureMapResult d=2 n_hidden=8 K=2 epochs=100>
    >>> fit.transform(target).shape
    (400, 8)
    >>> fit.accuracy_before > 0.85 > fit.accuracy_after
    True
    """
    args = Arguments("indistinguishable_features")
    refuse_blocks(
        args, {"source": source, "labels": labels, "target": target}, _INSTEAD
    )
    samples = read_samples(args, source, target)
    names, codes = read_labels(args, labels, classes, len(samples.source))
    options = read_training_options(
        args,
        samples,
        len(names),
        n_hidden=n_hidden,
        n_hidden_discriminator=n_hidden_discriminator,
        adversary=adversary,
        reversal=reversal,
        warm_up=warm_up,
        n_epochs=n_epochs,
        stop_below=stop_below,
        patience=patience,
        dropout=dropout,
        discriminator_steps=discriminator_steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        standardize=standardize,
        progress=progress,
    )
    return fit_feature_map(samples, codes, names, options, rng)


def fit_feature_map(
    samples: Samples,
    labels: IntArray,
    classes: Classes,
    options: TrainingOptions,
    rng: RandomState,
) -> FeatureMapResult:
    """Learn features of samples that are read already; labels are column numbers."""
    both = np.concatenate([samples.source, samples.target], dtype=np.float64)
    center, scale = (
        center_and_scale(both) if options.standardize else unchanged(both.shape[1])
    )
    both = (both - center) / scale
    n_source = len(samples.source)
    generator = stream(rng, "fit", "indistinguishable_features")

    tried: list[tuple[float, float, float]] = []
    best: _Trained | None = None
    sizes = sizes_to_try(both.shape[1]) if options.chooses_units else [options.n_hidden]
    for size in sizes:
        units = options.n_hidden_discriminator or (size,)
        own = options._replace(n_hidden=size, n_hidden_discriminator=units)
        state = AdversarialTraining(
            both[:n_source], labels, both[n_source:], len(classes), own, generator
        )
        found = _Trained(state, *_train(state, own), own)
        of_labels = found.losses[:, 0]
        if best is None or of_labels[-1] < best.losses[-1, 0]:
            best = found
        if options.chooses_units:
            tried.append((size, float(of_labels[-1]), late_change(of_labels)))
            if has_converged(of_labels):
                best = found
                break
    assert best is not None
    training, losses, stopped, options = best
    network = as_network(training.classifier, center, scale)
    plain = as_network(training.classifier, *unchanged(both.shape[1]))
    judges = stream(rng, "split", "indistinguishable_features")
    n_judge = options.n_hidden_discriminator
    before = judge(both, n_source, n_judge, judges)
    after = judge(plain.hidden(both), n_source, n_judge, judges)
    decisions = plain.logits(both[:n_source]).argmax(axis=1)
    if stopped is not None:
        warn_user(
            f"Training ended after epoch {stopped} of {options.n_epochs}: for "
            f"{options.patience} epochs the discriminator's loss was below "
            f"{options.stop_below:g}, at last {losses[-1, 1]:.3g}. It told source from "
            "target too well for the features to learn against it.",
            TrainingStoppedWarning,
        )
    return FeatureMapResult(
        network=network,
        discriminator=after.network,
        classes=classes,
        features=samples.features,
        n_source=n_source,
        n_target=both.shape[0] - n_source,
        classifier_loss=read_only(losses[:, 0].copy()),
        discriminator_loss=read_only(losses[:, 1].copy()),
        stopped=stopped,
        n_epochs=options.n_epochs,
        source_accuracy=float((decisions == labels).mean()),
        accuracy_before=before.accuracy,
        accuracy_after=after.accuracy,
        auc_before=before.auc,
        auc_after=after.auc,
        n_tested=both.shape[0],
        reversal=options.reversal,
        dropout=options.dropout,
        stop_below=options.stop_below,
        warm_up=options.warm_up,
        discriminator_steps=options.discriminator_steps,
        adversary="conditional" if options.is_conditional else "features",
        tried=read_only(np.array(tried, dtype=np.float64).reshape(-1, 3)),
        guarantee=NoGuarantee(_REASON),
    )


class _Trained(NamedTuple):
    """A training that has ended, its losses by epoch, where it was stopped, and how."""

    training: AdversarialTraining
    losses: FloatMatrix
    stopped: int | None
    options: TrainingOptions


@on_one_blas_thread
def _train(
    training: AdversarialTraining, options: TrainingOptions
) -> tuple[FloatMatrix, int | None]:
    """Run the epochs; return losses (epochs, 2) and where the rule stopped them."""
    losses: list[tuple[float, float]] = []
    confident = 0
    epochs = range(1, options.n_epochs + 1)
    for epoch in progress_bar(epochs, shown=options.progress, desc="epochs"):
        grown = min(1.0, (epoch - 1) / options.warm_up) if options.warm_up else 1.0
        losses.append(training.epoch(options.reversal * grown))
        is_confident = losses[-1][1] < options.stop_below
        confident = confident + 1 if is_confident and epoch > options.warm_up else 0
        if confident == options.patience:
            return np.array(losses), epoch
    return np.array(losses), None
