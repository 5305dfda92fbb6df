"""The figures of a search, which are those of a study on a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from adabkb_client import Front, Importance, Recommendation, Slice
from adabkb_client._calls import Steps
from adabkb_client._parameters import to_wire
from adabkb_client.plots import _ImportedWhenDrawn
from adabkb_client.plots._methods import Plots as PlotMethods
from adabkb_integrations.inprocess.options import AUTO
from adabkb_integrations.inprocess.trials import Found
from adabkb_service.engine.auto.config import Config

if TYPE_CHECKING:
    from adabkb_client._http.transport import Transport
    from adabkb_client._study_calls import StudyCalls
    from adabkb_client.plots._figures import Figures

T = TypeVar("T")


class Plots(PlotMethods):
    """The figures of a search: see ``adabkb_client.plots.Plots``."""

    def __init__(self, found: Found) -> None:
        self._transport = cast("Transport", _Here())
        self._figures = cast("Figures", _ImportedWhenDrawn(cast("StudyCalls", _Calls(found))))


class _Here:
    """A transport for procedures that send no requests."""

    def perform(self, steps: Steps[T]) -> T:
        """Perform a procedure."""
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        raise RuntimeError("the procedure has sent a request")


@dataclass(frozen=True)
class _Info:
    """What figures show of a study: see ``StudyInfo``."""

    id: str
    direction: str
    parameters: tuple[Mapping[str, Any], ...]
    objectives: tuple[Mapping[str, Any], ...]
    metrics: tuple[str, ...]
    algorithm: Mapping[str, Any]
    quantities: Mapping[str, Any]


@dataclass(frozen=True)
class _Result:
    """What figures show of a result: see ``Observation``."""

    seq: int
    parameters: Mapping[str, Any]
    value: float | None
    std_error: float | None
    metrics: Mapping[str, float] | None
    std_errors: Mapping[str, float] | None
    missing: tuple[str, ...]
    counts: bool = True
    outside: bool = False


@dataclass(frozen=True)
class _List(Generic[T]):
    """A list of the server: see ``Listing``."""

    items: list[T]

    def all(self) -> Steps[list[T]]:
        """Read all items."""
        return _known(self.items)


class _Calls:
    """The calls of ``StudyCalls`` that figures make, which a finished search answers."""

    def __init__(self, found: Found) -> None:
        self.id = found.direction
        self._found, self._posterior = found, found._known_posterior

    def info(self) -> Steps[_Info]:
        """Return the definition of the search."""
        measured = self._posterior.measured
        goals = {each.name: "maximize" if each.sign > 0 else "minimize" for each in measured.metrics if each.goal}
        return _known(
            _Info(
                self.id,
                self._found.direction,
                tuple(to_wire(self._posterior.declared)),
                tuple({"metric": name, "direction": direction} for name, direction in goals.items()),
                tuple(each.name for each in measured.metrics if not each.goal),
                AUTO if isinstance(self._posterior.model.config, Config) else {},
                {},
            )
        )

    def observations(self) -> _List[_Result]:
        """Return the results."""
        trials = [trial for trial in self._found.trials if trial.has_result]
        return _List(
            [
                _Result(
                    number,
                    trial.parameters,
                    trial.value,
                    trial.std_error,
                    trial.metrics,
                    trial.std_errors,
                    ("value",) if trial.value is None else (),
                )
                for number, trial in enumerate(trials, 1)
            ]
        )

    def recommendation(self) -> Steps[Recommendation]:
        """Return the recommended point."""
        model = self._found.near_baseline or self._posterior.recommended()
        return _known(Recommendation(model, observed=None, gap=None))

    def importance(self, metric: str | None) -> Steps[Importance]:
        """Return the importance of each parameter."""
        return _known(self._posterior.importance(metric))

    def slice(self, *parameters: str, points: int | None) -> Steps[Slice]:
        """Return the posterior along one or two parameters."""
        return _known(self._posterior.slice(parameters, points))

    def partition(self, status: str, metric: str | None) -> _List[dict[str, Any]]:
        """Return the cells with a status."""
        return _List(self._posterior.cells(status, metric))

    def front(self) -> Steps[Front]:
        """Return the Pareto front."""
        return _known(self._posterior.front(self._found.front))


def _known(value: T) -> Steps[T]:
    """Return a value without any request."""
    yield from ()
    return value
