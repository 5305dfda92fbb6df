"""Log records with time, message and request: as text, or as one JSON document per line."""

from __future__ import annotations

import json
import logging
import re
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal

from adabkb_service.errors import masked

Form = Literal["text", "json"]

FACTS: ContextVar[dict[str, Any]] = ContextVar("facts")
"""Facts about the current request: its id, address, user, study, trial and, if traces are configured, trace."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_PLAIN = re.compile(r"[\w.:@,/+-]+")


def note(**facts: Any) -> None:
    """Add facts to all further log records of this request. Facts with the value None are ignored."""
    known = FACTS.get(None)
    if known is not None:
        known.update({name: value for name, value in facts.items() if value is not None})


def configure(form: Form, *, access: bool) -> None:
    """Write the log of this process to stderr.

    Args:
        form: format of the lines.
        access: whether to log every request.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("adabkb.access").setLevel(logging.INFO if access else logging.WARNING)


class JsonLines(logging.Formatter):
    """Formats a record as one JSON document per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Override of ``logging.Formatter.format``."""
        line = {
            "time": _time(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
            **FACTS.get({}),
        }
        if record.exc_info:
            line["exception"] = "".join(traceback.format_exception(*record.exc_info))
        return masked(json.dumps(line, default=str))


class TextLines(logging.Formatter):
    """Formats a record as a readable line. Control characters are escaped, so that text from users cannot forge another
    line."""

    def format(self, record: logging.LogRecord) -> str:
        """Override of ``logging.Formatter.format``."""
        facts = " ".join(f"{name}={_shown(value)}" for name, value in FACTS.get({}).items())
        line = f"{_time(record)} {record.levelname} {record.name}: {_on_one_line(record.getMessage())} {facts}".rstrip()
        if record.exc_info:
            trace = "".join(traceback.format_exception(*record.exc_info)).rstrip()
            line = "\n    ".join([line, *trace.splitlines()])
        return masked(line)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if _PLAIN.fullmatch(text) else _on_one_line(json.dumps(text, ensure_ascii=False))


def _on_one_line(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
