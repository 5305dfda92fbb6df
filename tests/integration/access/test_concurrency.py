"""Limits on concurrent use, at their boundaries."""

from __future__ import annotations

from contextlib import ExitStack, suppress

import pytest

from adabkb_service.access.caller import Caller
from adabkb_service.access.concurrency import REQUESTS, STREAMS, WAITS, Concurrency, Resource
from adabkb_service.errors import Busy, TooManyAtOnce

MOST = {"user_requests": 3, "user_streams": 2, "streams": 3, "user_waits": 1, "waits": 9}
ANN, BOB, NOBODY = (Caller(user, "work") for user in ("ann", "bob", None))


def test_concurrent_use_per_user_is_limited() -> None:
    concurrency = Concurrency(MOST)
    with concurrency.hold(STREAMS, ANN):
        concurrency.check(STREAMS, ANN)
        with (
            concurrency.hold(STREAMS, ANN),
            pytest.raises(TooManyAtOnce, match=r"'ann' has reached the limit of 2 event streams .*user_streams"),
            concurrency.hold(STREAMS, ANN),
        ):
            pass
        assert not concurrency.is_full(STREAMS, ANN)
        with concurrency.hold(STREAMS, ANN):
            assert concurrency.is_full(STREAMS, ANN)
    assert not concurrency.is_full(STREAMS, ANN)


@pytest.mark.parametrize("caller", [BOB, NOBODY], ids=["a user", "without authentication"])
def test_server_limit_counts_all_users_of_a_resource(caller: Caller) -> None:
    concurrency = Concurrency(MOST)
    with ExitStack() as held:
        held.enter_context(concurrency.hold(WAITS, ANN))
        for _ in range(2):
            held.enter_context(concurrency.hold(STREAMS, ANN))
        assert not concurrency.is_full(STREAMS, caller)
        held.enter_context(concurrency.hold(STREAMS, caller))
        with pytest.raises(Busy, match="its limit of 3 event streams"):
            concurrency.check(STREAMS, caller)
        assert concurrency.is_full(STREAMS, caller)
        assert not concurrency.is_full(WAITS, caller)
    assert not concurrency.is_full(STREAMS, caller)


@pytest.mark.parametrize(("resource", "caller"), [(REQUESTS, NOBODY), (WAITS, NOBODY)])
def test_without_authentication_there_is_no_limit_per_user(resource: Resource, caller: Caller) -> None:
    concurrency = Concurrency(MOST)
    with ExitStack() as held:
        for _ in range(5):
            held.enter_context(concurrency.hold(resource, caller))


def test_failed_request_releases_its_slot() -> None:
    concurrency = Concurrency(MOST)
    with suppress(ZeroDivisionError), concurrency.hold(WAITS, ANN):
        assert concurrency.is_full(WAITS, ANN)
        raise ZeroDivisionError
    assert not concurrency.is_full(WAITS, ANN)
