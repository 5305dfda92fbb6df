"""The examples work. Those with one process run in this process, the others as programs."""

import os
import pty
import re
import runpy
import shutil
import signal
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import httpx
import nbformat
import pytest
from nbclient import NotebookClient

from adabkb_client import Client, Float
from tests.acceptance.examples.programs import finish, start
from tests.servers import server_on
from tests.waiting import TIMEOUT_SECONDS, wait_for

ROOT = Path(__file__).parents[3]


def printed(script: str, *arguments: str, **environment: str) -> str:
    """Return the output of an example. It runs as the main program in this process, since a new process would spend
    most of its time on importing scikit-learn."""
    with (
        pytest.MonkeyPatch.context() as here,
        warnings.catch_warnings(),
        redirect_stdout(StringIO()) as output,
    ):
        warnings.simplefilter("ignore")  # the warnings come from scikit-learn, and go to standard error
        here.setattr(sys, "argv", [script, *arguments])
        for name, value in environment.items():
            here.setenv(name, value)
        runpy.run_path(str(ROOT / script), run_name="__main__")
    return output.getvalue()


@dataclass(frozen=True)
class Demo:
    """A demo that has ended."""

    folder: Path
    output: str
    page: str
    """The study's page at the end, while the server was still running."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """At a terminal, in a folder with the database of an earlier demo and another file."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "thesis.txt").write_text("years of work")
    with server_on(f"sqlite:///{folder}/demo.db") as address, Client(address) as client:
        client.create_study("htru2", {"x": Float(0, 1)}, direction="minimize", budget=1)
    terminal, its_input = pty.openpty()
    program = start("examples/demo.py", "--budget", "6", "--folder", str(folder), stdin=its_input)
    os.close(its_input)
    assert program.stdout is not None
    lines = list(until(program.stdout, "still there"))
    page = httpx.get(lines[-1].split()[-1], headers={"Accept": "text/html"})
    os.write(terminal, b"\n")
    rest = finish(program)
    os.close(terminal)
    return Demo(folder, "".join(lines) + rest, page.text)


def until(output: Iterable[str], text: str) -> Iterator[str]:
    """Return the lines up to the first one that contains a text."""
    for line in output:
        yield line
        if text in line:
            return


def test_demo_tunes_with_two_processes_and_its_links_work(demo: Demo) -> None:
    output = demo.output
    tuned, default = (float(value) for value in re.findall(r"(?:tuned|default) +(0\.\d+)", output))
    assert 0 < tuned <= 1.2 * default
    assert "± " in output
    assert "htru2" in demo.page
    with server_on(f"sqlite:///{demo.folder}/demo.db") as address, Client(address) as client:
        study = client.study("htru2")
        assert study.info().counts.completed == 6
        assert len({trial.worker for trial in study.trials()}) == 2
        paths = re.findall(r"http://127.0.0.1:8000(/[^\s\"]+)", output)
        assert len(paths) >= 4
        for path in paths:
            answer = httpx.get(
                f"{address}{path.rstrip('.,')}", headers={"Accept": "*/*, text/html"}, timeout=TIMEOUT_SECONDS
            )
            assert answer.status_code == 200, path


@pytest.mark.long
def test_interrupted_demo_leaves_no_process_and_no_lease(tmp_path: Path) -> None:
    with start("examples/demo.py", "--budget", "500", "--folder", str(tmp_path)) as demo:
        assert demo.stdout is not None
        address = demo.stdout.readline().split()[2].rstrip(",")
        with Client(address) as client:
            study = client.study("htru2")
            wait_for(lambda: study.info().counts.completed >= 2)
        demo.send_signal(signal.SIGINT)
        _, errors = demo.communicate(timeout=TIMEOUT_SECONDS)
    assert demo.returncode == 1
    assert "server and workers are stopped" in errors
    assert "Traceback" not in errors
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
    with server_on(f"sqlite:///{tmp_path}/demo.db") as address, Client(address) as client:
        assert client.study("htru2").info().counts.active == 0


@pytest.mark.long
def test_demo_deletes_no_foreign_file_and_no_database_in_use(demo: Demo, tmp_path: Path) -> None:
    assert (demo.folder / "thesis.txt").read_text() == "years of work"
    folder = Path(shutil.copytree(demo.folder, tmp_path / "demo"))
    arguments = ("examples/demo.py", "--budget", "2", "--folder", str(folder))
    with server_on(f"sqlite:///{folder}/demo.db") as address, Client(address) as client:
        with start(*arguments) as again:
            _, errors = again.communicate(timeout=TIMEOUT_SECONDS)
        assert again.returncode == 1
        assert "stop its server, or give another --folder" in errors
        assert client.study("htru2").info().counts.completed == 6
    (folder / "demo.db").write_text("not a database, but somebody's")
    with start(*arguments) as again:
        assert again.wait(TIMEOUT_SECONDS) == 1
    assert (folder / "demo.db").read_text() == "not a database, but somebody's"


def test_model_choice_example_tries_each_model_with_its_own_parameters(server: str) -> None:
    output = printed("examples/model_choice.py", "6", ADABKB_URL=server)
    assert re.search(r"6 trials; best 0\.9\d+ by \{'model'", output)
    with Client(server) as client:
        tried = {trial.parameters["model"]: set(trial.parameters) for trial in client.study("model-choice-6").trials()}
    assert tried["forest"] == {"model", "n_estimators", "max_features"}
    assert len(tried) == 3


@pytest.mark.long
def test_results_still_count_after_the_space_is_edited_twice(server: str) -> None:
    output = printed("examples/edit_space.py", "9", ADABKB_URL=server)
    found = [float(accuracy) for accuracy in re.findall(r"(?:space|tol) (0\.\d+) ", output)]
    assert len(found) == 3
    assert found[0] < found[1] <= found[2]
    assert "version 3 of the space, 9 results, all used by the model" in output


@pytest.mark.long
def test_digits_example_measures_the_recommended_point(server: str) -> None:
    """With two workers, each run differs; benchmarks.calibration measures the coverage of two standard deviations."""
    output = printed("examples/digits_svm.py", "14", ADABKB_URL=server)
    assert "14 trials evaluated here; the study ended (budget)" in output
    found = re.search(r"by the model (\S+) ± (\S+), measured (\S+)", output)
    assert found
    mean, std, measured = map(float, found.groups())
    assert 0 <= std < 0.05
    assert abs(mean - measured) < 0.005  # nine of 1797 images; the accuracy changes in steps of one image
    assert measured > 0.9
    with Client(server) as client:
        best = client.study("digits-svm-14").best()
    assert best is not None
    assert best.value > 0.9


def test_prior_example_begins_near_the_expected_rates(server: str) -> None:
    output = printed("examples/known_rates.py", "3", ADABKB_URL=server)
    rates = [float(rate) for rate in re.findall(r"at rate (\S+)", output)]
    assert len(rates) == 3
    assert 1e-2 / 3 < rates[0] < 3e-2
    assert float(re.findall(r"best: (\S+)", output)[0]) > 0.8


@pytest.mark.long
def test_next_data_set_example_starts_from_the_first_study(server: str) -> None:
    output = printed("examples/next_data_set.py", "8", ADABKB_URL=server)
    assert "The model used the older study first-half with a trust of 1 " in output
    assert float(re.findall(r"best: (\S+)", output)[0]) > 0.9


@pytest.mark.long
def test_cheap_first_example_ends_when_its_seconds_are_spent(server: str) -> None:
    output = printed("examples/cheap_first.py", "0.3", ADABKB_URL=server)
    costs = [float(cost) for cost in re.findall(r"in (\S+) s,", output)]
    assert sum(costs[:-1]) < 0.4
    assert float(re.findall(r"spent (\S+) s", output)[0]) >= 0.3


@pytest.mark.long
def test_notebook_runs_and_shows_figures_and_tables(server: str, tmp_path: Path) -> None:
    """In a kernel. The notebook in the repository has no outputs."""
    notebook = nbformat.read(ROOT / "examples" / "notebook.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in cells)
    folders = {name: str(tmp_path) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    NotebookClient(notebook, timeout=TIMEOUT_SECONDS).execute(env={**os.environ, **folders, "ADABKB_URL": server})
    shown = {cell.source.split("(")[0]: cell.outputs[0] for cell in cells if cell.outputs}
    figures = [name for name, output in shown.items() if "image/png" in output.get("data", {})]
    assert figures == [
        f"study.plot.{name}" for name in ("history", "importance", "slice", "contour", "parallel", "leaves")
    ]
    assert "<td>30 of 30 trials" in cells[1].outputs[0].data["text/html"]


@pytest.mark.long
def test_forest_front_example_finds_a_front() -> None:
    output = printed("examples/forest_front.py", "6")
    assert re.search(r"[1-6] of 6 results are on the front; hypervolume [1-9]", output), output


@pytest.mark.long
def test_constrained_forest_example_meets_its_limit() -> None:
    output = printed("examples/constrained_forest.py", "6")
    kept = re.search(r"(\d) of 6 forests have at most 3,000 nodes", output)
    assert kept is not None, output
    assert int(kept[1]) >= 2
    assert "it satisfies the bound with probability" in output
