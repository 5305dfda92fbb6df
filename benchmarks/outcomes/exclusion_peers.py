"""BayBE and Optuna as peers for excluded combinations. Both are imported only when they run.

The arguments describe the space: ``choices`` are the values of each parameter, ``pair`` the two parameters of the
excluded pairs, and ``allowed`` the values of the second one that each value of the first one may have. ``measure``
returns the value of an allowed combination, to be maximised.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence

import optuna
import pandas as pd

from adabkb_service.engine.axes import Value

Choices = Mapping[str, Sequence[Value]]
Allowed = Mapping[Value, Sequence[Value]]
Measure = Callable[[Mapping[str, Value]], float]
VALUE = "value"


def baybe(
    choices: Choices,
    numbers: Collection[str],
    pair: tuple[str, str],
    allowed: Allowed,
    measure: Measure,
    seed: int,
    budget: int,
) -> None:
    """Search with a campaign of BayBE with its defaults. The first combination is random.

    Args:
        numbers: the parameters whose values are numbers.
    """
    import torch  # noqa: PLC0415 (only this peer needs it)
    from baybe import Campaign  # noqa: PLC0415
    from baybe.constraints import DiscreteExcludeConstraint, SubSelectionCondition  # noqa: PLC0415
    from baybe.objectives import SingleTargetObjective  # noqa: PLC0415
    from baybe.parameters import CategoricalParameter, NumericalDiscreteParameter  # noqa: PLC0415
    from baybe.searchspace import SearchSpace  # noqa: PLC0415
    from baybe.targets import NumericalTarget  # noqa: PLC0415
    from baybe.utils.random import set_random_seed  # noqa: PLC0415

    torch.set_num_threads(1)
    set_random_seed(seed)
    parameters = [
        (NumericalDiscreteParameter if name in numbers else CategoricalParameter)(name, list(values))
        for name, values in choices.items()
    ]
    constraints = [
        DiscreteExcludeConstraint(list(pair), [SubSelectionCondition([value]), SubSelectionCondition(excluded)])
        for value, partners in allowed.items()
        if (excluded := [other for other in choices[pair[1]] if other not in partners])
    ]
    space = SearchSpace.from_product(parameters, constraints)
    campaign = Campaign(space, SingleTargetObjective(NumericalTarget(VALUE)))
    for _ in range(budget):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that were repeated
            chosen: pd.DataFrame = campaign.recommend(batch_size=1)[list(choices)]
        (point,) = chosen.to_dict("records")
        campaign.add_measurements(chosen.assign(**{VALUE: [measure({str(k): v for k, v in point.items()})]}))


def tpe_dependent(
    choices: Choices, pair: tuple[str, str], allowed: Allowed, measure: Measure, seed: int, budget: int
) -> None:
    """Search with Optuna's TPE sampler. The second parameter of the pair has a name of its own for each value of the
    first one, because Optuna refuses a category whose choices change."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(multivariate=True, group=True, seed=seed)
    study, (first, second) = optuna.create_study(sampler=sampler, direction="maximize"), pair
    for _ in range(budget):
        trial = study.ask()
        point = {name: trial.suggest_categorical(name, values) for name, values in choices.items() if name != second}  # type: ignore[arg-type]
        partners = allowed[point[first]]
        point[second] = trial.suggest_categorical(f"{second} with {point[first]}", partners)  # type: ignore[arg-type]
        study.tell(trial, measure(point))
