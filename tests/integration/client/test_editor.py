"""What an editor completes, and what type checkers say of a user's script: asked of a language server.

``make lint`` has mypy read this file strictly, with the mistakes in it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from pathlib import Path
from typing import IO, Any, get_args, is_typeddict

import jedi
import pytest

import adabkb_client
from adabkb_client import (
    AsyncClient,
    AsyncLeasedTrial,
    AsyncStudy,
    Client,
    Float,
    Int,
    LeasedTrial,
    MedianRule,
    Parameter,
    Study,
    StudyChanges,
    StudySettings,
)
from adabkb_client.plots import AsyncPlots, Plots
from tools.client_methods import ALL, Methods, written
from tools.generated import outdated

BIN = Path(sys.executable).parent
ENVIRONMENT = {"venvPath": str(BIN.parents[1]), "venv": BIN.parent.name}
SCRIPT = """\
from adabkb_client import AsyncClient, Client, Float, MedianRule


def error(x: float) -> float:
    return x * x


with Client() as client:
    study = client.create_study(
        "fit",
        {"x": Float(0, 1)},
        direction="minimize",
        budget=20,
        stop={"no_gain_for": 5},
        early_stopping={"rule": "asha", "max_steps": 9},
    )
    client.create_study("ruled", {"x": Float(0, 1)}, direction="minimize", early_stopping=MedianRule(max_steps=9))
    report = study.run(error, workers=2, callbacks=[lambda study, trial: print(study.info().state, trial.value)])
    study.update(budget=30, stop=None)
    for trial in study.suggest(2):
        study.observe(trial, error(float(trial.parameters["x"])))
    print(report.completed, study.info().counts.completed)
    best = study.best()
    if best is not None:
        print(best.value, best.parameters)


async def later(x: float) -> float:
    return x * x


async def once() -> float | None:
    async with AsyncClient() as client:
        study = await client.create_study("fit", {"x": Float(0, 1)}, direction="minimize", budget=20)
        async with study.trial() as trial:
            await trial.observe(error(float(trial.parameters["x"])))
        await study.run(later, callbacks=[lambda study, trial: print(study.id, trial.number)])
        best = await study.best()
        return None if best is None else best.value
"""
OPENED = """\
from adabkb_client import AsyncClient, Client, Float, MedianRule

client, other = Client(), AsyncClient()
study = client.create_study("s", {"x": Float(0, 1)}, direction="minimize")
trial, result, value, point, source = study.suggest(), study.observations()[0], 0.5, {"x": 0.5}, "older.csv"
"""


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Processes that share jedi's cache read files that others have only begun to write."""
    jedi.settings.cache_directory = str(tmp_path_factory.mktemp("jedi"))


def mistakes(client: Client) -> None:
    """Never called: mypy reads it, and ``make lint`` fails if one of these mistakes is no error any more."""
    study = client.create_study("s", {"x": Float(0, 1)}, direction="minimise")  # type: ignore[arg-type]
    client.create_study("s", {"x": Float(0, 1)}, direction="minimize", budgets=3)  # type: ignore[arg-type]
    client.create_study("s", {"x": (0, 1)}, direction="minimize")  # type: ignore[dict-item]
    client.create_study("s", {"x": Float(0, 1)}, direction="minimize", stop={"no_gain": 5})  # type: ignore[arg-type]
    study.update(seed=2)  # type: ignore[arg-type]
    Int(16, 512, 16)  # type: ignore[call-arg, arg-type]
    MedianRule()  # type: ignore[call-arg]
    study.run(lambda x: x, n_trial=3)  # type: ignore[arg-type]
    print(study.best_params)  # type: ignore[attr-defined]
    print(study.suggest().lr)  # type: ignore[attr-defined]
    with study.trial() as trial:
        print(trial.params)  # type: ignore[attr-defined]


@pytest.mark.long
def test_a_users_script_passes_strict_checks_and_its_mistakes_do_not(tmp_path: Path) -> None:
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({**ENVIRONMENT, "typeCheckingMode": "strict"}))
    (tmp_path / "script.py").write_text(SCRIPT)
    for name, (right, wrong) in {
        "setting": ("budget=20,", "budgets=20,"),
        "key": ("no_gain_for", "no_gain"),
        "rule": ('"asha"', '"hyperband"'),
        "change": ("budget=30", "seed=30"),
        "awaited": ("await trial.observe", "trial.observe"),
        "called": ("study.info().state, trial", "study.infos().state, trial"),
        "called_async": ("study.id, trial", "study.ids, trial"),
    }.items():
        (tmp_path / f"{name}.py").write_text(SCRIPT.replace(right, wrong, 1))
    checking = subprocess.run([BIN / "basedpyright", "--outputjson"], cwd=tmp_path, stdout=subprocess.PIPE, check=False)
    found = json.loads(checking.stdout)["generalDiagnostics"]
    blamed = {Path(each["file"]).stem for each in found}
    assert blamed == {"setting", "key", "rule", "change", "awaited", "called", "called_async"}, found


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('client.create_study("s", {"x": Float(0, 1)}, direction="minimize", ', StudySettings.__annotations__),
        ('other.create_study(\n    "s",\n    {"x": Float(0, 1)},\n    ', StudySettings.__annotations__),
        ("MedianRule(", ["max_steps", "min_steps", "after_trials", "metric"]),
        ("study.update(", [*StudyChanges.__annotations__, "parameters", "defaults"]),
        ("study.suggest(", ["count", "worker", "lease_seconds", "fixed", "wait"]),
        ("study.run(print, ", ["n_trials", "timeout", "workers", "processes", "catch", "progress"]),
        ("study.observe(trial, ", ["value", "std_error", "parameters", "metrics", "std_errors"]),
        ("study.add_result(point, ", ["value", "std_error", "metrics", "std_errors"]),
        ("study.correct(result, value, ", ["std_error", "metrics", "std_errors", "reason"]),
        ("study.import_results(source, ", ["columns", "value", "std_error", "state", "dry_run", "progress"]),
        ("study.recommendation(", ["feasible_probability", "context"]),
        ("study.trials(", ["state", "attributes"]),
        ("study.heartbeat(trial, ", ["lease_seconds"]),
        ("study.with_options(", ["timeout", "retry_for", "headers"]),
        ("study.plot.history(", ["metric", "figure"]),
        ("other.with_options(", ["timeout", "retry_for", "headers"]),
        ("client.define_by_run(", [*StudySettings.__annotations__, "id", "direction"]),
        ('client.define_by_run("d").optimize(print, ', ["n_trials", "workers", "processes", "gpus", "catch"]),
        ('from adabkb_integrations.ray import AdaBKBSearch\nAdaBKBSearch("s", ', StudySettings.__annotations__),
        ("Client(", ["url", "token", "timeout", "retry_for", "outbox", "headers", "verify", "proxy", "http_client"]),
        ("AsyncClient(", ["verify", "proxy", "headers", "http_client"]),
        ("with study.trial() as trial:\n    trial.observe(", ["value", "std_error", "parameters", "metrics"]),
        ("with study.trial() as trial:\n    trial.annotate(", ["attributes"]),
    ],
)
def test_an_editor_completes_each_argument(server: Completing, line: str, expected: Sequence[str]) -> None:
    assert {f"{name}=" for name in expected} <= server.completed(OPENED + line)


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('study.update(stop={"', ["no_gain_for", "gap_share_below"]),
        ('client.create_study("s", {}, early_stopping={"', ["rule", "max_steps", "eta", "no_gain_for"]),
        ('client.create_study("s", {}, direction="', ["minimize", "maximize"]),
        ('client.create_study("s", {}, "', ["minimize", "maximize"]),
        ('client.create_study("s", {}, algorithm={"', ["kind", "profile", "delta"]),
        ('client.create_study("s", {}, plates={"', ["size", "shared"]),
        ('study.info().model["', ["status", "error", "effective_dimension"]),
        ('study.info().parameters[0]["', ["name", "kind", "low", "choices", "when"]),
        ('study.why(trial)["', ["trial", "decision", "events"]),
    ],
)
def test_and_what_a_setting_consists_of(server: Completing, line: str, expected: Sequence[str]) -> None:
    assert set(expected) <= {label.strip('"') for label in server.completed(OPENED + line)}


@pytest.mark.long
@pytest.mark.parametrize(("begun", "expected"), [("study.b", "best"), ("study.to", "to_frame"), ("trial.n", "number")])
def test_and_what_a_callback_takes(server: Completing, begun: str, expected: str) -> None:
    line = f"study.run(print, callbacks=[lambda study, trial: {begun}"
    assert expected in server.completed(OPENED + line, "])")


SPOKEN_OF = (Client, AsyncClient, Study, AsyncStudy, LeasedTrial, AsyncLeasedTrial, Plots, AsyncPlots)


@pytest.mark.long
@pytest.mark.parametrize("kind", SPOKEN_OF)
def test_an_editor_shows_what_each_call_does(kind: type) -> None:
    """Asked of jedi, which Spyder, Vim and JupyterLab use. It does not run the code, as basedpyright does not."""
    script = f"from {kind.__module__} import {kind.__name__}\nstudy: {kind.__name__}\nstudy."
    found = {each.name: each.docstring() for each in jedi.Script(script, path=Path(__file__)).complete()}
    methods = dict(inspect.getmembers(kind, inspect.isfunction))
    methods = {name: method for name, method in methods.items() if not name.startswith("_")}
    assert len(methods) > 5
    for name, method in methods.items():
        signature, _, text = found[name].partition("\n\n")
        assert inspect.cleandoc(text).startswith((inspect.getdoc(method) or "?")[:60]), name
        assert signature.startswith(f"{name}("), name


FIELDS = {
    kind.__name__: [field for each in kind.__mro__ for field in inspect.get_annotations(each)]
    for kind in vars(adabkb_client).values()
    if isinstance(kind, type) and (is_dataclass(kind) or is_typeddict(kind)) and kind not in get_args(Parameter)
}
"""The public records and dicts, with their fields. The fields of parameters are documented as arguments."""


@pytest.mark.parametrize("kind", sorted(FIELDS))
def test_an_editor_shows_what_each_field_is(kind: str) -> None:
    """Jedi and basedpyright show the string below a field."""
    source = ast.parse(inspect.getsource(importlib.import_module(getattr(adabkb_client, kind).__module__)))
    classes = {each.name: each for each in source.body if isinstance(each, ast.ClassDef)}
    bases = {base.__name__ for base in getattr(adabkb_client, kind).__mro__}
    for each in (classes[name] for name in bases & classes.keys()):
        for field, text in zip(each.body, [*each.body[1:], ast.Pass()], strict=True):
            if isinstance(field, ast.AnnAssign) and "ClassVar" not in ast.unparse(field.annotation):
                is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
                assert is_text, f"{kind}.{ast.unparse(field.target)}"


@pytest.mark.long
@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("study.recommendation().model", "The evaluated point that the model expects to be best"),
        ("study.run(print).recommendation", "The recommendation of the whole study"),
        ("study.suggest().phase", "The purpose of a suggestion"),
        ("study.info().parameters", "The search space"),
    ],
)
def test_as_jedi_shows_it(expression: str, text: str) -> None:
    lines = (OPENED + expression).split("\n")
    (found,) = jedi.Script("\n".join(lines), path=Path(__file__)).help(len(lines), len(lines[-1]))
    assert found.docstring().startswith(text)


ANSWERS = ("DictionaryPoint", "Explanation", "ModelInfo", "ModelState", "ParameterInfo", "PartitionCell")
"""Dicts that nobody writes. An editor completes their keys."""
DICTS = [name for name in FIELDS if is_typeddict(getattr(adabkb_client, name)) and name not in ANSWERS]


@pytest.mark.parametrize("kind", DICTS)
def test_the_text_of_a_dict_names_its_keys(kind: str) -> None:
    """An editor shows it for the name of the type."""
    text = inspect.getdoc(getattr(adabkb_client, kind)) or ""
    assert kind == "Algorithm" or [name for name in FIELDS[kind] if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.long
def test_jedi_completes_what_an_objective_asks_for() -> None:
    script = "from adabkb_client import AskingTrial\n\ndef objective(trial: AskingTrial):\n    trial."
    found = {each.name for each in jedi.Script(script, path=Path(__file__)).complete()}
    assert {"suggest_float", "suggest_int", "suggest_categorical", "report", "should_prune"} <= found


@pytest.mark.long
def test_an_editor_shows_no_names_of_the_machinery() -> None:
    found = {each.name for each in jedi.Script("import adabkb_client\nadabkb_client.").complete()}
    assert {name for name in found if not name.startswith("_")} == {*adabkb_client.__all__, "errors", "mcp", "plots"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ('client.create_study("s", {}, direction="minimize", ', StudySettings),
        ('other.create_study("s", {}, ', StudySettings),
        ("client.study('s').update(", StudyChanges),
        ("client.define_by_run('d', ", StudySettings),
    ],
)
def test_jedi_completes_each_setting_without_a_prefix(line: str, settings: type) -> None:
    found = {each.name for each in jedi.Script(OPENED + line, path=Path(__file__)).complete()}
    assert {f"{name}=" for name in settings.__annotations__} <= found


@pytest.mark.long
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_editor_shows_each_setting_with_an_example(kind: type) -> None:
    script = f"from adabkb_client import {kind.__name__}\n{kind.__name__}().create_study"
    (found,) = jedi.Script(script, path=Path(__file__)).help(2, len(kind.__name__) + 5)
    entries = re.findall(r"^    (\w+): (.*(?:\n {8}.*|\n(?=\n {8}))*)", found.docstring(), re.MULTILINE)
    examples = {name: "``" in entry for name, entry in entries if name in StudySettings.__annotations__}
    assert examples.keys() == StudySettings.__annotations__.keys()
    assert [name for name, has_example in examples.items() if not has_example] == ["description"]


@pytest.mark.parametrize("methods", ALL, ids=lambda each: each.name)
def test_the_methods_are_those_of_the_procedures(methods: Methods) -> None:
    assert outdated(methods.file.read_text("utf-8"), written(methods)) == ""


class Completing:
    """A language server, as an editor speaks with it."""

    def __init__(self, to: IO[bytes], answers: IO[bytes], folder: Path) -> None:
        self._to, self._answers, self._folder = to, answers, folder
        self._asked = 0
        folders = [{"uri": folder.as_uri(), "name": "scripts"}]
        able = {"workspace": {"workspaceFolders": True}}
        self._call("initialize", {"processId": None, "workspaceFolders": folders, "capabilities": able})
        self._tell("initialized", {})

    def completed(self, text: str, after: str = "") -> set[str]:
        """What the server offers at the end of a text, with what an editor has closed after it."""
        self._asked += 1
        uri = (self._folder / f"script{self._asked}.py").as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text + after}
        self._tell("textDocument/didOpen", {"textDocument": document})
        lines = text.split("\n")
        position = {"line": len(lines) - 1, "character": len(lines[-1])}
        answer = self._call("textDocument/completion", {"textDocument": {"uri": uri}, "position": position})
        items = answer["items"] if isinstance(answer, Mapping) else answer or []
        return {item["label"] for item in items}

    def _call(self, method: str, params: Mapping[str, Any]) -> Any:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        while True:
            message = self._received()
            if "method" not in message and message["id"] == self._asked:
                return message["result"]
            if "id" in message and "method" in message:  # the server asks for settings: there are none
                items = message.get("params", {}).get("items", [])
                self._send({"id": message["id"], "result": [None for _ in items] or None})

    def _tell(self, method: str, params: Mapping[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: Mapping[str, Any]) -> None:
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._to.write(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
        self._to.flush()

    def _received(self) -> dict[str, Any]:
        size = 0
        while line := self._answers.readline().strip():
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        message: dict[str, Any] = json.loads(self._answers.read(size))
        return message


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Completing]:
    folder = tmp_path_factory.mktemp("script")
    (folder / "pyrightconfig.json").write_text(json.dumps(ENVIRONMENT))
    with running([BIN / "basedpyright-langserver", "--stdio"]) as (to, answers):
        yield Completing(to, answers, folder)


@contextmanager
def running(command: Sequence[str | Path]) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdin, process.stdout
        finally:
            process.kill()
