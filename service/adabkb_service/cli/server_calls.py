"""Calls from commands to a server: connection options, the transport, and errors in terms of the command line."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import httpx
import typer

from adabkb_client import AdaBKBError, APIError, ConnectionFailed, UnexpectedAnswer
from adabkb_client._calls import Call, Json, Listing, Steps
from adabkb_client._client_calls import studies
from adabkb_client._http.connection import DEFAULT_URL, REMEDY, RemoteServer, Settings, checked_token
from adabkb_client._http.local import LocalServer
from adabkb_client._http.transport import Transport
from adabkb_client._values import encoded
from adabkb_client.errors import NotFinite, WrongResult
from adabkb_service.cli.identifiers import STUDY
from adabkb_service.cli.output import Failure, fail
from adabkb_service.cli.refusals import option_names, refuse

T = TypeVar("T")

RETRY_SECONDS = 5.0
"""Default of --retry-for: seconds to retry while the server does not answer."""
TIMEOUT = 60.0
"""Seconds to wait for an answer."""
COMPLETION_SECONDS = 2.0
"""Timeout in seconds for the shell completion of study ids."""

Url = Annotated[str, typer.Option("--url", hidden=True)]
Local = Annotated[Path | None, typer.Option("--local", hidden=True)]
Token = Annotated[str | None, typer.Option("--token", hidden=True)]
RetryFor = Annotated[float, typer.Option("--retry-for", min=0, hidden=True)]
OwnRetryFor = Annotated[float | None, typer.Option("--retry-for", min=0, hidden=True)]
"""--retry-for of a command whose default is longer."""


def _studies(context: typer.Context, incomplete: str) -> list[str]:
    """Return the study ids that begin with ``incomplete``, for shell completion; none if the server does not answer."""
    url, token = context.params.get("url") or DEFAULT_URL, context.params.get("token")
    try:
        with connected(RemoteServer(checked(url)), sendable(token), COMPLETION_SECONDS, retry_for=0) as server:
            return [study["id"] for study in server.items(studies()) if study["id"].startswith(incomplete)]
    except (AdaBKBError, Failure):
        return []


StudyId = Annotated[str, typer.Argument(help="the study's id", show_default=False, autocompletion=_studies), STUDY]


def with_server(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command: the options ``--url``, ``--local``, ``--token`` and ``--retry-for`` replace its first parameter,
    the server. If the server refuses a request, the command ends with the reason."""
    signature = inspect.signature(command, eval_str=True)
    own, names = list(signature.parameters.values())[1:], option_names(command)
    options = [
        _option("url", Url, DEFAULT_URL),
        _option("local", Local, None),
        _option("token", Token, None),
        _option("retry_for", RetryFor, RETRY_SECONDS),
    ]
    parameters = [*(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own), *options]

    @wraps(command)
    def called(*, url: str, local: Path | None, token: str | None, retry_for: float, **arguments: Any) -> None:
        quiet = silence() if arguments.get("as_json") else nullcontext()
        found = RemoteServer(checked(url)) if local is None else local_server(local)
        token = sendable(token)
        with quiet, reported(names, arguments.get("study")), connected(found, token, TIMEOUT, retry_for) as server:
            command(server, **arguments)

    vars(called)["__signature__"] = signature.replace(parameters=parameters)
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _option(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


@contextmanager
def silence() -> Iterator[None]:
    """Inside the block, the client does not log retries, since with ``--json`` all output is JSON."""
    logger, quiet = logging.getLogger("adabkb_client"), logging.NullHandler()
    logger.addHandler(quiet)
    try:
        yield
    finally:
        logger.removeHandler(quiet)


class Server:
    """Performs the client's procedures, and returns the documents that the server sends."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.name, self.shown = transport.server.name, transport.server.shown

    def perform(self, steps: Steps[T]) -> T:
        """Perform a procedure, and return its result."""
        return self._transport.perform(steps)

    def document(self, steps: Steps[Any]) -> Json:
        """Perform a procedure, and return its last answer as the server sent it."""
        return self._transport.perform(_last_answer(steps))

    def items(self, listing: Listing[Any]) -> list[Json]:
        """Return the items of a list as the server sent them."""
        return list(self._transport.each(replace(listing, decode=_as_sent)))

    def lines(self, path: str, headers: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines of a document as they arrive."""
        return self._transport.lines(path, headers)


def _last_answer(steps: Steps[Any]) -> Steps[Json]:
    """Perform a procedure, and return its last answer.

    Raises:
        NotFinite: a body has a number that is infinite or NaN, which JSON cannot represent.
    """
    answer: Json = None
    try:
        call = next(steps)
        while True:
            _check(call)
            try:
                answer = yield call
            except AdaBKBError as error:
                call = steps.throw(error)
            else:
                call = steps.send(answer)
    except StopIteration:
        return answer


def _check(call: Call) -> None:
    try:
        encoded(call.body or {})
    except ValueError as error:
        raise NotFinite(str(error)) from error


def _as_sent(item: Json) -> Json:
    return item


@contextmanager
def connected(
    server: RemoteServer | LocalServer, token: str | None, timeout: float, retry_for: float
) -> Iterator[Server]:
    """Yield a server, whose connections are closed at the end of the block. Results are not kept in an outbox."""
    with closing(Transport(Settings(server, token, timeout, retry_for, outbox=None))) as transport:
        yield Server(transport)


def local_server(file: Path) -> LocalServer:
    """Return the server of a local database, and start it if necessary."""
    try:
        return LocalServer.running(file)
    except (AdaBKBError, ImportError, OSError) as error:
        fail(str(error))


def checked(url: str) -> str:
    """Return the address if it is valid. The error does not show the address, since it may be a token that was passed
    by mistake."""
    if not url.startswith(("http://", "https://")):
        fail(
            f"--url or ADABKB_URL must start with http:// or https://, such as {DEFAULT_URL}; "
            "start a server with: adabkb serve"
        )
    try:
        httpx.URL(url)
    except httpx.InvalidURL:
        fail(f"--url or ADABKB_URL is not a valid URL; check its host and port, and give one such as {DEFAULT_URL}")
    return url


def sendable(token: str | None) -> str | None:
    """Return the token if it can be sent in a header."""
    try:
        return checked_token(token, "--token or ADABKB_TOKEN")
    except ValueError as error:
        fail(str(error))


@contextmanager
def reported(names: Mapping[str, str], study: str | None) -> Iterator[None]:
    """End the command with the error of the client, the connection or the server if a call inside the block fails.

    Args:
        names: the names of the command's options, see ``option_names``.
        study: the id that the command was given.
    """
    try:
        yield
    except APIError as error:
        refuse(error, names, study)
    except NotFinite:
        fail("NaN and infinity cannot be sent; give finite numbers (for a trial without a result: adabkb trial fail)")
    except (WrongResult, ValueError) as error:  # the client refuses an argument
        fail(str(error))
    except ConnectionFailed as error:
        fail(_in_one_line(error, f"{_first_line(error).rstrip('.')}; start one with: adabkb serve"))
    except UnexpectedAnswer as error:
        fail(_in_one_line(error, f"{_first_line(error)} Give the address of the server with --url."))


def _in_one_line(error: Exception, for_command: str) -> str:
    """Return the text of an error or, if the client's remedy is to pass a URL in Python, the text for the command."""
    return for_command if REMEDY in str(error) else " ".join(str(error).splitlines())


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
