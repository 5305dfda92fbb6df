"""Quotas of tokens: what is refused, how, and what is still accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from adabkb_client import Client, Float, QuotaExceeded, Unauthorized
from adabkb_client.errors import is_refusal
from adabkb_service.access.bucket import Bucket
from adabkb_service.access.caller import Caller
from adabkb_service.access.meter import MODEL_WINDOW, Meter
from adabkb_service.access.quotas import Quotas
from adabkb_service.access.secrets import id_of
from adabkb_service.errors import TooManyRequests
from adabkb_service.storage import audit, idempotency, tokens, usage
from adabkb_service.storage.database import Database
from adabkb_service.study.clock import utc_now
from tests.integration.access.conftest import Guarded, give_token
from tests.integration.api.conftest import DEFINITION
from tests.integration.cli.shell import adabkb
from tests.servers import server_on
from tests.waiting import wait_for

NO_QUOTAS = dict.fromkeys(Quotas.__slots__)


@pytest.fixture(scope="module")
def admin(guarded: Guarded) -> Iterator[httpx.Client]:
    with guarded.client(guarded.token("root", "admin")) as client:
        yield client


def refused(answer: httpx.Response, code: str) -> str:
    """The detail of a refusal."""
    assert (answer.json().get("code"), answer.status_code) == (code, {"quota_exceeded": 403}.get(code, 429))
    detail: str = answer.json()["detail"]
    return detail


def named(name: str) -> dict[str, Any]:
    return {**DEFINITION, "id": name}


def test_number_of_studies_is_limited_and_deletion_frees_quota(guarded: Guarded) -> None:
    """Opening an existing study does not count, nor do shared studies or those of other users."""
    with guarded.client(guarded.token("two", "work", quotas={"studies": 2})) as user:
        assert [user.post("/v1/studies", json=named(f"two-{i}")).status_code for i in range(2)] == [201, 201]
        assert "2 studies" in refused(user.post("/v1/studies", json=named("two-2")), "quota_exceeded")
        assert user.post("/v1/studies", json=named("two-0")).status_code == 200
        assert user.delete("/v1/studies/two-0").status_code == 204
        assert user.post("/v1/studies", json=named("two-2")).status_code == 201
        refused(user.post("/v1/studies/two-0/restore"), "quota_exceeded")
        away = user.patch("/v1/studies/two-1/access", json={"owner": "dummy"})
        assert (away.status_code, "administrator" in away.json()["detail"]) == (403, True)
        assert user.get("/v1/tokens/self").json()["usage"]["studies"] == 2


def test_administrators_see_the_usage_of_each_user_and_the_largest_quotas(
    guarded: Guarded, admin: httpx.Client
) -> None:
    tokens = [guarded.token("use", "work", quotas=quotas) for quotas in ({"studies": 2, "trials": 9}, {"studies": 5})]
    guarded.token("use", "work", quotas={"studies": 99}, revoked_at=utc_now())
    guarded.token("use-admin", "admin")
    with guarded.client(tokens[0]) as user:
        assert user.post("/v1/studies", json=named("use-0")).status_code == 201
        assert user.post("/v1/studies", json=named("use-1")).status_code == 201
        user.post("/v1/studies/use-0/suggest", json={"count": 3})
        user.post("/v1/studies/use-0/trials/1/files?name=log", content=b"x" * 5000)
        user.delete("/v1/studies/use-1")
        own = user.get("/v1/tokens/self").json()["usage"]
        assert user.get("/v1/usage").status_code == 403
    found: dict[str, Any] = {}
    cursor = ""
    while cursor is not None:
        page = admin.get("/v1/usage", params={"limit": 3, **({"cursor": cursor} if cursor else {})}).json()
        found |= {each["user"]: each for each in page["items"]}
        cursor = page["next_cursor"]
    assert found["use"] == {**own, "user": "use", "quotas": {"studies": 5, "trials": None, "megabytes": None}}
    assert (own["studies"], own["trials"], own["megabytes"] > 0.005) == (1, 3, True)
    assert found["use-admin"] == {
        "user": "use-admin",
        "studies": 0,
        "trials": 0,
        "megabytes": 0.0,
        "quotas": {"studies": None, "trials": None, "megabytes": None},
    }
    assert list(found) == sorted(found)


def test_client_raises_an_error_of_its_own_for_a_quota(guarded: Guarded) -> None:
    """Not ``Unauthorized``: another token of the user would not help."""
    token = guarded.token("own-error", "work", quotas={"studies": 0})
    with Client(guarded.address, token=token) as client, pytest.raises(QuotaExceeded, match="0 studies") as refused:
        client.create_study("own-error", {"x": Float(0, 1)}, direction="minimize")
    assert not isinstance(refused.value, Unauthorized)
    assert not is_refusal(refused.value), "a kept result is sent again, since the quota can be raised"


def test_study_quota_holds_for_concurrent_creations_on_two_servers(guarded: Guarded) -> None:
    token = guarded.token("swarm", "work", quotas={"studies": 3})
    with server_on(guarded.database.url.render_as_string(hide_password=False)) as other:

        def create(number: int) -> int:
            server = Guarded(other if number % 2 else guarded.address, guarded.database)
            return server.send(token, "POST", "/v1/studies", named(f"swarm-{number}")).status_code

        with ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(create, range(12)))
    assert sorted(answers) == [201] * 3 + [403] * 9


def test_trials_and_user_supplied_points_count_but_results_of_trials_are_always_accepted(guarded: Guarded) -> None:
    with guarded.client(guarded.token("tri", "work", quotas={"trials": 4})) as user:
        user.post("/v1/studies", json=named("tri"))
        root = "/v1/studies/tri"
        trials = user.post(f"{root}/suggest", json={"count": 2}).json()["trials"]
        point = trials[0]["parameters"]
        own = {"parameters": point, "value": 1.0}
        assert user.post(f"{root}/observe", json=own, headers={"Idempotency-Key": "k"}).status_code == 200
        assert "4 trials; there are 3" in refused(user.post(f"{root}/suggest", json={"count": 2}), "quota_exceeded")
        assert user.post(f"{root}/trials", json={"parameters": point}).status_code == 201
        refused(user.post(f"{root}/trials", json={"parameters": point}), "quota_exceeded")
        refused(user.post(f"{root}/observe", json=own), "quota_exceeded")
        refused(user.post(f"{root}/observations", json={"items": [own]}), "quota_exceeded")
        again = user.post(f"{root}/observe", json=own, headers={"Idempotency-Key": "k"})
        assert again.headers["idempotent-replayed"] == "true"
        response = user.post(f"{root}/observations", json={"items": [{"trial": 1, "value": 1}]})
        assert [item["status"] for item in response.json()["items"]] == [200]
        (waiting,) = user.post(f"{root}/suggest").json()["trials"]
        assert waiting["number"] == 3
        assert user.post(f"{root}/observe", json={"trial": 3, "value": 2}).status_code == 200
        refused(user.post(f"{root}/suggest"), "quota_exceeded")
        assert user.get(root).json()["counts"]["completed"] == 2


def test_storage_quota_counts_bytes_of_the_log_and_of_the_trash(guarded: Guarded, admin: httpx.Client) -> None:
    token = guarded.token("meg", "work", quotas={"megabytes": 0.01})
    with guarded.client(token) as user:
        assert user.post("/v1/studies", json=named("meg")).status_code == 201
        small = user.get("/v1/tokens/self").json()["usage"]["megabytes"]
        user.post("/v1/studies/meg/suggest")
        note = {"attributes": {"note": "x" * 9_000}}
        assert user.patch("/v1/studies/meg/trials/1", json=note).status_code == 200
        with guarded.database.reading() as connection:
            stored = usage.of_user(connection, "meg").bytes
            texts = connection.exec_driver_sql(
                "SELECT SUM(LENGTH(CAST(payload AS TEXT))) FROM events WHERE study_id = 'meg'"
            ).scalar_one()
        assert stored == texts > small * 10**6 + 9_000
        assert "0.01 megabytes" in refused(user.post("/v1/studies", json=named("meg-2")), "quota_exceeded")
        user.delete("/v1/studies/meg")
        with guarded.database.reading() as connection:
            assert 100 < usage.of_user(connection, "meg").bytes < stored
    freed = admin.patch(f"/v1/tokens/{id_of(token)}", json={"quotas": {"megabytes": None}})
    assert freed.json()["quotas"] == NO_QUOTAS


def test_edits_cannot_enlarge_the_log_beyond_the_quota(guarded: Guarded) -> None:
    """Results of issued trials and requests that end work are still accepted, as is a repeated edit."""
    with guarded.client(guarded.token("edi", "work", quotas={"megabytes": 0.02})) as user:
        root = "/v1/studies/edi"
        user.post("/v1/studies", json=named("edi"))
        user.post(f"{root}/suggest", json={"count": 3})
        for path in ("/trials/1", "/trials/2"):
            user.post(f"{root}/observe", json={"trial": int(path[-1]), "value": 1})
        note, key = {"attributes": {"note": "x" * 9_000}}, {"Idempotency-Key": "k"}
        edits = [user.patch(f"{root}/trials/1", json={"attributes": {"note": str(i) * 4_000}}) for i in range(9)]
        assert [each.status_code for each in edits] == [200] * 2 + [403] * 7
        text = {"description": "x" * 4_900}
        assert "0.02 megabytes" in refused(user.patch(f"{root}/trials/2", json=note, headers=key), "quota_exceeded")
        value, reason = 2.0, "x" * 1_000
        while (
            corrected := user.patch(f"{root}/observations/1", json={"value": value, "reason": reason})
        ).status_code == 200:
            value += 1.0
        refused(corrected, "quota_exceeded")
        refused(user.patch(root, json=text), "quota_exceeded")
        assert user.post(f"{root}/observe", json={"trial": 3, "value": 2}).status_code == 200
        assert user.patch(root, json={"state": "paused"}).status_code == 200
        usage_now = user.get("/v1/tokens/self").json()["usage"]["megabytes"]
        assert usage_now < 0.021


def test_answers_stored_under_keys_are_limited_like_megabytes(guarded: Guarded) -> None:
    """Edits that change nothing do not enlarge the log, but each stores an answer under its key."""
    with guarded.client(guarded.token("key", "work", quotas={"megabytes": 0.1})) as user:
        root = "/v1/studies/key"
        user.post("/v1/studies", json=named("key"))
        user.post(f"{root}/suggest", json={"count": 2})
        note = {"attributes": {"note": "x" * 10_000}}
        edits = [user.patch(f"{root}/trials/1", json=note, headers={"Idempotency-Key": f"k{i}"}) for i in range(20)]
        statuses = [each.status_code for each in edits]
        accepted = statuses.count(200)
        assert statuses == [200] * accepted + [429] * (20 - accepted)
        assert 5 <= accepted <= 10
        assert "stored in a day exceed the quota of 0.1 megabytes" in refused(edits[-1], "too_many_requests")
        assert int(edits[-1].headers["retry-after"]) >= 1
        repeated = user.patch(f"{root}/trials/1", json=note, headers={"Idempotency-Key": "k0"})
        assert repeated.headers["idempotent-replayed"] == "true"
        created = [user.post("/v1/studies", json=named("key"), headers={"Idempotency-Key": f"c{i}"}) for i in range(3)]
        assert [each.status_code for each in created] == [200] * 3
        result = user.post(f"{root}/observe", json={"trial": 2, "value": 2}, headers={"Idempotency-Key": "r"})
        assert result.status_code == 200
        with guarded.database.reading() as connection:
            assert len(idempotency.of_study(connection, "key")) == accepted + 1


def test_changed_quota_applies_immediately_and_is_audited(guarded: Guarded, admin: httpx.Client) -> None:
    made = admin.post("/v1/tokens", json={"name": "qu", "scopes": ["work"], "quotas": {"studies": 1}}).json()
    assert made["quotas"] == {**NO_QUOTAS, "studies": 1}
    with guarded.client(made["token"]) as user:
        user.post("/v1/studies", json=named("qu-1"))
        refused(user.post("/v1/studies", json=named("qu-2")), "quota_exceeded")
        changed = admin.patch(f"/v1/tokens/{made['id']}", json={"quotas": {"studies": 2, "trials": 7}})
        assert (changed.status_code, changed.json()["quotas"]["trials"]) == (200, 7)
        assert user.post("/v1/studies", json=named("qu-2")).status_code == 201
        own = user.get("/v1/tokens/self").json()
        assert (own["quotas"]["studies"], own["usage"]["studies"]) == (2, 2)
        assert user.patch(f"/v1/tokens/{made['id']}", json={"quotas": {"studies": 9}}).status_code == 403
    assert admin.patch("/v1/tokens/000000000000", json={"quotas": {}}).status_code == 404
    wrong = admin.patch(f"/v1/tokens/{made['id']}", json={"quotas": {"trails": 2, "requests_per_second": 0}})
    assert [each["pointer"] for each in wrong.json()["errors"]] == ["/quotas/trails", "/quotas/requests_per_second"]
    with guarded.database.reading() as connection:
        entries = [row for _, row in audit.page(connection, 0, 100) if row.action == "token changed"]
    (entry,) = [row for row in entries if row.subject == made["id"]]
    assert entry.detail == {"quotas": {"studies": 2, "trials": 7}}


def test_requests_beyond_the_rate_get_retry_after(guarded: Guarded) -> None:
    """Every response to such a token has the fields of draft-ietf-httpapi-ratelimit-headers."""
    token = guarded.token("slow", "work", quotas={"requests_per_second": 0.001})
    with guarded.client(token) as user:
        taken, limited = user.get("/v1/studies"), user.get("/v1/studies")
        assert taken.status_code == 200
        refused(limited, "too_many_requests")
        for answer in (taken, limited):
            assert answer.headers["ratelimit-policy"] == '"requests";q=1;w=1000'
            assert re.fullmatch(r'"requests";r=0;t=(1000|9\d\d)', answer.headers["ratelimit"])
        assert limited.json()["retryable"]
        assert limited.headers["ratelimit"].endswith(f"t={limited.headers['retry-after']}")
        assert user.get("/healthz").status_code == 200
    with guarded.client(guarded.token("slow", "work")) as other:
        unlimited = other.get("/v1/studies")
        assert (unlimited.status_code, "ratelimit" in unlimited.headers) == (200, False)


def test_bucket_allows_its_rate_plus_one_window() -> None:
    bucket, spent, now = Bucket("b", 2.0, 10.0, 0.0), 0, 0.0
    for tick in range(1, 1001):
        now = tick / 20
        bucket.fill(now)
        if bucket.holds(1.0):
            bucket.spend(1.0)
            spent += 1
        assert spent <= 20 + 2 * now
    assert spent in (20 + 2 * now, 20 + 2 * now - 1)
    bucket.fill(1e9)
    assert (bucket.rate_limit().left, bucket.rate_limit().reset) == (20, 0)


def caller(token: str, **quotas: Any) -> Caller:
    return Caller("ann", "work", None, token, Quotas(**quotas), payer=token)


def test_model_time_quota_delays_only_the_user_who_exceeds_it() -> None:
    """The user who last requested work from a study's model pays for it, even beyond the quota."""
    now = 0.0
    meter = Meter(lambda: now)
    heavy, light = caller("a", model_seconds_per_minute=6.0), caller("b", model_seconds_per_minute=6.0)
    for each, study in ((heavy, "large"), (light, "small")):
        meter.set_payer(each, study)
    meter.charge({"large": 12.0, "small": 0.1, "nobody's": 99.0})
    with pytest.raises(TooManyRequests, match="is limited to 6 processor seconds") as raised:
        meter.set_payer(heavy, "large")
    assert (raised.value.limit.left, raised.value.limit.window) == (0, MODEL_WINDOW)
    meter.set_payer(light, "small")
    now += raised.value.limit.reset
    meter.set_payer(heavy, "large")
    meter.set_payer(Caller("cid", "work", None, "c"), "large", is_read=True)
    meter.charge({"large": 12.0})
    with pytest.raises(TooManyRequests):
        meter.set_payer(heavy, "large")
    now += MODEL_WINDOW * 2.0
    meter.set_payer(Caller("cid", "work", None, "c"), "large")
    meter.charge({"large": 1000.0})
    meter.set_payer(heavy, "other")


def test_model_time_is_charged_to_the_token_that_requested_it(guarded: Guarded) -> None:
    """A first suggestion takes some milliseconds. Results of trials are still accepted."""
    with guarded.client(guarded.token("cpu", "work", quotas={"model_seconds_per_minute": 0.001})) as user:
        user.post("/v1/studies", json=named("cpu"))
        trials = user.post("/v1/studies/cpu/suggest", json={"count": 3}).json()["trials"]
        results = [{"trial": each["number"], "value": 1.0} for each in trials]
        responses = [user.post("/v1/studies/cpu/observe", json=result) for result in results]
        assert {answer.status_code for answer in responses} == {200}
        limited = user.post("/v1/studies/cpu/suggest")
        refused(limited, "too_many_requests")
        assert int(limited.headers["retry-after"]) >= 1
        assert limited.headers["ratelimit-policy"] == '"model-seconds";q=1;w=60'
        assert user.get("/v1/studies/cpu").status_code == 200


def test_user_without_quota_pays_for_no_one_else(guarded: Guarded, admin: httpx.Client) -> None:
    """The user who last requested work from a study's model pays, also if this user has no quota."""
    rng = np.random.default_rng(1)
    with guarded.client(guarded.token("paying", "work", quotas={"model_seconds_per_minute": 0.3})) as user:
        for study in ("shared", "own"):
            user.post("/v1/studies", json=named(study))
        assert user.post("/v1/studies/shared/suggest").status_code == 200
        for _ in range(3):
            points = [{"x": rng.uniform(-1, 2), "n": int(rng.integers(1, 9))} for _ in range(100)]
            results = [{"parameters": point, "value": point["n"] + rng.normal()} for point in points]
            assert admin.post("/v1/studies/shared/observations", json={"items": results}).status_code == 200
            assert admin.post("/v1/studies/shared/suggest", json={"count": 8}).status_code == 200
        assert user.post("/v1/studies/own/suggest").status_code == 200


def test_default_quotas_apply_to_tokens_without_their_own(tmp_path: Path) -> None:
    """They do not apply to administrators."""
    url = f"sqlite:///{tmp_path}/defaults.db"
    made = {
        name: json.loads(adabkb("token", "create", name, *more, "--json", "--database", url))
        for name, more in {
            "plain": (),
            "own": ("--quota", "studies=1", "--quota", "trials=5"),
            "root": ("--scope", "admin"),
        }.items()
    }
    assert "studies=1, trials=5" in adabkb("token", "list", "--database", url)
    with server_on(url, quota_studies=0, quota_trials=3) as address:

        def quotas_of(name: str) -> dict[str, Any]:
            with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {made[name]['token']}"}) as http:
                quotas: dict[str, Any] = http.get("/v1/tokens/self").json()["quotas"]
                return {key: value for key, value in quotas.items() if value is not None}

        assert quotas_of("plain") == {"model_seconds_per_minute": 45, "studies": 0, "trials": 3}
        assert quotas_of("own") == {"model_seconds_per_minute": 45, "studies": 1, "trials": 5}
        assert quotas_of("root") == {}
        shown = adabkb("access", "whoami", "--url", address, "--token", made["own"]["token"])
        assert "studies: 0 of 1" in shown
        changed = adabkb("token", "quota", made["own"]["id"], "studies=default", "trials=8", "--database", url)
        assert changed.strip() == f"Token {made['own']['id']}: trials=8."
    assert "trials" in adabkb("token", "quota", made["own"]["id"], "trails=8", "--database", url, code=1)
    assert "number" in adabkb("token", "create", "x", "--quota", "trials=many", "--database", url, code=1)


def test_concurrent_changes_of_quotas_of_one_token_both_take_effect(other_postgresql: str) -> None:
    with closing(Database(other_postgresql)) as database:
        root = give_token(database, "root", "admin")
        changed = id_of(give_token(database, "ann", "work"))
        assert changed is not None
        headers = {"Authorization": f"Bearer {root}"}
        with (
            server_on(other_postgresql) as address,
            httpx.Client(base_url=address, headers=headers, timeout=60) as admin,
            ThreadPoolExecutor(1) as elsewhere,
        ):
            with database.writing() as connection:
                tokens.set_quotas(connection, changed, {"studies": 2})
                answer = elsewhere.submit(admin.patch, f"/v1/tokens/{changed}", json={"quotas": {"trials": 7}})
                wait_for(lambda: _waits_for_a_lock(database))
            assert answer.result().json()["quotas"] == NO_QUOTAS | {"studies": 2, "trials": 7}
            shown = {each["id"]: each["quotas"] for each in admin.get("/v1/tokens").json()["items"]}
    assert shown[changed] == NO_QUOTAS | {"studies": 2, "trials": 7}


def _waits_for_a_lock(database: Database) -> bool:
    with database.reading() as connection:
        return bool(connection.exec_driver_sql("SELECT 1 FROM pg_locks WHERE NOT granted").first())
