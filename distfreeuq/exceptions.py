"""Errors and warnings, each kind from one root, so that all can be caught."""


class DistFreeError(Exception):
    """Root of the errors that distfreeuq raises on purpose."""


class InputError(DistFreeError, ValueError):
    """An argument is not what it must be; the message says which, and where."""


class DistFreeWarning(UserWarning):
    """Root of the warnings: the answer is right, but may not be what was wanted."""


class LikelyMistakeWarning(DistFreeWarning):
    """An argument is valid, but looks like another: the message says which."""


class SmallCalibrationWarning(DistFreeWarning):
    """Too few calibration rows for the level asked: the threshold is infinite."""


class IdentificationWarning(DistFreeWarning):
    """The data cannot tell something about a class, which the message names."""


class FitAtBoundWarning(DistFreeWarning):
    """A fitted parameter has no finite optimum, and stands at its bound."""


class UnseenGroupWarning(DistFreeWarning):
    """Rows to predict belong to a group that the fit has not seen."""


class EmptyBinWarning(DistFreeWarning):
    """Rows fall into bins without calibration rows, and get the class prior."""


class RowsOnEdgesWarning(DistFreeWarning):
    """Rows lie exactly on edges of bins, which the bins' claim leaves out."""


class SupportWarning(DistFreeWarning):
    """The target has rows where the source has almost none: weights cannot help."""


class TrainingStoppedWarning(DistFreeWarning):
    """A discriminator became too confident for features to be learnt against it."""
