"""A user who loses access to a study receives no more events, even on an open stream."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

from sqlalchemy import update

from adabkb_service.access.secrets import id_of
from adabkb_service.storage import grants, tables, tokens
from adabkb_service.study.clock import utc_now
from tests.integration.access.conftest import Guarded, guarded
from tests.integration.api.conftest import DEFINITION

__all__ = ["guarded"]

STREAM = {"Accept": "text/event-stream"}


@contextmanager
def stream_lines(server: Guarded, token: str, study: str) -> Iterator[Iterator[str]]:
    """The lines of a stream after the study's first event."""
    with server.client(token) as client, client.stream("GET", f"/v1/studies/{study}/events", headers=STREAM) as opened:
        assert opened.status_code == 200
        lines = opened.iter_lines()
        assert any(line == "event: created" for line in lines)
        yield lines


def rest(server: Guarded, token: str, study: str, is_open: list[str]) -> list[str]:
    """The kinds of events until the stream ends."""
    with stream_lines(server, token, study) as lines:
        is_open.append(token)
        return [line for line in lines if line.startswith("event: ")]


def test_streams_end_when_their_token_share_or_link_is_revoked(guarded: Guarded) -> None:
    """The revocations are made in the database, as by another server. The stream of a valid token continues."""
    with guarded.client(guarded.token("ann", "work")) as ann, guarded.client(guarded.token("dee", "work")) as dee:
        for name in ("heard", "other"):
            ann.post("/v1/studies", json={**DEFINITION, "id": name})
            ann.patch(f"/v1/studies/{name}/access", json={"shared_with": {"bob": "read", "cid": "work"}})
        dee.post("/v1/studies", json={**DEFINITION, "id": "dees"})
        link = ann.post("/v1/studies/heard/links").json()
        dees = dee.post("/v1/studies/dees/links").json()
        ended = {
            "revoked": (guarded.token("bob", "read"), "heard"),
            "expired": (guarded.token("bob", "read"), "heard"),
            "unshared": (guarded.token("cid", "work"), "heard"),
            "unlinked": (link["token"], "heard"),
            "link of a user without tokens": (dees["token"], "dees"),
        }
        is_open: list[str] = []
        with ThreadPoolExecutor(5) as threads, stream_lines(guarded, guarded.token("bob", "read"), "heard") as good:
            streams = [threads.submit(rest, guarded, *each, is_open) for each in ended.values()]
            while len(is_open) < len(streams):
                assert not any(stream.done() for stream in streams)
                time.sleep(0.05)
            with guarded.database.writing() as connection:
                for token in (ended["revoked"][0], link["token"], dee.headers["Authorization"].split()[1]):
                    tokens.revoke(connection, id_of(token) or "", utc_now())
                expired = tables.tokens.c.id == id_of(ended["expired"][0])
                connection.execute(update(tables.tokens).where(expired), {"expires_at": utc_now()})
                grants.replace(connection, "heard", {"ann": "own", "bob": "read"})
            assert [stream.result(60) for stream in streams] == [[]] * len(streams)
            ann.patch("/v1/studies/heard", json={"state": "paused"})
            assert any(line == "event: paused" for line in good)


def test_links_stop_working_when_their_owner_has_no_token(guarded: Guarded) -> None:
    token = guarded.token("fay", "work", expires_at=utc_now() + timedelta(days=1))
    with guarded.client(token) as fay, guarded.client(guarded.token("root", "admin")) as root:
        fay.post("/v1/studies", json={**DEFINITION, "id": "fays"})
        link = fay.post("/v1/studies/fays/links").json()["token"]
        assert guarded.send(link, "GET", "/v1/studies/fays").status_code == 200
        second = guarded.token("fay", "read")
        assert root.delete(f"/v1/tokens/{id_of(token)}").status_code == 204
        assert guarded.send(link, "GET", "/v1/studies/fays").status_code == 200, "the owner has another token"
        assert root.delete(f"/v1/tokens/{id_of(second)}").status_code == 204
        refused = guarded.send(link, "GET", "/v1/studies/fays")
        assert (refused.status_code, "owner" in refused.json()["detail"]) == (401, True)
        assert root.post("/v1/studies/fays/links").status_code == 403
