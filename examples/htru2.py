"""The problem with real data of the Ada-BKB paper: one lengthscale per feature for a Nystrom kernel ridge classifier of
pulsars (HTRU2).

Run one or more workers for a server that has the study (see demo.py):

    python examples/htru2.py http://127.0.0.1:8000
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from adabkb_client import Client, Float

DATA = Path(__file__).parent / "data" / "HTRU_2.csv.gz"
FEATURES = np.loadtxt(DATA, delimiter=",", max_rows=1, dtype=str)[:-1].tolist()
SPACE = {feature: Float(0.1, 100.0, log=True) for feature in FEATURES}
DEFAULT = dict.fromkeys(FEATURES, 2.0)
"""scikit-learn's own default for this kernel: gamma = 1/8 is a lengthscale of 2 everywhere."""
CENTERS = 300  # the paper uses 1000, with which a fit takes seconds
RIDGE = 1e-6

Array = NDArray[np.float64]
Part = tuple[Array, Array]


@cache
def split() -> tuple[Part, Part, Part]:
    """Return 42% of the candidates for fitting, 28% to hold out, and 30% for the test. The split is always the same."""
    table = np.loadtxt(DATA, delimiter=",", skiprows=1)
    x, y = table[:, :-1], 2.0 * table[:, -1] - 1.0
    x, x_test, y, y_test = train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)
    scaler = StandardScaler().fit(x)
    x_fit, x_hold, y_fit, y_hold = train_test_split(scaler.transform(x), y, test_size=0.4, random_state=0, stratify=y)
    return (x_fit, y_fit), (x_hold, y_hold), (scaler.transform(x_test), y_test)


def error(lengthscales: dict[str, float], part: Part) -> float:
    """Return the mean squared error of the classifier with these lengthscales, on a part of the data."""
    scale = np.array([lengthscales[feature] for feature in FEATURES])
    (x_fit, y_fit), (x, y) = split()[0], part
    kernel = Nystroem(gamma=0.5, n_components=CENTERS, random_state=0)
    ridge = Ridge(alpha=RIDGE * len(x_fit), fit_intercept=False)
    classifier = make_pipeline(kernel, ridge).fit(x_fit / scale, y_fit)
    return float(mean_squared_error(y, classifier.predict(x / scale)))


def holdout_error(**lengthscales: float) -> float:
    """Return the error on the held-out data, which is the objective."""
    return error(lengthscales, split()[1])


def test_error(lengthscales: dict[str, float]) -> float:
    """Return the error on the test data, which must not be used for tuning."""
    return error(lengthscales, split()[2])


if __name__ == "__main__":
    with Client(sys.argv[1]) as client, threadpool_limits(1):
        client.study("htru2").run(holdout_error, progress=False)
