"""Share compiled SQL statements between all databases of a process. SQLAlchemy would compile them for each."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, event


class _Compiled(dict[Any, Any]):
    """Compiled statements by cache key and kind of database, since all databases of a kind have the same settings."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_by_kind(key), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__(_by_kind(key), compiled)


def _by_kind(key: Any) -> Any:
    dialect, *statement = key
    return dialect.driver, *statement


def compile_once() -> None:
    """Share compiled statements between all databases of this process from now on."""
    compiled = _Compiled()

    def share(connection: Connection) -> None:
        connection.execution_options(compiled_cache=compiled)

    event.listen(Engine, "engine_connect", share)
