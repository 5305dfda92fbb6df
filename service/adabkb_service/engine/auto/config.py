"""The configuration of the ``auto`` profile, and the problem that it defines on a search space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.domain.tree import Box, whole
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.older import Older
from adabkb_service.engine.prior import Prior
from adabkb_service.engine.record import Record
from adabkb_service.engine.space import Space

if TYPE_CHECKING:
    from adabkb_service.engine.auto.model.transferred import OlderMean


CONFIDENCE = 0.9
"""Probability with which the gap is a bound."""
KEPT = 8
"""The number of quantities that ``Problem.remembered`` caches."""

T = TypeVar("T")


@dataclass(frozen=True)
class Config:
    """The user's declarations about a study. Everything else is learned."""

    delta: float = 0.05
    """The maximum probability with which the cell of the optimum is pruned."""
    noise_std: float | None = None
    """Standard deviation of a result without its own standard error, in the user's output units. With 0, results are
    exact: the kernel is the one for rough objectives, except in mixtures. With None, the noise is learned."""
    metrics: tuple[Metric, ...] = ()
    """Metrics of each result in addition to its value, some of them with bounds."""
    objective: Metric | None = None
    """The first objective of a study with several, stored as the value of a result; the others are among the metrics.
    None with a single objective."""

    prior: Prior | None = None
    """The user's prior for the position of the optimum."""
    older: tuple[Older, ...] = ()
    """Older studies whose results the search uses."""
    per_cost: bool = False
    """Whether the search maximizes the gain per cost, where the cost is one of the metrics."""
    cost_budget: float | None = None
    """The maximum total cost of the results."""
    robust: bool = False
    """Whether results that the others contradict get additional noise."""
    has_plates: bool = False
    """Whether results of the same plate share an unknown offset. The variance of the offsets is learned."""

    @property
    def is_exact(self) -> bool:
        """Whether results are declared to be without noise."""
        return self.noise_std == 0.0

    @property
    def delta_each(self) -> float:
        """The share of delta for the objective, and for each metric whose bounds prune, so that all confidence bounds
        hold jointly."""
        return self.delta / (1 + sum(metric.is_bounded for metric in self.metrics))


@dataclass(frozen=True)
class Problem:
    """A search space with a configuration: everything about a study that changes only if its space is edited."""

    space: Space
    config: Config
    seed: int

    @cached_property
    def domain(self) -> Domain:
        """The axes by kind."""
        return Domain(self.space)

    def older_of(self, metric: str | None) -> tuple[OlderMean, ...]:
        """The mean functions of older studies for the objective ``metric``; None stands for the only objective."""
        return tuple(mean for each, mean in zip(self.config.older, self._older, strict=True) if each.metric == metric)

    @cached_property
    def _older(self) -> tuple[OlderMean, ...]:
        """The mean functions of ``config.older``, learned on first use."""
        # Imported here, since only decisions need it; the server imports this module for ``Config``.
        from adabkb_service.engine.auto.model.transferred import learned  # noqa: PLC0415

        return tuple(learned(each, self.domain) for each in self.config.older)

    @property
    def has_several(self) -> bool:
        """Whether there are several objectives."""
        return self.config.objective is not None

    @property
    def may_have_additive_part(self) -> bool:
        """Whether the kernel may have an additive part, which requires several axes that are always active."""
        return self.domain.dimension > 1 and not self.domain.activity.needs

    @cached_property
    def of_metrics(self) -> tuple[Problem, ...]:
        """The problem of each metric, which is learned as if it were the objective. Metrics with the same declared
        noise share a problem and its caches."""
        noises = [metric.noise_std for metric in self.config.metrics]
        of_noise = {noise: Problem(self.space, self._config_of_metric(noise), self.seed) for noise in noises}
        return tuple(of_noise[noise] for noise in noises)

    def _config_of_metric(self, noise_std: float | None) -> Config:
        own = self.config
        return Config(own.delta_each, noise_std, robust=own.robust, has_plates=own.has_plates)

    @cached_property
    def _remembered(self) -> dict[tuple[str, bytes], Any]:
        return {}

    def remembered(self, name: str, record: Record, compute: Callable[[Problem, Record], T]) -> T:
        """Return a quantity that depends on a record only. The last ``KEPT`` quantities are cached.

        Args:
            name: the name of the quantity.
            record: the results.
            compute: computes the quantity.
        """
        columns = record.positions, record.values, record.errors, record.plates
        key = name, b"".join(each.tobytes() for each in columns if each is not None)
        kept = self._remembered
        if key not in kept:
            found = compute(self, record)
            for old in list(kept)[: -(KEPT - 1)]:
                kept.pop(old, None)
            kept[key] = found
            return found
        return kept[key]  # type: ignore[no-any-return]

    @cached_property
    def root(self) -> Box:
        """The box of the whole space."""
        return whole(self.domain)
