"""The command ``adabkb``: runs a server, maintains its database, and sends requests to a server over HTTP.

The commands that send requests need the packages of the extra ``cli``; the others need those of ``server``.
"""

import sys


def main() -> None:
    """The entry point. It says what to install if the client is installed without the command's packages."""
    if sys.argv[1:2] == ["serve"]:  # the engine is loaded by another process, while this one imports the server
        from adabkb_service.inference import forking  # noqa: PLC0415

        forking.begin()
    try:
        from adabkb_service.cli.main import app  # noqa: PLC0415 (a client has not got what it imports)
    except ModuleNotFoundError as missing:
        if missing.name != "typer":
            raise
        sys.exit(
            "error: the command adabkb is not part of the client; install it: pip install 'adabkb-service[cli]' "
            "(with the server: pip install 'adabkb-service[server]')"
        )
    app()
