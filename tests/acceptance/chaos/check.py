"""The ledger check: compare the stored data with the study's log and with the clients' records. Each violation is one
line with the study, the object and the error.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from datetime import timedelta

from adabkb_client import Event
from tests.acceptance.chaos.board import Plan
from tests.acceptance.chaos.curves import refusals, reports, share
from tests.acceptance.chaos.edits import edits
from tests.acceptance.chaos.ledger import Entry, Kind
from tests.acceptance.chaos.log import Log
from tests.acceptance.chaos.order import order
from tests.acceptance.chaos.record import Record

GIVE_ROOM = ("stopped", "corrected", "edited")
"""Events after which a complete study, or one whose budget was used up, may accept points again."""
Result = tuple[float | None, int | None, int | None]
"""Value, trial and attempt, which identify a result."""


def check(record: Record, entries: Sequence[Entry], plan: Plan) -> list[str]:
    """Return all violations in a study, given the clients' calls."""
    lease = timedelta(seconds=record.info.lease_seconds)
    log = Log(record.events, lease, may_repeat_points=plan.may_repeat_points)
    found = [
        *_numbering(record),
        *log.faults,
        *_trials_as_logged(record, log),
        *_observations_as_logged(record, log),
        *_end(record, log, plan),
        *_results(log, entries),
        *_corrections(log, entries),
        *_suggestions(log, entries),
        *_ends_of_attempts(log, entries),
        *_retries(log, entries),
        *_renewals(log, entries, lease),
        *_queued_points(record, log, entries),
        *refusals(log, entries),
        *reports(record, log, entries),
        *edits(record, log, entries),
        *order(record.events, log, entries, record.info.lease_seconds),
    ]
    return [f"{plan.id}: {violation}" for violation in found]


def _numbering(record: Record) -> Iterator[str]:
    """Events and observations are numbered 1, 2, 3, ...; trial numbers are unique."""
    for name, numbers in (
        ("event", [event.seq for event in record.events]),
        ("observation", [observation.seq for observation in record.observations]),
        ("trial", [trial.number for trial in record.trials]),
    ):
        for number, times in Counter(numbers).items():
            if times > 1:
                yield f"{name} {number} occurs {times} times"
        if missing := set(range(1, len(numbers) + 1)) - set(numbers):
            yield f"{name}s are not numbered without gaps: {sorted(missing)} missing of {len(numbers)}"
    if record.events and record.info.revision != record.events[-1].seq:
        yield f"the revision is {record.info.revision}, the last event {record.events[-1].seq}"


def _trials_as_logged(record: Record, log: Log) -> Iterator[str]:
    """Each trial agrees with the log."""
    trials = {trial.number: trial for trial in record.trials}
    yield from _on_one_side("trial", trials.keys(), log.trials.keys())
    for number in trials.keys() & log.trials.keys():
        trial, logged = trials[number], log.trials[number]
        first = next(iter(logged.results.values()), None)
        value = None if first is None else log.observations[first].value
        stored = (trial.state, trial.attempt, trial.value, trial.parameters)
        expected = (logged.state, logged.attempt, value, logged.parameters)
        if stored != expected:
            yield f"trial {number} is {stored}, but in the log it is {expected}"


def _observations_as_logged(record: Record, log: Log) -> Iterator[str]:
    """Each observation agrees with the log."""
    observations = {stored.seq: stored for stored in record.observations}
    yield from _on_one_side("observation", observations.keys(), log.observations.keys())
    for seq in observations.keys() & log.observations.keys():
        for name in ("trial", "attempt", "parameters", "value", "std_error", "excluded"):
            there, logged_value = getattr(observations[seq], name), getattr(log.observations[seq], name)
            if there != logged_value:
                yield f"observation {seq} has the {name} {there!r}, but in the log {logged_value!r}"


def _on_one_side(name: str, stored: Set[int], logged: Set[int]) -> Iterator[str]:
    """Return the objects that are only stored or only in the log."""
    for number in stored - logged:
        yield f"{name} {number} is not in the log"
    for number in logged - stored:
        yield f"{name} {number} is in the log only"


def _end(record: Record, log: Log, plan: Plan) -> Iterator[str]:
    """The study is complete within its budget, and its summary is correct."""
    info = record.info
    late = sum(trial.has_late_result for trial in log.trials.values())
    used = sum(share(trial) for trial in record.trials) - late
    if used > plan.budget:
        yield f"{len(record.trials)} trials, worth {used}, exceed the budget of {plan.budget}"
    if info.state != "complete":
        yield f"the study is {info.state} ({info.reason}), not complete"
    states = Counter(trial.state for trial in record.trials)
    if info.reason != "converged":
        for trial in record.trials:
            if trial.state not in ("completed", "failed", "stopped", "withdrawn"):
                yield f"trial {trial.number} is still {trial.state}"
    counted = {state: getattr(info.counts, state) for state in states}
    if counted != states or info.counts.trials != len(record.trials):
        yield f"the counts are {info.counts}, but the trials have {dict(states)}"
    if info.counts.observations != len(record.observations):
        yield f"{info.counts.observations} observations are counted, but {len(record.observations)} are stored"
    values = [each.value for each in record.observations if each.counts and each.value is not None]
    best = (max if plan.direction == "maximize" else min)(values, default=None)
    if best != (info.best.value if info.best else None):
        yield f"the best observation is {best!r}, but the study reports {info.best}"


def _results(log: Log, entries: Sequence[Entry]) -> Iterator[str]:
    """Each acknowledged result is stored exactly once, and every stored result was sent."""
    tellers: defaultdict[Result, list[Entry]] = defaultdict(list)
    for entry in _of(entries, "observe", "point"):
        tellers[entry.value, entry.trial, entry.attempt].append(entry)
    for entry in _of(entries, "report"):  # the last value of a trial that is stopped may be its result
        for _, value in entry.reports:
            tellers[value, entry.trial, entry.attempt].append(replace(entry, fate="unknown"))
    stored: defaultdict[Result, list[int]] = defaultdict(list)
    for seq, observation in log.observations.items():
        result: Result = (observation.told, observation.trial, observation.attempt)
        stored[result].append(seq)
        calls = tellers.get(result, [])
        if not calls:
            yield f"observation {seq} is {result}, which no client reported"
        elif all(entry.fate == "refused" for entry in calls):
            yield f"observation {seq} is stored although it was refused: {calls[0]}"
        elif calls[0].parameters not in (None, observation.parameters):
            yield f"observation {seq} is at {observation.parameters}, but was reported at {calls[0].parameters}"
    for value, seqs in _by_first_value(log).items():
        if len(seqs) > 1:
            yield f"the value {value!r}, reported once, is stored {len(seqs)} times: observations {seqs}"
    for result, calls in tellers.items():
        for entry in calls:
            if entry.fate == "acknowledged" and entry.observation not in stored[result]:
                yield f"an acknowledged result is lost, or differs from the response: {entry}"


def _by_first_value(log: Log) -> dict[float, list[int]]:
    """Observations by their first value."""
    found = defaultdict(list)
    for seq, observation in log.observations.items():
        found[observation.told].append(seq)
    return found


def _corrections(log: Log, entries: Sequence[Entry]) -> Iterator[str]:
    """Each acknowledged correction is in the log once, and every correction in the log was requested."""
    asked = {(entry.observation, entry.value) for entry in _of(entries, "correct")}
    for entry in _of(entries, "correct", "exclude"):
        observation = log.observations.get(entry.observation or 0)
        if observation is None:
            yield f"there is no such observation: {entry}"
        elif entry.fate == "acknowledged" and entry.kind == "exclude" and not observation.excluded:
            yield f"an acknowledged exclusion is lost: {entry}"
        elif entry.fate == "acknowledged" and entry.kind == "correct" and entry.value not in observation.corrections:
            yield f"an acknowledged correction is lost: {entry}"
    excluded = {entry.observation for entry in _of(entries, "exclude")}
    for seq, observation in log.observations.items():
        if observation.excluded and seq not in excluded:
            yield f"observation {seq} is excluded, which no client requested"
        for value, times in Counter(observation.corrections).items():
            if times > 1 or (seq, value) not in asked:
                yield f"observation {seq} was corrected to {value!r} {times} times, but requested once or never"


def _suggestions(log: Log, entries: Sequence[Entry]) -> Iterator[str]:
    """Each attempt was issued to one worker, once, and every issued attempt is in the log."""
    handed: dict[tuple[int | None, int | None], Entry] = {}
    unanswered: Counter[str | None] = Counter()
    for entry in _of(entries, "suggest"):
        if entry.fate != "acknowledged":
            unanswered[entry.worker] += entry.count
            continue
        attempt = (entry.trial, entry.attempt)
        if attempt in handed:
            yield f"an attempt was issued twice: {handed[attempt]} and {entry}"
        handed[attempt] = entry
        logged = log.trials.get(entry.trial or 0)
        if logged is None or logged.holders.get(entry.attempt or 0) != entry.worker:
            yield f"a suggestion is not in the log: {entry}"
        elif logged.parameters != entry.parameters:
            yield f"the log has the point {logged.parameters}, but {entry.parameters} was issued: {entry}"
    missing: defaultdict[str | None, list[tuple[int, int]]] = defaultdict(list)
    for number, logged in log.trials.items():
        for attempt_number, worker in logged.holders.items():
            if (number, attempt_number) not in handed:
                missing[worker].append((number, attempt_number))
    for worker, attempts in missing.items():
        if len(attempts) > unanswered[worker]:
            yield f"{worker} was issued (trial, attempt) {attempts} without receiving it"


def _ends_of_attempts(log: Log, entries: Sequence[Entry]) -> Iterator[str]:
    """Each acknowledged failure and release is in the log, and every one in the log was sent."""
    reported: defaultdict[Kind, set[tuple[int | None, int | None]]] = defaultdict(set)
    for entry in _of(entries, "fail", "release"):
        reported[entry.kind].add((entry.trial, entry.attempt))
        logged = log.trials.get(entry.trial or 0)
        if logged is None:
            yield f"there is no such trial: {entry}"
        elif entry.fate == "acknowledged" and entry.kind == "fail" and not logged.failures:
            yield f"an acknowledged failure is not in the log: {entry}"
        elif entry.fate == "acknowledged" and entry.kind == "release" and entry.attempt not in logged.releases:
            yield f"an acknowledged release is not in the log: {entry}"
    for number, logged in log.trials.items():
        for attempt in logged.failures:
            if attempt is not None and (number, attempt) not in reported["fail"]:
                yield f"attempt {attempt} of trial {number} failed, which no client reported"
        for attempt in logged.releases:
            if (number, attempt) not in reported["release"]:
                yield f"attempt {attempt} of trial {number} was released, which no client requested"


def _retries(log: Log, entries: Sequence[Entry]) -> Iterator[str]:
    """Each failed trial of an acknowledged retry was retried, and no trial was retried more often than requested.

    Two workers may know that the same trial failed. If both request a retry, the second request changes nothing, and
    finds the trial at the retried attempt or at a later one.
    """
    asked = Counter(entry.trial for entry in _of(entries, "retry") if entry.fate != "refused")
    for entry in _of(entries, "retry"):
        retried = log.trials[entry.trial or 0].retries if entry.trial in log.trials else []
        if entry.fate == "acknowledged" and not any(attempt <= (entry.attempt or 0) for attempt in retried):
            yield f"an acknowledged retry is not in the log: {entry}"
    for number, logged in log.trials.items():
        if len(logged.retries) > asked[number]:
            yield f"trial {number} was retried {len(logged.retries)} times, but requested {asked[number]} times"


def _renewals(log: Log, entries: Sequence[Entry], lease: timedelta) -> Iterator[str]:
    """A renewed lease did not expire early."""
    for entry in _of(entries, "heartbeat", "report"):
        if entry.fate == "acknowledged" and (logged := log.trials.get(entry.trial or 0)):
            for attempt, moment in logged.expiries:
                if attempt == entry.attempt and entry.ended < moment < entry.started + lease:
                    yield f"a renewed lease expired too early, at {moment}: {entry}"


def _queued_points(record: Record, log: Log, entries: Sequence[Entry]) -> Iterator[str]:
    """Each acknowledged point is one trial, and every queued trial was requested.

    A refusal is not stored under the key of its request. The proxy may send a copy of the request later, or a stopped
    server may continue and perform it. By then, the study may accept the point.
    """
    calls = list(_of(entries, "queue"))
    for entry in calls:
        if entry.fate == "acknowledged" and log.queued.get(entry.trial or 0) != entry.parameters:
            yield f"an acknowledged point is not in the queue: {entry}"
    unused = list(calls)
    for event in record.events:
        if event.kind == "queued":
            point = event.payload["parameters"]
            asked = [entry for entry in calls if entry.parameters == point]
            cause = next((entry for entry in asked if entry in unused and _may_be_queued(entry, event, record)), None)
            if cause is None:
                requests = ", ".join(map(str, asked)) or "nobody"
                yield f"trial {event.trial} was queued at {point}; calls that could have queued it: {requests}"
            else:
                unused.remove(cause)  # it explains only one event


def _may_be_queued(entry: Entry, queued: Event, record: Record) -> bool:
    """Whether the call was accepted, or the study accepted points again between the refusal and the event."""
    return entry.fate != "refused" or any(
        event.kind in GIVE_ROOM and event.seq < queued.seq and event.created_at > entry.started
        for event in record.events
    )


def _of(entries: Sequence[Entry], *kinds: Kind) -> Iterator[Entry]:
    return (entry for entry in entries if entry.kind in kinds)
