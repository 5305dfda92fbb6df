"""Login at a certified provider: permissions, durations, and the audit log."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from adabkb_service.storage import tokens
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import tokens as table
from adabkb_service.study.clock import utc_now
from tests.integration.access.conftest import give_token
from tests.integration.api.conftest import DEFINITION
from tests.integration.identity.conftest import House, server_at
from tests.integration.identity.providers import PEOPLE, Certified, new_key, settings
from tests.integration.identity.visits import PAGE, at_provider, begin, log_in, query_of, self_of, text_of, visitor
from tests.samples import some
from tests.servers import free_port, server_on, server_process
from tests.waiting import wait_for


@pytest.mark.parametrize(
    ("subject", "user", "scope"),
    some([("1001", "ann", "work"), ("1002", "ben", "admin"), ("1004", "dot", "read")], [("1001", "ann", "work")]),
)
def test_groups_become_scopes_and_login_returns_to_the_requested_page(
    house: House, subject: str, user: str, scope: str
) -> None:
    with visitor(house.address) as browser:
        asked = browser.get("/new")
        assert (asked.status_code, 'href="/login/oidc?next=%2Fnew"' in asked.text) == (401, True)
        done = log_in(browser, subject, "/new?a=1")
        assert (done.status_code, done.headers["location"]) == (303, "/new?a=1")
        cookies = done.headers.get_list("set-cookie")
        (session,) = [set(each.split("; ")) for each in cookies if each.startswith("adabkb_token=")]
        assert {"HttpOnly", "SameSite=lax", "Path=/"} <= session
        assert "adabkb_login" not in {each.name for each in browser.cookies.jar}
        found = self_of(browser)
        assert (found["user"], found["scope"], found["studies"]) == (user, scope, None)
        assert PEOPLE[subject]["name"] in browser.get("/account").text


@pytest.mark.parametrize(
    ("subject", "status", "words"),
    [
        ("1003", 403, ["guests, sales", "oidc_work_groups"]),
        ("2002", 403, ["'Ann Lee'", "oidc_user_claim"]),
    ],
)
def test_users_without_a_group_or_name_see_a_contact(house: House, subject: str, status: int, words: list[str]) -> None:
    with visitor(house.address) as browser:
        refused = log_in(browser, subject)
        assert refused.status_code == status
        assert all(word in text_of(refused) for word in words), text_of(refused)
        assert browser.get("/v1/studies").status_code == 401


def test_a_user_name_stays_with_its_first_account(house: House) -> None:
    with visitor(house.address) as browser, visitor(house.address) as other:
        log_in(browser, "1001")
        refused = log_in(other, "2001")
        assert (refused.status_code, "belongs to another account" in text_of(refused)) == (403, True)
        assert other.get("/v1/studies").status_code == 401


def test_declining_at_the_provider_does_not_log_in(house: House) -> None:
    with visitor(house.address) as browser:
        answer = browser.get(begin(browser))
        form = browser.get(str(answer.url.join(answer.headers["location"])))
        left = browser.get(str(form.url.join(form.text.partition('<a href="')[2].partition('"')[0])))
        back = str(left.url.join(left.headers["location"]))
        while "/login/oidc/callback" not in back:
            back = browser.get(back).headers["location"]
        refused = browser.get(back)
        assert query_of(back)["error"] == "access_denied"
        assert (refused.status_code, "declined" in text_of(refused)) == (403, True)


def test_users_own_share_and_use_studies_with_sessions_and_tokens(house: House) -> None:
    made = {**DEFINITION, "id": f"of-ann-{house.database.is_sqlite}"}
    token = give_token(house.database, "ann", "work")
    with visitor(house.address) as ann, visitor(house.address) as dot:
        log_in(ann, "1001")
        log_in(dot, "1004")
        assert ann.post("/v1/studies", json=made).status_code == 201
        path = f"/v1/studies/{made['id']}"
        program = {"Authorization": f"Bearer {token}"}
        assert httpx.post(f"{house.address}{path}/suggest", json={}, headers=program).status_code == 200
        assert dot.get(path).status_code == 404
        ann.patch(f"{path}/access", json={"shared_with": {"dot": "work"}})
        assert dot.get(path).status_code == 200
        assert dot.post(f"{path}/suggest", json={}).status_code == 403, "the scope of the groups is the limit"
        assert ann.get("/v1/tokens").status_code == 403


def test_logging_out_everywhere_ends_all_sessions_but_no_tokens(house: House) -> None:
    token = {"Authorization": f"Bearer {give_token(house.database, 'ann', 'work')}"}
    with (
        visitor(house.address) as one,
        visitor(house.address) as two,
        visitor(house.address) as ben,
        server_at(free_port(), house.url, house.provider.issuer) as another,
    ):
        for browser, subject in ((one, "1001"), (two, "1001"), (ben, "1002")):
            log_in(browser, subject)
        cookie = {"Cookie": f"adabkb_token={two.cookies['adabkb_token']}"}
        assert httpx.get(f"{another}/v1/studies", headers=cookie).status_code == 200
        assert one.post("/logout/everywhere").status_code == 200
        ended = two.get("/account")
        assert (ended.status_code, "Your session was ended at" in text_of(ended)) == (401, True)
        assert one.get("/v1/studies").status_code == 401
        wait_for(lambda: httpx.get(f"{another}/v1/studies", headers=cookie).status_code == 401)
        assert ben.get("/v1/studies").status_code == 200
        assert httpx.get(f"{house.address}/v1/studies", headers=token).status_code == 200


def test_an_administrator_can_end_a_users_sessions(house: House) -> None:
    with visitor(house.address) as ann, visitor(house.address) as ben:
        log_in(ann, "1001")
        log_in(ben, "1002")
        listed = {each["user"]: each for each in ben.get("/v1/people?limit=2").json()["items"]}
        person = listed["ann"]
        assert (person["subject"], person["email"], person["scope"]) == ("1001", "ann@lab.example", "work")
        assert person["sessions"] >= 1
        assert "Ann Lee" in ben.get("/account").text
        assert ann.delete("/v1/people/ben/sessions").status_code == 403
        assert ben.delete("/v1/people/nobody/sessions").status_code == 404
        assert ben.delete("/v1/people/ann/sessions").status_code == 204
        assert ann.get("/v1/studies").status_code == 401
        assert ben.get("/v1/studies").status_code == 200


@pytest.mark.long
def test_concurrent_first_logins_create_one_user(migrated_url: str) -> None:
    """In several browsers."""
    port = free_port()
    provider = Certified([f"http://127.0.0.1:{port}"])
    with provider.running(), server_at(port, migrated_url, provider.issuer) as address, ExitStack() as stack:
        browsers = [stack.enter_context(visitor(address)) for _ in range(6)]
        answers = [at_provider(browser, begin(browser), "1002") for browser in browsers]
        with ThreadPoolExecutor(len(browsers)) as threads:
            done = list(threads.map(lambda pair: pair[0].get(pair[1]).status_code, zip(browsers, answers, strict=True)))
        assert done == [303] * len(browsers)
        (person,) = browsers[0].get("/v1/people").json()["items"]
        assert (person["user"], person["sessions"]) == ("ben", len(browsers))
        with ThreadPoolExecutor(len(browsers)) as threads:
            left = list(threads.map(lambda browser: browser.post("/logout/everywhere").status_code, browsers))
        assert set(left) <= {200, 401}
        assert {browser.get("/v1/studies").status_code for browser in browsers} == {401}


def test_audit_log_names_the_user(house: House) -> None:
    study = {**DEFINITION, "id": f"audited-{house.database.is_sqlite}"}
    with visitor(house.address) as ben:
        log_in(ben, "1002")
        ben.post("/v1/studies", json=study)
        ben.delete(f"/v1/studies/{study['id']}")
        session = self_of(ben)["token"]
        entries = ben.get("/v1/audit?limit=20").json()["items"]
        ben.post("/logout")
    person = {"subject": "1002", "name": "Ben Ott", "email": "ben@lab.example"}
    (login,) = [each for each in entries if each["action"] == "login" and each["token"] == session]
    assert (login["user"], login["subject"], login["address"]) == ("ben", "ben", "127.0.0.1")
    assert login["detail"] == {"scope": "admin", "person": person}
    (deleted,) = [each for each in entries if each["subject"] == study["id"]]
    assert (deleted["user"], deleted["token"], deleted["detail"]["person"]) == ("ben", session, person)


def test_expired_session_shows_a_login_page(house: House) -> None:
    with visitor(house.address) as browser:
        log_in(browser, "1001")
        session = self_of(browser)["token"]
        with house.database.writing() as connection:
            past = utc_now() - timedelta(seconds=1)
            connection.execute(sa.update(table).where(table.c.id == session), {"expires_at": past})
        wait_for(lambda: browser.get("/v1/studies").status_code == 401)
        asked = browser.get("/account")
        assert "Your session expired at" in text_of(asked)
        assert "/login/oidc?next=%2Faccount" in asked.text
        assert browser.get(at_provider(browser, begin(browser), "1001")).status_code == 303


def test_logging_out_redirects_to_the_provider_and_back(house: House) -> None:
    with visitor(house.address) as browser:
        log_in(browser, "1001")
        session = self_of(browser)["token"]
        target = browser.post("/logout").json()["goto"]
        assert target.startswith(f"{house.provider.issuer}/session/end?")
        query = query_of(target)
        assert query["post_logout_redirect_uri"] == f"{house.address}/login"
        assert browser.get(target).status_code == 200, "the provider accepts the ID token as a hint"
        assert browser.get("/v1/studies").status_code == 401
        with house.database.reading() as connection:
            row = tokens.find(connection, session)
        assert row is not None
        assert (row.revoked_at is not None, row.id_token) == (True, None)


def test_new_login_in_a_browser_ends_its_previous_session(house: House) -> None:
    with visitor(house.address) as browser:
        log_in(browser, "1001")
        before = browser.cookies["adabkb_token"]
        log_in(browser, "1001")
        assert browser.cookies["adabkb_token"] != before
        stolen = {"Cookie": f"adabkb_token={before}"}
        assert httpx.get(f"{house.address}/v1/studies", headers=stolen).status_code == 401


def test_sessions_are_not_listed_as_tokens_and_old_ones_are_deleted(house: House) -> None:
    with visitor(house.address) as browser:
        log_in(browser, "1002")
        session = self_of(browser)["token"]
        assert session not in {each["id"] for each in browser.get("/v1/tokens?limit=1000").json()["items"]}
        browser.post("/logout")
        log_in(browser, "1002")
        newest = self_of(browser)["token"]
    later = utc_now() + timedelta(days=1000)
    with house.database.writing() as connection:
        assert tokens.forget_sessions(connection, later, 1000) > 0
        assert tokens.find(connection, session) is None
        assert tokens.find(connection, newest) is not None, "without any row, the server might stop requiring tokens"


@pytest.mark.long
def test_login_survives_new_provider_keys_and_provider_outages(migrated_url: str) -> None:
    port = free_port()
    provider = Certified([f"http://127.0.0.1:{port}"], claims_in_token=True, has_logout=False)
    with server_at(port, migrated_url, provider.issuer) as address:
        with visitor(address) as browser:
            away = browser.get("/login/oidc")
            assert (away.status_code, "does not answer" in text_of(away)) == (503, True)
        wait_for(lambda: not _is_unreachable(address, provider))
        with provider.running(), visitor(address) as browser:
            log_in(browser, "1001")
            assert self_of(browser)["user"] == "ann"
            assert browser.post("/logout").json() == {"goto": "/login"}, "this provider has no logout"
        provider.key = new_key()
        with provider.running(), visitor(address) as browser:
            log_in(browser, "1001")
            assert self_of(browser)["user"] == "ann"


def _is_unreachable(address: str, provider: Certified) -> bool:
    with provider.running(), visitor(address) as browser:
        return browser.get("/login/oidc").status_code == 503


@pytest.mark.long
@pytest.mark.parametrize("prefix", ["", "/adabkb"])
def test_redirects_and_cookies_behind_a_tls_proxy_use_the_external_address(migrated_url: str, prefix: str) -> None:
    """The proxy removes the prefix; its X-Forwarded-Proto is trusted."""
    outside = f"https://127.0.0.1{prefix}"
    provider = Certified([outside])
    chosen = settings(provider.issuer, proxies="127.0.0.1", root_path=prefix)
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "10.1.2.3", "Host": "127.0.0.1"}
    with (
        provider.running(),
        server_process(migrated_url, **chosen) as server,
        visitor(server.address, **forwarded) as browser,
        visitor(provider.issuer) as at_home,
    ):
        assert f'href="{prefix}/login/oidc?next=%2Fnew"' in browser.get("/new").text
        begun = browser.get("/login/oidc?next=/new")
        (cookie,) = begun.headers.get_list("set-cookie")
        assert cookie.startswith("__Host-adabkb_login=")
        assert {"Secure", "HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
        back = at_provider(at_home, begun.headers["location"], "1001")
        assert back.startswith(f"{outside}/login/oidc/callback?")
        done = browser.get(back.removeprefix(outside), headers={"Cookie": cookie.partition(";")[0]})
        assert (done.status_code, done.headers["location"]) == (303, f"{prefix}/new")
        (session,) = [each for each in done.headers.get_list("set-cookie") if each.startswith("adabkb_token=")]
        assert {"Secure", "HttpOnly", "SameSite=lax", f"Path={prefix or '/'}"} <= set(session.split("; "))
        left = browser.post("/logout", headers={"Cookie": session.partition(";")[0]}).json()["goto"]
        assert query_of(left)["post_logout_redirect_uri"] == f"{outside}/login"


def test_without_a_provider_no_login_is_required(migrated_url: str) -> None:
    with server_on(migrated_url) as address, visitor(address) as browser:
        assert browser.get("/").status_code == 200
        assert "Log in" not in browser.get("/").text
        assert browser.get("/login/oidc").status_code == 404
        assert browser.get("/login/oidc/callback").status_code == 404
        assert "/login/oidc" not in browser.get("/login").text


def test_loopback_server_with_a_provider_requires_a_login(tmp_path: Path, house: House) -> None:
    with server_at(free_port(), f"sqlite:///{tmp_path}/new.db", house.provider.issuer) as address:
        assert httpx.get(f"{address}/v1/studies").status_code == 401
        assert httpx.get(f"{address}/", headers=PAGE).status_code == 401


@pytest.mark.long
def test_links_of_a_user_work_without_a_session(tmp_path: Path) -> None:
    port = free_port()
    provider = Certified([f"http://127.0.0.1:{port}"])
    url = f"sqlite:///{tmp_path}/links.db"
    with provider.running(), server_at(port, url, provider.issuer) as address, visitor(address) as ann:
        log_in(ann, "1001")
        ann.post("/v1/studies", json=DEFINITION)
        link = ann.post("/v1/studies/s/links", json={}).json()["token"]
        ann.post("/logout/everywhere")
        reads = {"Authorization": f"Bearer {link}"}
        assert httpx.get(f"{address}/v1/studies/s", headers=reads).status_code == 200
        with closing(Database(url)) as database, database.writing() as connection:
            connection.exec_driver_sql("UPDATE people SET seen_at = '2020-01-01 00:00:00.000000'")
        wait_for(lambda: httpx.get(f"{address}/v1/studies/s", headers=reads).status_code == 401)
