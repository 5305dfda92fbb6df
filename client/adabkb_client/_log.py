"""The client's log, on standard error if the program has not set up logging."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger("adabkb_client")


@contextmanager
def lines_on_standard_error() -> Iterator[None]:
    """Print the client's log to standard error inside the block, unless the program has set up logging. Messages below
    the level of the client's logger, by default INFO, are left out."""
    if log.hasHandlers():
        yield
        return
    handler, level = logging.StreamHandler(), log.level
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    log.addHandler(handler)
    log.setLevel(level or logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
