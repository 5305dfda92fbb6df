"""The best result: comparison of two results, and which ones count."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from adabkb_service.contract.pasted import UndoImportBody
from adabkb_service.contract.stored import definition_of, first_stored
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.undo_import import undo_import
from adabkb_service.storage import observations, studies
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import ObservationRow, StudyRow
from adabkb_service.study.best import as_best, best_of, rank
from tests.calls import watching
from tests.integration.operations.conftest import definition
from tests.integration.operations.verbs import Value, correct, observe
from tests.integration.study.test_lifecycle import LIMITS

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POINT = {"x": 0.5, "y": 1.0}


def study(**changes: Any) -> StudyRow:
    return StudyRow.new("s", first_stored(definition(**changes).model_dump(mode="json")), 0, NOW, **LIMITS)


def row(seq: int, value: float | None, mass: float | None = None, *, excluded: bool = False) -> ObservationRow:
    metrics = None if mass is None else {"mass": mass}
    return ObservationRow("s", seq, seq, 1, POINT, value, None, excluded, NOW, metrics, {}, None, None)


LIMIT = [{"metric": "mass", "upper": 2.0}]
BOUNDED = study(metrics=["mass"], outcome_constraints=LIMIT)


@pytest.mark.parametrize(
    ("of", "rows", "expected"),
    [
        (study(), [row(1, 3.0), row(2, 1.0), row(3, 2.0)], 2),
        (study(direction="maximize"), [row(1, 3.0), row(2, 1.0)], 1),
        (study(), [row(2, 1.0), row(1, 1.0), row(3, 1.0)], 1),
        (study(), [row(1, 1.0, excluded=True), row(2, 2.0)], 2),
        (study(), [row(1, 1.0, excluded=True)], None),
        (study(), [], None),
        (BOUNDED, [row(1, 1.0, 3.0), row(2, 5.0, 2.0)], 2),
        (BOUNDED, [row(1, 1.0, 4.0), row(2, 5.0, 3.0)], 2),
        (BOUNDED, [row(1, None, 1.0), row(2, 1.0), row(3, 9.0, 1.0)], 3),
    ],
)
def test_best_result_is_the_earliest_best_one_that_counts(
    of: StudyRow, rows: list[ObservationRow], expected: int | None
) -> None:
    """A feasible result is better than all infeasible ones; without one, the smallest violation is best."""
    best = best_of(of, definition_of(of.definition), rows)
    assert (best and best.seq) == expected


@pytest.mark.parametrize(
    "changes", [{}, {"direction": "maximize"}, {"metrics": ["mass"], "outcome_constraints": LIMIT}], ids=str
)
def test_best_result_after_a_correction_is_the_best_of_all_results(
    running: Service, database: Database, changes: dict[str, Any]
) -> None:
    create(running, definition(**changes))
    for value, mass in ((1.0, 3.0), (5.0, 1.0), (2.0, 9.0), (4.0, 2.5)):
        more: dict[str, Any] = {"metrics": {"mass": mass}} if "metrics" in changes else {}
        observe(running, "s", Value(value, parameters=POINT, **more))
    for seq in (1, 2, 4):
        correct(running, "s", seq, {"excluded": True})
        with database.reading() as connection:
            row, every = studies.get(connection, "s"), observations.page(connection, "s", 0, 10)
        assert row.best is not None
        of = definition_of(row.definition)
        assert row.best == as_best(row, of, best_of(row, of, every))


def test_several_objectives_have_no_best_result() -> None:
    objectives = [{"metric": name, "direction": "maximize"} for name in ("a", "b")]
    several = study(objectives=objectives, direction=None)
    assert best_of(several, definition_of(several.definition), [row(1, None)]) is None


def test_results_without_constraints_are_ranked_by_value() -> None:
    assert rank(study(), 3.0, None) == (0.0, -3.0)
    assert rank(study(direction="maximize"), 3.0, None) == (0.0, 3.0)
    assert rank(BOUNDED, 3.0, {"mass": 2.5}) == (-0.25, -3.0)  # relative to the bound


def test_best_result_is_shown_with_its_violations() -> None:
    plain, bounded = definition_of(study().definition), definition_of(BOUNDED.definition)
    assert as_best(study(), plain, None) is None
    assert as_best(study(), plain, row(4, 1.0)) == {"parameters": POINT, "value": 1.0, "trial": 4}
    shown = {"parameters": POINT, "value": 1.0, "trial": 4}
    for mass, violations in ((2.0, {}), (2.5, {"mass": 0.5})):
        more = {"metrics": {"mass": mass}, "feasible": not violations, "violations": violations}
        assert as_best(BOUNDED, bounded, row(4, 1.0, mass)) == {**shown, **more}


def test_undo_of_an_import_reads_all_results_once(running: Service, database: Database) -> None:
    """Not once for each excluded result: with outcome constraints, no query can find the best result."""
    create(running, definition(metrics=["mass"], outcome_constraints=LIMIT))
    for value, mass in ((5.0, 3.0), (4.0, 1.0), (2.0, 1.0), (1.0, 1.0), (3.0, 1.0)):
        observe(running, "s", Value(value, parameters=POINT, metrics={"mass": mass}))
    reads: list[str] = []
    with watching({observations.every: lambda _, event: reads.append(event)}):
        running.do(undo_import("s", UndoImportBody(observations=[3, 4, 5])))
    assert reads.count("call") == 1
    with database.reading() as connection:
        left = studies.get(connection, "s")
    assert left.best is not None
    assert (left.best["value"], left.results_since_best) == (4.0, 0)
    assert list(examine(database)) == []
