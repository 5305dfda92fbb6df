"""Where the server is, and how to talk to it: what a client takes from its arguments and from the environment."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import httpx

from adabkb_client.local import LocalServer
from adabkb_client.outbox import Outbox
from adabkb_client.protocol import FIRST_CONTACT, REMEDY

DEFAULT_URL = "http://127.0.0.1:8000"

OutboxFolder = str | Path | Literal[False] | None
"""The folder of kept results; None for the default, False for none."""


@dataclass(frozen=True)
class RemoteServer:
    """A server that somebody else runs.

    Raises:
        ValueError: the address has no scheme.
        httpx.InvalidURL: it is no address for another reason.
    """

    name: str
    """Its address."""
    first_contact = FIRST_CONTACT
    """Seconds for which a call is repeated if the server has never answered."""
    remedy = REMEDY
    """What to do if it does not answer."""

    def __post_init__(self) -> None:
        if not self.name.startswith(("http://", "https://")):
            raise ValueError(f"the server's URL must start with http:// or https://, not {self.name!r}")
        try:
            httpx.URL(self.name)
        except httpx.InvalidURL as error:
            raise httpx.InvalidURL(
                f"the server's URL {self.name!r} is not valid ({error}); give one such as {DEFAULT_URL}"
            ) from None

    def address(self) -> str:
        """Return its address."""
        return self.name

    def close(self) -> None:
        """Do nothing: it is not ours."""


Server = RemoteServer | LocalServer


class Settings(NamedTuple):
    """What a transport takes."""

    server: Server
    token: str | None
    timeout: float
    retry_for: float | None
    outbox: Outbox | None


def server_at(url: str | None) -> RemoteServer:
    """Return the server at an address; else at the environment's ADABKB_URL, else at the default one."""
    return RemoteServer(url or os.environ.get("ADABKB_URL") or DEFAULT_URL)


def settings(
    server: Server, token: str | None, timeout: float, retry_for: float | None, outbox: OutboxFolder
) -> Settings:
    """Complete the arguments of a client by the environment: see ``Client``."""
    kept = None if outbox is False else Outbox(server.name, outbox)
    return Settings(server, token or os.environ.get("ADABKB_TOKEN"), timeout, retry_for, kept)
