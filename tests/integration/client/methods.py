"""Write ``create_study``, and the methods of both clients that perform the procedures of ``StudyCalls`` and
``Figures``.

``python -m tests.integration.client.methods`` writes them again. They are real methods, so every editor shows their
arguments, types and documentation. The settings of a study are arguments, too, as jedi completes no ``**settings``.
Their classes have the names of the public classes that inherit them, since Python's errors name them:
"Study.observe() takes from 2 to 3 positional arguments".
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.integration.client import expanded

PACKAGE = Path(__file__).parents[3] / "client" / "adabkb_client"
PARTS = {"ask", "change", "deliver_reports", "send_reports", "settle", "suggest"}
"""Procedures that are parts of other calls or only have a command, and ``suggest``, which each client has by hand."""
IN_THREADS = {"add_file", "add_result_file", "import_results"}
"""Procedures that read files, which the asynchronous client therefore performs in threads, as it does all figures."""


@dataclass(frozen=True)
class Methods:
    """A module of methods, and the procedures that they perform."""

    module: str
    name: str
    calls: str
    """The attribute or the module that has the procedures."""
    calls_class: str | None
    """The class of the attribute."""
    sources: tuple[str, ...]
    is_async: bool
    private: tuple[str, ...] = ()
    """Parts of calls that have private methods, too."""
    only: tuple[str, ...] = ()
    """The procedures that have methods; empty means all."""

    @property
    def file(self) -> Path:
        """The path of the module."""
        return PACKAGE / self.module


CLIENT = ("_client_calls.py",)
STUDY = ("_study_calls.py", "_trial_calls.py")
ALL = (
    Methods(
        "_client_methods.py", "Client", "client_calls", None, CLIENT, False, only=("create_study", "define_by_run")
    ),
    Methods(
        "_async_client_methods.py",
        "AsyncClient",
        "client_calls",
        None,
        CLIENT,
        True,
        only=("create_study", "define_by_run"),
    ),
    Methods(
        "_study_methods.py",
        "Study",
        "self._calls",
        "StudyCalls",
        STUDY,
        False,
        ("settle", "deliver_reports", "_edit_space"),
    ),
    Methods(
        "_async_study_methods.py",
        "AsyncStudy",
        "self._calls",
        "StudyCalls",
        STUDY,
        True,
        ("settle", "deliver_reports"),
    ),
    Methods("plots/_methods.py", "Plots", "self._figures", "Figures", ("plots/_figures.py",), False),
    Methods("plots/_async_methods.py", "AsyncPlots", "self._figures", "Figures", ("plots/_figures.py",), True),
)


def written(methods: Methods) -> str:
    """Return the text of a module."""
    trees = [ast.parse((PACKAGE / source).read_text("utf-8")) for source in methods.sources]
    imports, procedures = dict[str, str](), list[ast.FunctionDef]()
    for source, tree in zip(methods.sources, trees, strict=True):
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                imports |= {each.name: f"from {node.module} import {each.name}" for each in node.names}
            elif isinstance(node, ast.FunctionDef) and methods.calls_class is None:
                node.args.args.insert(0, ast.arg("self"))
                procedures.append(node)
            elif isinstance(node, ast.ClassDef) and not node.name.endswith(("Calls", "Figures")):
                imports[node.name] = f"from adabkb_client.{Path(source).stem} import {node.name}"
            elif isinstance(node, ast.ClassDef):
                procedures += [each for each in node.body if isinstance(each, ast.FunctionDef)]
    procedures = [each for each in procedures if _is_wanted(each, methods)]
    found = "\n\n".join(_method(each, methods) for each in procedures)
    transport = "AsyncTransport" if methods.is_async else "Transport"
    items = "AsyncItems" if methods.is_async else "Items"
    study = "AsyncStudy" if methods.is_async else "Study"
    defined = f"{'Async' * methods.is_async}DefinedByRun"
    folder = "adabkb_client.plots" if "/" in methods.module else "adabkb_client"
    imports |= {
        **expanded.imports(),
        **_calls_import(methods, folder),
        transport: f"from adabkb_client._http.{'async_' * methods.is_async}transport import {transport}",
        items: f"from adabkb_client._items import {items}",
        "as_it_is": "from adabkb_client._values import as_it_is",
        study: f"from adabkb_client._{'async_' * methods.is_async}study import {study}",
        defined: f"from adabkb_client._{'async_' * methods.is_async}study import {defined}",
    }
    client = "asynchronous" if methods.is_async else "blocking"
    performed = methods.calls_class or methods.sources[0]
    attribute = f"    {methods.calls.removeprefix('self.')}: {methods.calls_class}\n" if methods.calls_class else ""
    attribute += "    id: str\n" if methods.calls_class == "StudyCalls" else ""
    text = f'''"""The methods of the {client} client that perform the procedures of ``{performed}``.

Written by ``python -m tests.integration.client.methods``; change the procedures instead.
"""

%s


class {methods.name}:
    """One method for each procedure of ``{performed}``{" that takes settings" * bool(methods.only)}."""

    _transport: {transport}
{attribute}
{found}
'''
    names = {methods.calls_class or methods.calls, transport, *_names(ast.parse(text.replace("%s", "")))}
    made = (items, study, defined, "as_it_is", "given")
    names |= {name for name in made if f"{name}(" in found or f", {name}" in found}
    lines = [imports[name] for name in sorted(names & imports.keys())]
    if methods.calls_class == "Figures":  # only the figures themselves import matplotlib
        indented = "\n".join(f"    {line}" for line in lines)
        lines = ["from __future__ import annotations", "from typing import TYPE_CHECKING"]
        lines += [f"if TYPE_CHECKING:\n{indented}"]
    return _formatted(text.replace("%s", "\n".join(lines)))


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield the names in the signatures of methods."""
    for method in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        for part in (method.args, method.returns, *method.decorator_list):
            yield from (node.id for node in ast.walk(part or ast.Module([], [])) if isinstance(node, ast.Name))


def _calls_import(methods: Methods, folder: str) -> dict[str, str]:
    module = Path(methods.sources[0]).stem
    if methods.calls_class is None:
        return {methods.calls: f"from {folder} import {module} as {methods.calls}"}
    return {methods.calls_class: f"from {folder}.{module} import {methods.calls_class}"}


def _is_wanted(procedure: ast.FunctionDef, methods: Methods) -> bool:
    if methods.only:
        return procedure.name in methods.only
    is_public = not procedure.name.startswith("_") and procedure.name not in PARTS
    return is_public or procedure.name in methods.private


def _method(procedure: ast.FunctionDef, methods: Methods) -> str:
    """Return a method with the arguments and the documentation of a procedure."""
    assert isinstance(procedure.returns, ast.Subscript)
    if procedure.name == "define_by_run":
        given = f"{methods.calls}.{procedure.name}({', '.join(_passed(procedure))})"
        kind = f"{'Async' * methods.is_async}DefinedByRun"
        text = _text(procedure, "def", kind, f"return {kind}(self._transport, {given})")
        return text.replace("``client.define", "``await client.define") if methods.is_async else text
    kind, result = ast.unparse(procedure.returns.value), ast.unparse(procedure.returns.slice)
    call = f"{methods.calls}.{procedure.name}({', '.join(_passed(procedure))})"
    if kind == "Listing":
        items = (
            f"AsyncItems(self._transport, {call}, as_it_is)"
            if methods.is_async
            else f"Items({call}, as_it_is, self._transport)"
        )
        return _text(procedure, "def", f"{'Async' * methods.is_async}Items[{result}]", f"return {items}")
    takes_time = procedure.name in IN_THREADS or methods.calls_class == "Figures"
    perform = f"self._transport.perform{'_in_threads' * (takes_time and methods.is_async)}"
    done = f"{'await ' * methods.is_async}{perform}({call})"
    if methods.calls_class is None:
        study, info = f"{'Async' * methods.is_async}Study", done.replace(call, "steps")
        body = f"steps = {call}\ninfo = {info}\nreturn {study}(self._transport, info.id)"
        return _text(procedure, f"{'async ' * methods.is_async}def", study, body)
    return _text(procedure, f"{'async ' * methods.is_async}def", result, done if result == "None" else f"return {done}")


def _text(procedure: ast.FunctionDef, begin: str, result: str, body: str) -> str:
    decorators = [f"@{ast.unparse(each)}" for each in procedure.decorator_list]
    name = procedure.name if procedure.name not in PARTS else f"_{procedure.name}"
    settings = expanded.settings_of(procedure)
    documentation = expanded.documentation(procedure, settings)
    if begin == "async def":
        for called in ("client.", "study.run("):
            documentation = documentation.replace(f" = {called}", f" = await {called}")
    lines = f'"""{documentation}\n"""' if "\n" in documentation else f'"""{documentation}"""'
    head = [*decorators, f"{begin} {name}({ast.unparse(expanded.arguments(procedure, settings))}) -> {result}:"]
    inside = [*lines.split("\n"), *body.split("\n")]
    return "\n".join(f"    {line}" for line in (*head, *(f"    {line}" if line else "" for line in inside)))


def _passed(procedure: ast.FunctionDef) -> Iterator[str]:
    arguments = procedure.args
    yield from (each.arg for each in (*arguments.posonlyargs, *arguments.args) if each.arg != "self")
    if arguments.vararg:
        yield f"*{arguments.vararg.arg}"
    yield from (f"{each.arg}={each.arg}" for each in arguments.kwonlyargs)
    if settings := expanded.settings_of(procedure):
        named = ", ".join(f"{each.name}={each.name}" for each in settings)
        yield f"**given({named}, **{expanded.OTHERS})"


def _formatted(text: str) -> str:
    for command in (["check", "--quiet", "--select", "I", "--fix"], ["format", "--quiet"]):
        ruff = [str(Path(sys.executable).with_name("ruff")), *command, "--stdin-filename", str(PACKAGE / "_a.py"), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    for each in ALL:
        each.file.write_text(written(each), "utf-8")
