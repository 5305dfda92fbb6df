"""Queries of the web interface that the API does not have: lists that can be searched and sorted, and a limited number
of results for charts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Any

from sqlalchemy import ColumnElement, Connection

from adabkb_service.contract import answers
from adabkb_service.contract.algorithms import AutoProfile
from adabkb_service.contract.quantities import OBJECTIVE, UNNAMED, informative, is_beyond_reach
from adabkb_service.contract.stored import StoredDefinition, definition_of
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.ending import reason_to_end
from adabkb_service.engine.simplex import with_shares_given_way
from adabkb_service.engine.space import Space
from adabkb_service.operations.model import analysis, coverage
from adabkb_service.operations.model.density import density
from adabkb_service.operations.model.records import BestSoFar, RecordList, Records
from adabkb_service.operations.model.sample import sampled
from adabkb_service.operations.service import Service
from adabkb_service.operations.words.ending import EndedEarly, ended_early
from adabkb_service.storage import events, grants, observations, overview, result_table, studies
from adabkb_service.storage.rows import EventRow, StudyState
from adabkb_service.study import render

MAX_RESULTS = 1500
"""The approximate number of results that a chart draws. Of studies with more, it draws a sample."""
MAX_CURVES = 100
"""The maximum number of trials whose curves are drawn."""
MAX_POINTS = 100
"""The approximate number of reports of each of these trials in the chart."""
MAX_SOUGHT = 2000
"""The maximum number of results of a study among which the list of studies seeks repetitions of the best one."""
MAX_REPEATS = 20
"""The maximum number of results at one point that are listed."""
RECENT = 300
"""The maximum number of trials in the timeline; the latest ones are shown."""


@dataclass(frozen=True, slots=True)
class StudyLine:
    """A study in the list."""

    study: overview.ListedStudy
    state: str
    """The state, or ``ending`` if the study issues no more new points, but has trials without a result."""
    best_so_far: BestSoFar
    """The records, without the results that other results contradict."""
    owner: str | None
    """None if no token is required, or if the study has no owner."""
    is_doubted: bool
    """Whether the model last found the best result to be an outlier, or it is beyond a natural bound."""
    repeated: result_table.Repeats | None
    """The results at the point of the best one; None if it is the only one there, and in a study with more than
    ``MAX_SOUGHT`` results."""


@dataclass(frozen=True, slots=True)
class StudyList:
    """A page of studies, and the number of studies in each state."""

    lines: list[StudyLine]
    counts: dict[StudyState, int]


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: a result with its trial, a result without a trial, or a trial without a result."""

    trial: answers.Trial | None
    result: answers.Observation | None
    is_corrected: bool = False
    repeats: result_table.Repeats | None = None
    """The results at the same point; None if there is only this one."""
    is_repeat: bool = False
    """Whether a user queued the trial at a point that has an earlier result."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A page of the table, and the number of all its rows."""

    lines: list[Line]
    count: int


class Overview:
    """Lists and charts of a service's studies."""

    def __init__(self, service: Service, most_results: int = MAX_RESULTS) -> None:
        """Args:
        service: the service.
        most_results: the approximate number of results in a chart of a study that has more.
        """
        self._service = service
        self._most_results = most_results
        self._records = Records()

    def studies(
        self,
        text: str,
        state: StudyState | None,
        offset: int,
        limit: int,
        conditions: Sequence[ColumnElement[bool]] = (),
    ) -> StudyList:
        """Return a page of the studies whose id, title, description, owner or tags contain a text and that satisfy
        all conditions, latest change first."""
        with self._service.database.reading() as connection:
            rows = overview.page_of_studies(connection, text, state, offset, limit, *conditions)
            counts = overview.count_studies(connection, text, *conditions)
            owners = grants.owners(connection, [row.id for row in rows])
            lines = [self._line(connection, row, owners.get(row.id)) for row in rows]
        return StudyList(lines, counts)

    def _line(self, connection: Connection, study: overview.ListedStudy, owner: str | None) -> StudyLine:
        best_so_far = self._records.best_so_far(connection, study)
        outliers, best = frozenset(study.outliers or ()), best_so_far.records[-1][0] if best_so_far.records else None
        is_doubted = best in outliers or is_beyond_reach(study.best, study.direction, study.objective or {})
        repeated = self._records.repeated(connection, study) if study.observations <= MAX_SOUGHT else None
        if any(number in outliers for number, _ in best_so_far.records):
            best_so_far = self._records.best_so_far(connection, study, outliers)
        return StudyLine(study, _state(study), best_so_far, owner, is_doubted, repeated)

    def table(
        self,
        study_id: str,
        kind: result_table.RowKind | None,
        worker: str,
        sort: result_table.Sort,
        offset: int,
        limit: int,
    ) -> Lines:
        """Return a page of the results and of the trials without a result, in a given order.

        Raises:
            StudyNotFound: the study does not exist.
        """
        with self._service.database.reading() as connection:
            study = studies.get(connection, study_id)
            definition = definition_of(study.definition)
            names = [each.name for each in definition.metrics_with_bounds]
            rows, count = result_table.page(
                connection,
                study_id,
                kind=kind,
                worker=worker,
                sort=sort,
                offset=offset,
                limit=limit,
                measured=names if definition.objectives else [None, *names],
            )
            seqs = [row.result.seq for row in rows if row.result is not None]
            corrected = result_table.corrected(connection, study_id) if seqs else set()
            repeats = result_table.repeats(connection, study_id, seqs)
            queued = [row.trial.number for row in rows if row.trial and row.trial.origin == "queued" and not row.result]
            repeating = result_table.repeating(connection, study_id, queued) if queued else set()
        space = definition.space()
        return Lines([_line(row, definition, space, corrected, repeats, repeating) for row in rows], count)

    def history(self, study_id: str) -> dict[str, Any]:
        """Return a study's results; if there are many, the extreme ones and a random sample. Each has the prediction
        that was made when its point was suggested, unless there were too few results to rely on it, and whether it is
        in the sample.

        Raises:
            StudyNotFound: the study does not exist.
        """
        with self._service.database.reading() as connection:
            study = studies.get(connection, study_id)
            sample = sampled(study.observations, self._most_results)
            rows = overview.thinned(connection, study_id, study.observations, self._most_results, sample)
            best = self._records.of(connection, study)
            definition = definition_of(study.definition)
            space, since, fewest = definition.space(), None, 0
            if isinstance(definition.algorithm, AutoProfile):
                fewest = Domain(space).fewest_results
                since = result_table.moment_of(connection, study_id, fewest)
        results = [{**_result(row, definition, space), "is_sampled": row.observation.seq in sample} for row in rows]
        for row, each in zip(rows, results, strict=True):
            if fewest and (each["seq"] <= fewest or not _is_since(row.suggested_at, since)):
                each["expected"] = None
        _remove_gaps(results, best, definition)
        return {"count": study.observations, "results": results, "records": best}

    def density(self, study_id: str, metric: str | None) -> dict[str, Any] | None:
        """Return the density of a study's results, for the objective or a metric; None without results.

        Raises:
            StudyNotFound: the study does not exist.
        """
        with self._service.database.reading() as connection:
            studies.get(connection, study_id)
            found = overview.values(connection, study_id, metric)
        return density(found) if found else None

    def progress(self, study_id: str) -> dict[str, Any]:
        """Return what a comparison shows of the results of a study, without asking the model:

        * ``count``: the number of results.
        * ``records``: number and value of each result that was better than all before it; empty with several
          objectives.
        * ``revision``: the number of events so far.
        * ``is_doubted``: whether the best result is doubtful, as far as this is stored.
        * ``repeated``: the number and the mean of the results at its point; None if it has only one, or if there are
          more than ``MAX_SOUGHT`` results.

        Raises:
            StudyNotFound: the study does not exist.
        """
        with self._service.database.reading() as connection:
            study = studies.get(connection, study_id)
            records, best = self._records.of(connection, study), render.best(study)
            at_best = None
            if best is not None and study.observations <= MAX_SOUGHT:
                at_best = result_table.at_best(connection, study.id, best.trial, best.value)
        outliers = [] if study.model is None else study.model.get("outliers", [])
        is_outlier = bool(records) and records[-1][0] in outliers
        return {
            "count": study.observations,
            "records": records,
            "revision": study.study_seq,
            "is_doubted": is_outlier or render.is_beyond_reach(study),
            "repeated": at_best and {"count": at_best.count, "mean": at_best.mean},
        }

    def forbidden(self, study_id: str, names: Sequence[str]) -> list[bool]:
        """Return whether each point of a slice along one or two parameters violates a constraint or a mixture.

        Raises:
            StudyNotFound: the study does not exist.
            Invalid, Unavailable: see ``analysis.slice_through``.
        """
        found = analysis.slice_through(self._service, study_id, names, None, {})
        with self._service.database.reading() as connection:
            space = definition_of(studies.get(connection, study_id).definition).space()
        points = product(*(axis.values for axis in found.axes))
        whole = [space.filled({**found.at, **dict(zip(names, point, strict=True))}) for point in points]
        return [not space.admits(point) for point in with_shares_given_way(space, whole, names)]

    def excluded(self, study_id: str, names: Sequence[str], edges: Sequence[Sequence[float]]) -> list[bool]:
        """Return which combinations of parts of two parameters the constraints and mixtures exclude: see
        ``coverage.excluded``.

        Raises:
            StudyNotFound: the study does not exist.
            Invalid: a parameter or its edges are not valid.
        """
        with self._service.database.reading() as connection:
            space = definition_of(studies.get(connection, study_id).definition).space()
        return coverage.excluded(space, names, edges)

    def tried(
        self, study_id: str, names: Sequence[str], edges: Sequence[Sequence[float]], metric: str | None
    ) -> list[coverage.Tried]:
        """Count all results and failed trials in the combinations of parts of two parameters: see ``coverage.tried``.
        The values are those of the objective or of a metric.

        Raises:
            StudyNotFound: the study does not exist.
            Invalid: a parameter is not valid.
        """
        with self._service.database.reading() as connection:
            study = studies.get(connection, study_id)
            results = overview.points(connection, study_id, metric)
            failed = overview.failed_points(connection, study_id)
        definition = definition_of(study.definition)
        space = definition.space()
        if definition.space_version:
            results = [each for each in results if space.present(each[0]) is not None]
        return coverage.tried(space, names, edges, results, failed)

    def timeline(self, study_id: str) -> list[answers.Trial]:
        """Return the most recently leased trials, ordered by number.

        Raises:
            StudyNotFound: the study does not exist.
        """
        with self._service.database.reading() as connection:
            study = studies.get(connection, study_id)
            rows = overview.recent_trials(connection, study_id, RECENT)
        definition = definition_of(study.definition)
        return [render.trial(row, definition) for row in rows]

    def ended(self, study_id: str) -> EndedEarly | None:
        """Return how a user ended a study before its budget was used up; None if no user did.

        Raises:
            StudyNotFound: the study does not exist.
        """
        with self._service.database.reading() as connection:
            return ended_early(connection, studies.get(connection, study_id))

    def has_curves(self, study_id: str) -> bool:
        """Return whether trials of a study report intermediate values."""
        with self._service.database.reading() as connection:
            return overview.has_reports(connection, study_id)

    def curves(self, study_id: str, numbers: Sequence[int] = (), best: int | None = None) -> list[dict[str, Any]]:
        """Return the curves of trials with reports, thinned if they are long.

        Args:
            study_id: the study's id.
            numbers: the numbers of the trials; by default the latest ones.
            best: return at most this many completed trials, those with the best results; None for the latest trials.

        Raises:
            StudyNotFound: the study does not exist.
        """
        with self._service.database.reading() as connection:
            study = studies.get(connection, study_id)
            largest = definition_of(study.definition).sign > 0.0
            order = None if best is None else overview.Order.LARGEST if largest else overview.Order.SMALLEST
            selection = overview.TrialSelection(best or MAX_CURVES, numbers, order)
            found = overview.curves(connection, study_id, selection, MAX_POINTS)
        return [
            {"trial": row.number, "state": row.state, "value": row.value, "worker": row.worker, "points": points}
            for row, points in found
        ]

    def results_of(self, study_id: str, trial: int) -> Sequence[answers.Observation]:
        """Return the observations of a trial, in order.

        Raises:
            StudyNotFound: the study does not exist.
        """
        with self._service.database.reading() as connection:
            definition = definition_of(studies.get(connection, study_id).definition)
            rows = observations.of_trial(connection, study_id, trial)
        space = definition.space()
        return [render.observation(row, definition, space) for row in rows]

    def at_point_of(self, study_id: str, trial: int) -> list[result_table.AtPoint]:
        """Return the first results at the point of a trial: where its first result was measured or, if it has none, its
        suggested point."""
        with self._service.database.reading() as connection:
            return result_table.at_point_of(connection, study_id, trial, MAX_REPEATS)

    def at_best(self, study_id: str, best: answers.Best | None) -> result_table.Repeats | None:
        """Return the results at the point of the best result; None if it is the only one there."""
        if best is None:
            return None
        with self._service.database.reading() as connection:
            return result_table.at_best(connection, study_id, best.trial, best.value)

    def row_of(self, study_id: str, parameters: Mapping[str, Any]) -> dict[str, float]:
        """Return column -> number for the catalogue row of a point; empty without a catalogue.

        Raises:
            StudyNotFound: the study does not exist.
        """
        with self._service.database.reading() as connection:
            space = definition_of(studies.get(connection, study_id).definition).space()
        catalogues = (axis for axis in space.axes if isinstance(axis, CatalogueAxis))
        return {column: n for axis in catalogues for column, n in axis.numbers_of(parameters.get(axis.name)).items()}

    def events_of(self, study_id: str, trial: int) -> list[EventRow]:
        """Return the events about a trial, in order."""
        with self._service.database.reading() as connection:
            return events.of_trial(connection, study_id, trial)

    def result(self, study_id: str, seq: int) -> tuple[answers.Observation, list[EventRow]]:
        """Return a result, and the events about it in order.

        Raises:
            StudyNotFound, ObservationNotFound: the study or the observation does not exist.
        """
        with self._service.database.reading() as connection:
            definition = definition_of(studies.get(connection, study_id).definition)
            row = observations.get(connection, study_id, seq)
            log = overview.events_of_result(connection, study_id, seq)
        return render.observation(row, definition, definition.space()), log


def _remove_gaps(results: Sequence[dict[str, Any]], records: RecordList, definition: StoredDefinition) -> None:
    """Remove the gaps that were not informative (see ``informative``), given the best result before each."""
    bounds = definition.quantities.get(OBJECTIVE, UNNAMED).model_dump()
    numbers = [seq for seq, _ in records]
    for each in results:
        place = bisect_left(numbers, each["seq"])
        best = records[place - 1][1] if place else None
        each["gap"] = informative(each["gap"], best, definition.direction, bounds)


def _line(
    row: result_table.TableRow,
    definition: StoredDefinition,
    space: Space,
    corrected: set[int],
    repeats: Mapping[int, result_table.Repeats],
    repeating: set[int],
) -> Line:
    trial = None if row.trial is None else render.trial(row.trial, definition)
    if row.result is None:
        return Line(trial, None, is_repeat=trial is not None and trial.number in repeating)
    seq, same = row.result.seq, repeats.get(row.result.seq)
    is_repeat = trial is not None and trial.origin == "queued" and same is not None and seq != same.first
    return Line(trial, render.observation(row.result, definition, space), seq in corrected, same, is_repeat)


def _is_since(moment: datetime | None, since: datetime | None) -> bool:
    return moment is not None and since is not None and moment >= since


def _state(study: overview.ListedStudy) -> str:
    since_gain = (study.results_since_growth or 0) if study.objectives else study.results_since_best
    reason = reason_to_end(
        is_used_up=study.has_no_budget_left,
        is_exhausted=bool(study.is_exhausted),
        rules=study.stop or {},
        since_gain=since_gain,
        gap_share=study.gap_share,
    )
    return "ending" if study.state == "running" and reason is not None else study.state


def _result(row: overview.ResultRow, definition: StoredDefinition, space: Space) -> dict[str, Any]:
    view = render.observation(row.observation, definition, space).model_dump(mode="json")
    view["excluded"] = view["excluded"] or view.get("outside", False)  # the model uses neither kind
    details = {
        "phase": row.phase,
        "expected": row.expected,
        "origin": row.origin,
        "worker": row.worker,
        "cell": row.cell,
        "gap": row.gap,
    }
    return view | details
