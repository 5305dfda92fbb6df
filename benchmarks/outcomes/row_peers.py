"""BayBE and Optuna as peers for catalogues. Both are imported only when they run.

BayBE takes the rows as a data frame. Optuna has no catalogues: its sampler chooses either a name from a category of all
rows, or numbers, and the nearest row is evaluated. Each function calls ``measure`` with the numbers of rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import optuna
import pandas as pd

from benchmarks.functions import Array

Measure = Callable[[int], float]
"""Row -> value, to be maximised."""
Described = Mapping[str, Mapping[str, Sequence[float]]]
"""Column -> choice -> descriptors."""
VALUE = "value"


def baybe(rows: pd.DataFrame, described: Described, measure: Measure, seed: int, budget: int) -> None:
    """Search with a campaign of BayBE with its defaults. The first row is random.

    Args:
        rows: the values of the parameters in each row.
        described: the descriptors of the choices of columns that are not numbers, as they are in their table. BayBE
            leaves out those that correlate.
    """
    import torch  # noqa: PLC0415 (only this peer needs it)
    from baybe import Campaign  # noqa: PLC0415
    from baybe.objectives import SingleTargetObjective  # noqa: PLC0415
    from baybe.parameters import CustomDiscreteParameter, NumericalDiscreteParameter  # noqa: PLC0415
    from baybe.searchspace import SearchSpace  # noqa: PLC0415
    from baybe.targets import NumericalTarget  # noqa: PLC0415
    from baybe.utils.random import set_random_seed  # noqa: PLC0415

    torch.set_num_threads(1)
    set_random_seed(seed)
    parameters = [
        CustomDiscreteParameter(name, pd.DataFrame(described[name]).T)
        if name in described
        else NumericalDiscreteParameter(name, sorted(set(rows[name])))
        for name in rows.columns
    ]
    campaign = Campaign(SearchSpace.from_dataframe(rows, parameters), SingleTargetObjective(NumericalTarget(VALUE)))
    numbers = {tuple(row): number for number, row in enumerate(rows.itertuples(index=False, name=None))}
    for _ in range(budget):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that were repeated
            chosen = campaign.recommend(batch_size=1)[list(rows.columns)]
        (row,) = chosen.itertuples(index=False, name=None)
        campaign.add_measurements(chosen.assign(**{VALUE: [measure(numbers[tuple(row)])]}))


def tpe_category(count: int, measure: Measure, seed: int, budget: int) -> None:
    """Search with Optuna's TPE sampler for a category that has the names of ``count`` rows."""
    study, names = _study(seed), [f"row {row}" for row in range(count)]
    for _ in range(budget):
        trial = study.ask()
        study.tell(trial, measure(names.index(trial.suggest_categorical("row", names))))


def tpe_nearest(numbers: Array, measure: Measure, seed: int, budget: int) -> None:
    """Search with Optuna's TPE sampler for the numbers of a row. The nearest row is evaluated, with all ranges scaled
    to the same length.

    Args:
        numbers: the numbers of the rows, (rows, n).
    """
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    study, scaled = _study(seed), (numbers - low) / np.where(high > low, high - low, 1.0)
    for _ in range(budget):
        trial = study.ask()
        at = np.array([trial.suggest_float(f"number {number}", 0.0, 1.0) for number in range(scaled.shape[1])])
        study.tell(trial, measure(int(np.argmin(((scaled - at) ** 2).sum(axis=1)))))


def _study(seed: int) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(multivariate=True, seed=seed)
    return optuna.create_study(sampler=sampler, direction="maximize")
