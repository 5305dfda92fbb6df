"""Mistakes in Python."""

from __future__ import annotations

from tests.mistakes.kinds import Section, Written

CONNECTION = [
    Written("An address without its scheme", 'Client("127.0.0.1:8000")'),
    Written("An address with a bad port", 'Client("http://127.0.0.1:eighty")'),
    Written("No server at the address", 'list(Client("http://127.0.0.1:9", retry_for=0).studies())'),
    Written("The address of a page of the server", 'list(Client(client.url + "/docs", retry_for=0).studies())'),
    Written("A study that is not there", 'client.study("swm")'),
    Written("A number as the id of a study", "client.study(5)"),
    Written("The deletion of a study that is not there", 'client.delete_study("swm")'),
]

CREATE = [
    Written(
        "Bounds in the wrong order in Python", 'client.create_study("new", {"lr": Float(1, 0)}, direction="maximize")'
    ),
    Written(
        "A log scale from 0 in Python",
        'client.create_study("new", {"lr": Float(0, 1, log=True)}, direction="maximize")',
    ),
    Written(
        "A bound that is infinite", 'client.create_study("new", {"lr": Float(0, float("inf"))}, direction="maximize")'
    ),
    Written("A pair as a parameter", 'client.create_study("new", {"lr": (0, 1)}, direction="maximize")'),
    Written("The class as a parameter", 'client.create_study("new", {"flip": Bool}, direction="maximize")'),
    Written("Parameters in a list", 'client.create_study("new", [Float(0, 1)], direction="maximize")'),
    Written(
        "The name of a rule as early_stopping",
        'client.create_study("new", {"lr": Float(0, 1)}, direction="maximize", early_stopping="asha")',
    ),
    Written("A text as a rule to stop", 'study.update(stop="no_gain")'),
    Written("A set as choices", 'Categorical({"adam", "sgd"})'),
    Written("A text as choices", 'Categorical("sgd")'),
    Written("A dict as values", 'Ordinal({"small": 1, "large": 2})'),
    Written("A number as choices", "Categorical(3)"),
    Written(
        "A choice twice in Python", 'client.create_study("new", {"k": Categorical(["a", "a"])}, direction="maximize")'
    ),
    Written(
        "A choice that is a dict", 'client.create_study("new", {"k": Categorical([{"a": 1}, 2])}, direction="maximize")'
    ),
    Written("A condition as a text", 'Float(0, 1, when="optimizer == sgd")'),
    Written("A condition without its list in Python", 'Float(0, 1, when={"optimizer": "sgd"})'),
    Written(
        "A function that needs a parameter that may be inactive",
        'client.study("net").run(lambda optimizer, momentum: momentum)',
    ),
    Written("A misspelt direction", 'client.create_study("new", {"x": Float(0, 1)}, direction="maximise")'),
    Written("A misspelt setting", 'client.create_study("new", {"x": Float(0, 1)}, direction="maximize", bugdet=3)'),
    Written(
        "A setting of another library",
        'client.create_study("new", {"x": Float(0, 1)}, direction="maximize", n_trials=3)',
    ),
    Written(
        "A budget of 0 in Python", 'client.create_study("new", {"x": Float(0, 1)}, direction="maximize", budget=0)'
    ),
    Written("An id with spaces", 'client.create_study("my study", {"x": Float(0, 1)}, direction="maximize")'),
    Written(
        "An algorithm by its name",
        'client.create_study("new", {"x": Float(0, 1)}, direction="maximize", algorithm="gp-ucb")',
    ),
    Written(
        "A setting that JSON has no form for",
        'client.create_study("new", {"x": Float(0, 1)}, direction="maximize", tags={"by": object})',
    ),
    Written(
        "Another budget for a study that exists",
        'client.create_study("done", {"lr": Float(0.001, 1, log=True), "layers": Int(1, 5), '
        '"kernel": Categorical(["linear", "rbf"])}, direction="maximize", seed=1, budget=5)',
    ),
    Written(
        "Another space for a study that exists", 'client.create_study("svm", {"lr": Float(0, 1)}, direction="maximize")'
    ),
    Written("A misspelt setting in update", "study.update(bugdet=30)"),
    Written("An update of the direction", 'study.update(direction="minimize")'),
    Written("A budget as text in Python", 'study.update(budget="many")'),
]

WORK = [
    Written("No trials in Python", "study.suggest(0)"),
    Written("A fixed parameter with a misspelt name", 'study.suggest(fixed={"kernal": "rbf"})'),
    Written("Fixed parameters where the study has none", 'client.study("paper").suggest(fixed={"layers": 2})'),
    Written("A trial of a study that is complete", 'client.study("done").suggest()'),
    Written("A trial of a study that is paused", 'client.study("paused").suggest()'),
    Written("None as a value", "study.observe(2, None)"),
    Written("A text as a value", 'study.observe(2, "0.5")'),
    Written("A dict as a value", 'study.observe(2, {"loss": 0.5})'),
    Written("NaN as a value in Python", 'study.observe(2, float("nan"))'),
    Written("A report whose step is no whole number", "study.report(2, 1.5, 0.5)"),
    Written("A report of a negative step in Python", "study.report(2, -1, 0.5)"),
    Written("NaN as a reported value", 'study.report(2, 1, float("nan"))'),
    Written("A report to a trial that is completed in Python", "study.report(1, 1, 0.5)"),
    Written("A standard error below 0", "study.observe(2, 0.5, -0.1)"),
    Written("A trial that was never handed out, in Python", "study.observe(99, 0.5)"),
    Written("A trial of another study", 'study.observe(next(client.study("done").trials()), 0.5)'),
    Written("Another value for a trial that has one, in Python", "study.observe(1, 0.95)"),
    Written("A value for a trial that has failed", "study.observe(3, 0.5)"),
    Written("A point without a parameter", 'study.observe_point({"lr": 0.1, "layers": 2}, 0.5)'),
    Written("A point with infinity", 'study.observe_point({"lr": float("inf"), "layers": 2, "kernel": "rbf"}, 0.5)'),
    Written("Results that are no dicts", "study.observe_many([(2, 0.5)])"),
    Written("Results with a misspelt name", 'study.observe_many([{"trial": 2, "val": 0.5}])'),
    Written("The failure of a completed trial", 'study.fail(1, "no memory")'),
    Written("A heartbeat of a completed trial", "study.heartbeat(1)"),
    Written("A completed trial given back", "study.release(1)"),
    Written("A retry of a completed trial", "study.retry(1)"),
    Written("Attributes with a colon", 'study.set_attributes(1, {"a:b": 1})'),
    Written("A queued point outside of the space, in Python", 'study.queue({"lr": 9, "layers": 2, "kernel": "rbf"})'),
    Written(
        "A point queued in a complete study", 'client.study("done").queue({"lr": 0.1, "layers": 2, "kernel": "rbf"})'
    ),
    Written("Trials in a state that does not exist", 'list(study.trials("running"))'),
    Written("A correction of an observation that is not there", "study.correct(99, 0.5)"),
    Written("One point in the place of a list", 'study.predict({"lr": 0.1, "layers": 2, "kernel": "rbf"})'),
    Written("Numbers as points", "study.predict([0.1, 2])"),
    Written("A prediction outside of the space, in Python", 'study.predict([{"lr": 9, "layers": 2, "kernel": "rbf"}])'),
    Written("A slice along an unknown parameter, in Python", 'study.slice("gamma")'),
]

RUN = [
    Written("A function that takes other names", "study.run(lambda rate, layers, kernel: 0.5)"),
    Written("A function that takes the trial, without pass_trial", "study.run(lambda trial: 0.5)"),
    Written(
        "A function that takes the parameters, with pass_trial", "study.run(lambda lr, layers: 0.5, pass_trial=True)"
    ),
    Written("No workers", "study.run(lambda **_: 0.5, workers=0)"),
    Written("No trials for a run", "study.run(lambda **_: 0.5, n_trials=0)"),
    Written("A timeout of 0", "study.run(lambda **_: 0.5, timeout=0)"),
    Written("A number of processes", "study.run(lambda **_: 0.5, processes=4)"),
    Written("A name as an exception to catch", 'study.run(lambda **_: 0.5, catch="ValueError")'),
]

SECTIONS: list[Section] = [
    ("Python: connecting", '`client` is a `Client` of the server, `study` is `client.study("svm")`.', CONNECTION),
    ("Python: studies", "Spaces, settings and changes.", CREATE),
    ("Python: trials and results", "Ask and tell, one by one.", WORK),
    ("Python: runs", "Refused before any trial is handed out.", RUN),
]
