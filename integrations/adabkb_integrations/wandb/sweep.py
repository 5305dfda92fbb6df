"""Convert the configuration of a Weights & Biases sweep to a study on a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from adabkb_client import Categorical, Client, Fixed, Float, Int, Ordinal, Parameter, Study, StudySettings
from adabkb_integrations.ordered import is_ordered

UNIFORM = ("uniform", "int_uniform", "q_uniform")
LOG_UNIFORM = ("log_uniform_values", "q_log_uniform_values")


def sweep(
    config: Mapping[str, Any], name: str, client: Client | None = None, **settings: Unpack[StudySettings]
) -> Study:
    """Create the study of a sweep, or open it if it exists.

    Args:
        config: the configuration for ``wandb.sweep``: ``parameters``, ``metric``, and ``run_cap`` as the budget.
        name: the id of the study.
        client: the client of the server; by default a ``Client()`` that stays open until the program ends.
        settings: as in ``Client.create_study``.

    Raises:
        ValueError: the configuration has ``early_terminate`` (give ``early_stopping`` instead), a parameter without
            values, or a method or distribution that studies do not support.
    """
    method = config.get("method", "bayes")
    if method not in ("bayes", "random"):
        raise ValueError(f"method: {method!r} is not supported by studies; use bayes or random")
    if "early_terminate" in config:
        raise ValueError('early_terminate: leave it out, and give early_stopping={"rule": "asha", ...} to sweep(...)')
    if method == "random":
        settings.setdefault("algorithm", {"kind": "random"})
    if "run_cap" in config:
        settings.setdefault("budget", config["run_cap"])
    goal = config.get("metric", {}).get("goal", "minimize")
    space = {key: _parameter(key, each) for key, each in config["parameters"].items()}
    if client is not None:
        return client.create_study(name, space, direction=goal, **settings)
    own = Client()
    try:
        return own.create_study(name, space, direction=goal, **settings)
    except BaseException:
        own.close()
        raise


def _parameter(name: str, given: Mapping[str, Any]) -> Parameter:
    if "value" in given:
        return Fixed(given["value"])
    if "values" in given:
        values = given["values"]
        return Ordinal(values) if len(values) > 1 and is_ordered(values) else Categorical(values)
    if not {"min", "max"} <= given.keys():
        raise ValueError(f"parameters.{name}: must have value, values, or min and max, not {dict(given)}")
    low, high = given["min"], given["max"]
    kind = given.get("distribution", "int_uniform" if isinstance(low, int) and isinstance(high, int) else "uniform")
    if kind not in (*UNIFORM, *LOG_UNIFORM):
        known = ", ".join((*UNIFORM, *LOG_UNIFORM))
        raise ValueError(f"parameters.{name}.distribution: {kind!r} is not supported by studies (supported: {known})")
    if kind == "int_uniform":
        return Int(low, high)
    step = given.get("q", 1) if kind.startswith("q_") else None
    if kind == "q_log_uniform_values":
        if step != 1 or low != int(low) or high != int(high):
            raise ValueError(
                f"parameters.{name}: {kind} needs integers as min and max, and q: 1; otherwise, give values, or "
                "log_uniform_values"
            )
        return Int(int(low), int(high), log=True)
    return Float(low, high, log=kind in LOG_UNIFORM, step=step)
