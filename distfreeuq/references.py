"""Who proved what, and what they assumed: one wording for each, wherever it is printed.

Citations are by authors and year; each stands for an entry of a bibliography, which
`Guarantee.bibtex` prints. Assumptions are the phrases that a summary lists after
"Needs:"; a guarantee and the theorem that checks it use the same ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# --------------------------------------------------------------------------- citations


@dataclass(frozen=True, slots=True)
class Reference:
    """A publication: how it is cited, and its entry in a bibliography.

    Parameters
    ----------
    text : str
        Authors and year, as printed: "Vovk (2012)".
    kind : str
        "article", "book", "inproceedings", "misc" or "techreport".
    fields : tuple of (str, str)
        Authors, title and where it appeared, as BibTeX writes them.
    """

    text: str
    kind: str
    fields: tuple[tuple[str, str], ...]

    @property
    def first_author(self) -> str:
        """The surname that a citation begins with."""
        return re.split(r"[ ,]", self.text, maxsplit=1)[0]

    @property
    def year(self) -> str:
        """The four digits."""
        return self.text[-5:-1]

    @property
    def key(self) -> str:
        """The entry's name, such as "vovk2012"."""
        return f"{self.first_author.lower()}{self.year}"

    @property
    def bibtex(self) -> str:
        """The entry."""
        fields = (*self.fields, ("year", self.year))
        lines = [f"  {name} = {{{value}}}," for name, value in fields]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    def is_cited_in(self, text: str) -> bool:
        """Return whether the text names first author and year, in whatever form."""
        pattern = rf"\b{self.first_author}\b[^;:()\d]*\(?{self.year}\b"
        return re.search(pattern, text) is not None


REFERENCES: list[Reference] = []
"""All publications that are cited in print, by first author."""


def _cite(text: str, kind: str, **fields: str) -> str:
    """Enter a publication, and return how it is cited."""
    REFERENCES.append(Reference(text, kind, tuple(fields.items())))
    return text


def cited(text: str) -> list[Reference]:
    """Return the publications that a text names.

    Examples
    --------
    >>> from distfreeuq.references import cited
    >>> [reference.key for reference in cited("Vovk (2012); theory page, 5")]
    ['vovk2012']
    """
    return [reference for reference in REFERENCES if reference.is_cited_in(text)]


ALEXANDARI_2020 = _cite(
    "Alexandari, Kundaje & Shrikumar (2020)",
    "inproceedings",
    author="Alexandari, Amr and Kundaje, Anshul and Shrikumar, Avanti",
    title=(
        "Maximum likelihood with bias-corrected calibration is hard-to-beat at "
        "label shift adaptation"
    ),
    booktitle="International Conference on Machine Learning",
)
ANDERSON_RUBIN_1949 = _cite(
    "Anderson & Rubin (1949)",
    "article",
    author="Anderson, T. W. and Rubin, Herman",
    title=(
        "Estimation of the parameters of a single equation in a complete "
        "system of stochastic equations"
    ),
    journal="The Annals of Mathematical Statistics",
    volume="20",
    pages="46--63",
)
ANGELOPOULOS_2021 = _cite(
    "Angelopoulos et al. (2021)",
    "inproceedings",
    author="Angelopoulos, Anastasios N. and Bates, Stephen and others",
    title="Uncertainty sets for image classifiers using conformal prediction",
    booktitle="International Conference on Learning Representations",
)
AYER_1955 = _cite(
    "Ayer et al. (1955)",
    "article",
    author=(
        "Ayer, Miriam and Brunk, H. D. and Ewing, G. M. and Reid, W. T. and "
        "Silverman, Edward"
    ),
    title=(
        "An empirical distribution function for sampling with incomplete information"
    ),
    journal="The Annals of Mathematical Statistics",
    volume="26",
    pages="641--647",
)
AZIZZADENESHELI_2019 = _cite(
    "Azizzadenesheli, Liu, Yang & Anandkumar (2019)",
    "inproceedings",
    author=(
        "Azizzadenesheli, Kamyar and Liu, Anqi and Yang, Fanny and Anandkumar, "
        "Animashree"
    ),
    title="Regularized learning for domain adaptation under label shifts",
    booktitle="International Conference on Learning Representations",
)
BARNARD_1963 = _cite(
    "Barnard (1963)",
    "article",
    author="Barnard, G. A.",
    title="Discussion of {Professor Bartlett's} paper",
    journal="Journal of the Royal Statistical Society: Series B",
    volume="25",
)
CLOPPER_PEARSON_1934 = _cite(
    "Clopper and Pearson (1934)",
    "article",
    author="Clopper, C. J. and Pearson, E. S.",
    title=(
        "The use of confidence or fiducial limits illustrated in the case of "
        "the binomial"
    ),
    journal="Biometrika",
    volume="26",
    pages="404--413",
)
CORTES_2010 = _cite(
    "Cortes, Mansour & Mohri (2010)",
    "inproceedings",
    author="Cortes, Corinna and Mansour, Yishay and Mohri, Mehryar",
    title="Learning bounds for importance weighting",
    booktitle="Advances in Neural Information Processing Systems",
    volume="23",
)
DELONG_1988 = _cite(
    "DeLong, DeLong & Clarke-Pearson (1988)",
    "article",
    author="DeLong, Elizabeth R. and DeLong, David M. and Clarke-Pearson, Daniel L.",
    title=(
        "Comparing the areas under two or more correlated receiver operating "
        "characteristic curves: a nonparametric approach"
    ),
    journal="Biometrics",
    volume="44",
    pages="837--845",
)
DIMITRIADIS_2023 = _cite(
    "Dimitriadis, Duembgen, Henzi, Puke & Ziegel (2023)",
    "article",
    author=(
        'Dimitriadis, Timo and D{\\"u}mbgen, Lutz and Henzi, Alexander and Puke, '
        "Marius and Ziegel, Johanna"
    ),
    title="Honest calibration assessment for binary outcome predictions",
    journal="Biometrika",
    volume="110",
    pages="663--680",
)
DING_2023 = _cite(
    "Ding, Angelopoulos, Bates, Jordan & Tibshirani (2023)",
    "inproceedings",
    author=(
        "Ding, Tiffany and Angelopoulos, Anastasios N. and Bates, Stephen and Jordan, "
        "Michael I. and Tibshirani, Ryan J."
    ),
    title="Class-conditional conformal prediction with many classes",
    booktitle="Advances in Neural Information Processing Systems",
    volume="36",
)
DING_2025 = _cite(
    "Ding, Fermanian & Salmon (2025)",
    "misc",
    author="Ding, Tiffany and Fermanian, Jean-Baptiste and Salmon, Joseph",
    title="Conformal prediction for long-tailed classification",
    howpublished="arXiv preprint",
)
GARG_2020 = _cite(
    "Garg, Wu, Balakrishnan & Lipton (2020)",
    "inproceedings",
    author=(
        "Garg, Saurabh and Wu, Yifan and Balakrishnan, Sivaraman and Lipton, Zachary C."
    ),
    title="A unified view of label shift estimation",
    booktitle="Advances in Neural Information Processing Systems",
    volume="33",
)
GUO_2017 = _cite(
    "Guo, Pleiss, Sun & Weinberger (2017)",
    "inproceedings",
    author="Guo, Chuan and Pleiss, Geoff and Sun, Yu and Weinberger, Kilian Q.",
    title="On calibration of modern neural networks",
    booktitle="International Conference on Machine Learning",
)
GUPTA_RAMDAS_2021 = _cite(
    "Gupta & Ramdas (2021)",
    "inproceedings",
    author="Gupta, Chirag and Ramdas, Aaditya",
    title=(
        "Distribution-free calibration guarantees for histogram binning "
        "without sample splitting"
    ),
    booktitle="International Conference on Machine Learning",
)
HAUSMAN_1978 = _cite(
    "Hausman (1978)",
    "article",
    author="Hausman, J. A.",
    title="Specification tests in econometrics",
    journal="Econometrica",
    volume="46",
    pages="1251--1271",
)
HOEFFDING_1963 = _cite(
    "Hoeffding (1963)",
    "article",
    author="Hoeffding, Wassily",
    title="Probability inequalities for sums of bounded random variables",
    journal="Journal of the American Statistical Association",
    volume="58",
    pages="13--30",
)
HUANG_2024 = _cite(
    "Huang et al. (2024)",
    "inproceedings",
    author=(
        "Huang, Jianguo and Xi, Huajun and Zhang, Linjun and Yao, Huaxiu and "
        "Qiu, Yue and Wei, Hongxin"
    ),
    title="Conformal prediction for deep classifier via label ranking",
    booktitle="International Conference on Machine Learning",
)
HUBER_1967 = _cite(
    "Huber (1967)",
    "inproceedings",
    author="Huber, Peter J.",
    title="The behavior of maximum likelihood estimates under nonstandard conditions",
    booktitle=(
        "Proceedings of the Fifth {Berkeley} Symposium on Mathematical "
        "Statistics and Probability"
    ),
    volume="1",
    pages="221--233",
)
KUMAR_2019 = _cite(
    "Kumar, Liang & Ma (2019)",
    "inproceedings",
    author="Kumar, Ananya and Liang, Percy and Ma, Tengyu",
    title="Verified uncertainty calibration",
    booktitle="Advances in Neural Information Processing Systems",
    volume="32",
)
LEI_CANDES_2021 = _cite(
    "Lei & Candes (2021)",
    "article",
    author="Lei, Lihua and Cand{\\`e}s, Emmanuel J.",
    title="Conformal inference of counterfactuals and individual treatment effects",
    journal="Journal of the Royal Statistical Society: Series B",
    volume="83",
)
LIPTON_2018 = _cite(
    "Lipton, Wang & Smola (2018)",
    "inproceedings",
    author="Lipton, Zachary C. and Wang, Yu-Xiang and Smola, Alexander J.",
    title="Detecting and correcting for label shift with black box predictors",
    booktitle="International Conference on Machine Learning",
)
MAURER_PONTIL_2009 = _cite(
    "Maurer & Pontil (2009)",
    "inproceedings",
    author="Maurer, Andreas and Pontil, Massimiliano",
    title="Empirical {Bernstein} bounds and sample variance penalization",
    booktitle="Conference on Learning Theory",
)
MURPHY_1973 = _cite(
    "Murphy (1973)",
    "article",
    author="Murphy, Allan H.",
    title="A new vector partition of the probability score",
    journal="Journal of Applied Meteorology",
    volume="12",
    pages="595--600",
)
OETTLI_PRAGER_1964 = _cite(
    "Oettli and Prager (1964)",
    "article",
    author="Oettli, W. and Prager, W.",
    title=(
        "Compatibility of approximate solution of linear equations with given "
        "error bounds for coefficients and right-hand sides"
    ),
    journal="Numerische Mathematik",
    volume="6",
    pages="405--409",
)
PAMPARI_ERMON_2020 = _cite(
    "Pampari & Ermon (2020)",
    "misc",
    author="Pampari, Anusri and Ermon, Stefano",
    title="Unsupervised calibration under covariate shift",
    howpublished="arXiv preprint",
)
PAPADOPOULOS_2002 = _cite(
    "Papadopoulos, Proedrou, Vovk & Gammerman (2002)",
    "inproceedings",
    author=(
        "Papadopoulos, Harris and Proedrou, Kostas and Vovk, Volodya and "
        "Gammerman, Alex"
    ),
    title="Inductive confidence machines for regression",
    booktitle="European Conference on Machine Learning",
)
PARK_2020 = _cite(
    "Park, Bastani, Weimer & Lee (2020)",
    "inproceedings",
    author="Park, Sangdon and Bastani, Osbert and Weimer, James and Lee, Insup",
    title=(
        "Calibrated prediction with covariate shift via unsupervised domain adaptation"
    ),
    booktitle="International Conference on Artificial Intelligence and Statistics",
)
PODKOPAEV_RAMDAS_2021 = _cite(
    "Podkopaev & Ramdas (2021)",
    "inproceedings",
    author="Podkopaev, Aleksandr and Ramdas, Aaditya",
    title=(
        "Distribution-free uncertainty quantification for classification under "
        "label shift"
    ),
    booktitle="Conference on Uncertainty in Artificial Intelligence",
)
ROMANO_2020 = _cite(
    "Romano, Sesia & Candes (2020)",
    "inproceedings",
    author="Romano, Yaniv and Sesia, Matteo and Cand{\\`e}s, Emmanuel J.",
    title="Classification with valid and adaptive coverage",
    booktitle="Advances in Neural Information Processing Systems",
    volume="33",
)
SADINLE_2019 = _cite(
    "Sadinle, Lei & Wasserman (2019)",
    "article",
    author="Sadinle, Mauricio and Lei, Jing and Wasserman, Larry",
    title="Least ambiguous set-valued classifiers with bounded error levels",
    journal="Journal of the American Statistical Association",
    volume="114",
    pages="223--234",
)
SAERENS_2002 = _cite(
    "Saerens, Latinne & Decaestecker (2002)",
    "article",
    author="Saerens, Marco and Latinne, Patrice and Decaestecker, Christine",
    title=(
        "Adjusting the outputs of a classifier to new a priori probabilities: "
        "a simple procedure"
    ),
    journal="Neural Computation",
    volume="14",
    pages="21--41",
)
SHI_2024 = _cite(
    "Shi, Ghosh, Belkhouja, Doppa & Yan (2024)",
    "inproceedings",
    author=(
        "Shi, Yuanjie and Ghosh, Subhankar and Belkhouja, Taha and Doppa, Janardhan "
        "Rao and Yan, Yan"
    ),
    title=(
        "Conformal prediction for class-wise coverage via augmented label rank "
        "calibration"
    ),
    booktitle="Advances in Neural Information Processing Systems",
    volume="37",
)
SUGIYAMA_2007 = _cite(
    "Sugiyama, Krauledat & Mueller (2007)",
    "article",
    author='Sugiyama, Masashi and Krauledat, Matthias and M{\\"u}ller, Klaus-Robert',
    title="Covariate shift adaptation by importance weighted cross validation",
    journal="Journal of Machine Learning Research",
    volume="8",
    pages="985--1005",
)
TIBSHIRANI_2019 = _cite(
    "Tibshirani, Barber, Candes & Ramdas (2019)",
    "inproceedings",
    author=(
        "Tibshirani, Ryan J. and Barber, Rina Foygel and Cand{\\`e}s, Emmanuel "
        "J. and Ramdas, Aaditya"
    ),
    title="Conformal prediction under covariate shift",
    booktitle="Advances in Neural Information Processing Systems",
    volume="32",
)
VAICENAVICIUS_2019 = _cite(
    "Vaicenavicius et al. (2019)",
    "inproceedings",
    author=(
        "Vaicenavicius, Juozas and Widmann, David and Andersson, Carl and "
        'Lindsten, Fredrik and Roll, Jacob and Sch{\\"o}n, Thomas B.'
    ),
    title="Evaluating model calibration in classification",
    booktitle="International Conference on Artificial Intelligence and Statistics",
)
VOVK_2005 = _cite(
    "Vovk, Gammerman & Shafer (2005)",
    "book",
    author="Vovk, Vladimir and Gammerman, Alexander and Shafer, Glenn",
    title="Algorithmic learning in a random world",
    publisher="Springer",
)
VOVK_2012 = _cite(
    "Vovk (2012)",
    "inproceedings",
    author="Vovk, Vladimir",
    title="Conditional validity of inductive conformal predictors",
    booktitle="Asian Conference on Machine Learning",
)
VOVK_2015 = _cite(
    "Vovk, Petej & Fedorova (2015)",
    "inproceedings",
    author="Vovk, Vladimir and Petej, Ivan and Fedorova, Valentina",
    title=(
        "Large-scale probabilistic predictors with and without guarantees of validity"
    ),
    booktitle="Advances in Neural Information Processing Systems",
    volume="28",
)
VOVK_2018 = _cite(
    "Vovk, Nouretdinov, Manokhin & Gammerman (2018)",
    "inproceedings",
    author=(
        "Vovk, Vladimir and Nouretdinov, Ilia and Manokhin, Valery and Gammerman, "
        "Alexander"
    ),
    title="Cross-conformal predictive distributions",
    booktitle="Conformal and Probabilistic Prediction and Applications",
)
VOVK_2020 = _cite(
    "Vovk & Wang (2020)",
    "article",
    author="Vovk, Vladimir and Wang, Ruodu",
    title="Combining p-values via averaging",
    journal="Biometrika",
    volume="107",
    pages="791--808",
)
WAUDBY_SMITH_2024 = _cite(
    "Waudby-Smith & Ramdas (2024)",
    "article",
    author="Waudby-Smith, Ian and Ramdas, Aaditya",
    title="Estimating means of bounded random variables by betting",
    journal="Journal of the Royal Statistical Society: Series B",
    volume="86",
    pages="1--27",
)
VOVK_2003 = _cite(
    "Vovk, Nouretdinov & Gammerman (2003)",
    "inproceedings",
    author="Vovk, Vladimir and Nouretdinov, Ilia and Gammerman, Alexander",
    title="Testing exchangeability on-line",
    booktitle="International Conference on Machine Learning",
)
HOWARD_2021 = _cite(
    "Howard et al. (2021)",
    "article",
    author=(
        "Howard, Steven R. and Ramdas, Aaditya and McAuliffe, Jon and Sekhon, Jasjeet"
    ),
    title="Time-uniform, nonparametric, nonasymptotic confidence sequences",
    journal="Annals of Statistics",
    volume="49",
    pages="1055--1080",
)
PODKOPAEV_RAMDAS_2022 = _cite(
    "Podkopaev & Ramdas (2022)",
    "inproceedings",
    author="Podkopaev, Aleksandr and Ramdas, Aaditya",
    title=(
        "Tracking the risk of a deployed model and detecting harmful distribution "
        "shifts"
    ),
    booktitle="International Conference on Learning Representations",
)
VILLE_1939 = _cite(
    "Ville (1939)",
    "book",
    author="Ville, Jean",
    title="{\\'E}tude critique de la notion de collectif",
    publisher="Gauthier-Villars",
)
WEISSMAN_2003 = _cite(
    "Weissman et al. (2003)",
    "techreport",
    author=(
        "Weissman, Tsachy and Ordentlich, Erik and Seroussi, Gadiel and Verdu, "
        "Sergio and Weinberger, Marcelo J."
    ),
    title="Inequalities for the {L1} deviation of the empirical distribution",
    institution="Hewlett-Packard Laboratories",
)
WHITE_1982 = _cite(
    "White (1982)",
    "article",
    author="White, Halbert",
    title="Maximum likelihood estimation of misspecified models",
    journal="Econometrica",
    volume="50",
    pages="1--25",
)
WILKS_1941 = _cite(
    "Wilks (1941)",
    "article",
    author="Wilks, S. S.",
    title="Determination of sample sizes for setting tolerance limits",
    journal="The Annals of Mathematical Statistics",
    volume="12",
    pages="91--96",
)
ZHAO_2020 = _cite(
    "Zhao, Chen & Oymak (2020)",
    "misc",
    author="Zhao, Yuan and Chen, Jiasi and Oymak, Samet",
    title="On the role of dataset quality and heterogeneity in model confidence",
    howpublished="arXiv preprint",
)

COUNTED_PRIOR = "class proportions counted from the labels (theory page, 1.7)"
HASHED_UNIFORMS = "hashed uniforms (theory page, 12.8)"

# ---------------------------------------------------------------- how rows were drawn
IID = "rows i.i.d."
BLOCKS_IID = "blocks i.i.d., their rows dependent in any way"
INDEPENDENT = "rows independent"
CALIBRATION_IID = "calibration rows i.i.d."
NEW_ROW_IID = "the calibration rows and the new row are i.i.d."
CLASS_EXCHANGEABLE = "rows of a class, the new one included, are exchangeable"
EXCHANGEABLE = "the calibration rows and the new row are exchangeable"
GROUP_EXCHANGEABLE = "rows of a group, the new one included, are exchangeable"
CLASS_GROUP_EXCHANGEABLE = (
    "rows of a class in a group, the new one included, are exchangeable"
)
NEW_ROW_APART = "the new row is not among those that the weights were estimated on"
STREAM_EXCHANGEABLE = (
    "source rows and stream are exchangeable (i.i.d., say) while nothing has moved"
)
SOURCE_IID_ELSEWHERE = (
    "source rows i.i.d., and nothing was fitted or calibrated on them"
)
PREDICTED_FIRST = "every prediction was made without its label"
DELAY_BLIND = "when a label comes does not depend on the loss"
DROPPED_BLINDLY = "rows were dropped without regard to their losses"
TWO_SAMPLES = "rows i.i.d. within each sample, the two samples independent"

# ------------------------------------------------- what was chosen without these rows
FITTED_ELSEWHERE = "the classifier was fitted on other rows"
SCORE_ELSEWHERE = "the classifier and the score were chosen without these rows"
CHOSEN_ELSEWHERE = "the classifier, the score and alpha were chosen without these rows"
ASSESSED_ELSEWHERE = "rows not used to fit or calibrate the classifier"
SETS_ASSESSED_ELSEWHERE = "rows used neither to fit the classifier nor to calibrate"
SCORE_AND_ALPHA_ELSEWHERE = "the score and alpha were chosen without these rows"
FOLDS_ELSEWHERE = (
    "folds drawn without looking at the rows, and each fold's classifier fitted (and "
    "chosen) without it"
)
GROUPS_BY_INPUTS = (
    "a row's group is a function of its inputs, chosen without these rows"
)
SPLIT_AT_RANDOM = "the rows were split at random"
LABELLED_AT_RANDOM = "labelled target rows chosen at random"
PRIOR_ELSEWHERE = "the class proportions of the score were chosen without these rows"
EDGES_CHOSEN_ELSEWHERE = "the edges given were chosen without these rows"
OWN_SCORE = "the score given is a fixed function of a row, its label and its uniform"
SEED_ELSEWHERE = "the seed was chosen without the data"
IDS_OF_ROWS = "what is said of the rows holds of the rows together with their ids"
OWN_UNIFORMS = "the uniforms given are independent draws from [0, 1]"

CLASSES_OF_LABELS = "every class of new rows is among those of the labels"
ONE_ROW_OF_EACH_GROUP = (
    "groups exchangeable; the new row is drawn at random from a new group"
)

# ------------------------------------------------------------------------- label shift
LABEL_SHIFT = "label shift: p(x | y) is the same in source and target"
CLASSES_OVERLAP = "every class of the target occurs in the source"
CLASSES_SEEN = "every class of the target has rows in the source sample"
TRUE_PRIORS = "the class proportions of source and target are those given"
TRUE_LABEL_WEIGHT = "the weights are the true q(y)/p(y) up to scale"
CALIBRATED = "the probabilities are calibrated: P(Y = k | f) = f_k in the source"
CLASSES_TOLD_APART = "classes that the predictions tell apart"
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
