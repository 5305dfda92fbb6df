"""The Pareto front of a study with several objectives, as frozen records."""

from collections.abc import Mapping
from dataclasses import dataclass

from adabkb_client import text
from adabkb_client.models import Direction, FrontEstimate, Metrics, Parameters


@dataclass(frozen=True)
class FrontObjective:
    """An objective, with the value above which volume counts: ``learned`` if it is the worst result so far."""

    metric: str
    direction: Direction
    reference: float
    learned: bool


@dataclass(frozen=True)
class Growth:
    """The hypervolume after a result, by the number of its observation."""

    observation: int
    hypervolume: float


@dataclass(frozen=True)
class FrontPoint:
    """A result that no other one dominates."""

    observation: int
    trial: int | None
    parameters: Parameters
    metrics: Metrics


@dataclass(frozen=True, repr=False)
class Front:
    """The Pareto front by results (``observed``) and by the model, and the hypervolume over time.

    ``hypervolume`` is that of the ``results`` so far, in the units of all objectives multiplied, and None before the
    first one; ``history`` has an entry wherever it has grown.
    """

    objectives: tuple[FrontObjective, ...]
    results: int
    hypervolume: float | None
    history: tuple[Growth, ...]
    observed: tuple[FrontPoint, ...]
    model: tuple[FrontEstimate, ...]

    @property
    def reference(self) -> Mapping[str, float]:
        """The reference point, by the names of the objectives."""
        return {each.metric: each.reference for each in self.objectives}

    def __repr__(self) -> str:
        return text.front(self)
