"""The search algorithm for Ray Tune, with Ray itself: a cluster of two processors on this machine."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray import tune
from ray.cluster_utils import Cluster
from ray.tune.search import Searcher

from adabkb_client import Bool, Categorical, Client, Conflict, Fixed, Float, Int, NotFound, Ordinal, Study, WorkerLost
from adabkb_integrations.ray import AdaBKBSearch
from adabkb_integrations.ray.space import nested, parameters
from tests.integration.integrations import clusters
from tests.waiting import wait_for

SPACE = {"x": tune.uniform(0, 1), "optimizer": {"lr": tune.loguniform(1e-4, 1), "kind": "adam"}}
pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of Ray, and of sockets that it does not close
HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 3,
    "health_check_timeout_ms": 240_000,
}
"""A lost node refuses connections and is noticed soon; a slow one has four minutes to answer."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A head node with two processors and one unit of a resource. Tests may add nodes."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        head = {"num_cpus": 2, "resources": {"place": 1}, "include_dashboard": False, "_system_config": HEALTH}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        ray.init(address=cluster.address, log_to_driver=False)
        yield cluster
        ray.shutdown()
        cluster.shutdown()


def objective(config: dict[str, Any]) -> None:
    assert config["optimizer"]["kind"] == "adam"
    tune.report({"loss": 9.0})
    if config["x"] > 0.9 and not Path(config["mended"]).exists():
        raise ValueError("diverged")
    tune.report({"loss": (config["x"] - 0.3) ** 2})


@pytest.mark.long
@pytest.mark.usefixtures("cluster")
def test_experiment_evaluates_trials_of_a_study_and_resumes_failed_ones(
    server: str, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADABKB_TOKEN", "a-secret")
    bounds = {"x": Float(0, 1), "optimizer/lr": Float(1e-4, 1, log=True)}
    study = client.create_study("tuned", bounds, direction="minimize")
    study.queue({"x": 0.95, "optimizer/lr": 0.1})
    searched = AdaBKBSearch("tuned", url=server)
    config = tune.TuneConfig(search_alg=searched, metric="loss", mode="min", num_samples=3, reuse_actors=True)
    space = {**SPACE, "mended": str(tmp_path / "mended")}
    run = tune.RunConfig(name="e", storage_path=str(tmp_path), verbose=0)
    results = tune.Tuner(objective, param_space=space, tune_config=config, run_config=run).fit()
    failed, *completed = study.trials()
    assert (failed.state, results.num_errors) == ("failed", 1)
    assert failed.reason
    assert "Ray Tune" in failed.reason
    assert [trial.state for trial in completed] == ["completed"] * 2
    assert {trial.value for trial in completed} == set(results.get_dataframe().dropna(subset="loss")["loss"]) - {9.0}
    (tmp_path / "mended").touch()
    tune.Tuner.restore(str(tmp_path / "e"), objective, resume_errored=True).fit()
    assert [trial.state for trial in study.trials()] == ["completed"] * 3
    stored = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert any(b"tuned" in each for each in stored)
    assert not any(b"a-secret" in each for each in stored)


def search(server: str, config: dict[str, Any] | None = None, name: str = "s", **settings: Any) -> AdaBKBSearch:
    """The search in its state before the first trial of a Tuner."""
    made = AdaBKBSearch(name, url=server, **settings)
    made.set_search_properties("loss", "min", SPACE if config is None else config)
    return made


def test_two_experiments_share_a_study_until_it_is_complete(server: str, client: Client) -> None:
    one, two = (search(server, budget=2, max_attempts=2) for _ in range(2))
    first, second = one.suggest("a"), two.suggest("a")
    assert isinstance(first, dict)
    assert set(first) == {"x", "optimizer"}
    assert first != second
    assert one.suggest("b") is None
    for each, loss in ((one, 1.0), (two, 2.0)):
        each.on_trial_complete("a", {"loss": loss})
    assert [trial.value for trial in client.study("s").trials()] == [1.0, 2.0]
    assert two.suggest("b") == Searcher.FINISHED


@pytest.mark.parametrize(
    ("reported", "result", "state", "value"),
    [
        ([], {"loss": 2.0}, "completed", 2.0),
        ([5.0, 4.0], None, "completed", 4.0),  # stopped while it was paused
        ([], None, "released", None),
        ([], {"loss": float("nan")}, "failed", None),
        ([], {"accuracy": 1.0}, "failed", None),
    ],
)
def test_trial_ends_in_the_study_as_in_tune(
    server: str,
    client: Client,
    reported: list[float],
    result: dict[str, float] | None,
    state: str,
    value: float | None,
) -> None:
    made = search(server)
    made.suggest("a")
    for loss in reported:
        made.on_trial_result("a", {"loss": loss})
    made.on_trial_complete("a", result)
    (trial,) = client.study("s").trials()
    assert (trial.state, trial.value) == (state, value)
    made.on_trial_complete("a", error=True)  # for a trial that has ended
    assert client.study("s").info().counts.failed == (state == "failed")


def test_result_renews_the_lease_after_a_third_of_it(server: str, client: Client) -> None:
    made = search(server, lease_seconds=9.0)
    made.suggest("a")
    (before,) = client.study("s").trials()
    made.on_trial_result("a", {"loss": 1.0})
    (unchanged,) = client.study("s").trials()
    time.sleep(3.0)
    made.on_trial_result("a", {"loss": 1.0})
    (renewed,) = client.study("s").trials()
    assert before.leased_until
    assert renewed.leased_until
    assert unchanged.leased_until == before.leased_until < renewed.leased_until
    search(server, lease_seconds=90.0).suggest("b")  # another experiment with the same study
    assert [trial.lease_seconds for trial in client.study("s").trials()] == [9.0, 90.0]


def test_restored_search_continues_its_open_trials(
    server: str, client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = search(server)
    for name in "abc":
        made.suggest(name)
    made.on_trial_complete("c", error=True)
    made.save(str(tmp_path / "state"))
    made.on_trial_complete("a", {"loss": 1.0})
    restored = pickle.loads(pickle.dumps(AdaBKBSearch("s", url=server)))
    restored.restore(str(tmp_path / "state"))
    for name, loss in (("a", 3.0), ("b", 2.0), ("c", 4.0)):
        restored.on_trial_complete(name, {"loss": loss})
    assert [trial.value for trial in client.study("s").trials()] == [1.0, 2.0, 4.0]
    assert "it cannot have the value 3.0 too" in caplog.text
    assert isinstance(restored.suggest("d"), dict)


def test_existing_study_needs_no_search_space(server: str, client: Client) -> None:
    with pytest.raises(NotFound):
        search(server, {"epochs": 3})
    client.create_study("s", {"x": Int(1, 9)}, direction="minimize")
    suggested = search(server, {"epochs": 3}).suggest("a")
    assert isinstance(suggested, dict)
    assert suggested.keys() == {"x"}
    with pytest.raises(Conflict):
        search(server)
    with pytest.raises(ValueError, match="does not maximize"):
        AdaBKBSearch("s", url=server).set_search_properties("loss", "max", {})
    with pytest.raises(ValueError, match="needs mode='min' or mode='max'"):
        AdaBKBSearch("s", url=server).suggest("a")


def test_every_domain_becomes_the_equivalent_parameter() -> None:
    assert parameters(
        {
            "uniform": tune.uniform(0, 2),
            "loguniform": tune.loguniform(1e-3, 1),
            "quniform": tune.quniform(0, 1, 0.25),
            "randint": tune.randint(2, 9),
            "lograndint": tune.lograndint(1, 65),
            "qrandint": tune.qrandint(3, 12, 4),
            "one": tune.randint(2, 3),
            "texts": tune.choice(["a", "b"]),
            "ascending": tune.choice([16, 32, 64]),
            "yes": tune.choice([True, False]),
            "single": tune.choice(["only"]),
            "nested": {"deep": {"ours": Ordinal([1, 2])}, "constant": 3},
            "constant": [1, 2],
        }
    ) == {
        "uniform": Float(0, 2),
        "loguniform": Float(1e-3, 1, log=True),
        "quniform": Float(0, 1, step=0.25),
        "randint": Int(2, 8),
        "lograndint": Int(1, 64, log=True),
        "qrandint": Int(4, 12, step=4),
        "one": Fixed(2),
        "texts": Categorical(["a", "b"]),
        "ascending": Ordinal([16, 32, 64]),
        "yes": Bool(),
        "single": Fixed("only"),
        "nested/deep/ours": Ordinal([1, 2]),
    }
    assert nested({"a/b/c": 1, "a/d": 2, "e": 3}) == {"a": {"b": {"c": 1}, "d": 2}, "e": 3}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (tune.randn(0, 1), "parameter 'C': Float with the sampler Normal has no counterpart; use tune.uniform"),
        (tune.qloguniform(1, 10, 1), "parameter 'C': Float with the sampler LogUniform has no counterpart"),
        (tune.sample_from(lambda _: 1), "parameter 'C': Function"),
        (tune.grid_search([1, 2]), "parameter 'C': a model cannot search a grid; use tune.choice"),
        ([tune.uniform(0, 1)], "parameter 'C': a list cannot contain parameters; use a dict instead"),
    ],
)
def test_unsupported_domains_are_rejected_by_name(given: object, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        parameters({"C": given})


def test_missing_ray_is_reported_with_the_package_to_install() -> None:
    program = "import sys; sys.modules['ray'] = None; import adabkb_integrations.ray"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("pip install 'adabkb-service[ray]'")


@pytest.mark.long
@pytest.mark.usefixtures("cluster")
def test_a_run_evaluates_on_the_cluster(study: Study) -> None:
    clusters.check_evaluation(study, "ray")


@pytest.mark.long
@pytest.mark.usefixtures("cluster")
def test_an_exception_after_a_stop_is_no_failure_of_the_trial(client: Client) -> None:
    clusters.check_exception_after_a_stop(client, "ray")


@pytest.mark.long
@pytest.mark.usefixtures("cluster")
def test_trial_of_a_killed_process_is_released_and_evaluated_again(study: Study, tmp_path: Path) -> None:
    report = study.run(
        clusters.dies_once(tmp_path / "killed"), engine="ray", workers=2, n_trials=4, max_failures=2, catch=Exception
    )
    assert (report.completed, report.failed, report.reason) == (4, 0, "n_trials")
    assert [trial.state for trial in study.trials()] == ["completed"] * 4
    assert sorted(trial.attempt for trial in study.trials()) == [1, 1, 1, 2]
    killed = float((tmp_path / "killed").read_text())
    assert killed not in {trial.value for trial in study.trials()}


@pytest.mark.long
@pytest.mark.usefixtures("cluster")
def test_run_without_a_suitable_worker_reports_it_and_times_out(study: Study) -> None:
    message = clusters.check_waiting_message(study, "ray", {"num_gpus": 1})
    assert "waits for Ray, which has evaluated no trial of this run for " in message
    assert "One evaluation needs {'num_gpus': 1}. Free in the cluster: 2 of 2 CPU, 1 of 1 place. " in message


def evaluation_on_nodes(lost: str, folder: Path) -> Callable[..., float]:
    """Report the node of the evaluation, and continue once the other node is lost."""

    def function(x: float, **_: float) -> float:
        here = ray.get_runtime_context().get_node_id()
        (folder / here).touch()
        while here == lost or not (folder / "lost").exists():
            time.sleep(0.05)
        return x

    return function


@pytest.mark.long
def test_trial_of_a_lost_node_is_issued_again(study: Study, cluster: Cluster, tmp_path: Path) -> None:
    node = cluster.add_node(num_cpus=1, resources={"place": 1})
    (folder := tmp_path / "begun").mkdir()

    def lose() -> None:
        wait_for(lambda: len(list(folder.iterdir())) == 2)
        cluster.remove_node(node, allow_graceful=False)
        (folder / "lost").touch()

    loser = threading.Thread(target=lose)
    loser.start()
    function, place = evaluation_on_nodes(node.node_id, folder), {"resources": {"place": 1}}
    report = study.run(function, engine="ray", workers=2, n_trials=4, max_failures=2, resources=place)
    loser.join()
    assert (report.completed, report.failed, report.reason) == (4, 0, "n_trials")
    assert sorted((trial.state, trial.attempt) for trial in study.trials()) == [("completed", 1)] * 3 + [
        ("completed", 2)
    ]


@pytest.mark.long
@pytest.mark.usefixtures("cluster")
def test_successive_losses_stop_a_run(study: Study) -> None:
    with pytest.raises(WorkerLost, match="ray lost the evaluation of trial 1: "):
        study.run(lambda **_: os.kill(os.getpid(), signal.SIGKILL), engine="ray", max_failures=2)
    assert [trial.state for trial in study.trials()] == ["released"]


@pytest.mark.long
@pytest.mark.usefixtures("cluster")
def test_interrupted_run_releases_its_trials_and_ends_their_processes(study: Study, tmp_path: Path) -> None:
    (folder := tmp_path / "begun").mkdir()
    clusters.check_interruption(study, "ray", folder)
    wait_for(lambda: not any(Path("/proc", file.name).exists() for file in folder.iterdir()))
