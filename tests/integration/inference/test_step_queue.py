"""The order of steps in a model process: short steps go first, and no step waits forever."""

from __future__ import annotations

import threading

import pytest

from adabkb_service.inference.step_queue import (
    FOLDS,
    LEARNS,
    LONG_SECONDS,
    QUESTION_SECONDS,
    QUICK,
    SLOW,
    STRETCH,
    StepQueue,
)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lane_of(asked: StepQueue, clock: Clock, study: str, kind: str = FOLDS) -> int:
    """Return the lane of a step of this kind, and remove the step. Another study is in the quick lane, since ``take``
    would block on an empty lane."""
    asked.put(study, kind)
    clock.seconds += 1000.0
    asked.put("new", FOLDS)
    if asked.take(QUICK) == "new":
        assert asked.take(SLOW) == study
        return SLOW
    assert asked.take(QUICK) == "new"
    return QUICK


def test_study_is_slow_by_the_mean_of_its_steps(clock: Clock) -> None:
    asked = StepQueue(clock)
    for _ in range(20):
        for seconds in (4 * LONG_SECONDS, LONG_SECONDS / 10):  # half of the steps of a heavy study are short
            asked.record_time("heavy", FOLDS, seconds)
        asked.record_time("light", FOLDS, LONG_SECONDS / 10)
    asked.record_time("light", FOLDS, 5 * LONG_SECONDS)  # sometimes, one is long
    assert (lane_of(asked, clock, "heavy"), lane_of(asked, clock, "light")) == (SLOW, QUICK)
    for _ in range(50):
        asked.record_time("heavy", FOLDS, LONG_SECONDS / 10)
    assert lane_of(asked, clock, "heavy") == QUICK


def test_learning_steps_are_rated_by_other_learning_steps(clock: Clock) -> None:
    asked = StepQueue(clock)
    assert lane_of(asked, clock, "s") == QUICK
    assert lane_of(asked, clock, "s", LEARNS) == SLOW  # its duration is not known yet
    asked.record_time("s", FOLDS, LONG_SECONDS / 10)
    asked.record_time("s", LEARNS, 10 * LONG_SECONDS)
    assert (lane_of(asked, clock, "s"), lane_of(asked, clock, "s", LEARNS)) == (QUICK, SLOW)
    asked.record_time("small", LEARNS, LONG_SECONDS / 2)
    assert lane_of(asked, clock, "small", LEARNS) == QUICK


def test_queries_are_rated_by_the_same_query_to_other_studies(clock: Clock) -> None:
    """They do not affect the study's other steps, so that its suggestions do not wait for its readers."""
    asked = StepQueue(clock)
    assert asked.is_long_question("s", "importance")  # its duration is not known yet
    assert not asked.is_long_question("s", "model_stats")
    asked.record_time("s", "importance", 10 * LONG_SECONDS)
    asked.record_time("s", "model_stats", LONG_SECONDS / 10)
    assert lane_of(asked, clock, "s") == QUICK
    assert asked.is_long_question("other", "importance")
    assert not asked.is_long_question("other", "model_stats")
    asked.record_time("small", "importance", LONG_SECONDS / 2)
    assert not asked.is_long_question("small", "importance")


def test_suggestion_is_not_delayed_by_an_earlier_query_of_the_study(clock: Clock) -> None:
    asked = StepQueue(clock)
    asked.put("s", "model_stats")
    asked.put("other", FOLDS)
    asked.hasten("s", "model_stats")
    asked.put("another", FOLDS)
    asked.hasten("s", FOLDS)
    asked.put("last", FOLDS)
    assert [asked.take(QUICK) for _ in range(4)] == ["other", "another", "s", "last"]


def test_study_keeps_its_place_and_lane_when_messages_arrive(clock: Clock) -> None:
    asked = StepQueue(clock)
    asked.record_time("s", LEARNS, 10 * LONG_SECONDS)
    asked.put("s", LEARNS)
    asked.hasten("s", FOLDS)
    clock.seconds += 1000.0
    asked.put("other", FOLDS)
    assert (asked.take(QUICK), asked.take(SLOW)) == ("other", "s")


def test_shorter_steps_go_first_and_equal_ones_in_order(clock: Clock) -> None:
    asked = StepQueue(clock)
    asked.record_time("large", FOLDS, 0.01)
    for study in ("large", "new", "newer"):
        asked.put(study, FOLDS)
    assert [asked.take(QUICK) for _ in range(3)] == ["new", "newer", "large"]


def test_long_step_waits_for_short_ones_for_a_bounded_time(clock: Clock) -> None:
    asked = StepQueue(clock)
    asked.record_time("large", FOLDS, 0.01)
    asked.put("large", FOLDS)
    clock.seconds += 1.01 * STRETCH * 0.01
    asked.put("new", FOLDS)
    assert asked.take(QUICK) == "large"


def test_slightly_longer_step_does_not_wait_for_all_others(clock: Clock) -> None:
    """The steps of similar studies differ by chance. If the shortest always went first, some of eight such studies
    would wait five times as long as the others."""
    asked = StepQueue(clock)
    for study, seconds in (("longer", 0.008), ("first", 0.005), ("second", 0.005), ("third", 0.005)):
        asked.record_time(study, FOLDS, seconds)
        asked.put(study, FOLDS)
        clock.seconds += 0.04  # in this time, all eight studies take a step
    assert [asked.take(QUICK) for _ in range(4)] == ["first", "second", "longer", "third"]


def test_query_waits_for_suggestions_for_a_bounded_time(clock: Clock) -> None:
    """However short it is: many readers do not delay suggestions."""
    asked = StepQueue(clock)
    asked.put("read", "model_stats")
    clock.seconds += QUESTION_SECONDS / 2
    asked.put("new", FOLDS)
    asked.put("read too", "model_stats")
    clock.seconds += 0.9 * QUESTION_SECONDS
    asked.put("newer", FOLDS)
    assert [asked.take(QUICK) for _ in range(4)] == ["new", "read", "newer", "read too"]


def test_lane_blocks_until_a_study_is_queued_and_ends_with_the_queue() -> None:
    asked, taken = StepQueue(), list[str | None]()

    def take() -> None:
        while taken[-1:] != [None]:
            taken.append(asked.take(QUICK))

    lane = threading.Thread(target=take)
    lane.start()
    asked.put("s", FOLDS)
    while not taken:
        lane.join(0.01)
    asked.end()
    lane.join(60.0)
    assert taken == ["s", None]
    asked.put("s", FOLDS)
    assert asked.take(QUICK) is None
