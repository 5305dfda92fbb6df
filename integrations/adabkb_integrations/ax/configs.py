"""Parameters with the interface of Ax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from adabkb_client import Categorical, Float, Int, Ordinal, Parameter
from adabkb_integrations.ordered import is_ordered


@dataclass(frozen=True)
class RangeParameterConfig:
    """A number between two bounds, like ``ax.api.configs.RangeParameterConfig``."""

    name: str
    bounds: tuple[float, float]
    parameter_type: Literal["float", "int"]
    step_size: float | None = None
    scaling: Literal["linear", "log"] | None = None

    def parameter(self) -> Parameter:
        """Return the corresponding parameter of a study."""
        low, high = self.bounds
        is_log = self.scaling == "log"
        if self.parameter_type == "int":
            return Int(int(low), int(high), log=is_log, step=int(self.step_size or 1))
        return Float(low, high, log=is_log, step=self.step_size)


@dataclass(frozen=True)
class ChoiceParameterConfig:
    """One of some values, like ``ax.api.configs.ChoiceParameterConfig``."""

    name: str
    values: Sequence[Any]
    parameter_type: Literal["float", "int", "str", "bool"]
    is_ordered: bool | None = None

    def parameter(self) -> Parameter:
        """Return the corresponding parameter of a study. Ascending numbers are ordered unless ``is_ordered`` says
        otherwise."""
        ordered = is_ordered(self.values) if self.is_ordered is None else self.is_ordered
        return Ordinal(list(self.values)) if ordered and len(self.values) > 1 else Categorical(list(self.values))
