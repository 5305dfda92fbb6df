"""Whose step a model process does next: short ones do not wait for long ones, and none waits for ever."""

from __future__ import annotations

import threading

import pytest

from adabkb_service.inference import turns
from adabkb_service.inference.turns import LONG_SECONDS, QUICK, SLOW, STRETCH, Turns


class Clock:
    """Time as a test sets it."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(turns, "time", made)
    return made


def lane_of(asked: Turns, clock: Clock, study: str, *, learns: bool = False) -> int:
    """Where a step of this kind waits; it is taken away again. A new study waits behind it in the quick lane, as
    ``take`` of an empty lane would wait for ever."""
    asked.wait(study, learns=learns)
    clock.seconds += 1000.0
    asked.wait("new", learns=False)
    if asked.take(QUICK) == "new":
        assert asked.take(SLOW) == study
        return SLOW
    assert asked.take(QUICK) == "new"
    return QUICK


def test_a_study_is_slow_by_the_mean_of_its_steps(clock: Clock) -> None:
    asked = Turns()
    for _ in range(20):
        for seconds in (4 * LONG_SECONDS, LONG_SECONDS / 10):  # half of a heavy study's steps are short
            asked.stepped("heavy", seconds, learned=False)
        asked.stepped("light", LONG_SECONDS / 10, learned=False)
    asked.stepped("light", 5 * LONG_SECONDS, learned=False)  # now and then one is long
    assert (lane_of(asked, clock, "heavy"), lane_of(asked, clock, "light")) == (SLOW, QUICK)
    for _ in range(50):
        asked.stepped("heavy", LONG_SECONDS / 10, learned=False)
    assert lane_of(asked, clock, "heavy") == QUICK


def test_steps_that_learn_are_judged_by_others_that_learned(clock: Clock) -> None:
    asked = Turns()
    assert lane_of(asked, clock, "s") == QUICK
    assert lane_of(asked, clock, "s", learns=True) == SLOW  # nobody knows yet how long it takes
    asked.stepped("s", LONG_SECONDS / 10, learned=False)
    asked.stepped("s", 10 * LONG_SECONDS, learned=True)
    assert (lane_of(asked, clock, "s"), lane_of(asked, clock, "s", learns=True)) == (QUICK, SLOW)
    asked.stepped("small", LONG_SECONDS / 2, learned=True)
    assert lane_of(asked, clock, "small", learns=True) == QUICK


@pytest.mark.usefixtures("clock")
def test_the_shorter_step_goes_first_and_equal_ones_as_they_came() -> None:
    asked = Turns()
    asked.stepped("large", 0.01, learned=False)
    for study in ("large", "new", "newer"):
        asked.wait(study, learns=False)
    assert [asked.take(QUICK) for _ in range(3)] == ["new", "newer", "large"]


def test_a_long_step_waits_for_short_ones_for_a_bounded_time(clock: Clock) -> None:
    asked = Turns()
    asked.stepped("large", 0.01, learned=False)
    asked.wait("large", learns=False)
    clock.seconds += 1.01 * STRETCH * 0.01
    asked.wait("new", learns=False)
    assert asked.take(QUICK) == "large"


def test_a_lane_waits_until_a_study_does_and_stops_at_the_end() -> None:
    asked, taken = Turns(), list[str | None]()

    def take() -> None:
        while taken[-1:] != [None]:
            taken.append(asked.take(QUICK))

    lane = threading.Thread(target=take)
    lane.start()
    asked.wait("s", learns=False)
    while not taken:
        lane.join(0.01)
    asked.end()
    lane.join(60.0)
    assert taken == ["s", None]
    asked.wait("s", learns=False)
    assert asked.take(QUICK) is None
