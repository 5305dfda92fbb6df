"""Attacks on logins, and broken providers. None of them leads to a login."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.integration.identity.conftest import server_at
from tests.integration.identity.forger import STRANGERS, Forger, forging
from tests.integration.identity.providers import CLIENT
from tests.integration.identity.visits import begin, query_of, self_of, text_of, visitor
from tests.samples import some
from tests.servers import free_port
from tests.waiting import wait_for

NOW = int(time.time())


@dataclass(frozen=True)
class Target:
    """A server that trusts the forger."""

    address: str
    forger: Forger


@pytest.fixture
def target(migrated_url: str) -> Iterator[Target]:
    """A target whose provider is correct until the test changes it."""
    with forging() as forger, server_at(free_port(), migrated_url, forger.issuer, tidy_seconds=0.2) as address:
        yield Target(address, forger)


def returned(browser: httpx.Client, forger: Forger, target: str = "/account", **answer: str) -> httpx.Response:
    """Begin a login, and complete it with the provider's answer or another one."""
    sent = query_of(begin(browser, target))
    forger.nonce = sent["nonce"]
    return browser.get("/login/oidc/callback", params={"code": "c", "state": sent["state"], **answer})


def is_logged_in(browser: httpx.Client) -> bool:
    return browser.get("/v1/studies").status_code == 200


def test_the_forger_can_act_as_a_valid_provider(target: Target) -> None:
    """Otherwise, the tests below would prove nothing."""
    with visitor(target.address) as browser:
        assert returned(browser, target.forger).status_code == 303
        assert self_of(browser)["user"] == "ann"
        (form,) = target.forger.asked
        assert (form["code"], form["grant_type"]) == ("c", "authorization_code")
        assert len(form["code_verifier"]) >= 43


TOKENS: dict[str, dict[str, Any]] = {
    "another nonce": {"claims": {"nonce": "of-another-login"}},
    "no nonce": {"claims": {"nonce": None}},
    "another audience": {"claims": {"aud": "another-client"}},
    "several audiences without the authorized party": {"claims": {"aud": [CLIENT, "another-client"]}},
    "another authorized party": {"claims": {"azp": "another-client"}},
    "no audience": {"claims": {"aud": None}},
    "another issuer": {"claims": {"iss": "https://evil.example"}},
    "no subject": {"claims": {"sub": None}},
    "no expiry": {"claims": {"exp": None}},
    "expired": {"claims": {"exp": NOW - 600, "iat": NOW - 900}},
    "of the future": {"claims": {"iat": NOW + 3600, "exp": NOW + 7200}},
    "not yet valid": {"claims": {"nbf": NOW + 3600}},
    "no signature": {"algorithm": "none"},
    "the public key as a secret": {"algorithm": "HS256"},
    "the key of a stranger": {"key": STRANGERS},
    "no token": {"id_token": "not.a.token"},
    "five parts": {"id_token": "e30.e30.e30.e30.e30"},
    "another access token": {"claims": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}},
}


@pytest.mark.parametrize("kind", TOKENS)
def test_id_token_of_another_login_is_rejected(target: Target, kind: str) -> None:
    target.forger.change(**TOKENS[kind])
    with visitor(target.address) as browser:
        refused = returned(browser, target.forger)
        assert refused.status_code == 400
        assert 'href="/login/oidc?next=%2Faccount"' in refused.text
        assert not is_logged_in(browser)
        assert "adabkb_token" not in browser.cookies


def test_wrong_clock_is_reported(target: Target) -> None:
    with visitor(target.address) as browser:
        target.forger.claims = {"iat": NOW + 3600, "exp": NOW + 7200}
        assert "The clock of this server" in text_of(returned(browser, target.forger))
        target.forger.claims = {"iat": NOW - 7200, "exp": NOW - 3600}
        assert "Synchronize both clocks" in text_of(returned(browser, target.forger))


def test_clock_difference_of_a_minute_is_tolerated(target: Target) -> None:
    with visitor(target.address) as browser:
        target.forger.claims = {"iat": int(time.time()) + 60, "exp": int(time.time()) + 90}
        assert returned(browser, target.forger).status_code == 303


def test_state_is_valid_for_one_login_in_one_browser(target: Target) -> None:
    with visitor(target.address) as browser, visitor(target.address) as victim:
        sent = query_of(begin(browser))
        target.forger.nonce = sent["nonce"]
        answer = {"code": "c", "state": sent["state"]}
        foreign = victim.get("/login/oidc/callback", params=answer)
        assert (foreign.status_code, "not begun in this browser" in text_of(foreign)) == (400, True)
        query_of(begin(victim))
        assert victim.get("/login/oidc/callback", params=answer).status_code == 400, "nor within another login"
        assert not is_logged_in(victim)
        asked = len(target.forger.asked)
        assert browser.get("/login/oidc/callback", params=answer).status_code == 303
        assert browser.get("/login/oidc/callback", params=answer).status_code == 400, "replayed"
        assert len(target.forger.asked) == asked + 1, "a code without its state is not sent to the provider"


@pytest.mark.parametrize("cookie", ["", "e30", "x" * 3000, "W10", "eyJzdGF0ZSI6MX0", "bnVsbA", "\u00fc"])
def test_forged_login_cookies_are_rejected(target: Target, cookie: str) -> None:
    with visitor(target.address) as browser:
        for params in ({"code": "c"}, {"code": "c", "state": ""}, {"code": "c", "state": "s"}):
            headers = {"Cookie": f"adabkb_login={cookie}".encode()}
            answer = browser.get("/login/oidc/callback", params=params, headers=headers)  # type: ignore[arg-type]
            assert answer.status_code == 400


def test_response_that_names_another_issuer_is_rejected(target: Target) -> None:
    with visitor(target.address) as browser:
        assert returned(browser, target.forger, iss="https://evil.example").status_code == 400
        assert target.forger.asked == []
        assert returned(browser, target.forger, iss=target.forger.issuer).status_code == 303


@pytest.mark.parametrize(
    "leads",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        pytest.param("\\\\evil.example", marks=pytest.mark.long),
        pytest.param("/%0d%0aX: y", marks=pytest.mark.long),
        "javascript:alert(1)",
        pytest.param("///evil.example", marks=pytest.mark.long),
        pytest.param("/\t/evil.example", marks=pytest.mark.long),
        pytest.param("/a\nb", marks=pytest.mark.long),
        pytest.param("evil.example", marks=pytest.mark.long),
        pytest.param("http:evil.example", marks=pytest.mark.long),
        pytest.param("/\u00e9", marks=pytest.mark.long),
    ],
)
def test_login_does_not_redirect_to_other_hosts(target: Target, leads: str) -> None:
    with visitor(target.address) as browser:
        done = returned(browser, target.forger, leads)
        assert done.status_code == 303
        assert done.headers["location"] in ("/", "/%0d%0aX: y")
        assert httpx.URL(target.address).join(done.headers["location"]).host == "127.0.0.1"
        page = browser.get("/login", params={"next": leads}, headers={"Cookie": ""})
        assert 'href="/login/oidc?next=' in page.text


def test_provider_text_is_escaped(target: Target) -> None:
    with visitor(target.address) as browser:
        markup = "<script>alert(1)</script>"
        refused = returned(browser, target.forger, error="access_denied", error_description=markup)
        assert (refused.status_code, markup in refused.text, "&lt;script&gt;" in refused.text) == (403, False, True)
        unasked = browser.get("/login/oidc/callback", params={"error": "x", "error_description": "call 555"})
        assert (unasked.status_code, "555" in unasked.text) == (400, False), "nor text from others"


def test_userinfo_about_another_subject_is_rejected(target: Target) -> None:
    target.forger.claims = {"groups": None}
    target.forger.userinfo = {"sub": "1002", "groups": ["it"]}
    with visitor(target.address) as browser:
        assert returned(browser, target.forger).status_code == 400
        target.forger.userinfo = {"sub": "1001", "groups": ["it"], "iss": "x"}
        assert returned(browser, target.forger).status_code == 303
        assert self_of(browser)["scope"] == "admin"


METADATA: dict[str, dict[str, Any]] = {
    "another issuer": {"metadata": {"issuer": "https://evil.example"}},
    "no token endpoint": {"metadata": {"token_endpoint": None}},
    "keys over plain HTTP": {"metadata": {"jwks_uri": "http://evil.example/keys"}},
    "a script": {"metadata": {"authorization_endpoint": "javascript:alert(1)"}},
    "a file": {"metadata": {"end_session_endpoint": "file:///etc/passwd"}},
    "no JSON": {"body": b"<html>"},
    "a list": {"body": b"[]"},
    "an error": {"status": 500},
    "a redirect": {"status": 302},
}


@pytest.mark.parametrize("kind", some(METADATA, ["another issuer", "a script", "no JSON"]))
def test_unusable_provider_metadata_shows_an_error_page(target: Target, kind: str) -> None:
    target.forger.change(**METADATA[kind])
    with visitor(target.address) as browser:
        response = browser.get("/login/oidc")
        assert (response.status_code, "oidc_issuer" in text_of(response)) == (503, True)
        problem = browser.get("/login/oidc", headers={"Accept": "application/json"}).json()
        assert (problem["code"], problem["retryable"]) == ("provider_unavailable", True)


def test_provider_failure_during_login_shows_an_error_page(target: Target) -> None:
    with visitor(target.address) as browser:
        sent = query_of(begin(browser))
        target.forger.nonce, target.forger.status, target.forger.body = sent["nonce"], 502, b"<html>bad gateway"
        response = browser.get("/login/oidc/callback", params={"code": "c", "state": sent["state"]})
        assert response.status_code in (400, 503)
        assert "Log in with" in text_of(response)


def test_unusable_keys_are_a_problem_of_the_provider_and_not_of_the_issuer(target: Target) -> None:
    with forging() as keys, visitor(target.address) as browser:
        keys.body = b"<html>"
        target.forger.metadata = {"jwks_uri": f"{keys.issuer}/keys"}
        told = text_of(returned(browser, target.forger))
        assert f"{keys.issuer}/keys, without a JSON document" in told
        assert "oidc_issuer" not in told


def test_rejected_logins_are_in_the_audit_log(target: Target) -> None:
    with visitor(target.address) as browser:
        browser.get("/login/oidc/callback", params={"code": "c", "state": "s"})
        target.forger.claims = {"groups": ["it"]}
        returned(browser, target.forger)
        wait_for(lambda: "login: state" in _refusals(browser))


def _refusals(browser: httpx.Client) -> set[str]:
    entries = browser.get("/v1/audit?limit=100").json()["items"]
    return {each["subject"] for each in entries if each["action"] == "refused"}


def test_other_sites_cannot_log_a_user_out(target: Target) -> None:
    with visitor(target.address) as browser:
        returned(browser, target.forger)
        for path in ("/logout", "/logout/everywhere"):
            foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
            assert browser.post(path, headers=foreign).status_code == 403
        assert is_logged_in(browser)
