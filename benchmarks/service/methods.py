"""The measured methods: our service, the minimal service and Optuna. Each run has an empty database."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.request import urlopen

import sqlalchemy as sa

from benchmarks.service.processes import SERVE, measured, module, serving, text

DEFAULT = "auto"
"""The default profile."""

Counts = dict[str, float]
"""Mean numbers of commits and statements per call of suggest or observe."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The conditions of a run."""

    servers: int
    clients: int
    results: int
    """Per study."""
    routing: str = "any"
    """How servers are chosen for calls; see ``load``."""


Method = Callable[[sa.URL, Setting, Counts], dict[str, Any]]
"""Runs a method on an empty database. The counts of our service are needed by the minimal one."""


def ours(profile: str) -> Method:
    """``adabkb serve``, with studies of one profile."""

    def run(url: sa.URL, setting: Setting, counts: Counts) -> dict[str, Any]:
        del counts
        with serving([[*SERVE, text(url)]] * setting.servers) as addresses:
            return measured(_load(setting, profile, addresses))

    return run


def floor(url: sa.URL, setting: Setting, counts: Counts) -> dict[str, Any]:
    """The minimal service, with the same number of commits and the same web stack."""
    command = module("floor", text(url), counts["commits"], counts["commits"])
    with serving([command] * setting.servers) as addresses:
        return measured(_load(setting, DEFAULT, addresses))


def optuna(sampler: str) -> Method:
    """Optuna with one of its samplers."""

    def run(url: sa.URL, setting: Setting, counts: Counts) -> dict[str, Any]:
        del counts
        return measured(module("peers", sampler, setting.clients, setting.results, text(url)))

    return run


SERVICES: dict[str, Method] = {"ours": ours(DEFAULT), "paper": ours("paper"), "floor": floor}
PEERS: dict[str, Method] = {"tpe": optuna("tpe"), "random": optuna("random")}


def counted(url: sa.URL, setting: Setting) -> Counts:
    """Mean numbers of our service's database operations per call, over a run."""
    with serving([module("counted", text(url))] * setting.servers) as addresses:
        measured(_load(setting, DEFAULT, addresses))
        found = [json.load(urlopen(f"{address}/counts")) for address in addresses]
    total = sum(map(Counter, found), Counter[str]())
    return {name: round(total[name] / total["calls"], 3) for name in ("commits", "statements")}


def _load(setting: Setting, profile: str, addresses: Sequence[str]) -> list[str]:
    return module("load", setting.clients, setting.results, profile, setting.routing, *addresses)
