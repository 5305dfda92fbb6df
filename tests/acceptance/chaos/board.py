"""The current studies, one per slot. When a study is complete, the next one replaces it."""

from __future__ import annotations

import math
import random
import threading
from dataclasses import dataclass
from typing import Any, Literal

from adabkb_client import Categorical, Direction, Float, Int, Parameter, Parameters

LEASE_SECONDS = 3.0
"""Short, so that many leases expire."""
MAX_ATTEMPTS = 4

SPACES: list[dict[str, Parameter]] = [
    {"x": Float(0, 1), "y": Float(1e-3, 1e3, log=True)},
    {"x": Float(-2, 2), "n": Int(1, 9), "y": Float(0, 1)},
    {"x": Float(0, 1), "kind": Categorical(["a", "b", "c"]), "y": Float(-1, 1)},
]
"""All continuous, so that no two suggestions of a study need to be equal."""
MAX_STEPS = 9
"""The number of steps of an evaluation."""
EDITED = "x"
"""The parameter of each space whose bounds are edited."""
WIDER = (0.0, 0.5, 1.0, 2.0)
"""Extensions of its first upper bound."""

ASHA = {"rule": "asha", "max_steps": MAX_STEPS}
PATIENCE = {"rule": "patience", "max_steps": MAX_STEPS, "no_gain_for": 4, "min_gain": 1e-6}


@dataclass(frozen=True)
class Plan:
    """The definition of a study, the same for all clients that create it."""

    id: str
    slot: int
    parameters: dict[str, Parameter]
    direction: Direction
    budget: int
    seed: int
    profile: Literal["auto", "paper"]
    early_stopping: dict[str, Any] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of ``Client.create_study`` besides id, parameters and direction."""
        return {
            "budget": self.budget,
            "seed": self.seed,
            "algorithm": {"profile": self.profile},
            "lease_seconds": LEASE_SECONDS,
            "max_attempts": MAX_ATTEMPTS,
            "early_stopping": self.early_stopping,
        }

    @property
    def may_repeat_points(self) -> bool:
        """Whether a point may be suggested again once its result is known."""
        return self.profile == "paper"

    @property
    def may_be_edited(self) -> bool:
        """Whether the space may be edited."""
        return self.profile == "auto" and self.early_stopping != ASHA

    def edit(self, dice: random.Random) -> Float:
        """Return new bounds of the edited parameter. They contain every point of the first space."""
        first = self.parameters[EDITED]
        assert isinstance(first, Float)
        return Float(first.low, first.high + dice.choice(WIDER))

    def point(self, dice: random.Random) -> Parameters:
        """Return a random point of the first space."""
        return {name: _draw(parameter, dice) for name, parameter in self.parameters.items()}


class Board:
    """The current studies. Threads share it."""

    def __init__(self, slots: int, seed: int, budgets: range) -> None:
        self._seed = seed
        self._budgets = budgets
        self._lock = threading.Lock()
        self._current = [self._plan(slot, 0) for slot in range(slots)]
        self.plans = list(self._current)
        """All studies so far."""

    def pick(self, dice: random.Random) -> Plan:
        """Return one of the current studies."""
        return dice.choice(self._current)

    def complete(self, plan: Plan) -> None:
        """Replace a study that is complete, unless another thread has done so."""
        with self._lock:
            if self._current[plan.slot] is plan:
                self._current[plan.slot] = self._plan(plan.slot, len(self.plans))
                self.plans.append(self._current[plan.slot])

    def _plan(self, slot: int, generation: int) -> Plan:
        dice = random.Random(f"{self._seed} {slot} {generation}")
        profile: Literal["auto", "paper"] = "auto" if slot % 4 == 3 else "paper"
        return Plan(
            id=f"slot{slot}-{generation}",
            slot=slot,
            parameters=dice.choice(SPACES),
            direction="maximize" if dice.random() < 0.5 else "minimize",
            budget=dice.choice(self._budgets),
            seed=dice.randrange(1 << 31),
            profile=profile,
            early_stopping=dice.choice([None, PATIENCE, ASHA] if profile == "auto" else [None, PATIENCE]),
        )


def objective(parameters: Parameters) -> float:
    """A smooth function with values between -1 and 1 that is cheap to evaluate."""
    return math.sin(sum(_coordinate(value) * (place + 1) for place, value in enumerate(parameters.values())))


def _coordinate(value: Any) -> float:
    if isinstance(value, str):
        return float("abc".index(value))
    return math.asinh(value)


def _draw(parameter: Parameter, dice: random.Random) -> Any:
    match parameter:
        case Float(low=low, high=high):
            return dice.uniform(low, high)
        case Int(low=low, high=high):
            return dice.randint(low, high)
        case Categorical(choices=choices):
            return dice.choice(list(choices))
    raise AssertionError(f"no study here has a {parameter}")
