"""The search on real estimators of scikit-learn."""

from __future__ import annotations

import math
import subprocess
import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import beta, binom, loguniform, norm, poisson, randint, uniform
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, ShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR

from adabkb_client import Bool, Categorical, Fixed, Float, Int, Ordinal
from adabkb_integrations.model import Model, Result
from adabkb_integrations.sklearn import AdaBKBSearchCV
from adabkb_integrations.sklearn.axes import domain
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis, StepAxis
from adabkb_service.engine.space import Fixed as FixedAxis
from tests.calls import watching

X, Y = load_diabetes(return_X_y=True)
CELLS, KINDS = load_breast_cancer(return_X_y=True)
SVR_SPACE = {"svr__C": loguniform(1e-3, 1e4), "svr__gamma": loguniform(1e-6, 10), "svr__epsilon": uniform(0, 50)}


def svr() -> Pipeline:
    return make_pipeline(StandardScaler(), SVR())


@pytest.mark.long
def test_search_beats_random_search_with_the_same_number_of_candidates() -> None:
    seeds = 3
    found = [AdaBKBSearchCV(svr(), SVR_SPACE, n_iter=25, random_state=seed, cv=3) for seed in range(seeds)]
    random = [RandomizedSearchCV(svr(), SVR_SPACE, n_iter=25, random_state=seed, cv=3) for seed in range(seeds)]
    ours, theirs = ([search.fit(X, Y).best_score_ for search in searches] for searches in (found, random))
    assert np.mean(ours) > np.mean(theirs)


def test_results_match_those_of_a_grid_search() -> None:
    """A grid of the same candidates has the same ``cv_results_``, apart from their order."""
    values = [0.01, 0.1, 1.0, 10.0]
    ours = AdaBKBSearchCV(Ridge(), {"alpha": values}, n_iter=4, cv=3, return_train_score=True, random_state=0).fit(X, Y)
    grid = GridSearchCV(Ridge(), {"alpha": values}, cv=3, return_train_score=True).fit(X, Y)
    assert ours.cv_results_.keys() == grid.cv_results_.keys()
    assert sorted(ours.cv_results_["mean_test_score"]) == pytest.approx(sorted(grid.cv_results_["mean_test_score"]))
    assert ours.best_params_ == grid.best_params_
    assert ours.best_score_ == grid.best_score_
    assert ours.predict(X) == pytest.approx(grid.predict(X))


def test_each_point_of_a_finite_space_is_evaluated_once() -> None:
    search = AdaBKBSearchCV(Ridge(), {"alpha": [1.0, 2.0], "fit_intercept": [True, False]}, n_iter=9, cv=2)
    with pytest.warns(UserWarning, match="The search space has 4 points, fewer than n_iter=9; each is evaluated once"):
        search.fit(X, Y)
    assert len({tuple(params.items()) for params in search.cv_results_["params"]}) == 4


def test_candidates_differ_even_with_random_folds() -> None:
    search = AdaBKBSearchCV(Ridge(), {"alpha": list(range(1, 9))}, n_iter=8, cv=ShuffleSplit(3), random_state=0)
    search.fit(X, Y)
    assert sorted(params["alpha"] for params in search.cv_results_["params"]) == list(range(1, 9))


@pytest.mark.parametrize(
    ("fold_noise", "cv", "is_used"),
    [("auto", KFold(3), False), ("auto", KFold(3, shuffle=True), True), (True, KFold(3), True), (False, 3, False)],
)
def test_standard_error_over_folds_is_used_if_folds_differ(fold_noise: bool | str, cv: Any, is_used: bool) -> None:
    results: list[Result] = []

    def note(call: FrameType, event: str) -> None:
        if event == "call":
            results[:] = call.f_locals["results"].values()

    search = AdaBKBSearchCV(Ridge(), {"alpha": Float(0.1, 9)}, n_iter=2, cv=cv, fold_noise=fold_noise)
    with watching({Model.learn: note}):
        search.fit(X, Y)
    expected = search.cv_results_["std_test_score"] / math.sqrt(3) if is_used else [0.0, 0.0]
    assert [result.error for result in results] == pytest.approx(list(expected))


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.long)])
def test_batches_keep_all_workers_busy(capsys: pytest.CaptureFixture[str], backend: str) -> None:
    with parallel_config(backend):
        search = AdaBKBSearchCV(svr(), SVR_SPACE, n_iter=8, n_jobs=4, cv=2, random_state=0, verbose=1).fit(X, Y)
    assert capsys.readouterr().out.count("2 folds for each of 2 candidates") == 4
    with parallel_config("threading"):
        again = AdaBKBSearchCV(svr(), SVR_SPACE, n_iter=8, n_jobs=4, cv=2, random_state=0).fit(X, Y)
    assert search.cv_results_["params"] == again.cv_results_["params"]
    assert len({tuple(params.values()) for params in search.cv_results_["params"]}) == 8


@pytest.mark.long
def test_search_works_in_a_pipeline_and_in_cross_validation() -> None:
    search = AdaBKBSearchCV(Lasso(), {"alpha": loguniform(1e-3, 10)}, n_iter=8, cv=3, random_state=0)
    assert cross_val_score(make_pipeline(StandardScaler(), search), X, Y, cv=3).mean() > 0.4


@pytest.mark.filterwarnings("ignore")  # warnings for NaN scores with too many neighbors
def test_failing_candidates_are_avoided() -> None:
    space = {"n_neighbors": Int(1, 600)}
    search = AdaBKBSearchCV(KNeighborsRegressor(), space, n_iter=20, cv=2, random_state=0)
    search.fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert 0 < np.isnan(scores).sum() < 10
    assert search.best_params_["n_neighbors"] < 60


UNFIT = [1, 5, 6, 8]


class Failing(Ridge):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that cannot be fitted with some values."""

    def fit(self, X: Any, y: Any) -> Failing:
        if self.alpha in UNFIT:
            raise MemoryError(f"alpha={self.alpha} is too large")
        super().fit(X, y)
        return self


def two_scores(estimator: Ridge, X: Any, y: Any) -> dict[str, float]:
    score = estimator.score(X, y)
    return {"r2": score, "half": score / 2}


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize(("scoring", "refit"), [(None, True), ("r2", "r2"), (two_scores, "half")])
@pytest.mark.parametrize("n_jobs", [1, pytest.param(4, marks=pytest.mark.long)])
def test_results_include_candidates_that_cannot_be_fitted(n_jobs: int, scoring: Any, refit: bool | str) -> None:
    """As in a grid of the same candidates. The first and the last one are among them."""
    common: dict[str, Any] = {"cv": 3, "scoring": scoring, "refit": refit}
    with (
        pytest.warns(FitFailedWarning, match="12 fits failed out of a total of 24") as warned,
        parallel_config("threading"),
    ):
        ours = AdaBKBSearchCV(
            Failing(), {"alpha": list(range(1, 9))}, n_iter=8, random_state=0, n_jobs=n_jobs, **common
        ).fit(X, Y)
    assert sum(each.category is FitFailedWarning for each in warned) == 1
    with pytest.warns(FitFailedWarning):
        grid = GridSearchCV(Failing(), {"alpha": range(1, 9)}, **common).fit(X, Y)
    order = np.argsort([params["alpha"] for params in ours.cv_results_["params"]])
    assert {ours.cv_results_["params"][place]["alpha"] for place in (0, -1)} <= set(UNFIT)
    assert ours.cv_results_.keys() == grid.cv_results_.keys()
    for key, values in grid.cv_results_.items():
        if not key.endswith("_time"):
            np.testing.assert_equal(np.asarray(ours.cv_results_[key])[order], np.asarray(values))
    assert ours.best_params_ == grid.best_params_


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize("scoring", [None, two_scores])
def test_search_fails_like_others_if_every_fit_fails(scoring: Any) -> None:
    space = {"alpha": UNFIT}
    for search in (
        AdaBKBSearchCV(Failing(), space, n_iter=4, cv=3, scoring=scoring, refit="half"),
        GridSearchCV(Failing(), space, cv=3, scoring=scoring, refit="half"),
    ):
        with pytest.raises(ValueError, match=r"All the 12 fits failed[\s\S]*alpha=8 is too large"):
            search.fit(X, Y)


def test_estimators_can_be_choices() -> None:
    pipeline = Pipeline([("scale", StandardScaler()), ("model", Ridge())])
    scalers = [StandardScaler(), MinMaxScaler(), "passthrough"]
    space = {"scale": scalers, "model": [Ridge(), SVR()]}
    search = AdaBKBSearchCV(pipeline, space, n_iter=6, cv=2, random_state=0).fit(X, Y)
    assert {str(params["scale"]) for params in search.cv_results_["params"]} == {str(each) for each in scalers}


def test_refit_selects_one_of_several_metrics() -> None:
    metrics = ["accuracy", "roc_auc"]
    space = {"svc__C": loguniform(1e-2, 1e2)}
    model = make_pipeline(StandardScaler(), SVC())
    search = AdaBKBSearchCV(model, space, n_iter=4, cv=2, scoring=metrics, refit="roc_auc").fit(CELLS, KINDS)
    assert search.best_score_ == max(search.cv_results_["mean_test_roc_auc"])
    with pytest.raises(ValueError, match="refit must name the metric"):
        AdaBKBSearchCV(model, space, n_iter=4, cv=2, scoring=metrics, refit=False).fit(CELLS, KINDS)


def test_every_declaration_becomes_the_equivalent_axis() -> None:
    found = domain(
        {
            "uniform": uniform(2, 3),
            "loguniform": loguniform(1e-3, 10),
            "randint": randint(2, 9),
            "beta": beta(2, 5, loc=1, scale=2),
            "binom": binom(7, 0.3),
            "ascending": [1, 10, 100],
            "texts": ["a", "b"],
            "mixed": [None, 3, "x"],
            "objects": [np.sin, np.cos],
            "unordered": [3, 1, 2],
            "array": np.logspace(-2, 1, 4),
            "one": [5],
            "float": Float(0, 1, step=0.25),
            "int": Int(1, 64, log=True),
            "ordinal": Ordinal(["low", "high"]),
            "categorical": Categorical([1, 2]),
            "bool": Bool(),
            "fixed": Fixed("rbf"),
        }
    )
    assert {each.name: each for each in found.space.parameters} == {
        "uniform": FloatAxis("uniform", 2, 5),
        "loguniform": FloatAxis("loguniform", 1e-3, 10, "log"),
        "randint": IntAxis("randint", 2, 8),
        "beta": FloatAxis("beta", 1, 3),
        "binom": IntAxis("binom", 0, 7),
        "ascending": ChoiceAxis("ascending", (1, 10, 100), ordered=True),
        "texts": ChoiceAxis("texts", ("a", "b")),
        "mixed": ChoiceAxis("mixed", (None, 3, "x")),
        "objects": ChoiceAxis("objects", (0, 1)),
        "unordered": ChoiceAxis("unordered", (3, 1, 2)),
        "array": ChoiceAxis("array", tuple(np.logspace(-2, 1, 4).tolist()), ordered=True),
        "one": FixedAxis("one", 5),
        "float": StepAxis("float", 0, 1, 0.25),
        "int": IntAxis("int", 1, 64, "log"),
        "ordinal": ChoiceAxis("ordinal", ("low", "high"), ordered=True),
        "categorical": ChoiceAxis("categorical", (1, 2)),
        "bool": ChoiceAxis("bool", (False, True)),
        "fixed": FixedAxis("fixed", "rbf"),
    }
    middle = found.decode(np.full(found.space.dimension, 0.5))
    assert middle["fixed"] == "rbf"
    assert middle["one"] == 5
    assert middle["mixed"] == 3


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (norm(0, 1), ValueError, "norm has no bounds (its values are from -inf to inf); give a distribution with"),
        (poisson(3), ValueError, "poisson has no bounds (its values are from 0"),
        ([], ValueError, "param_distributions['C'] has no values"),
        (3.0, TypeError, "param_distributions['C'] must be a list of values"),
        ("linear", TypeError, "param_distributions['C'] must be a list of values"),
        (Float(2, 1), ValueError, "param_distributions['C']: high must be greater than low"),
        (Float(0, 1, log=True), ValueError, "param_distributions['C']: low must be positive on a log scale, not 0"),
        ([1.0], ValueError, "no parameter has more than one value, so there is nothing to search"),
    ],
)
def test_invalid_declarations_are_rejected_before_any_fit(given: object, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as raised:
        AdaBKBSearchCV(LogisticRegression(), {"C": given}).fit(CELLS, KINDS)
    assert says in str(raised.value)


def test_missing_scikit_learn_is_reported_with_the_package_to_install() -> None:
    program = "import sys; sys.modules['sklearn'] = None; import adabkb_integrations.sklearn"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("pip install 'adabkb-service[sklearn]'")
