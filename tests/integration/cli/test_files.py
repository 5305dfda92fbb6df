"""Files of trials, and of results without a trial: with the client, and on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from adabkb_client import Float, LeasedTrial, NotFound, Study
from tests.integration.cli.shell import adabkb


@pytest.fixture
def study(create: Callable[..., Study]) -> Study:
    made = create(parameters={"x": Float(0, 1)})
    made.suggest()
    return made


def test_files_are_added_listed_read_and_removed(study: Study, tmp_path: Path) -> None:
    (tmp_path / "spectrum.csv").write_bytes(b"1,2\n")
    first = study.add_file(1, tmp_path / "spectrum.csv")
    assert (first.name, first.media_type, first.size) == ("spectrum.csv", "text/csv", 4)
    second = study.add_file(1, b"\x89PNG\r\n\x1a\n", name="a photo.png")
    assert second.media_type == "image/png"
    assert list(study.files(1)) == [first, second]
    assert study.read_file(1, first.number) == b"1,2\n"
    assert study.add_file(1, tmp_path / "spectrum.csv") == first
    study.remove_file(1, first.number)
    assert list(study.files(1)) == [second]
    with pytest.raises(NotFound, match="no file 1"):
        study.read_file(1, 1)
    with pytest.raises(ValueError, match="bytes have no file name"):
        study.add_file(1, b"1")


def test_trials_and_files_are_also_given_as_objects(study: Study) -> None:
    (trial,) = study.trials()
    for given in (trial, LeasedTrial(study, trial)):
        file = study.add_file(given, b"1,2", name="spectrum.csv")
        assert list(study.files(given)) == [file]
        assert study.read_file(given, file) == b"1,2"
        study.remove_file(given, file)
        assert list(study.files(given)) == []
    with pytest.raises(ValueError, match="belongs to study"):
        study.files(replace(trial, study="another"))


def test_the_command_has_the_same(study: Study, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADABKB_URL", address)
    photo, copy = tmp_path / "photo.jpg", tmp_path / "copy.jpg"
    photo.write_bytes(b"\xff\xd8\xff")
    assert adabkb("trial", "files", study.id, "1") == "Trial 1 has no files.\n"
    assert adabkb("trial", "add-file", study.id, "1", str(photo)) == "File 1 of trial 1: photo.jpg, 3 bytes.\n"
    assert "photo.jpg" in adabkb("trial", "files", study.id, "1")
    adabkb("trial", "read-file", study.id, "1", "1", "--output", str(copy))
    assert copy.read_bytes() == photo.read_bytes()
    assert adabkb("trial", "remove-file", study.id, "1", "1") == "File 1 of trial 1 is deleted.\n"
    assert "give a file that exists" in adabkb("trial", "add-file", study.id, "1", "nowhere.jpg", code=1)


def test_the_same_works_for_a_result_without_a_trial(
    study: Study, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = study.add_result({"x": 0.5}, 1.0).observation
    assert result is not None
    first = study.add_result_file(result, b"1,2", name="spectrum.csv")
    assert (first.trial, first.observation) == (None, 1)
    assert list(study.result_files(1)) == [first]
    assert study.read_result_file(result, first.number) == study.read_result_file(1, first) == b"1,2"
    study.remove_result_file(1, first)
    monkeypatch.setenv("ADABKB_URL", address)
    photo, copy = tmp_path / "photo.jpg", tmp_path / "copy.jpg"
    photo.write_bytes(b"\xff\xd8\xff")
    assert adabkb("result", "files", study.id, "1") == "Result 1 has no files.\n"
    assert adabkb("result", "add-file", study.id, "1", str(photo)) == "File 2 of result 1: photo.jpg, 3 bytes.\n"
    assert "photo.jpg" in adabkb("result", "files", study.id, "1")
    adabkb("result", "read-file", study.id, "1", "2", "--output", str(copy))
    assert copy.read_bytes() == photo.read_bytes()
    assert adabkb("result", "remove-file", study.id, "1", "2") == "File 2 of result 1 is deleted.\n"
