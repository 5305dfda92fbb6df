"""A missing attribute that other libraries have: the error names what to use instead."""

from __future__ import annotations

import asyncio
import copy
import pickle
from typing import Any

import pytest

from adabkb_client import (
    AsyncClient,
    Bool,
    Catalogue,
    Client,
    Fixed,
    Float,
    LeasedTrial,
    MedianRule,
    Study,
    Trial,
)


@pytest.fixture
def study(client: Client) -> Study:
    study = client.create_study("s", {"lr": Float(0, 1)}, "minimize", budget=4, seed=1)
    study.add_result({"lr": 0.5}, 0.25)
    return study


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("ask", "study.suggest()"),
        ("tell", "study.observe(trial, value)"),
        ("best_params", "study.best().parameters; with noise, study.recommendation().model.parameters"),
        ("trials_dataframe", "study.to_frame()"),
        ("budget", "study.info().budget"),
    ],
)
def test_of_a_study(study: Study, name: str, instead: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(study, name)
    assert str(caught.value) == f"'Study' object has no attribute {name!r}; use {instead}"


def test_of_trials_and_results(study: Study) -> None:
    report = study.run(lambda lr: lr, n_trials=1, progress=False)
    with study.trial() as leased:
        objects: list[tuple[Any, str, str]] = [
            (leased, "lr", "trial.parameters['lr']"),
            (leased, "config", "trial.parameters"),
            (leased.trial, "lr", "trial.parameters['lr']"),
            (study.observations()[0], "params", "observation.parameters"),
            (study.best(), "lr", "best.parameters['lr']"),
            (study.recommendation(), "parameters", "recommendation.model.parameters"),
            (study.recommendation(), "value", "recommendation.observed.value"),
            (report, "best_params", "report.recommendation.model.parameters"),
        ]
        for each, name, instead in objects:
            with pytest.raises(AttributeError, match="has no attribute") as caught:
                getattr(each, name)
            assert str(caught.value).endswith(f"; use {instead}")
        leased.observe(0.5)


def test_other_names_and_private_ones_get_the_usual_error(study: Study) -> None:
    for name in ("nothing", "_ask", "__nothing__"):
        with pytest.raises(AttributeError) as caught:
            getattr(study, name)
        assert str(caught.value) == f"'Study' object has no attribute {name!r}"


def test_objects_can_be_copied_and_pickled(study: Study) -> None:
    trial = study.suggest()
    copies: list[Trial] = [copy.copy(trial), copy.deepcopy(trial), pickle.loads(pickle.dumps(trial))]
    assert copies == [trial] * 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"directions": ["minimize", "maximize"]},
            'directions is not a setting; use objectives=[{"metric": "error", "direction": "minimize"}, '
            '{"metric": "latency", "direction": "maximize"}]',
        ),
        ({"directions": ["maximize"]}, "directions is not a setting; use direction='maximize'"),
        ({"sampler": "tpe"}, 'sampler is not a setting; leave it out; a baseline without a model is algorithm={"kind"'),
        ({"n_trials": 4}, "n_trials is not a setting; the number of trials is budget=100"),
        (
            {"objectives": ["error", "latency"]},
            'objectives must be a list of dicts such as [{"metric": "error", "direction": "minimize"}, {"metric": '
            '"latency", "direction": "maximize"}], not [\'error\', \'latency\']',
        ),
    ],
)
def test_settings_in_the_form_of_another_library(client: Client, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        client.create_study("t", {"x": Float(0, 1)}, **settings)
    assert str(caught.value).startswith(message)
    with pytest.raises(TypeError) as caught:
        client.define_by_run("t", **settings)
    assert str(caught.value).startswith(message)


def test_a_wrong_call_is_named_as_the_program_wrote_it(study: Study) -> None:
    with pytest.raises(TypeError, match=r"^Study\.observe\(\) takes from 2 to 3 positional arguments but 4 were given"):
        study.observe(1, 0.5, 0.1)  # type: ignore[call-arg]


def test_an_argument_that_a_call_does_not_have(client: Client, study: Study) -> None:
    """Python 3.13 has its own hints, in other words."""

    def function(lr: float) -> float:
        return lr

    leased = LeasedTrial(study, study.suggest())
    calls: list[tuple[Any, str]] = [
        (lambda: study.run(function, n_jobs=2), "use workers= in place of n_jobs="),  # type: ignore[arg-type]
        (lambda: study.run(function, n_trial=2), "did you mean n_trials=?"),  # type: ignore[arg-type]
        (lambda: study.suggest(cout=2), "did you mean count=?"),  # type: ignore[call-overload]
        (lambda: study.trial(lease_second=9), "did you mean lease_seconds=?"),  # type: ignore[call-arg]
        (lambda: study.lease(wiat=9), "did you mean wait=?"),  # type: ignore[call-arg]
        (lambda: study.observe(1, valu=0.5), "did you mean value=?"),  # type: ignore[call-arg]
        (lambda: study.observe(1, loss=0.5), "use value= in place of loss="),  # type: ignore[call-arg]
        (lambda: leased.observe(0.5, std_err=0.1), "did you mean std_error=?"),  # type: ignore[call-arg]
        (lambda: study.observations(limit=3), "got an unexpected keyword argument 'limit'"),  # type: ignore[call-arg]
        (lambda: Float(0, 1, logg=True), "did you mean log=?"),  # type: ignore[call-arg]
        (lambda: Bool(contxt=True), "did you mean context=?"),  # type: ignore[call-arg]
        (lambda: Fixed(1, lable="Seed"), "did you mean label=?"),  # type: ignore[call-arg]
        (lambda: MedianRule(9, min_step=2), "did you mean min_steps=?"),  # type: ignore[call-arg]
        (lambda: Catalogue.from_csv("a.csv", naem="x"), "did you mean name=?"),  # type: ignore[call-arg]
        (lambda: Client(tokn="secret"), "did you mean token=?"),  # type: ignore[call-arg]
        (lambda: Client.local("a.db", retry_fr=1), "did you mean retry_for=?"),  # type: ignore[call-arg]
        (
            lambda: client.create_study(name="n", parameters={"x": Float(0, 1)}),  # type: ignore[call-arg,arg-type]
            "missing 1 required positional argument: 'id'; use id= in place of name=",
        ),
    ]
    for call, hint in calls:
        with pytest.raises(TypeError) as caught:
            call()
        words = hint.strip("?=").rpartition(" ")[2]
        assert str(caught.value).endswith((hint, f"Did you mean '{words}'?"))


async def _with_typos(url: str) -> None:
    async with AsyncClient(url) as client:
        study = await client.study("s")
        with pytest.raises(TypeError, match=r"[Dd]id you mean '?count"):
            await study.suggest(cout=2)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match=r"[Dd]id you mean '?wait"):
            study.trial(wiat=2)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"[Dd]id you mean '?value"):
            await study.observe(1, valu=2)  # type: ignore[call-arg]


@pytest.mark.usefixtures("study")
def test_an_argument_that_an_async_call_does_not_have(client: Client) -> None:
    asyncio.run(_with_typos(client.url))


def test_a_type_error_of_the_function_has_no_hint(study: Study) -> None:
    def function(lr: float) -> float:
        return study.info(n_jobs=lr)  # type: ignore

    with pytest.raises(TypeError) as caught:
        study.run(function)
    assert str(caught.value).endswith("got an unexpected keyword argument 'n_jobs'")
