"""SQL statements that are compiled once for all databases of a process. To SQLAlchemy each database is a new one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sqlalchemy import create_engine

from adabkb_service.storage import database


class _Compiled(dict[Any, Any]):
    """Compiled statements, by what they say and by the kind of database: all of a kind have the same settings."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_by_kind(key), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__(_by_kind(key), compiled)


def _by_kind(key: Any) -> Any:
    dialect, *statement = key
    return dialect.driver, *statement


def compile_once(set_to: Callable[[Any, str, Any], None] = setattr) -> None:
    """Let all databases of the service share what they have compiled.

    Args:
        set_to: sets an attribute.
    """
    set_to(database, "create_engine", partial(create_engine, execution_options={"compiled_cache": _Compiled()}))
