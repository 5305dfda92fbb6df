"""The entry point: a connection to a server and its studies."""

import os
import re
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from adabkb_client.errors import Invalid
from adabkb_client.models import Direction, StudyInfo, decode
from adabkb_client.parameters import Parameter, to_wire
from adabkb_client.resource import study_path
from adabkb_client.study import Study
from adabkb_client.transport import Transport

DEFAULT_URL = "http://127.0.0.1:8000"


class Client:
    """A connection to a server. Threads may share it; close it, or use it in a ``with`` block.

    Args:
        url: the server's address; else the environment's ADABKB_URL, else http://127.0.0.1:8000.
        token: sent as bearer token; else the environment's ADABKB_TOKEN, else none.
        timeout: seconds to wait for an answer.
        retry_for: seconds for which a call is repeated while the server is away or busy. For a server
            that has never answered this is 5 seconds, so that a wrong address is noticed soon.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retry_for: float = 120.0,
    ) -> None:
        self.url = url or os.environ.get("ADABKB_URL") or DEFAULT_URL
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"the server's URL must start with http:// or https://, not {self.url!r}")
        self._transport = Transport(self.url, token or os.environ.get("ADABKB_TOKEN"), timeout, retry_for)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def create_study(
        self,
        id: str | None,
        parameters: Mapping[str, Parameter],
        *,
        direction: Direction,
        **settings: Any,
    ) -> Study:
        """Create a study, or open it if it exists with the same definition.

        Args:
            id: its name; None lets the server choose one.
            parameters: the search space.
            direction: "minimize" or "maximize".
            settings: ``budget``, ``seed``, ``noise_std``, ``tolerance``, ``lease_seconds``, ``max_attempts``,
                ``max_runtime_seconds``, ``failure_limit``, ``pending_limit``, ``algorithm``, ``tags``: see
                docs/http.md. None is no limit.

        Raises:
            Invalid: the definition is wrong; its ``pointers`` say where.
            TypeError, ValueError: a parameter is not declared by one of the kinds, or a bound is not finite.
            Conflict: a study of this name exists with another definition.
        """
        body: dict[str, Any] = {
            "direction": direction,
            "parameters": to_wire(parameters),
            **settings,
        }
        if id is not None:
            body["id"] = id
        try:
            created = decode(StudyInfo, self._transport.post("/studies", body))
        except Invalid as error:
            raise _named(error, list(parameters)) from None
        return Study(self._transport, created.id)

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


def _named(error: Invalid, names: list[str]) -> Invalid:
    """Return the error with the names of parameters; its pointers have only their positions."""

    def explained(pointer: str, problem: str) -> str:
        position = re.match(r"/parameters/(\d+)", pointer)
        return f"parameter {names[int(position[1])]!r}: {problem}" if position else problem

    return Invalid(
        error.status,
        error.code,
        error.detail,
        request_id=error.request_id,
        pointers={pointer: explained(pointer, problem) for pointer, problem in error.pointers.items()},
    )
