"""Define-by-run: a study on a server whose objective defines the search space."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from adabkb_client import (
    AshaRule,
    AsyncClient,
    AsyncStudy,
    Categorical,
    Client,
    Conflict,
    Float,
    Int,
    Invalid,
    NotFound,
    Parameter,
    Study,
)
from tests.integration.client.faults import Proxy
from tests.waiting import wait_for

SEEN: list[dict[str, Any]] = []


def simple(trial: Any) -> float:
    x = trial.suggest_float("x", -1, 1)
    rate = trial.suggest_float("rate", 1e-4, 1, log=True)
    depth = trial.suggest_int("depth", 1, 9, step=2)
    kind = trial.suggest_categorical("kind", [None, "relu", True, 0.5])
    fixed = trial.suggest_int("fixed", 3, 3) + trial.suggest_float("same", 0.5, 0.5)
    SEEN.append({"x": x, "rate": rate, "depth": depth, "kind": kind})
    assert fixed == 3.5
    return float((x - 0.3) ** 2 + (depth - 5) ** 2 / 20 + (kind != "relu") * 0.3)


def branching(trial: Any) -> float:
    model = trial.suggest_categorical("model", ["svm", "tree", "net"])
    if model == "svm":
        return float(abs(trial.suggest_float("C", 0, 1) - 0.4) + 0.1)
    if model == "tree":
        return float(abs(trial.suggest_int("leaves", 1, 40) - 7) / 40 + 0.2)
    widths = [trial.suggest_int(f"width{layer}", 1, 64) for layer in range(trial.suggest_int("layers", 1, 3))]
    return float(sum(abs(width - 20) / 64 for width in widths) / len(widths))


def declared(study: Study) -> dict[str, Any]:
    return {each["name"]: each.get("when") for each in study.info().parameters}


def test_the_first_trial_defines_the_space_and_all_trials_are_of_it(client: Client) -> None:
    SEEN.clear()
    study = client.define_by_run("s", direction="minimize", seed=1, budget=9)
    with pytest.raises(NotFound):
        study.info()
    report = study.optimize(simple, progress=False)
    assert (report.completed, report.reason) == (9, "budget")
    assert list(declared(study)) == ["x", "rate", "depth", "kind"]
    assert [dict(each.parameters) for each in study.observations()] == SEEN
    assert not any(each.outside for each in study.observations())


def test_a_study_continues_in_another_program_and_refuses_another_definition(client: Client) -> None:
    client.define_by_run("s", direction="minimize", seed=1).optimize(simple, n_trials=3, progress=False)
    again = client.define_by_run("s", direction="minimize", seed=1)
    again.optimize(simple, n_trials=2, progress=False)
    client.study("s").optimize(simple, n_trials=2, progress=False)
    assert again.info().counts.completed == 7
    with pytest.raises(Conflict):
        client.define_by_run("s", direction="maximize", seed=1).optimize(simple, n_trials=1)


def test_conditions_are_found_from_what_trials_ask_for(client: Client) -> None:
    study = client.define_by_run("s", direction="minimize", seed=3)
    study.optimize(branching, n_trials=40, progress=False)
    when = declared(study)
    assert when["model"] is None
    assert when["C"] == {"model": ["svm"]}
    assert when["leaves"] == {"model": ["tree"]}
    assert when["layers"] == {"model": ["net"]}
    assert when["width2"] == {"layers": [3]}
    assert not any(each.outside for each in study.observations())
    for each in study.observations():
        model = each.parameters["model"]
        assert ("C" in each.parameters, "leaves" in each.parameters) == (model == "svm", model == "tree")
    best = study.best()
    assert best is not None
    assert best.value < 0.06


def test_an_integer_with_few_values_can_be_a_parent(client: Client) -> None:
    """The number of values is limited, not the range: the parent has three values from 0 to 100."""

    def objective(trial: Any) -> float:
        units = trial.suggest_int("units", 0, 100, step=50)
        return float(trial.suggest_float("dropout", 0, 0.5) if units == 100 else units / 100)

    study = client.define_by_run("s", direction="minimize", seed=1)
    study.optimize(objective, n_trials=12, progress=False)
    assert declared(study)["dropout"] == {"units": [100]}


@pytest.mark.long
def test_several_workers_lose_no_result(client: Client) -> None:
    """They find parameters at the same time, so some conditions may be wider than need be."""
    study = client.define_by_run("s", direction="minimize", seed=1)
    study.optimize(branching, n_trials=24, workers=4, progress=False)
    assert study.info().counts.completed == 24
    assert not any(each.outside for each in study.observations())
    assert {"C", "leaves", "layers", "width0"} <= declared(study).keys()


@pytest.mark.long
def test_an_objective_may_be_evaluated_in_processes(client: Client) -> None:
    study = client.define_by_run("s", direction="minimize", seed=1)
    study.optimize(simple, n_trials=4, processes=True, progress=False)
    assert study.info().counts.completed == 4


def test_a_parameter_that_comes_later_counts_for_the_results_so_far(client: Client) -> None:
    study = client.define_by_run("s", direction="minimize", seed=1)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3, progress=False)
    study.optimize(
        lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0.01, 1, log=True),
        n_trials=3,
        progress=False,
    )
    assert study.info().defaults == {"y": pytest.approx(0.1)}
    assert not any(each.outside for each in study.observations())
    assert study.info().counts.completed == 6


def test_declared_parameters_are_taken_as_they_are(client: Client) -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1), "depth": Int(1, 8), "model": Categorical(["a", "b"])}
    study = client.create_study("s", space, direction="minimize", seed=1)

    def objective(trial: Any) -> float:
        x, depth = trial.suggest_float("x", 0, 1), trial.suggest_int("depth", 1, 8)
        return float(x + depth + (trial.suggest_categorical("model", ["a", "b"]) == "a"))

    study.optimize(objective, n_trials=4, progress=False)
    assert study.info().space_version == 1


def test_what_cannot_be_is_refused_with_a_remedy(client: Client) -> None:
    study = client.create_study("s", {"x": Float(0, 1)}, direction="minimize", seed=1)
    different = r"study has a float from 0.* to 1.* on a linear scale.*study.update\(parameters=\{'x': Float"
    with pytest.raises(ValueError, match=different):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 2), n_trials=1, max_failures=1, progress=False)
    paper = client.create_study("p", {"x": Float(0, 1)}, direction="minimize", algorithm={"profile": "paper"})
    with pytest.raises(Exception, match="cannot be edited") as refused:
        paper.optimize(lambda trial: trial.suggest_float("y", 0, 1), n_trials=1, progress=False)
    remedy = "Declare all parameters, with their conditions (when), in create_study"
    assert any(remedy in note for note in refused.value.__notes__)
    with pytest.raises(TypeError, match="requests no parameter"):
        client.define_by_run("none", direction="minimize").optimize(lambda _: 1.0, n_trials=1)


def test_an_invalid_range_is_refused_with_the_name_of_its_parameter(client: Client) -> None:
    def reversed_second(trial: Any) -> float:
        return float(trial.suggest_float("x", 0, 1) + trial.suggest_float("rate", 1, 0))

    study = client.define_by_run("s", direction="minimize")
    with pytest.raises(Invalid, match="parameter 'rate', high: must be greater than low"):
        study.optimize(reversed_second, n_trials=1, progress=False)


def test_trials_are_reported_annotated_and_stopped(client: Client) -> None:
    rule = {"rule": "patience", "max_steps": 20, "no_gain_for": 2}
    study = client.define_by_run("s", direction="minimize", seed=1, early_stopping=rule)  # type: ignore[arg-type]

    class TrialPruned(Exception):
        pass

    def objective(trial: Any) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr("host", "a")
        for step in range(1, 21):
            trial.report(x, step)
            if trial.should_prune():
                raise TrialPruned
        return float(x)

    study.optimize(objective, n_trials=3, progress=False)
    assert [trial.state for trial in study.trials()] == ["stopped"] * 3
    assert all(trial.attributes == {"host": "a"} for trial in study.trials())


def test_it_keeps_its_definition_under_other_options(client: Client) -> None:
    tuned = client.define_by_run("patient", direction="minimize").with_options(timeout=20)
    tuned.optimize(simple, n_trials=2, progress=False)
    assert tuned.info().counts.completed == 2


@pytest.mark.long
def test_the_event_loop_defines_the_same_space_in_threads(client: Client, server: str) -> None:
    """The objective blocks only its thread, and two run at the same time: each waits for the other."""
    both, loops = threading.Barrier(2, timeout=60), set[int]()

    def together(trial: Any) -> float:
        loops.add(threading.get_ident())
        value = branching(trial)
        if trial.number <= 2:
            both.wait()
        trial.set_user_attr("by", "a thread")
        return value

    async def main() -> None:
        async with AsyncClient(server) as aclient:
            study = aclient.define_by_run("a", direction="minimize", seed=1, budget=12)
            with pytest.raises(NotFound):
                await study.info()
            report = await study.optimize(together, workers=2, progress=False)
            assert (report.completed, report.failed, report.reason) == (12, 0, "budget")
            assert threading.get_ident() not in loops
            with pytest.raises(Conflict):
                await aclient.define_by_run("a", direction="maximize", seed=1).optimize(together, progress=False)

    blocking = client.define_by_run("b", direction="minimize", seed=1, budget=12)
    blocking.optimize(branching, progress=False)
    asyncio.run(main())
    there = client.study("a")
    assert {trial.attributes["by"] for trial in there.trials()} == {"a thread"}
    asked = declared(there)
    assert asked["C"] == {"model": ["svm"]} == declared(blocking)["C"]
    assert not any(each.outside for each in there.observations())


def test_an_objective_on_an_event_loop_reports_and_stops(client: Client, server: str) -> None:
    client.create_study(
        "early", {"x": Float(0, 1)}, direction="minimize", seed=1, early_stopping=AshaRule(4, after_trials=1)
    )
    ended: list[str] = []

    def objective(trial: Any) -> float:
        value = float(trial.number)
        for step in range(1, 5):
            trial.report(value, step)
            if trial.should_prune():
                return value
        ended.append("complete")
        return float(value + 0 * trial.suggest_float("x", 0, 1))

    async def coroutine(trial: Any) -> float:
        return objective(trial)

    async def main() -> None:
        async with AsyncClient(server) as aclient:
            study: AsyncStudy = await aclient.study("early")
            report = await study.optimize(objective, n_trials=3, progress=False)
            assert (report.completed, report.stopped, report.failed) == (1, 2, 0)
            with pytest.raises(TypeError, match="blocking function"):
                await study.optimize(coroutine, n_trials=1)

    asyncio.run(main())
    assert ended == ["complete"]


def test_a_cancelled_optimize_releases_its_trials(client: Client, server: str) -> None:
    """The threads of the objective go on, since nothing can interrupt them; they hold no trial any more."""
    under_way, go_on, ended = threading.Barrier(3, timeout=60), threading.Event(), threading.Barrier(3, timeout=60)

    def objective(trial: Any) -> float:
        value = float(trial.suggest_float("x", 0, 1))
        under_way.wait()
        go_on.wait(60)
        ended.wait()
        return value

    async def main() -> None:
        async with AsyncClient(server) as aclient:
            study = aclient.define_by_run("cancelled", direction="minimize", seed=1, budget=12)
            running = asyncio.create_task(study.optimize(objective, workers=2, progress=False))
            await asyncio.to_thread(under_way.wait)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert [trial.state for trial in await study.trials()] == ["released", "released"]
            go_on.set()
            await asyncio.to_thread(ended.wait)

    asyncio.run(main())
    assert [trial.state for trial in client.study("cancelled").trials()] == ["released", "released"]


def test_a_result_that_is_being_sent_when_optimize_is_cancelled_is_awaited(client: Client, faulty: Proxy) -> None:
    """The objective requests a parameter that the study lacks, so its thread sends the point with the result."""
    client.create_study("sent", {"x": Float(0, 1)}, direction="minimize", seed=1)

    def objective(trial: Any) -> float:
        value = float(trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 1, 9))
        faulty.faults.append("late")  # the result, which is the next request
        return value

    async def main() -> None:
        async with AsyncClient(faulty.url) as aclient:
            study = await aclient.study("sent")
            running = asyncio.create_task(study.optimize(objective, progress=False))
            await asyncio.to_thread(wait_for, lambda: faulty.keys("/observe"))
            running.cancel()
            await asyncio.sleep(0.1)
            faulty.go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await running

    asyncio.run(main())
    assert not faulty.keys("/release")
    assert [trial.state for trial in client.study("sent").trials()] == ["completed"]
