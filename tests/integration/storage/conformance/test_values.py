"""Values are read exactly as written, in columns and in JSON."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import sqlalchemy as sa

from adabkb_service.storage import events, idempotency, observations, studies, trials
from adabkb_service.storage.rows import StudyRow
from adabkb_service.storage.tables import metadata
from tests.integration.storage.rows import INCARNATION, NOW, event, key, observation, study, trial
from tests.integration.storage.writes import change

FLOATS = [
    0.1 + 0.2,
    math.pi,
    -1e-300,
    5e-324,  # the smallest
    sys.float_info.min,
    math.nextafter(1.0, 2.0),
    2.0**53 + 2.0,  # an integer that a float still represents exactly
    1e22,
    sys.float_info.max,
    -sys.float_info.max,
    math.inf,
    -math.inf,
]

DOCUMENTS: dict[str, Any] = {
    "empty": {},
    "nested": {"a": [{"b": [[], {}, [None, True, False, 0, 0.0, ""]]}]},
    "deep": json.loads("[" * 200 + "]" * 200),
    "null": {"a": None},
    "integers": [2**53 + 1, 2**63 - 1, -(2**63), 2**100],
    "negative zero": [-0.0],
    "keys like numbers": {"10": 1, "9": 2, "": 3},
    "long": ["x" * 100_000],
}


def put(connection: sa.Connection, **values: Any) -> StudyRow:
    """Set columns of the study, and return it."""
    return change(connection, "s", **values)


def test_floats_in_columns_are_stored_bit_for_bit(connection: sa.Connection) -> None:
    found = [put(connection, tolerance=value).tolerance for value in FLOATS]
    assert [value.hex() for value in found if value is not None] == [value.hex() for value in FLOATS]


def test_floats_in_json_are_stored_bit_for_bit(connection: sa.Connection) -> None:
    """A stored point is exactly the suggested one."""
    values = [*filter(math.isfinite, FLOATS), -0.0]
    found = put(connection, best={"parameters": values}).best
    assert found is not None
    assert [float(value).hex() for value in found["parameters"]] == [value.hex() for value in values]


def test_negative_zero_in_a_column_is_returned_as_zero(connection: sa.Connection) -> None:
    """SQLite does not store its sign, so nothing may depend on it."""
    tolerance = put(connection, tolerance=-0.0).tolerance
    assert tolerance == 0.0


def test_integral_floats_stay_floats(connection: sa.Connection) -> None:
    """Although SQLite writes them as integers."""
    assert isinstance(put(connection, tolerance=3.0).tolerance, float)
    assert isinstance(put(connection, tags={"value": 3.0}).tags["value"], float)


def test_seeds_have_64_bits_and_counts_32(connection: sa.Connection) -> None:
    for seed in (0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)):
        assert put(connection, seed=seed).seed == seed
    for number in (2**31 - 1, 0, -1):
        assert put(connection, budget=number).budget == number


def test_booleans_are_returned_as_booleans(connection: sa.Connection) -> None:
    assert put(connection, paused=True).paused is True
    assert put(connection, paused=False).paused is False


def test_json_documents_are_returned_unchanged(connection: sa.Connection) -> None:
    for name, document in DOCUMENTS.items():
        assert put(connection, tags=document).tags == document, name


def test_json_keeps_the_order_of_keys(connection: sa.Connection) -> None:
    found = put(connection, tags={"z": "", "a": "", "m": "", "B": ""}).tags
    assert list(found) == ["z", "a", "m", "B"]


def test_json_distinguishes_integers_floats_and_booleans(connection: sa.Connection) -> None:
    found = put(connection, best={"parameters": [1, 1.0, True], "value": 0}).best
    assert found is not None
    assert [type(value) for value in found["parameters"]] == [int, float, bool]


def test_missing_model_checkpoint_and_best_are_sql_nulls(connection: sa.Connection) -> None:
    put(connection, model={"gap": 1.0}, checkpoint={}, best={"value": 1.0})
    assert put(connection, model=None, checkpoint=None, best=None).model is None
    assert is_null(connection, "model", "checkpoint", "best")
    studies.save_model(connection, "s", INCARNATION, model_seq=1, checkpoint={})
    studies.save_model(connection, "s", INCARNATION, model_seq=1, checkpoint=None)
    assert is_null(connection, "checkpoint")


def test_json_null_is_not_an_sql_null(connection: sa.Connection) -> None:
    put(connection, tags=None)
    assert not is_null(connection, "tags")


def is_null(connection: sa.Connection, *columns: str) -> bool:
    table = metadata.tables["studies"]
    query = sa.select(sa.and_(*(sa.type_coerce(table.c[name], sa.Text).is_(None) for name in columns)))
    return bool(connection.execute(query).scalar_one())


FULL_STUDY = study(
    "full",
    definition={"direction": "minimize"},
    state="complete",
    paused=True,
    budget=1,
    tolerance=0.2,
    pending_limit=3,
    tags={"a": "b"},
    study_seq=4,
    model_seq=5,
    model={"gap": 0.6},
    model_error="singular",
    active=7,
    queued=8,
    released=9,
    expired=10,
    completed=11,
    failed=12,
    observations=13,
    failures=14,
    best={"value": 0.15},
    failure_limit=16,
    max_runtime_seconds=17.5,
    incarnation="e" * 32,
    version=18,
    engine_revision=19,
    checkpoint={"learned": [0.5]},
)
FULL_TRIAL = trial(
    1,
    state="failed",
    value=0.5,
    failed_attempt=2,
    reason="diverged",
    finished_at=NOW,
    attributes={"host": ["n1", None]},
)
FULL_OBSERVATION = observation(1, 0.5, trial=1, attempt=2, std_error=0.25, excluded=True)


def test_study_is_returned_as_written(connection: sa.Connection) -> None:
    for row in (study("t"), FULL_STUDY):
        studies.create(connection, row)
        assert studies.get(connection, row.id) == row


def test_minimal_and_complete_rows_are_returned_as_written(connection: sa.Connection) -> None:
    bare = trial(2, cell=None, worker=None, leased_until=None, started_at=None)
    for trial_row in (FULL_TRIAL, bare):
        trials.add(connection, [trial_row])
        assert trials.get(connection, "s", trial_row.number) == trial_row
    for result in (FULL_OBSERVATION, observation(2)):
        observations.add(connection, [result])
        assert observations.get(connection, "s", result.seq) == result
    log = [event(1), event(2, kind="observed", trial=3, payload={"value": 0.5})]
    events.add(connection, log)
    assert events.page(connection, "s", 0) == log
    for row in (key("k"), key("k", scope="", fingerprint="0" * 64, answer={"trials": [1]})):
        idempotency.add(connection, [row])
        assert idempotency.find(connection, row.scope, "k") == row


def test_rows_added_together_are_returned_as_written(connection: sa.Connection) -> None:
    """For any combination of empty columns."""
    rows = [FULL_TRIAL, trial(2, cell=None, leased_until=None), trial(3)]
    trials.add(connection, rows)
    results = [FULL_OBSERVATION, observation(2), observation(3, trial=2, attempt=1)]
    observations.add(connection, results)
    assert trials.page(connection, "s", state=None, after=0, limit=10) == rows
    assert observations.page(connection, "s", 0, 10) == results
