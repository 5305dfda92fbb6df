"""A study's model: the engine's state after the events of the log. To fold an event is to update the state with it.

A model is a pure function of the events. The database has its cells, dictionary and learned parameters as of some
event. ``restore`` rebuilds the model from them and the log, and ``fold`` folds the later events.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.contract.stored import StoredDefinition, definition_of, edited
from adabkb_service.engine.auto import config as auto
from adabkb_service.engine.auto.reports.front import results_since_gain
from adabkb_service.engine.auto.reports.left_out import judged
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.moves import Update
from adabkb_service.engine.older import Older
from adabkb_service.engine.policy import GeneralPolicy, Policy
from adabkb_service.engine.space import Space
from adabkb_service.inference.dataset import Dataset, Run, ends_run
from adabkb_service.inference.outliers import outliers
from adabkb_service.inference.proposals import Decision, Expected, expected
from adabkb_service.storage.catalogues import Pieces, tables_of
from adabkb_service.storage.columns import ModelStats
from adabkb_service.storage.event_payloads import Edited
from adabkb_service.storage.rows import EventRow, SuggestedRow

Array = NDArray[np.float64]


@dataclass
class Model:
    """The engine's state and its inputs."""

    definition: StoredDefinition
    policy: Policy[Any, Any]
    """The algorithm."""
    incarnation: str
    """A random id of the study from its creation, which a later study with the same ``id`` does not share."""
    seq: int
    """Seq of the last folded event."""
    rests_on: int
    """Seq of the last folded event that affects the model."""
    state: Any
    dataset: Dataset
    cells: dict[str, str]
    """Key -> status of every cell ever created, in order of creation."""
    prepared: bool = True
    """Whether ``prepare`` has no work left for the current state."""
    changed: dict[str, int] = field(default_factory=dict)
    """Key -> seq of the last event that changed the cell, for the cells changed since the model was restored."""
    tree_seq: int = 0
    """Seq of the last edit of the space, with which the tree began anew. Earlier cells are not part of it."""
    run: Run | None = None
    """The run of the last result that was folded, in the part of the log that was known then."""
    in_run: int = 0
    """The number of results since the last event for which ``ends_run`` is true."""
    is_behind: bool = False
    """Whether the engine lacks results of the dataset. If so, the model cannot be used before it is rebuilt."""
    outliers: tuple[int, list[int]] | None = None
    """``rests_on`` when the outliers were computed, and the numbers of these results; None before."""
    diverged: list[int] = field(default_factory=list)
    """Numbers of the trials for which the model decided on another point than the one in the log."""
    tables: tuple[Pieces, ...] = ()
    """Tables of the catalogues; an edit of the space may change them."""
    older: tuple[Older, ...] = ()
    """Results of older studies, in ``first_space``."""
    first_space: Space | None = None
    """The space at the study's creation; None without older studies."""

    @property
    def sign(self) -> float:
        """+1 if the study maximizes, -1 if it minimizes."""
        return self.definition.sign

    def config(self) -> Any:
        """The configuration of the engine, with the results of older studies in the current space."""
        config = self.definition.config()
        if self.first_space is None or not isinstance(config, auto.Config):
            return config
        found = self.older
        if self.definition.space_version > 1:
            moved = [each.moved(self.first_space, self.dataset.space) for each in self.older]
            found = tuple(each for each in moved if each is not None)
        return replace(config, older=found)

    @property
    def dictionary(self) -> frozenset[int]:
        """Ordinals of the distinct evaluated points in the dictionary."""
        return frozenset(self.policy.dictionary(self.state))

    @property
    def learned(self) -> Mapping[str, object] | None:
        """The part of the state that ``restore`` needs besides the results, the cells and the dictionary, as JSON."""
        return self.policy.learned(self.state)

    def snapshot(self) -> Model:
        """A copy that later events do not change, so that another thread can answer questions with it. Only containers
        are copied, since states and definitions are immutable."""
        return replace(self, dataset=self.dataset.copy(), cells=dict(self.cells))

    def catch_up(self) -> None:
        """Rebuild the model if it is behind."""
        if self.is_behind:
            self._update(self.policy.rebuild(self.state, self.dataset.record(), self.cells), self.seq)

    def predict(self, positions: Array) -> list[Expected]:
        """Predictions at positions (k, d), from the results alone."""
        return expected(
            self.policy.predict(self.state, positions), self.sign, self.dataset.metrics, self.dataset.objective
        )

    def of(self, metric: str | None) -> tuple[Any, float]:
        """The engine's state for a metric (for the objective if None), and the factor, +1 or -1, that converts results
        to the engine's sign."""
        objective = self.dataset.objective
        if metric is None or (objective is not None and objective.name == metric):
            return self.state, self.sign
        index = [each.name for each in self.dataset.metrics].index(metric)
        return self.state.metrics[index], self.dataset.metrics[index].sign

    def prepare(self) -> None:
        """Do the part of the work for the next result that does not depend on this result. If hyperparameters are due
        to be learned, this call only learns them, and the next one does the rest, so that other studies wait less."""
        learns, self.prepared = self.policy.learns_next(self.state), True  # if it fails, it is not tried again
        self.state = self.policy.prepare(self.state)
        self.prepared = not learns

    @property
    def learns_next(self) -> bool:
        """Whether the next step learns hyperparameters."""
        return not self.prepared and self.policy.learns_next(self.state)

    def stats(self) -> ModelStats:
        """Statistics of the state, in the objective's units and sign; None instead of numbers that are not finite."""
        report = self.policy.report(self.state)
        issued, failed = self.dataset.issued_positions(), self.dataset.failed_points()
        stats: ModelStats = {
            "gap": finite(report.gap),
            "beta": finite(report.beta),
            "leaves": report.leaves,
            "depth": report.depth,
            "dictionary": report.dictionary,
            "basis": report.basis,
            "effective_dimension": finite(report.effective_dimension) or 0.0,
            "points": report.points,
            "observations": report.observations,
            "offset": finite(report.offset * self.sign + 0.0),  # -0.0 becomes 0.0
            "scale": finite(report.scale),
            "clipped": report.clipped,
            "gap_share": finite(report.gap_share),
            "rests_on": self.rests_on,
            "stopped": self.policy.stopped(self.state),
            "exhausted": self.policy.exhausted(self.state, issued, None, failed),
        }
        if isinstance(self.state, State) and (since := results_since_gain(self.state)) is not None:
            stats["results_since_gain"] = since
        if found := self._outliers():
            stats["outliers"] = found
        return stats

    def _outliers(self) -> list[int]:
        """The numbers of the results that other results contradict, computed once for the current results. With many
        results, the latest ones may be missing: their computation takes long, and every reply of the model contains
        this list. Empty with several objectives."""
        if self.dataset.objective is not None:
            return []
        if self.outliers is None or self.outliers[0] != self.rests_on:
            self.outliers = self.rests_on, self._outliers_now()
        return self.outliers[1]

    def _outliers_now(self) -> list[int]:
        found = judged(self.state) if isinstance(self.state, State) else None
        if found is None:
            return []
        numbers = np.array(self.dataset.keys_with_value())[found.rows]
        kept = numbers > 0  # without the estimates of stopped trials
        values = self.state.record.values[found.rows[kept]].tolist()
        places = outliers(values, found.tails[kept].tolist(), found.doubted[kept].tolist())
        contradicted: list[int] = numbers[kept][places].tolist()
        return contradicted

    def count(self, event: EventRow) -> None:
        """Add an event to the dataset and to the counts, but not to the engine's state, which includes it already or is
        behind."""
        self.dataset.apply(event)
        if event.kind == "edited" and event.payload["version"] > self.definition.space_version:
            self._edit(event.payload)
        self.seq = event.seq
        if event.affects_model:
            self.rests_on = event.seq
        self.in_run = 0 if ends_run(event) else self.in_run + event.brings_result

    def apply(self, event: EventRow) -> None:
        """Apply an event that is no decision of the engine to the engine's state."""
        match event.kind:
            case "observed" | "stopped" if event.brings_result:
                result = self.dataset.result(event)
                if result.position is None:  # the space was edited since the point was issued
                    return
                if not result.has_value:
                    self._rebuild(event)
                    return
                numbers = result.position, result.value, result.error, result.metrics, result.plate
                self._update(self.policy.observe(self.state, *numbers), event.seq)
            case "corrected" | "measured":
                self._rebuild(event)
            case "edited":
                self._edit(event.payload)
                self.cells, self.changed, self.tree_seq = {}, {}, event.seq
                assert isinstance(self.policy, GeneralPolicy), "the contract refuses edits with other algorithms"
                space, record = self.dataset.space, self.dataset.record()
                self._update(self.policy.edited(self.state, space, self.config(), record), event.seq)

    def adopt(self, event: SuggestedRow, decision: Decision | None) -> None:
        """Apply the decision behind a trial of the log. None if the model finds no point for it."""
        if decision is None or decision.proposal.parameters != event.payload["parameters"]:
            self.diverged.append(event.trial or 0)
        if decision is not None:
            self.state = decision.state
            self._change_cells(decision.cells, event.seq)

    def _edit(self, edit: Edited) -> None:
        """Replace the definition and the dataset after an edit of the space."""
        stored = edited(self.definition.model_dump(mode="json"), edit)
        self.definition, self.tables = definition_of(stored), tables_of(stored)
        self.dataset.move_to(self.definition.space())

    def _rebuild(self, event: EventRow) -> None:
        """Apply an event that does more than add one result with a value: rebuild the state from all results."""
        self.dataset.apply(event)
        self._update(self.policy.rebuild(self.state, self.dataset.record(), self.cells), event.seq)

    def _update(self, update: Update[Any], seq: int) -> None:
        self.state, self.prepared, self.is_behind = update.state, False, False
        self._change_cells(update.cells, seq)

    def _change_cells(self, cells: dict[str, str], seq: int) -> None:
        self.cells.update(cells)  # a cell that changes again keeps its place in the order
        self.changed.update(dict.fromkeys(cells, seq))


def finite(number: float | None) -> float | None:
    """The number; None if it is not finite."""
    return number if number is not None and math.isfinite(number) else None
