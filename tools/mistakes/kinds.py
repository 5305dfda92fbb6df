"""The kinds of mistakes: a request, a line of Python, a command. Each has the form that ``docs/mistakes.md`` shows."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import ExitStack
from typing import Any

import httpx
from typer.testing import CliRunner

import adabkb_client
from adabkb_service.cli.main import app
from tools.mistakes.server import DEFINITION, MistakeServer

REQUEST = re.compile(r"(?:GET|POST|PUT|PATCH|DELETE) /\S*")
COMMAND = re.compile(r"(?:\w+=\S* )*(?:echo (?P<stdin>'.*?'|\S+) \| )?(?:\w+=\S* )*adabkb\b", re.DOTALL)
LONG = {
    "(10,485,761 bytes)": " " * (10 * 2**20 + 1),
    '{"items": [0, 0, ... 1,001 times]}': json.dumps({"items": [0] * 1001}),
    '{"items": [0, 0, ... 200,001 times]}': json.dumps({"items": [0] * 200_001}),
    '{"attributes": {"log": "xxx... 20,000 times"}}': json.dumps({"attributes": {"log": "x" * 20_000}}),
}
"""Bodies that the document shortens."""


def answer(made: str, server: MistakeServer) -> str:
    """Make a mistake, and return the refusal.

    Args:
        made: a request (its line, headers and body), a command (files before it, each as ``# name: text``), or an
            expression in Python, in which ``client`` and ``study`` are open.

    Raises:
        AssertionError: the mistake is accepted.
    """
    made = re.sub(r"xxx\.\.\.(?! 20,000)", "x" * 1001, made)
    first, _, rest = made.partition("\n")
    if REQUEST.fullmatch(first):
        return _of_request(first, rest, server)
    files, line = dict[str, str](), made
    while file := re.match(r"# (\S+):(.*?)\n(?=# |\w+=|adabkb)", line, re.DOTALL):
        files[file[1]], line = file[2].strip() + "\n", line[file.end() :]
    return _of_command(line, files, server) if COMMAND.match(line) else _of_python(made, server)


def _of_request(line: str, rest: str, server: MistakeServer) -> str:
    """Status, code, detail, remedy and errors. For a new study, the document shows only the wrong part of its
    definition."""
    method, path = line.split(" ", 1)
    headers = dict[str, str]()
    while header := re.match(r"([A-Z][A-Za-z-]+): ?(.*)(?:\n|$)", rest):
        headers[header[1]], rest = header[2], rest[header.end() :]
    body = LONG.get(rest, rest)
    if line == "POST /v1/studies" and not headers:
        shown, *absent = rest.splitlines()
        names = [re.sub(r"\(without (\w+)\)", r"\1", each) for each in absent]
        body = json.dumps(
            {name: value for name, value in (DEFINITION | json.loads(shown)).items() if name not in names}
        )
    raw = re.sub(rb"\\x([0-9a-f]{2})", lambda byte: bytes.fromhex(byte[1].decode()), body.encode()) if body else None
    kind = {} if raw is None else {"Content-Type": "application/json"}
    return described(server.http.request(method, path, content=raw, headers={**kind, **headers}))


def _of_python(made: str, server: MistakeServer) -> str:
    """The exception."""
    with ExitStack() as opened:

        def connected(*arguments: Any, **options: Any) -> adabkb_client.Client:
            return opened.enter_context(adabkb_client.Client(*arguments, **options))

        names = {"Client": connected, "client": server.client, "study": server.client.study("svm")}
        try:
            found = eval(made, {**vars(adabkb_client), **names})
        except Exception as error:
            return f"{type(error).__name__}: {server.as_shown(str(error))}"
    raise AssertionError(f"{made} is no mistake: {found}")


def _of_command(line: str, files: dict[str, str], server: MistakeServer) -> str:
    """The exit code and the output."""
    words = shlex.split(line)
    stdin = f"{words[1]}\n" if words[0] == "echo" else None
    words = words if stdin is None else words[3:]
    place = words.index("adabkb")
    variables = dict(word.split("=", 1) for word in words[:place])
    for name, text in files.items():
        (server.folder / name).write_text(text)
    try:
        environment = {"ADABKB_URL": server.address, "ADABKB_RETRY_FOR": "0", **variables}
        done = CliRunner(env=environment).invoke(app, words[place + 1 :], input=stdin, prog_name="adabkb")
    finally:
        for name in files:
            (server.folder / name).unlink()
    assert done.exit_code, (line, done.output)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return f"exit code {done.exit_code}\n{server.as_shown(done.stderr or done.stdout)}"


def described(response: httpx.Response) -> str:
    """A refusal as lines. A pointer is repeated if it says more than the first line."""
    problem = response.json()
    assert response.status_code >= 400, response.text
    assert problem["status"] == response.status_code
    lines = [f"{problem['status']} {problem['code']}: {problem['detail']}"]
    if problem["remedy"] and problem["code"] != "invalid":  # that of "invalid" is stated once, above the mistakes
        lines.append(f"remedy: {problem['remedy']}")
    lines += [f"error at {fault['pointer'] or 'the body'}: {fault['detail']}" for fault in problem["errors"]]
    return "\n".join(lines)
