"""Tracebacks that begin in the user's code, without the frames of this client."""

import inspect
import linecache
import traceback
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any

from adabkb_client.errors import AdaBKBError

OURS = ("adabkb_client", "adabkb_integrations")
TRACEBACK = "Traceback (most recent call last)"
"""The beginning of a note that has the traceback of an error in another process: see ``formatted``."""


def own_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback of an error from the first frame outside this client; None without such a frame."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frames = frames.tb_next
    return frames


def shortened(error: BaseException) -> BaseException:
    """Return an error with only the user's frames. An unexpected error of this client keeps its frames."""
    frames = own_frames(error)
    notes = getattr(error, "__notes__", ())
    is_of_another_process = any(note.startswith(TRACEBACK) for note in notes)
    is_foreseen = is_of_another_process or isinstance(error, AdaBKBError)
    return error if frames is None and not is_foreseen else error.with_traceback(frames)


def formatted(error: BaseException) -> str:
    """Return an error as Python prints it, with only the user's frames."""
    return "".join(traceback.format_exception(type(error), error, own_frames(error))).rstrip()


def place_of(function: Callable[..., Any]) -> str:
    """Return the file, the number and the text of a function's first line as in a traceback, with a newline.

    Return an empty text for a function without Python code.
    """
    code = getattr(inspect.unwrap(getattr(function, "func", function)), "__code__", None)
    if not isinstance(code, CodeType):
        return ""
    line = linecache.getline(code.co_filename, code.co_firstlineno).strip()
    shown = f"    {line}\n" if line else ""
    return f'File "{code.co_filename}", line {code.co_firstlineno}, in {code.co_qualname}\n{shown}'
