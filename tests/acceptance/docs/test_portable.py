"""Everything can be imported on Windows, where some modules and functions of Linux are missing: see docs/support.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ("client/adabkb_client", "integrations", "service/adabkb_service")
MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty", "uvloop"}
"""Modules that are missing on Windows."""
MISSING = {
    "os": {"O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "fork", "getpgid", "getuid", "killpg", "setsid", "uname"},
    "signal": {"SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGQUIT", "SIGUSR1", "SIGUSR2", "pthread_sigmask"},
    "socket": {"AF_UNIX", "SO_REUSEPORT"},
    "asyncio": {"open_unix_connection", "start_unix_server"},
}
"""Names that are missing from other modules on Windows."""
NAMES = re.compile(rf"\b(?:{'|'.join(MODULES.union(*MISSING.values()))})\b")


def unportable(source: str) -> Iterator[str]:
    """The names missing on Windows that a file uses at import."""
    if not NAMES.search(source):  # parsing all files takes seconds
        return
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.partition(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            missing = {each.name for each in node.names} & MISSING.get(module, set())
            yield from (f"{module}.{name}" for name in missing)
            if module.partition(".")[0] in MODULES:
                yield module
        elif isinstance(node, ast.Attribute) and node.attr in MISSING.get(ast.unparse(node.value), set()):
            yield ast.unparse(node)
        waiting += run_at_import(node)


def run_at_import(node: ast.AST) -> Iterable[ast.AST]:
    """The parts of a statement that run at import, without those inside an error handler."""
    if isinstance(node, ast.Try | ast.Lambda):
        return []
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [*node.decorator_list, node.args]
    return ast.iter_child_nodes(node)


def test_no_module_needs_linux_at_import() -> None:
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py") if "_site" not in file.parts]
    assert len(files) > 300
    found = {str(file.relative_to(ROOT)): list(unportable(file.read_text("utf-8"))) for file in files}
    assert {file: names for file, names in found.items() if names} == {}


def test_no_test_of_the_client_needs_linux_at_import() -> None:
    """So that jobs on Windows and macOS can run these tests."""
    files = [*(ROOT / "tests").glob("*.py"), *(ROOT / "tests/integration/client").rglob("*.py")]
    assert len(files) > 50
    found = {str(file.relative_to(ROOT)): list(unportable(file.read_text("utf-8"))) for file in files}
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import fcntl", ["fcntl"]),
        ("from resource import getrlimit", ["resource"]),
        ("from os import fork, path", ["os.fork"]),
        ("import signal\nclass A:\n    last = [signal.SIGKILL]", ["signal.SIGKILL"]),
        ("import os\ndef ask(who=os.getuid()):\n    pass", ["os.getuid"]),
        ("def later():\n    import fcntl", []),
        ("try:\n    import fcntl\nexcept ImportError:\n    fcntl = None", []),
        ("import signal\nENDS = signal.SIGTERM", []),
    ],
)
def test_unportable_names_are_found(source: str, found: list[str]) -> None:
    assert list(unportable(source)) == found
