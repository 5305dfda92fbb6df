"""Errors cross the pipe between a model process and the server."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from adabkb_service import errors
from adabkb_service.errors import AdaBKBError, FieldError, RateLimit

ARGUMENTS: dict[str, Any] = {
    "str": "mango",
    "str | None": "mango",
    "int": 3,
    "int | None": 3,
    "float": 0.5,
    "Sequence[FieldError]": [FieldError("/low", "must be less than high", "invalid")],
    "RateLimit": RateLimit("requests", 5, 60, 0, 7),
}
"""Arguments of constructors, by annotation."""


def kinds(base: type[AdaBKBError]) -> Iterator[type[AdaBKBError]]:
    for kind in base.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
        yield from kinds(kind)


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.__name__) for kind in kinds(AdaBKBError)])
def test_error_is_the_same_in_another_process(kind: type[AdaBKBError]) -> None:
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    error = kind(*[ARGUMENTS[str(each.annotation)] for each in parameters])
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is kind
    assert (str(other), other.args, vars(other)) == (str(error), error.args, vars(error))
