"""The command ``adabkb``: runs a server, looks after its database, and talks to a server over HTTP."""

from adabkb_service.cli.main import app, main

__all__ = ["app", "main"]
