"""Servers whose answers do not depend on how busy the machine is. As a program: ``adabkb`` with such a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adabkb_service.cli import main
from adabkb_service.inference import link
from adabkb_service.operations import service
from adabkb_service.study import owner, turn

PATIENCE = 120.0
"""Seconds after which something will never happen."""


def be_patient(set_to: Callable[[Any, str, float], None] = setattr) -> None:
    """Wait for a model as long as that takes: a process may take long to start on a machine that has much to do."""
    for module, name in (
        (turn, "DECIDE_SECONDS"),
        (turn, "FOLLOW_SECONDS"),
        (owner, "WAIT_SECONDS"),
        (link, "LATE_SECONDS"),
        (service, "ANSWER_SECONDS"),
    ):
        set_to(module, name, PATIENCE)


if __name__ == "__main__":
    be_patient()
    main()
