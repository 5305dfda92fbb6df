"""Mistakes in the definition of a study and in changes to it."""

from __future__ import annotations

from typing import Any

from tests.mistakes.bench import CONDITIONAL, DEFINITION, PARAMETERS
from tests.mistakes.kinds import Defined, Mistake, Section, Sent

LR, LAYERS, KERNEL = PARAMETERS
GAMMA: dict[str, Any] = {"name": "gamma", "kind": "float", "low": 0, "high": 1}


def _one(title: str, **parameter: Any) -> Defined:
    """A study with one parameter."""
    return Defined(title, {"parameters": [parameter]})


SPACES = [
    Defined("No parameters at all", {"parameters": []}),
    Defined("Parameters by name, not in a list", {"parameters": {"lr": [0, 1]}}),
    Defined("A parameter that is only a name", {"parameters": ["lr"]}),
    Defined("Two parameters of one name", {"parameters": [LR, LAYERS, LR]}),
    Defined("Only fixed parameters", {"parameters": [{"name": "seed", "kind": "fixed", "value": 1}]}),
    _one("A parameter without a name", kind="float", low=0, high=1),
    _one("A parameter without a kind", name="lr", low=0, high=1),
    _one("A kind of another library", name="lr", kind="uniform", low=0, high=1),
    _one("A kind in capitals", name="lr", kind="Float", low=0, high=1),
    _one("A bound is missing", name="lr", kind="float", low=0),
    _one("Bounds in the wrong order", name="lr", kind="float", low=1, high=0),
    _one("Bounds that are equal", name="lr", kind="float", low=1, high=1),
    _one("Bounds that floating point cannot tell apart", name="lr", kind="float", low=1, high=1.0000000000000002),
    _one("A bound as text", name="lr", kind="float", low="0", high=1),
    _one("A log scale that begins at 0", name="lr", kind="float", low=0, high=1, scale="log"),
    _one("A log scale of negative integers", name="n", kind="int", low=-5, high=5, scale="log"),
    _one("A scale that does not exist", name="lr", kind="float", low=0.1, high=1, scale="log10"),
    _one("The log of another library", name="lr", kind="float", low=0.1, high=1, log=True),
    _one("A misspelt bound", name="lr", kind="float", low=0.1, hihg=1),
    _one("A step on a log scale", name="lr", kind="float", low=0.1, high=1, scale="log", step=0.1),
    _one("A step of 0", name="lr", kind="float", low=0, high=1, step=0),
    _one("A step larger than the range", name="n", kind="int", low=1, high=9, step=10),
    _one("A step that is too small", name="lr", kind="float", low=0, high=1, step=1e-12),
    _one("Integer bounds that are no integers", name="n", kind="int", low=0.5, high=9),
    _one("An integer bound beyond what JSON can hold", name="n", kind="int", low=0, high=10**17),
    _one("A categorical parameter without choices", name="kernel", kind="categorical", choices=[]),
    _one("A choice twice", name="kernel", kind="categorical", choices=["rbf", "linear", "rbf"]),
    _one("A choice that is an object", name="kernel", kind="categorical", choices=[{"name": "rbf"}, "linear"]),
    _one("Choices as text", name="kernel", kind="categorical", choices="rbf,linear"),
    _one("Values where choices are meant", name="kernel", kind="categorical", values=["rbf", "linear"]),
    _one("Choices where values are meant", name="size", kind="ordinal", choices=["s", "m", "l"]),
    _one("A bool with choices", name="bias", kind="bool", choices=[True, False]),
    _one("A fixed parameter without its value", name="data", kind="fixed"),
    _one("A name without characters", name="", kind="bool"),
    _one("A name of too many characters", name="x" * 201, kind="bool"),
]

CONSTRAINTS = [
    Defined("A constraint on a misspelt parameter", {"constraints": ["layers <= 4", "2 * layer <= 8"]}),
    Defined("A constraint on choices", {"constraints": ["kernel <= 1"]}),
    Defined("A constraint on nothing", {"constraints": ["1 <= 2"]}),
    Defined("A constraint that is no comparison", {"constraints": ["layers * lr"]}),
    Defined("An equality as a constraint", {"constraints": ["layers == 2"]}),
    Defined("A constraint that is cut off", {"constraints": ["layers * (lr <= 4"]}),
    Defined("Two constraints in one", {"constraints": ["layers <= 4 and lr <= 0.5"]}),
    Defined("A constraint with a function that does not exist", {"constraints": ["layers * log10(lr) <= 4"]}),
    Defined("A constraint with a power of two parameters", {"constraints": ["layers ** lr <= 4"]}),
    Defined("A constraint that is a program", {"constraints": ["__import__('os').system('ls') <= 1"]}),
    Defined("A constraint with an attribute", {"constraints": ["layers.real <= 1"]}),
    Defined("A constraint as text", {"constraints": "layers <= 4"}),
    Defined("A constraint as a bound", {"constraints": [{"parameter": "lr", "upper": 0.5}]}),
    Defined("A constraint of 0 characters", {"constraints": [" "]}),
    Defined("A constraint of too many characters", {"constraints": ["x" * 600 + " <= 1"]}),
    Defined("Too many constraints", {"constraints": ["lr <= 0.5"] * 21}),
    Defined(
        "Constraints that contradict each other", {"constraints": ["layers >= 4", "lr <= 0.5", "layers + lr <= 3"]}
    ),
    Defined("A constraint that no value satisfies", {"constraints": ["lr >= 2"]}),
    Defined(
        "Constraints that leave too little of the space", {"constraints": ["0.5 <= lr * sqrt(layers + lr) <= 0.5"]}
    ),
    Defined(
        "Constraints for an algorithm that cannot keep them",
        {"constraints": ["lr <= 0.5"], "algorithm": {"profile": "paper"}},
    ),
]

CONDITIONS = [
    Defined("A condition on a misspelt parameter", {"parameters": [KERNEL, {**GAMMA, "when": {"kernal": ["rbf"]}}]}),
    Defined("A condition on the parameter itself", {"parameters": [{**KERNEL, "when": {"kernel": ["rbf"]}}]}),
    Defined("A condition on a real parameter", {"parameters": [LR, {**GAMMA, "when": {"lr": [0.1]}}]}),
    Defined("A condition on a wrong value", {"parameters": [KERNEL, {**GAMMA, "when": {"kernel": ["poly"]}}]}),
    Defined("A condition without its list", {"parameters": [KERNEL, {**GAMMA, "when": {"kernel": "rbf"}}]}),
    Defined("A condition of no values", {"parameters": [KERNEL, {**GAMMA, "when": {"kernel": []}}]}),
    Defined("A condition as text", {"parameters": [KERNEL, {**GAMMA, "when": "kernel == 'rbf'"}]}),
    Defined(
        "Conditions in a circle",
        {"parameters": [{**KERNEL, "when": {"layers": [1]}}, {**LAYERS, "when": {"kernel": ["rbf"]}}, LR]},
    ),
    Defined(
        "Conditions that exclude each other",
        {
            "parameters": [
                KERNEL,
                {**LAYERS, "when": {"kernel": ["rbf"]}},
                {**GAMMA, "when": {"layers": [2], "kernel": ["linear"]}},
            ]
        },
    ),
    Defined(
        "Conditions together with constraints",
        {"parameters": [LR, *CONDITIONAL], "constraints": ["lr <= 0.5"]},
    ),
    Defined("Conditions under another profile", {"parameters": CONDITIONAL, "algorithm": {"profile": "paper"}}),
]

PRIOR = {"lr": {"around": 0.1, "factor": 2}}
PRIORS = [
    Defined("A prior on a misspelt parameter", {"prior": {"layer": {"around": 2, "width": 1}}}),
    Defined("A prior without its width", {"prior": {"layers": {"around": 2}}}),
    Defined("A prior that is a number", {"prior": {"lr": 0.1}}),
    Defined("A width on a log scale", {"prior": {"lr": {"around": 0.1, "width": 0.05}}}),
    Defined("A factor on a linear scale", {"prior": {"layers": {"around": 2, "factor": 2}}}),
    Defined("A factor of 1", {"prior": {"lr": {"around": 0.1, "factor": 1}}}),
    Defined("A prior outside of the bounds", {"prior": {"lr": {"around": 10, "factor": 2}}}),
    Defined("A prior that is almost a point", {"prior": {"layers": {"around": 2, "width": 0.001}}}),
    Defined("Weights for a number", {"prior": {"layers": {"weights": {"2": 3}}}}),
    Defined("A number for choices", {"prior": {"kernel": {"around": 1}}}),
    Defined("A weight for a choice that there is not", {"prior": {"kernel": {"weights": {"poly": 3}}}}),
    Defined("A weight of 0", {"prior": {"kernel": {"weights": {"linear": 0}}}}),
    Defined(
        "A prior under another profile",
        {"prior": {"lr": {"around": 0.1, "factor": 2}}, "algorithm": {"profile": "paper"}},
    ),
]

OLDER: list[Mistake] = [
    Defined("An older study that does not exist", {"transfer_from": ["swm"]}),
    Defined("An older study with too few results", {"transfer_from": ["svm"]}),
    Defined("An older study of other parameters", {"transfer_from": ["net"]}),
    Defined("An older study with several objectives", {"transfer_from": ["trade"]}),
    Defined("An older study twice", {"transfer_from": ["svm", "svm"]}),
    Defined("Six older studies", {"transfer_from": ["a", "b", "c", "d", "e", "f"]}),
    Defined("An older study that is no list", {"transfer_from": "svm"}),
    Defined("An older study together with a prior", {"transfer_from": ["svm"], "prior": PRIOR}),
    Defined("An older study under another profile", {"transfer_from": ["svm"], "algorithm": {"profile": "paper"}}),
]

COSTS: list[Mistake] = [
    Defined("A budget of cost without a cost", {"budget": {"cost": 60}}),
    Defined("Suggestions per cost without a cost", {"per_cost": True}),
    Defined("A cost that is a number", {"cost": 3}),
    Defined("A budget of cost that is 0", {"cost": "told", "budget": {"cost": 0}}),
    Defined("A budget of seconds", {"cost": "measured", "budget": {"seconds": 60}}),
    Defined("Costs under another profile", {"cost": "told", "algorithm": {"profile": "paper"}}),
    Defined(
        "Costs together with early stopping", {"cost": "told", "early_stopping": {"rule": "median", "max_steps": 9}}
    ),
    Defined(
        "Suggestions per cost under an outcome constraint",
        {"cost": "told", "per_cost": True, "outcome_constraints": [{"metric": "size", "upper": 1}]},
    ),
    Sent("A cost in a study that has none", "POST /v1/studies/svm/observe", {"trial": 2, "value": 0.5, "cost": 3}),
]

SETTINGS = [
    Defined("No direction", {"direction": ...}),
    Defined("A direction that does not exist", {"direction": "max"}),
    Defined("An id with a space", {"id": "my study"}),
    Defined("An id that begins with a dot", {"id": ".svm"}),
    Defined("A misspelt budget", {"bugdet": 3}),
    Defined("A field in capitals", {"Seed": 1}),
    Defined("A field that is nowhere", {"n_jobs": 4}),
    Defined("A field of another library", {"n_trials": 100}),
    Defined("A budget of 0", {"budget": 0}),
    Defined("A budget as text", {"budget": "60"}),
    Defined("A budget with a fraction", {"budget": 1.5}),
    Defined("A budget that is a truth value", {"budget": True}),
    Defined("A budget that is too large", {"budget": 10**12}),
    Defined("A negative seed", {"seed": -1}),
    Defined("A noise of 0", {"noise_std": 0}),
    Defined("A negative tolerance", {"tolerance": -0.1}),
    Defined("A lease of 0 seconds", {"lease_seconds": 0}),
    Defined("A lease of a year", {"lease_seconds": 31_536_000}),
    Defined("No attempts", {"max_attempts": 0}),
    Defined("Tags as a list", {"tags": ["vision"]}),
    Defined("A tag that is no text", {"tags": {"run": 3}}),
    Defined("A stop rule without a rule", {"stop": {}}),
    Defined("Early stopping without a rule", {"early_stopping": {"max_steps": 81}}),
    Defined("Early stopping by a rule that there is not", {"early_stopping": {"rule": "hyperband", "max_steps": 81}}),
    Defined("Early stopping without the steps of a full evaluation", {"early_stopping": {"rule": "asha"}}),
    Defined(
        "Early stopping that leaves no step to stop at",
        {"early_stopping": {"rule": "asha", "max_steps": 9, "min_steps": 9}},
    ),
    Defined(
        "A field of another rule in early stopping", {"early_stopping": {"rule": "median", "max_steps": 9, "eta": 3}}
    ),
    Defined(
        "Early stopping that only auto has",
        {"algorithm": {"profile": "paper"}, "early_stopping": {"rule": "asha", "max_steps": 81}},
    ),
    Defined("A misspelt stop rule", {"stop": {"no_gain": 10}}),
    Defined("A probability above 1", {"stop": {"probability_of_gain_below": 5}}),
    Defined(
        "A stop rule that only auto has",
        {"algorithm": {"profile": "paper"}, "stop": {"probability_of_gain_below": 0.1}},
    ),
    Defined("An algorithm as text", {"algorithm": "gp-ucb"}),
    Defined("An algorithm that does not exist", {"algorithm": {"kind": "gp-usb"}}),
    Defined("A profile that does not exist", {"algorithm": {"profile": "fast"}}),
    Defined("A system as a profile", {"algorithm": {"profile": "gp-ucb"}}),
    Defined("A profile as a kind", {"algorithm": {"kind": "auto"}}),
    Defined("A constant that auto learns", {"algorithm": {"norm_bound": 2}}),
    Defined("A misspelt constant", {"algorithm": {"profile": "paper", "lenghtscale": 0.2}}),
    Defined("A delta of 1", {"algorithm": {"delta": 1}}),
    Defined("A negative lengthscale", {"algorithm": {"kind": "gp-ucb", "lengthscale": -1}}),
    Defined("Lengthscales for other parameters", {"algorithm": {"profile": "paper", "lengthscale": [1, 2]}}),
    Defined("A beta of the literature", {"algorithm": {"kind": "gp-ucb", "beta": "igp"}}),
    Defined("A grid that no machine holds", {"algorithm": {"kind": "gp-ucb", "points_per_axis": 10_000}}),
    Defined("gp-threds on a space with choices", {"algorithm": {"kind": "gp-threds", "lowest": 0, "highest": 1}}),
    Defined(
        "gp-threds with bounds in the wrong order", {"algorithm": {"kind": "gp-threds", "lowest": 1, "highest": 0}}
    ),
]

CHANGES: list[Mistake] = [
    Defined("The same id with another space", {"id": "svm", "parameters": [LR, {**LAYERS, "high": 9}, KERNEL]}),
    Defined("The same id with another direction", {"id": "svm", "direction": "minimize"}),
    Defined("The same id with another budget", {"id": "svm", "budget": 40}),
    Defined("The same id without a parameter", {"id": "svm", "parameters": [LR, LAYERS]}),
    Defined("The same id with constraints", {"id": "svm", "constraints": ["lr <= 0.5"]}),
    Sent("A change of what cannot be changed", "PATCH /v1/studies/svm", {"direction": "minimize"}),
    Sent(
        "An edit that adds a parameter without saying what it was",
        "PATCH /v1/studies/svm",
        {"parameters": [GAMMA]},
    ),
    Sent(
        "An edit with a default that is none",
        "PATCH /v1/studies/svm",
        {"parameters": [GAMMA], "defaults": {"gamma": 7}},
    ),
    Sent(
        "A default of a parameter that is not edited",
        "PATCH /v1/studies/svm",
        {"parameters": [{**LAYERS, "high": 9}], "defaults": {"lr": 0.1}},
    ),
    Sent(
        "An edit of a space that its system needs as it is",
        "PATCH /v1/studies/paper",
        {"parameters": [{**LAYERS, "high": 9}]},
    ),
    Sent("A misspelt field in a change", "PATCH /v1/studies/svm", {"budgte": 30}),
    Sent("A state that cannot be set", "PATCH /v1/studies/svm", {"state": "complete"}),
    Sent("A limit that cannot be taken away", "PATCH /v1/studies/svm", {"max_attempts": None}),
    Sent("A change that is no number", "PATCH /v1/studies/svm", {"budget": "more"}),
    Sent(
        "A stop rule that the study's profile has not",
        "PATCH /v1/studies/paper",
        {"stop": {"probability_of_gain_below": 0.1}},
    ),
]

_WHOLE = ", ".join(f"`{name}`" for name in DEFINITION)
SECTIONS: list[Section] = [
    ("Definitions: the space", f"Only the wrong fields are shown; the others ({_WHOLE}) are those of `svm`.", SPACES),
    ("Definitions: constraints", "Again only the wrong fields are shown.", CONSTRAINTS),
    ("Definitions: conditions", "The same again.", CONDITIONS),
    ("Definitions: a prior on the optimum", "The same again.", PRIORS),
    ("Definitions: older studies", "The same again.", OLDER),
    ("Definitions: cost", "The same again.", COSTS),
    ("Definitions: settings and algorithm", "Again only the wrong fields are shown.", SETTINGS),
    ("Definitions: studies that exist", "The limits of a study can be changed, and its space edited.", CHANGES),
]
