"""Models in memory and in rows: memory is limited, stored rows never become older, and missing events are folded."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from adabkb_service.engine.cells import NEW_TREE
from adabkb_service.inference import store
from adabkb_service.inference.cached_model import CachedModel
from adabkb_service.inference.host import ModelHost
from adabkb_service.inference.inprocess import InProcess
from adabkb_service.inference.messages import Advance, Advanced, Reply
from adabkb_service.inference.restore import start
from adabkb_service.inference.store import ModelStore, size_of
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage import events, studies
from adabkb_service.storage import model as rows
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import StudyRow, created_row
from adabkb_service.storage.tables import cells, dictionary
from adabkb_service.timeouts import UNLIMITED_SECONDS
from tests.conftest import on_either
from tests.integration.inference.rounds import rounds
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, Value, correct, edit, observe, suggest
from tests.integration.operations.verbs import store as store_now

PROFILES = ["auto", "paper"]


def row(database: Database, study_id: str = "s") -> StudyRow:
    with database.reading() as connection:
        return studies.get(connection, study_id)


def stored(database: Database) -> tuple[int, dict[str, str], tuple[int, ...], Any]:
    """The rows of the model of study "s"."""
    with database.reading() as connection:
        study = studies.get(connection, "s")
        found = rows.read_cells(connection, "s"), rows.read_dictionary(connection, "s")
    return (study.model_seq, *found, study.checkpoint)


def never_idle(database: Database, clock: ManualClock) -> Service:
    """A service that does not store models, since it is never idle."""
    return Service(database, clock=clock, inference=InProcess(database, idle_seconds=UNLIMITED_SECONDS))


def folded(models: ModelStore, study: StudyRow, upto: int) -> CachedModel:
    """The stored model, after some more events."""
    cached = models.restored(study.id, study.incarnation)
    assert cached is not None
    cached.fold(models.log_after(study.id, cached.model.seq, upto))
    return cached


@on_either("profile", PROFILES, ["auto"])
def test_newer_rows_are_not_replaced_by_older_ones(database: Database, running: Service, profile: str) -> None:
    """Two servers store models at different events, in either order."""
    create(running, definition(algorithm={"profile": profile}))
    rounds(running, "s", 4)
    study = row(database)
    one, two = ModelStore(database, 2**20), ModelStore(database, 2**20)
    older, newer = folded(one, study, study.study_seq - 8), folded(two, study, study.study_seq - 2)
    two.save("s", newer)
    before = stored(database)
    assert before[0] == study.study_seq - 2
    one.save("s", older)
    assert stored(database) == before
    older.fold(one.log_after("s", older.model.seq, study.study_seq))
    one.save("s", older)
    assert stored(database)[0] == study.study_seq
    two.save("s", newer)
    assert stored(database)[0] == study.study_seq
    assert list(examine(database)) == []
    assert not replay(running, "s").changed


@on_either("profile", PROFILES, ["auto"])
def test_rows_stored_by_two_servers_in_turn_equal_those_of_one(
    database: Database, running: Service, profile: str
) -> None:
    """Each writes the changes since the rows were last stored by either of them."""
    create(running, definition(algorithm={"profile": profile}))
    rounds(running, "s", 5)
    study = row(database)
    servers = [ModelStore(database, 2**20) for _ in range(2)]
    models = [folded(server, study, 1) for server in servers]
    for number, head in enumerate(range(4, study.study_seq + 1, 3)):
        server, cached = servers[number % 2], models[number % 2]
        model = cached.model
        cached.fold(server.log_after("s", model.seq, head))
        server.save("s", cached)
        assert stored(database)[:3] == (head, model.cells, tuple(sorted(model.dictionary)))
    assert list(examine(database)) == []


def test_each_save_stores_what_changed_since_the_last_one(database: Database, running: Service) -> None:
    """Also after a correction, which changes old cells, and after an edit, with which the tree begins anew."""
    create(running, definition())
    rounds(running, "s", 6)
    correct(running, "s", 3, {"value": 2.5})
    rounds(running, "s", 2)
    edit(running, {"name": "x", "kind": "float", "low": 0.0, "high": 2.0})
    rounds(running, "s", 2)
    with database.writing() as connection:  # as before the first suggestion
        rows.clear(connection, "s")
        rows.write_cells(connection, "s", NEW_TREE)
    study, models = row(database), ModelStore(database, 2**20)
    with database.reading() as connection:
        log = events.page(connection, "s", 0)
    with database.writing() as connection:
        studies.save_model(connection, "s", study.incarnation, model_seq=0, checkpoint=None)
    cached = CachedModel(start(study, created_row(log)))
    for event in log:
        cached.fold([event])
        models.save("s", cached)
        _, cells, dictionary, _ = stored(database)
        assert list(cells.items()) == list(cached.model.cells.items())
        assert dictionary == tuple(sorted(cached.model.dictionary))
    assert cached.model.diverged == []


def test_model_of_a_deleted_study_is_not_stored(database: Database, running: Service) -> None:
    create(running, definition())
    rounds(running, "s", 2)
    models = ModelStore(database, 2**20)
    study = row(database)
    model = folded(models, study, study.study_seq)
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE studies SET incarnation = 'another'"))
    before = stored(database)
    models.save("s", model)
    assert stored(database) == before


@pytest.mark.long
@on_either("profile", PROFILES)
def test_rows_may_be_behind_the_log_and_missing_events_are_folded_again(
    database: Database, clock: ManualClock, other_sqlite: str, profile: str
) -> None:
    """A server that runs throughout, and one that restarts every few requests, issue the same points."""
    other = Database(other_sqlite)
    uninterrupted = never_idle(other, clock)
    for service in (uninterrupted, never_idle(database, clock)):
        create(service, definition(algorithm={"profile": profile}))
    expected, points = rounds(uninterrupted, "s", 8), []
    for _ in range(4):
        points += rounds(never_idle(database, clock), "s", 2)
        study = row(database)
        assert study.model_seq < study.study_seq
    assert points == expected
    other.close()


@on_either("profile", PROFILES, ["auto"])
def test_replay_distinguishes_rows_that_are_behind_from_wrong_rows(
    database: Database, clock: ManualClock, profile: str
) -> None:
    running = never_idle(database, clock)
    create(running, definition(algorithm={"profile": profile}))
    rounds(running, "s", 3)
    store_now(running, "s")
    rounds(running, "s", 2)
    assert row(database).model_seq < row(database).study_seq
    assert not replay(running, "s").changed, "behind"
    rounds(running, "s", 2)
    with database.writing() as connection:
        connection.execute(sa.insert(dictionary).values(study_id="s", ordinal=99))
        connection.execute(sa.update(cells).values(status="pruned"))
    assert replay(running, "s").changed, "wrong"
    assert not replay(running, "s").changed, "repaired"


def arrays_below(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """All arrays reachable from a value: the reference for ``size_of``."""
    seen, todo = set[int](), [value]
    while todo:
        each = todo.pop()
        if id(each) in seen or isinstance(each, type | ModuleType | FunctionType):
            continue
        seen.add(id(each))
        if isinstance(each, np.ndarray):
            if each.base is None:
                yield each
            else:
                todo.append(each.base)
        todo += gc.get_referents(each)


@on_either("system", SYSTEMS, ["auto"])
def test_size_of_a_model_counts_all_its_arrays(database: Database, running: Service, system: str) -> None:
    """Including prefetched points, each with its own state."""
    create(running, definition(algorithm=SYSTEMS[system]))
    for value in range(30):
        observe(running, "s", Value(value % 7, parameters={"x": value / 15 - 1, "y": 1.0 + value}))
    study = row(database)
    cached = folded(ModelStore(database, 2**30), study, study.study_seq)
    model, decisions = cached.model, cached.decisions
    for ahead in (0, 6):
        decisions.decide(model, ahead)
        held = sum(array.nbytes for array in arrays_below([model.state, [each.state for each in decisions.made]]))
        assert 0.9 * held <= size_of(cached) <= 2 * held + 40 * store.BYTES_PER_RESULT + 200 * len(model.cells) + 10_000


def test_models_in_memory_stay_within_the_limit(database: Database, running: Service) -> None:
    """The least recently used one is dropped first."""
    models = []
    for number in range(4):
        create(running, definition(id=f"study-{number}"))
        rounds(running, f"study-{number}", 3)
        study = row(database, f"study-{number}")
        models.append(folded(ModelStore(database, 2**30), study, study.study_seq))
    small = ModelStore(database, int(2.5 * size_of(models[0])))
    for number in (0, 1, 0, 2, 3, 0):
        small.keep(f"study-{number}", models[number])
        kept = [name for name in range(4) if small.find(f"study-{name}") is not None]
        assert sum(size_of(models[name]) for name in kept) <= 2.5 * size_of(models[0])
        assert number in kept
    assert kept == [0, 3]


@pytest.mark.long
@on_either("profile", PROFILES, ["auto"])
@pytest.mark.parametrize("capacity", [pytest.param(1, marks=pytest.mark.long), 30_000])
def test_dropped_and_restored_models_give_the_same_points(
    database: Database, clock: ManualClock, capacity: int, profile: str
) -> None:
    """Several studies in turn, with too little memory for their models or none; the reference has enough."""
    little = Service(database, clock=clock, inference=InProcess(database, capacity))
    names = ["a", "b", "c"]
    for name in [*names, "plenty"]:
        create(little, definition(id=name, algorithm={"profile": profile}))
    expected = rounds(Service(database, clock=clock), "plenty", 6)
    points: dict[str, list[Any]] = {name: [] for name in names}
    for _ in range(6):
        for name in names:
            points[name] += rounds(little, name, 1)
    assert list(points.values()) == [expected] * 3


@pytest.mark.timeout(60)
def test_long_log_is_folded_even_without_memory_for_its_model(database: Database, running: Service) -> None:
    """Each slice continues after the last one, although the model was dropped in between."""
    create(running, definition())
    for value in range(12):
        observe(running, "s", Value(value % 5, parameters={"x": value / 12, "y": 1.0 + value}))
    study = row(database)
    replies: list[Reply] = []
    host_of_nothing = ModelHost(ModelStore(database, 1), lambda _, reply: replies.append(reply), fold_seconds=0.0)
    host_of_nothing.post(0, Advance("s", study.incarnation, study.study_seq))
    for _ in range(5 * study.study_seq):
        if not host_of_nothing.step("s"):
            break
    last = replies[-1]
    assert isinstance(last, Advanced)
    assert (last.model_seq, last.behind) == (study.study_seq, 0)
    assert list(examine(database)) == []


@on_either("profile", PROFILES, ["auto"])
def test_model_that_cannot_be_restored_is_logged_once(
    database: Database, clock: ManualClock, profile: str, caplog: pytest.LogCaptureFixture
) -> None:
    """However many requests need it, and however the log continues."""
    running = Service(database, clock=clock)
    create(running, definition(algorithm={"profile": profile}))
    rounds(running, "s", 2)
    store_now(running, "s")
    with database.writing() as connection:
        damage = sa.insert(dictionary).values(study_id="s", ordinal=99)
        connection.execute(damage if profile == "paper" else sa.delete(cells).where(cells.c.depth == 0))
    caplog.clear()
    restarted = Service(database, clock=clock)
    for _ in range(5):
        (trial,) = suggest(restarted, "s", Ask()).view.trials
        assert trial.origin == "fallback"
        observe(restarted, "s", Value(1.0, trial.number))
        (other,) = suggest(restarted, "s", Ask()).view.trials
        observe(restarted, "s", Failure(other.number))
    correct(restarted, "s", 1, {"value": 2.0})
    with database.reading() as connection:
        assert [event.kind for event in events.page(connection, "s", 0)].count("model_failed") == 1
    assert len([record for record in caplog.records if record.exc_info]) == 1
    assert "cannot fold the log" in caplog.text


def test_model_that_cannot_be_stored_is_logged_once_until_it_works(
    database: Database, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    running = never_idle(database, clock)
    create(running, definition())
    rounds(running, "s", 2)
    study = row(database)
    impatient = Database(database.url.render_as_string(hide_password=False), lock_seconds=0.01)
    models = ModelStore(impatient, 2**30)
    models.keep("s", folded(models, study, study.study_seq))
    host = ModelHost(models, lambda *_: None)
    for _ in range(2):
        with database.writing() as connection:  # another transaction holds the lock
            studies.lock_model_seq(connection, "s", study.incarnation)
            host.save_all()
            host.save_all()
        assert stored(database)[0] < study.study_seq
    host.save_all()
    assert stored(database)[0] == study.study_seq
    impatient.close()
    assert caplog.text.count("study s: its model cannot be stored") == 1
