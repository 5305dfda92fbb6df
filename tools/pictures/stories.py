"""The pictures of docs/stories, of real runs. ``python -m tools.pictures.stories`` draws them.

With names of stories, such as ``network``, it draws only their pictures.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from playwright.sync_api import Page, expect, sync_playwright

from adabkb_client import Client
from benchmarks import stories
from examples.stories import coating as coating_story
from examples.stories import network as network_story
from examples.stories.cluster.train import precision
from tests.acceptance.examples.killed import killed_once
from tests.acceptance.examples.programs import finish, start
from tests.acceptance.examples.slurm import slurm
from tests.acceptance.page.browser import launching
from tests.acceptance.page.chemist import Chemist
from tests.acceptance.page.tabs import drawn, tab
from tests.servers import server_on
from tests.waiting import TIMEOUT_SECONDS, wait_for
from tools.pictures import palettes
from tools.pictures.concepts import AMBER, GREY, IMAGES, STYLE, TEAL

EXAMPLES = Path(__file__).parents[2] / "examples"
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
SIZE = {"width": 1000, "height": 760}
COLOURS = {"study": TEAL, "without descriptors": "#5a9bd4", "one at a time": AMBER, "random": GREY}
AXES = {
    "network": ("full trainings", "validation loss"),
    "cluster": ("trials", "average precision"),
    "reaction": ("experiments", "yield (%)"),
    "coating": ("plates", "hardness of the recommended panel"),
    "agent": ("trials", "yield (%)"),
}


def compared(name: str) -> None:
    """The medians of the methods over the budget, with bands from the 10% to the 90% quantile over the seeds."""
    runs = json.loads(stories.OUT.read_text())["runs"][name]
    figure = Figure(figsize=(6.4, 3.0), layout="constrained")
    axes = figure.add_subplot()
    for method, of_seeds in runs.items():
        low, median, high = np.quantile(of_seeds, [0.1, 0.5, 0.9], axis=0)
        places = range(1, len(median) + 1)
        axes.fill_between(places, low, high, color=COLOURS[method], alpha=0.15, lw=0, step="post")
        axes.step(places, median, color=COLOURS[method], where="post", label=method)
    axes.set(xlabel=AXES[name][0], ylabel=AXES[name][1])
    if name == "network":
        axes.set_yscale("log")
    axes.legend(frameon=False)
    figure.savefig(IMAGES / f"story-{name}.svg", metadata={"Date": None})


def network(address: str) -> None:
    """Learning curves, of two processes, one of which is killed."""
    with Client(address) as client, tempfile.TemporaryDirectory() as folder:
        network_story.tune(client, stories.BUDGETS["network"], ["0", "1"], partial(killed_once, Path(folder)))
    photographed(address, "digits-network", "curves", "network-curves")


def cluster(address: str) -> None:
    """The trials of each task of an array on a real Slurm. The first task is ended as at its time limit."""
    with tempfile.TemporaryDirectory() as folder, Client(address) as client:
        (Path(folder) / "data").symlink_to(EXAMPLES / "data")
        here = Path(shutil.copytree(EXAMPLES / "stories/cluster", Path(folder) / "stories/cluster"))
        httpx.post(f"{address}/v1/studies", json=json.loads((here / "study.json").read_text())).raise_for_status()
        study, system = client.study("pulsars"), Path(folder) / "slurm"
        system.mkdir()
        with slurm(system, ADABKB_URL=address, PATH=PATH, OMP_NUM_THREADS="1") as run:
            print(job := run("sbatch", "--array=0-3", "array.sbatch", cwd=here))
            wait_for(lambda: study.info().counts.completed >= 3)
            print(run("squeue", "--array"))
            run("scancel", "--batch", "--signal=TERM", f"{job.split()[-1]}_0")
            wait_for(lambda: study.info().state == "complete" and not run("squeue", "-h"))
        print((here / f"slurm-{job.split()[-1]}_0.out").read_text())
        best = study.best()
        assert best is not None
        parameters = dict(best.parameters)
        print(f"best {best.value:.4f} at {parameters}; test: {precision(**parameters, test=True):.4f}")
    photographed(address, "pulsars", "timeline", "cluster-timeline")


def reaction(address: str) -> None:
    """The page as the chemist sees it, and its sentences at the end."""
    with in_a_tab(address) as page:
        chemist = Chemist(page, IMAGES)
        chemist.works(stories.BUDGETS["reaction"])
    print("reaction:", chemist.missing, chemist.conclusion, sep="\n")


def coating(address: str) -> None:
    """The results in order, with the spoilt panel as a cross."""
    with Client(address) as client:
        study = coating_story.main(client, stories.PLATES)
        study.plot.history(figure=(figure := Figure(figsize=(6.4, 3.6), layout="constrained")))
        figure.savefig(IMAGES / "story-coating-history.svg", metadata={"Date": None})


def agent(address: str) -> None:
    """The page of the study, as people see it."""
    print("agent:", finish(start("examples/stories/agent.py", ADABKB_URL=address))[-3000:])
    photographed(address, "suzuki", "figures", "agent-page")


def photographed(address: str, study: str, part: str, name: str) -> None:
    """Save a picture of an element of a study's page."""
    with in_a_tab(address) as page:
        page.goto(f"/studies/{study}")
        page.locator("#assessment:not([aria-busy])").wait_for()
        if part != "figures":
            drawn(page, part)
        page.locator(f"#{part}").screenshot(path=IMAGES / f"story-{name}.png")
        palettes.reduce(IMAGES / f"story-{name}.png")


@contextmanager
def in_a_tab(address: str) -> Iterator[Page]:
    """A tab of Chromium."""
    expect.set_options(timeout=1000 * TIMEOUT_SECONDS)
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(**launching()) as browser,
        tab(browser, address, size=SIZE) as page,
    ):
        yield page


STORIES: dict[str, Callable[[str], None]] = {
    "network": network,
    "cluster": cluster,
    "reaction": reaction,
    "coating": coating,
    "agent": agent,
}


if __name__ == "__main__":
    for name in sys.argv[1:] or STORIES:
        with tempfile.TemporaryDirectory() as folder, mpl.rc_context(STYLE):
            with server_on(f"sqlite:///{folder}/adabkb.db") as url:
                STORIES[name](url)
            compared(name)
