"""Search spaces from Hydra's overrides: swept overrides are parameters, and the others are the same in each job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, RangeSweep

from adabkb_client import Categorical, Fixed, Float, Int, Ordinal, Parameter
from adabkb_integrations.ordered import is_ordered


@dataclass(frozen=True)
class Space:
    """The parameters by key, and the overrides that are the same in each job."""

    parameters: dict[str, Parameter]
    constant: list[str]

    def job(self, values: dict[str, Any]) -> list[str]:
        """Return the overrides of a job. A choice without an order is a string in Hydra's grammar."""
        return [*self.constant, *(f"{key}={value}" for key, value in values.items())]


def space_of(overrides: Iterable[Override]) -> Space:
    """Return the search space of overrides. If a key occurs twice, the last override counts.

    Raises:
        ValueError: nothing is swept, or a range is empty or cannot have a log scale.
    """
    last = {override.get_key_element(): override for override in overrides}
    swept = {key: _parameter(key, override) for key, override in last.items() if override.is_sweep_override()}
    if not swept:
        raise ValueError(
            "no override is a sweep, so there is nothing to search: give one, such as 'lr=tag(log, interval(1e-5, 1))',"
            " on the command line or in hydra.sweeper.params"
        )
    return Space(swept, [override.input_line or "" for key, override in last.items() if key not in swept])


def _parameter(key: str, override: Override) -> Parameter:
    sweep = override.value()
    match sweep:
        case IntervalSweep():
            log = "log" in sweep.tags
            assert sweep.start is not None
            assert sweep.end is not None
            if isinstance(sweep.start, int) and isinstance(sweep.end, int):  # int(interval(...))
                return Int(sweep.start, sweep.end, log=log)
            return Float(sweep.start, sweep.end, log=log)
        case RangeSweep():
            return _range(key, sweep)
        case ChoiceSweep():
            sweep.shuffle = False  # the study determines the order of jobs, and choices must be the same in each run
    values: list[Any] = list(override.sweep_iterator())
    if "log" in getattr(sweep, "tags", ()):
        raise ValueError(f"{key}: a choice cannot have a log scale; use tag(log, interval(...)), or leave out the tag")
    if len(values) > 1 and is_ordered(values):
        return Ordinal(values)
    texts = list(override.sweep_string_iterator())
    return Categorical(texts) if len(texts) > 1 else Fixed(texts[0])


def _range(key: str, sweep: RangeSweep) -> Parameter:
    values = sorted(sweep.range())
    if not values:
        raise ValueError(
            f"{key}: range({sweep.start}, {sweep.stop}, {sweep.step}) has no value; its stop is exclusive, so raise it"
        )
    low, high = values[0], values[-1]
    step: Any = abs(sweep.step)  # an integer if the values are integers
    if "log" in sweep.tags:
        if step != 1 or not isinstance(low, int):
            raise ValueError(
                f"{key}: a range with a step cannot have a log scale; use interval(...), or leave out the tag"
            )
        return Int(low, high, log=True)
    if len(values) == 1:
        return Fixed(low)
    return Int(low, high, step=step) if isinstance(low, int) else Float(low, high, step=step)
