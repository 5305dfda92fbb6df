"""Decisions that a model makes ahead: points that can be issued as trials at once."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.moves import Suggestion
from adabkb_service.engine.policy import GeneralPolicy
from adabkb_service.engine.slices import Slice, are_alike
from adabkb_service.inference.model import Model, finite
from adabkb_service.inference.proposals import Decision, Expected, Proposal
from adabkb_service.inference.restriction import UNRESTRICTED, Restriction, Values
from adabkb_service.storage.rows import EventRow, SuggestedRow

Array = NDArray[np.float64]


@dataclass
class Decisions:
    """The decisions of a model whose points have not been issued."""

    made: list[Decision] = field(default_factory=list)
    """In order. Each assumes the current state of the model, and that the points of the previous decisions are
    issued."""
    within: Restriction = UNRESTRICTED
    """The restriction on the points of ``made`` and further ones."""

    def restrict(self, model: Model, within: Restriction) -> None:
        """Set the restriction on further points, and drop decisions that do not satisfy it."""
        self.within = within
        if self.made and not are_alike(self.made[0].proposal.fixed, self._first_values(model)):
            self.made.clear()

    def follow(self, event: EventRow) -> None:
        """Drop the decisions if an event affects the model, and the restriction if it edits the space, since the fixed
        values may be outside the edited space."""
        if event.affects_model:
            self.made.clear()
        if event.kind == "edited":
            self.within = UNRESTRICTED

    def take(self, model: Model, event: SuggestedRow) -> Decision | None:
        """Remove and return the decision behind a trial of the log; if it is not among those made, make it again. None
        if there is no point. If the trial has another point, the later decisions are dropped."""
        self.restrict(model, Restriction(event.payload["fixed"]))
        if not self.made:
            self.decide(model, 1)
        made, self.made = self.made, []
        if made and made[0].proposal.parameters == event.payload["parameters"]:
            self.made = made[1:]
        return made[0] if made else None

    def adopt_prepared(self, model: Model) -> None:
        """Add the work that ``model.prepare`` did in advance to the states after the decisions."""
        self.made = [
            replace(decision, state=model.policy.with_prepared_of(decision.state, model.state))
            for decision in self.made
        ]

    def decide(self, model: Model, count: int, *, until: float = math.inf) -> None:
        """Decide on ``count`` more points, or on fewer if a finite space or slice has fewer left.

        Args:
            model: the model of the study.
            count: number of points.
            until: time limit, by ``time.monotonic``. At least one point is decided on, if there is one.
        """
        dataset = model.dataset
        state = model.policy.with_spent(model.state, sum(dataset.stopped_costs.values()))
        pending = dataset.pending()
        if self.made:
            state = self.made[-1].state
            pending = np.concatenate([pending, [decision.point for decision in self.made]])
        failed, replaced = dataset.failed_points(), dataset.replaced_points()
        gap = model.policy.report(model.state).gap
        for fixed, suggestion in islice(self._suggestions(model, state, pending, failed, replaced), count):
            proposal = Proposal(
                {**dataset.parameters_at(suggestion.point), **(fixed or {})},
                "policy",
                suggestion.cell,
                suggestion.capped,
                suggestion.phase,
                _expected(model, suggestion.point),
                fixed,
                _trust(model, suggestion.trust),
                finite(gap),
            )
            self.made.append(Decision(proposal, suggestion.state, dict(suggestion.cells), suggestion.point))
            if time.monotonic() > until:
                return

    def has_all(self, model: Model) -> bool:
        """Whether all points of the space or slice are issued or decided on."""
        state = self.made[-1].state if self.made else model.state
        points = [decision.point for decision in self.made]
        issued, failed = model.dataset.issued_positions(), model.dataset.failed_points()
        fixed = self._next_values(model)
        within = None if fixed is None else Slice(model.dataset.space, fixed)
        known = np.concatenate([issued, points]) if points else issued
        return model.policy.exhausted(state, known, within, failed)

    def is_plate_over(self, model: Model) -> bool:
        """Whether all points with the shared values of the open plate are issued."""
        plate = self.within.plate
        return plate is not None and _has_issued_all(model, self.within.continued) and _has_issued_all(model, plate)

    def _suggestions(
        self, model: Model, state: Any, pending: Array, failed: Array, replaced: Array
    ) -> Iterator[tuple[Values | None, Suggestion[Any]]]:
        """Further suggestions after those decided on, each with the values that were fixed for it. The first point of a
        plate determines the shared values of the plate's other points."""
        fixed = self._next_values(model)
        if self.within.shared and not self.made and are_alike(fixed, self.within.fixed):  # begins a plate
            first = next(_suggestions_with(model, fixed, state, pending, failed, replaced), None)
            if first is None:
                return
            yield fixed, first
            state, pending = first.state, np.concatenate([pending, first.point[None]])
            fixed = self.within.after({**model.dataset.parameters_at(first.point), **(fixed or {})})
        for suggestion in _suggestions_with(model, fixed, state, pending, failed, replaced):
            yield fixed, suggestion

    def _next_values(self, model: Model) -> Values | None:
        """The fixed values of the next point after those decided on."""
        if not self.made:
            return self._first_values(model)
        return self.within.after(self.made[0].proposal.parameters)

    def _first_values(self, model: Model) -> Values | None:
        """The fixed values of the first point: those of the request and, unless all their points on the open plate are
        issued, the plate's shared values."""
        within = self.within
        if within.plate is None:
            return within.fixed
        return within.fixed if _has_issued_all(model, within.continued) else within.continued


def _suggestions_with(
    model: Model, fixed: Values | None, state: Any, pending: Array, failed: Array, replaced: Array
) -> Iterator[Suggestion[Any]]:
    if fixed is None:
        return model.policy.suggestions(state, pending, failed, replaced)
    assert isinstance(model.policy, GeneralPolicy), "the contract refuses fixed values with other algorithms"
    return model.policy.suggestions_within(state, Slice(model.dataset.space, fixed), pending, failed, replaced)


def _has_issued_all(model: Model, fixed: Values | None) -> bool:
    """Whether all points with these values are issued."""
    within, issued = Slice(model.dataset.space, fixed or {}), model.dataset.issued_positions()
    return model.policy.exhausted(model.state, issued, within, model.dataset.failed_points())


def _expected(model: Model, point: Array) -> Expected | None:
    """The prediction at a point (d,). None before the first result and, without older studies, while all results are
    equal. Equal results do not show how much the objective varies, so the interval would depend on its unit."""
    values = {each.value for each in model.dataset.results.values() if each.has_value}
    if len(values) < (1 if model.definition.transfer_from else 2):
        return None
    (found,) = model.predict(point[None])
    return found if found.is_finite else None


def _trust(model: Model, trust: Mapping[str, float]) -> dict[str, float] | None:
    """Older study -> its weight, 0 if it is not used; None without older studies."""
    older = model.definition.transfer_from
    return dict.fromkeys(older, 0.0) | dict(trust) if older else None
