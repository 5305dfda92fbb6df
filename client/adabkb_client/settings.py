"""The settings of a study whose values are dicts."""

from collections.abc import Mapping
from typing import Any

from adabkb_client.plain import shown

EXAMPLES = {
    "early_stopping": '{"rule": "asha", "max_steps": 27}',
    "prior": '{"lr": {"around": 0.001, "factor": 10}}',
    "stop": '{"no_gain_for": 20}',
    "tags": '{"team": "vision"}',
}
"""A value of each."""


def check_dicts(settings: Mapping[str, Any]) -> None:
    """Refuse another value where a dict is needed.

    Raises:
        TypeError: it names the setting, and shows a value of it.
    """
    for name, value in settings.items():
        if name in EXAMPLES and value is not None and not isinstance(value, Mapping):
            raise TypeError(f"{name} must be a dict such as {EXAMPLES[name]}, not {shown(value)}")
