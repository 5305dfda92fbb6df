"""How long a run that is interrupted takes to end in order."""

import os

VARIABLE = "ADABKB_STOP_SECONDS"
DEFAULT = 5.0


def stop_seconds() -> float:
    """Return the seconds for which it gives trials back, and waits for its programs: ``ADABKB_STOP_SECONDS``, or 5.

    Raises:
        ValueError: the variable is not a positive number.
    """
    text = os.environ.get(VARIABLE, "")
    try:
        seconds = float(text) if text else DEFAULT
    except ValueError:
        seconds = 0.0
    if not seconds > 0.0:
        raise ValueError(f"the environment variable {VARIABLE} must be a positive number of seconds, not {text!r}")
    return seconds
