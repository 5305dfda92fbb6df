"""The command ``adabkb``: runs a server, maintains its database, and sends requests to a server over HTTP.

The commands that send requests need the extra ``cli``; the others need the extra ``server``.
"""

import gc
import os
import sys


def main() -> None:
    """The entry point. If the packages of the command are missing, the error says how to install them."""
    has_processes = os.environ.get("ADABKB_MODEL_PROCESSES") != "0"
    if sys.argv[1:2] == ["serve"] and has_processes:  # another process loads the engine meanwhile
        from adabkb_service.inference import fork_server  # noqa: PLC0415

        fork_server.begin()
    gc.disable()  # imports create almost no garbage, and collecting it takes a tenth of their time
    try:
        from adabkb_service.cli.main import app  # noqa: PLC0415 (a client may lack these packages)
    except ModuleNotFoundError as missing:
        if missing.name != "typer":
            raise
        sys.exit(
            "error: the command adabkb is not part of the client; install it: pip install 'adabkb-service[cli]' "
            "(with the server: pip install 'adabkb-service[server]')"
        )
    gc.enable()
    app()
