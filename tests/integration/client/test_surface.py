"""The public interface: names, and compatibility with a newer server."""

import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import import_module
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints

import jedi
import pytest

import adabkb_client
from adabkb_client import (
    AdaBKBError,
    AsyncClient,
    AsyncItems,
    AsyncLeasedTrial,
    AsyncStudy,
    Best,
    Client,
    Event,
    Items,
    LeasedTrial,
    Outbox,
    Prediction,
    Recommendation,
    Study,
    StudyChanges,
    UnexpectedAnswer,
)
from adabkb_client._calls import Listing
from adabkb_client._records import decode
from adabkb_client._study_calls import StudyCalls
from tools.client_methods import PARTS

PUBLIC = ("adabkb_client", "adabkb_client.errors", "adabkb_client.mcp", "adabkb_client.plots")
SURFACE = """
    APIError Access AdaBKBError Algorithm Answer AshaRule AskingTrial Assessment AsyncClient AsyncDefinedByRun
    AsyncItems AsyncLeasedTrial AsyncStudy BatchItem Belief Best Bool Catalogue CatalogueRow Categorical Cell Change
    Check Client Conflict ConnectionFailed CostBudget Counts CurvePoint CurveSummary DefinedByRun Deletion Delivery
    DictionaryPoint Direction EarlyStopping Estimate Event ExpectedValue Explanation File Findings Fixed Float Front
    FrontEstimate FrontObjective FrontPoint Growth ImportReport Importance ImportedResult Int Invalid Items KeptResult
    LatestTrial LeasedTrial Link MedianRule MetricPrediction Mixture ModelInfo ModelState NoTrialAvailable NotFinite
    NotFound Observation Ordinal Outbox OutcomeConstraint Outlook Parameter ParameterImportance ParameterInfo Parameters
    PartitionCell PatienceRule PlateBudget Plates PreconditionFailed Prediction Progress Quantity QuotaExceeded
    Recommendation ResultItem ResultKept RowError RunReport Slice SliceAxis Stop Study StudyChanges StudyComplete
    StudyInfo StudyObjective StudySettings StudySummary Trial TrialState Unauthorized Unavailable UnexpectedAnswer
    Validation ValidationItem Verdict Webhook WorkerDied WorkerLost WrongFunction WrongResult verify_webhook
"""


def test_the_public_names_are_exactly_these() -> None:
    assert sorted(adabkb_client.__all__) == sorted(SURFACE.split())
    assert all(hasattr(adabkb_client, name) for name in adabkb_client.__all__)
    assert {name for name in dir(adabkb_client) if not name.startswith("_")} == {*SURFACE.split(), "errors"}


def test_the_machinery_is_private() -> None:
    modules = {name for package in PUBLIC for name in _modules_in(import_module(package))}
    assert {name for name in modules if not name.rpartition(".")[2].startswith("_")} == set(PUBLIC) - {"adabkb_client"}


def _modules_in(package: ModuleType) -> Iterator[str]:
    if hasattr(package, "__path__"):
        yield from (f"{package.__name__}.{found.name}" for found in pkgutil.iter_modules(package.__path__))


@pytest.mark.long
@pytest.mark.parametrize(
    ("thing", "names"),
    [
        (
            LeasedTrial,
            "annotate attributes close fail number observe outcome parameters release report seconds "
            "should_stop start trial withdraw",
        ),
        (Outbox, "every file folder put_back refused remove server waiting"),
        (
            Client,
            "close create_study define_by_run delete_study deliver local outbox purge_study restore_study studies "
            "study trash url with_options",
        ),
        (Items, "count index to_frame"),
    ],
)
def test_objects_have_these_public_names_and_none_of_the_machinery(thing: type, names: str) -> None:
    source = f"from adabkb_client import {thing.__name__}\nthing: {thing.__name__}\nthing."
    assert {each.name for each in jedi.Script(source).complete() if not each.name.startswith("_")} == {*names.split()}


def test_every_error_can_be_caught_as_one() -> None:
    errors = [kind for kind in vars(adabkb_client).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert errors
    assert all(issubclass(kind, AdaBKBError) for kind in errors)


def test_fields_of_a_newer_server_are_ignored() -> None:
    document = {"mean": 1, "std": 0.5, "lcb": 0.0, "ucb": 2.0, "median": 1.0}
    assert decode(Prediction, document) == Prediction(1.0, 0.5, 0.0, 2.0)


def test_nested_records_nulls_and_times_are_decoded() -> None:
    observed = {"parameters": {"x": 1}, "value": 2, "trial": None}
    recommendation = decode(Recommendation, {"model": None, "observed": observed, "gap": None})
    assert recommendation == Recommendation(None, Best({"x": 1}, 2.0, None), None)
    event = {"seq": 1, "kind": "created", "trial": None, "payload": {}, "created_at": "2026-01-02T03:04:05.5Z"}
    assert decode(Event, event).created_at == datetime(2026, 1, 2, 3, 4, 5, 500_000, tzinfo=UTC)


@pytest.mark.parametrize("document", [[], None, "x", {"mean": "much", "std": 1, "lcb": 1, "ucb": 1}])
def test_an_answer_of_another_shape_is_refused(document: object) -> None:
    with pytest.raises(UnexpectedAnswer, match="Prediction"):
        decode(Prediction, document)


def test_the_address_comes_from_the_argument_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADABKB_URL", "http://example.org:1")
    with Client() as client, Client("http://example.org:2") as other:
        assert client.url == "http://example.org:1"
        assert other.url == "http://example.org:2"
    monkeypatch.delenv("ADABKB_URL")
    with Client() as client:
        assert client.url == "http://127.0.0.1:8000"


def test_an_address_without_scheme_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="http://"):
        Client("127.0.0.1:8000")


@pytest.mark.long
def test_the_client_needs_nothing_of_the_servers_installation() -> None:
    program = (
        "import sys, adabkb_client; print({'fastapi', 'numpy', 'pandas', 'pydantic', 'sqlalchemy'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_import_loads_only_packages_of_the_clients_installation() -> None:
    """httpx imports click and rich, and tenacity imports tornado, if they are installed."""
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['click', 'rich', 'tornado'])); import {}; "
        "print(*sorted({{name.partition('.')[0] for name, module in sys.modules.items() if module}}))"
    )
    commands = ([sys.executable, "-c", program.format(name)] for name in ("httpx", "adabkb_client"))
    of_httpx, of_client = (set(subprocess.check_output(command, text=True).split()) for command in commands)
    assert "httpx" in of_httpx
    assert of_client - of_httpx - sys.stdlib_module_names == {"adabkb_client", "platformdirs", "tenacity"}
    assert not {"asyncio", "multiprocessing"} & of_client


@pytest.mark.long
def test_the_core_imports_no_package_that_it_can_do_without() -> None:
    """A program that creates studies, asks and tells pays for no run engine, import, figure or event loop."""
    program = (
        "import sys, adabkb_client as a; a.Study(a.Client()._transport, 's').with_options(timeout=1); "
        "names = {'_run', '_importing', 'plots', 'mcp', '_async_client', '_async_study'}; "
        "print(sorted(n for n in names if any(m.startswith('adabkb_client.' + n) for m in sys.modules)), "
        "sorted({'multiprocessing', 'tqdm'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[] []\n"


def signature(method: object) -> tuple[list[inspect.Parameter], object]:
    """The parameters without self, and the return type."""
    assert callable(method)
    found = inspect.signature(method)
    return [each for each in found.parameters.values() if each.name != "self"], found.return_annotation


CALLS = {name for name, _ in inspect.getmembers(StudyCalls, callable) if not name.startswith("_")}
WRITTEN_ONCE = sorted(CALLS - PARTS)
"""``suggest`` is written by hand for each client, since its return type depends on its arguments; the other
``PARTS`` are parts of calls or of leased trials."""


@pytest.mark.parametrize("name", WRITTEN_ONCE)
def test_a_call_written_once_has_the_same_documentation_and_signature_in_both_clients(name: str) -> None:
    procedure = getattr(StudyCalls, name)
    documentation, (parameters, steps) = inspect.getdoc(procedure), signature(procedure)
    assert documentation
    returned = get_args(steps)[-1]
    before, rest, after = documentation.partition("    changes: each of ``StudyChanges``.\n")
    settings = StudyChanges.__annotations__ if rest else {}
    named = [each for each in parameters if each.kind is not each.VAR_KEYWORD]
    for kind, of in ((Study, Items), (AsyncStudy, AsyncItems)):
        method = getattr(kind, name)
        text, (arguments, answer) = inspect.getdoc(method) or "", signature(method)
        assert text.startswith(before)
        assert bool(text.removeprefix(before).removesuffix(after)) == bool(rest)
        assert [each for each in arguments if each.name not in {*settings, "others"}] == named
        assert [each.name for each in arguments if each.name in settings] == list(settings)
        expected = of[returned] if get_origin(steps) is Listing else returned
        assert answer == (None if expected is type(None) else expected)


def test_parts_of_calls_are_no_methods() -> None:
    assert not {name for kind in (Study, AsyncStudy) for name in PARTS - {"suggest"} if hasattr(kind, name)}


BLOCKING: dict[type, set[str]] = {
    Client: set(),
    Study: set(),
    LeasedTrial: {"start", "close"},  # an async with block needs a task, which an object cannot end by itself
}
IN_PROCESSES = {"processes", "engine", "resources", "gpus"}
"""Arguments of ``Study.run`` and ``Study.optimize`` that do not apply to event loops."""


@pytest.mark.parametrize(
    ("blocking", "asynchronous"), [(Client, AsyncClient), (Study, AsyncStudy), (LeasedTrial, AsyncLeasedTrial)]
)
def test_the_asynchronous_client_has_the_same_calls_with_the_same_arguments(blocking: type, asynchronous: type) -> None:
    names = {name for name in dir(asynchronous) if not name.startswith("_")}
    missing = {name for name in dir(blocking) if not name.startswith("_")} - names
    assert missing == BLOCKING[blocking]
    for name in names:
        method, other = getattr(asynchronous, name), getattr(blocking, name)
        assert inspect.getdoc(method), name
        if callable(other):
            expected = [
                each for each in signature(other)[0] if name not in ("run", "optimize") or each.name not in IN_PROCESSES
            ]
            found = signature(method)[0]
            if name == "run":  # the function is awaited in one and called in the other
                found, expected = found[1:], expected[1:]
            assert [*map(_with_any_study, found)] == [*map(_with_any_study, expected)], name


def _with_any_study(argument: inspect.Parameter) -> inspect.Parameter:
    """Callbacks take the study of their client."""
    return argument.replace(annotation=...) if argument.name == "callbacks" else argument


@pytest.mark.parametrize(("leased", "study"), [(LeasedTrial, Study), (AsyncLeasedTrial, AsyncStudy)])
def test_a_leased_trial_has_its_studys_calls_without_the_arguments_that_it_knows(leased: type, study: type) -> None:
    calls = {name for name, _ in inspect.getmembers(leased, inspect.isfunction) if not name.startswith("_")}
    shared = {name for name in calls if hasattr(study, name)}
    assert shared == {"annotate", "fail", "observe", "release", "report", "withdraw"}
    for name in shared:
        expected, answer = signature(getattr(study, name))
        known = ("trial", "attempt", "lease_seconds")
        assert signature(getattr(leased, name)) == ([each for each in expected if each.name not in known], answer), name


def test_a_truth_is_a_property_which_needs_no_parentheses() -> None:
    """``if trial.should_stop:`` would always be true if it was a method. That of Optuna is one."""
    found = {
        f"{name}.{method}"
        for name in adabkb_client.__all__
        for method, function in inspect.getmembers(getattr(adabkb_client, name), inspect.isfunction)
        if not method.startswith("_") and signature(function) == ([], bool)
    }
    assert found == {"AskingTrial.should_prune"}
    assert isinstance(inspect.getattr_static(LeasedTrial, "should_stop"), property)
    assert isinstance(inspect.getattr_static(AsyncLeasedTrial, "should_stop"), property)


BARE = {
    ("AskingTrial", "user_attrs"): "attributes",
    ("Catalogue", "cells"): "cells of a table",
    ("Catalogue", "row"): "cells of a table",
    ("Event", "payload"): "differs by kind, and grows with each version: see docs/http.md",
    ("Explanation", "decision"): "as JSON: see docs/http.md",
    ("Explanation", "events"): "as JSON: see docs/http.md",
    ("Explanation", "trial"): "as JSON: see docs/http.md",
    ("KeptResult", "body"): "the body of a request, as it is sent",
    ("ModelInfo", "learned"): "differs by algorithm: see docs/http.md",
    ("verify_webhook", "verify_webhook"): "differs by kind: see docs/http.md",
}
"""Public annotations with dicts of any values, and why. Also those of ``FREE`` arguments and fields."""
FREE = {
    "attributes",
    "baseline",
    "centroid",
    "choices",
    "context",
    "defaults",
    "fixed",
    "high",
    "low",
    "parameters",
    "reports",
    "to_measure",
}
FREE |= {"point", "points", "at", "resources", "source", "untried", "widened", "objective", "function", "to_json"}
"""Values of parameters or attributes, rows of tables, arguments for a cluster, and results of functions."""


def test_no_public_annotation_is_a_bare_dict() -> None:
    found = {(owner, name) for owner, name, hint in _annotations() if _has_bare_dict(hint) and name not in FREE}
    assert found == BARE.keys()


def _annotations() -> Iterator[tuple[str, str, object]]:
    for owner in adabkb_client.__all__:
        thing = getattr(adabkb_client, owner)
        if isinstance(thing, type):
            yield from ((owner, name, hint) for name, hint in get_type_hints(thing).items() if not name.startswith("_"))
        for name, member in [(owner, thing)] if inspect.isfunction(thing) else inspect.getmembers(thing):
            called = member.fget if isinstance(member, property) else member
            if not name.startswith("_") and (inspect.isfunction(called) or inspect.ismethod(called)):
                for argument, hint in called.__annotations__.items():
                    yield owner, name if argument == "return" else argument, hint


def _has_bare_dict(hint: object) -> bool:
    """Whether a type has ``dict[str, Any]`` or ``Mapping[str, Any]`` anywhere."""
    if isinstance(hint, str):
        return "dict[str, Any]" in hint or "Mapping[str, Any]" in hint
    parts = get_args(hint)
    if get_origin(hint) in (dict, Mapping) and len(parts) == 2:
        return parts[1] is Any or _has_bare_dict(parts[1])
    return any(map(_has_bare_dict, parts))
