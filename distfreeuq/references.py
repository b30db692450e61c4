"""Who proved what, and what they assumed: one wording for each, wherever it is printed.

Citations are by authors and year. Assumptions are the phrases that a summary lists
after "Needs:"; a guarantee and the theorem that checks it use the same ones.
"""

PODKOPAEV_RAMDAS_2021 = "Podkopaev & Ramdas (2021)"
PAMPARI_ERMON_2020 = "Pampari & Ermon (2020)"
PARK_2020 = "Park, Bastani, Weimer & Lee (2020)"
ZHAO_2020 = "Zhao, Chen & Oymak (2020)"
VOVK_2012 = "Vovk (2012)"
TIBSHIRANI_2019 = "Tibshirani, Barber, Candes & Ramdas (2019)"
CLOPPER_PEARSON_1934 = "Clopper and Pearson (1934)"

# ---------------------------------------------------------------- how rows were drawn
IID = "rows i.i.d."
INDEPENDENT = "rows independent"
CALIBRATION_IID = "calibration rows i.i.d."
NEW_ROW_IID = "the calibration rows and the new row are i.i.d."
CLASS_EXCHANGEABLE = "rows of a class are exchangeable"
EXCHANGEABLE = "the calibration rows and the new row are exchangeable"
TWO_SAMPLES = "rows i.i.d. within each sample, the two samples independent"

# ------------------------------------------------- what was chosen without these rows
FITTED_ELSEWHERE = "the classifier was fitted on other rows"
CHOSEN_ELSEWHERE = "the classifier, the score and alpha were chosen without these rows"
ASSESSED_ELSEWHERE = "rows not used to fit or calibrate the classifier"
SETS_ASSESSED_ELSEWHERE = "rows used neither to fit the classifier nor to calibrate"

# ------------------------------------------------------------------------- label shift
LABEL_SHIFT = "label shift: p(x | y) is the same in source and target"
CLASSES_OVERLAP = "every class of the target occurs in the source"
TRUE_LABEL_WEIGHT = "the weights are the true q(y)/p(y) up to scale"
CALIBRATED = "the probabilities are calibrated: P(Y = k | f) = f_k in the source"
TOLD_APART = "true weights positive, classes that can be told apart"

# --------------------------------------------------------------------- covariate shift
COVARIATE_SHIFT = "covariate shift: p(y | x) is the same in source and target"
INPUTS_OVERLAP = "q(x) = 0 where p(x) = 0"
TRUE_DENSITY_RATIO = "the weights are the true q(x)/p(x)"
TRUE_RATIO_TO_SCALE = f"{TRUE_DENSITY_RATIO} up to scale"
TRUE_BOUNDED_RATIO = f"{TRUE_RATIO_TO_SCALE}, and bounded as given"
KNOWN_DENSITY_RATIO = "w(x) = q(x)/p(x) known up to scale, and q(x) = 0 where p(x) = 0"
WEIGHT_BOUND = "no w(x) exceeds the bound given"
WEIGHTS_BY_INPUTS = "weights depend on the inputs alone"
TRUE_RATIO = "weights are the true density ratio of target to source, up to a factor"
FINITE_VARIANCE = "their variance is finite"
