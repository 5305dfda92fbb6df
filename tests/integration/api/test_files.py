"""Files of trials and of results without a trial: storage, limits, permissions, safe delivery to browsers, and
restoration with their study."""

from __future__ import annotations

import hashlib
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import httpx
import pytest

from adabkb_service.operations.data.importing import import_study
from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from tests.integration.api.conftest import DEFINITION
from tests.samples import some
from tests.servers import server_on

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
HTML = b"<script>alert(1)</script>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'


OWN = {"parameters": {"x": 0.5, "n": 3}, "value": 1.0}


@pytest.fixture(params=["trials", pytest.param("observations", marks=pytest.mark.long)])
def files(api: httpx.Client, study: str, request: pytest.FixtureRequest) -> str:
    """The path of the files of a trial, and of a result without a trial."""
    api.post(f"{study}/suggest")
    api.post(f"{study}/observe", json=OWN)
    return f"{study}/{request.param}/1/files"


def study_of(files: str) -> str:
    """The path of the study."""
    return files.rpartition("/1/")[0].rpartition("/")[0]


def add_file(
    api: httpx.Client, files: str, name: str, content: bytes, kind: str = "", status: int = 201
) -> dict[str, Any]:
    answer = api.post(files, params={"name": name}, content=content, headers={"Content-Type": kind} if kind else {})
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_file_is_read_as_added_and_stored_once(api: httpx.Client, files: str) -> None:
    first = add_file(api, files, "Spektrum – 1.png", PNG, "image/png")
    assert (first["size"], first["digest"]) == (len(PNG), hashlib.sha256(PNG).hexdigest())
    assert add_file(api, files, "Spektrum – 1.png", PNG, "image/png", 200) == first
    second = add_file(api, files, "notes.txt", b"blue")
    assert (second["number"], second["media_type"]) == (2, "application/octet-stream")
    assert api.get(files).json() == {"items": [first, second], "next_cursor": None}
    page = api.get(files, params={"limit": 1}).json()
    assert api.get(files, params={"cursor": page["next_cursor"]}).json()["items"] == [second]
    answer = api.get(f"{files}/1")
    assert answer.content == PNG
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''Spektrum%20%E2%80%93%201.png"
    assert api.delete(f"{files}/1").status_code == 204
    assert api.get(f"{files}/1").json()["code"] == "file_not_found"
    assert api.get(files).json()["items"] == [second]


def test_number_of_a_deleted_file_is_never_used_again(api: httpx.Client, files: str) -> None:
    """A repeated deletion must not delete another file. Files of all trials and results have one sequence of numbers,
    which continues after the study was in the trash."""
    add_file(api, files, "old.txt", b"old")
    assert api.delete(f"{files}/1").status_code == 204
    assert add_file(api, files, "new.txt", b"new")["number"] == 2
    assert api.delete(f"{files}/1").json()["code"] == "file_not_found"
    assert api.delete(f"{files}/2").status_code == 204
    study = study_of(files)
    assert api.delete(study).status_code == 204
    assert api.post(f"{study}/restore").status_code == 200
    assert add_file(api, files, "new.txt", b"new")["number"] == 3


@pytest.mark.parametrize(
    ("content", "kind", "shown"),
    [
        pytest.param(PNG, "image/png", "image/png", marks=pytest.mark.long),
        (PNG, "text/html", "image/png"),
        pytest.param(b"\xff\xd8\xff\xe0photo", "image/jpeg", "image/jpeg", marks=pytest.mark.long),
        pytest.param(b"GIF89a;", "image/gif", "image/gif", marks=pytest.mark.long),
        pytest.param(b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp", "image/webp", marks=pytest.mark.long),
        pytest.param(HTML, "text/html", None, marks=pytest.mark.long),
        (HTML, "image/png", None),
        (SVG, "image/svg+xml", None),
        pytest.param(b"%PDF-1.7", "application/pdf", None, marks=pytest.mark.long),
    ],
)
def test_only_images_are_shown_inline_and_no_content_is_executable(
    api: httpx.Client, files: str, content: bytes, kind: str, shown: str | None
) -> None:
    add_file(api, files, "a", content, kind)
    answer = api.get(f"{files}/1", params={"shown": "true"})
    assert answer.content == content
    assert answer.headers["content-type"] == (shown or "application/octet-stream")
    assert answer.headers["content-disposition"].startswith("inline" if shown else "attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    download = api.get(f"{files}/1")
    assert download.headers["content-disposition"].startswith("attachment")
    assert download.headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize(
    "name", some(["", "a/b", "..", "a\\b", "a\nb", "\u202egpj.exe", "x" * 201, " . "], ["", "a/b", "\u202egpj.exe"])
)
def test_invalid_file_names_are_rejected(api: httpx.Client, files: str, name: str) -> None:
    answer = api.post(files, params={"name": name}, content=b"1")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "?name"), answer.text
    assert api.get(files).json()["items"] == []


def test_forms_are_refused_instead_of_stored(api: httpx.Client, files: str) -> None:
    """A form wraps the file in other bytes. curl sends the type of a form by default."""
    form = api.post(files, params={"name": "photo.png"}, files={"file": ("photo.png", PNG, "image/png")})
    assert form.status_code == 415
    detail = add_file(api, files, "photo.png", PNG, "application/x-www-form-urlencoded", 415)["detail"]
    assert "curl --data-binary @photo.jpg -H 'Content-Type: image/jpeg'" in detail
    packed = api.post(files, params={"name": "a"}, content=PNG, headers={"Content-Encoding": "gzip"})
    assert packed.status_code == 415
    assert api.get(files).json()["items"] == []


def test_name_that_is_not_utf_8_is_refused(api: httpx.Client, files: str) -> None:
    answer = api.post(f"{files}?name=%FF.png", content=PNG)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "?name")
    assert api.post(f"{files}?name=%EF%BF%BD.png", content=PNG).status_code == 201, "U+FFFD itself is a character"


def test_sizes_of_single_files_and_of_a_study_are_limited(database_url: str) -> None:
    with server_on(database_url, file_limit=100, files_limit=250) as address:
        api = httpx.Client(base_url=address, timeout=60)
        api.post("/v1/studies", json={**DEFINITION, "id": "s"})
        api.post("/v1/studies/s/suggest", json={"count": 2})
        first, second = (f"/v1/studies/s/trials/{number}/files" for number in (1, 2))
        refused = add_file(api, first, "large", bytes(101), status=422)
        assert "file_limit" in refused["detail"]
        assert add_file(api, first, "empty", b"", status=422)["errors"][0]["code"] == "empty_file"
        add_file(api, first, "a", bytes(100))
        add_file(api, second, "b", bytes(100))
        refused = add_file(api, second, "c", bytes(60), status=422)
        assert "files_limit" in refused["detail"]
        assert refused["errors"][0]["code"] == "files_too_large"
        add_file(api, second, "c", bytes(50))
        api.delete(f"{first}/1")
        add_file(api, second, "d", bytes(100))
        api.close()


@pytest.mark.long
def test_number_of_files_of_a_trial_is_limited(api: httpx.Client, files: str) -> None:
    for number in range(100):
        add_file(api, files, f"{number}.txt", b"x")
    assert add_file(api, files, "100.txt", b"x", status=422)["errors"][0]["code"] == "too_many_files"


def test_files_of_an_unknown_trial_or_result_are_not_found(api: httpx.Client, study: str) -> None:
    for kind, code in (("trials", "trial_not_found"), ("observations", "observation_not_found")):
        for number in (1, 7):
            assert api.post(f"{study}/{kind}/{number}/files?name=a", content=b"1").json()["code"] == code
            assert api.get(f"{study}/{kind}/{number}/files").json()["code"] == code
        assert api.post(f"/v1/studies/none/{kind}/1/files?name=a", content=b"1").json()["code"] == "study_not_found"


def test_files_of_another_trial_or_result_are_not_found(api: httpx.Client, files: str) -> None:
    """The file of trial 1 is not that of result 1, nor the reverse."""
    study = study_of(files)
    api.post(f"{study}/suggest")
    api.post(f"{study}/observe", json=OWN)
    add_file(api, files, "a", b"1")
    for other in {f"{study}/{kind}/{number}/files" for kind in ("trials", "observations") for number in (1, 2)} - {
        files
    }:
        assert api.get(other).json()["items"] == []
        assert api.get(f"{other}/1").json()["code"] == "file_not_found"
        assert api.delete(f"{other}/1").json()["code"] == "file_not_found"
    assert api.get(f"{files}/1").content == b"1"


def test_the_result_of_a_trial_has_no_files_of_its_own(api: httpx.Client, study: str) -> None:
    api.post(f"{study}/suggest")
    api.post(f"{study}/observe", json={"trial": 1, "value": 1.0})
    refused = add_file(api, f"{study}/observations/1/files", "a", b"1", status=422)
    assert (refused["errors"][0]["code"], "trial 1" in refused["detail"]) == ("result_of_trial", True)


def test_files_are_restored_from_the_trash_and_exported(api: httpx.Client, files: str, tmp_path: Path) -> None:
    path = study_of(files)
    before = [add_file(api, files, "photo.png", PNG, "image/png"), add_file(api, files, "empty-ish", b"\x00")]
    lines = api.get(f"{path}/export").text.splitlines()
    assert api.delete(path).status_code == 204
    assert api.post(f"{path}/restore").status_code == 200
    assert api.get(files).json()["items"] == before
    assert api.get(f"{files}/1").content == PNG
    assert "photo.png" in api.get(f"{path}/report").text
    database = Database(f"sqlite:///{tmp_path}/other.db")
    migration.upgrade(database)
    import_study(database, lines)
    database.close()
    with server_on(f"sqlite:///{tmp_path}/other.db") as address:
        assert httpx.get(f"{address}{files}/1", timeout=60).content == PNG
    altered = [line.replace(before[0]["digest"], "0" * 64) for line in lines]
    other = Database(f"sqlite:///{tmp_path}/third.db")
    migration.upgrade(other)
    with pytest.raises(Exception, match="content does not match size and digest"):
        import_study(other, altered)
    kind = "trial" if before[0]["trial"] else "observation"
    strayed = [json.dumps({**json.loads(line), kind: 9}) if '"type": "file"' in line else line for line in lines]
    with pytest.raises(Exception, match=r"the file belongs to (trial|result) 9, which "):
        import_study(other, strayed)
    other.close()


def test_restoring_files_takes_little_memory(api: httpx.Client, files: str) -> None:
    """A study may have 200 MB of files. In a restore, at most a few of them are in memory at a time."""
    size, count = 2**18, 24
    path, contents = study_of(files), [random.Random(number).randbytes(size) for number in range(count)]
    for number, content in enumerate(contents):
        add_file(api, files, f"{number}.bin", content)
    assert api.delete(path).status_code == 204
    tracemalloc.start()
    assert api.post(f"{path}/restore").status_code == 200
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < count * size / 2
    assert [api.get(f"{files}/{number}").content for number in range(1, count + 1)] == contents


def test_readers_read_files_and_workers_add_them(api: httpx.Client, files: str) -> None:
    add_file(api, files, "a.txt", b"1")
    path = study_of(files)
    tokens: dict[str, str] = {}
    for user, scopes in (("root", ["admin"]), ("ann", ["work"]), ("ben", ["work"]), ("carl", ["work"])):
        headers = {"Authorization": f"Bearer {tokens['root']}"} if tokens else {}
        made = api.post("/v1/tokens", json={"name": user, "scopes": scopes}, headers=headers)
        tokens[user] = made.json()["token"]
    bearer = {user: {"Authorization": f"Bearer {token}"} for user, token in tokens.items()}
    shares = {"owner": "root", "shared_with": {"ann": "work", "ben": "read"}}
    assert api.patch(f"{path}/access", json=shares, headers=bearer["root"]).status_code == 200
    wanted = {"root": (200, 201), "ann": (200, 201), "ben": (200, 403), "carl": (404, 404)}
    for user, statuses in wanted.items():
        read = api.get(f"{files}/1", headers=bearer[user])
        written = api.post(files, params={"name": f"{user}.txt"}, content=b"2", headers=bearer[user])
        assert (read.status_code, written.status_code) == statuses, user
    users = {each["name"]: each["user"] for each in api.get(files, headers=bearer["ben"]).json()["items"]}
    assert users == {"a.txt": None, "root.txt": "root", "ann.txt": "ann"}


def test_files_count_in_the_quota_of_their_owner(api: httpx.Client) -> None:
    root = api.post("/v1/tokens", json={"name": "root", "scopes": ["admin"]}).json()["token"]
    asked = {"name": "ann", "scopes": ["work"], "quotas": {"megabytes": 0.01}}
    token = api.post("/v1/tokens", json=asked, headers={"Authorization": f"Bearer {root}"}).json()["token"]
    api.headers["Authorization"] = f"Bearer {token}"
    api.post("/v1/studies", json={**DEFINITION, "id": "s"})
    api.post("/v1/studies/s/suggest")
    add_file(api, "/v1/studies/s/trials/1/files", "a", bytes(6000))
    used = api.get("/v1/tokens/self").json()["usage"]["megabytes"]
    assert used > 0.006
    assert add_file(api, "/v1/studies/s/trials/1/files", "b", bytes(6000), status=403)["code"] == "quota_exceeded"
