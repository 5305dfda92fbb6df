"""The settings for logins and the commands about them: errors at startup, and findings of the doctor."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from adabkb_service.app import create_app
from adabkb_service.settings import Settings, load
from adabkb_service.storage import migration, tokens
from adabkb_service.storage.database import Database
from adabkb_service.study.clock import utc_now
from tests.integration.cli.shell import adabkb
from tests.integration.identity.conftest import server_at
from tests.integration.identity.forger import forging
from tests.integration.identity.providers import CLIENT, SECRET, settings
from tests.integration.identity.test_attacks import returned
from tests.integration.identity.visits import self_of, visitor
from tests.servers import free_port

ISSUER = "https://sso.lab.example"


def set_environment(monkeypatch: pytest.MonkeyPatch, **values: object) -> None:
    """Settings in the environment."""
    for name, value in values.items():
        monkeypatch.setenv(f"ADABKB_{name.upper()}", str(value))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"oidc_client_id": ""}, "oidc_client_id"),
        ({"oidc_admin_groups": "", "oidc_work_groups": " , ", "oidc_read_groups": ""}, "nobody could log in"),
        ({"oidc_issuer": "http://sso.lab.example"}, "https://"),
        ({"oidc_issuer": "sso.lab.example"}, "https://"),
        ({"oidc_issuer": f"{ISSUER}?tenant=1"}, "without ? and #"),
        ({"oidc_scopes": "profile email"}, "oidc_scopes"),
        ({"oidc_default_scope": "admin"}, "'none', 'read' or 'work'"),
        ({"oidc_session_hours": 0}, "oidc_session_hours"),
        ({"oidc_client_secret_file": "secret"}, "oidc_client_secret and oidc_client_secret_file"),
    ],
)
def test_incomplete_login_settings_are_rejected_without_showing_the_secret(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], words: str
) -> None:
    set_environment(monkeypatch, **settings(ISSUER, **changed))
    with pytest.raises(ValueError, match="oidc_") as refused:
        load()
    assert words in str(refused.value)
    assert SECRET not in str(refused.value)


def test_secret_can_be_read_from_a_file_and_is_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    chosen = Settings(**settings(ISSUER, oidc_client_secret="", oidc_client_secret_file=str(file)))
    with pytest.raises(ValueError, match="cannot be read"):
        create_app(chosen)
    file.write_text("\n")
    with pytest.raises(ValueError, match="empty"):
        create_app(chosen)
    file.write_text(f"{SECRET}\n")
    assert chosen.provider is not None
    assert chosen.provider.client_secret == SECRET
    assert SECRET not in f"{chosen!r} {chosen.provider!r} {Settings(**settings(ISSUER))!r}"


def test_groups_are_separated_by_commas() -> None:
    provider = Settings(**settings(ISSUER, oidc_default_scope="read")).provider
    assert provider is not None
    assert provider.groups["work"] == {"chemists", "physicists"}
    assert provider.default_scope == "read"


def test_doctor_reports_a_wrong_issuer_and_an_unreachable_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/adabkb.db"
    with closing(Database(url)) as database:
        migration.upgrade(database)
    with forging() as forger:
        set_environment(monkeypatch, **settings(forger.issuer))
        assert "No problems found." in adabkb("data", "doctor", "--database", url)
        forger.change(metadata={"issuer": f"{forger.issuer}/"})
        (found,) = json.loads(adabkb("data", "doctor", "--database", url, "--json", code=1))
        assert found["subject"] == "login"
        assert f"has the issuer '{forger.issuer}/'" in found["what"]
    away = adabkb("data", "doctor", "--database", url, code=1)
    assert "login: The identity provider" in away
    assert "does not answer" in away


def test_commands_list_users_end_sessions_and_rename_accounts(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/adabkb.db"
    with forging() as forger, server_at(free_port(), url, forger.issuer) as address, visitor(address) as browser:
        forger.change(claims={"name": "Ann Lee", "email": "ann@lab.example"})
        assert returned(browser, forger).status_code == 303
        session = self_of(browser)["token"]
        listed = adabkb("session", "list", "--database", url)
        assert "ann   Ann Lee  ann@lab.example  work" in listed
        assert adabkb("session", "end", "ann", "--database", url) == "1 session of ann ended.\n"
        assert "No person has logged in as" in adabkb("session", "end", "bob", "--database", url, code=1)
        audit = adabkb("data", "audit", "--database", url)
        assert f"login: ann, by ann (ann@lab.example, 1001) token {session} from 127.0.0.1" in audit
        assert "sessions ended: ann" in audit
    with closing(Database(url)) as database, database.reading() as connection:
        assert tokens.sessions_of(connection, "ann", utc_now()) == []


def test_public_clients_send_no_secret(tmp_path: Path) -> None:
    with (
        forging() as forger,
        server_at(free_port(), f"sqlite:///{tmp_path}/a.db", forger.issuer, oidc_client_secret="") as address,
        visitor(address) as browser,
    ):
        assert returned(browser, forger).status_code == 303
        (form,) = forger.asked
        assert (form["client_id"], "client_secret" in form) == (CLIENT, False)


def test_client_sends_its_secret_in_the_form_if_required(tmp_path: Path) -> None:
    with forging() as forger:
        forger.change(metadata={"token_endpoint_auth_methods_supported": ["client_secret_post"]})
        url = f"sqlite:///{tmp_path}/a.db"
        with server_at(free_port(), url, forger.issuer) as address, visitor(address) as browser:
            assert returned(browser, forger).status_code == 303
        assert forger.asked[0]["client_secret"] == SECRET
