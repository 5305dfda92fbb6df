"""Sections of the documentation that come from the code and from the results of benchmarks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer.main

from adabkb_service.api.parts import parts_of
from adabkb_service.api.problem_types import all_problem_types
from adabkb_service.app import create_app
from adabkb_service.cli.main import app as cli
from adabkb_service.contract.algorithms import SYSTEMS
from adabkb_service.operations.monitoring.study_collector import of_studies
from adabkb_service.settings import Settings, table
from benchmarks import calibration as calibration_benchmark
from benchmarks import left_out as left_out_benchmark
from benchmarks import scaling as scaling_benchmark
from benchmarks import stories as stories_benchmark
from benchmarks.outcomes import report as outcomes_report
from benchmarks.output import RESULTS
from benchmarks.paper import growth as paper_growth
from benchmarks.paper import report as paper_report
from benchmarks.paper import store as paper_store
from benchmarks.quality import ablation as ablation_benchmark
from benchmarks.quality import gaps as gaps_benchmark
from benchmarks.quality import intervals as intervals_benchmark
from benchmarks.quality import report as quality_report
from benchmarks.quality import stopping as stopping_benchmark
from benchmarks.quality import store as quality_store
from benchmarks.service import fleet as fleet_benchmark
from benchmarks.service import lost as lost_benchmark
from benchmarks.service import neighbours as neighbours_benchmark
from benchmarks.service import pages as pages_benchmark
from benchmarks.service import reads as reads_benchmark
from benchmarks.service import removal as removal_benchmark
from benchmarks.service import report as service_report
from benchmarks.service import sizing as sizing_benchmark
from tests.acceptance.chaos import __main__ as chaos_run
from tools import generated
from tools.docs import http_reference as http_calls
from tools.docs import services as other_services
from tools.openapi import document

STOPPING = RESULTS / "stopping.json"
DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = DOCS.parent / "examples"
PROGRAMS = {
    "story-network": ("stories/network.md", "stories/network.py", "python"),
    "story-cluster": ("stories/cluster.md", "stories/cluster/array.sbatch", "sh"),
    "story-train": ("stories/cluster.md", "stories/cluster/train.py", "python"),
    "story-reaction": ("stories/reaction.md", "stories/reaction.py", "python"),
    "story-coating": ("stories/coating.md", "stories/coating.py", "python"),
    "story-agent": ("stories/agent.md", "stories/agent.py", "python"),
}
"""Programs that pages show in full, by section: the page, the file and its language."""
SEEDS = re.compile(r", (median .*of )?\d+ seeds$")
"""The seeds of a table, at the end of its title."""


def settings() -> str:
    """The settings, their variables and defaults."""
    rows = [[f"`{s.name}`", f"`{s.variable}`", f"`{s.default}`", escaped(s.help)] for s in table()]
    return markdown(["setting", "environment", "default", ""], rows)


def routes() -> str:
    """Every call, its statuses and the first paragraph of its description."""
    rows = [
        [f"`{method.upper()} {path}`", " ".join(sorted(call["responses"])), escaped(call["description"])]
        for path, calls in document()["paths"].items()
        for method, call in calls.items()
    ]
    return markdown(["call", "status codes", ""], rows)


def escaped(text: str) -> str:
    """The first paragraph, as the cell of a table."""
    return " ".join(text.strip().partition("\n\n")[0].split()).replace("|", "\\|")


def metrics() -> str:
    """The service's own metrics at /metrics."""
    running = parts_of(create_app(Settings(database="sqlite:///unused.db"))).service
    families = [*running.metrics.registry.collect(), *of_studies([])]
    suffixes = {"counter": "_total"}
    return markdown(
        ["metric", "", ""],
        [
            [f"`{family.name}{suffixes.get(family.type, '')}`", family.type, family.documentation]
            for family in families
            if family.name.startswith("adabkb_")
        ],
    )


def http_reference() -> str:
    """Every call and every field, from the OpenAPI document."""
    return http_calls.reference(document())


def errors() -> str:
    """Every code of a problem, with its remedy."""
    kinds = {kind.code: kind for kind in all_problem_types()}
    rows = [
        [str(kind.status), f"`{code}`", escaped(kind.title), "yes" * kind.retryable, escaped(kind.remedy or "")]
        for code, kind in sorted(kinds.items(), key=lambda item: (item[1].status, item[0]))
    ]
    return markdown(["status", "code", "", "retryable", "`remedy`"], rows)


def command_line() -> str:
    """The help of every command, under a heading of its own."""
    return "\n\n".join(
        f"{'#' * min(len(name.split()) + 1, 3)} {name}\n\n```console\n$ {name} --help\n{text}\n```"
        for name, text in helps()
    )


def helps() -> Iterator[tuple[str, str]]:
    """Every command with its help."""

    def walk(command: Any, name: str, parent: Any) -> Iterator[tuple[str, str]]:
        context = command.context_class(
            command, info_name=name, parent=parent, terminal_width=100, max_content_width=100
        )
        text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        yield context.command_path, text.strip()
        for child_name in command.list_commands(context) if hasattr(command, "list_commands") else ():
            yield from walk(command.get_command(context, child_name), child_name, context)

    return walk(typer.main.get_command(cli), "adabkb", None)


def scaling() -> str:
    """The cost of a suggestion, from the committed results."""
    cells = json.loads((RESULTS / "scaling.json").read_text())["cells"]
    return markdown(scaling_benchmark.HEADER, scaling_benchmark.rows(cells))


def calibration() -> str:
    """The coverage of the 90% interval, from the committed results."""
    results = json.loads((RESULTS / "calibration.json").read_text())
    counts, cells = results["counts"], results["cells"]
    found = markdown(calibration_benchmark.header(counts), calibration_benchmark.rows(cells))
    return f"{found}\n\n{calibration_benchmark.summary(counts, cells)}"


def calibration_ranges() -> str:
    """The same in a few lines."""
    results = json.loads((RESULTS / "calibration.json").read_text())
    found = calibration_benchmark.ranges(results["counts"], results["cells"])
    return markdown(calibration_benchmark.RANGES_HEADER, found)


def left_out() -> str:
    """How well leave-one-out judges models, from the committed results."""
    cells = json.loads((RESULTS / "left_out.json").read_text())["cells"]
    return markdown(left_out_benchmark.HEADER, left_out_benchmark.rows(cells))


def comparison() -> str:
    """The optimizer compared with others in a few numbers, from the committed results."""
    return quality_report.comparison(quality_store.load(RESULTS / "quality.json"))


def services() -> str:
    """This service compared with others, each cell with its source."""
    found = other_services.load()
    return markdown(["", *found.services.values()], found.rows())


def against_tpe() -> str:
    """The optimizer compared with TPE alone, from the same results."""
    return quality_report.against(quality_store.load(RESULTS / "quality.json"), "tpe")


def gaps() -> str:
    """How often the gap holds, from the committed results."""
    return _by_set("gaps", gaps_benchmark.HEADER)


def intervals() -> str:
    """How often intervals contain the true value on tables of experiments, from the committed results."""
    return _by_set("intervals", intervals_benchmark.HEADER)


CAPTIONS = {
    "development": "Development problems",
    "final": "Final problems",
}


def _by_set(name: str, header: Sequence[str]) -> str:
    """A table for each set of problems, from the committed results."""
    found = json.loads((RESULTS / f"{name}.json").read_text())["rows"]
    return "\n\n".join(f"*{CAPTIONS[each]}*:\n\n{markdown(header, rows)}" for each, rows in found.items())


def ablation() -> str:
    """The gain from each mechanism of ``auto``, from the committed results."""
    found = json.loads((RESULTS / "ablation.json").read_text())["mechanisms"]
    return markdown(ablation_benchmark.HEADER, ablation_benchmark.rows(found))


def stopping() -> str:
    """The savings and losses of stop rules, from the committed results."""
    return markdown(stopping_benchmark.HEADER, stopping_benchmark.rows(json.loads(STOPPING.read_text())["rules"]))


def chaos() -> str:
    """The outcomes of the chaos runs, from the committed results."""
    results = json.loads((RESULTS / "chaos.json").read_text())
    return markdown(chaos_run.HEADER, chaos_run.rows(results["setups"]))


def throughput() -> str:
    """Pairs per second, from the committed results."""
    cells = json.loads((RESULTS / "service.json").read_text())["cells"]
    return markdown(service_report.THROUGHPUT, service_report.throughput(cells))


def calls() -> str:
    """The duration of a call, from the same results."""
    cells = json.loads((RESULTS / "service.json").read_text())["cells"]
    return markdown(service_report.CALLS, service_report.calls(cells))


def processor() -> str:
    """The processor time of a pair in each part, from the same results."""
    cells = json.loads((RESULTS / "service.json").read_text())["cells"]
    return markdown(service_report.PROCESSOR, service_report.processor(cells))


def paper(part: str) -> str:
    """A table of the paper's evaluation, from the committed results."""
    return markdown(*paper_report.table(part, paper_store.load()))


def growth() -> str:
    """How a step's cost grows, from the committed results."""
    return markdown(*paper_growth.table(json.loads(paper_growth.GROWTH.read_text())["systems"]))


def constants() -> str:
    """The configurable constants of each algorithm, from the models of the definition."""
    having: dict[tuple[str, str, str], list[str]] = {}
    for system, model in SYSTEMS.items():
        for name, field in model.model_fields.items():
            if name not in ("kind", "profile"):
                default = "required" if field.is_required() else f"`{field.default}`".replace("`None`", "")
                having.setdefault((name, default, field.description or ""), []).append(system)
    rows = [
        [f"`{name}`", default, meaning, "all but profile auto" if len(systems) == 7 else ", ".join(systems)]
        for (name, default, meaning), systems in having.items()
    ]
    return markdown(["field", "default", "meaning", "algorithms"], rows)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """In Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def speed() -> str:
    """The duration of a step of the paper's algorithm, by its change of the dictionary."""
    kinds = ("unchanged", "one added", "drawn", "redrawn")
    steps = json.loads((RESULTS / "speed.json").read_text())["steps"]
    by_size: dict[tuple[int, int], dict[str, Any]] = {}
    for each in steps:
        by_size.setdefault((each["dictionary"], each["leaves"]), {})[each["kind"]] = each
    rows = []
    for (dictionary, leaves), of in sorted(by_size.items()):
        times = [of[kind]["step_ms"][part] for kind in kinds for part in ("median", "p90")]
        shown = (f"{ms:.0f}" if ms >= 10 else f"{ms:.2g}" for ms in (*times, of["drawn"]["scratch_ms"]))
        rows.append([str(dictionary), f"{leaves:,}", *shown])
    return markdown(
        ["dictionary", "leaves", *(name for kind in kinds for name in (kind, f"{kind}, 90%")), "from scratch"], rows
    )


def neighbours() -> str:
    """The effects of studies on one server on each other."""
    results = json.loads((RESULTS / "neighbours.json").read_text())
    return markdown(neighbours_benchmark.HEADER, neighbours_benchmark.rows(results["situations"]))


def reads() -> str:
    """The effects of slow reads on suggestions and readiness."""
    situations = json.loads((RESULTS / "reads.json").read_text())["situations"]
    return markdown(reads_benchmark.HEADER, reads_benchmark.rows(situations))


def pages() -> str:
    """The processor time of the page's requests for a large study."""
    databases = json.loads((RESULTS / "pages.json").read_text())["databases"]
    return markdown(*pages_benchmark.table(databases, ["processor s"]))


def removal() -> str:
    """The effects of the deletion of a large study on others."""
    databases = json.loads((RESULTS / "removal.json").read_text())["databases"]
    return markdown(removal_benchmark.HEADER, removal_benchmark.rows(databases))


def sizing() -> str:
    """The resources that a server needs."""
    measured = json.loads((RESULTS / "sizing.json").read_text())["measured"]
    return markdown(sizing_benchmark.HEADER, sizing_benchmark.rows(measured))


def fleet() -> str:
    """The latencies that 2,000 workers observe."""
    measured = json.loads((RESULTS / "fleet.json").read_text())["measured"]
    return markdown(fleet_benchmark.HEADER, fleet_benchmark.rows(measured))


def lost() -> str:
    """The cost of the loss of one of several servers."""
    measured = json.loads((RESULTS / "lost.json").read_text())["measured"]
    return markdown(lost_benchmark.header(measured), lost_benchmark.rows(measured))


def laboratories() -> str:
    """The resources for laboratories of some sizes."""
    measured = json.loads((RESULTS / "sizing.json").read_text())["measured"]
    return markdown(sizing_benchmark.NEEDS, sizing_benchmark.needs(measured["postgresql"]))


def outcomes(name: str) -> str:
    """The outcomes of realistic studies, from the committed results. Of successive titles with the same seeds, only the
    first names these."""
    parts, above = [], ""
    for each in outcomes_report.tables(name):
        found = SEEDS.search(each.title)
        seeds = found.group() if found else ""
        title = each.title.removesuffix(seeds) if seeds == above else each.title
        parts.append(f"{title}:\n\n{markdown(each.header, each.rows)}")
        above = seeds
    return "\n\n".join(parts)


def program(file: str, language: str) -> str:
    """A program of the examples."""
    return f"```{language}\n{(EXAMPLES / file).read_text()}```"


def stories(name: str) -> str:
    """A story compared with simple baselines, from the committed results."""
    runs = json.loads((RESULTS / "stories.json").read_text())["runs"][name]
    return markdown(stories_benchmark.HEADER, stories_benchmark.rows(name, runs))


SECTIONS: dict[str, tuple[str, Callable[[], str]]] = {
    "settings": ("operations.md", settings),
    "cli": ("reference/command-line.md", command_line),
    "routes": ("http.md", routes),
    "errors": ("http.md", errors),
    "metrics": ("telemetry.md", metrics),
    "http-reference": ("reference/http.md", http_reference),
    "comparison": ("../README.md", comparison),
    "services": ("comparison.md", services),
    "comparison-for-optuna": ("coming-from/optuna.md", comparison),
    "against-tpe": ("coming-from/optuna.md", against_tpe),
    "speed": ("benchmarks.md", speed),
    "scaling": ("benchmarks.md", scaling),
    "calibration": ("benchmarks.md", calibration),
    "calibration-ranges": ("guides/noise.md", calibration_ranges),
    "left-out": ("benchmarks.md", left_out),
    "throughput": ("benchmarks.md", throughput),
    "calls": ("benchmarks.md", calls),
    "processor": ("benchmarks.md", processor),
    "neighbours": ("benchmarks.md", neighbours),
    "reads": ("benchmarks.md", reads),
    "removal": ("benchmarks.md", removal),
    "pages": ("sizing.md", pages),
    **{f"outcomes-{name}": ("outcomes.md", partial(outcomes, name)) for name in outcomes_report.MEASURED},
    "sizing": ("sizing.md", sizing),
    "laboratories": ("sizing.md", laboratories),
    "fleet": ("sizing.md", fleet),
    "lost": ("sizing.md", lost),
    "chaos": ("reliability.md", chaos),
    "ablation": ("algorithm.md", ablation),
    "gaps": ("quality.md", gaps),
    "intervals": ("benchmarks.md", intervals),
    "stopping": ("quality.md", stopping),
    "constants": ("systems.md", constants),
    "growth": ("paper.md", growth),
    **{f"paper-{part}": ("paper.md", partial(paper, part)) for part in paper_report.PARTS},
    **{name: (page, partial(program, file, language)) for name, (page, file, language) in PROGRAMS.items()},
    **{f"stories-{name}": (f"stories/{name}.md", partial(stories, name)) for name in stories_benchmark.STORIES},
}


def written(name: str) -> str:
    """The section in its present form in the document."""
    text = (DOCS / SECTIONS[name][0]).read_text()
    return text.split(f"<!-- {name}:begin -->\n")[1].split(f"<!-- {name}:end -->")[0].rstrip("\n")


def write(name: str) -> None:
    """Bring the document up to date."""
    path = DOCS / SECTIONS[name][0]
    before, rest = path.read_text().split(f"<!-- {name}:begin -->\n")
    after = rest.split(f"<!-- {name}:end -->")[1]
    generated.write(path, f"{before}<!-- {name}:begin -->\n{SECTIONS[name][1]()}\n<!-- {name}:end -->{after}")
