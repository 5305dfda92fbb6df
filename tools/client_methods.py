"""Write ``create_study``, and the methods of both clients that perform the procedures of ``StudyCalls`` and
``Figures``.

``python -m tools.client_methods`` writes them again. They are real methods, so every editor shows their
arguments, types and documentation. The settings of a study are arguments, too, as jedi completes no ``**settings``.
Their classes have the names of the public classes that inherit them, since Python's errors name them:
"Study.observe() takes from 2 to 3 positional arguments".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import client_settings, generated

PACKAGE = Path(__file__).parents[1] / "client" / "adabkb_client"
PARTS = {"ask", "change", "deliver_reports", "send_reports", "settle", "suggest"}
"""Procedures that are parts of other calls or only have a command, and ``suggest``, which each client has by hand."""
IN_THREADS = {"add_file", "add_result_file", "import_results"}
"""Procedures that read files, which the asynchronous client therefore performs in threads, as it does all figures."""


@dataclass(frozen=True)
class Kind:
    """How the code of the blocking and of the asynchronous client differs."""

    adjective: str
    transport: str
    items: str
    study: str
    defined_by_run: str
    module_prefix: str
    """Of the modules that define them."""
    define: str
    """What begins a method."""
    perform: str
    """The call that performs a procedure, and the one for procedures that take long."""
    perform_long: str
    listing: str
    """Items of a call, with a place for the call."""


BLOCKING = Kind(
    adjective="blocking",
    transport="Transport",
    items="Items",
    study="Study",
    defined_by_run="DefinedByRun",
    module_prefix="",
    define="def",
    perform="self._transport.perform",
    perform_long="self._transport.perform",
    listing="Items({}, as_it_is, self._transport)",
)
ASYNCHRONOUS = Kind(
    adjective="asynchronous",
    transport="AsyncTransport",
    items="AsyncItems",
    study="AsyncStudy",
    defined_by_run="AsyncDefinedByRun",
    module_prefix="async_",
    define="async def",
    perform="await self._transport.perform",
    perform_long="await self._transport.perform_in_threads",
    listing="AsyncItems(self._transport, {}, as_it_is)",
)


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
    kind: Kind
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
FIGURES = ("plots/_figures.py",)
SETTINGS = ("create_study", "define_by_run")
ALL = (
    Methods("_client_methods.py", "Client", "client_calls", None, CLIENT, BLOCKING, only=SETTINGS),
    Methods("_async_client_methods.py", "AsyncClient", "client_calls", None, CLIENT, ASYNCHRONOUS, only=SETTINGS),
    Methods(
        "_study_methods.py",
        "Study",
        "self._calls",
        "StudyCalls",
        STUDY,
        BLOCKING,
        private=("settle", "deliver_reports", "_edit_space"),
    ),
    Methods(
        "_async_study_methods.py",
        "AsyncStudy",
        "self._calls",
        "StudyCalls",
        STUDY,
        ASYNCHRONOUS,
        private=("settle", "deliver_reports"),
    ),
    Methods("plots/_methods.py", "Plots", "self._figures", "Figures", FIGURES, BLOCKING),
    Methods("plots/_async_methods.py", "AsyncPlots", "self._figures", "Figures", FIGURES, ASYNCHRONOUS),
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
    kind = methods.kind
    folder = "adabkb_client.plots" if "/" in methods.module else "adabkb_client"
    imports |= {
        **client_settings.imports(),
        **_calls_import(methods, folder),
        kind.transport: f"from adabkb_client._http.{kind.module_prefix}transport import {kind.transport}",
        kind.items: f"from adabkb_client._items import {kind.items}",
        "as_it_is": "from adabkb_client._values import as_it_is",
        kind.study: f"from adabkb_client._{kind.module_prefix}study import {kind.study}",
        kind.defined_by_run: f"from adabkb_client._{kind.module_prefix}study import {kind.defined_by_run}",
    }
    performed = methods.calls_class or methods.sources[0]
    source = " and ".join(f"``{each}``" for each in methods.sources)
    attribute = f"    {methods.calls.removeprefix('self.')}: {methods.calls_class}\n" if methods.calls_class else ""
    attribute += "    id: str\n" if methods.calls_class == "StudyCalls" else ""
    text = f'''"""The methods of the {kind.adjective} client that perform the procedures of ``{performed}``.

Generated by ``python -m tools.client_methods``. Do not edit this file:
edit {source}, and run the tool.
"""

%s


class {methods.name}:
    """One method for each procedure of ``{performed}``{" that takes settings" if methods.only else ""}."""

    _transport: {kind.transport}
{attribute}
{found}
'''
    names = {methods.calls_class or methods.calls, kind.transport, *_names(ast.parse(text.replace("%s", "")))}
    made = (kind.items, kind.study, kind.defined_by_run, "as_it_is", "given")
    names |= {name for name in made if f"{name}(" in found or f", {name}" in found}
    lines = [imports[name] for name in sorted(names & imports.keys())]
    if methods.calls_class == "Figures":  # only the figures themselves import matplotlib
        indented = "\n".join(f"    {line}" for line in lines)
        lines = ["from __future__ import annotations", "from typing import TYPE_CHECKING"]
        lines += [f"if TYPE_CHECKING:\n{indented}"]
    return generated.formatted(text.replace("%s", "\n".join(lines)))


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
    kind = methods.kind
    call = f"{methods.calls}.{procedure.name}({', '.join(_passed(procedure))})"
    if procedure.name == "define_by_run":
        text = _text(procedure, "def", kind.defined_by_run, f"return {kind.defined_by_run}(self._transport, {call})")
        return text if kind is BLOCKING else text.replace("``client.define", "``await client.define")
    steps, result = ast.unparse(procedure.returns.value), ast.unparse(procedure.returns.slice)
    if steps == "Listing":
        return _text(procedure, "def", f"{kind.items}[{result}]", f"return {kind.listing.format(call)}")
    perform = kind.perform_long if procedure.name in IN_THREADS or methods.calls_class == "Figures" else kind.perform
    if methods.calls_class is None:
        body = f"steps = {call}\ninfo = {perform}(steps)\nreturn {kind.study}(self._transport, info.id)"
        return _text(procedure, kind.define, kind.study, body)
    done = f"{perform}({call})"
    return _text(procedure, kind.define, result, done if result == "None" else f"return {done}")


def _text(procedure: ast.FunctionDef, begin: str, result: str, body: str) -> str:
    decorators = [f"@{ast.unparse(each)}" for each in procedure.decorator_list]
    name = procedure.name if procedure.name not in PARTS else f"_{procedure.name}"
    settings = client_settings.settings_of(procedure)
    documentation = client_settings.documentation(procedure, settings)
    if begin == "async def":
        for called in ("client.", "study.run("):
            documentation = documentation.replace(f" = {called}", f" = await {called}")
    lines = f'"""{documentation}\n"""' if "\n" in documentation else f'"""{documentation}"""'
    head = [*decorators, f"{begin} {name}({ast.unparse(client_settings.arguments(procedure, settings))}) -> {result}:"]
    inside = [*lines.split("\n"), *body.split("\n")]
    return "\n".join(f"    {line}" for line in (*head, *(f"    {line}" if line else "" for line in inside)))


def _passed(procedure: ast.FunctionDef) -> Iterator[str]:
    arguments = procedure.args
    yield from (each.arg for each in (*arguments.posonlyargs, *arguments.args) if each.arg != "self")
    if arguments.vararg:
        yield f"*{arguments.vararg.arg}"
    yield from (f"{each.arg}={each.arg}" for each in arguments.kwonlyargs)
    if settings := client_settings.settings_of(procedure):
        named = ", ".join(f"{each.name}={each.name}" for each in settings)
        yield f"**given({named}, **{client_settings.OTHERS})"


if __name__ == "__main__":
    for each in ALL:
        generated.write(each.file, written(each))
