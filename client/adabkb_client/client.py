"""The entry point: a connection to a server and its studies."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from adabkb_client.errors import Conflict, Invalid
from adabkb_client.models import Direction, StudyInfo, decode
from adabkb_client.outbox import Delivery, Outbox
from adabkb_client.parameters import Parameter, to_wire
from adabkb_client.plain import plain
from adabkb_client.resource import study_path
from adabkb_client.study import Study
from adabkb_client.transport import Transport

DEFAULT_URL = "http://127.0.0.1:8000"
CHANGEABLE = (
    "budget",
    "failure_limit",
    "lease_seconds",
    "max_attempts",
    "max_runtime_seconds",
    "pending_limit",
    "stop",
    "tags",
    "tolerance",
)
"""Settings of a study that ``update`` changes."""


class Client:
    """A connection to a server. Threads may share it; close it, or use it in a ``with`` block.

    Args:
        url: the server's address; else the environment's ADABKB_URL, else http://127.0.0.1:8000.
        token: sent as bearer token; else the environment's ADABKB_TOKEN, else none.
        timeout: seconds to wait for an answer.
        retry_for: seconds for which a call is repeated while the server is away or busy. If not given, 120, but
            only 5 for a server that has never answered, so that a wrong address is noticed soon.
        outbox: the folder that keeps results while the server is away; else the environment's ADABKB_OUTBOX, else a
            folder of the platform (on Linux ~/.local/state/adabkb/outbox). False keeps none.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retry_for: float | None = None,
        outbox: str | Path | Literal[False] | None = None,
    ) -> None:
        self.url = url or os.environ.get("ADABKB_URL") or DEFAULT_URL
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"the server's URL must start with http:// or https://, not {self.url!r}")
        self.outbox = None if outbox is False else Outbox(self.url, outbox)
        """The results that wait for this server on this machine."""
        self._transport = Transport(self.url, token or os.environ.get("ADABKB_TOKEN"), timeout, retry_for, self.outbox)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def deliver(self) -> Delivery:
        """Send the results that were kept while the server was away, each once. Every call that succeeds does it too.

        Returns:
            The results that were sent, and those that the server refused, which are kept apart from now on.

        Raises:
            AdaBKBError: the server cannot be reached, or does not let this client in; what was not sent stays kept.
        """
        return self._transport.deliver()

    def create_study(
        self,
        id: str | None,
        parameters: Mapping[str, Parameter],
        *,
        direction: Direction,
        update: bool = False,
        **settings: Any,
    ) -> Study:
        """Create a study, or open it if it exists with the same definition.

        The settings that ``Study.update`` changes are compared with what they are now, and only if they are given.

        Args:
            id: its name; None lets the server choose one.
            parameters: the search space.
            direction: "minimize" or "maximize".
            update: if the study exists, and only such settings differ, change them.
            settings: ``budget``, ``seed``, ``noise_std``, ``tolerance``, ``lease_seconds``, ``max_attempts``,
                ``max_runtime_seconds``, ``failure_limit``, ``pending_limit``, ``stop``, ``algorithm``, ``tags``: see
                docs/http.md. None is no limit.

        Returns:
            The study.

        Raises:
            Invalid: the definition is wrong; its ``pointers`` say where.
            TypeError, ValueError: a parameter is not declared by one of the kinds, or a bound is not finite.
            Conflict: a study of this name exists with another definition, or with other settings and no ``update``.
        """
        body: dict[str, Any] = {
            "direction": direction,
            "parameters": to_wire(parameters),
            **{name: plain(value) for name, value in settings.items()},
        }
        if id is not None:
            body["id"] = id
        try:
            created = decode(StudyInfo, self._transport.post("/studies", body))
            return Study(self._transport, created.id)
        except Invalid as error:
            raise Invalid(
                error.status,
                error.code,
                error.detail,
                request_id=error.request_id,
                pointers=error.pointers,
                names=list(parameters),
            ) from None
        except Conflict as error:
            if id is None or error.code != "study_exists":
                raise
            conflict = error
        return self._open_changed(Study(self._transport, id), body, conflict, update=update)

    def _open_changed(self, study: Study, body: dict[str, Any], conflict: Conflict, *, update: bool) -> Study:
        """Open a study whose settings differ, if nothing else does."""
        now = study.info()
        changes = {name: body[name] for name in CHANGEABLE if name in body and body[name] != getattr(now, name)}
        if not changes:
            raise conflict
        self._transport.post("/studies", {**body, **{name: getattr(now, name) for name in changes}})
        if not update:
            differing = ", ".join(f"{name} {getattr(now, name)!r}, not {given!r}" for name, given in changes.items())
            arguments = ", ".join(f"{name}={given!r}" for name, given in changes.items())
            raise Conflict(
                conflict.status,
                conflict.code,
                f"study {study.id!r} exists with {differing}; change it by study.update({arguments}) or "
                "create_study(..., update=True), or leave these arguments out to open it as it is",
                request_id=conflict.request_id,
            )
        study.update(**changes)
        return study

    def study(self, id: str) -> Study:
        """Open a study.

        Raises:
            NotFound: there is no study of this name.
        """
        study = Study(self._transport, id)
        study.info()
        return study

    def studies(self) -> Iterator[StudyInfo]:
        """Yield all studies."""
        for study in self._transport.pages("/studies"):
            yield decode(StudyInfo, study)

    def delete_study(self, id: str) -> None:
        """Delete a study and everything in it.

        Raises:
            NotFound: there is no study of this name.
        """
        self._transport.delete(study_path(id))
