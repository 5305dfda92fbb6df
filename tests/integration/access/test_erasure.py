"""``adabkb data erase-user`` removes a name from every table, while a server runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
import sqlalchemy as sa

from adabkb_service.cli.tokens import administrator
from adabkb_service.errors import Invalid
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.erasure import Erased, erase
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.service import Service
from adabkb_service.storage import people
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import metadata
from adabkb_service.study.clock import utc_now
from tests.integration.access.conftest import Guarded
from tests.integration.api.conftest import DEFINITION
from tests.integration.cli.shell import adabkb
from tests.integration.storage.rows import person

NAME = "zoe.quimby"


def places_of(database: Database, text: str) -> Iterator[str]:
    """The tables and columns whose rows contain a text."""
    with database.reading() as connection:
        for table in metadata.sorted_tables:
            for row in connection.execute(sa.select(table)):
                for column, value in row._mapping.items():
                    if text in str(value):
                        yield f"{table.name}.{column}"


def worked_on(guarded: Guarded, token: str, study: str) -> None:
    """Work on a study as its owner, in each way that stores a name."""
    with guarded.client(token) as client:
        client.post("/v1/studies", json={**DEFINITION, "id": study}, headers={"Idempotency-Key": f"create-{study}"})
        path = f"/v1/studies/{study}"
        client.post(f"{path}/suggest", json={"count": 3})
        client.post(f"{path}/observe", json={"trial": 1, "value": 1.5}, headers={"Idempotency-Key": f"told-{study}"})
        client.post(f"{path}/observe", json={"trial": 2, "state": "failed", "reason": "broken"})
        client.post(f"{path}/trials/1/files", params={"name": "log"}, content=b"text")
        client.patch(path, json={"title": "A title"})
        client.patch(f"{path}/access", json={"shared_with": {"bob": "work"}})
        assert client.post(f"{path}/links").status_code == 201


@pytest.fixture(scope="module")
def erased(guarded: Guarded) -> Erased:
    """Zoe has a study, one in the trash and a share, and administers the server; then her name is erased."""
    service = Service(guarded.database)
    row = person(NAME, name="Zoe Quimby", email="zoe@lab.example", subject="zoe-77", seen_at=utc_now())
    with guarded.database.writing() as connection:
        people.add(connection, row)
    token, admin = guarded.token(NAME, "work"), guarded.token(NAME, "admin")
    worked_on(guarded, token, "hers")
    worked_on(guarded, token, "thrown")
    guarded.send(token, "DELETE", "/v1/studies/thrown")
    ann, bob = guarded.token("ann", "work"), guarded.token("bob", "work")
    guarded.send(ann, "PATCH", "/v1/studies/s/access", {"shared_with": {NAME: "work"}})
    guarded.send(token, "POST", "/v1/studies/s/suggest")
    guarded.send(token, "POST", "/v1/studies/s/observe", {"trial": 1, "value": 3.0})
    guarded.send(admin, "POST", "/v1/tokens", {"name": NAME, "user": "carl", "scopes": ["read"]})
    guarded.send(bob, "POST", "/v1/studies/hers/suggest")
    assert len(set(places_of(guarded.database, NAME))) > 12
    done = erase(service, administrator(), NAME, "former-1")
    assert done is not None
    assert guarded.send(bob, "POST", "/v1/studies/hers/observe", {"trial": 3, "value": 2.5}).status_code == 200
    return done


def test_no_table_has_the_name_once_answers_and_trash_are_deleted(guarded: Guarded, erased: Erased) -> None:
    database = guarded.database
    assert set(places_of(database, NAME)) == {"idempotency_keys.answer"}  # the content of the trash is compressed
    assert erased.trash_until is not None
    assert timedelta(days=29) < erased.trash_until - utc_now() < timedelta(days=31)
    service = Service(database)
    with database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM idempotency_keys")
    assert list(places_of(database, NAME)) == []
    assert list(places_of(database, "Zoe Quimby")) == list(places_of(database, "zoe@lab.example")) == []
    assert erased.owned == ["hers"]
    assert list(examine(database)) == []
    assert replay(service, "hers").diverged == []


def test_pseudonym_owns_studies_and_tokens_are_revoked(guarded: Guarded, erased: Erased) -> None:
    with guarded.client(guarded.token("root", "admin")) as root:
        assert root.get("/v1/studies/hers/access").json() == {"owner": "former-1", "shared_with": {"bob": "work"}}
        assert root.get("/v1/studies/s/access").json() == {"owner": "ann", "shared_with": {}}
        trials = root.get("/v1/studies/hers/trials").json()["items"]
        assert [each["reported_by"] for each in trials[:3]] == ["former-1", "former-1", "bob"]
        theirs = [each for each in root.get("/v1/tokens?limit=1000").json()["items"] if each["user"] == "former-1"]
        assert len(theirs) == 4
        assert all(each["revoked_at"] for each in theirs)
        (entry, *_) = [
            each for each in root.get("/v1/audit?limit=1000").json()["items"] if each["action"] == "user erased"
        ]
        assert (entry["subject"], entry["detail"]) == ("former-1", erased.replaced)
        entries = [each for each in root.get("/v1/audit?limit=1000").json()["items"] if each["user"] == "former-1"]
        assert {each["address"] for each in entries} == {"erased"}


@pytest.mark.usefixtures("erased")
def test_name_of_another_user_is_no_pseudonym(guarded: Guarded) -> None:
    service = Service(guarded.database)
    for name in ("bob", "former-1"):
        with pytest.raises(Invalid, match="another user"):
            erase(service, administrator(), "ann", name)
    assert erase(service, administrator(), NAME, "former-2") is None


@pytest.mark.usefixtures("erased")
def test_command_asks_and_reports(guarded: Guarded) -> None:
    url = guarded.database.url.render_as_string(hide_password=False)
    command = ("data", "erase-user", "--database", url)
    assert "--yes" in adabkb(*command, "bob", code=1)
    assert "nowhere" in adabkb(*command, "nobody-at-all", "--yes", code=1)
    guarded.token("dora", "work")
    printed = adabkb(*command, "dora", "--pseudonym", "former-3", "--yes")
    assert "former-3 replaces dora in: 1 tokens, links and sessions." in printed
