"""Older studies in the clients and the command line."""

from __future__ import annotations

import asyncio
import json

import pytest

from adabkb_client import AsyncClient, Client, Float, Invalid
from tests.integration.cli.shell import adabkb

SPACE = {"x": Float(0, 1)}


def test_both_clients_and_the_command_line_create_a_study_from_older_ones(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADABKB_URL", client.url)
    client.create_study("older", SPACE, direction="maximize", budget=6, seed=1).run(
        lambda x: -abs(x - 0.9), progress=False
    )

    async def create() -> tuple[str, ...]:
        async with AsyncClient(client.url) as own:
            study = await own.create_study("b", SPACE, direction="maximize", transfer_from=["older"])
            return (await study.info()).transfer_from

    plain = client.create_study("a", SPACE, direction="maximize")
    assert plain.info().transfer_from == ()
    study = client.create_study("new", SPACE, direction="maximize", transfer_from=["older"])
    assert study.info().transfer_from == asyncio.run(create()) == ("older",)
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    definition = json.dumps({"id": "c", "direction": "maximize", "parameters": parameters})
    adabkb("study", "create", "-", "--transfer-from", "older", "--transfer-from", "new", stdin=definition, code=1)
    adabkb("study", "create", "-", "--transfer-from", "older", stdin=definition)
    assert "also uses the results of: older" in adabkb("study", "show", "c")
    study.run(lambda x: -abs(x - 0.8), n_trials=2, progress=False)
    assert "The model used the older study older with a trust of 1 " in adabkb("trial", "why", "new", "2")
    with pytest.raises(Invalid) as refusal:
        client.create_study("d", SPACE, direction="maximize", transfer_from=["odler"])
    assert list(refusal.value.pointers) == ["/transfer_from/0"]
