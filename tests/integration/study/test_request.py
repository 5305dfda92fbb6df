"""The key under which the answer to a request is stored, and the stored answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from adabkb_service.contract.answers import CellRef
from adabkb_service.study.request import Key, Outcome, key_row

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_each_user_has_separate_keys_of_bounded_length() -> None:
    """Without users, the key itself is the name."""
    assert Key("s", "k", "f").name == "k"
    names = [Key("s", key, "f", user).name for user in ("ann", "bob") for key in ("k", "l", "k" * 1000)]
    assert len(set(names)) == 6
    assert {len(name) for name in names} == {64}
    assert Key("s", "k", "f", "ann").name == Key("other", "k", "g", "ann").name


@pytest.mark.parametrize("created", [False, True])
def test_stored_answer_tells_whether_something_was_created(*, created: bool) -> None:
    outcome = Outcome(CellRef(key="0.1-1", depth=1), created=created)
    row = key_row(Key("s", "k", "f", "ann"), "s", outcome, NOW)
    assert json.loads(str(row.answer)) == {"created": created, "view": json.loads(outcome.json)}
