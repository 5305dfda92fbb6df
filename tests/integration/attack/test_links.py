"""A link to a study reads only this study, and nothing about its owner or the server."""

from __future__ import annotations

import pytest

from adabkb_service import app
from adabkb_service.api.admission import GuardedRoute
from tests.integration.access.conftest import Guarded, guarded
from tests.integration.api.conftest import DEFINITION

__all__ = ["guarded"]

READS = {
    "/",
    "/v1/studies",
    "/v1/tokens/self",
    "/login",
    "/login/oidc",
    "/studies",
    "/login/oidc/callback",
    "/logout",
    "/healthz",
    "/readyz",
    "/version",
    "/assets/{version}/{name}",
}
"""Lists, which show only its study."""


@pytest.fixture
def link(guarded: Guarded) -> str:
    with guarded.client(guarded.token("ann", "work")) as ann:
        ann.post("/v1/studies", json={**DEFINITION, "id": "gone"})
        ann.delete("/v1/studies/gone")
        token: str = ann.post("/v1/studies/s/links").json()["token"]
    return token


def test_link_can_read_only_its_study(guarded: Guarded, link: str) -> None:
    """On every route; new routes are included automatically."""
    with guarded.client(link) as reader:
        for route in app.ROUTES:
            assert isinstance(route, GuardedRoute)
            is_own = "{study_id}" in route.path and route.access.need == "read"
            values = {
                "study_id": "s",
                "number": "1",
                "seq": "1",
                "token_id": "0" * 12,
                "user": "nobody",
                "webhook_id": "0" * 12,
                "file": "1",
                "deletion": "1",
            }
            path = route.path.format(**values, version="x", name="x")
            for method in route.methods or ():
                if path.endswith("/events"):
                    continue
                answer = reader.request(method, path, headers={"Accept": "text/html, application/json"})
                assert is_own or route.path in READS or answer.status_code == 403, (method, path, answer.status_code)
                assert "gone" not in answer.text


def test_link_does_not_reveal_its_owners_permissions(guarded: Guarded, link: str) -> None:
    own = guarded.send(link, "GET", "/v1/tokens/self").json()
    assert (own["usage"], own["scope"], own["studies"]) == (None, "read", ["s"])
    assert [each["id"] for each in guarded.send(link, "GET", "/v1/studies").json()["items"]] == ["s"]
    assert "gone" in guarded.send(guarded.token("ann", "work"), "GET", "/v1/trash").text


def test_content_security_policy_of_the_api_page_matches_its_scripts(guarded: Guarded) -> None:
    for path in ("/api", "/docs"):
        answer = guarded.send(None, "GET", path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert policy.count("'sha256-") == answer.text.count("<script>") == 1
        assert "'unsafe-inline'" not in policy.split("style-src")[0]
