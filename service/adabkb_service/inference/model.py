"""A study's model: the log folded through the engine.

A model is a pure function of the events. Its cells and dictionary are kept as rows as of ``studies.folded``, so a
restart restores them instead of computing everything again; the rest lives in memory only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from adabkb_service.contract.study import StudyDefinition
from adabkb_service.engine.cells import ROOT
from adabkb_service.engine.policy import Policy
from adabkb_service.inference.dataset import History
from adabkb_service.storage import model as rows
from adabkb_service.storage.rows import EventRow, StudyRow
from adabkb_service.study.lifecycle import definition_of

Array = NDArray[np.float64]

NEW_TREE = {ROOT: "leaf"}
"""The cells of a study in which nothing has happened."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What some moves of the engine changed, together."""

    cells: dict[str, str] = field(default_factory=dict)
    """New cells in order of creation, and new statuses."""
    added: frozenset[int] = frozenset()
    removed: frozenset[int] = frozenset()
    """Of the dictionary, as ordinals."""
    moved: bool = False
    """Whether there was a move at all: one may change nothing but figures."""

    def write(self, connection: Connection, study_id: str) -> None:
        """Bring the rows up to date."""
        rows.write_cells(connection, study_id, self.cells)
        rows.write_dictionary(connection, study_id, added=sorted(self.added), removed=sorted(self.removed))


@dataclass(frozen=True, slots=True)
class Decided:
    """The engine's decision on new points, before it is written."""

    cells: dict[str, str]
    figures: dict[str, Any]


@dataclass
class Model:
    """The engine's state and what it was made of; owned by whoever holds the study's lock."""

    definition: StudyDefinition
    seq: int
    """The last event folded, ..."""
    at: datetime
    """... and when that was logged."""
    state: Any
    history: History
    cells: dict[str, str]
    """key -> status of every cell ever created, in order of creation."""
    diverged: list[int] = field(default_factory=list)
    """Trials whose point, folded again, came out different from what the log says was handed out."""

    @property
    def policy(self) -> Policy[Any, Any]:
        """Who decides."""
        return self.definition.policy

    @property
    def sign(self) -> float:
        """+1 if the study maximises, -1 if it minimises."""
        return self.definition.sign

    def fold(self, log: Sequence[EventRow], later: Sequence[EventRow] = (), *, until: float = math.inf) -> Changes:
        """Fold the next events in.

        Args:
            log: the events.
            later: those that are known to come after them.
            until: when (``time.monotonic``) to leave the rest of them.

        Raises:
            Exception: whatever the engine raised; the model is then of no more use.
        """
        cells: dict[str, str] = {}
        before, moved = frozenset(self.policy.dictionary(self.state)), False
        for position, event in enumerate(log):
            if time.monotonic() > until:
                break
            if event.kind != "observed" or not _superseded(chain(log[position + 1 :], later)):
                changed = self._move(event)
                moved = moved or changed is not None
                cells.update(changed or {})  # a cell that changes again keeps its place
                self.cells.update(changed or {})
            self._count(event)
        after = frozenset(self.policy.dictionary(self.state))
        return Changes(cells, added=after - before, removed=before - after, moved=moved)

    def accept(self, log: Iterable[EventRow]) -> None:
        """Take in events whose part in the engine is done, or that do not concern it."""
        for event in log:
            self._count(event)

    def figures(self, state: Any, awaited: Array) -> dict[str, Any]:
        """A state in numbers, for ``studies.model``: finite, in the objective's units and sign.

        Args:
            state: to report.
            awaited: (k, d) points without a result, failed ones included.
        """
        report = asdict(self.policy.report(state))
        report["offset"] = report["offset"] * self.sign + 0.0  # -0.0 is 0.0
        learned = report.pop("learned")
        del report["best_lcb"]
        numbers = {name: value if _is_finite(value) else None for name, value in report.items()}
        return {
            **numbers,
            "learned": learned,
            "stopped": self.policy.stopped(state),
            "exhausted": self.policy.exhausted(state, awaited),
        }

    def _count(self, event: EventRow) -> None:
        self.history.apply(event)
        self.seq, self.at = event.seq, event.created_at

    def _move(self, event: EventRow) -> dict[str, str] | None:
        """The engine's part of one event: the cells it changed, or None if it has no part in it."""
        if is_decision(event):
            suggestion = self.policy.suggest(self.state, self.history.pending(), self.history.failed_points())
            self.state = suggestion.state
            if event.trial is not None and self.history.parameters_at(suggestion.point) != event.payload["parameters"]:
                self.diverged.append(event.trial)
            return suggestion.cells
        if event.kind == "observed":
            result = self.history.result(event)
            update = self.policy.observe(self.state, result.position, result.value, result.error)
        elif event.kind == "corrected":
            self.history.apply(event)
            update = self.policy.rebuild(self.state, self.history.record(), self.cells)
        else:
            return None
        self.state = update.state
        return update.cells


def start(study: StudyRow) -> Model:
    """The model of a study in which nothing has happened."""
    definition = definition_of(study)
    space = definition.space()
    state = definition.policy.start(space, definition.config(), study.seed)
    return Model(definition, 0, study.created_at, state, History(space, definition.sign), dict(NEW_TREE))


def restore(study: StudyRow, log: Sequence[EventRow], cells: dict[str, str], dictionary: tuple[int, ...]) -> Model:
    """The model as of ``studies.folded``, from its rows.

    Args:
        study: the row.
        log: its events up to ``folded``.
        cells, dictionary: the rows, as of ``folded``.
    """
    model = start(study)
    model.accept(log)
    model.cells = cells
    space, config = model.history.space, model.definition.config()
    record, learned = model.history.record(), (study.model or {}).get("learned")
    model.state = model.policy.restore(space, config, study.seed, record, cells, dictionary, learned)
    return model


def is_decision(event: EventRow) -> bool:
    """Whether the engine chose the point of this event."""
    return event.kind == "suggested" and event.payload["origin"] == "policy"


def _superseded(later: Iterable[EventRow]) -> bool:
    """Whether a correction rebuilds the model before anything asks it for a point.

    Then an observation before it need not be folded, and one that cannot be folded does no more harm.
    """
    for event in later:
        if event.kind == "corrected":
            return True
        if is_decision(event):
            return False
    return False


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
