"""Tune a real model with a server, a study and two worker processes: ``make demo``, under 3 minutes."""

import argparse
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from tqdm import tqdm

import htru2
from adabkb_client import Client, Study

WORKERS = 2


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--budget", type=int, default=100, help="number of trials")
    options.add_argument("--folder", type=Path, default=Path(".demo"), help="folder for a new database, and for logs")
    choice = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    choice.folder.mkdir(parents=True, exist_ok=True)
    remove_earlier(choice.folder / "demo.db")
    database = f"sqlite:///{choice.folder / 'demo.db'}"
    with ExitStack() as running:
        url = running.enter_context(server(database, choice.folder / "server.log"))
        client = running.enter_context(Client(url))
        study = client.create_study(
            "htru2", htru2.SPACE, direction="minimize", budget=choice.budget, seed=1, lease_seconds=60
        )
        print(f"Server at {url}, study 'htru2': 8 lengthscales, {choice.budget} trials, {WORKERS} workers")
        print(f"Watch it in a browser: {url}/studies/htru2")
        command = [sys.executable, str(Path(htru2.__file__)), url]
        workers = [
            running.enter_context(process(command, choice.folder / f"worker-{number}.log"))
            for number in range(1, WORKERS + 1)
        ]
        watch(study, workers, choice.folder)
        report(study)
        if sys.stdin.isatty():
            input(f"\nThe study is still there: {url}/studies/htru2\nPress Enter to stop the server. ")
    print(LOOK_AGAIN.format(database=database))


def remove_earlier(database: Path) -> None:
    """Remove the database of an earlier demo. Exit if the file is in use, or is not such a database."""
    if not database.exists():
        return
    try:
        with closing(sqlite3.connect(database, timeout=0)) as connection:
            connection.execute("SELECT id FROM studies WHERE id = 'htru2'")
            # SQLite leaves WAL mode, and removes the files that go with it, only if nobody else is connected.
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.DatabaseError as error:
        sys.exit(
            f"{database} is in use, or not the database of a demo ({error}); stop its server, or give another --folder"
        )
    database.unlink()


@contextmanager
def process(command: list[str], log: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a command for the block, in its own session, so that Ctrl-C ends it only at the end of the block."""
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True) as child,
    ):
        try:
            yield child
        finally:
            child.terminate()
            child.wait()  # after Ctrl-C, leaving the block would wait for only a quarter of a second


@contextmanager
def server(database: str, log: Path) -> Iterator[str]:
    """Serve the database on a free port, and yield the server's URL."""
    adabkb = str(Path(sys.executable).with_name("adabkb"))
    with process([adabkb, "serve", "--port", "0", "--database", database], log) as child:
        assert child.stdout is not None
        address = re.search(r"http://\S+", child.stdout.readline())
        if address is None:
            sys.exit(f"The server did not start: see {log}")
        yield address.group()


def watch(study: Study, workers: list[subprocess.Popen[str]], folder: Path) -> None:
    """Show the study's progress until the workers are done."""
    with tqdm(total=study.info().trial_budget, unit="trial", desc="tuning") as bar:
        while any(worker.poll() is None for worker in workers):
            time.sleep(0.5)
            info = study.info()
            bar.n = info.counts.completed
            bar.set_postfix(best=f"{info.best.value:.5f}" if info.best else "none yet")
    if any(worker.returncode for worker in workers):
        sys.exit(f"A worker failed: see {folder}/worker-*.log")


def report(study: Study) -> None:
    """Print the recommendation, and compare its error on the test data with the default's."""
    recommendation = study.recommendation()
    model, observed = recommendation.model, recommendation.observed
    assert model is not None
    assert observed is not None
    print("\nRecommended lengthscales")
    for feature, lengthscale in model.parameters.items():
        print(f"  {feature:28} {lengthscale:8.3f}")
    print(f"hold-out error by the model    {model.mean:.5f} ± {model.std:.1g}")
    print(f"best observed hold-out error   {observed.value:.5f} (trial {observed.trial})")
    if recommendation.gap is not None:
        print(f"gap: according to the model, no point is better by more than {recommendation.gap:.3g}")
    print("\nError on the 30% of the data that were not used for tuning")
    print(f"  tuned                        {htru2.test_error(dict(model.parameters)):.5f}")
    print(f"  scikit-learn's default       {htru2.test_error(htru2.DEFAULT):.5f}   (lengthscale 2 everywhere)")


LOOK_AGAIN = """
Everything is still in the database. Look at it with
  .venv/bin/adabkb serve --database {database}
  curl http://127.0.0.1:8000/v1/studies/htru2/recommendation
  curl http://127.0.0.1:8000/v1/studies/htru2/tree
  curl "http://127.0.0.1:8000/v1/studies/htru2/export?format=csv"
The client is explained in docs/client.md, the calls at http://127.0.0.1:8000/api, and the page of the study is
  http://127.0.0.1:8000/studies/htru2"""


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrupted: server and workers are stopped.")
