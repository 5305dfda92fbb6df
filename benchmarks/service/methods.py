"""What is measured: ours, the floor and Optuna, each a run on an empty database."""

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
"""The profile of a study that names none."""

Counts = dict[str, float]
"""Commits and statements of a call, suggest or observe, on average."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run is made under."""

    servers: int
    clients: int
    results: int
    """Per study."""
    routing: str = "any"
    """Which of the servers a call goes to: see ``load``."""


Method = Callable[[sa.URL, Setting, Counts], dict[str, Any]]
"""A run on an empty database, of which the floor needs to know what ours does there."""


def ours(profile: str) -> Method:
    """``adabkb serve`` as it is, with studies under one of its profiles."""

    def run(url: sa.URL, setting: Setting, counts: Counts) -> dict[str, Any]:
        del counts
        with serving([[*SERVE, text(url)]] * setting.servers) as addresses:
            return measured(_load(setting, profile, addresses))

    return run


def floor(url: sa.URL, setting: Setting, counts: Counts) -> dict[str, Any]:
    """As many commits of one row by the same web stack."""
    command = module("floor", text(url), counts["commits"], counts["commits"])
    with serving([command] * setting.servers) as addresses:
        return measured(_load(setting, DEFAULT, addresses))


def optuna(sampler: str) -> Method:
    """Ask and tell by one of Optuna's samplers."""

    def run(url: sa.URL, setting: Setting, counts: Counts) -> dict[str, Any]:
        del counts
        return measured(module("peers", sampler, setting.clients, setting.results, text(url)))

    return run


SERVICES: dict[str, Method] = {"ours": ours(DEFAULT), "paper": ours("paper"), "floor": floor}
PEERS: dict[str, Method] = {"tpe": optuna("tpe"), "random": optuna("random")}


def counted(url: sa.URL, setting: Setting) -> Counts:
    """What a call of ours does in the database, on average over a run."""
    with serving([module("counted", text(url))] * setting.servers) as addresses:
        measured(_load(setting, DEFAULT, addresses))
        found = [json.load(urlopen(f"{address}/counts")) for address in addresses]
    total = sum(map(Counter, found), Counter[str]())
    return {name: round(total[name] / total["calls"], 3) for name in ("commits", "statements")}


def _load(setting: Setting, profile: str, addresses: Sequence[str]) -> list[str]:
    return module("load", setting.clients, setting.results, profile, setting.routing, *addresses)
