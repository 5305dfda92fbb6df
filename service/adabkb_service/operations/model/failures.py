"""Where trials failed: whether all failures are at one end of a parameter, or all at one of its choices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adabkb_service.contract.parameters import Parameter
from adabkb_service.operations.words.labels import marked
from adabkb_service.operations.words.wording import setting_in_unit

PROBABLE = 0.01
"""A pattern is reported if chance explains it with less than this probability."""

Point = Mapping[str, Any]


def where_failed(parameters: Sequence[Parameter], failed: Sequence[Point], succeeded: Sequence[Point]) -> str:
    """Return a sentence about where all failures lie and nothing succeeded; empty if there is no such part, or if it is
    likely by chance.

    A part is the lower or the upper end of a parameter's range, or a choice. If all trials were equally likely to fail,
    each set of as many trials would be equally likely to be the set of those that failed. So the probability of the
    pattern by chance is at most the number of parts divided by the number of such sets.
    """
    count = len(failed) + len(succeeded)
    tried = [*failed, *succeeded]
    parts = sum(2 if each.kind in ("float", "int") else len(_choices(each, tried)) for each in parameters)
    chance = parts / math.comb(count, len(failed))
    if not failed or not succeeded or chance >= PROBABLE:
        return ""
    where = next((part for each in parameters for part in _separate(each, failed, succeeded)), None)
    if where is None:
        return ""
    whole = f"{len(failed)} of {count} trials failed, all {where}"
    return f"{whole}; none succeeded there (by chance: {_percent(chance)})."


def _separate(parameter: Parameter, failed: Sequence[Point], succeeded: Sequence[Point]) -> Iterator[str]:
    """Yield, in words, the part of a parameter that contains all failures and no success, if there is one."""
    name, title = parameter.name, marked(parameter.label or parameter.name)
    if parameter.kind == "fixed" or any(name not in point for point in (*failed, *succeeded)):
        return
    bad, good = [point[name] for point in failed], [point[name] for point in succeeded]
    if parameter.kind in ("float", "int"):
        if min(bad) > max(good):
            yield f"with {title} of at least {setting_in_unit(parameter, min(bad))}"
        elif max(bad) < min(good):
            yield f"with {title} of at most {setting_in_unit(parameter, max(bad))}"
    elif all(each == bad[0] for each in bad) and bad[0] not in good:
        yield f"with {title} {marked(setting_in_unit(parameter, bad[0]))}"


def _choices(parameter: Parameter, points: Sequence[Point]) -> set[str]:
    """Return the different values of a parameter that were tried, as texts."""
    return {repr(point.get(parameter.name)) for point in points}


def _percent(probability: float) -> str:
    return "less than 0.01%" if probability < 1e-4 else f"at most {100.0 * probability:.2g}%"
