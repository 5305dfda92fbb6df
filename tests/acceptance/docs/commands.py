"""Check the commands in pages that cannot run here: the files that they name exist, and the programs accept their
arguments.
"""

from __future__ import annotations

import importlib
import re
import shlex
import tomllib
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer.main
import yaml

from adabkb_service.cli.main import app

ROOT = Path(__file__).parents[3]
Words = Sequence[str]


def check(command: str) -> None:
    """Fail if a command names something that does not exist."""
    words = shlex.split(command, comments=True)
    while words:
        end = words.index("&&") if "&&" in words else len(words)
        _check(words[:end])
        words = words[end + 1 :]


def accepts(program: typer.Typer, arguments: Words) -> None:
    """Fail if a program does not accept these arguments."""
    command: Any = typer.main.get_command(program)
    name, context = "", None
    while hasattr(command, "get_command"):
        name, *arguments = arguments
        context = command.context_class(command, info_name=name, parent=context)
        found = command.get_command(context, name)
        assert found, f"there is no command {name}"
        command = found
    command.make_context(name, list(arguments), parent=context)


def _check(words: Words) -> None:
    while re.match(r"\w+=", words[0]):
        words = words[1:]
    for word in words:
        if word.startswith("deploy/"):
            assert (any if "*" in word else all)([*ROOT.glob(word)] or [False]), f"there is no {word}"
    program = words[0].rpartition("/")[2]
    assert program in PROGRAMS, f"{program}: say in tests/acceptance/docs/commands.py how its arguments are checked"
    PROGRAMS[program](words[1:])


def _nothing(arguments: Words) -> None:
    """Do not check the arguments of a system program."""


def _adabkb(arguments: Words) -> None:
    accepts(app, arguments)


def _sudo(arguments: Words) -> None:
    programs = [place for place, word in enumerate(arguments) if word.startswith("/")]
    if arguments[2] == "env":
        [program] = programs
        _check(arguments[program:])
    else:
        _check(arguments[2:])


def _make(arguments: Words) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(arguments) <= set(targets), arguments


def _pip(arguments: Words) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for names in re.findall(r"\[(.*?)\]", " ".join(arguments)):
        assert set(names.split(",")) <= extras.keys(), names


def _python(arguments: Words) -> None:
    if arguments[0] == "-m":
        _, module, *rest = arguments
        assert find_spec(module), f"there is no module {module}"
        if module in {"benchmarks.paper", "benchmarks.quality"}:
            accepts(importlib.import_module(f"{module}.__main__").app, rest)


def _docker(arguments: Words) -> None:
    if arguments[:2] == ["compose", "run"]:
        accepts(app, arguments[arguments.index("admin") + 1 :])
    elif arguments[0] == "compose":
        services = yaml.safe_load((ROOT / "deploy" / "compose" / "compose.yaml").read_text())["services"]
        operands = [word.partition(":")[0] for word in arguments[2:] if not word.startswith("-")]
        named = operands[:1] if arguments[1] in {"cp", "exec"} else operands
        assert set(named) <= services.keys(), named


def _kubectl(arguments: Words) -> None:
    for option, file in pairwise(arguments):
        if option == "-f":
            assert any((ROOT / folder / "kubernetes" / file).exists() for folder in ("deploy", "examples")), file
    if "--" in arguments:
        run = arguments[arguments.index("--") + 1 :]
        if arguments[0] == "run":  # the image runs adabkb
            accepts(app, run)
        else:
            _check(run)


PROGRAMS: dict[str, Callable[[Words], None]] = {
    "adabkb": _adabkb,
    "as_adabkb": _adabkb,
    "docker": _docker,
    "kubectl": _kubectl,
    "make": _make,
    "pip": _pip,
    "python": _python,
    "python3": _python,
    "sudo": _sudo,
    **dict.fromkeys(
        [
            ".",
            "as_adabkb()",
            "caddy",
            "cat",
            "chmod",
            "cp",
            "echo",
            "export",
            "find",
            "install",
            "ln",
            "ls",
            "mkdir",
            "printf",
            "sed",
        ],
        _nothing,
    ),
    **dict.fromkeys(["createdb", "createuser", "psql", "sbatch", "systemctl", "useradd"], _nothing),
}
