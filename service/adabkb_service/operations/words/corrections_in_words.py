"""Describe what a correction changed, for the pages of trials and results, and for reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from adabkb_service.contract.quantities import OBJECTIVE, UNNAMED, Quantity, in_points
from adabkb_service.operations.words.values_in_words import shown
from adabkb_service.operations.words.wording import former, result, written

Payload = Mapping[str, Any]


def corrected(quantities: Mapping[str, Quantity], payload: Payload) -> str:
    """Return all that a correction changed, with units, such as "corrected from 84.2 % to 82.4 %, excluded"."""
    was = former(payload)
    if not was:  # unknown in some imported logs
        now = result(quantities, payload)
        return f"corrected to {now}" if now else "corrected"
    changes = [*_values(quantities, was, payload), *_errors(quantities, was, payload)]
    excluded = [] if "excluded" not in was else ["excluded" if payload["excluded"] else "included again"]
    text = ", ".join([*changes, *excluded])
    if not changes:
        return text or "corrected"
    return f"corrected {text}" if text.startswith(("from ", "to ")) else f"corrected: {text}"


def _values(quantities: Mapping[str, Quantity], was: Payload, payload: Payload) -> Iterator[str]:
    if "value" in was and was["value"] != payload.get("value"):
        quantity = quantities.get(OBJECTIVE, UNNAMED)
        yield _change("", was["value"], payload.get("value"), partial(written, quantity))
    for name, before, after in _differing(was, payload, "metrics"):
        quantity = quantities.get(name, UNNAMED)
        yield _change(quantity.label or name, before, after, partial(written, quantity))


def _errors(quantities: Mapping[str, Quantity], was: Payload, payload: Payload) -> Iterator[str]:
    if "std_error" in was and was["std_error"] != payload.get("std_error"):
        yield _error("standard error", was["std_error"], payload.get("std_error"), quantities.get(OBJECTIVE, UNNAMED))
    for name, before, after in _differing(was, payload, "std_errors"):
        quantity = quantities.get(name, UNNAMED)
        yield _error(f"standard error of {quantity.label or name}", before, after, quantity)


def _differing(was: Payload, payload: Payload, field: str) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield the names in a field of which the numbers differ, with both numbers."""
    if field not in was:
        return
    before, after = was[field] or {}, payload.get(field) or {}
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            yield name, before.get(name), after.get(name)


def _error(name: str, before: float | None, after: float | None, quantity: Quantity) -> str:
    return _change(name, before, after, lambda each: in_points(shown(each), quantity.unit))


def _change(name: str, before: float | None, after: float | None, write: Callable[[float], str]) -> str:
    """Return a change of a number; ``name`` is empty for the value of a result."""
    if after is None:
        return f"{name} {'' if before is None else write(before)} removed".strip()
    if before is not None:
        return f"{name} from {write(before)} to {write(after)}".strip()
    return f"{name} set to {write(after)}" if name else f"to {write(after)}"
