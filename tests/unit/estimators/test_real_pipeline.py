"""From a file to sets in another process: columns, boosted trees, a search, joblib."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu

pytest.importorskip("sklearn", "1.6", reason="estimators need scikit-learn 1.6")

import joblib
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder

from distfreeuq.estimators import ConformalClassifier, SizeAtCoverage

WORDS = ["job", "marital", "education", "contact", "poutcome"]
NUMBERS = ["age", "balance", "day", "campaign", "pdays", "previous"]

OTHER_PROCESS = """
import sys, joblib, numpy as np, pandas as pd
fit = joblib.load(sys.argv[1])
np.save(sys.argv[3], fit.predict_set(pd.read_pickle(sys.argv[2])))
"""


@pytest.mark.slow
def test_bank_marketing(data_folder, tmp_path):
    data = pd.read_csv(data_folder("bank-marketing") / "bank.csv.gz")
    data = data.sample(4000, random_state=0)
    train, calibration, new = data[:1500], data[1500:2500], data[2500:]
    unseen = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = ColumnTransformer(
        [
            ("words", unseen, WORDS),
            ("numbers", "passthrough", NUMBERS),
        ]
    )
    trees = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    search = GridSearchCV(
        ConformalClassifier(
            Pipeline([("columns", columns), ("trees", trees)]), random_state=0
        ),
        {"conformity_score": ["aps", "lac"], "estimator__trees__max_depth": [2, 4]},
        scoring=SizeAtCoverage(0.9),
        cv=2,
    ).fit(train, train["y"])
    best = search.best_estimator_
    assert best.feature_names_in_.tolist() == list(data.columns)
    fit = ConformalClassifier(
        best.estimators_[0],
        conformity_score=best.conformity_score,
        cv="prefit",
        random_state=0,
    ).fit(calibration, calibration["y"])
    sets = fit.prediction_sets(new)
    # of both draws coverage has a standard deviation of 0.0125
    assert 0.85 < sets.evaluate(new["y"]).coverage < 0.95
    assert isinstance(fit.result_, dfu.SplitConformalResult)
    assert fit.result_.classes == ("no", "yes")

    joblib.dump(fit, tmp_path / "fit.joblib")
    new.to_pickle(tmp_path / "new.pickle")
    files = [tmp_path / name for name in ("fit.joblib", "new.pickle", "sets.npy")]
    subprocess.run([sys.executable, "-c", OTHER_PROCESS, *map(str, files)], check=True)
    np.testing.assert_array_equal(np.load(files[2]), sets.mask)
