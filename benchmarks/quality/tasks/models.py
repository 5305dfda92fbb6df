"""The models of the tuning tasks and their search spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.space import Space

Parameters = Mapping[str, Any]
BOOLEANS = (False, True)

BOOSTING = Space(
    (
        FloatAxis("learning_rate", 0.005, 1.0, "log"),
        IntAxis("n_estimators", 5, 200, "log"),
        IntAxis("max_depth", 1, 6),
        FloatAxis("subsample", 0.3, 1.0),
        IntAxis("min_samples_leaf", 1, 50, "log"),
        FloatAxis("max_features", 0.1, 1.0),
    )
)


def boosting_regressor(parameters: Parameters, seed: int) -> Any:
    return GradientBoostingRegressor(**parameters, random_state=seed)


def boosting_classifier(parameters: Parameters, seed: int) -> Any:
    return GradientBoostingClassifier(**parameters, random_state=seed)


SVM = Space(
    (
        FloatAxis("C", 1e-3, 1e3, "log"),
        FloatAxis("gamma", 1e-5, 10.0, "log"),
        ChoiceAxis("kernel", ("rbf", "poly", "sigmoid")),
        FloatAxis("coef0", 0.0, 1.0),
        ChoiceAxis("balanced", BOOLEANS),
    )
)
# libsvm does not converge in parts of the space; the model is its last iterate
SVM_ITERATIONS = 20_000


def svm(parameters: Parameters, seed: int) -> Any:
    own = {name: value for name, value in parameters.items() if name != "balanced"}
    weight = "balanced" if parameters["balanced"] else None
    return SVC(**own, class_weight=weight, max_iter=SVM_ITERATIONS, random_state=seed)


_FOREST = (
    IntAxis("n_estimators", 5, 100, "log"),
    IntAxis("max_depth", 1, 20),
    FloatAxis("max_features", 0.1, 1.0),
    IntAxis("min_samples_leaf", 1, 50, "log"),
    ChoiceAxis("bootstrap", BOOLEANS),
)
FOREST_REGRESSOR = Space((*_FOREST, ChoiceAxis("criterion", ("squared_error", "absolute_error", "poisson"))))
FOREST_CLASSIFIER = Space((*_FOREST, ChoiceAxis("criterion", ("gini", "entropy"))))


def forest_regressor(parameters: Parameters, seed: int) -> Any:
    return RandomForestRegressor(**parameters, random_state=seed)


def forest_classifier(parameters: Parameters, seed: int) -> Any:
    return RandomForestClassifier(**parameters, random_state=seed)


MLP = Space(
    (
        FloatAxis("learning_rate_init", 1e-4, 0.3, "log"),
        FloatAxis("alpha", 1e-6, 10.0, "log"),
        IntAxis("hidden_layer_sizes", 4, 128, "log"),
        IntAxis("batch_size", 16, 256, "log"),
        IntAxis("max_iter", 2, 40),
        ChoiceAxis("activation", ("relu", "tanh", "logistic")),
        ChoiceAxis("solver", ("adam", "sgd")),
    )
)


def mlp(parameters: Parameters, seed: int) -> Any:
    return MLPClassifier(**parameters, random_state=seed)


LOGISTIC = Space(
    (
        FloatAxis("C", 1e-4, 1e3, "log"),
        FloatAxis("l1_ratio", 0.0, 1.0),
        IntAxis("max_iter", 5, 200, "log"),
        ChoiceAxis("fit_intercept", BOOLEANS),
        ChoiceAxis("balanced", BOOLEANS),
    )
)


def logistic(parameters: Parameters, seed: int) -> Any:
    own = {name: value for name, value in parameters.items() if name != "balanced"}
    weight = "balanced" if parameters["balanced"] else None
    return LogisticRegression(**own, solver="saga", class_weight=weight, random_state=seed)


KERNEL_RIDGE = Space(
    (
        ChoiceAxis("kernel", ("rbf", "laplacian", "sigmoid")),
        FloatAxis("gamma", 1e-4, 10.0, "log"),
        IntAxis("n_components", 10, 500, "log"),
        FloatAxis("alpha", 1e-6, 1e2, "log"),
    )
)


def kernel_ridge(parameters: Parameters, seed: int) -> Any:
    features = {name: value for name, value in parameters.items() if name != "alpha"}
    return make_pipeline(Nystroem(**features, random_state=seed), Ridge(alpha=parameters["alpha"]))
