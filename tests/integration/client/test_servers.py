"""Trials and results stay with the server that issued the trial."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adabkb_client import Client, Float, Study, Trial
from adabkb_service.operations.data.importing import import_study
from adabkb_service.storage.database import Database
from tests.integration.client.faults import Proxy
from tests.servers import server_on


@pytest.fixture
def second(sqlite_template: Path, tmp_path: Path) -> str:
    """The database of a second server."""
    shutil.copy(sqlite_template, tmp_path / "second.db")
    return f"sqlite:///{tmp_path}/second.db"


@pytest.fixture
def elsewhere(second: str) -> Iterator[Study]:
    """A study of a second server, with the id and the definition of ``study``."""
    with server_on(second) as address, Client(address) as client:
        yield _created(client)


@pytest.fixture
def study(client: Client) -> Study:
    return _created(client)


def _created(client: Client) -> Study:
    return client.create_study("s", {"x": Float(0, 1)}, direction="maximize", seed=1)


def test_a_trial_of_another_server_is_refused(client: Client, study: Study, elsewhere: Study, tmp_path: Path) -> None:
    trial = study.suggest()
    theirs = elsewhere.suggest()
    assert (theirs.number, theirs.study) == (trial.number, trial.study)
    file = tmp_path / "spectrum.csv"
    file.write_text("1")
    leased = study.lease()
    for call in (
        lambda: elsewhere.observe(trial, 1.0),
        lambda: elsewhere.observe(leased, 1.0),  # its number does not exist there
        lambda: elsewhere.fail(trial),
        lambda: elsewhere.heartbeat(trial),
        lambda: elsewhere.release(trial),
        lambda: elsewhere.withdraw(trial),
        lambda: elsewhere.report(trial, 1, 1.0),
        lambda: elsewhere.annotate(trial, {"a": 1}),
        lambda: elsewhere.retry(trial),
        lambda: elsewhere.repeat(trial),
        lambda: elsewhere.add_file(trial, file),
    ):
        with pytest.raises(ValueError, match=rf"was issued by {client.url}, not by http://127.0.0.1:\d+: use"):
            call()
    assert [(each.state, each.attributes) for each in elsewhere.trials()] == [("active", {})]
    leased.release()
    assert elsewhere.observe(theirs, 1.0).study.counts.completed == 1


def test_a_trial_survives_another_address_of_its_server(study: Study, faulty: Proxy) -> None:
    with Client(faulty.url) as client:
        trial = client.study("s").suggest()
    assert study.observe(trial, 1.0).study.counts.completed == 1


def test_a_trial_survives_the_move_of_its_study_to_another_server(study: Study, second: str) -> None:
    trial = study.suggest()
    with closing(Database(second)) as database:
        import_study(database, study.export().splitlines())
    with server_on(second) as address, Client(address) as client:
        assert client.study("s").observe(trial, 1.0).study.counts.completed == 1


def test_the_server_of_a_trial_is_no_column(study: Study) -> None:
    trial = study.suggest()
    assert isinstance(trial, Trial)
    assert trial.server.startswith("http://")
    assert "server" not in study.trials().to_frame().columns
    assert "server" not in repr(trial)
