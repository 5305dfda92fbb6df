"""Mistakes at a shell."""

from __future__ import annotations

from tests.mistakes.bench import Bench
from tests.mistakes.kinds import Section, Typed


def _export(bench: Bench) -> str:
    return (bench.folder / "svm.jsonl").read_text()


LINES = [
    Typed("A command that does not exist", "adabkb sugest svm"),
    Typed("A misspelt option", "adabkb suggest svm --coutn 2"),
    Typed("An option of another command", "adabkb recommend svm --count 2"),
    Typed("A study's id left out", "adabkb suggest"),
    Typed("A study that does not exist, at a shell", "adabkb suggest swm"),
    Typed("An argument too many", "adabkb pause svm done"),
    Typed("A number that is none", "adabkb suggest svm --count two"),
    Typed("A server that is not there", "adabkb study list --url http://127.0.0.1:9"),
    Typed("An address without a scheme, at a shell", "adabkb study list --url localhost:8000"),
    Typed("An address with a bad port, in the environment", "ADABKB_URL=http://localhost:eighty adabkb study list"),
    Typed("A negative time to wait", "adabkb study list --retry-for -1"),
]

STUDIES = [
    Typed("A definition in a file that is not there", "adabkb study create svm.json"),
    Typed("A definition that is not JSON", "adabkb study create -", "id: svm"),
    Typed("A definition that is a list", "adabkb study create -", "[1]"),
    Typed(
        "A definition with a misspelt field",
        "adabkb study create -",
        '{"direction": "maximize", "bugdet": 3, "parameters": [{"name": "lr", "kind": "float", "low": 0, "high": 1}]}',
    ),
    Typed(
        "A definition with several faults",
        "adabkb study create -",
        '{"direction": "max", "parameters": [{"name": "lr", "kind": "float", "low": 1, "high": 0}]}',
    ),
    Typed(
        "A definition under an id that is taken",
        "adabkb study create -",
        '{"id": "svm", "direction": "minimize", "parameters": [{"name": "lr", "kind": "float", "low": 0, "high": 1}]}',
    ),
    Typed("A deletion without a terminal", "adabkb study delete svm"),
    Typed("A deletion of a study that is not there", "adabkb study delete swm --yes"),
    Typed("An update of nothing", "adabkb update svm"),
    Typed("A budget that is no number", "adabkb update svm --budget many"),
    Typed("A budget of 0 at a shell", "adabkb update svm --budget 0"),
    Typed("A tag without a value", "adabkb update svm --tag vision"),
    Typed("A stop rule that paper does not have", "adabkb update paper --probability-of-gain-below 0.1"),
    Typed("An export in an unknown format", "adabkb export svm --format xlsx"),
    Typed("An export to a folder that is not there", "adabkb export svm --output nowhere/svm.jsonl"),
    Typed("--json with another format", "adabkb export svm --json --format csv"),
]

TRIALS = [
    Typed("Too many trials at a shell", "adabkb suggest svm --count 1000"),
    Typed("A trial of a complete study at a shell", "adabkb suggest done"),
    Typed("A trial of a paused study at a shell", "adabkb suggest paused"),
    Typed("A fixed value without its name", "adabkb suggest svm --fixed rbf"),
    Typed("A fixed value that is no choice, at a shell", "adabkb suggest svm --fixed kernel=poly"),
    Typed("No value and no failure", "adabkb observe svm 2"),
    Typed("A value and a failure", "adabkb observe svm 2 0.5 --failed 'out of memory'"),
    Typed("A value that is no number", "adabkb observe svm 2 good"),
    Typed("NaN as a value at a shell", "adabkb observe svm 2 nan"),
    Typed("A trial that was never handed out, at a shell", "adabkb observe svm 99 0.5"),
    Typed("Another value for a trial at a shell", "adabkb observe svm 1 0.95"),
    Typed("A negative standard error at a shell", "adabkb observe svm 2 0.5 --std-error -0.1"),
    Typed("An attempt that there was not, at a shell", "adabkb observe svm 2 0.5 --attempt 3"),
    Typed("A failure of a completed trial at a shell", "adabkb fail svm 1 'no memory'"),
    Typed("A point without the equals sign", "adabkb add svm 0.5 lr:0.1"),
    Typed("A point without one parameter, at a shell", "adabkb add svm 0.5 lr=0.1 layers=2"),
    Typed("A queued point outside of the space, at a shell", "adabkb queue svm lr=9 layers=2 kernel=rbf"),
    Typed("A point queued in a complete study, at a shell", "adabkb queue done lr=0.1 layers=2 kernel=rbf"),
    Typed("A result that is not JSON", "adabkb observe-many svm -", "2 0.5\n"),
    Typed("A result that is refused", "adabkb observe-many svm --dry-run -", '{"trial": 99, "value": 0.5}\n'),
    Typed("Results in a file that is not there", "adabkb observe-many svm results.jsonl"),
    Typed("A misspelt result", "adabkb observe-many svm -", '{"trial": 2, "val": 0.5}\n'),
    Typed("A heartbeat without a lease", "adabkb heartbeat svm 1"),
    Typed("A release without a lease", "adabkb release svm 1"),
    Typed("A retry of a completed trial at a shell", "adabkb retry svm 1"),
    Typed("An attribute without a value, at a shell", "adabkb annotate svm 1 host"),
    Typed("A state of trials that does not exist", "adabkb trials svm --state running"),
    Typed("A trial to explain that is not there", "adabkb why svm 99"),
    Typed("A correction of an observation that is not there, at a shell", "adabkb correct svm 99 0.5"),
    Typed("A prediction at half a point", "adabkb predict svm lr=0.1"),
    Typed("A slice along an unknown parameter, at a shell", "adabkb slice svm gamma"),
    Typed("Several faults at once, at a shell", "adabkb suggest svm --count 0 --lease-seconds -1"),
    Typed("A problem as JSON", "adabkb suggest svm --count 0 --json"),
]

RUNS = [
    Typed("A run without a program", "adabkb run svm"),
    Typed("A run of an unknown placeholder", "adabkb run svm -- ./train.sh {learning_rate}"),
    Typed("A run with a single brace", "adabkb run svm -- ./train.sh {lr"),
    Typed("A run with a pattern that is none", "adabkb run svm --pattern '(' -- ./train.sh"),
    Typed("A run with a pattern without a group", "adabkb run svm --pattern 'loss' -- ./train.sh"),
    Typed("A run of no jobs", "adabkb run svm --jobs 0 -- ./train.sh"),
    Typed("A run of a study that is not there", "adabkb run swm -- ./train.sh"),
    Typed("A run with a folder of logs that is a file", "adabkb run svm --logs svm.jsonl -- ./train.sh"),
]

ROWS = "accuracy,lr,layers,kernel"


def _rows(*rows: str, heading: str = ROWS) -> dict[str, str]:
    return {"rows.csv": "\n".join([heading, *rows]) + "\n"}


RESULTS = [
    Typed("An import of results from a file that is not there", "adabkb import-results svm nowhere.csv"),
    Typed(
        "An import of results of another format", "adabkb import-results svm rows.parquet", files={"rows.parquet": ""}
    ),
    Typed(
        "An import of results without a column of values",
        "adabkb import-results svm rows.csv",
        files=_rows("0.9,0.1,2,rbf"),
    ),
    Typed(
        "An import of results without a column of a parameter",
        "adabkb import-results svm rows.csv --value accuracy",
        files=_rows("0.9,0.1,rbf", heading="accuracy,learning_rate,kernel"),
    ),
    Typed(
        "A column for a parameter that does not exist",
        "adabkb import-results svm rows.csv --value accuracy --map rate=lr",
        files=_rows("0.9,0.1,2,rbf"),
    ),
    Typed(
        "A column without the equals sign",
        "adabkb import-results svm rows.csv --value accuracy --map lr",
        files=_rows("0.9,0.1,2,rbf"),
    ),
    Typed(
        "Rows outside of the space, without a value, and with half a point",
        "adabkb import-results svm rows.csv --value accuracy",
        files=_rows("0.9,0.1,99,rbf", "good,0.1,2,rbf", "0.9,0.1,,rbf"),
    ),
    Typed(
        "An import of results into a study that is not there",
        "adabkb import-results swm rows.csv --value accuracy",
        files=_rows("0.9,0.1,2,rbf"),
    ),
    Typed("An import of no rows", "adabkb import-results svm rows.csv --value accuracy", files=_rows()),
    Typed("A result that waits nowhere", "adabkb outbox drop 1234 --yes"),
    Typed("A command of the outbox that does not exist", "adabkb outbox resend"),
]

DATABASES = [
    Typed("A database that is not there", "adabkb doctor --database sqlite:///nowhere.db"),
    Typed("A database in a folder that is not there", "adabkb migrate --database sqlite:///nowhere/adabkb.db"),
    Typed("A database that is none", "adabkb doctor --database sqlite:///notes.txt", files={"notes.txt": "my notes"}),
    Typed("A database by its file", "adabkb doctor --database adabkb.db"),
    Typed("A database of another kind", "adabkb doctor --database mysql://localhost/adabkb"),
    Typed("A study of the database that is not there", "adabkb doctor swm"),
    Typed("A replay of a study that is not there", "adabkb replay swm"),
    Typed("A backup onto a file that is there", "adabkb backup svm.jsonl"),
    Typed("A restore of a file that is not there", "adabkb restore nowhere.db"),
    Typed("A restore into a database that is in use", "adabkb restore empty.db"),
    Typed("An import of a file that is not there", "adabkb import nowhere.jsonl --database sqlite:///empty.db"),
    Typed(
        "An import of what is not JSON",
        "adabkb import notes.txt --database sqlite:///empty.db",
        files={"notes.txt": "my notes"},
    ),
    Typed(
        "An import of half an export",
        "adabkb import half.jsonl --database sqlite:///empty.db",
        files={"half.jsonl": lambda bench: _export(bench).splitlines()[0]},
    ),
    Typed(
        "An import of an export that was altered",
        "adabkb import altered.jsonl --database sqlite:///empty.db",
        files={"altered.jsonl": lambda bench: _export(bench).replace('"completed"', '"failed"', 1)},
    ),
    Typed("An import of a study that is there", "adabkb import svm.jsonl"),
]

SECTIONS: list[Section] = [
    ("Commands: the line", "Exit code 2 is a line that cannot be understood, 1 what was refused.", LINES),
    ("Commands: studies", "Definitions come from standard input where the line has a hyphen.", STUDIES),
    ("Commands: trials and results", "The same refusals in the words of commands.", TRIALS),
    (
        "Commands: results from elsewhere",
        "A row that does not fit is listed and stops no other; here none fits. An outbox is a file of this machine.",
        RESULTS,
    ),
    ("Commands: run", "Refused before any trial is handed out.", RUNS),
    ("Commands: databases", "These work on files beside the server; none is changed.", DATABASES),
]
