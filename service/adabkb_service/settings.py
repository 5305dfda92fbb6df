"""The settings of a server. The commands in ``cli`` create them once and pass them on.

Command line flags take precedence over ``ADABKB_*`` environment variables, and these over ``adabkb.toml`` in the
current directory.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from adabkb_service.contract.wording import sentence, unknown
from adabkb_service.errors import masked
from adabkb_service.identity.config import ProviderConfig
from adabkb_service.identity.provider import is_secure
from adabkb_service.telemetry.logs import Form
from adabkb_service.timeouts import Timeouts

FILE = "adabkb.toml"
FLAGS = ("host", "port", "database", "access_log", "insecure")
"""Settings with an option of ``adabkb serve``."""
LISTS = {
    "hosts": (re.compile(r"[\w.-]+"), "names without http:// and without a port, such as optimizer.lab.example"),
    "origins": (
        re.compile(r"https?://([\w.-]+|\[[0-9a-f:]+\])(:\d+)?"),
        "scheme, name and port as browsers send them, such as https://notebook.lab.example",
    ),
}
"""Settings that are lists -> the pattern of an item, and its description."""
SECRETS = ("oidc_client_secret",)
"""Settings whose values must not appear in messages."""
OWN_PATHS = frozenset(
    [
        "account",
        "api",
        "assets",
        "compare",
        "docs",
        "healthz",
        "login",
        "logout",
        "metrics",
        "new",
        "openapi.json",
        "readyz",
        "static-offline-docs",
        "studies",
        "trash",
        "v1",
        "version",
    ]
)
"""First segments of the server's own paths. A prefix cannot begin with one."""
_PASSWORD = re.compile(r"//.*@", re.DOTALL)
"""User and password in a URL."""


class Settings(BaseSettings):
    """The settings of a server, with their defaults."""

    model_config = SettingsConfigDict(env_prefix="ADABKB_", toml_file=FILE, frozen=True, extra="forbid")

    database: str = Field(
        "sqlite:///adabkb.db",
        description="sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/name",
    )
    host: str = Field(
        "127.0.0.1", description="address to listen on; if other machines can reach it, tokens are required"
    )
    hosts: str = Field(
        "",
        description="host names of the server in requests, separated by commas, such as optimizer.lab.example; "
        "requests for other names are refused (421), except IP addresses and localhost",
    )
    origins: str = Field(
        "",
        description="origins whose pages may use the server (CORS), separated by commas, such as "
        "https://notebook.lab.example",
    )
    proxies: str = Field(
        "",
        description="proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted: addresses and networks, "
        "separated by commas, such as 10.0.0.2 or 172.16.0.0/12; with one, tokens are required",
    )
    root_path: str = Field(
        "",
        pattern=r"^(/[A-Za-z0-9._~-]+)*$",
        description="path prefix that a proxy adds, such as /adabkb",
    )
    insecure: bool = Field(False, description="disable authentication: anyone who reaches the server may do anything")
    port: int = Field(8000, ge=0, le=65535, description="port to listen on; 0 for any free port")
    body_limit: int = Field(10 * 2**20, ge=1, description="largest request body in bytes")
    file_limit: int = Field(
        10 * 2**20, ge=1, description="largest file of a trial or result in bytes; body_limit limits it, too"
    )
    files_limit: int = Field(200 * 2**20, ge=0, description="limit on the bytes of all files of a study")
    bodies_limit: int = Field(
        2**28, ge=1, description="limit on the bytes of all request bodies processed at the same time"
    )
    header_limit: int = Field(2**16, ge=1024, description="largest request line with headers, in bytes")
    header_seconds: float = Field(10.0, gt=0, description="seconds within which the header of a request must arrive")
    body_seconds: float = Field(60.0, gt=0, description="seconds within which the body of a request must arrive")
    idle_seconds: float = Field(15.0, gt=0, description="seconds after which a connection without a request is closed")
    stall_seconds: float = Field(
        60.0, gt=0, description="seconds after which a response is dropped if its client has stopped reading"
    )
    connections: int = Field(
        4000,
        ge=1,
        description="limit on open client connections; beyond it, a new connection closes an idle one, or is refused "
        "(503) if all are busy",
    )
    streams: int = Field(200, ge=0, description="limit on concurrent event streams (GET .../events)")
    waits: int = Field(
        400,
        ge=0,
        description="limit on concurrent requests that wait for a trial (Prefer: wait); more are answered at once",
    )
    user_requests: int = Field(
        400,
        ge=1,
        description="limit on concurrent requests of one user, including streams and waits; more are refused (429)",
    )
    user_streams: int = Field(
        50, ge=0, description="limit on concurrent event streams of one user; more are refused (429)"
    )
    user_waits: int = Field(
        200,
        ge=0,
        description="limit on concurrent requests of one user that wait for a trial; more are answered at once",
    )
    look_seconds: float = Field(
        0.5,
        gt=0,
        description="seconds between two polls for commits of other servers, while event streams or requests wait for "
        "them",
    )
    sweep_seconds: float = Field(1.0, gt=0, description="seconds between two checks for expired leases")
    sweep_late_seconds: float = Field(
        120.0, gt=0, description="seconds by which a check for expired leases may be late before /readyz answers 503"
    )
    tidy_seconds: float = Field(
        60.0,
        gt=0,
        description="seconds between two removals of expired idempotency keys and of studies deleted 30 days ago, and "
        "between two readings of the database's clock",
    )
    idempotency_hours: float = Field(24.0, ge=24, description="minimum hours for which idempotency keys are kept")
    lock_seconds: float = Field(10.0, gt=0, description="seconds to wait for a lock or a database connection")
    suggestion_seconds: float = Field(
        5.0, gt=0, description="seconds that a suggestion waits for the model; after that, its points are quasi-random"
    )
    decision_seconds: float = Field(
        3.0,
        gt=0,
        description="seconds that a model may take to decide on the points of one suggestion; after that, the "
        "remaining points are quasi-random",
    )
    follow_seconds: float = Field(
        0.25,
        gt=0,
        description="seconds that a GET or PATCH of a study waits for the model to process the latest results; after "
        "that, the response has the model's earlier statistics. A GET waits twice as long for earlier requests",
    )
    request_seconds: float = Field(
        10.0,
        gt=0,
        description="seconds that a request waits in the queue of its study, or for an answer of the model; after "
        "that, it is refused (503)",
    )
    contention_seconds: float = Field(
        5.0, gt=0, description="seconds for which a transaction is retried while other servers commit first"
    )
    model_stop_seconds: float = Field(
        5.0, gt=0, description="seconds that model processes may take to end when the server stops"
    )
    holder_seconds: float = Field(
        1.0, gt=0, description="seconds after which PostgreSQL ends an idle transaction of a server"
    )
    model_restart_seconds: float = Field(
        1.0, gt=0, description="minimum seconds between two starts of the same model process"
    )
    model_down_seconds: float = Field(
        5.0, gt=0, description="seconds without a model process after which /readyz answers 503"
    )
    database_connections: int = Field(40, ge=2, description="limit on open connections to the database")
    study_threads: int = Field(8, ge=1, description="threads that process requests, each for one study at a time")
    studies_in_memory: int = Field(
        1000, ge=1, description="studies that a server caches between requests, some kilobytes each"
    )
    model_cache_megabytes: int = Field(
        256, ge=1, description="megabytes of cached models, in all model processes together"
    )
    model_processes: int = Field(
        1,
        ge=0,
        description="processes that compute models, each for a share of the studies; 0 computes models in the server "
        "process",
    )
    model_process_megabytes: int = Field(
        4096,
        ge=512,
        description="memory limit of a model process in megabytes (Linux only); a study that needs more gets "
        "quasi-random points",
    )
    blas_threads: int = Field(
        1, ge=1, description="threads of a linear algebra call; must be the same for all servers and for replay"
    )
    quota_studies: int | None = Field(
        None, ge=0, description="limit on the studies that a user owns, unless the token has its own quota"
    )
    quota_trials: int | None = Field(
        None,
        ge=0,
        description="limit on the trials in a user's studies, including results at user-supplied points, unless the "
        "token has its own quota",
    )
    quota_megabytes: float | None = Field(
        None,
        ge=0,
        description="limit on the megabytes of a user's logs, files and trash, unless the token has its own quota",
    )
    quota_requests_per_second: float | None = Field(
        None, gt=0, description="limit on the requests of a user per second on each server, averaged over 10 s"
    )
    quota_model_seconds_per_minute: float | None = Field(
        45.0,
        gt=0,
        description="limit on the processor seconds per minute for models and large requests of a user, on each "
        "server; more than 60 times model_processes has no effect",
    )
    oidc_issuer: str = Field(
        "",
        description="OpenID Connect provider with which people log in, exactly as in its discovery document, such as "
        "https://sso.lab.example/realms/lab; needs `adabkb-service[oidc]`",
    )
    oidc_client_id: str = Field("", description="id of this server as a client of the provider")
    oidc_client_secret: SecretStr = Field(
        SecretStr(""), description="the client's secret; none for a public client, which PKCE alone protects"
    )
    oidc_client_secret_file: str = Field("", description="file with the client's secret, instead of oidc_client_secret")
    oidc_scopes: str = Field(
        "openid profile email",
        pattern=r"^(\S+ )*openid( \S+)*$",
        description="scopes that are requested, separated by spaces",
    )
    oidc_user_claim: str = Field(
        "preferred_username",
        min_length=1,
        description="claim that becomes the person's user name; choose one that people cannot change themselves",
    )
    oidc_groups_claim: str = Field(
        "groups",
        min_length=1,
        description="claim with a person's groups; names of nested objects are separated by dots, as in "
        "realm_access.roles",
    )
    oidc_admin_groups: str = Field(
        "", description="groups whose members get the scope admin, separated by commas, such as it-support"
    )
    oidc_work_groups: str = Field("", description="groups whose members get the scope work, separated by commas")
    oidc_read_groups: str = Field("", description="groups whose members get the scope read, separated by commas")
    oidc_default_scope: Literal["none", "read", "work"] = Field(
        "none", description="scope of people in none of these groups: read or work; none: they cannot log in"
    )
    oidc_label: str = Field(
        "single sign-on",
        min_length=1,
        max_length=60,
        description="name of the provider on the button of the login page",
    )
    oidc_session_hours: float = Field(
        12.0, gt=0, le=24 * 365, description="hours after which people have to log in again"
    )
    oidc_seconds: float = Field(10.0, gt=0, description="seconds within which the provider must answer during a login")
    send_webhooks: bool = Field(
        True,
        description="send messages to webhooks; false for a server on a copy, while the original database is in use",
    )
    webhook_networks: str = Field(
        "",
        description="private networks to which webhooks may be sent, separated by commas, such as 10.0.0.0/8 or "
        "192.168.1.20; other addresses outside the public internet are refused",
    )
    webhook_seconds: float = Field(10.0, gt=0, description="seconds within which a webhook must answer")
    webhook_retry_seconds: float = Field(
        5.0,
        gt=0,
        description="seconds before a message is repeated; each further pause is twice as long as the one before it, "
        "up to 1 h",
    )
    webhook_hours: float = Field(
        72.0, gt=0, description="hours without a success after which the server turns a failing webhook off"
    )
    study_metrics: bool = Field(
        False,
        description="add to /metrics the metrics of each study that the caller may read, for at most 1,000 studies",
    )
    access_log: bool = Field(False, description="log each request")
    traces: str = Field(
        "",
        pattern=r"^(https?://\S+)?$",
        description="address of an OpenTelemetry collector for traces by OTLP over HTTP, such as "
        "http://collector.lab.example:4318; needs `adabkb-service[otel]`",
    )
    log_format: Form = Field("text", description="text: readable lines; json: one JSON document per line")

    @property
    def timeouts(self) -> Timeouts:
        """The timeouts of requests."""
        return Timeouts(
            suggestion=self.suggestion_seconds,
            follow=self.follow_seconds,
            request=self.request_seconds,
            contention=self.contention_seconds,
            decision=self.decision_seconds,
        )

    @property
    def outbound(self) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
        """The private networks to which webhooks may be sent."""
        return [ipaddress.ip_network(item) for item in listed(self.webhook_networks)]

    @property
    def provider(self) -> ProviderConfig | None:
        """The OpenID Connect provider; None without one.

        Raises:
            ValueError: the file with the client's secret cannot be read, or is empty.
        """
        if not self.oidc_issuer:
            return None
        return ProviderConfig(
            issuer=self.oidc_issuer,
            client_id=self.oidc_client_id,
            client_secret=self._client_secret(),
            scopes=self.oidc_scopes,
            label=self.oidc_label,
            user_claim=self.oidc_user_claim,
            groups_claim=self.oidc_groups_claim,
            groups={
                "read": frozenset(listed(self.oidc_read_groups)),
                "work": frozenset(listed(self.oidc_work_groups)),
                "admin": frozenset(listed(self.oidc_admin_groups)),
            },
            default_scope=None if self.oidc_default_scope == "none" else self.oidc_default_scope,
            session_hours=self.oidc_session_hours,
            seconds=self.oidc_seconds,
        )

    def _client_secret(self) -> str | None:
        if not self.oidc_client_secret_file:
            return self.oidc_client_secret.get_secret_value() or None
        try:
            secret = Path(self.oidc_client_secret_file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"the setting oidc_client_secret_file cannot be read: {error}") from error
        if not secret:
            raise ValueError(f"the setting oidc_client_secret_file is {self.oidc_client_secret_file!r}, which is empty")
        return secret

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this machine can reach the server."""
        if self.proxies:
            return False
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @field_validator("hosts", "origins")
    @classmethod
    def _check_list(cls, value: str, info: ValidationInfo) -> str:
        pattern, example = LISTS[info.field_name or ""]
        for item in listed(value):
            if pattern.fullmatch(item) is None:
                raise ValueError(f"{item!r} is not valid; give {example}, several with commas between them")
        return value

    @field_validator("root_path")
    @classmethod
    def _check_prefix(cls, value: str) -> str:
        first = value.split("/")[1] if value else ""
        if first in OWN_PATHS:
            raise ValueError(
                f"the server's own paths begin with /{first}, so a path with and one without the prefix could not be "
                "told apart; choose another prefix, such as /adabkb"
            )
        return value

    @field_validator("proxies", "webhook_networks")
    @classmethod
    def _check_networks(cls, value: str) -> str:
        for item in listed(value):
            try:
                ipaddress.ip_network(item)
            except ValueError as error:
                raise ValueError(
                    f"{item!r} is not valid; give IP addresses or networks such as 172.16.0.0/12, several with commas "
                    "between them"
                ) from error
        return value

    @field_validator("oidc_issuer")
    @classmethod
    def _check_issuer(cls, value: str) -> str:
        if value and (not is_secure(value, value) or any(each in value for each in "?# ")):
            raise ValueError(
                "it must be an address with https:// (http:// on loopback only) and without ? and #; give the "
                "provider's own name, such as https://sso.lab.example/realms/lab"
            )
        return value

    @model_validator(mode="after")
    def _check_provider(self) -> Settings:
        if not self.oidc_issuer:
            return self
        if not self.oidc_client_id:
            raise ValueError("oidc_issuer needs oidc_client_id, the id of this server as a client of the provider")
        if self.oidc_client_secret.get_secret_value() and self.oidc_client_secret_file:
            raise ValueError("oidc_client_secret and oidc_client_secret_file are both set; leave out one of them")
        groups = (self.oidc_admin_groups, self.oidc_work_groups, self.oidc_read_groups)
        if self.oidc_default_scope == "none" and not any(map(listed, groups)):
            raise ValueError(
                "oidc_issuer is set, but nobody could log in; set oidc_admin_groups, oidc_work_groups, "
                "oidc_read_groups or oidc_default_scope"
            )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags take precedence over the environment, and the environment over the file."""
        del dotenv_settings, file_secret_settings
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def listed(value: str) -> list[str]:
    """The items of a comma-separated setting."""
    return [item.strip() for item in value.split(",") if item.strip()]


def load(**flags: Any) -> Settings:
    """The settings from the flags, the environment and the file.

    Raises:
        ValueError: a setting is invalid; the message names it and says what is allowed.
    """
    try:
        return Settings(**flags)
    except ValidationError as error:
        sentences = "; ".join(_sentence(each) for each in error.errors())
        # pydantic's own message contains the values
        raise ValueError(_PASSWORD.sub("//...@", masked(sentences))) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{FILE} is not valid TOML: {error}") from error
    except PermissionError as error:
        raise ValueError(
            f"cannot look for {FILE} in {Path.cwd()}: permission denied; run the command in another folder"
        ) from error


def _sentence(error: Mapping[str, Any]) -> str:
    name = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"{FILE}: {name!r} {unknown(name, Settings.model_fields, 'setting')}"
    if not name:
        return sentence(error)
    if name in SECRETS:
        return f"the setting {name!r} (ADABKB_{name.upper()} or {FILE}) {sentence(error)}"
    flag = f"--{name.replace('_', '-')}, " if name in FLAGS else ""
    return f"the setting {name!r} ({flag}ADABKB_{name.upper()} or {FILE}) is {error['input']!r}, but {sentence(error)}"


class Setting(NamedTuple):
    """A row of the settings table."""

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
