"""Mistakes when asking for trials, telling results, and correcting them."""

from __future__ import annotations

from tests.mistakes.bench import POINT
from tests.mistakes.kinds import Section, Sent

SUGGEST = "POST /v1/studies/svm/suggest"
OBSERVE = "POST /v1/studies/svm/observe"
LIMITED = "POST /v1/studies/limited/"
BATCH = "POST /v1/studies/svm/observations"
TRIAL = "/v1/studies/svm/trials"

ASK = [
    Sent("No trials", SUGGEST, {"count": 0}),
    Sent("Too many trials at once", SUGGEST, {"count": 1000}),
    Sent("A count as text", SUGGEST, {"count": "two"}),
    Sent("A field of another library in suggest", SUGGEST, {"n": 2}),
    Sent("A misspelt field in suggest", SUGGEST, {"worker_name": "gpu-1"}),
    Sent("A negative lease", SUGGEST, {"lease_seconds": -1}),
    Sent("A fixed parameter that the study has not", SUGGEST, {"fixed": {"Kernel": "rbf"}}),
    Sent("A fixed value that is no choice", SUGGEST, {"fixed": {"kernel": "poly"}}),
    Sent("A fixed value outside of the bounds", SUGGEST, {"fixed": {"layers": 9}}),
    Sent(
        "A fixed parameter without the one that it depends on",
        "POST /v1/studies/net/suggest",
        {"fixed": {"momentum": 0.9}},
    ),
    Sent("Fixed parameters as a list", SUGGEST, {"fixed": ["kernel"]}),
    Sent("Fixed parameters where the algorithm has none", "POST /v1/studies/paper/suggest", {"fixed": {"layers": 2}}),
    Sent("Fixed values that violate a constraint", LIMITED + "suggest", {"fixed": {"lr": 0.9, "layers": 2}}),
    Sent("A queued point that violates a constraint", LIMITED + "trials", {"parameters": {**POINT, "lr": 0.8}}),
    Sent("A queued point without a parameter", f"POST {TRIAL}", {"parameters": {"lr": 0.1, "layers": 2}}),
    Sent("A queued point as bare values", f"POST {TRIAL}", POINT),
    Sent("A queued point outside of the space", f"POST {TRIAL}", {"parameters": {**POINT, "lr": 10}}),
    Sent("A queued point with a misspelt parameter", f"POST {TRIAL}", {"parameters": {**POINT, "kernal": "rbf"}}),
    Sent("A point queued in a study that is complete", "POST /v1/studies/done/trials", {"parameters": POINT}),
]

TELL = [
    Sent("A result without a value", OBSERVE, {"trial": 2}),
    Sent("A result without a trial", OBSERVE, {"value": 0.5}),
    Sent("A misspelt value", OBSERVE, {"trial": 2, "vaule": 0.5}),
    Sent("A value as text", OBSERVE, {"trial": 2, "value": "0.5"}),
    Sent("No value", OBSERVE, {"trial": 2, "value": None}),
    Sent("A negative standard error", OBSERVE, {"trial": 2, "value": 0.5, "std_error": -0.1}),
    Sent("A trial that is no number", OBSERVE, {"trial": "2", "value": 0.5}),
    Sent("A trial that was never handed out", OBSERVE, {"trial": 99, "value": 0.5}),
    Sent("An attempt that there was not", OBSERVE, {"trial": 2, "value": 0.5, "attempt": 3}),
    Sent("Another value for a trial that has one", OBSERVE, {"trial": 1, "value": 0.95}),
    Sent("A value for an attempt that has failed", OBSERVE, {"trial": 3, "value": 0.5}),
    Sent("A status that does not exist", OBSERVE, {"trial": 2, "value": 0.5, "status": "done"}),
    Sent("A failed trial with a value", OBSERVE, {"trial": 2, "status": "failed", "value": 0.5}),
    Sent("The failure of a trial that is completed", OBSERVE, {"trial": 1, "status": "failed"}),
    Sent("The failure of an earlier attempt", OBSERVE, {"trial": 4, "status": "failed", "attempt": 1}),
    Sent("A point without one of its parameters", OBSERVE, {"parameters": {"lr": 0.1, "layers": 2}, "value": 0.5}),
    Sent("A point outside of the space", OBSERVE, {"parameters": {**POINT, "layers": 2.5}, "value": 0.5}),
    Sent("A point that violates a constraint", LIMITED + "observe", {"parameters": {**POINT, "lr": 1}, "value": 0.5}),
    Sent("A point with an unknown parameter", OBSERVE, {"parameters": {**POINT, "gamma": 1}, "value": 0.5}),
    Sent(
        "A point with an inactive parameter",
        "POST /v1/studies/net/observe",
        {"parameters": {"optimizer": "adam", "momentum": 0.9}, "value": 0.5},
    ),
    Sent(
        "A point without an active parameter",
        "POST /v1/studies/net/observe",
        {"parameters": {"optimizer": "sgd"}, "value": 0.5},
    ),
    Sent("A trial that was run elsewhere in the space", OBSERVE, {"trial": 1, "value": 0.9, "parameters": POINT}),
    Sent("An empty batch", BATCH, {"items": []}),
    Sent("A batch as a bare list", BATCH, [{"trial": 2, "value": 0.5}]),
    Sent("A batch with a misspelt item", BATCH, {"items": [{"trial": 2, "value": 0.5}, {"trial": 4, "val": 1}]}),
    Sent("A batch of too many items", BATCH, {"items": [0] * 1001}, shown='{"items": [0, 0, ... 1,001 times]}'),
    Sent("A misspelt dry_run", BATCH, {"items": [{"trial": 2, "value": 0.5}], "dryrun": True}),
]

REPORTS = f"POST {TRIAL}/2/reports"

STEPS = [
    Sent("A report without a step", REPORTS, {"value": 0.5}),
    Sent("A report of a negative step", REPORTS, {"step": -1, "value": 0.5}),
    Sent("A report whose value is no number", REPORTS, {"step": 1, "value": "0.5"}),
    Sent("Reports as a bare list", REPORTS, [{"step": 1, "value": 0.5}]),
    Sent("Reports as an object by step", REPORTS, {"reports": {"1": 0.5}}),
    Sent(
        "Steps that go backwards",
        REPORTS,
        {"reports": [{"step": 2, "value": 0.5}, {"step": 1, "value": 0.6}]},
    ),
    Sent("A report to a trial that is completed", f"POST {TRIAL}/1/reports", {"step": 1, "value": 0.5}),
    Sent("A report by an earlier attempt", f"POST {TRIAL}/4/reports", {"step": 1, "value": 0.5, "attempt": 1}),
]

LATER = [
    Sent("A heartbeat for a trial that is completed", f"POST {TRIAL}/1/heartbeat", {}),
    Sent("A heartbeat for a lease that is lost", f"POST {TRIAL}/4/heartbeat", {"attempt": 1}),
    Sent("A heartbeat with a lease of 0 seconds", f"POST {TRIAL}/2/heartbeat", {"lease_seconds": 0}),
    Sent("A trial given back that is completed", f"POST {TRIAL}/1/release", {}),
    Sent("A trial given back by an earlier attempt", f"POST {TRIAL}/4/release", {"attempt": 1}),
    Sent("A retry of a trial that has a result", f"POST {TRIAL}/1/retry", {}),
    Sent("A retry of a trial that does not exist", f"POST {TRIAL}/99/retry", {}),
    Sent("Attributes that are not named so", f"PATCH {TRIAL}/1", {"host": "n2"}),
    Sent("An attribute with a colon in its name", f"PATCH {TRIAL}/1", {"attributes": {"a:b": 1}}),
    Sent(
        "An attribute that is too large",
        f"PATCH {TRIAL}/1",
        {"attributes": {"log": "x" * 20_000}},
        shown='{"attributes": {"log": "xxx... 20,000 times"}}',
    ),
    Sent("A state set as an attribute's neighbour", f"PATCH {TRIAL}/2", {"attributes": {}, "state": "failed"}),
    Sent("A correction that is no number", "PATCH /v1/studies/svm/observations/1", {"value": "0.8"}),
    Sent("A correction of the point", "PATCH /v1/studies/svm/observations/1", {"parameters": POINT}),
    Sent("An exclusion in words", "PATCH /v1/studies/svm/observations/1", {"excluded": "yes"}),
    Sent("A prediction at no point", "POST /v1/studies/svm/predict", {"points": []}),
    Sent("A prediction at a bare point", "POST /v1/studies/svm/predict", {"points": POINT}),
    Sent("A prediction outside of the space", "POST /v1/studies/svm/predict", {"points": [POINT, {**POINT, "lr": 5}]}),
]

SECTIONS: list[Section] = [
    ("HTTP: asking", "Trials that cannot be handed out or queued so.", ASK),
    ("HTTP: telling", "Results that cannot be meant, or contradict what is stored.", TELL),
    ("HTTP: results step by step", "Reports of trials before their end.", STEPS),
    ("HTTP: trials and observations", "What comes later in their life.", LATER),
]
