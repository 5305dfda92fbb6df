"""Results that could not be delivered. They are kept on disk, and sent when the server answers again.

Each result is a separate file in the folder of its server. A file gets its name after it is written completely, so it
is either complete or absent. No lock is needed: any process that reaches the server sends the kept results, with the
idempotency keys of their first attempts. A result that two processes send is therefore stored once.
"""

import json
import logging
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Self
from urllib.parse import quote, unquote

from platformdirs import user_state_path

from adabkb_client._calls import Call, Steps
from adabkb_client._records import Shown, Trial, decode
from adabkb_client._values import encoded
from adabkb_client.errors import AdaBKBError, APIError, Unauthorized, Unavailable, from_problem, is_refusal

log = logging.getLogger("adabkb_client")

LOOK_EVERY = 60.0
"""Seconds between two checks of an empty folder, where another process may have kept a result."""
REFUSED = "refused"
"""The folder of results that the server has refused, inside the folder of kept results."""

PATH = re.compile(r"/studies/[A-Za-z0-9][A-Za-z0-9._-]{0,99}/observe")
"""The path of requests that report results, see docs/http.md."""
KEY = re.compile(r"[!-~]{1,255}")
"""The form of an idempotency key: printable, without spaces, so that it can be a header."""


@dataclass(frozen=True)
class KeptResult(Shown):
    """A result, or a failure, that the server has not received."""

    path: str
    """The path of the request that reports it."""
    body: dict[str, Any]
    """The body of the request."""
    idempotency_key: str
    """The idempotency key of the request."""
    trial_created_at: str | None
    """When the trial was created, if known. It distinguishes the trial from one with the same number in a study that
    was deleted and created again."""
    kept_at: str
    """When the result was kept."""
    refusal: str | None = None
    """The server's reason for refusing the result."""
    file: Path | None = None
    """The file from which the result was read."""
    last_error: str | None = field(default=None, compare=False)
    """The error of the last attempt to send it."""

    @classmethod
    def of(cls, path: str, body: Mapping[str, Any], key: str, created_at: datetime | None) -> Self:
        """Return the result that a request reports, with the current time as ``kept_at``."""
        created = None if created_at is None else created_at.isoformat()
        return cls(path, dict(body), key, created, datetime.now(UTC).isoformat(timespec="microseconds"))

    @property
    def study(self) -> str:
        """The id of the study."""
        return unquote(self.path.split("/")[2])

    @property
    def name(self) -> str:
        """The name of the result's file. Names sort by time."""
        return f"{self.kept_at.replace(':', '')}-{self.idempotency_key}.json"

    def __str__(self) -> str:
        trial = self.body.get("trial")
        return f"the {described(self.body)} of {f'trial {trial}' if trial else 'a point'} of study {self.study!r}"


def described(body: Mapping[str, Any]) -> str:
    """Return what a request reports: ``value 0.5``, ``metrics loss=0.5 size=3`` or ``failure (out of memory)``."""
    if body.get("state") == "failed":
        return f"failure ({body['reason']})" if body.get("reason") else "failure"
    if body.get("value") is not None:
        return f"value {body['value']}"
    return " ".join(["metrics", *(f"{name}={number}" for name, number in (body.get("metrics") or {}).items())])


@dataclass(frozen=True)
class Delivery(Shown):
    """The outcome of sending kept results."""

    sent: tuple[KeptResult, ...]
    """The results that the server has stored."""
    refused: tuple[KeptResult, ...]
    """The results that the server has refused, which were moved to a separate folder."""


class Outbox(Shown):
    """The kept results for one server.

    Args:
        server: the server's URL or, for ``Client.local``, whose port changes, a name derived from its database.
        folder: the folder of the results for all servers; default: $ADABKB_OUTBOX, or the folder in which this
            platform keeps the state of programs (on Linux ~/.local/state/adabkb/outbox).
    """

    def __init__(self, server: str, folder: str | Path | None = None) -> None:
        self.server = server.rstrip("/")
        """The server's URL or, for ``Client.local``, a name derived from its database."""
        self.folder = _root(folder) / quote(self.server, safe="")
        """The folder with a file for each result."""
        self._kept: set[str] = set()
        self._times_kept = 0
        self._due_at = 0.0

    @classmethod
    def every(cls, folder: str | Path | None = None) -> list[Self]:
        """Return the outboxes of all servers, ordered by name, including servers that have moved."""
        try:
            names = sorted(entry.name for entry in os.scandir(_root(folder)) if entry.is_dir())
        except FileNotFoundError:
            return []
        return [cls(unquote(name), folder) for name in names]

    def _is_due(self) -> bool:
        """Return whether to check for kept results. After a check that found none, this is False for ``LOOK_EVERY``
        seconds, unless this object keeps a result."""
        return monotonic() >= self._due_at

    def _has_written(self, kept: KeptResult) -> bool:
        """Return whether this object has tried to write a result, without checking the disk."""
        return kept.name in self._kept

    def waiting(self) -> list[KeptResult]:
        """Return the results to send, oldest first."""
        before, due_at = self._times_kept, monotonic() + LOOK_EVERY
        found = [replace(kept, refusal=None) for kept in _read(self.folder)]
        if not found and self._times_kept == before:
            self._due_at = due_at
        return found

    def refused(self) -> list[KeptResult]:
        """Return the results that the server has refused, oldest first."""
        return _read(self.folder / REFUSED)

    def file(self, kept: KeptResult) -> Path:
        """Return the path of a result's file, whether or not it exists."""
        return kept.file or self.folder / kept.name

    def _is_on_disk(self, kept: KeptResult) -> bool:
        """Return whether a result is on disk."""
        return os.path.exists(self.file(kept))  # Path.exists() raises in a folder without permission

    def _keep(self, kept: KeptResult, error: BaseException | None = None) -> bool:
        """Write a result to disk, with the error of the last attempt to send it, and return whether it is there.

        If that fails, log the error: as a warning, unless an earlier attempt to write the result has logged it.
        """
        level = logging.DEBUG if kept.name in self._kept else logging.WARNING
        message = None if error is None else str(error).partition("\n")[0]
        self._kept.add(kept.name)
        self._times_kept += 1
        self._due_at = 0.0
        return self._try_write(replace(kept, last_error=message), level) or self._is_on_disk(kept)

    def remove(self, kept: KeptResult) -> None:
        """Remove a result. If its file cannot be removed, log the error."""
        self._kept.discard(kept.name)
        try:
            self.file(kept).unlink(missing_ok=True)
        except OSError as error:
            # A result without a file was probably never written to disk, so there is nothing to move.
            level = logging.INFO if kept.file is None else logging.WARNING
            log.log(level, "the file of %s cannot be removed: %s", kept, error)

    def _refuse(self, kept: KeptResult, refusal: str) -> KeptResult:
        """Move a result to the folder of refused results, with the server's reason. If that fails, log the error, and
        leave the result where it is."""
        refused = replace(kept, refusal=refusal, file=self.folder / REFUSED / self.file(kept).name)
        log.warning("%s was kept while the server was down, and is now refused: %s", kept, refusal)
        if self._try_write(refused):
            self.remove(kept)
            log.warning("It is kept in %s", refused.file)
        return refused

    def put_back(self, refused: KeptResult) -> None:
        """Move a refused result back to the results to send.

        Raises:
            OSError: the file cannot be moved.
        """
        os.replace(self.file(refused), self.folder / self.file(refused).name)

    def _try_write(self, kept: KeptResult, level: int = logging.WARNING) -> bool:
        try:
            _write(self.file(kept), {name: getattr(kept, name) for name in _STORED})
        except OSError as error:
            log.log(level, "%s cannot be kept on disk: %s. ADABKB_OUTBOX can name another folder", kept, error)
            return False
        return True


def _root(folder: str | Path | None) -> Path:
    chosen = folder or os.environ.get("ADABKB_OUTBOX")
    return Path(chosen) if chosen else user_state_path("adabkb", appauthor=False) / "outbox"


_STORED = [each.name for each in fields(KeptResult) if each.name != "file"]


def _read(folder: Path) -> list[KeptResult]:
    try:
        files = sorted(entry.path for entry in os.scandir(folder) if entry.name.endswith(".json"))
    except FileNotFoundError:
        return []
    return [kept for kept in map(_read_file, map(Path, files)) if kept is not None]


def _read_file(file: Path) -> KeptResult | None:
    try:
        document = json.loads(file.read_bytes())
        return _checked(KeptResult(**{name: document[name] for name in _STORED if name in document}, file=file))
    except FileNotFoundError:  # another process has just delivered it
        return None
    except OSError as error:  # such as a file of another user
        log.warning("%s cannot be read, and is skipped: %s", file, error)
        return None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        log.warning("%s is not a kept result (%s: %s), and is skipped", file, type(error).__name__, error)
        with suppress(OSError):
            file.replace(file.with_suffix(".unreadable"))
        return None


def _checked(kept: KeptResult) -> KeptResult:
    """Return a kept result if it is a request that this client could have written. (It is sent with the token of the
    user who reads it.)

    Raises:
        TypeError: a part has the wrong type.
        ValueError: a part has the right type, but does not belong to such a request.
    """
    if not isinstance(kept.body, dict) or not all(
        isinstance(text, str | None) for text in (kept.refusal, kept.last_error)
    ):
        raise TypeError("body must be an object, refusal and last_error a string or null")
    if not all(isinstance(kept.body.get(name) or {}, dict) for name in ("parameters", "metrics")):
        raise TypeError("parameters and metrics must be objects")
    if not PATH.fullmatch(kept.path) or not KEY.fullmatch(kept.idempotency_key):
        raise ValueError(
            "path must be that of a study's results, and idempotency_key must be printable ASCII without spaces"
        )
    encoded(kept.body)
    datetime.fromisoformat(kept.kept_at)
    if kept.trial_created_at is not None:
        datetime.fromisoformat(kept.trial_created_at)
        if not isinstance(kept.body.get("trial"), int):
            raise TypeError("the trial must be a number")
    return kept


def _write(file: Path, document: Mapping[str, Any]) -> None:
    """Write a file. Once it has its name, it survives a crash of the machine. If it cannot be written, no part of it is
    left."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".part", delete=False) as part:
        try:
            part.write(json.dumps(document, indent=1).encode())
            part.flush()
            os.fsync(part.fileno())
            part.close()  # Windows cannot rename an open file
            os.replace(part.name, file)
        except BaseException:
            with suppress(OSError):  # the disk may be full
                part.close()
            with suppress(OSError):
                os.unlink(part.name)
            raise
    if os.name == "posix":  # other systems cannot open a folder
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def delivery(outbox: Outbox | None) -> Steps[Delivery]:
    """Send the results that are kept for a server; the server stores each once. Results that cannot be delivered stay
    in the outbox.

    Raises:
        AdaBKBError: the server cannot be reached, or refuses this client.
    """
    sent: list[KeptResult] = []
    refused: list[KeptResult] = []
    if outbox is not None:
        for kept in outbox.waiting():
            try:
                yield from _send_one(kept)
            except AdaBKBError as error:
                if is_refusal(error):
                    refused.append(outbox._refuse(kept, str(error)))
                    continue
                if outbox._is_on_disk(kept):  # otherwise another process has just delivered it
                    outbox._keep(kept, error)
                if not isinstance(error, APIError) or isinstance(error, Unauthorized | Unavailable):
                    raise
                log.warning("%s is not delivered yet: %s", kept, error)
            else:
                outbox.remove(kept)
                sent.append(kept)
    return Delivery(tuple(sent), tuple(refused))


def _send_one(kept: KeptResult) -> Steps[None]:
    if kept.trial_created_at is not None:
        study, number = kept.path.removesuffix("/observe"), kept.body["trial"]
        trial = decode(Trial, (yield Call("GET", f"{study}/trials/{number}")), study=kept.study)
        if trial.created_at != datetime.fromisoformat(kept.trial_created_at):
            detail = f"study {kept.study!r} was created again, so this is another trial"
            raise from_problem(404, {"code": "trial_not_found", "detail": detail})
    yield Call("POST", kept.path, kept.body, key=kept.idempotency_key)
