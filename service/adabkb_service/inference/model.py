"""A study's model: the engine's state after the events of the log. To fold an event is to update the state with it.

A model is a pure function of the events. The database has its cells, dictionary and learned parameters as of some
event. ``restore`` rebuilds the model from them and the log; the model then folds the later events.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.contract.stored import StoredDefinition, definition_of, edited
from adabkb_service.engine.auto import config as auto
from adabkb_service.engine.auto.reports.front import results_since_gain
from adabkb_service.engine.auto.reports.left_out import judged
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.moves import Suggestion, Update
from adabkb_service.engine.older import Older
from adabkb_service.engine.policy import GeneralPolicy, Policy
from adabkb_service.engine.slices import Slice, are_alike
from adabkb_service.engine.space import Space
from adabkb_service.inference.dataset import Dataset, Run, ends_run, is_decision, run_at
from adabkb_service.inference.kept_answers import KeptAnswers
from adabkb_service.inference.outliers import outliers
from adabkb_service.inference.proposals import Decision, Expected, Proposal, expected
from adabkb_service.inference.restriction import UNRESTRICTED, Restriction, Values
from adabkb_service.storage.catalogues import Pieces, tables_of
from adabkb_service.storage.columns import ModelStats
from adabkb_service.storage.event_payloads import Edited
from adabkb_service.storage.rows import EventRow, SuggestedRow

Array = NDArray[np.float64]

MANY = 100
"""If a run has more results than this, as after an import, the model is rebuilt once from all results. Adding them one
by one would take milliseconds each, since hyperparameters would be learned many times."""


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
    decided: list[Decision] = field(default_factory=list)
    """Decisions whose points have not been issued. Each assumes the current state, and that the points of the previous
    decisions are issued."""
    within: Restriction = UNRESTRICTED
    """The restriction on the points of ``decided`` and further ones."""
    prepared: bool = True
    """Whether ``prepare`` has no work left for the current state."""
    unsaved: dict[str, str] = field(default_factory=dict)
    """Cells changed since they were stored."""
    is_new_tree: bool = False
    """Whether the tree was rebuilt after an edit of the space, so that the stored cells are not part of it."""
    has_folded: bool = False
    """Whether any event was folded since the model was restored; if not, its statistics equal the stored ones."""
    used_at: float = field(default_factory=time.monotonic)
    """When the model last got a message, by ``time.monotonic``."""
    fold_seconds: float = 0.0
    """Seconds that it took to fold the latest events."""
    run: Run | None = None
    """The run of the last result that was folded, in the part of the log that was known then."""
    in_run: int = 0
    """The number of results since the last event for which ``ends_run`` is true."""
    is_behind: bool = False
    """Whether the engine lacks results of the dataset. If so, the model cannot be used before it is rebuilt."""
    measured_seq: int = 0
    """Seq of the last folded event when the model's size was measured."""
    saved_seq: int = 0
    """Seq of the last event in the stored rows."""
    saved_dictionary: frozenset[int] | None = None
    """The dictionary as stored; None if it must be read."""
    outliers: tuple[int, list[int]] | None = None
    """``rests_on`` when the outliers were computed, and the numbers of these results; None before."""
    diverged: list[int] = field(default_factory=list)
    """Numbers of the trials for which the model decided on another point than the one in the log."""
    tables: tuple[Pieces, ...] = ()
    """Tables of the catalogues; an edit of the space may change them."""
    older: tuple[Older, ...] = ()
    """Results of older studies, in ``first_space``."""
    kept: KeptAnswers = field(default_factory=KeptAnswers)
    """Cached answers of the current model, shared with its snapshots."""
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
        return replace(self, dataset=self.dataset.copy(), cells=dict(self.cells), decided=list(self.decided))

    def fold(self, log: Sequence[EventRow], *, until: float = math.inf) -> None:
        """Fold the next events.

        Args:
            log: the events.
            until: time limit, by ``time.monotonic``. At least one event is folded; those after the limit are not.

        Raises:
            Exception: raised by the engine; the model is then unusable.
        """
        self.kept = KeptAnswers()
        for index, event in enumerate(log):
            if index and time.monotonic() > until:
                return
            if self._is_skipped(log, index):
                self.decided.clear()
                self.is_behind = True
            else:
                self._apply_to_engine(event)
            self._count(event)
        self._catch_up()

    def _is_skipped(self, log: Sequence[EventRow], index: int) -> bool:
        """Whether the engine can skip an event, because the model is rebuilt from all results before the next decision.
        This happens if the event's run ends with an edit or a changed result, or has more than ``MANY`` results. So a
        result that the engine cannot process does no harm once it is corrected. The run is stored for the next calls,
        since the log may be long."""
        event = log[index]
        if not (event.brings_result or event.changes_result):
            return False
        if self.run is None or self.run.end <= event.seq:
            self.run = run_at(log, index, 0 if event.changes_result else self.in_run)
        return self.run.is_rebuilt or (event.brings_result and self.run.results > MANY)

    def _catch_up(self) -> None:
        """Rebuild the model if it is behind."""
        if self.is_behind:
            self._update(self.policy.rebuild(self.state, self.dataset.record(), self.cells))

    def accept(self, log: Iterable[EventRow]) -> None:
        """Add events that the engine's state already includes to the dataset and the counts."""
        self.kept = KeptAnswers()
        for event in log:
            self._count(event)

    def restrict(self, within: Restriction) -> None:
        """Set the restriction on further points, and drop decisions that do not satisfy it."""
        self.within = within
        if self.decided and not are_alike(self.decided[0].proposal.fixed, self._first_values()):
            self.decided.clear()

    def decide(self, count: int, *, until: float = math.inf) -> None:
        """Decide on ``count`` more points, or on fewer if a finite space or slice has fewer left.

        Args:
            count: number of points.
            until: time limit, by ``time.monotonic``. At least one point is decided on, if there is one.
        """
        state = self.policy.with_spent(self.state, sum(self.dataset.stopped_costs.values()))
        pending = self.dataset.pending()
        if self.decided:
            state = self.decided[-1].state
            pending = np.concatenate([pending, [decision.point for decision in self.decided]])
        failed, replaced = self.dataset.failed_points(), self.dataset.replaced_points()
        gap = self.policy.report(self.state).gap
        for fixed, suggestion in islice(self._suggestions(state, pending, failed, replaced), count):
            proposal = Proposal(
                {**self.dataset.parameters_at(suggestion.point), **(fixed or {})},
                "policy",
                suggestion.cell,
                suggestion.capped,
                suggestion.phase,
                self._expected(suggestion.point),
                fixed,
                self._trust(suggestion.trust),
                _finite(gap),
            )
            self.decided.append(Decision(proposal, suggestion.state, dict(suggestion.cells), suggestion.point))
            if time.monotonic() > until:
                return

    def _suggestions(
        self, state: Any, pending: Array, failed: Array, replaced: Array
    ) -> Iterator[tuple[Values | None, Suggestion[Any]]]:
        """Further suggestions after those decided on, each with the values that were fixed for it. The first point of a
        plate determines the shared values of the plate's other points."""
        fixed = self._next_values()
        if self.within.shared and not self.decided and are_alike(fixed, self.within.fixed):  # begins a plate
            first = next(self._suggestions_with(fixed, state, pending, failed, replaced), None)
            if first is None:
                return
            yield fixed, first
            state, pending = first.state, np.concatenate([pending, first.point[None]])
            fixed = self.within.after({**self.dataset.parameters_at(first.point), **(fixed or {})})
        for suggestion in self._suggestions_with(fixed, state, pending, failed, replaced):
            yield fixed, suggestion

    def _suggestions_with(
        self, fixed: Values | None, state: Any, pending: Array, failed: Array, replaced: Array
    ) -> Iterator[Suggestion[Any]]:
        if fixed is None:
            return self.policy.suggestions(state, pending, failed, replaced)
        assert isinstance(self.policy, GeneralPolicy), "the contract refuses fixed values with other algorithms"
        return self.policy.suggestions_within(state, self._slice(fixed), pending, failed, replaced)

    def _first_values(self) -> Values | None:
        """The fixed values of the first point: those of the request and, unless all their points on the open plate are
        issued, the plate's shared values."""
        within = self.within
        if within.plate is None:
            return within.fixed
        return within.fixed if self._has_issued_all(within.continued) else within.continued

    def is_plate_over(self) -> bool:
        """Whether all points with the shared values of the open plate are issued."""
        plate = self.within.plate
        return plate is not None and self._has_issued_all(self.within.continued) and self._has_issued_all(plate)

    def _has_issued_all(self, fixed: Values | None) -> bool:
        """Whether all points with these values are issued."""
        within, issued = self._slice(fixed or {}), self.dataset.issued_positions()
        return self.policy.exhausted(self.state, issued, within, self.dataset.failed_points())

    def _next_values(self) -> Values | None:
        """The fixed values of the next point after those decided on."""
        if not self.decided:
            return self._first_values()
        return self.within.after(self.decided[0].proposal.parameters)

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

    def _expected(self, point: Array) -> Expected | None:
        """The prediction at a point (d,). None before the first result and, without older studies, while all results
        are equal. Equal results do not show how much the objective varies, so the interval would depend on its unit."""
        values = {each.value for each in self.dataset.results.values() if each.has_value}
        if len(values) < (1 if self.definition.transfer_from else 2):
            return None
        (found,) = self.predict(point[None])
        return found if found.is_finite else None

    def _trust(self, trust: Mapping[str, float]) -> dict[str, float] | None:
        """Older study -> its weight, 0 if it is not used; None without older studies."""
        older = self.definition.transfer_from
        return dict.fromkeys(older, 0.0) | dict(trust) if older else None

    def prepare(self) -> None:
        """Do the part of the work for the next result that does not depend on this result, for the current state and
        the states after the decisions. If hyperparameters are due to be learned, this call only learns them, and the
        next one does the rest, so that other studies wait less."""
        learns, self.prepared = self.policy.learns_next(self.state), True  # if it fails, it is not tried again
        self.state = self.policy.prepare(self.state)
        self.decided = [
            replace(decision, state=self.policy.with_prepared_of(decision.state, self.state))
            for decision in self.decided
        ]
        self.prepared = not learns

    @property
    def learns_next(self) -> bool:
        """Whether the next step learns hyperparameters."""
        return not self.prepared and self.policy.learns_next(self.state)

    def has_decided_on_all(self) -> bool:
        """Whether all points of the space or slice are issued or decided on."""
        state = self.decided[-1].state if self.decided else self.state
        points = [decision.point for decision in self.decided]
        issued, failed = self.dataset.issued_positions(), self.dataset.failed_points()
        fixed = self._next_values()
        within = None if fixed is None else self._slice(fixed)
        known = np.concatenate([issued, points]) if points else issued
        return self.policy.exhausted(state, known, within, failed)

    def _slice(self, fixed: dict[str, Any]) -> Slice:
        return Slice(self.dataset.space, fixed)

    def stats(self) -> ModelStats:
        """Statistics of the state, in the objective's units and sign; None instead of numbers that are not finite."""
        report = self.policy.report(self.state)
        issued, failed = self.dataset.issued_positions(), self.dataset.failed_points()
        stats: ModelStats = {
            "gap": _finite(report.gap),
            "beta": _finite(report.beta),
            "leaves": report.leaves,
            "depth": report.depth,
            "dictionary": report.dictionary,
            "basis": report.basis,
            "effective_dimension": _finite(report.effective_dimension) or 0.0,
            "points": report.points,
            "observations": report.observations,
            "offset": _finite(report.offset * self.sign + 0.0),  # -0.0 becomes 0.0
            "scale": _finite(report.scale),
            "clipped": report.clipped,
            "gap_share": _finite(report.gap_share),
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

    def _count(self, event: EventRow) -> None:
        """Add an event to the dataset and to the counts, but not to the engine's state."""
        self.dataset.apply(event)
        if event.kind == "edited" and event.payload["version"] > self.definition.space_version:
            self._edit(event.payload)
        self.seq = event.seq
        if event.affects_model:
            self.rests_on, self.has_folded = event.seq, True
        self.in_run = 0 if ends_run(event) else self.in_run + event.brings_result

    def _edit(self, edit: Edited) -> None:
        """Replace the definition and the dataset after an edit of the space."""
        stored = edited(self.definition.model_dump(mode="json"), edit)
        self.definition, self.tables = definition_of(stored), tables_of(stored)
        self.dataset.move_to(self.definition.space())
        self.within = UNRESTRICTED  # the fixed values may be outside the edited space

    def _apply_to_engine(self, event: EventRow) -> None:
        """Apply an event to the engine."""
        if is_decision(event):
            self._catch_up()
            self._adopt(event)
            return
        if event.affects_model:
            self.decided.clear()
        match event.kind:
            case "observed" | "stopped" if event.brings_result:
                result = self.dataset.result(event)
                if result.position is None:  # the space was edited since the point was issued
                    return
                if not result.has_value:
                    self._rebuild(event)
                    return
                numbers = result.position, result.value, result.error, result.metrics, result.plate
                self._update(self.policy.observe(self.state, *numbers))
            case "corrected" | "measured":
                self._rebuild(event)
            case "edited":
                self._edit(event.payload)
                self.cells, self.unsaved, self.is_new_tree = {}, {}, True
                space, record = self.dataset.space, self.dataset.record()
                assert isinstance(self.policy, GeneralPolicy), "the contract refuses edits with other algorithms"
                self._update(self.policy.edited(self.state, space, self.config(), record))

    def _rebuild(self, event: EventRow) -> None:
        """Apply an event that does more than add one result with a value: rebuild the state from all results."""
        self.dataset.apply(event)
        self._update(self.policy.rebuild(self.state, self.dataset.record(), self.cells))

    def _update(self, update: Update[Any]) -> None:
        self.state, self.prepared, self.is_behind = update.state, False, False
        self._change_cells(update.cells)

    def _adopt(self, event: SuggestedRow) -> None:
        """Apply the decision behind a trial of the log. If ``decided`` does not have it, make it again."""
        self.restrict(Restriction(event.payload["fixed"]))
        if not self.decided:
            self.decide(1)
        decided, self.decided = self.decided, []
        if not decided or decided[0].proposal.parameters != event.payload["parameters"]:
            self.diverged.append(event.trial or 0)
        else:
            self.decided = decided[1:]
        if decided:
            self.state = decided[0].state
            self._change_cells(decided[0].cells)

    def _change_cells(self, cells: dict[str, str]) -> None:
        self.cells.update(cells)  # a cell that changes again keeps its place in the order
        self.unsaved.update(cells)


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
