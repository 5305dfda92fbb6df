"""scikit-learn's own checks of estimators, with two of its instances for ``RandomizedSearchCV``.

Two kinds of checks do not apply: those of other array libraries, which are not installed, and ``check_supervised_y_2d``
of regressors. That check expects a warning that no search gives (also a known failure of ``RandomizedSearchCV``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sklearn.base import is_regressor
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from adabkb_client import Float
from adabkb_integrations.sklearn import AdaBKBSearchCV

CHEAP: dict[str, Any] = {"n_iter": 3, "cv": 2, "error_score": "raise", "random_state": 0}
ESTIMATORS = [
    AdaBKBSearchCV(LogisticRegression(), {"C": Float(0.1, 1.0)}, **CHEAP),
    AdaBKBSearchCV(make_pipeline(PCA(), Ridge()), {"ridge__alpha": [0.1, 0.5, 1.0]}, **CHEAP),
]


def applying() -> Iterator[Any]:
    """Each check. Seven of eight are long tests, and so are those that the first kind of estimator has had."""
    checked = set[str]()
    for searched in reversed(ESTIMATORS):
        for estimator, check in estimator_checks_generator(searched):
            name = check.func.__name__ if hasattr(check, "func") else check.__name__
            does_not_apply = name.startswith("check_array_api") or (
                name == "check_supervised_y_2d" and is_regressor(searched)
            )
            if not does_not_apply:
                yield pytest.param(
                    estimator,
                    check,
                    id=f"{type(searched.estimator).__name__}-{name}",
                    marks=[] if name not in checked and len(checked) % 8 == 0 else pytest.mark.long,
                )
                checked.add(name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), list(applying()))
def test_scikit_learns_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
