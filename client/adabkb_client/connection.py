"""Where the server is, and how to talk to it: what a client takes from its arguments and from the environment."""

import os
from pathlib import Path
from typing import Literal

from adabkb_client.outbox import Outbox

DEFAULT_URL = "http://127.0.0.1:8000"

OutboxFolder = str | Path | Literal[False] | None
"""The folder of kept results; None for the default, False for none."""
Settings = tuple[str, str | None, float, float | None, Outbox | None]
"""What a transport takes: address, token, timeout, patience, outbox."""


def settings(
    url: str | None, token: str | None, timeout: float, retry_for: float | None, outbox: OutboxFolder
) -> Settings:
    """Complete the arguments of a client by the environment: see ``Client``.

    Raises:
        ValueError: the address has no scheme.
    """
    address = url or os.environ.get("ADABKB_URL") or DEFAULT_URL
    if not address.startswith(("http://", "https://")):
        raise ValueError(f"the server's URL must start with http:// or https://, not {address!r}")
    kept = None if outbox is False else Outbox(address, outbox)
    return address, token or os.environ.get("ADABKB_TOKEN"), timeout, retry_for, kept
