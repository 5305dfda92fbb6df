"""The methods that are compared. Peers' packages are imported only when one of them runs."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version

from adabkb_service.engine.space import Space
from benchmarks.quality.methods.base import Method
from benchmarks.quality.methods.policy import Policy
from benchmarks.quality.problems import Problem

HERE = __name__


@dataclass(frozen=True, slots=True)
class Entry:
    """How a method is created, and which part of the benchmark it runs."""

    factory: str
    """``module:callable`` of ``(space, seed) -> Method``; a policy's module where there is no colon."""
    budget: int = 1000
    seeds: int = 20
    max_dimension: int | None = None
    tasks: bool = True
    packages: tuple[str, ...] = ()
    """Packages whose versions affect the results."""
    is_peer: bool = True

    def runs_on(self, problem: Problem) -> bool:
        """Whether the method runs on a problem."""
        if problem.is_task:
            return self.tasks
        return self.max_dimension is None or problem.dimension <= self.max_dimension

    def create(self, space: Space, seed: int) -> Method:
        """The method at the start of a run."""
        module, _, name = self.factory.partition(":")
        if not name:
            return Policy(space, seed, module)
        method: Method = getattr(import_module(module), name)(space, seed)
        return method

    def versions(self) -> dict[str, str]:
        """Package -> version."""
        return {package: version(package) for package in self.packages}


def policy(module: str) -> Entry:
    """An entry for one of our policies, or a variant of it."""
    return Entry(module, is_peer=False)


METHODS: dict[str, Entry] = {
    "random": Entry(f"{HERE}.random_search:RandomSearch"),
    "directl": Entry(f"{HERE}.direct:Direct"),
    "cma": Entry(f"{HERE}.optuna_samplers:cma", packages=("optuna", "cmaes")),
    "ipop": Entry(f"{HERE}.ipop:IpopCma", packages=("cma",)),
    "turbo": Entry(f"{HERE}.turbo:Turbo", budget=400),
    "tpe": Entry(f"{HERE}.optuna_samplers:tpe", packages=("optuna",)),
    "smac": Entry(f"{HERE}.smac3:Smac", budget=100, packages=("smac", "ConfigSpace")),
    "gpsampler": Entry(f"{HERE}.optuna_samplers:gpsampler", budget=100, packages=("optuna", "torch")),
    "botorch": Entry(
        f"{HERE}.botorch_gp:BotorchGP",
        budget=50,
        seeds=3,
        max_dimension=6,
        tasks=False,
        packages=("botorch", "gpytorch", "torch"),
    ),
    "baybe": Entry(
        f"{HERE}.baybe_campaign:BaybeCampaign",
        budget=50,
        seeds=3,
        tasks=False,
        packages=("baybe", "botorch", "gpytorch", "torch"),
    ),
    "textbook": Entry(f"{HERE}.textbook_gp:TextbookGP", budget=100, seeds=20),
    "auto": policy("adabkb_service.engine.auto.policy"),
}
"""By name. ``directl`` is deterministic; its seeds differ in the box, or the split, and the noise."""
