"""Results of earlier searches, for a new one."""

from __future__ import annotations

from collections.abc import Sequence

from adabkb_integrations.domain import Domain
from adabkb_integrations.earlier import MIN_RESULTS, snapshot
from adabkb_integrations.inprocess.measured import SIGNS, Measurements
from adabkb_integrations.inprocess.trials import Evaluated, Found
from adabkb_integrations.model import Position
from adabkb_service.engine.older import Older, holds


def older_of(searches: Sequence[Found], domain: Domain, measured: Measurements) -> tuple[Older, ...]:
    """Return the results of earlier searches in the space of a new one: for each search, one entry per objective of the
    new one that it has measured.

    Raises:
        TypeError: an earlier search is not the result of ``minimize`` or ``maximize``.
        ValueError: an earlier search has no parameter or objective in common with the new one, or too few results in
            the space of the new one.
    """
    if isinstance(searches, Found):
        raise TypeError("transfer_from must be a list of results of earlier searches, such as [found]")
    return tuple(each for index, found in enumerate(searches) for each in _of(index, found, domain, measured))


def _of(index: int, found: Found, domain: Domain, measured: Measurements) -> list[Older]:
    where = f"transfer_from[{index}]"
    if not isinstance(found, Found):
        raise TypeError(f"{where} must be what minimize or maximize has returned, not {found!r}")
    axes = domain.space.axes
    names = {name for trial in found.trials for name in trial.parameters}
    shared = tuple(k for k, axis in enumerate(axes) if axis.name in names)
    if not shared:
        raise ValueError(f"{where} has no parameter in common with this search; leave it out, or use the same names")
    done = [trial for trial in found.trials if trial.state == "completed"]
    goals = [metric for metric in measured.metrics if metric.goal]
    sources: list[tuple[str | None, list[tuple[Evaluated, float]]]] = [
        (goal.name, [(each, goal.sign * each.metrics[goal.name]) for each in done if goal.name in (each.metrics or {})])  # type: ignore[index]
        for goal in goals
    ] or [(None, [(each, SIGNS[found.direction] * each.value) for each in done if each.value is not None])]
    sources = [(name, results) for name, results in sources if results]
    if not sources:
        raise ValueError(f"{where} measures none of the objectives of this search; leave it out")
    return [_snapshot(f"{where}", name, results, shared, domain) for name, results in sources]


def _snapshot(
    where: str, metric: str | None, results: list[tuple[Evaluated, float]], shared: tuple[int, ...], domain: Domain
) -> Older:
    placed = [
        (position, value) for trial, value in results if (position := _position(trial, shared, domain)) is not None
    ]
    if len(placed) < MIN_RESULTS:
        raise ValueError(
            f"{where} has too few results within the space of this search ({len(placed)}, and {MIN_RESULTS} are "
            "needed); leave it out, or widen the space"
        )
    return snapshot(where, metric, placed, shared)


def _position(trial: Evaluated, shared: tuple[int, ...], domain: Domain) -> Position | None:
    """Return the position of a trial along the shared axes, in the middle along inactive ones; None if the trial is
    outside the range of any of them."""
    values, axes, rest = domain.to_engine_or_none(trial.parameters), domain.space.axes, domain.space.activity.rest
    if values is None or not all(holds(axes[k], values[axes[k].name]) for k in shared if axes[k].name in values):
        return None
    found = (axes[k].encode(values[axes[k].name]) if axes[k].name in values else float(rest[k]) for k in shared)
    return tuple(min(max(each, 0.0), 1.0) for each in found)
