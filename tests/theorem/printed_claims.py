"""What stands behind every promise that a summary prints: a theorem, or a reason.

To add an entry: ``pytest tests/theorem/test_printed_claims.py`` prints the piece of
text that nothing here covers. Write a pattern for its core, the words that make it a
promise, not for its numbers or names; then name the registered theorems that check it,
or say why none is needed. A piece is a sentence, or what is between semicolons. A new
kind of summary goes into ``further_results`` there.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Entry(NamedTuple):
    """Text that is matched anywhere in a piece, and what stands behind it."""

    pattern: str
    theorems: tuple[str, ...] = ()
    reason: str = ""

    def covers(self, text: str) -> bool:
        return re.search(self.pattern, text, re.IGNORECASE) is not None


NONE = "that nothing is promised is said, and why"
SPOKEN_ELSEWHERE = "explains the words of another line, which has its own entry"
MEASURED = "what was measured, and is no promise: vignette 6"
DESCRIBES = "describes the data or the computation, and promises nothing of other rows"

ENTRIES = (
    # --------------------------------------------------------- two probabilities each
    Entry(
        r"given p_Y, the probability that it is equals p_Y", ("venn-abers-calibration",)
    ),
    Entry(r"Which of the two is p_Y the label tells", reason=NONE),
    Entry(r"predict makes of both has no such guarantee", reason=NONE),
    # ---------------------------------------------------------------- scaling-binning
    Entry(
        r"- output\| <= radius.* in all \d+ bins at once", ("scaling-binning-bound",)
    ),
    Entry(
        r"the calibration error of the outputs .* is at most that of the map plus",
        ("scaling-binning-cost",),
    ),
    # --------------------------------------------------------------- learnt features
    Entry(r"95% intervals are DeLong's with twice the variance", ("auc-interval",)),
    Entry(r"an AUC up to [\d.]+ is not excluded", ("auc-interval",)),
    # --------------------------------------------------------------- prediction sets
    Entry(
        r"P\(Y in C\(X\)\) >= [\d.]+ for a new row, in finite samples",
        ("split-coverage",),
    ),
    Entry(r"and <= [\d.]+ if scores are continuous", ("split-coverage-exact",)),
    Entry(r"every set holds every label", ("split-coverage",)),
    Entry(
        r"with probability >= [\d.]+ over the calibration draw, coverage given the "
        r"calibration rows is >= [\d.]+ \(i\.i\.d\. rows\)",
        ("pac-coverage", "training-conditional-coverage"),
    ),
    Entry(
        r"P\(Y in C\(X\)\) >= [\d.]+ for a new row, .*whatever the classifiers of the",
        ("cross-conformal-coverage",),
    ),
    Entry(
        r"P\(Y in C\(X\) \| Y = y\) is at least 'coverage >=' for each class y, and so",
        ("cross-conformal-coverage",),
    ),
    Entry(r"^1 - alpha itself is not guaranteed", reason=NONE),
    Entry(r"no upper bound, as", reason=NONE),
    Entry(r": 1 - 2 alpha, by both thresholds", ("interpolated-coverage",)),
    Entry(
        r"P\(Y in C\(X\) \| cluster of Y\) >= .* for every cluster",
        ("cluster-coverage",),
    ),
    Entry(r"^hence P\(Y in C\(X\)\) >= [\d.]+\.?$", ("cluster-coverage",)),
    Entry(r"By class approximate|nearly so where the classes", reason=NONE),
    Entry(
        r"with so many rows, or more, (coverage|the threshold|each class's threshold)",
        ("planned-rows",),
    ),
    Entry(r"the total gives every class its rows with probability", ("planned-rows",)),
    Entry(
        r"P\(Y in C\(X\) \| (Y = y, )?group g\) >= .* of every group g|"
        r"every class y in every group g",
        ("group-coverage",),
    ),
    Entry(
        r"coverage( of target rows)? of every (group g|class y in every group g) given "
        r"the calibration rows",
        ("group-pac",),
    ),
    Entry(
        r"whatever the target's proportions of classes and groups",
        ("label-conditional-coverage", "group-coverage"),
    ),
    Entry(
        r"P\(Y in C\(X\) \| Y = y\) >= .* for every class",
        ("label-conditional-coverage",),
    ),
    Entry(
        r"hence P\(Y in C\(X\)\) >= .* whatever the target's class proportions",
        ("label-conditional-coverage", "label-conditional-pac"),
    ),
    Entry(r"'coverage >=' holds for each class by itself", ("label-conditional-pac",)),
    Entry(r"coverage of every class y given the calib", ("label-conditional-pac",)),
    Entry(
        r"P\(Y in C\(X\)\) >= [\d.]+ for a new target row, in finite samples, if the "
        r"weights are the true ratio",
        ("covariate-shift-coverage",),
    ),
    Entry(r"with estimated weights no finite-sample claim", reason=NONE),
    Entry(
        r"coverage of target rows given the calibration rows is >= .*true ratio",
        ("covariate-shift-pac",),
    ),
    Entry(
        r"P\(Y in C\(X\)\) >= [\d.]+ for a new target row, in finite samples"
        r"(?! and| \(|, if)",
        ("label-shift-coverage",),
    ),
    Entry(r"and about [\d.]+ at most \(estimated\)", ("label-shift-coverage-exact",)),
    Entry(
        r"coverage of target rows given the calibration rows is >= [\d.]+\.?$",
        ("label-shift-pac",),
    ),
    Entry(r"liminf of P\(Y in C\(X\)\)", ("label-shift-coverage-limit",)),
    Entry(r"robust=True has a claim for finite samples", ("union-coverage",)),
    Entry(
        r"label_conditional_conformal (has|covers|keeps)",
        ("label-conditional-coverage",),
    ),
    Entry(r"with estimated weights \(union over", ("union-coverage",)),
    Entry(
        r"with estimated weights \(largest threshold over",
        ("capped-coverage", "prior-caps"),
    ),
    Entry(
        r"coverage of new target rows given all of them is >=",
        ("capped-pac", "label-conditional-pac", "directional-pac"),
    ),
    Entry(
        r"for a new target row, with estimated weights$",
        ("directional-coverage", "combined-coverage"),
    ),
    Entry(r"no set is larger than that of label_cond", ("combined-coverage",)),
    Entry(r"sets have the stronger one, and were the smaller", reason=MEASURED),
    Entry(
        r"label-conditional sets (hold under any label shift|need none)",
        ("label-conditional-coverage",),
    ),
    Entry(r"^calibrated means that of the rows with", reason=SPOKEN_ELSEWHERE),
    Entry(r"^Weights need probabilities that are right", reason=SPOKEN_ELSEWHERE),
    Entry(r"^made without the labels of target rows", reason=DESCRIBES),
    Entry(r"a claim in the limit was asked for", reason=SPOKEN_ELSEWHERE),
    Entry(r"a claim in finite samples was asked for", reason=SPOKEN_ELSEWHERE),
    Entry(r"coverage is to hold for the draw at hand", ("capped-pac",)),
    Entry(r"both hold at once", ("capped-pac",)),
    Entry(r"with them coverage holds in finite samples", ("label-shift-coverage",)),
    Entry(r"never larger than label-conditional ones", ("combined-coverage",)),
    Entry(
        r"threshold of each label is below that of the true weights with probability",
        ("directional-coverage",),
    ),
    Entry(r"(union|largest) over (a|the) .*region", ("union-coverage",)),
    Entry(
        r"over the rows that the weights were estimated on",
        ("total-variation-coverage", "total-variation-of-counts"),
    ),
    Entry(
        r"each interval covers the sets' true coverage on its stratum",
        ("evaluated-coverage",),
    ),
    Entry(
        r"each interval covers the sets' true coverage of a random row .* of a random "
        r"block",
        ("block-coverage",),
    ),
    Entry(r"the intervals are not simultaneous", reason=SPOKEN_ELSEWHERE),
    # ----------------------------------------------------------------- label weights
    Entry(
        r"region\(delta\) holds all true weights at once",
        ("bbse-region", "bbse-cells", "bbse-ball"),
    ),
    Entry(
        r"each class's share of them is combined with the (moment )?estimate from the "
        r"other|The tests and the condition number do not use them",
        ("weights-with-labels", "outputs-with-labels"),
    ),
    Entry(r"it may be unbounded", ("bbse-ball",)),
    Entry(
        r"each by itself, asymptotic \((delta method|bootstrap|.*likelihood)",
        ("bbse-intervals", "mlls-intervals"),
    ),
    Entry(
        r"each by itself, asymptotic \(score intervals",
        ("bbse-intervals", "mlls-intervals"),
    ),
    Entry(
        r"nothing is taken for granted of|"
        r"asymptotic intervals allow for all predictions",
        ("bbse-intervals", "mlls-intervals"),
    ),
    Entry(r"they rest on the regulariser|The target is predicted to hold", reason=NONE),
    Entry(r"so that the weights are not identified", reason=NONE),
    Entry(
        r"do not identify the weights: those of classes that predictions do not tell",
        ("weights-with-labels",),
    ),
    Entry(
        r"The methods 'finite-sample' and 'anderson-rubin' do not invert|"
        r"The method 'finite-sample' does not invert",
        ("bbse-region", "anderson-rubin"),
    ),
    Entry(r"no weight can be estimated, and it was set to zero", reason=NONE),
    Entry(
        r"all at once, in finite samples \(the weights", ("bbse-region", "bbse-ball")
    ),
    Entry(r"each interval covers its true weight", ("mlls-intervals",)),
    Entry(r"exact at every sample size on average over its draws", ("no-shift-test",)),
    Entry(r"other drift may cause a small p-value too", reason=NONE),
    Entry(
        r"a test of fit, whatever the proportions|refutes label shift|is refuted at",
        ("label-shift-fit-test",),
    ),
    Entry(
        r"a large one does not show it|takes for granted that the target", reason=NONE
    ),
    Entry(r"^none: no counts by predicted class", reason=NONE),
    # ----------------------------------------------------------------------- reports
    Entry(
        r"^equal class proportions: (not )?rejected at the level", ("no-shift-test",)
    ),
    Entry(
        r"^label shift: (not )?rejected at the level|^label shift: not tested",
        ("label-shift-fit-test",),
    ),
    Entry(
        r"^the classifier hardly tells some classes apart: .* may be far off",
        reason=NONE,
    ),
    Entry(
        r"nor does the recalibration on the source rows make them so: .* may be off",
        ("mlls-calibration-test",),
    ),
    Entry(
        r"^too few calibration rows of .*every set will hold (them|it)|"
        r"^At least \d+ rows of a class are needed for alpha",
        ("label-conditional-coverage",),
    ),
    Entry(
        r"^a small p-value says that|^a class of weight 2 has|^a prediction set is the|"
        r"^the column 'source' is counted|'target' is estimated (without|from)",
        reason=SPOKEN_ELSEWHERE,
    ),
    Entry(r"^The maximum lies on the boundary", reason=NONE),
    Entry(r"^that of .*, which is predicted in \d+ rows? only", reason=DESCRIBES),
    Entry(
        r"by maximum likelihood, which needs calibrated probabilities",
        ("mlls-consistency", "mlls-intervals"),
    ),
    Entry(
        r"robust=True covers target rows with probability >= 1 - alpha - delta",
        ("union-coverage",),
    ),
    # -------------------------------------------------------------------------- bins
    Entry(
        r"\| ?bin( of class k)?\) - frequency(_k)?\| <= radius (?!on the|for target)"
        r".*at once",
        ("binning-bound", "binning-one-probability", "binning-discrete-scores"),
    ),
    Entry(r"frequency(_k)?\| <= radius on the target", ("binning-bound-target",)),
    Entry(r"frequency(_k)?\| <= radius for target", ("binning-bound-weighted",)),
    Entry(r"source estimation up to .*weight estimation", ("label-shift-error",)),
    Entry(
        r"share \d+ edges, as scores are discrete; nothing is claimed",
        ("binning-discrete-scores",),
    ),
    Entry(r"share \d+ edges, as scores are discrete", ("binning-discrete-scores",)),
    Entry(r"nothing is claimed for new rows exactly on one", reason=NONE),
    Entry(
        r"radii shrink as one over the root",
        reason="the rate of every radius; its number is a rule of thumb, 'about'",
    ),
    # ----------------------------------------------------------------------- scaling
    Entry(
        r"exceeds that of (the best temperature|its best temperature|the best class)",
        ("temperature-excess-risk", "class-excess-risk"),
    ),
    Entry(r"by the paper's own constants", ("temperature-excess-risk",)),
    Entry(r"'no error': none among its", ("classes-without-error",)),
    Entry(r"'limited': gamma keeps it|'at bound': no optimum", reason=DESCRIBES),
    Entry(r"^T=.*fitted to all rows", reason=DESCRIBES),
    Entry(r"no standard errors?\b|^standard errors leave out the bias", reason=NONE),
    # ------------------------------------------------------------------- performance
    Entry(
        r"each asymptotic interval, by itself, holds the target's value",
        ("target-performance-limit",),
    ),
    Entry(
        r"each finite-sample interval, by itself, holds the target's value",
        ("target-performance-certificate", "target-performance-given"),
    ),
    Entry(r"^Labels of \d+ target rows are used", reason=DESCRIBES),
    Entry(r"finite-sample interval of a recall, by itself", ("target-recall",)),
    # ------------------------------------------------------------------- assessment
    Entry(r"the test's p-value is at most a with probability", ("calibration-test",)),
    Entry(r"rely on the test", ("calibration-test",)),
    Entry(r"assess tests calibration", ("calibration-test",)),
    Entry(
        r"a calibrated classifier has on average|noise alone|part of it is noise",
        ("calibration-test",),
    ),
    Entry(
        r"(no interval|cannot|not) .*(be )?trusted|not far above",
        reason="a warning, which takes back and promises nothing",
    ),
    Entry(r"bootstrap samples of rows", ("bootstrap-intervals",)),
    Entry(r"^That of accuracy is exact", ("assessed-accuracy",)),
    Entry(
        r"with unequal weights intervals may cover less|cover too seldom|"
        r"for accuracy, where fewer than",
        reason=NONE,
    ),
    Entry(r"their intervals are about the corrected values", ("bootstrap-intervals",)),
    Entry(
        r"calibration errors are biased",
        ("debiased-ece",),
    ),
    Entry(
        r"intervals of all bins hold the bins' true accuracy",
        ("reliability-intervals",),
    ),
    Entry(r"the band holds the event's frequency", ("isotonic-band",)),
    Entry(r"interval holds the root mean squared gap", ("l2-error-interval",)),
    Entry(r"true weighted mean accuracy", ("weighted-reliability-intervals",)),
    Entry(r"standard deviation over .* splits", reason=DESCRIBES),
    Entry(r"metrics are estimated on the held-out source rows", reason=NONE),
    Entry(
        r"with the true density ratio a weighted loss is the target's",
        ("importance-weighted-loss",),
    ),
    Entry(
        r"sets without a correction promise nothing of rows that have shifted",
        reason=NONE,
    ),
    # -------------------------------------------------------------- covariate shift
    Entry(
        r"the mean squared distance of the confidence to the share of right decisions",
        ("decision-error-bound",),
    ),
    Entry(r"fixed in advance, so that a bound holds", ("decision-error-bound",)),
    Entry(r"the bound is of the sum, and cannot fall below", reason=NONE),
    Entry(r"^estimated ratios, limited", reason=DESCRIBES),
    Entry(r"target rows lie where the source has almost no data", reason=DESCRIBES),
    Entry(r"each row's weight is by a fit without it", reason=DESCRIBES),
    Entry(
        r"squared calibration error on the target",
        ("covariate-shift-bound", "covariate-shift-bound-terms"),
    ),
    Entry(r"least \w+ in five-fold cross-validation on these rows", reason=DESCRIBES),
    Entry(r", shared by the groups", reason=DESCRIBES),
    Entry(r"^counts and sums in \d+ bins", reason=DESCRIBES),
    Entry(r"kernel mean matching weights the rows that it has seen", reason=NONE),
    Entry(r"vacuous", reason=NONE),
    Entry(
        r"rows in place of \d+ would bring every bin's to|no radius is below",
        reason="explains a vacuous radius; the number of rows is 'about'",
    ),
    Entry(r"an objective to minimise|no certificate", reason=NONE),
    Entry(
        r"coverage is at least 1 - alpha - E_p",
        ("wrong-ratio-coverage",),
    ),
    Entry(r"a discriminator that knows nothing has 0\.693", reason="ln 2"),
    Entry(r"judged on \d+ rows|0\.5 is chance", reason=DESCRIBES),
    Entry(r"difference of source and target is found", reason=DESCRIBES),
    Entry(r"trained anew on x", reason=DESCRIBES),
    Entry(r"mean NLL of the training rows", reason=DESCRIBES),
    Entry(r"that the label given the features has the same law", reason=NONE),
    # ----------------------------------------------------------------------- streams
    Entry(
        r"P\(there is ever an alarm\) <= [\d.]+ if the running risk", ("stream-risk",)
    ),
    Entry(r"P\(there is ever an alarm\) <= [\d.]+", ("stream-alarms",)),
    Entry(r"^it may drift, and one may look", ("stream-risk", "stream-means")),
    Entry(
        r"the intervals hold at all times and for all classes at once",
        ("stream-means", "bbse-region"),
    ),
    # ------------------------------------------------------------- theorems, studies
    Entry(r"verdicts is wrong is at most", ("verdict-error",)),
    Entry(r"exact binomial intervals at every planned look", ("verdict-error",)),
    Entry(r"^violated: the interval lies|^holds: it leaves", reason=SPOKEN_ELSEWHERE),
    Entry(r"tolerance|control is caught|undecided", reason=SPOKEN_ELSEWHERE),
    Entry(r"designs keep the claim", ("verdict-error",)),
    Entry(r"proves nothing", reason=NONE),
    Entry(r"^P\(any planned look's interval misses", ("verdict-error",)),
    Entry(
        r"^(none: )",
        reason=NONE,
    ),
)

FACTS = {
    r"p-value, anytime": ("stream-alarms", "stream-p-values"),
    r"no-shift test": ("no-shift-test",),
    r"test of calibration": ("calibration-test",),
    r"\d+% interval": ("evaluated-coverage", "block-coverage"),
    r"AUC": ("auc-interval",),
    r"tested|test rows": (),
}
"""Facts above the table, by their names."""

HEADERS = {
    r"^coverage >=$": ("label-conditional-pac",),
    r"^\d+%( interval)?$": (
        "evaluated-coverage",
        "bbse-intervals",
        "mlls-intervals",
        "reliability-intervals",
        "assessed-accuracy",
        "bootstrap-intervals",
    ),
    r"^(radius|low|high)$": ("binning-bound", "binning-one-probability"),
    r"^(std\.? err\.?|z.*|P>\|z\||\[0\.025|0\.975\])$": (
        "temperature-intervals",
        "density-ratio-z-test",
        "bbse-intervals",
    ),
    r"^bias-corrected$": ("debiased-ece",),
    r"^interval$": ("verdict-error",),
}
"""Columns that are bounds or intervals, by their headers."""

REFUTED = {
    r"take the bias out": "basic intervals of max-ECE: 0.51 at nominal 0.95",
    r"Those of Brier score and likelihood can": "accuracy .995, n = 200: 0.64 for 0.95",
}
"""Sentences that were printed once, and are false."""
