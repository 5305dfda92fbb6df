"""Problems with conditional parameters: four artificial functions, and three choices between scikit-learn models, each
with its own parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, SVR

from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis, IntAxis, Value
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.quality.problems import Outcome, Problem, generator
from benchmarks.quality.tasks.data import breast_cancer, diabetes, digits
from benchmarks.quality.tasks.task import Task, error_rate, relative_rmse

Parameters = Mapping[str, Any]
BUDGET = 100
SEEDS = 10
BOOLEANS = (False, True)


def space(*axes: Axis, when: Mapping[str, Mapping[str, tuple[Value, ...]]]) -> Space:
    """A space with conditions: parameter -> parent -> values."""
    found = [Condition(name, parent, values) for name, needs in when.items() for parent, values in needs.items()]
    return Space(axes, conditions=tuple(found))


def unit(name: str) -> FloatAxis:
    """A real axis from 0 to 1."""
    return FloatAxis(name, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Hidden:
    """The random part of a function."""

    optimum: Array
    """Numbers in [0.15, 0.85]."""
    order: list[int]
    """A permutation."""


@dataclass(frozen=True, slots=True)
class FunctionInstance:
    """A function for one seed."""

    space: Space
    function: Callable[[Parameters, Hidden], float]
    hidden: Hidden
    noise_std: float = 0.0

    def evaluate(self, parameters: Parameters) -> Outcome:
        """The value, which is the regret: the minimum is 0."""
        value = self.function(parameters, self.hidden)
        return Outcome(value, value)


@dataclass(frozen=True, slots=True)
class ConditionalFunction:
    """A function with minimum 0 at a position that depends on the seed."""

    name: str
    space: Space
    function: Callable[[Parameters, Hidden], float]
    budget: int = BUDGET
    seeds: int = SEEDS
    is_task: bool = False

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return self.space.dimension

    def draw(self, seed: int) -> FunctionInstance:
        """The function with the optimum of this seed."""
        rng = generator(self.name, seed)
        return FunctionInstance(
            self.space, self.function, Hidden(rng.uniform(0.15, 0.85, 16), rng.permutation(4).tolist())
        )


KINDS = ("a", "b", "c", "d")
OWN = {kind: tuple(f"{kind}{i}" for i in range(k + 1)) for k, kind in enumerate(KINDS)}
BRANCHES = space(
    ChoiceAxis("kind", KINDS),
    *(unit(name) for names in OWN.values() for name in names),
    when={name: {"kind": (kind,)} for kind, names in OWN.items() for name in names},
)


def branches(parameters: Parameters, hidden: Hidden) -> float:
    """Four kinds with 1, 2, 3 and 4 parameters; at their optima they differ by 0.1 each."""
    names = [name for names in OWN.values() for name in names]
    own = OWN[parameters["kind"]]
    bowl = sum(2.0 * (parameters[name] - hidden.optimum[names.index(name)]) ** 2 for name in own)
    return float(0.1 * hidden.order[KINDS.index(parameters["kind"])] + bowl)


MAX_LAYERS = 4
LAYERS = space(
    FloatAxis("lr", 1e-5, 1e-1, "log"),
    IntAxis("layers", 1, MAX_LAYERS),
    *(IntAxis(f"units{i}", 8, 512, "log") for i in range(MAX_LAYERS)),
    when={f"units{i}": {"layers": tuple(range(i + 1, MAX_LAYERS + 1))} for i in range(1, MAX_LAYERS)},
)


def layers(parameters: Parameters, hidden: Hidden) -> float:
    """A width per layer; a wrong number of layers costs more than one width does."""
    count = parameters["layers"]
    widths = [round(8 * 64 ** hidden.optimum[i]) for i in range(count)]
    wide = sum(np.log(parameters[f"units{i}"] / widths[i]) ** 2 for i in range(count)) / 9.0
    depth = 0.1 * (count - 1 - hidden.order[0]) ** 2
    return float(depth + wide + (np.log10(parameters["lr"]) + 5.0 - 4.0 * hidden.optimum[8]) ** 2 / 4.0)


OPTIMIZERS = ("sgd", "adam", "rmsprop")
SCHEDULES = ("constant", "step", "cosine")
TRAINING = space(
    FloatAxis("lr", 1e-5, 1.0, "log"),
    ChoiceAxis("optimizer", OPTIMIZERS),
    unit("momentum"),
    ChoiceAxis("nesterov", BOOLEANS),
    unit("damping"),
    unit("beta2"),
    ChoiceAxis("schedule", SCHEDULES),
    unit("gamma"),
    unit("warmup"),
    when={
        "momentum": {"optimizer": ("sgd", "rmsprop")},
        "nesterov": {"optimizer": ("sgd",)},
        "damping": {"nesterov": (False,)},
        "beta2": {"optimizer": ("adam",)},
        "gamma": {"schedule": ("step",)},
        "warmup": {"schedule": ("cosine",), "optimizer": ("sgd", "adam")},
    },
)
REALS = ("momentum", "damping", "beta2", "gamma", "warmup")


def training(parameters: Parameters, hidden: Hidden) -> float:
    """An optimizer and a schedule; the best rate depends on the optimizer."""
    optimizer = OPTIMIZERS.index(parameters["optimizer"])
    rate = np.log10(parameters["lr"]) + 5.0 - 5.0 * hidden.optimum[optimizer]
    offset = 0.1 * hidden.order.index(optimizer) + 0.05 * SCHEDULES.index(parameters["schedule"])
    best = 0.1 * min(hidden.order.index(other) for other in range(3))
    away = [parameters[name] - hidden.optimum[8 + i] for i, name in enumerate(REALS) if name in parameters]
    reals = sum(2.0 * each**2 for each in away)
    return float(offset - best + 0.1 * rate**2 + reals + 0.05 * parameters.get("nesterov", False))


SWITCHES = 4
TOGGLES = space(
    *(ChoiceAxis(f"use{i}", BOOLEANS) for i in range(SWITCHES)),
    *(unit(f"strength{i}") for i in range(SWITCHES)),
    when={f"strength{i}": {f"use{i}": (True,)} for i in range(SWITCHES)},
)


def toggles(parameters: Parameters, hidden: Hidden) -> float:
    """Four switches with a strength each: two of them help at the right strength, two never do."""
    total = 0.0
    for i in range(SWITCHES):
        is_good = hidden.order[i] < SWITCHES // 2
        if not parameters[f"use{i}"]:
            total += 0.2 if is_good else 0.0
        else:
            away = 2.0 * (parameters[f"strength{i}"] - hidden.optimum[i]) ** 2
            total += away if is_good else 0.1 + away
    return total


def own(parameters: Parameters, prefix: str) -> dict[str, Any]:
    """The parameters of one model, without the prefix of their names."""
    return {name.removeprefix(f"{prefix}_"): each for name, each in parameters.items() if name.startswith(f"{prefix}_")}


CLASSIFIERS = space(
    ChoiceAxis("model", ("svm", "forest", "knn", "logistic")),
    FloatAxis("svm_C", 1e-3, 1e3, "log"),
    ChoiceAxis("svm_kernel", ("rbf", "poly", "linear")),
    FloatAxis("svm_gamma", 1e-5, 10.0, "log"),
    IntAxis("svm_degree", 2, 5),
    IntAxis("forest_n_estimators", 5, 100, "log"),
    IntAxis("forest_max_depth", 1, 20),
    FloatAxis("forest_max_features", 0.05, 1.0),
    IntAxis("knn_n_neighbors", 1, 30),
    ChoiceAxis("knn_weights", ("uniform", "distance")),
    FloatAxis("knn_p", 1.0, 5.0),
    FloatAxis("logistic_C", 1e-4, 1e3, "log"),
    when={
        **{name: {"model": ("svm",)} for name in ("svm_C", "svm_kernel")},
        "svm_gamma": {"svm_kernel": ("rbf", "poly")},
        "svm_degree": {"svm_kernel": ("poly",)},
        **{f"forest_{name}": {"model": ("forest",)} for name in ("n_estimators", "max_depth", "max_features")},
        **{f"knn_{name}": {"model": ("knn",)} for name in ("n_neighbors", "weights", "p")},
        "logistic_C": {"model": ("logistic",)},
    },
)
ITERATIONS = 20_000
"""Maximum number of libsvm iterations; it does not converge in parts of the space."""


def classifier(parameters: Parameters, seed: int) -> Any:
    """One of four models."""
    found = own(parameters, parameters["model"])
    match parameters["model"]:
        case "svm":
            return SVC(**found, max_iter=ITERATIONS, random_state=seed)
        case "forest":
            return RandomForestClassifier(**found, random_state=seed)
        case "knn":
            return KNeighborsClassifier(**found)
        case _:
            return LogisticRegression(**found, max_iter=200, random_state=seed)


DEEP = space(
    ChoiceAxis("model", ("mlp", "boosting", "svm")),
    IntAxis("mlp_layers", 1, 3),
    *(IntAxis(f"mlp_units{i}", 4, 64, "log") for i in (1, 2, 3)),
    FloatAxis("mlp_alpha", 1e-6, 10.0, "log"),
    ChoiceAxis("mlp_solver", ("adam", "sgd")),
    FloatAxis("mlp_momentum", 0.0, 0.99),
    FloatAxis("mlp_learning_rate_init", 1e-4, 0.3, "log"),
    FloatAxis("boosting_learning_rate", 0.005, 1.0, "log"),
    IntAxis("boosting_n_estimators", 5, 100, "log"),
    IntAxis("boosting_max_depth", 1, 6),
    FloatAxis("boosting_subsample", 0.3, 1.0),
    FloatAxis("svm_C", 1e-3, 1e3, "log"),
    FloatAxis("svm_gamma", 1e-5, 10.0, "log"),
    when={
        **{f"mlp_{name}": {"model": ("mlp",)} for name in ("layers", "alpha", "solver", "learning_rate_init")},
        "mlp_units1": {"model": ("mlp",)},
        "mlp_units2": {"mlp_layers": (2, 3)},
        "mlp_units3": {"mlp_layers": (3,)},
        "mlp_momentum": {"mlp_solver": ("sgd",)},
        **{
            f"boosting_{name}": {"model": ("boosting",)}
            for name in ("learning_rate", "n_estimators", "max_depth", "subsample")
        },
        **{f"svm_{name}": {"model": ("svm",)} for name in ("C", "gamma")},
    },
)


def deep(parameters: Parameters, seed: int) -> Any:
    """A network of one to three layers, or one of two other models."""
    found = own(parameters, parameters["model"])
    match parameters["model"]:
        case "mlp":
            widths = tuple(found.pop(f"units{i + 1}") for i in range(found.pop("layers")))
            return MLPClassifier(**found, hidden_layer_sizes=widths, max_iter=40, random_state=seed)
        case "boosting":
            return GradientBoostingClassifier(**found, random_state=seed)
        case _:
            return SVC(**found, max_iter=ITERATIONS, random_state=seed)


REGRESSORS = space(
    ChoiceAxis("model", ("linear", "kernel", "svr", "boosting", "knn")),
    FloatAxis("linear_alpha", 1e-4, 100.0, "log"),
    FloatAxis("linear_l1_ratio", 0.0, 1.0),
    FloatAxis("kernel_alpha", 1e-4, 10.0, "log"),
    FloatAxis("kernel_gamma", 1e-4, 10.0, "log"),
    ChoiceAxis("kernel_kernel", ("rbf", "laplacian")),
    FloatAxis("svr_C", 1e-2, 1e4, "log"),
    FloatAxis("svr_epsilon", 1e-2, 100.0, "log"),
    FloatAxis("boosting_learning_rate", 0.005, 1.0, "log"),
    IntAxis("boosting_n_estimators", 5, 100, "log"),
    IntAxis("boosting_max_depth", 1, 6),
    FloatAxis("boosting_subsample", 0.3, 1.0),
    IntAxis("knn_n_neighbors", 1, 50),
    ChoiceAxis("knn_weights", ("uniform", "distance")),
    when={
        name: {"model": (name.partition("_")[0],)}
        for name in (
            *("linear_alpha", "linear_l1_ratio", "kernel_alpha", "kernel_gamma", "kernel_kernel", "svr_C"),
            *("svr_epsilon", "boosting_learning_rate", "boosting_n_estimators", "boosting_max_depth"),
            *("boosting_subsample", "knn_n_neighbors", "knn_weights"),
        )
    },
)


def regressor(parameters: Parameters, seed: int) -> Any:
    """One of five models."""
    found = own(parameters, parameters["model"])
    match parameters["model"]:
        case "linear":
            return ElasticNet(**found, random_state=seed)
        case "kernel":
            return KernelRidge(**found)
        case "svr":
            return SVR(**found, max_iter=ITERATIONS)
        case "boosting":
            return GradientBoostingRegressor(**found, random_state=seed)
        case _:
            return KNeighborsRegressor(**found)


_task = partial(Task, budget=BUDGET, seeds=SEEDS)

SYNTHETIC: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        ConditionalFunction("branches", BRANCHES, branches),
        ConditionalFunction("layers", LAYERS, layers),
        ConditionalFunction("training", TRAINING, training),
        ConditionalFunction("toggles", TOGGLES, toggles),
    )
}
REAL: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        _task("digits_classifiers", CLASSIFIERS, digits, 500, 500, classifier, error_rate),
        _task("cancer_networks", DEEP, breast_cancer, 250, 150, deep, error_rate),
        _task("diabetes_regressors", REGRESSORS, diabetes, 220, 110, regressor, relative_rmse),
    )
}
