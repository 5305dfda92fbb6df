"""Convert whole studies between Optuna and a server, with their results."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Any, Unpack

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from adabkb_client import (
    Bool,
    Categorical,
    Client,
    Direction,
    Fixed,
    Float,
    Int,
    Observation,
    Parameter,
    Study,
    StudySettings,
    Trial,
)

log = logging.getLogger("adabkb_client")

ATTRIBUTE = "adabkb:"
"""Prefix of the names of user attributes for data without a field in Optuna."""
TOLERANCE = Decimal("1e-6")
"""The last value of a stepped range may exceed its upper end by this share of a step, because of rounding."""


def to_server(optuna_study: optuna.Study, client: Client, id: str, **settings: Unpack[StudySettings]) -> Study:
    """Create a study on a server from an Optuna study. Its complete trials become results and its failed ones failures,
    which do not count towards the budget.

    The call may be repeated: an existing study is opened, and each trial is stored once. Trials that were pruned,
    violate a constraint, or failed before all their parameters were known are skipped; the logger "adabkb_client"
    warns about invalid ones, such as those with infinite values.

    Args:
        optuna_study: a study with one objective, whose complete trials have the same parameters with the same ranges.
        client: the client of the server.
        id: the id on the server.
        settings: see ``Client.create_study``.

    Returns:
        The study on the server.

    Raises:
        ValueError: the study has several objectives or no complete trial, or its trials differ in their parameters or
            ranges; the message says which trials can be imported.
        Conflict: a study with this id and another definition exists.
    """
    if len(optuna_study.directions) > 1:
        raise ValueError(
            f"only a study with one objective can be imported, but this one has {len(optuna_study.directions)}"
        )
    complete = optuna_study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if not complete:
        raise ValueError("the study has no complete trial, so its parameters are unknown; use create_study()")
    _check_alike(complete)
    parameters = {name: _parameter(each) for name, each in complete[0].distributions.items()}
    direction: Direction = "minimize" if optuna_study.direction == optuna.study.StudyDirection.MINIMIZE else "maximize"
    study = client.create_study(id, parameters, direction=direction, **settings)
    report = study.import_results(optuna_study)
    log.log(logging.WARNING if report.errors else logging.INFO, "%s", report)
    return study


def to_optuna(
    study: Study, *, storage: str | optuna.storages.BaseStorage | None = None, study_name: str | None = None
) -> optuna.Study:
    """Create an Optuna study with all results of a study on a server, and with its failed trials, in their order.

    Each result is a complete trial, even if a trial of the server has several. Excluded results, and those outside an
    edited space, are skipped. User attributes are those of the trial, plus ``adabkb:trial`` and ``adabkb:std_error``,
    its number on the server and the standard error, and for failed trials ``adabkb:reason``. Ordered values become
    choices without an order, and a choice that is a list becomes its JSON.

    Args:
        study: the study on the server.
        storage: an Optuna storage; None keeps the study in memory.
        study_name: its name in the storage; by default the id on the server.

    Raises:
        ValueError: the storage already has a study with this name.
    """
    info = study.info()
    distributions = {each["name"]: _distribution(each) for each in info.parameters}
    name = study_name or study.id
    try:
        made = optuna.create_study(study_name=name, storage=storage, direction=info.direction)
    except optuna.exceptions.DuplicatedStudyError as error:
        raise ValueError(f"the storage has a study {name!r} already; give another study_name=...") from error
    trials = {trial.number: trial for trial in study.trials()}
    results = [_completed(each, trials.get(each.trial or 0), distributions) for each in _included(study)]
    failures = list(_failures(trials.values(), distributions))
    made.add_trials(sorted([*results, *failures], key=_end))
    return made


def _check_alike(trials: Sequence[FrozenTrial]) -> None:
    """Refuse trials that differ in their parameters or ranges."""
    groups = Counter(tuple(sorted(trial.params)) for trial in trials)
    if len(groups) > 1:
        shown = "; ".join(f"{count} have {', '.join(names) or 'none'}" for names, count in groups.most_common())
        raise ValueError(
            "this study requests some parameters conditionally, but its trials do not contain the conditions: of "
            f"{len(trials)} complete trials {shown}. Create the study on the server with client.create_study() and "
            "conditions such as Float(0, 1, when={'optimizer': ['sgd']}), then call study.import_results(optuna_study)"
        )
    for name in trials[0].params:
        ranges = list(dict.fromkeys(str(trial.distributions[name]) for trial in trials))
        if len(ranges) > 1:
            raise ValueError(
                f"a parameter of a study on a server has one range, but {name!r} has {len(ranges)} in this study: "
                f"{' and '.join(ranges)}. To import the trials of one range, copy them to another study with "
                f"optuna.create_study() and add_trials(), and give that study"
            )


def _parameter(distribution: BaseDistribution) -> Parameter:
    """Return the parameter of a study that corresponds to a distribution."""
    match distribution:
        case CategoricalDistribution(choices=[choice]):
            return Fixed(choice)
        case CategoricalDistribution(choices=choices):
            is_bool = len(choices) == 2 and all(isinstance(choice, bool) for choice in choices)
            return Bool() if is_bool else Categorical(choices)
        case FloatDistribution() | IntDistribution() if distribution.single():
            return Fixed(distribution.low)
        case FloatDistribution():
            return Float(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
        case IntDistribution():
            return Int(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
        case _:
            raise ValueError(f"{distribution} is not a distribution that a study on a server supports")


def _distribution(parameter: Mapping[str, Any]) -> BaseDistribution:
    """Return the distribution of a study's parameter (as JSON). If a step does not reach ``high``, the last value
    replaces it, as in Optuna, which does not support steps on a log scale."""
    is_log = parameter.get("scale") == "log"
    match parameter["kind"]:
        case "float":
            low, high, width = parameter["low"], parameter["high"], parameter.get("step")
            return FloatDistribution(low, high if width is None else _last(low, high, width), log=is_log, step=width)
        case "int":
            low, high, step = parameter["low"], parameter["high"], parameter.get("step", 1)
            if is_log:
                return IntDistribution(low, high, log=True)
            return IntDistribution(low, int(_last(low, high, step)), step=step)
        case "bool":
            return CategoricalDistribution((False, True))
        case "fixed":
            return CategoricalDistribution((_choice(parameter["value"]),))
        case kind:
            choices = parameter["values" if kind == "ordinal" else "choices"]
            return CategoricalDistribution(tuple(map(_choice, choices)))


def _last(low: float, high: float, step: float) -> float:
    """Return the last of low, low + step, ... up to high, computed in decimal."""
    first, width = Decimal(repr(low)), Decimal(repr(step))
    return float(first + int((Decimal(repr(high)) - first) / width + TOLERANCE) * width)


def _choice(value: Any) -> Any:
    """Return a choice in the form that Optuna stores; a list becomes its JSON."""
    return json.dumps(value) if isinstance(value, list | tuple) else value


def _included(study: Study) -> Iterator[Observation]:
    return (each for each in study.observations() if each.counts)


def _completed(result: Observation, trial: Trial | None, distributions: Mapping[str, BaseDistribution]) -> FrozenTrial:
    notes = {"trial": result.trial, "std_error": result.std_error}
    made = create_trial(
        value=result.value,
        params={name: _choice(value) for name, value in result.parameters.items()},
        distributions={name: distributions[name] for name in result.parameters},  # the active parameters
        user_attrs={**(trial.attributes if trial else {}), **_noted(notes)},
    )
    return _timed(made, trial.started_at if trial else None, result.observed_at)


def _failures(trials: Iterable[Trial], distributions: Mapping[str, BaseDistribution]) -> Iterator[FrozenTrial]:
    """Yield the failed trials inside the current space."""
    for trial in trials:
        if trial.state == "failed":
            with suppress(ValueError):  # a value outside its distribution
                yield _failed(trial, distributions)


def _failed(trial: Trial, distributions: Mapping[str, BaseDistribution]) -> FrozenTrial:
    made = create_trial(
        state=TrialState.FAIL,
        params={name: _choice(value) for name, value in trial.parameters.items()},
        distributions={name: distributions[name] for name in trial.parameters},
        user_attrs={**trial.attributes, **_noted({"trial": trial.number, "reason": trial.reason})},
    )
    return _timed(made, trial.started_at, trial.finished_at or trial.created_at)


def _noted(notes: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{ATTRIBUTE}{name}": value for name, value in notes.items() if value is not None}


def _timed(trial: FrozenTrial, start: datetime | None, end: datetime) -> FrozenTrial:
    """Return the trial with its times, which are in local time in Optuna."""
    trial.datetime_start, trial.datetime_complete = _local(start or end), _local(end)
    return trial


def _local(time: datetime) -> datetime:
    return time.astimezone().replace(tzinfo=None)


def _end(trial: FrozenTrial) -> datetime:
    assert trial.datetime_complete is not None
    return trial.datetime_complete
