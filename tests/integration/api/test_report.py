"""The report of a study as Markdown: its content, its readers, and its verifiable hash."""

from __future__ import annotations

import hashlib
import re

import httpx
import pytest
from markdown_it import MarkdownIt

from tests.acceptance.page.studies import HOSTILE, hostile, tuned
from tests.servers import server_on

QUESTION = re.compile(r"\*\*[A-Z][A-Za-z ]+\?\*\* ")
"""The questions of a report are bold; its other texts have no markup."""


def report(api: httpx.Client, study: str) -> str:
    answer = api.get(f"/v1/studies/{study}/report")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/markdown; charset=utf-8"), answer.text
    return answer.text


def tables(text: str) -> list[list[list[str]]]:
    """The text of the cells of each table, as rendered from CommonMark."""
    found: list[list[list[str]]] = []
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
        assert token.type != "html_block", token.content
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline":
            bold = ("strong_open", "strong_close") if QUESTION.match(token.content) else ()
            assert {each.type for each in token.children or []} <= {"text", "text_special", *bold}, token.content
            if found and token.level > 2:
                found[-1][-1].append("".join(each.content for each in token.children or []))
    return found


@pytest.mark.long
def test_report_has_definition_best_point_results_workers_and_changes(api: httpx.Client) -> None:
    tuned(api)
    text = report(api, "digits")
    definition, best, results, workers, changes = tables(text)
    assert [row[:3] for row in definition[1:3]] == [
        ["rate", "number", "0.0001 to 1, log scale"],
        ["width", "whole number", "1 to 64"],
    ]
    assert best[0][1:] == ["by the model", f"best observed (trial {trial_of_best(api)})"]
    assert "(90%: " in best[-1][1]
    head, rows = results[0], results[1:]
    assert [row[0] for row in rows] == [str(number) for number in range(1, 26)]
    assert dict(zip(head, rows[7], strict=True))["Reason or note"] == "out of memory"
    assert [row[1] for row in rows if row[1] != "completed"] == ["completed, excluded", "failed", "running"]
    stored = api.get("/v1/studies/digits/observations").json()["items"]
    assert [float(row[2]) for row in rows if row[2] != "–"] == [each["value"] for each in stored]
    assert [row[:4] for row in workers[1:]] == [["anna", "13", "12", "0"], ["node-7", "12", "11", "1"]]
    assert [row[2:] for row in changes[1:]] == [
        ["The study was created", ""],
        ["The result of trial 3 was excluded", "spilt"],
    ]


def test_report_of_a_finished_study_does_not_say_why_the_last_trial_was_chosen(api: httpx.Client) -> None:
    tuned(api, results=4)
    assert "**Why this trial?**" in report(api, "digits")
    observed = api.get("/v1/studies/digits").json()["counts"]["trials"]
    assert api.patch("/v1/studies/digits", json={"budget": observed}).is_success
    api.post("/v1/studies/digits/observe", json={"trial": observed, "value": 1})
    assert api.get("/v1/studies/digits").json()["state"] == "complete"
    assert "**Why this trial?**" not in report(api, "digits")
    assert "**Is it going well?**" in report(api, "digits")


def test_report_of_a_study_that_drifts_has_the_best_point_now_beside_the_best_result_ever(api: httpx.Client) -> None:
    parameters = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("x", "day")]
    parameters[1] |= {"context": True}
    api.post("/v1/studies", json={"id": "drift", "direction": "maximize", "parameters": parameters, "seed": 1})
    for number in range(12):
        x, day = number % 4 / 4, number / 12
        result = {"parameters": {"x": x, "day": day}, "value": -((x - day) ** 2) - day}
        assert api.post("/v1/studies/drift/observe", json=result).is_success
    text = report(api, "drift")
    _, best, *_ = tables(text)
    now = api.get("/v1/studies/drift/recommendation?context=latest").json()["model"]["parameters"]
    assert best[0][1:] == ["by the model now, in the latest context", "best observed"]
    assert [float(cell) for cell in best[2][1:]] == pytest.approx([11 / 12, 0], abs=0.001)
    assert float(best[1][1]) == pytest.approx(now["x"], abs=0.01)
    assert re.search(r"Recommended: .*expected by the model now, in the latest context, at x", text)
    assert re.search(r"Best result: .*, a result without a trial\) at x 0", text.replace("(a result", ", a result"))


def trial_of_best(api: httpx.Client) -> int:
    trial: int = api.get("/v1/studies/digits").json()["best"]["trial"]
    return trial


def test_report_hash_is_that_of_the_exported_events(api: httpx.Client) -> None:
    tuned(api, results=3 + 4)
    lines = api.get("/v1/studies/digits/export").text.splitlines(keepends=True)
    events = [line for line in lines if line.startswith('{"type": "event"')]
    digest = hashlib.sha256("".join(events).encode()).hexdigest()
    version = api.get("/v1/studies/digits").json()["revision"]
    assert f"Revision {version}: {len(events)} events." in report(api, "digits")
    assert f"    {digest}\n" in report(api, "digits")
    api.patch("/v1/studies/digits/observations/1", json={"value": 5})
    assert digest not in report(api, "digits")


def test_names_and_reasons_are_escaped_for_markdown(api: httpx.Client) -> None:
    hostile(api)
    text = report(api, "hostile")
    shown = tables(text)
    assert any(HOSTILE in cell for table in shown for row in table for cell in row)
    assert not re.search(r"(?<!\\)<", text)


@pytest.mark.long
def test_readers_see_the_report_but_only_owners_its_audit_log(database_url: str) -> None:
    with server_on(database_url) as address, httpx.Client(base_url=address, timeout=60) as api:
        tokens: dict[str, str] = {}
        for user, scopes in (("root", ["admin"]), ("anna", ["work"]), ("ben", ["work"]), ("carl", ["work"])):
            headers = {"Authorization": f"Bearer {tokens['root']}"} if tokens else {}
            made = api.post("/v1/tokens", json={"name": user, "user": user, "scopes": scopes}, headers=headers)
            tokens[user] = made.json()["token"]

        def as_user(user: str) -> httpx.Client:
            return httpx.Client(base_url=address, timeout=60, headers={"Authorization": f"Bearer {tokens[user]}"})

        with as_user("anna") as anna, as_user("ben") as ben, as_user("carl") as carl:
            tuned(anna, results=4)
            shared = anna.patch("/v1/studies/digits/access", json={"shared_with": {"ben": "read"}})
            assert shared.status_code == 200, shared.text
            assert "study shared" in report(anna, "digits")
            assert "study shared" not in report(ben, "digits")
            assert carl.get("/v1/studies/digits/report").status_code == 404


@pytest.mark.parametrize("study", ["nowhere", "no study"])
def test_report_of_an_unknown_study_is_not_found(api: httpx.Client, study: str) -> None:
    assert api.get(f"/v1/studies/{study}/report").status_code == 404


def test_report_of_a_laboratory_tells_what_happened_to_each_experiment(api: httpx.Client) -> None:
    """Lost attempts with their reasons, plates, repetitions with their mean, measured beside suggested values, and what
    edits changed."""
    definition: dict[str, object] = {
        "id": "flasks",
        "direction": "maximize",
        "plates": {"size": 2},
        "parameters": [
            {"name": "ligand", "kind": "categorical", "choices": ["XPhos", "1268824-69-6"]},
            {"name": "molarity", "kind": "ordinal", "values": [0.057, 0.1]},
        ],
    }
    calls: list[tuple[str, str, dict[str, object]]] = [
        ("POST", "", definition),
        ("POST", "/flasks/trials/repeat", {"parameters": {"ligand": "1268824-69-6", "molarity": 0.057}, "times": 2}),
        ("POST", "/flasks/suggest", {"count": 2}),
        ("POST", "/flasks/trials/1/release", {"reason": "flask broke"}),
        ("POST", "/flasks/suggest", {}),
        ("POST", "/flasks/observe", {"trial": 2, "state": "failed", "reason": "cracked"}),
        ("POST", "/flasks/trials/2/retry", {"reason": "new flask"}),
        ("POST", "/flasks/suggest", {}),
        ("POST", "/flasks/observe", {"trial": 1, "value": 80}),
        ("POST", "/flasks/observe", {"trial": 2, "value": 84}),
        ("POST", "/flasks/suggest", {"plate": "open"}),
        (
            "POST",
            "/flasks/observe",
            {"trial": 3, "value": 70, "parameters": {"ligand": "XPhos", "molarity": 0.08}},
        ),
        ("PATCH", "/flasks/observations/3", {"value": 71, "reason": "misread"}),
        (
            "PATCH",
            "/flasks",
            {"parameters": [{"name": "molarity", "kind": "ordinal", "values": [0.057, 0.1, 0.153]}]},
        ),
        ("PATCH", "/flasks", {"quantities": {"value": {"label": "Yield", "unit": "%", "low": 0, "high": 110}}}),
    ]
    for method, path, body in calls:
        answer = api.request(method, f"/v1/studies{path}", json=body)
        assert answer.is_success, answer.text
    _, _, results, _, changes = tables(report(api, "flasks"))
    rows = [dict(zip(results[0], row, strict=True)) for row in results[1:]]
    assert [row["State"] for row in rows[:3]] == ["completed, 1 of 2 here, mean 82 %"] * 2 + ["completed"]
    assert [row["Plate"] for row in rows[:4]] == ["–", "–", "1", "1"]
    suggested = api.get("/v1/studies/flasks/trials/3").json()["parameters"]["molarity"]
    assert rows[2]["molarity"] == f"0.08 (suggested {suggested})"
    assert [row[2:] for row in changes[1:]] == [
        ["The study was created", ""],
        ["Trial 1 gave no result and was tried again", "flask broke"],
        ["Trial 2 failed", "cracked"],
        ["Trial 2 is tried again", "new flask"],
        ["The result of trial 3 was corrected from 70 % to 71 %", "misread"],
        ["molarity: 0.153 added", ""],
        ["Changed: Yield (%, possible values from 0 % to 110 %)", ""],
    ]


def test_report_and_template_of_a_study_that_a_user_has_ended(api: httpx.Client) -> None:
    """The budget at which it was ended is not taken for a used up budget, and a similar study has the original one."""
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    definition = {"id": "ended", "direction": "maximize", "parameters": parameters, "budget": 30}
    assert api.post("/v1/studies", json=definition).is_success
    for _ in range(2):
        (trial,) = api.post("/v1/studies/ended/suggest").json()["trials"]
        assert api.post("/v1/studies/ended/observe", json={"trial": trial["number"], "value": 1}).is_success
    assert api.patch("/v1/studies/ended", json={"budget": 2}).json()["state"] == "complete"
    changes = tables(report(api, "ended"))[-1]
    assert [row[2:] for row in changes[2:]] == [
        ["Changed: budget = 2 (it was 30)", ""],
        ["Complete", "Ended by a user."],
    ]
    assert api.get("/studies/ended/template.json").json()["budget"] == 30
    assert api.patch("/v1/studies/ended", json={"budget": 3}).is_success
    assert api.get("/studies/ended/template.json").json()["budget"] == 3
    assert api.post("/v1/studies/ended/observe", json={"trial": 1, "value": 1}).is_success
    (trial,) = api.post("/v1/studies/ended/suggest").json()["trials"]
    assert api.post("/v1/studies/ended/observe", json={"trial": trial["number"], "value": 1}).is_success
    changes = tables(report(api, "ended"))[-1]
    assert changes[-1][2:] == ["Complete", "The budget is used up."]
