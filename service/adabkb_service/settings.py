"""The settings of a server. The commands of ``cli`` build them once and pass them on.

Command line flags beat ``ADABKB_*`` environment variables, which beat ``adabkb.toml`` in the current directory.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from adabkb_service.contract.wording import sentence, unknown

FILE = "adabkb.toml"
FLAGS = ("host", "port", "database", "access_log")
"""The settings that ``adabkb serve`` has options for."""


class Settings(BaseSettings):
    """The settings of a server, with their defaults."""

    model_config = SettingsConfigDict(env_prefix="ADABKB_", toml_file=FILE, frozen=True, extra="forbid")

    database: str = Field(
        "sqlite:///adabkb.db",
        description="sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/name",
    )
    host: str = Field("127.0.0.1", description="address to listen on; there is no authentication yet")
    port: int = Field(8000, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    body_limit: int = Field(10 * 2**20, ge=1, description="largest request body in bytes")
    sweep_seconds: float = Field(1.0, gt=0, description="seconds between two checks for leases that have run out")
    idempotency_hours: float = Field(24.0, ge=24, description="hours for which idempotency keys are kept at least")
    lock_seconds: float = Field(10.0, gt=0, description="seconds to wait for a lock or a database connection")
    database_connections: int = Field(40, ge=2, description="open connections to the database, at most")
    study_threads: int = Field(8, ge=1, description="threads that perform requests, each for one study at a time")
    model_cache_megabytes: int = Field(256, ge=1, description="memory for models, in all model processes together")
    model_processes: int = Field(
        1,
        ge=0,
        description="processes that compute models, each for a share of the studies; 0: the server does",
    )
    blas_threads: int = Field(
        1, ge=1, description="threads of one linear algebra call; must be the same for all servers and for replay"
    )
    access_log: bool = Field(False, description="log each request as a line of JSON")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags first, then the environment, then the file."""
        del dotenv_settings, file_secret_settings
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def load(**flags: Any) -> Settings:
    """The settings of the flags, the environment and the file.

    Raises:
        ValueError: a setting is invalid; the message names it and says what is allowed.
    """
    try:
        return Settings(**flags)
    except ValidationError as error:
        raise ValueError("; ".join(_sentence(fault) for fault in error.errors())) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{FILE} is not valid TOML: {error}") from error


def _sentence(fault: Mapping[str, Any]) -> str:
    name = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        return f"{FILE}: {name!r} {unknown(name, Settings.model_fields, 'setting')}"
    flag = f"--{name.replace('_', '-')}, " if name in FLAGS else ""
    return f"the setting {name!r} ({flag}ADABKB_{name.upper()} or {FILE}) is {fault['input']!r}, but {sentence(fault)}"


class Setting(NamedTuple):
    """One line of the settings table."""

    name: str
    variable: str
    default: object
    help: str


def table() -> list[Setting]:
    """All settings, for the documentation."""
    return [
        Setting(name, f"ADABKB_{name.upper()}", field.default, field.description or "")
        for name, field in Settings.model_fields.items()
    ]
