"""``study.run(..., engine="dask")`` on a real cluster of two worker processes on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adabkb_client import Client, Study
from tests.integration.integrations import clusters

pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of Dask, and of sockets that it does not close


@pytest.fixture(scope="module")
def _cluster() -> Iterator[None]:
    import distributed  # here, since the import takes half a second in each test process

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
    ):
        yield


def test_missing_cluster_or_dask_is_reported_with_a_remedy(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConnectionError, match=r"distributed.Client\(...\) first, or set DASK_SCHEDULER_ADDRESS"):
        study.run(lambda **_: 0.0, engine="dask")
    for engine in ("ray", "dask"):
        monkeypatch.setitem(sys.modules, "ray" if engine == "ray" else "distributed", None)
        with pytest.raises(ImportError, match=rf"pip install 'adabkb-client\[{engine}\]'"):
            study.run(lambda **_: 0.0, engine=engine)
    assert not list(study.trials())


@pytest.mark.usefixtures("_cluster")
def test_a_run_evaluates_on_the_cluster(study: Study) -> None:
    clusters.check_evaluation(study, "dask")


@pytest.mark.usefixtures("_cluster")
def test_an_exception_after_a_stop_is_no_failure_of_the_trial(client: Client) -> None:
    clusters.check_exception_after_a_stop(client, "dask")


@pytest.mark.long
@pytest.mark.usefixtures("_cluster")
def test_run_without_a_suitable_worker_reports_it_and_times_out(study: Study) -> None:
    message = clusters.check_waiting_message(study, "dask", {"resources": {"GPU": 1}})
    assert "waits for Dask, which has evaluated no trial of this run for " in message
    assert "One evaluation needs {'resources': {'GPU': 1}}. " in message
    assert "The cluster has 2 workers: 1 threads and the resources {}. " in message


@pytest.mark.long
@pytest.mark.usefixtures("_cluster")
def test_interrupted_run_releases_its_trials(study: Study, tmp_path: Path) -> None:
    (folder := tmp_path / "begun").mkdir()
    clusters.check_interruption(study, "dask", folder)
    for file in folder.iterdir():  # Dask does not interrupt running functions
        file.unlink()


@pytest.mark.long
@pytest.mark.usefixtures("_cluster")
def test_trial_of_a_killed_process_is_evaluated_again(study: Study, tmp_path: Path) -> None:
    report = study.run(clusters.dies_once(tmp_path / "killed"), engine="dask", workers=2, n_trials=4)
    assert (report.completed, report.failed, report.reason) == (4, 0, "n_trials")
    assert [trial.state for trial in study.trials()] == ["completed"] * 4
    killed = float((tmp_path / "killed").read_text())
    assert killed not in {trial.value for trial in study.trials()}
