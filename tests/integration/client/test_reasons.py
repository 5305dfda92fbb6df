"""The reasons for which a study issues no trial: each interface explains all of them."""

from __future__ import annotations

from typing import get_args

from adabkb_client import NoTrialAvailable, StudyComplete
from adabkb_client.mcp import _refusals as tools
from adabkb_service.cli import refusals as commands
from adabkb_service.contract.answers import NoTrialReason
from adabkb_service.operations.words.reasons import LATE, OF_EVENTS, REASONS, of_event

CODES = {code for each in get_args(NoTrialReason) for code in get_args(each) or (each,)}


def test_each_interface_explains_every_reason() -> None:
    for known in (REASONS, commands.NO_TRIAL, tools.NO_TRIAL):
        assert set(known) == CODES
    assert {*NoTrialAvailable.explanations, *StudyComplete.explanations} == CODES


def test_every_reason_is_explained_whether_results_are_missing_or_not() -> None:
    """Only ``converged`` ends a study at once, and the others of ``StudyComplete`` first wait for results."""
    assert set(StudyComplete.explanations) - set(NoTrialAvailable.explanations) == {"converged"}


def test_the_command_gives_the_reason_of_the_page_with_its_remedy_and_the_code_last() -> None:
    for code, sentence in REASONS.items():
        told = commands.no_trial("s", code)
        assert told.startswith(f"no trial is issued: {sentence} ")
        assert told.endswith(f" [{code}]")
        assert "STUDY" not in told


def test_the_command_says_whether_the_server_gives_no_reason_or_an_unknown_one() -> None:
    assert commands.no_trial("s", None) == "no trial is issued: The server gives no reason."
    told = commands.no_trial("s", "moonlight", "paused")
    assert told == "no trial is issued (the study is paused): This version does not know the reason. [moonlight]"


def test_the_reason_of_an_event_is_that_of_its_code_or_the_words_of_a_person() -> None:
    for kind, known in OF_EVENTS.items():
        assert all(of_event(kind, code) == sentence for code, sentence in known.items())
    assert of_event("withdrawn", LATE) == LATE, "a person may write anything"
    assert (of_event("failed", "the flask broke"), of_event("failed", None)) == ("the flask broke", "")
