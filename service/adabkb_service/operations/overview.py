"""Reads for the web interface beyond the API: lists with search and order, and results, thinned for charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sqlalchemy import ColumnElement

from adabkb_service.contract import answers
from adabkb_service.contract.history import Event
from adabkb_service.contract.stored import StoredDefinition, definition_of
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.simplex import with_shares_given_way
from adabkb_service.engine.space import Space
from adabkb_service.operations import analysis
from adabkb_service.operations.density import density
from adabkb_service.operations.records import Found, Records
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, grants, observations, overview, result_table, studies
from adabkb_service.storage.rows import StudyState
from adabkb_service.study import render

MOST_RESULTS = 1500
"""The approximate number of results in a chart of a study that has more."""
MOST_CURVES = 100
"""Trials whose reports are drawn, ..."""
MOST_POINTS = 100
"""The approximate number of reports of each of them."""
RECENT = 300
"""Trials of the timeline."""


@dataclass(frozen=True, slots=True)
class StudyLine:
    """A study in the list."""

    study: overview.ListedStudy
    records: Found
    owner: str | None
    """None if no token is required, or if the study has no owner."""


@dataclass(frozen=True, slots=True)
class StudyList:
    """Some studies, and how many there are of each state."""

    lines: list[StudyLine]
    counts: dict[StudyState, int]


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: a result with its trial, or either alone."""

    trial: answers.Trial | None
    result: answers.Observation | None
    is_corrected: bool = False
    repeats: result_table.Repeats | None = None
    """The results at the same point, if there are several."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Some rows of the table, and how many there are."""

    lines: list[Line]
    count: int


class Overview:
    """The lists and the history of a service's studies."""

    def __init__(self, service: Service, most_results: int = MOST_RESULTS) -> None:
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
        """Studies that meet conditions, with a text in the id or the tags, the one that changed last first."""
        with self._service.database.reading() as connection:
            rows = overview.page_of_studies(connection, text, state, offset, limit, *conditions)
            counts = overview.count_studies(connection, text, *conditions)
            owners = grants.owners(connection, [row.id for row in rows])
            lines = [StudyLine(row, self._records.of(connection, row), owners.get(row.id)) for row in rows]
        return StudyList(lines, counts)

    def table(
        self,
        study_id: str,
        kind: result_table.RowKind | None,
        worker: str,
        sort: result_table.Sort,
        offset: int,
        limit: int,
    ) -> Lines:
        """Results and trials without one, in an order.

        Raises:
            StudyNotFound: there is no such study.
        """
        with self._service.database.reading() as connection:
            definition = definition_of(studies.get(connection, study_id).definition)
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
        space = definition.space()
        return Lines([_line(row, definition, space, corrected, repeats) for row in rows], count)

    def history(self, study_id: str) -> dict[str, Any]:
        """The results of a study, thinned if they are many, with what was known of each when it was suggested.

        Raises:
            StudyNotFound: there is no such study.
        """
        with self._service.database.reading() as connection:
            study = studies.get(connection, study_id)
            rows = overview.thinned(connection, study_id, study.observations, self._most_results)
            best = self._records.of(connection, study)
        definition = definition_of(study.definition)
        space = definition.space()
        results = [_result(row, definition, space) for row in rows]
        return {"count": study.observations, "results": results, "records": best}

    def density(self, study_id: str, metric: str | None) -> dict[str, Any] | None:
        """Where the results of a study lie, of the objective or of a metric; None without any.

        Raises:
            StudyNotFound: there is no such study.
        """
        with self._service.database.reading() as connection:
            studies.get(connection, study_id)
            found = overview.values(connection, study_id, metric)
        return density(found) if found else None

    def progress(self, study_id: str) -> dict[str, Any]:
        """The best so far of a study: how many results there are, and number and value of each that was better than
        all before it; none of several objectives.

        Raises:
            StudyNotFound: there is no such study.
        """
        with self._service.database.reading() as connection:
            study = studies.get(connection, study_id)
            return {"count": study.observations, "records": self._records.of(connection, study)}

    def forbidden(self, study_id: str, names: Sequence[str]) -> list[bool]:
        """Which points of the slice along two parameters do not keep the constraints or are no mixtures, in its order.

        Raises:
            StudyNotFound: there is no such study.
            Invalid, Unavailable: there is no such slice, or no model to tell where it goes through.
        """
        found = analysis.slice_through(self._service, study_id, names, None, {})
        with self._service.database.reading() as connection:
            space = definition_of(studies.get(connection, study_id).definition).space()
        points = product(*(axis.values for axis in found.axes))
        whole = [space.filled({**found.at, **dict(zip(names, point, strict=True))}) for point in points]
        return [not space.admits(point) for point in with_shares_given_way(space, whole, names)]

    def timeline(self, study_id: str) -> list[answers.Trial]:
        """The trials that were leased last, by number.

        Raises:
            StudyNotFound: there is no such study.
        """
        with self._service.database.reading() as connection:
            studies.get(connection, study_id)
            rows = overview.recent_trials(connection, study_id, RECENT)
        return [render.trial(row) for row in rows]

    def has_curves(self, study_id: str) -> bool:
        """Whether trials of a study report values before their end."""
        with self._service.database.reading() as connection:
            return overview.has_reports(connection, study_id)

    def curves(self, study_id: str) -> list[dict[str, Any]]:
        """The reports of the last trials that have any, thinned if there are many.

        Raises:
            StudyNotFound: there is no such study.
        """
        with self._service.database.reading() as connection:
            studies.get(connection, study_id)
            found = overview.curves(connection, study_id, MOST_CURVES, MOST_POINTS)
        return [
            {"trial": row.number, "state": row.state, "value": row.value, "worker": row.worker, "points": points}
            for row, points in found
        ]

    def results_of(self, study_id: str, trial: int) -> Sequence[answers.Observation]:
        """The observations of a trial, in order."""
        with self._service.database.reading() as connection:
            definition = definition_of(studies.get(connection, study_id).definition)
            rows = observations.of_trial(connection, study_id, trial)
        space = definition.space()
        return [render.observation(row, definition, space) for row in rows]

    def row_of(self, study_id: str, parameters: Mapping[str, Any]) -> dict[str, float]:
        """The numbers, by column, of the row of a catalogue that a point has; empty without a catalogue.

        Raises:
            StudyNotFound: there is no such study.
        """
        with self._service.database.reading() as connection:
            space = definition_of(studies.get(connection, study_id).definition).space()
        catalogues = (axis for axis in space.axes if isinstance(axis, CatalogueAxis))
        return {column: n for axis in catalogues for column, n in axis.numbers_of(parameters.get(axis.name)).items()}

    def events_of(self, study_id: str, trial: int) -> list[Event]:
        """The events about a trial, in order."""
        with self._service.database.reading() as connection:
            return [render.event(row) for row in events.of_trial(connection, study_id, trial)]

    def result(self, study_id: str, seq: int) -> tuple[answers.Observation, list[Event]]:
        """A result, and the events about it, in order.

        Raises:
            StudyNotFound, ObservationNotFound: there is no such thing.
        """
        with self._service.database.reading() as connection:
            definition = definition_of(studies.get(connection, study_id).definition)
            row = observations.get(connection, study_id, seq)
            told = overview.events_of_result(connection, study_id, seq)
        return render.observation(row, definition, definition.space()), [render.event(each) for each in told]


def _line(
    row: result_table.TableRow,
    definition: StoredDefinition,
    space: Space,
    corrected: set[int],
    repeats: Mapping[int, result_table.Repeats],
) -> Line:
    trial = None if row.trial is None else render.trial(row.trial)
    if row.result is None:
        return Line(trial, None)
    seq = row.result.seq
    return Line(trial, render.observation(row.result, definition, space), seq in corrected, repeats.get(seq))


def _result(row: overview.ResultRow, definition: StoredDefinition, space: Space) -> dict[str, Any]:
    view = render.observation(row.observation, definition, space).model_dump(mode="json")
    view["excluded"] = view["excluded"] or view.get("outside", False)  # neither counts
    known = {
        "phase": row.phase,
        "expected": row.expected,
        "origin": row.origin,
        "worker": row.worker,
        "cell": row.cell,
        "gap": row.gap,
    }
    return view | known
