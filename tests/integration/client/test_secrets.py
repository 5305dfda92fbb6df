"""No error, log or output contains a token or a password, whatever its characters and its source."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from adabkb_client import AsyncClient, Client, UnexpectedAnswer
from adabkb_service.cli.main import app
from adabkb_service.settings import load
from adabkb_service.telemetry.logs import JsonLines, TextLines
from tests.integration.cli.shell import adabkb

ODD = [
    "\n",
    "\r",
    "\r\n",
    " ",
    "\t",
    "\0",
    "\x7f",
    "\x85",
    "\u2028",
    "é",
    "密",
    "😀",
    '"',
    "'",
    "%",
    "%0A",
    "\\",
    "{}",
    "@",
    "#",
]
PARTS = st.from_regex(r"[A-Za-z0-9]{12,20}", fullmatch=True)
OURS_WHOLE = r"adabkb_[0-9a-f]{12}_[0-9a-f]{64}"
OURS = st.from_regex(OURS_WHOLE, fullmatch=True)
TOKENS = st.one_of(
    st.builds(lambda a, odd, b: a + odd + b, PARTS, st.sampled_from(ODD), PARTS),
    st.builds(lambda a, odd: a + odd, st.one_of(PARTS, OURS), st.sampled_from(ODD)),
    st.builds(lambda odd, a: odd + a, st.sampled_from(ODD), OURS),
    st.builds(lambda a: a * 8000, PARTS),
    OURS,
)

Way = Callable[[str, str], None]
"""Called with the address of a server and a token."""


def by_client(url: str, token: str) -> None:
    with Client(url, token=token) as client:
        list(client.studies())


def by_async_client(url: str, token: str) -> None:
    async def work() -> None:
        async with AsyncClient(url, token=token) as client:
            [study async for study in client.studies()]

    asyncio.run(work())


def by_environment(url: str, token: str) -> None:
    with patch.dict(os.environ, {"ADABKB_TOKEN": token}), Client(url) as client:
        list(client.studies())


def as_bytes(url: str, token: str) -> None:
    Client(url, token=token.encode())  # type: ignore[arg-type]


def as_the_address(_: str, token: str) -> None:
    with Client(token) as client:
        list(client.studies())


def as_password_of_the_address(url: str, token: str) -> None:
    with Client(url.replace("//", f"//me:{token}@"), outbox=False) as client:
        client.study("absent")


def as_password_of_no_server(_: str, token: str) -> None:
    with Client(f"http://me:{token}@127.0.0.1:9/?x={token}#token={token}", retry_for=0, outbox=False) as client:
        list(client.studies())


def by_option(url: str, token: str) -> None:
    _command("study", "list", "--url", url, "--token", token)


def by_option_of_run(url: str, token: str) -> None:
    _command("run", "absent", "--url", url, "--token", token, "--", "true")


def by_variable_of_the_command(url: str, token: str) -> None:
    _command("study", "list", "--url", url, environment={"ADABKB_TOKEN": token})


def as_url_of_the_command(_: str, token: str) -> None:
    _command("study", "list", "--url", token)
    _command("study", "show", "s", "--retry-for", "0", "--url", f"http://127.0.0.1:9/studies/s#token={token}")


def by_settings(_: str, token: str) -> None:
    """Through settings with a secret, and through settings that users may confuse with them."""
    for database in (f"postgresql://me:{token}@127.0.0.1:9/x", f"postgresql://me:{token}@127.0.0.1:nine/x"):
        _command("serve", "--port", "0", "--database", database)
    given = {"TRACES": f"http://me:{token}@collector/ x", "DATABASE": f"nothing://me:{token}@there"}
    if re.search(OURS_WHOLE, token):
        given |= dict.fromkeys(("PORT", "HOSTS", "PROXIES", "ROOT_PATH", "TOKEN"), token)
    for name, value in given.items():
        with patch.dict(os.environ, {f"ADABKB_{name}": value}):
            _load()
    if re.fullmatch(OURS_WHOLE, token):
        with patch.dict(os.environ, {token.upper(): "1"}):  # the token is in the name of the variable
            _command("serve", "--port", "0", "--database", "postgresql://127.0.0.1:9/x")
        with TemporaryDirectory() as folder, chdir(folder):
            for line in (f"{token} = 1", f'port = "{token}"', f'token = "{token}"', f"port = {token}"):
                Path("adabkb.toml").write_text(line)
                _load()


def in_the_log_of_the_server(_: str, token: str) -> None:
    """Tokens of the server's form, in all logged parts of requests."""
    for case in (str.lower, str.upper):
        record = logging.LogRecord("adabkb", logging.ERROR, "", 1, "refused %s", (case(token),), None)
        if re.search(OURS_WHOLE, token):
            print(TextLines().format(record), JsonLines().format(record))


WAYS: list[Way] = [
    *(by_client, by_async_client, by_environment, as_bytes, as_the_address, as_password_of_the_address),
    *(as_password_of_no_server, by_option, by_option_of_run, by_variable_of_the_command, as_url_of_the_command),
    *(by_settings, in_the_log_of_the_server),
]


@pytest.mark.parametrize("way", WAYS)
def test_no_message_has_the_secret(server: str, way: Way) -> None:
    @settings(
        max_examples=4,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],  # shrinking the token would not help
        suppress_health_check=list(HealthCheck),
    )
    @given(TOKENS)
    def check(token: str) -> None:
        if "\0" in token and way in (by_environment, by_variable_of_the_command, by_settings):
            return  # it cannot be in an environment variable
        told = _told(way, server, token)
        for secret in re.findall(r"[A-Za-z0-9]{12,}", re.sub(r"adabkb_[0-9a-f]{12}_", "", token)):
            assert secret.lower()[:200] not in told.lower()
        assert "Trying again" not in told

    check()


@pytest.mark.parametrize(
    ("token", "what"),
    [
        ("abcdefgh\n", "the end of a line (character 9 of 9); strip it"),
        ("abcdefgh\r", "a carriage return (character 9 of 9); strip it"),
        (" abcdefgh", "SPACE (character 1 of 9); strip it"),
        ("abcd\tefgh", "a tab (character 5 of 9); copy it again"),
        ("abcd\0efgh", "NUL (character 5 of 9); copy it again"),
        ("abcdéfgh", "LATIN SMALL LETTER E WITH ACUTE (character 5 of 8); copy it again"),
        ("a" * 8193, "8,193 characters, but a token has at most 8,192"),
    ],
)
def test_an_error_names_the_field_and_what_is_wrong(
    server: str, monkeypatch: pytest.MonkeyPatch, token: str, what: str
) -> None:
    with pytest.raises(ValueError, match=r"^token has ") as caught:
        Client(server, token=token)
    assert what in str(caught.value)
    assert f"error: --token or ADABKB_TOKEN has {'' if 'at most' in what else 'a character'}" in adabkb(
        "study", "list", "--url", server, "--token", token, code=1
    )
    if "\0" not in token:
        monkeypatch.setenv("ADABKB_TOKEN", token)
        with pytest.raises(ValueError, match=r"^ADABKB_TOKEN has ") as caught:
            Client(server)
        assert what in str(caught.value)


def test_https_to_a_server_without_tls_says_so_at_once(server: str) -> None:
    address = server.replace("http:", "https:")
    with Client(address) as client, pytest.raises(UnexpectedAnswer) as caught:
        list(client.studies())
    assert str(caught.value).startswith(f"the server at {address} answers without TLS")
    assert f"give its address as {server}" in str(caught.value)
    assert "adabkb serve" not in str(caught.value)
    said = adabkb("study", "list", "--url", address, code=1)
    assert f"error: the server at {address} answers without TLS" in said
    assert "adabkb serve" not in said


def _load() -> None:
    try:
        load()
    except ValueError as error:
        print("".join(traceback.format_exception(error)))


def _command(*arguments: str, environment: dict[str, str] | None = None) -> None:
    result = CliRunner().invoke(app, list(arguments), env=environment)
    print(result.output, result.stderr)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception


def _told(way: Way, url: str, token: str) -> str:
    """Return everything that is printed, logged and raised."""
    with _captured() as output:
        try:
            way(url, token)
        except Exception as error:
            print("".join(traceback.format_exception(error)), repr(error))
    return output.getvalue()


@contextmanager
def _captured() -> Iterator[io.StringIO]:
    output, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(output), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with redirect_stdout(output), redirect_stderr(output):
            yield output
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
