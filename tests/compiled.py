"""SQL statements that are compiled once for all databases of a process. To SQLAlchemy each database is a new one."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, event


class _Compiled(dict[Any, Any]):
    """Compiled statements, by what they say and by the kind of database: all of a kind have the same settings."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_by_kind(key), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__(_by_kind(key), compiled)


def _by_kind(key: Any) -> Any:
    dialect, *statement = key
    return dialect.driver, *statement


def compile_once() -> None:
    """Let all databases of this process share what they have compiled, from now on."""
    compiled = _Compiled()

    def share(connection: Connection) -> None:
        connection.execution_options(compiled_cache=compiled)

    event.listen(Engine, "engine_connect", share)
