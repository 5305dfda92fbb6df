"""The kinds of mistakes: a request, a line of Python, a command. Each knows how it is shown, and how it is made."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
from typer.testing import CliRunner

import adabkb_client
from adabkb_service.cli.main import app
from tests.mistakes.bench import DEFINITION, Bench


class Mistake(Protocol):
    """Something that is refused."""

    @property
    def title(self) -> str:
        """What is wrong with it."""

    @property
    def made(self) -> str:
        """What was done, as the document shows it."""

    def answer(self, bench: Bench) -> str:
        """Make it; return the refusal."""


Section = tuple[str, str, Sequence[Mistake]]
"""A heading, a remark, and mistakes."""


@dataclass(frozen=True)
class Sent:
    """A request."""

    title: str
    line: str
    """Method and path."""
    body: Any = None
    """A document, or bytes that are sent as they are."""
    headers: Mapping[str, str] = field(default_factory=dict)
    shown: str | None = None
    """Instead of a body that is long."""

    @property
    def made(self) -> str:
        """The line, the headers and the body."""
        headers = [f"{name}: {value}" for name, value in self.headers.items()]
        return "\n".join([self.line, *headers, *([self._shown()] if self.body is not None or self.shown else [])])

    def answer(self, bench: Bench) -> str:
        """Status, code, detail, remedy and errors."""
        method, path = self.line.split(" ", 1)
        raw = self.body if isinstance(self.body, bytes) or self.body is None else json.dumps(self.body).encode()
        headers = {} if raw is None else {"Content-Type": "application/json"}
        return told(bench.http.request(method, path, content=raw, headers={**headers, **self.headers}))

    def _shown(self) -> str:
        if self.shown is not None:
            return self.shown
        return self.body.decode("utf-8", "backslashreplace") if isinstance(self.body, bytes) else json.dumps(self.body)


@dataclass(frozen=True)
class Defined:
    """A new study with something wrong."""

    title: str
    changes: Mapping[str, Any]
    """To a definition that is right; ``...`` leaves a field out."""

    @property
    def made(self) -> str:
        """The fields that are wrong."""
        given = {name: value for name, value in self.changes.items() if value is not ...}
        absent = "".join(f"\n(without {name})" for name in self.changes if name not in given)
        return f"POST /v1/studies\n{json.dumps(given)}{absent}"

    def answer(self, bench: Bench) -> str:
        """As of every request."""
        body = {**DEFINITION, **self.changes}
        content = json.dumps({name: value for name, value in body.items() if value is not ...})
        return told(bench.http.post("/v1/studies", content=content, headers={"Content-Type": "application/json"}))


@dataclass(frozen=True)
class Written:
    """Python."""

    title: str
    made: str
    """An expression, in which ``client`` and ``study`` are open."""

    def answer(self, bench: Bench) -> str:
        """The exception."""
        with ExitStack() as opened:

            def connected(*arguments: Any, **options: Any) -> adabkb_client.Client:
                return opened.enter_context(adabkb_client.Client(*arguments, **options))

            names = {"Client": connected, "client": bench.client, "study": bench.client.study("svm")}
            try:
                found = eval(self.made, {**vars(adabkb_client), **names})
            except Exception as error:
                return f"{type(error).__name__}: {bench.as_shown(str(error))}"
        raise AssertionError(f"{self.made} is no mistake: {found}")


@dataclass(frozen=True)
class Typed:
    """A command."""

    title: str
    line: str
    stdin: str | None = None
    files: Mapping[str, str | Callable[[Bench], str]] = field(default_factory=dict)
    """Files of the working directory, by name."""

    @property
    def made(self) -> str:
        """The files, if they are short, and the line."""
        files = [f"# {name}: {text}".strip() for name, text in self.files.items() if isinstance(text, str)]
        fed = "" if self.stdin is None else f"echo {shlex.quote(self.stdin.strip())} | "
        return "\n".join([*files, f"{fed}{self.line}"])

    def answer(self, bench: Bench) -> str:
        """The exit code, and what it says."""
        words = shlex.split(self.line)
        place = words.index("adabkb")
        variables = dict(word.split("=", 1) for word in words[:place])
        for name, text in self.files.items():
            (bench.folder / name).write_text(text if isinstance(text, str) else text(bench))
        try:
            environment = {"ADABKB_URL": bench.address, "ADABKB_RETRY_FOR": "0", **variables}
            done = CliRunner(env=environment).invoke(app, words[place + 1 :], input=self.stdin, prog_name="adabkb")
        finally:
            for name in self.files:
                (bench.folder / name).unlink()
        assert done.exit_code, (self.line, done.output)
        assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
        return f"exit code {done.exit_code}\n{bench.as_shown(done.stderr or done.stdout)}"


def told(response: httpx.Response) -> str:
    """A refusal in lines. A pointer is repeated where it says more than the first line."""
    problem = response.json()
    assert response.status_code >= 400, response.text
    assert problem["status"] == response.status_code
    lines = [f"{problem['status']} {problem['code']}: {problem['detail']}"]
    if problem.get("remedy"):
        lines.append(f"remedy: {problem['remedy']}")
    lines += [f"error at {fault['pointer'] or 'the body'}: {fault['detail']}" for fault in problem["errors"]]
    return "\n".join(lines)
