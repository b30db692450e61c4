"""What looks like a fault and is documented: NaN where nothing is known, and refusals.

Places are patterns of "Class.field", and of "Class.method[column]" for frames. A row is
here because the docstring of that class or method says so.
"""

import re

NAN_BY_DESIGN: dict[str, str] = {
    r"(Temperature|ClasswiseTemperature|Vector|Platt|Dirichlet|Beta)Result\.std_err": (
        "at a bound, or where the data do not determine the parameter"
    ),
    r"\w+Result\.to_frame\[(std_err|z|p_value|low|high)\]": (
        "tests and intervals that need an unknown standard error, or a bootstrap"
    ),
    r"ClasswiseTemperatureResult\.shared_temperature": "no class needs it",
    r"AssessmentResult\.(bias|low|high|interval)": "without a bootstrap",
    r"AssessmentResult\.to_frame\[(corrected|bias)\]": "without a bootstrap",
    r"AssessmentResult\.(by_class|class_frame)(\[.*\])?": "class never predicted",
    r"ComparisonResult\.(low|high|interval)": "without a bootstrap",
    r"ComparisonResult\.(differences|difference)": "where both are infinite",
    r"ComparisonResult\.to_frame\[difference\]": "where both are infinite",
    r"CalibrationChoiceResult\.\w*(std_err|differences)": "of infinite scores",
    r"CalibrationChoiceResult\.to_frame\[\w+\]": "of infinite scores",
    r"CalibrationComparisonResult\.sd": "of one repetition, or of infinite values",
    r"CalibrationComparisonResult\.to_frame\[sd\]": "as above",
    r"AssessmentResult\.(by_group|group_frame)(\[.*\])?": "group without weight",
    r"CovariateShiftCalibrationResult\.to_frame\[(frequency|mean_prob)(\[.*\])?\]": (
        "bins without rows"
    ),
    r"CoverageResult\.(coverage|mean_size|macro_coverage|share_below)": "of no rows",
    r"CoverageResult\.to_frame\[coverage\]": "of no rows",
    r"CoverageResult\.by_block": "strata without rows",
    r"\w+Binning\.(frequencies|mean_probs)": "bins without rows",
    r"\w+Binning\.to_frame\[(frequency|mean_prob)(\[.*\])?\]": "bins without rows",
    r"ReliabilityTable\.(mean_confidence|accuracy|gap)": "bins without rows",
    r"ReliabilityTable\.to_frame\[(confidence|accuracy|gap)\]": "bins without rows",
    r"\w+Result\.reliability\[.*\]": "bins without rows",
    r"CalibrationResult\.(bins_before|bins_after)": "bins without rows",
    r"ClassBundles\.statistic": "classes never predicted",
    r"ClassBundles\.to_frame\[statistic\]": "classes never predicted",
    r"ScalingBinningResult\.outputs": "bins without rows",
    r"ScalingBinningResult\.(map_radius|cost)": "weighted rows",
    r"ScalingBinningResult\.to_frame\[(output|frequency|map_radius)\]": (
        "bins without rows, or weighted rows"
    ),
    r"DensityRatioResult\.coefficients(\[.*\])?": "not determined by the rows",
    r"DecisionCalibrationResult\.std_err": "at a bound, or a loss is not convex",
    r"DecisionEvaluation\.to_frame\[(confidence|accuracy|gap)\]": "bins without rows",
    r"DensityRatioResult\.(target_weight|target_ratio)": "kernel mean matching",
    r"DensityRatioResult\.to_frame\[(ratio|weight)\]": "as above, target rows",
    r"LinearDiscriminator\.glm_(coef|std_err)": "of a constant feature",
    r"LabelShiftResult\.to_frame\[(weight|raw|target_prior)\]": "not identified",
    r"PerformanceResult\.(source|estimates|low|high|certified_low|certified_high)": (
        "no rows of a class, not identified, or no such interval"
    ),
    r"PerformanceResult\.target_prior": "neither estimated nor given",
    r"PerformanceResult\.to_frame\[(source|estimate)\]": "no rows of a class",
    r"\w+Result\.confint": "a parameter without standard error",
    r"ShiftMonitor\.confint": "no proportions fit: more than label shift",
    r"RiskMonitor\.risk": "before the first label",
    r"WaitingRows\.found": "rows whose label has not come",
    r"in_kind(\[.*\])?": "the values that were given",
    r"SimulationResult\.(values|column)": "what the user's procedure returned",
    r"SimulationResult\.(to_frame|describe)\[.*\]": "of what the procedure returned",
}

UNDEFINED_PROPERTIES = {
    "LabelShiftResult.label_weight": "InputError where BBSE has no solution",
    "LabelShiftResult.target_prior": "as label_weight",
    "LabelShiftResult.kappa": "as label_weight",
    "LabelShiftResult.ess": "as label_weight",
    "ShiftMonitor.target_prior": "InputError without labels, or before any row",
    "PlattResult.slope": "AttributeError, as hasattr wants it, but for two classes",
    "PlattResult.intercept": "as slope",
}

# Of "Class.method: message".
REFUSALS: dict[str, str] = {
    r"LabelShiftResult\.\w+: .* has no weights here": (
        "a method of a result without weights, whatever its arguments"
    ),
    r"LabelShiftResult\.test: Known priors come without samples": "no samples",
    r"\w+\.\w+: The 'self' parameter of ": "a result that has not what it takes",
    r"\w+\.save( and load| without rows)?: ": "a result that holds what no file can",
    r"\w+: The 'class_prior' parameter of PAS": "the score's own parameter",
    r"SearchResult\.design: ": "the theorem is not registered (any more)",
    r"\w+\.(p_values|effects): ": "a result that has none",
}

# Of others' libraries, about the user's machine and not about the call.
WARNINGS: dict[str, str] = {
    r"constrained_layout not applied": "long names leave no room on a small figure",
    r"Glyph \d+ .*missing from": "a figure is drawn in a font without that letter",
}

_NAN = re.compile("|".join(f"(?:{place})" for place in NAN_BY_DESIGN), re.DOTALL)
_REFUSAL = re.compile("|".join(f"(?:{text})" for text in REFUSALS))


def may_be_nan(place: str) -> bool:
    """Say whether NaN is documented there."""
    return _NAN.fullmatch(place) is not None


def may_refuse(name: str, message: str) -> bool:
    """Say whether the message is one that can name no parameter of the call."""
    return _REFUSAL.match(f"{name}: {message}") is not None


def may_raise(error: Exception) -> bool:
    """Say whether it is of the user's own function, which `simulate` was to call."""
    notes = getattr(error, "__notes__", ())
    return any(re.match(r"in replicate \d+ of simulate", note) for note in notes)
