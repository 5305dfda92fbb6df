"""Rules that end a search before its budget is used up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, SupportsFloat

from adabkb_client import Stop
from adabkb_client._values import finite
from adabkb_integrations.inprocess.measured import Measurements
from adabkb_integrations.inprocess.numbers import at_least
from adabkb_integrations.model import Model
from adabkb_service.engine import ending
from adabkb_service.engine.ending import STOP_RULES, EndReason, StopRule

Rules = Mapping[str, Any]
"""The rules of ``stop`` and ``tolerance``, as far as they are given."""
NEED_GAP = {"tolerance", *(name for name, rule in STOP_RULES.items() if rule.needs_gap)}
"""The rules that need the gap."""
OTHERS = " or ".join(name for name in STOP_RULES if name not in NEED_GAP)
"""The rules that every search may have, for errors."""
EXAMPLE = '{"no_gain_for": 20}'


def rules_of(
    stop: Stop | None,
    tolerance: SupportsFloat | None,
    measured: Measurements,
    *,
    has_context: bool,
    has_model: bool,
) -> Rules:
    """Return the rules of a search.

    Raises:
        TypeError: ``stop`` is not a dict of rules.
        ValueError: a number is out of its range, or the search cannot have the rule.
    """
    if stop is not None and (not isinstance(stop, Mapping) or not stop or stop.keys() - STOP_RULES.keys()):
        raise TypeError(f"stop must be a dict of rules ({', '.join(STOP_RULES)}), such as {EXAMPLE}, not {stop!r}")
    given: Mapping[str, Any] = stop or {}
    rules = {name: _number(f"stop[{name!r}]", given[name], rule) for name, rule in STOP_RULES.items() if name in given}
    if tolerance is not None:
        rules["tolerance"] = finite("tolerance", tolerance)
        if rules["tolerance"] < 0:
            raise ValueError(f"tolerance must be 0 or more, not {rules['tolerance']}")
    if rules and has_context:
        name = "stop" if stop else "tolerance"
        raise ValueError(
            f"{name} cannot be combined with context parameters, since results of different contexts cannot be "
            "compared; use the budget"
        )
    for name in rules.keys() & NEED_GAP:
        if measured.has_several:
            raise ValueError(f"{name} cannot be combined with several objectives, which have no gap; use {OTHERS}")
        if not has_model:
            raise ValueError(f'{name} requires the algorithm {{"profile": "auto"}}; use {OTHERS}')
    return rules


def _number(name: str, given: Any, rule: StopRule) -> float:
    """Return the number of a rule.

    Raises:
        TypeError: it is not a number.
        ValueError: it is out of range.
    """
    if rule.number == "count":
        return at_least(name, given, 1)
    number = finite(name, given)
    if not 0 < number < 1:
        raise ValueError(f"{name} must be between 0 and 1, not {number}")
    return number


def reason_to_end(
    rules: Rules, model: Model, since_best: int, *, is_used_up: bool, has_several: bool
) -> EndReason | Literal["converged"] | None:
    """Return why a search ends after a trial; None if it continues.

    Args:
        rules: the rules of the search.
        model: the model of the results so far.
        since_best: the number of results after the best one.
        is_used_up: whether the budget is used up.
        has_several: whether there are several objectives, so that the hypervolume must grow instead.
    """
    gap, gap_share = model.gap if rules.keys() & NEED_GAP else (None, None)
    if ending.is_converged(gap, rules.get("tolerance")):
        return "converged"
    since_gain = (model.results_since_gain or 0) if has_several and rules else since_best
    return ending.reason_to_end(
        is_used_up=is_used_up, is_exhausted=False, rules=rules, since_gain=since_gain, gap_share=gap_share
    )
