"""The best result of a study: which results count, how two results compare, and the best of a draft's results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sqlalchemy import Connection

from adabkb_service.contract.metrics import Metrics, is_decided, metrics_of, total_violation, violations
from adabkb_service.contract.stored import StoredDefinition, is_edited
from adabkb_service.storage import observations
from adabkb_service.storage.columns import BestResult
from adabkb_service.storage.rows import ObservationRow, StudyRow

Changed = Mapping[int, ObservationRow]
"""New or changed observations of a draft, by number."""


def counting(study: StudyRow, definition: StoredDefinition) -> Callable[[ObservationRow], bool]:
    """Return a predicate for the observations that count: not excluded, and inside the current space."""
    if not is_edited(study.definition):
        return lambda row: not row.excluded
    space = definition.space()
    return lambda row: not row.excluded and space.present(row.parameters) is not None


def best_of(study: StudyRow, definition: StoredDefinition, rows: Iterable[ObservationRow]) -> ObservationRow | None:
    """Return the best of the observations that count and can be compared (``decided``); in a tie, the earliest. None if
    there is none, and in a study with several objectives."""
    if has_several_objectives(study):
        return None
    return max(
        filter(decided(study), filter(counting(study, definition), rows)),
        key=lambda row: (rank(study, row.value, row.metrics), -row.seq),
        default=None,
    )


def decided(study: StudyRow) -> Callable[[ObservationRow], bool]:
    """Return a predicate for the observations that can be compared: they have a value, and each metric with bounds."""
    metrics = metrics_of(study.definition)
    return lambda row: is_decided(metrics, row.value, row.metrics)


def as_best(study: StudyRow, definition: StoredDefinition, row: ObservationRow | None) -> BestResult | None:
    """Return an observation as stored in the column ``studies.best``; None without an observation."""
    if row is None:
        return None
    assert row.value is not None, "a result without a value cannot be the best one"
    point = row.parameters
    if is_edited(study.definition):
        point = definition.space().present(point) or point
    best: BestResult = {"parameters": point, "value": row.value, "trial": row.trial}
    if row.metrics is None:
        return best
    beyond = violations(metrics_of(study.definition), row.metrics)
    return {**best, "metrics": row.metrics, "feasible": not beyond, "violations": beyond}


def rank(study: StudyRow, value: float | None, metrics: Metrics | None) -> tuple[float, float]:
    """Return a sort key, larger for the better of two results (Deb 2000). Results that satisfy the outcome constraints
    precede those that violate them. Feasible results compare by value, infeasible ones by total violation."""
    violation = 0.0 if metrics is None else total_violation(metrics_of(study.definition), metrics)
    return -violation, merit(study, value)


def has_several_objectives(study: StudyRow) -> bool:
    """Return whether the study has several objectives, so no single result is the best one."""
    return bool(study.definition.get("objectives"))


def merit(study: StudyRow, value: float | None) -> float:
    """Return the value, negated if the study minimizes."""
    assert value is not None, "the value is missing, although there is one objective"
    return value if study.definition["direction"] == "maximize" else -value


def stored_best(
    connection: Connection, study: StudyRow, definition: StoredDefinition, changed: Changed
) -> ObservationRow | None:
    """Return the best of a draft's observations that count, stored or changed; the first one in a tie. With outcome
    constraints or an edited space, no query can find the best one, so all observations are read."""
    if "outcome_constraints" in study.definition or is_edited(study.definition):
        return best_of(study, definition, _every(connection, study, changed))
    maximize = study.definition["direction"] == "maximize"
    other = observations.best(connection, study.id, maximize=maximize, without=list(changed))
    return best_of(study, definition, [*changed.values(), *([] if other is None else [other])])


def stored_counting_after(
    connection: Connection, study: StudyRow, definition: StoredDefinition, changed: Changed, seq: int
) -> int:
    """Return how many of a draft's observations count and have a number larger than ``seq``."""
    if is_edited(study.definition):
        return sum(row.seq > seq for row in filter(counting(study, definition), _every(connection, study, changed)))
    others = observations.counting_after(connection, study.id, seq, without=list(changed))
    return others + sum(row.seq > seq and not row.excluded for row in changed.values())


def _every(connection: Connection, study: StudyRow, changed: Changed) -> list[ObservationRow]:
    return [row for _, row in sorted({**observations.every(connection, study.id), **changed}.items())]
